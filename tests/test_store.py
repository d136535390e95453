"""The store of games: what goes in comes out, whoever else writes, is killed, or harms the file."""

import itertools
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from any_games import ANN, MINIMAX, RUN, any_games, game
from hypothesis import given, settings
from hypothesis import strategies as st
from text_cases import refuses

from tictactoe_env import store as module
from tictactoe_env.games import ORIGINS, RESULTS, UNKNOWN, Game, Player
from tictactoe_env.rules import Rules
from tictactoe_env.store import LISTED, GameStore, StoreError, UnknownGameError, read_games

ROOT = Path(__file__).parent.parent
STORES = ROOT / "tests" / "stores"
posix = pytest.mark.skipif(
    os.name != "posix", reason="forks, signals, devices, a shell, file names"
)
IMPORTS = """
import os, random, signal, sys, time
from tictactoe_env.games import Game
from tictactoe_env.store import GameStore, StoreError
WON = Game(moves=(0, 4, 3, 1, 6), origin="human")
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a store of 30 games."""
    path = tmp_path_factory.mktemp("whole") / "games.db"
    with GameStore(path) as store:
        store.add_many([game(o=RUN, seed=seed, origin=ORIGINS[seed % 5]) for seed in range(30)])
    return path.read_bytes()


@pytest.fixture
def store(tmp_path):
    with GameStore(tmp_path / "games.db") as store:
        yield store


