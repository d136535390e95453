"""tictactoe_env/games.py: what a game may be, how it is written and read, and a store that loses and invents nothing."""

import itertools
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tictactoe_env import games as page
from tictactoe_env.games import (
    ENDINGS,
    KINDS,
    LISTED,
    ORIGINS,
    RESULTS,
    UNKNOWN,
    Game,
    GameStore,
    Player,
    StoreError,
    UnknownGameError,
    read_games,
)
from tictactoe_env.notation import SIDES, board_text, parse_cell
from tictactoe_env.rules import IllegalMoveError, Rules

ROOT = Path(__file__).parent.parent
SQUARE = Rules()
ANN, MINIMAX, RUN = (
    Player("human", "Ann"),
    Player("agent", "minimax"),
    Player("run", "dqn-0", "runs/dqn-0"),
)
TIME = "2026-05-09T07:35:25Z"


def game(moves="a1 b2 a2 b1 a3", rules=SQUARE, **about):
    """A game of Ann as X against minimax; X wins on the left, unless other moves are given."""
    cells = tuple(parse_cell(name, rules) for name in moves.split())
    return Game(
        **{
            "x": ANN,
            "o": MINIMAX,
            "moves": cells,
            "rules": rules,
            "origin": "human",
            "time": TIME,
            **about,
        }
    )


LETTERS = st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.sampled_from("%#:=/")
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=9), min_size=1, max_size=3).map(" ".join)
PLAYERS = st.builds(Player, st.sampled_from(KINDS), WORDS, st.just("") | WORDS)
BOARDS = st.tuples(st.integers(1, 8), st.integers(1, 7)).flatmap(
    lambda size: st.builds(Rules, *map(st.just, size), st.integers(1, max(size)))
)


@st.composite
def any_games(draw):
    """A game of any kind on any board, ended in any way."""
    rules, ended, rng = (
        draw(BOARDS),
        draw(st.sampled_from(ENDINGS)),
        random.Random(draw(st.integers(0, 2**32))),
    )
    stop, result, cells, marks, is_over = rng.randint(1, rules.cells), "", [], [0, 0], False
    for ply, cell in enumerate(rng.sample(range(rules.cells), rules.cells)):
        is_stopped = {
            "early": rules.is_dead(*marks),
            "resigned": ply == stop - 1,
            "illegal": ply == stop,
        }.get(ended, False)
        if is_over or is_stopped:
            break
        cells.append(cell)
        marks[ply % 2] |= rules.cell_bits[cell]
        is_over = rules.has_line(marks[ply % 2]) or rules.is_full(*marks)
    if is_over:
        ended = ""
    elif ended == "illegal":
        cells.append(rng.choice(cells))
    elif ended == "resigned":
        result = rng.choice(SIDES)
    return Game(
        x=draw(PLAYERS),
        o=draw(PLAYERS),
        moves=tuple(cells),
        origin=draw(st.sampled_from(ORIGINS)),
        rules=rules,
        result=result,
        ended=ended,
        side=draw(st.sampled_from((None, *SIDES))),
        seed=draw(st.none() | st.integers(0, 2**63 - 1)),
        time=draw(st.datetimes().map(lambda when: f"{when.isoformat()}Z")),
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a store of 30 games."""
    path = tmp_path_factory.mktemp("whole") / "games.db"
    with GameStore(path) as store:
        store.add_many([game(o=RUN, seed=seed, origin=ORIGINS[seed % 5]) for seed in range(30)])
    return path.read_bytes()


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """The bytes of a store without a game."""
    path = tmp_path_factory.mktemp("empty") / "games.db"
    GameStore(path).close()
    return path.read_bytes()


@pytest.fixture
def store(empty, tmp_path):
    (tmp_path / "games.db").write_bytes(empty)
    with GameStore(tmp_path / "games.db") as store:
        yield store


def refuses(message, error=ValueError):
    return pytest.raises(error, match=re.escape(message))


def python(program, *arguments):
    """What a Python process prints that runs a program in the root of the repository."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- a game ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moves", "rules", "result", "ended"),
    [
        ("a1 b2 a2 b1 a3", Rules(), "X", "line"),
        ("a1 b2 a2 a3 c3 c1", Rules(), "O", "line"),
        ("b2 a1 c3 a3 a2 c2 b1 b3 c1", Rules(), "draw", "full"),
        ("a1 b1 a2 b2 a3 c1 b3 c2 c3", Rules(3, 3, 3), None, None),  # goes on after the line
        ("b2 a1 b1 c1 c2 a2 a3 c3 b3", Rules(), "X", "line"),  # the last cell makes the line
        ("a1 b1 a2 b2 a3 b3 a4", Rules(4, 3, 4), "X", "line"),
        ("a1 b1 c1 d1", Rules(1, 4, 3), "draw", "full"),
        ("a1", Rules(1, 1, 1), "X", "line"),
    ],
)
def test_the_result_and_the_ending_follow_from_the_moves(moves, rules, result, ended):
    if result is None:
        with refuses("the game is over", IllegalMoveError):
            game(moves, rules)
        return
    found = game(moves, rules)
    assert (found.result, found.ended) == (result, ended)
    assert game(moves, rules, result=result, ended=ended) == found
    assert found.text == moves


