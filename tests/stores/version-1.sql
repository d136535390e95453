-- A store as version 1 wrote it; never changed, so that every later version is tested on it.
PRAGMA application_id = 1479036713;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE games (
            id INTEGER PRIMARY KEY, time TEXT NOT NULL,
            x_kind TEXT NOT NULL, x_name TEXT NOT NULL, x_source TEXT NOT NULL,
            o_kind TEXT NOT NULL, o_name TEXT NOT NULL, o_source TEXT NOT NULL,
            side TEXT, rows INTEGER NOT NULL, cols INTEGER NOT NULL, k INTEGER NOT NULL, seed INTEGER, moves TEXT NOT NULL,
            result TEXT NOT NULL, ended TEXT NOT NULL, origin TEXT NOT NULL, checksum INTEGER NOT NULL);
INSERT INTO "games" VALUES(1,'2026-05-09T07:35:25Z','human','Ann Lee','','agent','minimax','','X',3,3,3,NULL,'a1 b2 a2 b1 a3','X','line','web',2238140240);
INSERT INTO "games" VALUES(2,'2026-05-09T07:35:26Z','run','dqn-0','runs/dqn-0','agent','random','',NULL,3,3,3,7,'b2 a1 b2','O','illegal','battle',4160168257);
INSERT INTO "games" VALUES(3,'2026-05-09T07:35:27Z','human','Zoë','','human','Ann','','X',4,4,4,NULL,'a1 d4','O','resigned','human',4028546229);
INSERT INTO "games" VALUES(4,'2026-05-09T07:35:28Z','unknown','unknown','','unknown','unknown','',NULL,1,4,3,NULL,'a1 b1 c1 d1','draw','full','training',3252228726);
CREATE INDEX games_listed ON games (id) WHERE origin <> 'training';
CREATE INDEX games_x ON games (x_name) WHERE origin <> 'training';
CREATE INDEX games_o ON games (o_name) WHERE origin <> 'training';
CREATE INDEX games_origin ON games (origin);
COMMIT;
