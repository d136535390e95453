"""A store of games in one SQLite file.

    with GameStore("games.db") as store:
        number = store.add(Game(moves=(0, 4, 8, 1, 7, 6, 2, 5, 3), origin="web"))
        store.get(number).result                    # "draw": it follows from the moves
        store.list(20, player="Ann", result="X")    # newest first, without games of training

    python -m tictactoe_env.games games.db --check
    python -m tictactoe_env.games games.db --export json > games.json
    python -m tictactoe_env.games games.db --import games.txt

When `add` returns, the game is on the disk (write-ahead log, flushed at every commit). Several
processes may use a store at the same time. Threads may share a `GameStore`, which admits one thread
at a time. A forked process must open the store again.

Every row has a checksum, which covers its id, and the moves of a game are replayed whenever it is
read. A damaged game raises StoreError, and so does one that is missing from the table but not from
its indexes. The tables and indexes of a file are compared with those of a store when it is opened;
a file with a view, a trigger or another table is refused.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import os
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from tictactoe_env.errors import printable, unknown_name, whole_number
from tictactoe_env.files import check_file, check_sqlite, open_file
from tictactoe_env.games.game import (
    MAX_LINE,
    ORIGINS,
    RESULTS,
    SQUARE,
    Game,
    Player,
    json_text,
    parse_json,
    parse_json_file,
    parse_lines,
    rules_of,
)
from tictactoe_env.notation import parse_cells
from tictactoe_env.rules import Rules

LISTED = tuple(origin for origin in ORIGINS if origin != "training")
LARGEST = 2**63 - 1  # the largest whole number of SQLite
CHUNK = 1_000  # games that `__iter__` reads at once
APPLICATION = 0x58284F29  # "X(O)", the application id of a store of games

LARGEST_VALUE = 1_000_000  # bytes of a value or a row that is read; a game has at most 10,000
SMALLEST = -(2**63)
COLUMNS = (
    "id, time, x_kind, x_name, x_source, o_kind, o_name, o_source, side, rows, cols, k, seed, "
    "moves, result, ended, origin, checksum"
)


def _cover_ids(connection: sqlite3.Connection) -> None:
    """Make checksums that cover the id. A row that was damaged before stays a damaged one.

    Raises sqlite3.DatabaseError if the file is damaged elsewhere: then an id may be a wrong one.
    """
    found = [text for (text,) in connection.execute("PRAGMA integrity_check(5)")]
    if found != ["ok"]:
        raise sqlite3.DatabaseError("; ".join(found))
    # A damaged row may hold bytes that are no text.
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        last = SMALLEST
        statement = f"SELECT {COLUMNS} FROM games WHERE id > ? ORDER BY id LIMIT {CHUNK}"
        while rows := connection.execute(statement, (last,)).fetchall():
            last = rows[-1][0]
            whole = (row for row in rows if row[-1] == _checksum(row[1:-1]))
            connection.executemany(
                "UPDATE games SET checksum = ? WHERE id = ?",
                [(_checksum(row[:-1]), row[0]) for row in whole],
            )
    finally:
        connection.text_factory = str


# The steps that bring a file from each version to the next: statements, or functions that take the
# connection. `user_version` of a file is the number of migrations it has had. New ones are
# appended; old ones never change.
Step = str | Callable[[sqlite3.Connection], None]
MIGRATIONS: tuple[tuple[Step, ...], ...] = (
    (
        """CREATE TABLE games (
            id INTEGER PRIMARY KEY, time TEXT NOT NULL,
            x_kind TEXT NOT NULL, x_name TEXT NOT NULL, x_source TEXT NOT NULL,
            o_kind TEXT NOT NULL, o_name TEXT NOT NULL, o_source TEXT NOT NULL,
            side TEXT, rows INTEGER NOT NULL, cols INTEGER NOT NULL, k INTEGER NOT NULL,
            seed INTEGER, moves TEXT NOT NULL, result TEXT NOT NULL, ended TEXT NOT NULL,
            origin TEXT NOT NULL, checksum INTEGER NOT NULL)""",
        # Every index ends with the id, so it gives its games newest first. There may be many games
        # of training, so they are in one index only.
        "CREATE INDEX games_listed ON games (id) WHERE origin <> 'training'",
        "CREATE INDEX games_x ON games (x_name) WHERE origin <> 'training'",
        "CREATE INDEX games_o ON games (o_name) WHERE origin <> 'training'",
        "CREATE INDEX games_origin ON games (origin)",
    ),
    (_cover_ids,),
)


class StoreError(ValueError):
    """The store is damaged, locked, of a newer version or write-protected, or it is no store."""


class UnknownGameError(StoreError, LookupError):
    """No game in the store has this id."""


class GameStore:
    """The games in one file, which is created if it does not exist. A context manager.

    read_only: the file is neither created nor changed. timeout: seconds to wait while another
    process is writing. Raises StoreError, and does not change the file, if it is no store, damaged,
    locked, of a newer version or write-protected.
    """

    def __init__(self, path: str | os.PathLike[str], read_only: bool = False, timeout: float = 5.0):
        self.path, self.read_only, self.timeout = Path(path), read_only, timeout
        self._lock, self._process = threading.RLock(), os.getpid()
        self._check_file()
        with self._explained():
            self._connection = self._connect()
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> GameStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing it again has no effect."""
        with self._explained():
            self._connection.close()

    # --- adding ----------------------------------------------------------------------------------

    def add(self, game: Game) -> int:
        """Add a game and return its new id."""
        return self.add_many((game,))[0]

    def add_many(self, games: Iterable[Game]) -> range:
        """Add all games, or none if one of them fails, and return their new ids."""
        rows = [_values(game) for game in games]
        places = ", ".join("?" * len(COLUMNS.split(", ")))
        with self._writing() as connection:
            last = self._last_id()
            ids = range(last + 1, last + 1 + len(rows))
            numbered = ((id, *row) for id, row in zip(ids, rows, strict=True))
            connection.executemany(
                f"INSERT INTO games ({COLUMNS}) VALUES ({places})",
                ((*row, _checksum(row)) for row in numbered),
            )
        return ids

    def import_lines(self, lines: Iterable[str], rules: Rules = SQUARE) -> range:
        """Add the games of lines of text, such as an open file, all or none; returns their ids.

        rules: the board of lines that name none.
        """
        return self.add_many(parse_lines(lines, rules))

    def import_json(self, text: str | bytes) -> range:
        """Add the games of a JSON list, see `export_json`, all or none; returns their ids."""
        return self.add_many(parse_json(text))

    # --- reading ---------------------------------------------------------------------------------

    def get(self, id: int) -> Game:
        """The game with this id; UnknownGameError if there is none."""
        id = whole_number(id, "the id of a game", 1)
        found = self._rows(f"SELECT {COLUMNS} FROM games WHERE id = ?", (min(id, LARGEST),))
        if not found:
            if self._is_in_index(id):
                raise _damaged(self.path, f"game {id} is missing, though an index knows it")
            count, low, high = self._rows("SELECT count(*), min(id), max(id) FROM games")[0]
            has = f"{_counted(count)}, {low} to {high}" if count else "no game yet"
            raise UnknownGameError(f"unknown game {id}: {self.path} holds {has}")
        return self._game(found[0])

    def list(
        self,
        limit: int = 50,
        before: int | None = None,
        *,
        origin: str | Collection[str] = LISTED,
        player: str | Collection[str] | None = None,
        people: bool | None = None,
        result: str | None = None,
        rules: Rules | None = None,
    ) -> Sequence[Game]:
        """The newest games, newest first. For the next page set `before` to the last id seen.

        before: only games with smaller ids. origin: one or several of ORIGINS, by default all but
        training. player: the name of X or O, or several names. people: only games in which a
        person played, or in which none did; no index helps here. rules: the board.
        """
        most = LARGEST if before is None else whole_number(before, "before", 1) - 1
        ids, values = self._ids(origin, player, people, result, rules, min(most, LARGEST))
        values["limit"] = whole_number(limit, "limit", 0, LARGEST)
        newest = f"{ids} ORDER BY id DESC LIMIT :limit"
        columns = ", ".join(f"games.{name}" for name in COLUMNS.split(", "))
        # The ids come from an index where possible, and each must have its row in the table.
        statement = (
            f"SELECT newest.id, {columns} FROM ({newest}) AS newest "
            "LEFT JOIN games ON games.id = newest.id ORDER BY newest.id DESC"
        )
        found: list[Game] = []
        for id, *row in self._rows(statement, values):
            if id != row[0] or (found and id >= (found[-1].id or 0)):
                raise _damaged(self.path, f"game {id} is not where its index says")
            found.append(self._game(tuple(row)))
        return found

    def count(
        self,
        *,
        origin: str | Collection[str] = LISTED,
        player: str | Collection[str] | None = None,
        people: bool | None = None,
        result: str | None = None,
        rules: Rules | None = None,
    ) -> int:
        """The number of games that `list` finds without a limit."""
        ids, values = self._ids(origin, player, people, result, rules)
        return self._rows(f"SELECT count(*) FROM ({ids})", values)[0][0]

    def players(self) -> Sequence[str]:
        """The names of all who played, sorted; those of training games are left out."""
        found = set[str]()
        for name in ("x_name", "o_name"):  # jumps from a name to the next one in the index
            following = f"SELECT min({name}) FROM games WHERE origin <> 'training'"
            found |= {
                text
                for (text,) in self._rows(
                    f"WITH RECURSIVE names(name) AS ({following} UNION ALL "
                    f"SELECT ({following} AND {name} > names.name) FROM names "
                    "WHERE names.name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL"
                )
            }
        return sorted(found)

    def __iter__(self) -> Iterator[Game]:
        """Every game, oldest first, including those of training."""
        statement = f"SELECT {COLUMNS} FROM games WHERE id > ? ORDER BY id LIMIT {CHUNK}"
        counting = "SELECT count(*), max(id) FROM games INDEXED BY games_origin"
        known, newest = self._rows(counting)[0]  # games are never removed, and later ids are larger
        last, count = SMALLEST, 0
        while rows := self._rows(statement, (last,)):
            for row in rows:
                if row[0] <= last:
                    raise _damaged(self.path, f"game {row[0]} comes after game {last}")
                yield self._game(row)
                last = row[0]
                count += known > 0 and last <= newest
        if known != count:
            raise _damaged(self.path, f"{_counted(count)} in the table, {known:,} in its index")

    def export_lines(self) -> Iterator[str]:
        """Every game as a line of text, oldest first."""
        return (game.line() for game in self)

    def export_json(self) -> str:
        """Every game as one JSON list, oldest first."""
        return json_text(self)

    def check(self) -> int:
        """Check every page of the file and replay every game; returns the number of games.

        Raises StoreError if anything is damaged.
        """
        found = [text for (text,) in self._rows("PRAGMA integrity_check(5)")]
        if found != ["ok"]:
            raise _damaged(self.path, "; ".join(found))
        return sum(1 for _ in self)

    # --- the file --------------------------------------------------------------------------------

    def _check_file(self) -> None:
        """Raises StoreError unless the path is free or a store. The file is not changed."""
        try:
            check_sqlite(self.path, StoreError)
            if not self.path.exists():
                if self.read_only:
                    raise StoreError(
                        f"there is no store at {self.path}: give the path of one, "
                        "or play a game to make it"
                    )
                self.path.parent.mkdir(parents=True, exist_ok=True)
                return
            is_empty = self.path.stat().st_size == 0
        except OSError as error:
            raise StoreError(f"{self.path} {NOT_OPENED} ({error})") from None
        if is_empty and not self.read_only:
            return  # another process is creating the store, or `touch` has made the file
        application = _application(self.path)
        if application == APPLICATION:
            return
        if is_empty:
            got = "an empty file"
        else:
            is_sqlite = application is not None
            got = "the SQLite file of another program" if is_sqlite else "another kind of file"
        raise StoreError(
            f"{self.path} is no store of games: expected an SQLite file made by one, got {got}; "
            "nothing was changed, give another path"
        )

    def _connect(self) -> sqlite3.Connection:
        mode = "ro" if self.read_only else "rwc"
        has_log = os.path.exists(f"{self.path}-wal")
        if self.read_only and not has_log and not os.access(self.path.parent, os.W_OK):
            # SQLite cannot create its shared-memory file in this folder, and nobody can write.
            mode += "&immutable=1"
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            timeout=self.timeout,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        return connection

    def _prepare(self) -> None:
        """Migrate a new or older file to this version; StoreError for a newer version."""
        self._rows("PRAGMA trusted_schema = OFF")  # SQL in the file calls harmless functions only
        self._rows("PRAGMA cell_size_check = ON")
        version, latest = self._version(), len(MIGRATIONS)
        if version > latest:
            raise StoreError(
                f"{self.path} was written by a newer program (version {version}, this one knows "
                f"{latest}): update tictactoe-env"
            )
        if self.read_only:
            if version < latest:
                raise StoreError(
                    f"{self.path} is of version {version}, this program reads {latest}: "
                    "open it for writing once, which updates it"
                )
            self._check_schema(version)
            return
        self._rows("PRAGMA synchronous = FULL")
        if version < latest:
            with self._writing() as connection:
                # The version is read again: another process may have migrated the file meanwhile.
                version = self._version()
                self._check_schema(version)
                for step in itertools.chain(*MIGRATIONS[version:]):
                    _do(connection, step)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {latest}")
        self._check_schema(latest)
        self._write_a_log()

    def _write_a_log(self) -> None:
        """Let readers and a writer work at the same time.

        SQLite does not wait for others here, so this tries again until the timeout.
        """
        end = time.monotonic() + self.timeout
        while True:
            try:
                self._rows("PRAGMA journal_mode = WAL")
            except StoreError as error:
                if "locked" not in str(error.__cause__) or time.monotonic() > end:
                    raise
                time.sleep(0.01)  # seconds
            else:
                return

    def _version(self) -> int:
        return self._rows("PRAGMA user_version")[0][0]

    def _check_schema(self, version: int) -> None:
        """Raises StoreError unless the file has the tables and indexes of a version, no others."""
        known = _schema_of(version)
        found = _schema(self._rows(SCHEMA))
        for kind, name in sorted(found.keys() | known.keys(), key=str):
            if found.get((kind, name)) != known.get((kind, name)):
                is_known, is_there = (kind, name) in known, (kind, name) in found
                has = "another" if is_known and is_there else "no" if is_known else "an unknown"
                raise _damaged(self.path, f"it has {has} {kind} {name!r:.60}")

    def _last_id(self) -> int:
        """The largest id, 0 in an empty store. StoreError if it is in the table only."""
        found = self._rows("SELECT id FROM games ORDER BY id DESC LIMIT 1")
        if not found:
            return 0
        id = found[0][0]
        if id < 1 or not self._is_in_index(id):
            raise _damaged(self.path, f"no index knows its last game, {id}")
        if id == LARGEST:
            raise _damaged(self.path, f"its last game is {id}, and no number is larger")
        return int(id)

    def _is_in_index(self, id: int) -> bool:
        """Whether the index of all games has this id."""
        origins = ", ".join(map(repr, ORIGINS))
        known, number = "SELECT 1 FROM games INDEXED BY games_origin WHERE", (min(id, LARGEST),)
        return bool(
            self._rows(f"{known} origin IN ({origins}) AND id = ?", number)
            or self._rows(f"{known} +id = ?", number)  # a damaged origin: all of the index is read
        )

    def _rows(self, statement: str, values: Any = ()) -> Sequence[Any]:
        """All rows of a statement's result."""
        with self._explained():
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction. Afterwards all of it is on the disk, or after an error nothing."""
        with self._explained():
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Admits one thread at a time, and raises StoreError for an error of SQLite."""
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.path} was opened by another process: open it again after a fork"
            )
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise _explain(self.path, error) from error
            except UnicodeDecodeError:  # of the text of an error of SQLite, which quotes the file
                raise _damaged(self.path, "it holds text that is not UTF-8") from None
            except (MemoryError, OverflowError) as error:
                raise _damaged(self.path, f"it holds a value that is too large ({error})") from None

    # --- rows ------------------------------------------------------------------------------------

    def _ids(
        self,
        origin: str | Collection[str],
        player: str | Collection[str] | None,
        people: bool | None,
        result: str | None,
        rules: Rules | None,
        most: int = LARGEST,
    ) -> tuple[str, dict[str, Any]]:
        """The SQL statement for the ids of the games that pass the filters, and its parameters."""
        origins = {origin} if isinstance(origin, str) else set(origin)
        for name in origins - set(ORIGINS):
            raise unknown_name("origin of a game", name, ORIGINS)
        if result not in (None, *RESULTS):
            raise unknown_name("result of a game", result, RESULTS)
        board = {} if rules is None else asdict(rules)
        names = [] if player is None else [player] if isinstance(player, str) else list(player)
        players = {f"player{number}": name for number, name in enumerate(names)}
        values: dict[str, Any] = {"most": most, "result": result, **players, **board}
        where = ["id <= :most"]
        if origins == set(LISTED):
            where.append("origin <> 'training'")  # the condition of the indexes, word for word
        elif origins != set(ORIGINS):
            where.append(f"origin IN ({', '.join(repr(name) for name in sorted(origins))})")
        for name in ("result", "rows", "cols", "k"):
            if values.get(name) is not None:
                where.append(f"{name} = :{name}")
        if people is not None:
            where.append(f"('human' IN (x_kind, o_kind)) = {int(people)}")
        among = ", ".join(f":{name}" for name in players)
        sides = ([],) if player is None else tuple([f"{x}_name IN ({among})"] for x in "xo")
        parts = (f"SELECT id FROM games WHERE {' AND '.join(where + side)}" for side in sides)
        return " UNION ".join(parts), values

    def _game(self, row: tuple[Any, ...]) -> Game:
        """The game in a row; StoreError if the row is damaged."""
        id, when, *players, side, rows, cols, k, seed, moves, result, ended, origin, checksum = row
        if checksum != _checksum(row[:-1]):
            raise _damaged(self.path, f"game {id} is not what was written, its checksum differs")
        try:
            rules = rules_of(rows, cols, k)
            return Game(
                x=Player(*players[:3]),
                o=Player(*players[3:]),
                moves=tuple(parse_cells(moves, rules)),
                origin=origin,
                rules=rules,
                result=result,
                ended=ended,
                side=side,
                seed=seed,
                time=when,
                id=id,
            )
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise _damaged(self.path, f"game {id}: {error}") from None


