"""Games as data: what follows from the moves, what is refused, and the way to text and JSON."""

import os
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from any_games import RUN, TIME, game
from fuzz.fuzz_games import (  # noqa: F401
    test_damaged_files_and_other_moves_ends_or_values_are_games_or_refused,
    test_games_are_read_as_they_were_written,
)
from text_cases import cases, refuses

from tictactoe_env.games.game import (
    LARGEST,
    MAX_LINE,
    MAX_NAME,
    MAX_SOURCE,
    UNKNOWN,
    Game,
    Participant,
)
from tictactoe_env.games.store import read_games
from tictactoe_env.notation import board_text
from tictactoe_env.rules import IllegalMoveError, Rules


def test_the_result_the_ending_and_the_boards_follow_from_the_moves():
    assert (game().text, game().result, game().ended) == ("a1 b2 a2 b1 a3", "X", "line")
    assert game(result="X", ended="line") == game()
    drawn, illegal = game(f"{DEAD} c1"), game("a1 a1", ended="illegal")
    assert (drawn.result, drawn.ended) == ("draw", "full")
    boards = [board_text(board, Rules()) for board in illegal.boards]
    assert (illegal.result, boards) == ("X", [".../.../...", "X../.../..."])
    assert game(DEAD, ended="early").result == "draw"
    with refuses("over", error=IllegalMoveError):
        game("a1 b2 a2 b1 a3 c1")


DEAD = "b2 a1 c3 a3 a2 c2 b1 b3"  # OX./XXO/OOX: X could only fill the last cell
CONTRADICTED = cases(f"""
    a1 b2 a2 b1 a3    |          | O    | result 'X' 'O'
    a1 b2 a2 b1 a3    | resigned | X    | ended 'line' 'resigned'
    a1 a1             |          |      | X../.../...
    a1 a1 b2          | illegal  |      | X../.../...
    a1                | resigned | draw | 1 moves
    a1                | illegal  |      | 1 moves
    b2 a1 c3 a3       | early    |      | 4 moves
    {DEAD}            |          |      | 8 moves
""")


@pytest.mark.parametrize(("moves", "ended", "result", "mentions"), CONTRADICTED)
def test_what_the_moves_contradict_is_refused(moves, ended, result, mentions):
    with refuses(*mentions.split()):
        game(moves, ended=ended, result=result)


EARLIEST = "0001-01-01T00:00:00+05:00"  # is in the year before as UTC
WRONG = {
    "x": ("Ann",),
    "o": (None,),
    "rules": ((3, 3, 3),),
    "origin": ("net", ""),
    "ended": ("resign",),
    "result": ("x",),
    "side": ("both", ""),
    "seed": (-1, 2**63),
    "id": (0,),
    "time": ("yesterday", "2026-05-09T07:35:25", 17, None, EARLIEST),
    "cell": ((0, 9), (0, -1), "a1 b2"),
}
NAMES = ("", "A" * 101, "Ann\nO=agent", " Ann", "\ud800", 7)
PLAYERS = [*(("human", name) for name in NAMES), ("run", "dqn", "runs/\0"), ("run", "dqn", None)]


@pytest.mark.parametrize(("name", "value"), [(name, v) for name in WRONG for v in WRONG[name]])
def test_every_field_is_checked(name, value):
    with refuses(name):
        replace(game(), **{"moves" if name == "cell" else name: value})


@pytest.mark.parametrize("fields", [*PLAYERS, ("person", "Ann")])
def test_a_player_is_checked(fields):
    with refuses(repr(fields[0] if fields[0] == "person" else fields[-1])) as told:
        Participant(*fields)
    assert str(told.value).isprintable()


def test_a_short_name_that_is_not_printable_is_refused_for_that_reason():
    with refuses("printable", repr("a\u202eb")):
        Participant("human", "a\u202eb")