def test_what_the_moves_contradict_is_refused():
    with refuses(
        "by the moves 'a1 b2 a2 b1 a3' result is 'X', got 'O': correct it, or leave it out"
    ):
        game(result="O")
    for ended in ("full", "early", "illegal", "resigned"):
        with refuses(f"ended is 'line', got '{ended}'"):
            game(ended=ended, result="X")


@pytest.mark.parametrize("moves", ["", "a1", "a1 b2 a2 b1"])
def test_a_game_that_goes_on_is_refused_unless_somebody_resigned(moves):
    for about in (
        {},
        {"result": "X"},
        {"ended": "line"},
        {"ended": "early"},
        {"ended": "illegal"},
        {"ended": "resigned", "result": "draw"},
    ):
        with refuses(f"this one goes on after {len(moves.split())} moves"):
            game(moves, **about)
    for result in SIDES:
        assert game(moves, ended="resigned", result=result).result == result


def test_an_illegal_move_loses_and_is_the_last_one():
    assert game("a1 a1", ended="illegal").result == "X"
    assert game("a1 b2 a1", ended="illegal").result == "O"
    assert [board_text(board, Rules()) for board in game("a1 a1", ended="illegal").boards] == [
        ".../.../...",
        "X../.../...",
    ]
    for moves, about in (
        ("a1 a1", {}),
        ("a1 a1 b2", {"ended": "illegal"}),
        ("a1 a1", {"ended": "resigned", "result": "X"}),
    ):
        with refuses(
            'cell 0 is taken in "X../.../..." (O to move, legal: 1 2 3 4 5 6 7 8)', IllegalMoveError
        ):
            game(moves, **about)
    with refuses("the game is over", IllegalMoveError):
        game("a1 b2 a2 b1 a3 a1", ended="illegal")
    with refuses("result is 'X', got 'O'"):
        game("a1 a1", ended="illegal", result="O")


def test_an_early_draw_needs_a_board_on_which_nobody_can_win():
    early = game(
        "b2 a1 c3 a3 a2 c2 b1 b3", ended="early"
    )  # OX./XXO/OOX: X could only fill the last cell
    assert (early.result, early.ended) == ("draw", "early")
    with refuses("goes on after 4 moves"):
        game("b2 a1 c3 a3", ended="early")
    with refuses("goes on after 8 moves"):
        game("b2 a1 c3 a3 a2 c2 b1 b3")


def test_the_boards_of_a_game_begin_with_the_empty_one():
    boards = game("a1 b2 a2 b1 a3").boards
    assert [board_text(board, Rules()) for board in boards[[0, 1, -1]]] == [
        ".../.../...",
        "X../.../...",
        "XO./XO./X..",
    ]


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"x": "Ann"}, 'x of a game must be a Player such as Player("human", "Ann"), got \'Ann\''),
        ({"o": None}, "o of a game must be a Player"),
        ({"rules": (3, 3, 3)}, "rules of a game must be a Rules such as Rules(), got (3, 3, 3)"),
        ({"origin": "net"}, "unknown origin of a game 'net'"),
        ({"origin": ""}, "unknown origin of a game ''"),
        ({"ended": "resign"}, "unknown ended of a game 'resign'; did you mean 'resigned'?"),
        ({"result": "x"}, "unknown result of a game 'x'; did you mean 'X'? (known: O, X, draw)"),
        ({"side": "both"}, "unknown side of a game 'both' (known: O, X)"),
        ({"side": ""}, "unknown side of a game ''"),
        ({"seed": -1}, "seed of a game must be a whole number from 0 to"),
        ({"seed": True}, "seed of a game must be a whole number"),
        ({"seed": 2**63}, "seed of a game must be a whole number"),
        ({"id": 0}, "id of a game must be a whole number from 1 to"),
        ({"moves": (0, 9)}, "a cell must be a whole number from 0 to 8, got 9"),
        ({"moves": (0, -1)}, "a cell must be a whole number from 0 to 8, got -1"),
        ({"moves": "a1 b2"}, "a cell must be a whole number from 0 to 8, got 'a' of type str"),
        (
            {"time": "yesterday"},
            "the time of a game must be ISO text with a zone, such as 2026-05-09T07:35:25Z, got 'yesterday'",
        ),
        ({"time": "2026-05-09T07:35:25"}, "it names no zone"),
        ({"time": "0001-01-01T00:00:00+05:00"}, "the time of a game must be"),
        ({"time": 17}, "the time of a game must be"),
        ({"time": None}, "the time of a game must be"),
    ],
)
def test_every_field_is_checked(about, message):
    with refuses(message):
        replace(game(), **about)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("person", "Ann"), "unknown kind of player 'person' (known: agent, human, run, unknown)"),
        (
            ("human", ""),
            "the name of a player must be 1 to 100 printable characters, no blank at either end, got ''",
        ),
        (("human", "A" * 101), "the name of a player must be"),
        (("human", "Ann\nO=agent"), "the name of a player must be"),
        (("human", " Ann"), "the name of a player must be"),
        (("human", "\ud800"), "the name of a player must be"),
        (("human", 7), "the name of a player must be"),
        (
            ("run", "dqn", "runs/\0"),
            "the source of a player must be 0 to 1000 printable characters",
        ),
        (("run", "dqn", None), "the source of a player must be"),
    ],
)
def test_a_player_is_checked(fields, message):
    with refuses(message):
        Player(*fields)