def read_games(path: str | os.PathLike[str], rules: Rules = SQUARE) -> Iterator[Game]:
    """The games of a file, oldest first: a store, a JSON list, or text with one game a line.

    The content of the file decides which, not its name. rules: the board of lines that name none.
    """
    path = Path(path)
    if check_file(path).st_size > 0 and _application(path) is not None:
        with GameStore(path, read_only=True) as store:
            yield from store
        return
    try:
        with io.TextIOWrapper(open_file(path), encoding="utf-8-sig") as file:
            is_json = file.read(1) == "["
            file.seek(0)
            if is_json:
                yield from parse_json_file(file)
            else:
                lines = iter(lambda: file.readline(MAX_LINE + 1), "")
                yield from parse_lines(lines, rules, str(path))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} holds no games: expected a store, a JSON list of games, or text with one "
            f"game a line, got bytes that are none of these ({error})"
        ) from None


# --- errors and rows -----------------------------------------------------------------------------

NOT_OPENED = "cannot be opened: a store needs a file and a folder that may be read and written"
# A part of SQLite's message, and our explanation.
REASONS = (
    (
        "locked",
        "is locked: another program has been writing for too long; let it finish, and try again",
    ),
    (
        "readonly",
        "cannot be written: it was opened for reading only, or the file or its folder is "
        "write-protected",
    ),
    ("unable to open", NOT_OPENED),
    (
        "disk I/O",
        "cannot be read or written, the disk reports an error: see whether it is full or failing",
    ),
    ("full", "cannot grow, the disk is full: make room, and try again; nothing was changed"),
    ("closed database", "is closed: open the store again"),
)