def test_times_become_utc_or_now_if_none_is_given_and_numbers_of_numpy_plain_ones():
    assert game(time="2026-05-09T09:35:25.900+02:00").time == TIME
    assert game(time="2026-05-09T07:35:25z").time == TIME
    assert time.strftime("%Y-%m-%dT%H:%M", time.gmtime()) <= game(time="").time
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", game(time="").time)
    plain = replace(game(), moves=np.array([0, 4, 3, 1, 6]), seed=np.int64(3))
    assert plain == game(seed=3)
    assert {type(number) for number in (*plain.moves, plain.seed)} == {int}


# --- lines and JSON, which come from strangers ----------------------------------------------------

LINE = (
    "a1 b2 a2 b1 a3 x=human:Ann o=run:dqn-0:runs/dqn-0 board=3x3 k=3 result=X ended=line side=X "
    "seed=7 origin=human time=2026-05-09T07:35:25Z"
)


def test_a_line_is_the_moves_which_are_enough_and_what_else_is_known():
    assert game(o=RUN, side="X", seed=7).line() == LINE
    assert Game.parse(LINE) == game(o=RUN, side="X", seed=7)
    found = Game.parse("  A1 b2 a2 b1 a3   # my first win\n")
    assert found == Game(moves=(0, 4, 3, 1, 6), origin="file", time=found.time)
    assert (found.x, found.o, found.result) == (UNKNOWN, UNKNOWN, "X")
    assert board_text(found.boards[-1], Rules()) == "XO./XO./X.."
    assert Game.parse("a1 b1 a2 b2 a3 b3 a4", Rules(4, 3, 4)).rules == Rules(4, 3, 4)
    assert Game.parse("x=human:Ann ended=resigned result=O").moves == ()


NO_LINES = cases("""
    x=Ann              | 'Ann'
    x=human:Ann%FF     | start byte
    k=three            | k 'three'
    k=3 k=3            | k=
    result=draw        | result 'X' 'draw'
    d4                 | 'd4'
    a3                 | over
""")


@pytest.mark.parametrize(("about", "mentions"), NO_LINES)
def test_a_line_that_is_no_game_is_refused(about, mentions):
    with refuses(*mentions.split()):
        Game.parse(f"a1 b2 a2 b1 a3 {about}")


WON = {"moves": "a1 b2 a2 b1 a3", "origin": "web"}


@pytest.mark.parametrize(
    ("content", "mention"),
    [
        (17, 17),
        ({}, "moves"),
        (WON | {"moves": [0, 4, 3, 1, 6]}, "text"),
        (WON | {"Seed": 1}, "'Seed'"),
        (WON | {"board": {"rows": 3, "size": 3}}, "board"),
    ],
)
def test_json_that_is_no_game_is_refused(content, mention):
    with refuses(mention):
        Game.from_json(content)


def test_a_line_or_an_entry_that_is_too_long_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "games"
    path.write_text("a1 b2 a2 b1 a3\n")
    os.truncate(path, 1 << 40)
    games = read_games(path)
    assert next(games).text == "a1 b2 a2 b1 a3"
    with refuses(path, "line 2"):
        next(games)
    path.write_text(f"# {'x' * (MAX_LINE - 3)}\na1 b2 a2 b1 a3")
    assert len(list(read_games(path))) == 1
    path.write_text("#" * (MAX_LINE + 1))
    with refuses(path, "line 1"):
        list(read_games(path))
    path.write_text("[")
    os.truncate(path, 1 << 40)
    with refuses(path, "16 MB"):
        next(read_games(path))


def test_the_longest_game_is_far_below_the_limit_of_a_line():
    rules = Rules(7, 8, 8)
    player = Participant("human", "%" * MAX_NAME, "\U0001f600" * MAX_SOURCE)
    about = {"origin": "training", "time": TIME, "seed": LARGEST, "side": "X"}
    cells = tuple(range(14))
    about |= {"ended": "resigned", "result": "X"}
    longest = Game(x=player, o=player, rules=rules, moves=cells, **about)
    assert len(longest.line()) < MAX_LINE // 4
    assert Game.parse(longest.line()) == longest
