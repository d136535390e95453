"""Certificates that are nearly right, as tables: both verifiers refuse the same ones.

Every case is one step from a certificate that both accept, so each rule of the format is
broken alone.
"""

import base64
import itertools
import json
import zlib
from contextlib import suppress
from functools import cache

import pytest
from fuzz.fuzz_certificates import verdicts
from json_certificates import (
    GONE,
    canonical,
    certified,
    changed,
    moves_text,
    sealed,
    with_moves,
)
from oracles.plain_game import Player
from text_cases import cases

from tictactoe_env.rules import Rules

ROW = Rules(1, 5, 2)


def first(board):
    """The first free cell. On ROW it never loses as X; as O it loses after 3 moves, or 5."""
    return {board.index(0): 1.0}


def careless(share):
    """As `first`, but where a1 is taken, it moves there with this probability."""

    def player(board):
        return {0: share, board.index(0): 1.0 - share} if board[0] else first(board)

    return player


def twice(board):
    """As `first`, but both the first move and a second one on the same cell come once in 1e200."""
    mark = 1 if board.count(1) == board.count(-1) else -1
    if mark in board:
        return {4: 1e-200, board.index(0): 1.0} if board[4] == mark else first(board)
    return first(board) if board[4] else {4: 1e-200, board.index(0): 1.0}


PLAYERS = {
    "first": (first, ROW),
    "careless": (careless(0.5), ROW),
    "seldom": (careless(1e-13), ROW),
    "twice": (twice, Rules(1, 5, 4)),
    "three": (first, Rules(1, 5, 3)),
}


@cache
def made(player, number):
    """The certificate of one of PLAYERS, in format 1 or 2."""
    choose, rules = PLAYERS[player]
    return certified(Player(choose), "test", rules, reach_only=number == 2)


def accepted(content):
    """True if both verifiers accept a certificate, False if both refuse it."""
    package, plainly = verdicts(content if type(content) is bytes else json.dumps(content).encode())
    assert (package is None) == (plainly is None), (package, plainly)
    return package is None


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("player", PLAYERS)
def test_the_certificates_that_are_changed_below_are_right(player, number):
    assert accepted(made(player, number))


# --- entries of both formats ----------------------------------------------------------------------

LINES = """
first    | as_o | b1 a1 d1 c1 e1 | longer than the shortest
first    | as_o | b1 a1          | shorter
first    | as_o | b1 a1 d1       | not finished
first    | as_o | b1 d1 c1       | with a move that the player never makes
first    | as_o | b1 b1 c1       | with such a move on a taken cell
first    | as_o | b1 a1 b1       | with a move of the other side on a taken cell
first    | as_o | b1 a1 c1 d1    | with a move after the end
first    | as_o | b1 a1 f1       | beside the board
first    | as_o | b1 a1 C1       | in another spelling
first    | as_o |                | of no moves
first    | as_x | a1 c1 b1       | that the player wins, of one that never loses
careless | as_x | a1 c1 b1       | that the player wins, of one that loses in as many moves
careless | as_x | a1 b1 c1       | not finished
careless | as_o | b1 b1          | on a taken cell, a move that the player never makes
three    | as_o | c1 a1 b1 d1 e1 | drawn
three    | as_o | c1 e1 b1 a1 d1 | with the image of a move, of a player of plain positions
"""


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(("player", "side", "line", "why"), cases(LINES))
def test_a_lost_game_is_a_shortest_one_that_can_be_played(player, side, line, why, number):
    assert not accepted(changed(made(player, number), f"{side}.losing_line", line.split()))


