"""Games as data: what follows from the moves, what is refused, and the way to text and JSON."""

import json
import os
import random
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
from programs import ROOT
from text_cases import cases, refuses

from tictactoe_env.games.__main__ import main
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
from tictactoe_env.notation import board_text, parse_size
from tictactoe_env.rules import IllegalMoveError, Rules, game_state


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
    x=a:b:c:d          | 'a:b:c:d'
    x=human:Ann%FF     | start byte
    k=three            | three
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
        (WON | {"moves": [0, [4]]}, "[0, [4]]"),
        ({"steps": [[], [{"action": 4}]]}, "name"),
        (WON | {"Seed": 1}, "'Seed'"),
        (WON | {"board": {"rows": 3, "size": 3}}, "board"),
    ],
)
def test_json_that_is_no_game_is_refused(content, mention):
    with refuses(mention):
        Game.from_json(content)


STRAIGHT = "b2 a1 c1 b1 a3"
FALLEN = "d6 d5 c6 c5 e6 e5 f6"
FALL = "--board 6x7x4 --gravity"
FOREIGN = cases(rf"""
    \n# Mine\r\nb2,a1;c1, b1\ta3 # won\r\n                     |  | 1 0
    b2a1c1b1a3 x=Ann o=agent:Bob result=1-0                   |  | 1 0
    1. b2 a1 2. c1 b1 3.a3 1-0\n1.b2 1...a1 2.c1 b1 3.a3      |  | 2 0
    5 1 3 2 7\n5,1,3,2,7\n51327 result=x                      | --numbers-from 1 | 3 0
    4 0 2 1 6\n[4,0,2,1,6]\n{{"moves":["4",0,2,1,6]}}         | --numbers-from 0 | 3 0
    [4,\n0,2,1,6]                                             | --numbers-from 0 | 1 0
    [[4,0,2,1,6],\n"40216",{{"moves":"4 0 2 1 6"}}]           | --numbers-from 0 | 3 0
    {{"moves":"b2 a1 c1 b1 a3",\n"x":"Ann","result":"x"}}     |  | 1 0
    # A\n{{"moves":"b2a1c1b1a3"}}\n\n"b2 a1 c1 b1 a3 x=Ann"   |  | 2 0
    D d,c;c e e f\nddCceef\nd6dcc5e e f                       | {FALL} | 0 3
    3,3,2,2,4,4,5\n[38, 31, 37, 30, 39, 32, 40]               | {FALL} --numbers-from 0 | 0 2
    {{"moves":"ddcceef","board":"6x7x4-gravity=true"}}        |  | 0 1
    {{"moves":"ddcceef","board":"6x7","k":4,"gravity":true}}  |  | 0 1
    {{"moves":"b2a1c1b1a3","x":null,"result":null}}           |  | 1 0
    [{{"moves":"b2a1c1b1a3","board":"3x3"}},"ddcceef"]        | {FALL} | 1 1
    b2a1c1b1a3\nddcceef board=6x7x4 gravity=true              |  | 1 1
""")


def imported(folder, content, options="", encoding="utf-8"):
    """The exit code of an import into the store of a folder, and the games of the store."""
    store, file = folder / "games.db", folder / "games"
    file.write_bytes(content.encode().decode("unicode_escape").encode(encoding))
    code = main([str(store), "--import", str(file), *options.split()])
    return code, [*read_games(store)] if store.exists() else []


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize(("content", "options", "numbers"), FOREIGN)
def test_games_are_read_as_other_programs_write_them(content, options, numbers, encoding, tmp_path):
    """Every line or entry is one of two games, of which the file has these numbers."""
    straight, fallen = map(int, numbers.split())
    code, found = imported(tmp_path, content, options, encoding)
    assert code == 0
    assert [one.text for one in found] == [STRAIGHT] * straight + [FALLEN] * fallen
    assert {(one.result, one.origin) for one in found} == {("X", "file")}
    assert {str(one.x) for one in found} <= {"unknown:Ann", "unknown:unknown"}