def test_the_time_is_kept_as_utc_and_is_now_if_none_is_given():
    assert game(time="2026-05-09T09:35:25.900+02:00").time == TIME
    assert game(time="2026-05-09T07:35:25z").time == TIME
    now = time.strftime("%Y-%m-%dT%H:%M", time.gmtime())
    assert game(time="").time >= now
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", game(time="").time)


def test_numbers_of_numpy_become_plain_ones():
    cells = np.array([0, 4, 3, 1, 6])
    plain = replace(game(), moves=cells, seed=np.int64(3))
    assert plain == game(seed=3)
    assert {type(cell) for cell in plain.moves} == {int}
    assert hash(plain) == hash(game(seed=3))


# --- text ------------------------------------------------------------------------------------------------------------


def test_a_line_is_the_moves_and_what_else_is_known():
    line = game(o=RUN, side="X", seed=7).line()
    assert line == (
        "a1 b2 a2 b1 a3 x=human:Ann o=run:dqn-0:runs/dqn-0 board=3x3 k=3 result=X ended=line side=X seed=7 origin=human time=2026-05-09T07:35:25Z"
    )
    assert Game.parse(line) == game(o=RUN, side="X", seed=7)


def test_the_moves_alone_are_a_line():
    found = Game.parse("  A1 b2 a2 b1 a3   # my first win\n")
    assert found == Game(moves=(0, 4, 3, 1, 6), origin="file", time=found.time)
    assert (found.x, found.o, found.result) == (UNKNOWN, UNKNOWN, "X")
    assert Game.parse("a1 b1 a2 b2 a3 b3 a4", Rules(4, 3, 4)).rules == Rules(4, 3, 4)
    assert Game.parse("a1 b1 a2 b2 a3 b3 a4 board=4x3 k=4").rules == Rules(4, 3, 4)
    assert Game.parse("x=human:Ann ended=resigned result=O").moves == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a1 b2 a2", "goes on after 3 moves"),
        ("a1 d4", "got 'd4'"),
        ("a1 a1", "cell 0 is taken"),
        ("a1 b2 a2 b1 a3 X=Ann", "unknown field of a game 'X'; did you mean 'x'?"),
        (
            "a1 b2 a2 b1 a3 x=Ann",
            "a player is written as kind:name or kind:name:source, such as \"human:Ann\", got 'Ann'",
        ),
        ("a1 b2 a2 b1 a3 x=human:Ann:runs:0", "a player is written as"),
        ("a1 b2 a2 b1 a3 x=human:Ann%FF", "invalid start byte"),
        ("a1 b2 a2 b1 a3 x=human:%0A", "the name of a player must be"),
        ("a1 b2 a2 b1 a3 board=3", "cols must be a whole number, got ''"),
        ("a1 b2 a2 b1 a3 board=9x9", "a board of 9x9 needs 90 bits"),
        ("a1 b2 a2 b1 a3 k=three", "k must be a whole number, got 'three'"),
        ("a1 b2 a2 b1 a3 seed=-1", "seed must be a whole number, got '-1'"),
        ("a1 b2 a2 b1 a3 seed=1_0", "seed must be a whole number, got '1_0'"),
        ("a1 b2 a2 b1 a3 k=3 k=3", "k= stands twice in the line"),
        ("a1 b2 a2 b1 a3 result=draw", "result is 'X', got 'draw'"),
        ("a1 b2 a2 b1 a3 origin=", "unknown origin of a game ''"),
    ],
)
def test_a_line_that_is_no_game_is_refused(line, message):
    with refuses(message):
        Game.parse(line)