OTHER_LINES = [None, "b1", [["b1"]], [1, 0, 2], {"b1": 1}, ["b1", "a1", None], GONE]
ENTRIES = [
    *(("first", "as_o.losing_line", line) for line in OTHER_LINES),
    *(("first", "as_x.vs_random.win", value) for value in (0.875 - 2e-12, 0.875 + 2e-12)),
    *(("first", "as_o.worst_case_value", value) for value in (2e-12 - 1, -2e-12 - 1, 1)),
    *(("first", "as_o.worst_case_loss", value) for value in (1 - 2e-12, 1 + 2e-12)),
    # 0 is stated for 0 only.
    ("first", "as_x.worst_case_loss", 1e-13),
    *(("first", f"as_x.vs_random.{rate}", 1e-13) for rate in ("loss", "illegal")),
    *(("first", f"as_x.vs_random.{rate}", -1e-13) for rate in ("loss", "illegal")),
    ("seldom", "as_x.worst_case_loss", 0.0),
    *(("seldom", f"as_x.vs_random.{rate}", 0.0) for rate in ("loss", "illegal")),
    ("seldom", "as_o.vs_random.illegal", 0.0),
    ("twice", "as_x.worst_case_loss", 1e-13),
    # Other claims, kinds and names.
    *(("first", "board.gravity", value) for value in ("yes", 1, 0, None)),
    *(("first", name, True) for name in ("unbeatable", "as_o.unbeatable")),
    *(("first", "unbeatable", value) for value in (None, 0)),
    *(("first", "as_x.unbeatable", value) for value in (False, None, 1)),
    *(("first", "as_x.vs_random.loss", value) for value in (False, None, "0", [0.0])),
    *(("first", "as_x.vs_random", value) for value in (None, [], 0.875)),
    *(("first", f"{group}note", 0.0) for group in ("", "as_x.", "as_x.vs_random.", "board.")),
    *(("first", name, GONE) for name in ("as_x", "board", "board.k", "moves", "format")),
    *(("first", name, GONE) for name in ("sha256_of_moves", "unbeatable", "as_x.unbeatable")),
    *(("first", f"as_x.{name}", GONE) for name in ("worst_case_value", "worst_case_loss")),
    *(("first", f"as_x.vs_random.{name}", GONE) for name in ("win", "draw", "loss", "illegal")),
    *(("first", "format", value) for value in (0, 3, True, 1.0, 2.0, "1", None)),
    *(("first", "sha256_of_moves", value) for value in ("0" * 64, "", None)),
    *(("first", "board", value) for value in (None, [1, 5, 2], "1x5x2")),
    *(("first", "board.rows", value) for value in (0, -1, 2, True, 1.0, 10**30)),
    *(("first", "board.cols", value) for value in (4, 6, 64)),
    *(("first", "board.k", value) for value in (0, 1, 3, 6)),
    *(("first", "moves", value) for value in (None, [], "", {}, 3)),
    *(("first", "agent", name) for name in ("PROVEN on 3x3", "dqn proven", "unproven", "ProvenX")),
]


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(("player", "path", "value"), ENTRIES)
def test_an_entry_that_is_not_what_follows_from_the_moves_is_refused(player, path, value, number):
    assert not accepted(changed(made(player, number), path, value))


RIGHT = [
    ("first", "as_x.vs_random.win", 0.875 + 5e-13),
    ("first", "as_x.vs_random.win", 0.875 - 5e-13),
    ("first", "as_o.worst_case_loss", 1),
    ("first", "as_x.worst_case_value", 1e-13),
    ("first", "as_x.worst_case_loss", 0),
    ("first", "as_o.losing_line", ["c1", "a1", "d1"]),
    ("careless", "as_x.losing_line", ["a1", "e1", "a1"]),
    ("twice", "as_x.worst_case_loss", 0.0),
    ("first", "training", {}),
    ("first", "agent", "prove n"),
]


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(("player", "path", "value"), RIGHT)
def test_an_entry_that_says_the_same_is_accepted(player, path, value, number):
    assert accepted(changed(made(player, number), path, value))


# --- boards that there are not --------------------------------------------------------------------


def test_a_board_that_is_too_large_or_has_no_such_line_is_refused_even_if_all_results_hold():
    """With k = 5 nobody completes a line on ROW, as with no lines at all; with k = 1 X wins."""
    for number in (1, 2):
        long = certified(Player(first), "test", Rules(1, 5, 5), reach_only=number == 2)
        assert accepted(long)
        assert not any(accepted(changed(long, "board.k", k)) for k in (0, 6))
    wide = certified(Player(first), "test", Rules(1, 63, 1), reach_only=True, sides=("X",))
    assert accepted(wide)
    assert not accepted(changed(wide, "board.cols", 64))
    small = certified(Player(first), "test", Rules(1, 12, 1))
    assert accepted(small)
    larger = changed(small, "board.cols", 13)
    assert not accepted(sealed(with_moves(larger, {"." * 13: "a1"})))


# --- format 1 -------------------------------------------------------------------------------------

TABLE_ENTRIES = [
    *((name, True) for name in ("optimal", "as_o.optimal")),
    *(("as_x.optimal", value) for value in (True, None, GONE)),
    *((f"optimal_moves.{name}", 0.5) for name in ("everywhere", "reachable")),
    *((f"optimal_moves.{name}", GONE) for name in ("everywhere", "reachable")),
    *((f"as_{side}.vs_minimax.{rate}", 0.5) for side in "xo" for rate in ("win", "draw", "loss")),
    ("as_x.vs_minimax", GONE),
    ("as_x.limit_vs_random", None),
    *((f"as_x.limit_vs_random.{rate}", 0.5) for rate in ("win", "draw", "loss")),
    ("as_o.limit_vs_random", {"win": 0.0, "draw": 1.0, "loss": 0.0, "illegal": 0.0}),
    ("sides", ["X", "O"]),
    ("canonical", False),
    ("as_x.positions", 9),
]