# Without the tables in which SQLite's ANALYZE keeps its statistics.
SCHEMA = (
    "SELECT type, name, sql FROM sqlite_master "
    "WHERE type <> 'table' OR name NOT IN ('sqlite_stat1', 'sqlite_stat4')"
)


def _schema(rows: Iterable[tuple[str, str, str | None]]) -> dict[tuple[str, str], str]:
    """The SQL of each table, index, view and trigger, by kind and name, blanks made alike."""
    return {(kind, name): " ".join(str(sql).split()) for kind, name, sql in rows}


def _schema_of(version: int) -> dict[tuple[str, str], str]:
    """The SQL of the tables and indexes of a version."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in itertools.chain(*MIGRATIONS[:version]):
            _do(connection, step)
        return _schema(connection.execute(SCHEMA))


def _do(connection: sqlite3.Connection, step: Step) -> None:
    if isinstance(step, str):
        connection.execute(step)
    else:
        step(connection)


def _explain(path: Path, error: sqlite3.Error) -> StoreError:
    """The StoreError for an error of SQLite: one of REASONS, or damage."""
    return next(
        (StoreError(f"{path} {reason}") for words, reason in REASONS if words in str(error)),
        _damaged(path, error),
    )


def _damaged(path: Path, what: object) -> StoreError:
    """The error for a damaged file. SQLite's words on it may quote what is in the file."""
    why = printable(what)
    return StoreError(f"{path} is damaged: {why}; nothing was changed, restore it from a copy")