@given(any_games())
def test_every_game_is_the_same_after_a_line_of_text_and_after_json(case):
    line = case.line()
    assert line.isprintable()
    assert Game.parse(line) == case
    assert Game.parse(f"{line} # {line}", Rules(2, 2, 2)) == case
    assert Game.from_json(json.loads(json.dumps(case.as_json()))) == case
    assert replace(case) == case


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            17,
            "a game is an object of x, o, board, result, ended, side, seed, origin, time, moves, id, got 17",
        ),
        ({}, "KeyError('moves')"),
        ({"moves": "a1 b2 a2 b1 a3"}, "origin"),
        ({"moves": [0, 4, 3, 1, 6], "origin": "web"}, "the moves of a game are written as text"),
        (
            {"moves": "a1 b2 a2 b1 a3", "origin": "web", "Seed": 1},
            "unknown field of a game 'Seed'; did you mean 'seed'?",
        ),
        ({"moves": "a1 b2 a2 b1 a3", "origin": "web", "x": "Ann"}, "a game is an object of"),
        (
            {"moves": "a1 b2 a2 b1 a3", "origin": "web", "x": {"name": "Ann"}},
            "a game is an object of",
        ),
        (
            {"moves": "a1 b2 a2 b1 a3", "origin": "web", "board": {"rows": 3, "size": 3}},
            "a game is an object of",
        ),
        (
            {"moves": "a1 b2 a2 b1 a3", "origin": "web", "board": {"rows": "3"}},
            "rows must be a whole number",
        ),
        (
            {"moves": "a1 b2 a2 b1 a3", "origin": "web", "seed": 1e3},
            "seed of a game must be a whole number",
        ),
    ],
)
def test_json_that_is_no_game_is_refused(content, message):
    with refuses(message):
        Game.from_json(content)


# --- the store -------------------------------------------------------------------------------------------------------


def test_a_game_comes_back_with_its_id(store):
    assert store.add(game(seed=3)) == 1
    assert store.add(game(o=RUN)) == 2
    assert store.get(1) == game(seed=3, id=1)
    assert list(store) == [game(seed=3, id=1), game(o=RUN, id=2)]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(any_games(), max_size=4))
def test_every_game_is_the_same_after_a_store(store, cases):
    """The store is the same for all examples."""
    ids = store.add_many(cases)
    assert [store.get(id) for id in ids] == [
        replace(case, id=id) for id, case in zip(ids, cases, strict=True)
    ]


@settings(max_examples=4)
@given(st.lists(any_games(), min_size=5, max_size=20))
def test_a_store_is_the_same_after_its_lines_and_after_json(cases):
    with (
        tempfile.TemporaryDirectory() as folder,
        GameStore(Path(folder) / "games.db") as store,
        GameStore(Path(folder) / "other.db") as other,
    ):
        store.add_many(cases)
        other.import_lines(store.export_lines())
        other.import_json(store.export_json())
        assert [replace(found, id=None) for found in other] == 2 * cases
        assert (store.check(), other.check()) == (len(cases), 2 * len(cases))


def test_an_import_says_where_it_is_wrong_and_adds_nothing(store):
    with refuses("line 3: a finished game is expected, this one goes on after 2 moves"):
        store.import_lines(["a1 b2 a2 b1 a3", "# and now", "a1 b2"])
    with refuses("game 2 of the list: a game is an object of"):
        store.import_json(json.dumps([game().as_json(), 17]))
    for text in ("", "{", "{}", "17", "[" * 100_000, b"\xff"):
        with pytest.raises(ValueError, match=r"^expected "):
            store.import_json(text)
    assert store.count() == 0


def test_a_game_from_another_store_gets_a_number_of_this_one(store, tmp_path):
    with GameStore(tmp_path / "other.db") as other:
        other.add_many([game(), game(seed=1)])
        assert store.add_many(other) == range(1, 3)
    assert store.add(store.get(1)) == 3


def test_the_games_are_listed_newest_first_page_by_page(store):
    store.add_many([game(seed=seed) for seed in range(7)])
    assert [found.seed for found in store.list()] == [6, 5, 4, 3, 2, 1, 0]
    page = store.list(3)
    assert [found.id for found in page] == [7, 6, 5]
    assert [found.id for found in store.list(3, before=page[-1].id)] == [4, 3, 2]
    assert store.list(3, before=1) == store.list(0) == []
    assert len(store.list(2**63 - 1, before=2**70)) == 7


def test_games_of_training_are_listed_only_if_they_are_asked_for(store):
    store.add_many([game(origin=origin) for origin in ORIGINS for _ in range(3)])
    assert {found.origin for found in store.list()} == set(LISTED) == set(ORIGINS) - {"training"}
    assert [found.origin for found in store.list(origin="training")] == 3 * ["training"]
    assert len(store.list(origin=ORIGINS)) == len(list(store)) == 15
    assert len(store.list(origin=("web", "training"))) == 6
    assert store.list(origin=()) == []
    assert (store.count(), store.count(origin="training"), store.count(origin=ORIGINS)) == (
        12,
        3,
        15,
    )