FORMS = (ROOT / "docs" / "play.md").read_text(encoding="utf-8").partition("--keep-rest")[2]
SHOWN = [
    (example, options)
    for examples, options in re.findall(r"(?m)^\|.*?\| (`.*`) \| (.*)\|$", FORMS)
    for example in re.findall("`(.*?)`", examples)
]


@pytest.mark.parametrize(("content", "options"), SHOWN)
def test_the_forms_that_the_page_shows_are_read(content, options, tmp_path):
    code, found = imported(tmp_path, content, options.strip("` "))
    assert (code, {one.result for one in found}) == (0, {"X"})
    assert {one.text for one in found} <= {STRAIGHT, FALLEN, "b2 a1"}


@pytest.mark.parametrize("size", ["3x3x3", "6x7x4-gravity=true", "4x5x3-gravity=true"])
def test_records_of_kaggle_and_openspiel_are_read(size, tmp_path):
    """Games between random players, as `env.toJSON` and a playthrough record them."""
    rules = parse_size(size)
    for seed in range(6):
        rng, cells = random.Random(seed), []
        while not (state := game_state(cells, rules)).ended:
            cells.append(int(rng.choice(np.flatnonzero(rules.legal_cells(state.board)))))
        actions = [cell % rules.cols if rules.gravity else cell for cell in cells]
        turns = [[{"action": 0}, {"action": 0}] for _ in range(1 + len(cells))]
        for turn, action in enumerate(actions):
            turns[turn + 1][turn % 2]["action"] = action
        replay = {"name": "connectx" if rules.gravity else "tictactoe", "steps": turns}
        replay["configuration"] = {"rows": rules.rows, "columns": rules.cols, "inarow": rules.k}
        replay["info"] = {"TeamNames": ["Ann", "Bob B."]}
        playthrough = "".join(f"# State {n}\naction: {a}\n\n" for n, a in enumerate(actions))
        history = " ".join(re.findall(r"(?m)^action: (\d+)", playthrough))
        last = imported(tmp_path, json.dumps(replay))[1][-1]
        assert (last.moves, last.rules, last.o.name) == (tuple(cells), rules, "Bob B.")
        last = imported(tmp_path, history, f"--board {size} --numbers-from 0")[1][-1]
        assert (last.moves, last.rules) == (tuple(cells), rules)


WRONG_FILES = cases(rf"""
    5 1 3 2 7                           |                           | line 1 --numbers-from
    b2 a1 c1 b1 a3\n4 0 2 1 6           | --numbers-from 1          | line 2 0
    b2 a1 c1 b1 a3\n# x\nb2 5 c1 b1 a3  | --numbers-from 1          | line 3 '5'
    b2 a1 c1 b1 a3\nb2 a1 1-0           |                           | line 2 resigned
    ["b2a1c1b1a3","b2 b2"]              |                           | game 2 b2
    {{"moves":"b2"}}\n{{"moves":}}       |                           | line 1 b2
    4433558                             | {FALL} --numbers-from 1   | line 1 8
    d1 d2 c1 c2 e1 e2 f1                | {FALL}                    | line 1 d1
    [{{"moves":"b2 a1 c1 b1 a3"}},\n{{]  |                           | JSON line 2
    b2 a1 c1 b1 a3                      | --board 6x7               | 6x7
""")


@pytest.mark.parametrize(("content", "options", "mentions"), WRONG_FILES)
def test_a_file_with_a_wrong_game_is_refused_whole(content, options, mentions, tmp_path, capsys):
    before = imported(tmp_path, STRAIGHT)
    assert imported(tmp_path, content, options) == (1, before[1])
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert [mention for mention in mentions.split() if mention not in told] == []


def test_the_rest_of_a_file_is_kept_if_asked(tmp_path, capsys):
    content = f'{STRAIGHT}\nb2\n{{"moves": 7}}\n{STRAIGHT}'
    code, found = imported(tmp_path, content, "--keep-rest")
    assert (code, [one.text for one in found]) == (0, [STRAIGHT] * 2)
    assert re.findall(r"line \d", capsys.readouterr().err) == ["line 2", "line 3"]
    assert imported(tmp_path, "b2", "--keep-rest") == (1, found)
    assert "1 left out" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([str(tmp_path / "games.db"), "--check", "--keep-rest"])


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