@pytest.mark.parametrize(("path", "value"), TABLE_ENTRIES)
def test_an_entry_of_all_positions_that_does_not_follow_is_refused(path, value):
    assert not accepted(changed(made("first", 1), path, value))


def test_the_limit_is_no_chance_of_the_player_so_its_0_may_be_rounded():
    assert accepted(changed(made("first", 1), "as_x.limit_vs_random.loss", 1e-13))


UNMET = ".OX.."  # no result but optimal_moves depends on the move there: X begins in a1
TABLE_MOVES = [
    *("f1", "A1", " a1", "", 0, None, True, [], ["a1"], {}, {"f1": 1}, {"A1": 1}, {"a1": 0.5}),
    *({"a1": 1 - share, "e1": share} for share in (0, -0.5, 1.5)),
    *({"a1": share} for share in (True, "1", None, float("nan"), float("inf"), 10**400)),
    *({"a1": 1, "e1": share} for share in (0, 0.0, -1e-13, 2e-12, True)),
    *({"a1": share} for share in (1 - 2e-12, 1 + 1e-13)),
]
SAME_MOVES = ["a1", *({"a1": share} for share in (1, 1.0, 1 - 5e-13)), {"a1": 1, "e1": 5e-324}]


@pytest.mark.parametrize("move", SAME_MOVES, ids=repr)
def test_a_move_of_format_1_is_a_cell_or_probabilities(move):
    content = made("first", 1)
    assert accepted(sealed(with_moves(content, {**content["moves"], UNMET: move})))


@pytest.mark.parametrize("move", TABLE_MOVES, ids=repr)
def test_what_is_no_move_of_format_1_is_refused(move):
    content = made("first", 1)
    assert not accepted(sealed(with_moves(content, {**content["moves"], UNMET: move})))


@pytest.mark.parametrize(
    ("board", "instead"),
    [("X....", None), (None, "XXO.."), (None, "XX..."), (None, "OX..."), (None, "XOXOX")]
    + [("X....", other) for other in ("X...", "x....", "X....\n", "XX...", "XX.O.", "X..../")],
)
def test_the_boards_of_format_1_are_those_of_unfinished_games(board, instead):
    moves = dict(made("first", 1)["moves"])
    if board is not None:
        del moves[board]
    if instead is not None:
        moves[instead] = "a1"
    assert not accepted(sealed(with_moves(made("first", 1), moves)))


# --- format 2 -------------------------------------------------------------------------------------

ONE_SIDE = certified(Player(first), "test", ROW, reach_only=True, sides=("X",))
LINES_ENTRIES = [
    *(("sides", sides) for sides in (["O", "X"], ["X", "X"], ["X"], [], "XO", {"X": 1, "O": 1})),
    *(("sides", value) for value in (None, GONE)),
    *(("canonical", value) for value in (True, None, 0, "no", GONE)),
    *(("as_x.positions", value) for value in (8, 10, 0, -9, 9.0, True, None, "9", GONE)),
    *(("as_x.decisions", value) for value in (6, 8, 0, 7.0, True, None, GONE)),
    *(("as_x.always_wins", value) for value in (True, None, GONE)),
    ("as_o.always_wins", True),
    *(("as_x.optimal", False), ("optimal", False), ("optimal_moves", {})),
]


@pytest.mark.parametrize(("path", "value"), LINES_ENTRIES)
def test_an_entry_of_lines_that_does_not_follow_is_refused(path, value):
    assert not accepted(changed(made("first", 2), path, value))


def test_of_one_side_nothing_is_stated_of_both():
    assert accepted(ONE_SIDE)
    for path, value in (("unbeatable", True), ("unbeatable", False), ("as_o", ONE_SIDE["as_x"])):
        assert not accepted(changed(ONE_SIDE, path, value))


def test_a_player_that_wins_every_game_states_so():
    centre = Player(lambda board: first(board) if board[1] else {1: 1.0})
    content = certified(centre, "test", Rules(1, 3, 2), reach_only=True, sides=("X",))
    assert accepted(content)
    assert content["as_x"]["always_wins"]
    assert not accepted(changed(content, "as_x.always_wins", False))


X = [[0], [2, 1, 1, 1], [4, 3]]
O = [[1, 0, 0, 0, 0], [3, 2, 2, 2, 2, 1]]  # noqa: E741
LINES_MOVES = [
    *({"X": moves, "O": O} for moves in ([*X, []], [*X, [0]], X[:-1], [], [[], *X], {}, "", None)),
    *({"X": [[0], ply, [4, 3]], "O": O} for ply in ([2, 1, 1], [2, 1, 1, 1, 1], [1, 2, 1, 1], {})),
    *({"X": [{"0": 0}, *X[1:]], "O": O}, {"X": ["0", *X[1:]], "O": O}),
    *({"X": [[cell], *X[1:]], "O": O} for cell in (5, -1, True, False, 0.0, "0", None, [0], {})),
    *(
        {"X": [[{"0": 1, "1": share}], *X[1:]], "O": O}
        for share in (0, 2e-12, -0.5, True, "0", None, float("nan"), float("inf"), 10**400)
    ),
    *({"X": [[{name: 1}], *X[1:]], "O": O} for name in ("5", "00", "-0", "a1", "", " 0")),
    *({"X": [[{"0": share}], *X[1:]], "O": O} for share in (0.5, 1 - 2e-12, 1 + 1e-13, True)),
    *({"O": O, "X": X}, {"X": X}, {"X": X, "O": O, "Z": []}, {"x": X, "o": O}, [X, O], None),
]