def test_a_list_is_what_the_filters_leave(store):
    """Against the same choice in plain Python, for every mixture of filters."""
    rng = random.Random(0)
    played = [
        ("a1 b2 a2 b1 a3", SQUARE),
        ("a1 b2 a2 a3 c3 c1", SQUARE),
        ("b2 a1 c3 a3 a2 c2 b1 b3 c1", SQUARE),
    ]
    played += [("a1 b1 c1 d1", Rules(1, 4, 3)), ("a1 b1 a2 b2 a3", Rules(4, 3, 3))]
    names = [ANN, MINIMAX, RUN, UNKNOWN, Player("human", "minimax")]
    for _ in range(60):
        moves, rules = rng.choice(played)
        store.add_many(
            game(moves, rules, x=rng.choice(names), o=rng.choice(names), origin=rng.choice(ORIGINS))
            for _ in range(2)
        )
    everything = list(reversed(list(store)))
    for player in (None, "Ann", "minimax", "dqn-0", "nobody"):
        for result in (None, *RESULTS):
            for rules in (None, Rules(), Rules(1, 4, 3), Rules(5, 5, 4)):
                for origin in (LISTED, "training", ("web", "training"), ORIGINS):
                    left = [
                        found
                        for found in everything
                        if player in (None, found.x.name, found.o.name)
                        and result in (None, found.result)
                        and rules in (None, found.rules)
                        and (found.origin == origin or found.origin in origin)
                    ]
                    filters = {"player": player, "result": result, "rules": rules, "origin": origin}
                    assert store.count(**filters) == len(left)
                    assert (
                        store.list(10, before=100, **filters)
                        == [found for found in left if found.id < 100][:10]
                    )


def test_a_filter_that_no_game_can_pass_is_refused(store):
    with refuses("unknown origin of a game 'trainin'; did you mean 'training'?"):
        store.list(origin="trainin")
    with refuses("unknown result of a game 'win' (known: O, X, draw)"):
        store.count(result="win")
    for wrong in ({"limit": -1}, {"limit": 1.5}, {"before": 0}):
        with refuses("must be a whole number"):
            store.list(**wrong)


def test_an_unknown_id_says_how_many_games_there_are(store):
    with refuses(f"unknown game 1: {store.path} holds no game yet", UnknownGameError):
        store.get(1)
    store.add_many([game(), game()])
    for id in (3, 2**70):
        with refuses(f"unknown game {id}: {store.path} holds 2 games, 1 to 2", LookupError):
            store.get(id)
    for id in (0, -1, 1.0, "1", "1; DROP TABLE games", None, True):
        with refuses("the id of a game must be a whole number of at least 1"):
            store.get(id)


def test_names_are_values_and_never_statements(store):
    mallory = Player("human", "'; DROP TABLE games; --")
    store.add(game(x=mallory))
    assert store.list(player=mallory.name)[0].x == mallory
    assert store.check() == 1


def test_either_all_games_are_added_or_none(store):
    store.add(game())
    with pytest.raises(AttributeError):
        store.add_many([game(), "a1 b2"])
    with pytest.raises(KeyboardInterrupt), store._writing() as connection:  # noqa: PT012
        connection.execute("DELETE FROM games")
        raise KeyboardInterrupt
    assert store.check() == 1
    assert store.add_many([]) == range(2, 2)


def test_ten_thousand_games_are_added_in_seconds(store):
    games = [game(seed=seed) for seed in range(10_000)]
    began = time.perf_counter()
    store.add_many(games)
    assert time.perf_counter() - began < 2


def test_the_newest_of_a_hundred_thousand_games_are_listed_in_milliseconds(store):
    """Nine in ten are games of training, Ann has played one only; copies of a row, as checksums do not hold the id."""
    store.add_many(
        [
            game(x=ANN),
            *(game(x=RUN, origin="training" if number % 10 else "battle") for number in range(10)),
        ]
    )
    with store._writing() as connection:
        columns = page.COLUMNS.removeprefix("id, ")
        for _ in range(15):
            connection.execute(
                f"INSERT INTO games ({columns}) SELECT {columns} FROM games WHERE x_name <> 'Ann' LIMIT 20000"
            )
    assert store.count(origin=ORIGINS) > 100_000
    for filters in (
        {},
        {"player": "minimax"},
        {"player": "Ann"},
        {"player": "nobody"},
        {"origin": "training"},
        {"origin": "web"},
        {"result": "X"},
    ):
        seconds = []
        for _ in range(5):
            began = time.perf_counter()
            found = store.list(**filters)
            seconds.append(time.perf_counter() - began)
        assert len(found) == {"Ann": 1, "nobody": 0}.get(
            filters.get("player"), 0 if filters.get("origin") == "web" else 50
        )
        assert min(seconds) < 0.02, (
            filters
        )  # 50 games take about 2 ms, a look at all of them 100 and more


# --- several at once -------------------------------------------------------------------------------------------------


ADDS = """
import sys
from tictactoe_env.games import Game, GameStore
with GameStore(sys.argv[1], timeout=30) as store:
    print(*(store.add(Game(moves=(0, 4, 3, 1, 6), origin="battle", seed=seed)) for seed in range(int(sys.argv[2]))))
"""


