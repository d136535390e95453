"""The store of games: what goes in comes out, whoever else writes, is killed, or opens it."""

import itertools
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from any_games import ANN, MINIMAX, RUN, any_games, game
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import ROOT
from text_cases import refuses

from tictactoe_env.games.__main__ import main
from tictactoe_env.games.game import (
    ORIGINS,
    Participant,
    parse_json,
    parse_lines,
)
from tictactoe_env.games.store import LISTED, GameStore, StoreError, UnknownGameError, read_games

posix = pytest.mark.skipif(os.name != "posix", reason="forks, signals, devices")
ADDS = """import sys
from tictactoe_env.games.game import Game
from tictactoe_env.games.store import GameStore
with GameStore(sys.argv[1], timeout=30) as store:
    print(*(store.add(Game(moves=(0, 4, 3, 1, 6), origin="human")) for _ in range(15)))
"""


@pytest.fixture
def store(tmp_path):
    with GameStore(tmp_path / "games.db") as store:
        yield store


def holds_in_a_child(condition):
    """Whether a condition holds in a forked process."""
    child, holds = os.fork(), False
    if child == 0:
        try:
            holds = condition()
        finally:
            os._exit(holds)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@settings(max_examples=10)
@given(games=st.lists(any_games(), min_size=1, max_size=9))
def test_games_of_any_kind_come_back_in_their_order_to_whoever_opens_the_store(games):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "games.db")
        with GameStore(path) as one, GameStore(path) as other:
            numbers = [one.add(games[0]), *other.add_many(games[1:])]
            assert one.get(len(games)).moves == games[-1].moves
        assert numbers == list(range(1, 1 + len(games)))
        with GameStore(path) as again:
            assert [replace(found, id=None) for found in again] == games
            assert [found.id for found in again] == numbers


def test_either_all_games_are_added_or_none_and_an_import_says_where_it_is_wrong(store):
    with refuses("line 3"):
        store.add_many(parse_lines(["a1 b2 a2 b1 a3", "# and now", "a1 b2"]))
    with refuses("game 2"):
        store.add_many(parse_json(json.dumps([game().as_json(), 17])))
    for text in ("", "{"):
        with refuses("JSON"):
            store.add_many(parse_json(text))
    assert store.check() == 0
    assert store.add_many([]) == range(1, 1)


MALLORY = Participant("human", "'; DROP TABLE games; --")


def test_a_list_is_what_the_filters_leave_and_names_are_never_statements(store):
    """Against the same choice in plain Python, for mixtures of filters."""
    rng = random.Random(0)
    names = [ANN, MINIMAX, RUN, Participant("human", "minimax"), MALLORY]
    for _ in range(120):
        x, o = rng.choices(names, k=2)
        moves = rng.choice(("a1 b2 a2 b1 a3", "b2 a1 c3 a3 a2 c2 b1 b3 c1"))
        store.add(game(moves, x=x, o=o, origin=rng.choice(ORIGINS)))
    store.add(game(x=Participant("agent", "trainee"), origin="training"))
    everything = list(store)[::-1]
    assert store.players() == sorted({"Ann", "minimax", "dqn-0", MALLORY.name})
    for _ in range(80):
        player = rng.choice((None, "Ann", MALLORY.name, "nobody", ("Ann", "dqn-0"), ()))
        people, origin = rng.choice((None, True, False)), rng.choice(("web", LISTED, ORIGINS))
        result = rng.choice((None, "X", "draw"))
        ours = (player,) if isinstance(player, str) else player
        left = [one for one in everything if ours is None or {one.x.name, one.o.name} & {*ours}]
        left = [one for one in left if people in (None, "human" in (one.x.kind, one.o.kind))]
        left = [one for one in left if one.origin == origin or one.origin in origin]
        left = [one for one in left if result in (None, one.result)]
        filters = {"player": player, "people": people, "origin": origin, "result": result}
        assert store.count(**filters) == len(left)
        assert store.list(10, before=100, **filters) == [one for one in left if one.id < 100][:10]


def test_a_filter_or_an_id_that_no_game_can_have_is_refused(store):
    store.add(game())
    for name, wrong in (("limit", -1), ("before", 0), ("origin", "trainin"), ("result", "win")):
        with refuses(repr(wrong)):
            store.list(**{name: wrong})
    for id in (3, 2**70):
        with refuses(id, store.path, error=UnknownGameError):
            store.get(id)
    for id in (0, "1; DROP TABLE games"):
        with refuses(repr(id)):
            store.get(id)


def test_a_store_whose_rows_have_checksums_is_read_and_written(store):
    store.add(game())
    store.close()
    sqlite_file(store.path, "UPDATE games SET checksum = 17")
    with GameStore(store.path) as again:
        assert again.add(game(o=RUN)) == again.check() == 2
        assert [one.o for one in again.list()] == [RUN, MINIMAX]