def test_the_moves_of_format_2_that_are_changed_here_are_those_of_the_player():
    assert json.loads(moves_text(made("first", 2))) == {"X": X, "O": O}


@pytest.mark.parametrize("moves", LINES_MOVES, ids=repr)
def test_what_are_no_moves_of_format_2_is_refused(moves):
    assert not accepted(sealed(with_moves(made("first", 2), moves)))


def test_a_sum_of_probabilities_may_be_rounded():
    for share in (1, 1.0, 1 - 5e-13):
        moves = {"X": [[{"0": share}], *X[1:]], "O": O}
        assert accepted(sealed(with_moves(made("first", 2), moves)))


def test_sides_have_one_order():
    """In another order they would be another certificate of the same moves."""
    content = sealed(with_moves(made("first", 2), {"O": O, "X": X}))
    assert not accepted({**content, "sides": ["O", "X"]})


def packed(text):
    return base64.b64encode(zlib.compress(text)).decode()


TEXT = moves_text(made("first", 2))
DATA = zlib.compress(TEXT)
CODED = base64.b64encode(DATA).decode()
PACKED = [
    *(
        base64.b64encode(data).decode()
        for data in (DATA + b"\0", DATA + DATA, DATA[:-1], TEXT, b"")
    ),
    *(CODED + "\n", f" {CODED}", CODED[:-1], CODED.replace("=", "") + "*", CODED[:8]),
    *(packed(text) for text in (TEXT[:-1], TEXT + b"}", b"\xef\xbb\xbf" + TEXT, b"", b"\xff")),
    *(packed(TEXT.replace(b'"O"', b'"X":[],"O"')), packed(b"[" * 200_000)),
    packed(TEXT.replace(b"[0]", b'[{"0":1.0,"0":1.0}]')),
]


@pytest.mark.parametrize("moves", PACKED, ids=range(len(PACKED)))
def test_moves_that_are_cut_or_followed_by_more_or_no_text_are_refused(moves):
    content = {**made("first", 2), "moves": moves}
    with suppress(ValueError, zlib.error):  # then no digest fits
        content = sealed(content)
    assert not accepted(content)


# --- canonical positions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "is_right"),
    [
        *(("c1 a1 b1", True), ("c1 e1 b1", True), ("d1 e1 c1", True)),
        *(("c1 b1 d1", False), ("d1 a1 c1", False), ("b1 e1 c1", False), ("c1 e1 c1", False)),
    ],
)
def test_a_lost_game_of_canonical_positions_is_turned_as_the_game_goes(line, is_right):
    """After c1 the position is its own mirror image, so a1 and e1 are one move; else not."""
    content = canonical(Player(first), ROW, ("O",))
    assert accepted(changed(content, "as_o.losing_line", line.split())) == is_right


def test_a_lost_game_of_canonical_positions_may_be_any_image_of_a_square():
    """Any corner, then any of the two next to it, then any of the other two."""
    content = canonical(Player(first), Rules(2, 2, 2), ("O",))
    lines = itertools.permutations(("a1", "b1", "a2", "b2"), 3)
    lost = [line for line in lines if accepted(changed(content, "as_o.losing_line", [*line]))]
    assert len(lost) == 4 * 2 * 2


# --- the file -------------------------------------------------------------------------------------

FILE = json.dumps(made("first", 2)).encode()
FILES = [
    *(b"", b"{}", b"[]", b"null", b"[" * 200_000, FILE[:-1], FILE + b"}", FILE + FILE),
    *(b"\xef\xbb\xbf" + FILE, FILE.decode().encode("utf-16"), FILE.replace(b'"', b"'")),
    *(FILE.replace(b"0.875", number) for number in (b"NaN", b"Infinity", b"1e999", b"9" * 5_000)),
    FILE.replace(b'"canonical": false', b'"canonical": false, "canonical": false'),
    FILE.replace(b'"win": 0.875', b'"win": 0.875, "win": 0.875'),
    FILE.replace(b'"agent": "test"', b'"agent": "\xff"'),
]


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_a_file_that_is_no_json_or_repeats_a_name_is_refused(data):
    assert data != FILE
    assert not accepted(data)