def python(program, *arguments):
    """What a Python process prints that runs a program in the root of the repository."""
    command = [sys.executable, "-c", IMPORTS + program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


@settings(max_examples=20)
@given(st.lists(any_games(), max_size=8))
def test_every_game_is_the_same_after_a_store_its_lines_and_json(played):
    with (
        tempfile.TemporaryDirectory() as folder,
        GameStore(Path(folder) / "games.db") as store,
        GameStore(Path(folder) / "other.db") as other,
    ):
        ids = store.add_many(played)
        expected = [replace(one, id=id) for id, one in zip(ids, played, strict=True)]
        assert [store.get(one.id) for one in expected] == expected == list(store)
        other.import_lines(store.export_lines())
        other.import_json(store.export_json())
        ids = [other.add(one) for one in expected]  # the numbers from elsewhere are not kept
        assert [other.get(id) for id in ids] == list(other)[2 * len(played) :]
        assert [replace(found, id=None) for found in other] == 3 * played
        assert (store.check(), other.check()) == (len(played), 3 * len(played))


def test_either_all_games_are_added_or_none_and_an_import_says_where_it_is_wrong(store):
    with refuses("line 3: a finished game is expected, this one goes on after 2 moves"):
        store.import_lines(["a1 b2 a2 b1 a3", "# and now", "a1 b2"])
    with refuses("game 2 of the list: a game is an object of"):
        store.import_json(json.dumps([game().as_json(), 17]))
    for text in ("", "{", "{}", "17", "[" * 100_000, b"\xff"):
        with pytest.raises(ValueError, match=r"^expected "):
            store.import_json(text)
    assert store.count() == 0
    store.add(game())
    with pytest.raises(AttributeError):
        store.add_many([game(), "a1 b2"])
    with pytest.raises(KeyboardInterrupt), store._writing() as connection:  # noqa: PT012
        connection.execute("DELETE FROM games")
        raise KeyboardInterrupt
    assert store.check() == 1
    assert store.add_many([]) == range(2, 2)


def test_the_games_are_listed_newest_first_page_by_page_those_of_training_only_if_asked_for(store):
    store.add_many([game(origin=origin) for origin in ORIGINS for _ in range(3)])
    listed = [15, 14, 13, 9, 8, 7, 6, 5, 4, 3, 2, 1]  # the origins are in the order of ORIGINS
    assert ORIGINS.index("training") == 3
    assert [found.id for found in store.list()] == listed
    page = store.list(3)
    assert [found.id for found in page + store.list(3, before=page[-1].id)] == listed[:6]
    assert store.list(3, before=1) == store.list(0) == store.list(origin=()) == []
    assert len(store.list(2**63 - 1, before=2**70)) == 12
    assert (store.count(), store.count(origin="training"), len(list(store))) == (12, 3, 15)


MALLORY = Player("human", "'; DROP TABLE games; --")


def test_a_list_is_what_the_filters_leave_and_names_are_never_statements(store):
    """Against the same choice in plain Python, for every mixture of filters."""
    rng, lines = random.Random(0), ("a1 b2 a2 b1 a3", "a1 b2 a2 a3 c3 c1")
    played = [(line, Rules()) for line in (*lines, "b2 a1 c3 a3 a2 c2 b1 b3 c1")]
    played += [("a1 b1 c1 d1", Rules(1, 4, 3)), ("a1 b1 a2 b2 a3", Rules(4, 3, 3))]
    names = [ANN, MINIMAX, RUN, UNKNOWN, Player("human", "minimax"), MALLORY]
    for _ in range(60):
        about = {"x": rng.choice(names), "o": rng.choice(names), "origin": rng.choice(ORIGINS)}
        store.add_many(2 * [game(*rng.choice(played), **about)])
    everything = list(reversed(list(store)))
    assert store.players() == sorted({"Ann", "minimax", "dqn-0", UNKNOWN.name, MALLORY.name})
    for player, people, result, rules, origin in itertools.product(
        (None, "Ann", "minimax", "dqn-0", MALLORY.name, "nobody", ("Ann", "dqn-0", "nobody"), ()),
        (None, True, False),
        (None, *RESULTS),
        (None, Rules(), Rules(1, 4, 3), Rules(5, 5, 4)),
        (LISTED, "training", ("web", "training"), ORIGINS),
    ):
        names = (player,) if isinstance(player, str) else player
        both = [one for one in everything if names is None or {one.x.name, one.o.name} & {*names}]
        both = [one for one in both if people in (None, "human" in (one.x.kind, one.o.kind))]
        left = [one for one in both if result in (None, one.result) and rules in (None, one.rules)]
        left = [one for one in left if one.origin == origin or one.origin in origin]
        filters = {
            "player": player,
            "people": people,
            "result": result,
            "rules": rules,
            "origin": origin,
        }
        assert store.count(**filters) == len(left)
        assert store.list(10, before=100, **filters) == [one for one in left if one.id < 100][:10]


def test_a_filter_or_an_id_that_no_game_can_have_is_refused(store):
    with refuses("unknown result of a game 'win' (known: O, X, draw)"):
        store.count(result="win")
    with refuses(f"unknown game 1: {store.path} holds no game yet", error=UnknownGameError):
        store.get(1)
    store.add_many([game(), game()])
    for name, wrong in (("limit", -1), ("limit", 1.5), ("before", 0), ("origin", "trainin")):
        with refuses("did you mean" if name == "origin" else "must be a whole number"):
            store.list(**{name: wrong})
    for id in (3, 2**70):
        with refuses(f"unknown game {id}: {store.path} holds 2 games, 1 to 2", error=LookupError):
            store.get(id)
    for id in (0, -1, 1.0, "1; DROP TABLE games", None, True):
        with refuses("the id of a game must be a whole number of at least 1"):
            store.get(id)


def test_the_newest_of_many_games_are_listed_without_a_look_at_all_of_them(store):
    """Nine in ten are games of training, and Ann has played one only. Counted in SQLite's steps."""
    origins = ["training"] * 9 + ["battle"]
    store.add_many([game(x=ANN), *(game(x=RUN, origin=origin) for origin in origins)])
    with store._writing() as connection:  # copies of rows, with their checksums made anew
        columns = module.COLUMNS.removeprefix("id, ")
        rows = f"SELECT {columns} FROM games WHERE x_name <> 'Ann' LIMIT 20000"
        for _ in range(11):
            connection.execute(f"INSERT INTO games ({columns}) {rows}")
        every = connection.execute(f"SELECT {module.COLUMNS} FROM games").fetchall()
        checksums = [(module._checksum(row[:-1]), row[0]) for row in every]
        connection.executemany("UPDATE games SET checksum = ? WHERE id = ?", checksums)
    steps = []
    store._connection.set_progress_handler(lambda: steps.append(100), 100)
    assert store.count(origin=ORIGINS) > 20_000
    assert sum(steps) > 20_000
    training, web = {"origin": "training"}, {"origin": "web"}
    names = [({"player": name}, count) for name, count in (("minimax", 50), ("Ann", 1), ("?", 0))]
    for filters, expected in ({}, 50), (training, 50), (web, 0), ({"result": "X"}, 50), *names:
        steps.clear()
        assert len(store.list(**filters)) == expected
        assert sum(steps) < 20_000, filters


ADDS = """
with GameStore(sys.argv[1], timeout=30) as store:
    print(*(store.add(WON) for _ in range(int(sys.argv[2]))))
"""


def test_processes_make_a_store_together_and_lose_no_game(tmp_path):
    path, each = tmp_path / "new" / "games.db", 15
    command = [sys.executable, "-c", IMPORTS + ADDS, path, str(each)]
    options = {"stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    running = [subprocess.Popen(command, **options) for _ in range(4)]
    ids = [list(map(int, process.communicate()[0].split())) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    assert all(told == sorted(told) for told in ids)
    assert sorted(itertools.chain(*ids)) == list(range(1, 4 * each + 1))
    with GameStore(path) as store:
        assert store.check() == 4 * each


KILLS = """
rng, told, kills = random.Random(0), [], 0
while kills < 30 or not told:
    path = sys.argv[1] + ("" if kills % 3 else f"-{kills}")  # every third time a new store
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        with GameStore(path) as store:
            while True:
                os.write(into, b"%d " % store.add(WON))
    os.close(into)
    time.sleep(rng.random() * 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(out, "rb") as pipe, GameStore(path) as store:
        added = [int(number) for number in pipe.read().split()]
        assert all(store.get(number) for number in added)
        store.check()
    told += added if kills % 3 else []
    kills += 1
with GameStore(sys.argv[1]) as store:
    print(*told, kills, store.check())
"""


@posix
def test_a_kill_at_any_moment_loses_no_game_that_was_added(tmp_path):
    """A game may be on the disk before its id was told, so each kill may leave one more."""
    *told, kills, kept = map(int, python(KILLS, tmp_path / "games.db").split())
    assert told == sorted(set(told))
    assert 0 < len(told) <= kept <= len(told) + kills


def test_threads_share_a_store(store):
    with ThreadPoolExecutor(5) as threads:
        found = list(threads.map(lambda _: (store.add(game()), store.list(1)), range(50)))
    assert {id for id, _ in found} == set(range(1, store.check() + 1)) == set(range(1, 51))


@posix
def test_a_store_is_not_taken_over_a_fork_and_says_when_it_is_closed(store):
    program = """
store = GameStore(sys.argv[1])
if os.fork() == 0:
    try:
        store.count()
    except StoreError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""
    message = f"{store.path} was opened by another process: open it again after a fork\n"
    assert python(program, store.path) == message
    store.close()
    store.close()
    with refuses(f"{store.path} is closed: open the store again", error=StoreError):
        store.count()


def test_a_second_store_of_a_process_takes_no_lock_from_the_first(tmp_path):
    """A program that closes a file loses its locks on it; another process would remove the log."""
    path = tmp_path / "games.db"
    with GameStore(path) as store:
        store.add(game())
        GameStore(path).close()
        list(read_games(path))
        python(ADDS, path, 2)
        assert Path(f"{path}-wal").exists()
        assert store.add(game()) == 4
    with GameStore(path) as store:
        assert store.check() == 4


def test_a_reader_writes_nothing_and_a_writer_waits_for_another_program(store):
    busy = f"{store.path} is locked: another program has been writing for"
    other = sqlite3.connect(store.path, isolation_level=None)
    with (
        GameStore(store.path, read_only=True) as reader,
        GameStore(store.path, timeout=0.05) as waiting,
    ):
        store.add(game())
        assert reader.get(1) == store.get(1)
        with refuses(
            f"{store.path} cannot be written: it was opened for reading only", error=StoreError
        ):
            reader.add(game())
        other.execute("BEGIN IMMEDIATE")
        assert waiting.count() == 1
        with refuses(busy, error=StoreError):
            waiting.add(game())
        other.execute("ROLLBACK")
        assert waiting.add(game()) == 2
    other.close()


def sqlite_file(path, statements, content=b""):
    """The bytes of an SQLite file after these statements."""
    path.write_bytes(content)
    connection = sqlite3.connect(path)
    connection.executescript(statements)
    connection.close()
    return path.read_bytes()


SONGS = "CREATE TABLE songs (name TEXT)"
OTHER = "is no store of games: expected an SQLite file made by one, got another kind of file"
FOREIGN = "got the SQLite file of another program; nothing was changed"
NEWER = r"was written by a newer program \(version 99, this"
PART = "is (damaged: .*; nothing was changed, restore it from a copy|no store)"


def test_a_file_that_is_no_store_or_a_part_of_one_is_refused_and_left_as_it_is(whole, tmp_path):
    path, noise = tmp_path / "games.db", random.Random(0).randbytes(20_000)
    header = b"SQLite format 3\0"
    others = (b"a1 b2 a2 b1 a3\n", noise, header + noise, header + noise[:34])
    for content, reason in (
        *((content, OTHER) for content in others),
        (sqlite_file(path, SONGS), FOREIGN),
        (sqlite_file(tmp_path / "1", f"{SONGS}; PRAGMA user_version = 1"), FOREIGN),
        (sqlite_file(tmp_path / "2", "PRAGMA user_version = 99", whole), NEWER),
        *((whole[:left], PART) for left in (60, 100, 1_000, 4_096, 10_000, -4_096, -1)),
    ):
        path.write_bytes(content)
        for read_only in (False, True):
            with pytest.raises(StoreError, match=reason), GameStore(path, read_only) as store:  # noqa: PT012
                assert content == whole[:-1]  # SQLite itself reads a lost byte as 0
                store.check()
        assert path.read_bytes() == content


def test_what_another_program_has_in_its_log_stays_there(tmp_path):
    path = tmp_path / "songs.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.executescript(f"PRAGMA journal_mode = WAL; {SONGS}")
    before = {f"copy.db{end}": Path(f"{path}{end}").read_bytes() for end in ("", "-wal")}
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    with refuses(FOREIGN, error=StoreError):
        GameStore(tmp_path / "copy.db")
    assert {file.name: file.read_bytes() for file in tmp_path.glob("copy.db*")} == before
    other.close()


@posix
def test_a_path_that_can_hold_no_store_is_refused_and_an_empty_file_becomes_one(tmp_path):
    empty, none = tmp_path / "file", tmp_path / "none.db"
    empty.touch()
    for path, read_only, reason in (
        (tmp_path, False, f"{tmp_path} is a folder: expected a file"),
        ("/dev/null", False, "/dev/null is a device: expected a file"),
        (empty / "games.db", False, module.NOT_OPENED),
        *([("/proc/games.db", False, "cannot be opened")] if sys.platform == "linux" else []),
        (none, True, f"there is no store at {none}"),
        (empty, True, "got an empty file"),
    ):
        with refuses(reason, error=StoreError):
            GameStore(path, read_only)
    assert not none.exists()
    for name in ("file", "games 1?mode=ro#2 100%25.db", ":memory:"):
        (tmp_path / name).touch()
        with GameStore(tmp_path / name) as store:
            store.add(game())
        assert (tmp_path / name).read_bytes()[:15] == b"SQLite format 3"


@posix
def test_a_write_protected_store_can_be_read_and_says_why_nothing_is_added():
    program = """
path = sys.argv[1]
with GameStore(path) as store:
    store.add(WON)
os.chmod(path, 0o444)
os.chmod(os.path.dirname(path), 0o555)
if os.getuid() == 0:
    os.setuid(65534)
with GameStore(path, read_only=True) as store:
    print(store.check(), os.listdir(os.path.dirname(path)))
for name in (path, path + "2"):
    try:
        GameStore(name).add(WON)
    except StoreError as error:
        print("write-protected" in str(error) or "cannot be opened" in str(error))
"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        assert python(program, f"{folder}/games.db") == "1 ['games.db']\nTrue\nTrue\n"
        os.chmod(folder, 0o755)


def read_back(path, content):
    """All games of a store of these bytes, after a check."""
    path.write_bytes(content)
    with GameStore(path) as store:
        games = list(store)
        assert set(store.list()) <= set(games)
        assert store.check() == len(games)
        return games


def test_a_bit_that_flips_anywhere_is_noticed_or_changes_no_game(whole, tmp_path):
    path, noticed, rng = tmp_path / "flipped.db", 0, random.Random(1)
    games = read_back(tmp_path / "games.db", whole)
    for place in [*range(100), *(rng.randrange(len(whole)) for _ in range(100))]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.randrange(8)
        try:
            assert read_back(path, flipped) == games
        except StoreError as error:
            noticed += 1
            told = str(error)
            assert told.startswith((f"{path} is ", f"{path} was written by a newer program"))
            assert path.read_bytes() == flipped
    assert noticed > 50  # the others hit free space


def test_a_row_that_was_changed_or_is_no_game_is_not_shown(store, monkeypatch):
    changes = ("x_name = 'Bob'", "moves = 'a1 a1'", "seed = NULL", "result = 'draw'", "time = 1")
    for change in (*changes, "origin = x'00'", "checksum = 0", "rows = 4.5"):
        id = store.add(game(seed=1))
        with store._writing() as connection:
            connection.execute(f"UPDATE games SET {change} WHERE id = {id}")
        with refuses(f"game {id} is not what was written, its checksum differs", error=StoreError):
            store.get(id)
    for read in (lambda: list(store), store.check):
        with refuses(f"{store.path} is damaged: game 1 is not what was written", error=StoreError):
            read()
    monkeypatch.setattr(Game, "text", "a1 a1")  # no game, but with its checksum
    with refuses("is damaged: game 9: cell 0 is taken", error=StoreError):
        store.get(store.add(game()))


@pytest.mark.parametrize("version", [0, 2])
def test_a_store_of_an_older_version_becomes_one_of_the_next_version(
    version, whole, tmp_path, monkeypatch
):
    path = tmp_path / "games.db"
    if version == 2:
        path.write_bytes(whole)
    else:
        sqlite_file(path, f"PRAGMA application_id = {module.APPLICATION}")
    before, known = path.read_bytes(), module.MIGRATIONS
    monkeypatch.setattr(module, "MIGRATIONS", (*known, ("DROP TABLE games", "SELECT nonsense")))
    with pytest.raises(StoreError):
        GameStore(path)
    assert path.read_bytes() == before, "a migration that fails changes nothing"
    added = ("ALTER TABLE games ADD COLUMN note TEXT", "UPDATE games SET note = 'old'")
    monkeypatch.setattr(module, "MIGRATIONS", (*known, added))
    with refuses(f"is of version {version}, this program reads 3: open it for", error=StoreError):
        GameStore(path, read_only=True)
    with GameStore(path) as store:
        assert store.check() == 15 * version
        noted = store._rows("SELECT count(*) FROM games WHERE note = 'old'")
        assert noted == [(15 * version,)]
        store.add(game())
    with GameStore(path, read_only=True) as store:
        assert (store._version(), store.check()) == (3, 15 * version + 1)


def test_a_store_that_was_written_by_version_1_can_be_read(tmp_path):
    statements = (STORES / "version-1.sql").read_text(encoding="utf-8")
    sqlite_file(tmp_path / "games.db", statements)
    with GameStore(tmp_path / "games.db") as store:
        assert store.check() == 4
        written = (STORES / "version-1.txt").read_text(encoding="utf-8")
        assert list(store.export_lines()) == written.splitlines()


LINES = "\ufeff# two games\n\na1 b2 a2 b1 a3\na1 b1 a2 b2 a3 b3 a4 board=4x3 k=4\n"
NO_GAMES = "holds no games: expected a store, a JSON list of games, or text"


def test_a_file_of_games_is_known_by_its_content_and_not_by_its_name(whole, tmp_path):
    songs = sqlite_file(tmp_path / "songs.db", SONGS)
    contents = {"games.txt": whole, "games.db": LINES.encode(), "empty": b"", "songs": songs}
    for name, content in {**contents, "noise": b"\xff\xfe" + bytes(100)}.items():
        (tmp_path / name).write_bytes(content)
    assert [found.seed for found in read_games(tmp_path / "games.txt")] == list(range(30))
    assert [found.rules for found in read_games(tmp_path / "games.db")] == [Rules(), Rules(4, 3, 4)]
    assert list(read_games(tmp_path / "empty")) == []
    for name, message in (("noise", NO_GAMES), ("songs", FOREIGN), ("none", "No such file")):
        with refuses(message, error=(ValueError, FileNotFoundError)):
            list(read_games(tmp_path / name))


def test_games_go_out_as_text_or_json_and_into_another_store(tmp_path, capsys):
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with GameStore(old) as store:
        store.add_many([game(seed=1), game(o=RUN)])
    for form in ("text", "json"):
        assert module.main([str(old), "--export", form]) == 0
        (tmp_path / form).write_text(capsys.readouterr().out, encoding="utf-8")
    for source, low in ((tmp_path / "text", 1), (tmp_path / "json", 3), (old, 5)):
        assert module.main([str(new), "--import", str(source)]) == 0
        assert capsys.readouterr().out == f"{new}: 2 games added, {low} to {low + 1}\n"
    again = [replace(found, id=None) for found in read_games(new)]
    assert again == [game(seed=1), game(o=RUN)] * 3
    assert module.main([str(old), "--check"]) == 0
    assert capsys.readouterr().out == f"{old}: 2 games, none damaged\n"


@posix
def test_a_command_that_fails_says_why_on_one_line_and_makes_no_store(tmp_path, capsys):
    path = tmp_path / "games.db"
    (tmp_path / "games.txt").write_text("a1 b2 a2 b1 a3\na1 a1\n", encoding="utf-8")
    for *options, message in (
        ("--check", f"there is no store at {path}: "),
        ("--import", str(tmp_path / "games.txt"), "line 2 of"),
        ("--import", str(tmp_path / "none"), "No such file"),
    ):
        assert module.main([str(path), *options]) == 1
        printed = capsys.readouterr().err
        assert printed.startswith("python -m tictactoe_env.store: ")
        assert (message in printed, printed.count("\n")) == (True, 1)
    with pytest.raises(SystemExit, match="2"):
        module.main([str(path), "--export", "csv"])
    assert capsys.readouterr().err.count("\n") == 1
    assert not path.exists()
    with GameStore(tmp_path / "many.db") as store:
        store.add_many([game()] * 2_000)
    head = f"{sys.executable} -m tictactoe_env.store {store.path} --export text | head -n 1"
    done = subprocess.run(head, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout.startswith("a1 b2 a2 b1 a3 "), done.stderr) == (True, "")


@pytest.mark.parametrize(("timeout", "is_opened"), [(60, True), (0, False)])
def test_a_store_that_others_open_at_the_same_moment_is_waited_for(
    timeout, is_opened, tmp_path, monkeypatch
):
    """SQLite does not wait, whatever the timeout, if two begin to write a log (WAL) at once."""
    refused = []

    class Busy(sqlite3.Connection):
        def execute(self, statement, *values):
            if "journal_mode" in statement and len(refused) < 3:
                refused.append(statement)
                raise sqlite3.OperationalError("database is locked")
            return super().execute(statement, *values)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Busy))
    told = nullcontext() if is_opened else refuses("is locked: another program", error=StoreError)
    with told, GameStore(tmp_path / "games.db", timeout=timeout) as store:
        assert store.add(game()) == 1
    assert len(refused) == (3 if is_opened else 1)