def _application(path: Path) -> int | None:
    """The application id of an SQLite file, None for any other file.

    The file is not locked, recovered or changed. SQLite reads it and not `open`: closing an opened
    file would release all locks of this process on it, those of its stores too.
    """
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            return int(connection.execute("PRAGMA application_id").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise _explain(path, error) from error
    except sqlite3.DatabaseError as error:
        # Damaged, or another process is writing it: opening the store will show.
        return None if "not a database" in str(error) else APPLICATION


def _counted(games: int) -> str:
    return f"{games:,} {'game' if games == 1 else 'games'}"


def _values(game: Game) -> tuple[Any, ...]:
    """The row of a game without its id and checksum."""
    players = (game.x.kind, game.x.name, game.x.source, game.o.kind, game.o.name, game.o.source)
    board = (game.rules.rows, game.rules.cols, game.rules.k)
    ending = (game.text, game.result, game.ended, game.origin)
    return (game.time, *players, game.side, *board, game.seed, *ending)


def _checksum(values: Sequence[Any]) -> int:
    return zlib.crc32(json.dumps(values, default=str).encode())


# --- the command line ----------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, export or import the games of a store; returns the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        if given.source is not None:
            _import(given.file, given.source)
        else:
            _show(given.file, given.export)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # such as `| head`
    except (ValueError, OSError) as error:
        print(f"{parser.prog}: {printable(error)}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        "python -m tictactoe_env.games",
        description="Check, export or import the games of a store.",
        allow_abbrev=False,
    )
    parser.add_argument("file", type=Path, help="the SQLite file of the store")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true", help="check the file and replay every game")
    action.add_argument("--export", choices=("text", "json"), help="print all games, one a line")
    action.add_argument(
        "--import",
        dest="source",
        type=Path,
        metavar="FILE",
        help="add all games of a file, or none: text with one game a line, a JSON list or a store",
    )
    return parser


def _import(path: Path, source: Path) -> None:
    games = list(read_games(source))
    with GameStore(path) as store:
        ids = store.add_many(games)
    which = f", {ids[0]} to {ids[-1]}" if ids else ""
    print(f"{printable(path)}: {_counted(len(ids))} added{which}")


def _show(path: Path, form: str | None) -> None:
    """Print all games as "text" or "json"; with form None check them and print their number."""
    with GameStore(path, read_only=True) as store:
        if form is None:
            print(f"{printable(path)}: {_counted(store.check())}, none damaged")
        elif form == "json":
            sys.stdout.write(store.export_json())
        else:
            sys.stdout.writelines(f"{line}\n" for line in store.export_lines())