def test_processes_make_a_store_together_and_lose_no_game(tmp_path):
    path, each = tmp_path / "new" / "games.db", 15
    running = [
        subprocess.Popen(
            [sys.executable, "-c", ADDS, path, str(each)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for _ in range(4)
    ]
    ids = [list(map(int, process.communicate()[0].split())) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    assert all(told == sorted(told) for told in ids)
    assert sorted(itertools.chain(*ids)) == list(range(1, 4 * each + 1))
    with GameStore(path) as store:
        assert store.check() == 4 * each


KILLS = """
import os, random, signal, sys, time
from tictactoe_env.games import Game, GameStore

rng = random.Random(0)

def add_and_be_killed(path, seconds):
    "The ids of the games that were added before the kill."
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        with GameStore(path) as store:
            while True:
                os.write(into, b"%d " % store.add(Game(moves=(0, 4, 3, 1, 6), origin="human")))
    os.close(into)
    time.sleep(rng.random() * seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(out, "rb") as pipe:
        return [int(number) for number in pipe.read().split()]

def kept(path, told):
    with GameStore(path) as store:
        assert all(store.get(number) for number in told)
        return store.check()

"""


def test_a_kill_at_any_moment_loses_no_game_that_was_added(tmp_path):
    """A game may be on the disk before its id was told, so there is at most one more for each kill."""
    program = (
        KILLS
        + "told = sum((add_and_be_killed(sys.argv[1], 0.06) for _ in range(30)), [])\nprint(*told)\nprint(kept(sys.argv[1], told))"
    )
    told, kept = python(program, tmp_path / "games.db").splitlines()
    assert sorted(map(int, set(told.split()))) == list(map(int, told.split()))
    assert 30 < len(told.split()) <= int(kept) <= len(told.split()) + 30


def test_a_kill_while_the_store_is_made_leaves_one_that_can_be_used(tmp_path):
    program = (
        KILLS
        + "for n in range(20):\n    path = sys.argv[1] + str(n)\n    print(kept(path, add_and_be_killed(path, 0.03)))"
    )
    assert len(python(program, tmp_path / "games.db").split()) == 20


def test_threads_share_a_store(store):
    def add():
        for _ in range(10):
            store.add(game())
            assert store.list(1)

    threads = [threading.Thread(target=add) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.check() == 50


def test_a_store_is_not_taken_over_a_fork(tmp_path):
    program = (
        "import os, sys\nfrom tictactoe_env.games import GameStore, StoreError\nstore = GameStore(sys.argv[1])\n"
        "if os.fork() == 0:\n    try:\n        store.count()\n    except StoreError as error:\n        print(error, flush=True)\n    os._exit(0)\n"
        "os.wait()\nstore.close()\n"
    )
    path = tmp_path / "games.db"
    assert (
        python(program, path)
        == f"{path} was opened by another process: open it again after a fork\n"
    )


def test_a_second_store_of_a_process_takes_no_lock_from_the_first(tmp_path):
    """A program that closes a file loses all its locks on it; without them another process would remove the log."""
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


def test_a_reader_sees_what_others_add_and_writes_nothing(store):
    with GameStore(store.path, read_only=True) as reader:
        assert reader.count() == 0
        store.add(game())
        assert reader.get(1) == store.get(1)
        with refuses(f"{store.path} cannot be written: it was opened for reading only", StoreError):
            reader.add(game())


def test_a_store_that_another_program_writes_to_is_waited_for_and_then_reported(store):
    store.add(game())
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with GameStore(store.path, timeout=0.05) as waiting:
        assert waiting.count() == 1
        with refuses(
            f"{store.path} is locked: another program has been writing for too long; let it finish, and try again",
            StoreError,
        ):
            waiting.add(game())
        other.execute("ROLLBACK")
        assert waiting.add(game()) == 2
    other.close()


def test_a_closed_store_says_so(store):
    store.close()
    store.close()
    with refuses(f"{store.path} is closed: open the store again", StoreError):
        store.count()


# --- files that are none, or damaged -----------------------------------------------------------------------------------


def foreign(path, version=0):
    connection = sqlite3.connect(path)
    connection.executescript(
        f"CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('one'); PRAGMA user_version = {version};"
    )
    connection.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "text",
            "is no store of games: expected an SQLite file made by one, got another kind of file; nothing was changed, give another path",
        ),
        ("random bytes", "got another kind of file"),
        ("a header and random bytes", "got another kind of file"),
        ("the beginning of a header", "got another kind of file"),
        ("songs", "got the SQLite file of another program"),
        ("songs of version 1", "got the SQLite file of another program"),
        (
            "newer",
            "was written by a newer program (version 99, this one knows 1): update tictactoe-env",
        ),
    ],
)
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(whole, tmp_path, name, reason):
    path = tmp_path / "games.db"
    noise = random.Random(0).randbytes(20_000)
    if name.startswith("songs"):
        content = foreign(path, version=int(name.endswith("1")))
    elif name == "newer":
        path.write_bytes(whole)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 99")
        connection.close()
        content = path.read_bytes()
    else:
        content = {"text": b"a1 b2 a2 b1 a3\n", "random bytes": noise}.get(
            name, b"SQLite format 3\0" + noise
        )
        path.write_bytes(content[:50] if name.startswith("the beginning") else content)
        content = path.read_bytes()
    for read_only in (False, True):
        with refuses(reason, StoreError):
            GameStore(path, read_only)
        assert path.read_bytes() == content


def test_what_another_program_has_in_its_log_stays_there(tmp_path):
    path = tmp_path / "songs.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE songs (name TEXT)")
    for end in ("", "-wal"):
        (tmp_path / f"copy.db{end}").write_bytes(Path(f"{path}{end}").read_bytes())
    before = {file.name: file.read_bytes() for file in tmp_path.glob("copy.db*")}
    with refuses("got the SQLite file of another program", StoreError):
        GameStore(tmp_path / "copy.db")
    assert {file.name: file.read_bytes() for file in tmp_path.glob("copy.db*")} == before
    other.close()