# --- others who write, read and are killed --------------------------------------------------------


def test_processes_and_threads_make_a_store_together_and_lose_no_game(tmp_path):
    path = tmp_path / "new" / "games.db"
    command, piped = [sys.executable, "-c", ADDS, path], subprocess.PIPE
    running = [subprocess.Popen(command, stdout=piped, text=True, cwd=ROOT) for _ in range(3)]
    ids = [list(map(int, process.communicate()[0].split())) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert sorted(itertools.chain(*ids)) == list(range(1, 46))
    with GameStore(path) as store, ThreadPoolExecutor(5) as threads:
        found = list(threads.map(lambda _: (store.add(game()), store.list(1)), range(50)))
        assert {id for id, _ in found} == set(range(46, 96))
        assert store.check() == 95


def test_a_store_that_is_closed_says_so(store):
    store.close()
    store.close()
    with refuses(store.path, error=StoreError):
        store.count()


@posix
def test_a_write_protected_store_can_be_read_and_says_that_nothing_is_added():
    def is_read_only():
        os.setuid(65534) if os.getuid() == 0 else None
        with refuses(path, error=StoreError):
            GameStore(path).add(game())
        with GameStore(path, read_only=True) as store:
            return (store.check(), os.listdir(folder)) == (1, ["games.db"])

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/games.db"
        with GameStore(path) as store:
            store.add(game())
        os.chmod(path, 0o444)
        os.chmod(folder, 0o555)
        assert holds_in_a_child(is_read_only)
        os.chmod(folder, 0o755)


def test_a_reader_writes_nothing_and_a_writer_waits_for_another_program(store):
    with (
        closing(sqlite3.connect(store.path, isolation_level=None)) as other,
        GameStore(store.path, read_only=True) as reader,
        GameStore(store.path, timeout=0.05) as waiting,
    ):
        store.add(game())
        assert reader.get(1) == store.get(1)
        with refuses(store.path, error=StoreError):
            reader.add(game())
        other.execute("BEGIN IMMEDIATE")
        assert waiting.count() == 1
        with refuses(store.path, "locked", error=StoreError):
            waiting.add(game())
        other.execute("ROLLBACK")
        assert waiting.add(game()) == 2


# --- files ----------------------------------------------------------------------------------------


def sqlite_file(path, *statements):
    """The bytes of an SQLite file after these statements."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(";".join(statements))
    return path.read_bytes()


SONGS = "CREATE TABLE songs (name TEXT)"
OTHERS = {
    "another program": (SONGS,),
    "a newer version": ("PRAGMA user_version = 99",),
    "an endless view": (
        "DROP TABLE games",
        "CREATE VIEW games AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
        "SELECT * FROM n",
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_database_that_is_no_store_of_ours_is_refused_and_left_as_it_is(kind, tmp_path):
    path = tmp_path / "games.db"
    if SONGS not in OTHERS[kind]:
        GameStore(path).close()
    before = sqlite_file(path, *OTHERS[kind])
    for read_only in (False, True):
        with refuses(path, error=StoreError):
            GameStore(path, read_only)
    assert path.read_bytes() == before


@posix
def test_a_path_that_can_hold_no_store_is_refused_and_an_empty_file_becomes_one(tmp_path):
    empty, none = tmp_path / "file", tmp_path / "none.db"
    empty.touch()
    for path, read_only in ((empty / "games.db", False), (none, True), (empty, True)):
        with refuses(path, error=StoreError):
            GameStore(path, read_only)
    assert not none.exists()
    for name in ("file", "games 1?mode=ro#2 100%25.db", ":memory:"):
        (tmp_path / name).touch()
        with GameStore(tmp_path / name) as store:
            store.add(game())
        assert (tmp_path / name).read_bytes()[:15] == b"SQLite format 3"


def test_games_go_out_as_text_or_json_and_into_another_store(tmp_path, capsys):
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with GameStore(old) as store:
        store.add_many([game(seed=1), game(o=RUN)])
    for form in ("text", "json"):
        assert main([str(old), "--export", form]) == 0
        (tmp_path / form).write_text(capsys.readouterr().out, encoding="utf-8")
    for source in (tmp_path / "text", tmp_path / "json", old):
        assert main([str(new), "--import", str(source)]) == 0
        assert capsys.readouterr().out == f"{new}: 2 games added\n"
    again = [replace(found, id=None) for found in read_games(new)]
    assert again == [game(seed=1), game(o=RUN)] * 3
    assert main([str(old), "--check"]) == 0
    assert "2 games" in capsys.readouterr().out
    (tmp_path / "noise").write_bytes(b"\xff\xfe" + bytes(100))
    with refuses(tmp_path / "noise"):
        list(read_games(tmp_path / "noise"))