def test_a_path_that_can_hold_no_store_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for path, reason in (
        (tmp_path, f"{tmp_path} is a folder: expected a file, such as {tmp_path / 'games.db'}"),
        ("/dev/null", "/dev/null is a device: expected a file"),
        (
            tmp_path / "file" / "games.db",
            "cannot be opened: a store needs a file and a folder that may be read and written",
        ),
        ("/proc/games.db", "cannot be opened"),
    ):
        with refuses(reason, StoreError):
            GameStore(path)
    for path, reason in (
        (tmp_path / "none.db", "there is no store at"),
        (tmp_path / "file", "got an empty file"),
    ):
        with refuses(reason, StoreError):
            GameStore(path, read_only=True)
    assert not (tmp_path / "none.db").exists()


def test_an_empty_file_and_any_name_become_a_store(tmp_path):
    for name in ("games.db", "games 1?mode=ro#2 100%25.db", ":memory:"):
        (tmp_path / name).touch()
        with GameStore(tmp_path / name) as store:
            store.add(game())
        assert (tmp_path / name).read_bytes()[:15] == b"SQLite format 3"


def test_a_write_protected_store_can_be_read_and_says_why_nothing_is_added():
    program = """
import os, sys
from tictactoe_env.games import Game, GameStore
path = sys.argv[1]
with GameStore(path) as store:
    store.add(Game(moves=(0, 4, 3, 1, 6), origin="human"))
os.chmod(path, 0o444)
os.chmod(os.path.dirname(path), 0o555)
if os.getuid() == 0:
    os.setuid(65534)
with GameStore(path, read_only=True) as store:
    print(store.check(), os.listdir(os.path.dirname(path)))
for name in (path, path + "2"):
    try:
        GameStore(name).add(Game(moves=(0, 4, 3, 1, 6), origin="human"))
    except ValueError as error:
        print(type(error).__name__, "write-protected" in str(error) or "cannot be opened" in str(error))
"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        assert (
            python(program, f"{folder}/games.db")
            == "1 ['games.db']\nStoreError True\nStoreError True\n"
        )
        os.chmod(folder, 0o755)


@pytest.mark.parametrize("left", [60, 100, 1_000, 4_096, 10_000, -4_096, -1])
def test_a_truncated_store_is_refused_and_left_as_it_is(whole, tmp_path, left):
    path = tmp_path / "part.db"
    path.write_bytes(whole[:left])
    for read_only in (False, True):
        message = (
            r"part\.db is (damaged: .*; nothing was changed, bring back a copy of it|no store)"
        )
        with pytest.raises(StoreError, match=message), GameStore(path, read_only) as store:  # noqa: PT012
            assert left == -1  # SQLite itself reads a lost byte as 0
            store.check()
        assert path.read_bytes() == whole[:left]


def test_a_bit_that_flips_anywhere_is_noticed_or_changes_no_game(whole, tmp_path):
    path, games, noticed, rng = (
        tmp_path / "flipped.db",
        read_back(tmp_path / "games.db", whole),
        0,
        random.Random(1),
    )
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


def read_back(path, content):
    """All games of a store of these bytes, after a check."""
    path.write_bytes(content)
    with GameStore(path) as store:
        games = list(store)
        assert set(store.list()) <= set(games)
        assert store.check() == len(games)
        return games


@pytest.mark.parametrize(
    "change",
    [
        "x_name = 'Bob'",
        "moves = 'a1 a1'",
        "seed = NULL",
        "result = 'draw'",
        "origin = x'00'",
        "checksum = 0",
        "rows = 4.5",
        "time = 1",
    ],
)
def test_a_row_that_was_changed_is_not_shown(store, change):
    store.add(game(seed=1))
    with store._writing() as connection:
        connection.execute(f"UPDATE games SET {change}")
    for read in (lambda: store.get(1), lambda: list(store), store.check):
        with refuses(
            f"{store.path} is damaged: game 1 is not what was written, its checksum differs",
            StoreError,
        ):
            read()


def test_a_row_that_is_no_game_is_not_shown_even_with_its_checksum(store):
    values = list(page._values(game()))
    values[values.index("a1 b2 a2 b1 a3")] = "a1 a1"
    with store._writing() as connection:
        places = ", ".join("?" * (len(values) + 2))
        connection.execute(
            f"INSERT INTO games ({page.COLUMNS}) VALUES ({places})",
            (1, *values, page._checksum(values)),
        )
    with refuses("is damaged: game 1: cell 0 is taken", StoreError):
        store.get(1)


# --- versions ----------------------------------------------------------------------------------------------------------


def test_a_store_of_version_0_and_of_version_1_becomes_one_of_version_2(
    whole, tmp_path, monkeypatch
):
    (tmp_path / "1.db").write_bytes(whole)
    connection = sqlite3.connect(tmp_path / "0.db")
    connection.execute(f"PRAGMA application_id = {page.APPLICATION}")
    connection.close()
    monkeypatch.setattr(
        page,
        "MIGRATIONS",
        (
            *page.MIGRATIONS,
            ("ALTER TABLE games ADD COLUMN note TEXT", "UPDATE games SET note = 'old'"),
        ),
    )
    for version in (0, 1):
        path = tmp_path / f"{version}.db"
        with refuses(
            f"is of version {version}, this program reads 2: open it for writing once", StoreError
        ):
            GameStore(path, read_only=True)
        with GameStore(path) as store:
            assert store.check() == 30 * version
            assert store._rows("SELECT count(*) FROM games WHERE note = 'old'") == [(30 * version,)]
            store.add(game())
        with GameStore(path, read_only=True) as store:
            assert (store._version(), store.check()) == (2, 30 * version + 1)


def test_a_migration_that_fails_leaves_the_store_as_it_was(whole, tmp_path, monkeypatch):
    (tmp_path / "games.db").write_bytes(whole)
    with monkeypatch.context() as patch:
        patch.setattr(
            page, "MIGRATIONS", (*page.MIGRATIONS, ("DROP TABLE games", "SELECT nonsense"))
        )
        with pytest.raises(StoreError):
            GameStore(tmp_path / "games.db")
    assert (tmp_path / "games.db").read_bytes() == whole
    with GameStore(tmp_path / "games.db") as store:
        assert store.check() == 30


def test_a_store_that_was_written_by_version_1_can_be_read(tmp_path):
    connection = sqlite3.connect(tmp_path / "games.db")
    connection.executescript(
        (ROOT / "tests" / "stores" / "version-1.sql").read_text(encoding="utf-8")
    )
    connection.close()
    with GameStore(tmp_path / "games.db") as store:
        assert store.check() == 4
        assert list(store.export_lines()) == [
            "a1 b2 a2 b1 a3 x=human:Ann%20Lee o=agent:minimax board=3x3 k=3 result=X ended=line side=X origin=web time=2026-05-09T07:35:25Z",
            "b2 a1 b2 x=run:dqn-0:runs/dqn-0 o=agent:random board=3x3 k=3 result=O ended=illegal seed=7 origin=battle time=2026-05-09T07:35:26Z",
            "a1 d4 x=human:Zoë o=human:Ann board=4x4 k=4 result=O ended=resigned side=X origin=human time=2026-05-09T07:35:27Z",
            "a1 b1 c1 d1 x=unknown:unknown o=unknown:unknown board=1x4 k=3 result=draw ended=full origin=training time=2026-05-09T07:35:28Z",
        ]


# --- the games of a file -----------------------------------------------------------------------------------------------


def test_a_store_is_known_by_its_content_and_not_by_its_name(whole, tmp_path):
    (tmp_path / "games.txt").write_bytes(whole)
    (tmp_path / "games.db").write_text(
        "\ufeff# two games\n\na1 b2 a2 b1 a3\na1 b1 a2 b2 a3 b3 a4 board=4x3 k=4\n",
        encoding="utf-8",
    )
    assert [found.seed for found in read_games(tmp_path / "games.txt")] == list(range(30))
    assert [found.rules for found in read_games(tmp_path / "games.db")] == [Rules(), Rules(4, 3, 4)]
    (tmp_path / "empty").write_text("")
    assert list(read_games(tmp_path / "empty")) == []


def test_a_file_of_no_games_is_refused(tmp_path):
    (tmp_path / "noise").write_bytes(b"\xff\xfe" + bytes(100))
    with refuses("holds no games: expected a store, or text with one game a line"):
        list(read_games(tmp_path / "noise"))
    foreign(tmp_path / "songs.db")
    with refuses("got the SQLite file of another program", StoreError):
        list(read_games(tmp_path / "songs.db"))
    with pytest.raises(FileNotFoundError):
        list(read_games(tmp_path / "none"))
    (tmp_path / "text").write_text("a1 b2 a2 b1 a3\na1 b2\n")
    with pytest.raises(ValueError, match=r"^line 2 of .*text: .*goes on after 2 moves"):
        list(read_games(tmp_path / "text"))
