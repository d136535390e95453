import gymnasium as gym
import numpy as np
import pytest
from any_games import any_rules
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.plain_game import lines_of
from text_cases import refuses

import agents
from tictactoe_env import notation
from tictactoe_env.games import Game
from tictactoe_env.rules import Rules


@st.composite
def rules_and_boards(draw):
    """A board of any size that is allowed, and up to four fillings of it, reachable or not."""
    rules = draw(any_rules())
    # Few free cells or marks of one side only, so that long lines come up too.
    marks = draw(st.sampled_from([(-1, 0, 1), (-1, 1), (0, 1), (1, 1, 1, 1, -1)]))
    count = draw(st.integers(1, 4)) * rules.cells
    boards = draw(st.lists(st.sampled_from(marks), min_size=count, max_size=count))
    return rules, np.array(boards, dtype=np.int8).reshape(-1, rules.cells)


def whole_board(sizes, mark):
    return Rules(*sizes), np.full((1, Rules(*sizes).cells), mark, dtype=np.int8)


def plain_answers(rules, board):
    """Whether X and O have a line, the board is dead, and it is full."""
    lines = [{board[cell] for cell in line} for line in lines_of(rules.rows, rules.cols, rules.k)]
    return {1} in lines, {-1} in lines, all({1, -1} <= marks for marks in lines), 0 not in board


def test_a_board_is_three_by_three_by_default_hashable_and_kept_as_python_ints():
    assert (Rules(), Rules().cells) == (Rules(3, 3, 3), 9)
    assert str(Rules(3, 4, 2)) == "3x4, 2 in a row"
    assert str(Rules(4, 4, 4, gravity=True)) == "4x4, 4 in a row, gravity"
    rules = Rules(np.int64(3), np.int8(4), np.int32(3))
    assert {Rules(3, 4, 3), rules, Rules(4, 3, 3)} == {Rules(4, 3, 3), Rules(3, 4, 3)}
    assert {type(size) for size in (rules.rows, rules.cols, rules.k)} == {int}


SAYS_NO_K = {  # the doors, with a board that does not say how many win
    "positions": lambda: Rules(4, 4),
    "rows": lambda: Rules(rows=4),
    "cols": lambda: Rules(cols=4, gravity=True),
    "the only length": lambda: Rules(2, 2),
    "text": lambda: notation.parse_size("4x4"),
    "one game": lambda: gym.make("TicTacToe-v0", rows=4, cols=4),
    "many games": lambda: gym.make_vec("TicTacToe-v0", 2, rows=4),
    "line": lambda: Game.parse("a1 board=4x4", Rules(4, 4, 4)),
    "json": lambda: Game.from_json({"moves": "a1", "board": {"rows": 4}, "origin": "file"}),
    "options": lambda: agents.module("maskable_ppo").Config(cols=4),
}


@pytest.mark.parametrize("door", SAYS_NO_K)
def test_a_size_other_than_three_by_three_has_to_say_how_many_win(door):
    with refuses("how many win"):
        SAYS_NO_K[door]()
    assert Rules(3, 3) == Rules(rows=3) == Rules() == Rules(3, 3, 3)
    assert Rules(k=2) == Rules(3, 3, 2)


def test_sizes_that_make_no_board_are_refused():
    for sizes, mentions in (
        ((0, 3, 3), "rows 0"),
        ((3, -1, 3), "cols -1"),
        ((3, 3, 0), "k 0"),
        ((3, True, 3), "cols True"),
        ((3, 4, 5), "k 4 5"),
        ((8, 8, 5), "8x8 72 64"),
    ):
        with refuses(*mentions.split()):
            Rules(*sizes)


# rows * (cols - k + 1) + cols * (rows - k + 1) + 2 * (rows - k + 1) * (cols - k + 1)
COUNTS = {(3, 3, 3): 8, (4, 4, 4): 10, (2, 3, 2): 11, (7, 8, 4): 107, (1, 20, 5): 16}


@settings(max_examples=30)
@given(any_rules())
def test_the_lines_are_those_found_by_walking_and_so_many(rules):
    assert {sizes: len(Rules(*sizes).lines) for sizes in COUNTS} == COUNTS
    plain = lines_of(rules.rows, rules.cols, rules.k)
    assert rules.lines == tuple(sorted(tuple(sorted(line)) for line in plain))


@settings(max_examples=60)
@given(rules_and_boards())
@example(whole_board((7, 8, 7), 1))
@example(whole_board((1, 20, 20), -1))
@example(whole_board((1, 63, 63), 1))
@example(whole_board((3, 5, 5), 1))  # no column or diagonal has room for five
@example((Rules(), np.array([[1, 1, 1, -1, 1, -1, -1, 1, -1]], dtype=np.int8)))  # XXX/OXO/OXO
def test_lines_their_cells_dead_and_full_boards_are_recognised_on_any_board(case):
    """For a batch and for single boards."""
    rules, boards = case

    def answers(x, o):
        is_full = rules.legal(x | o) == 0
        return rules.has_line(x), rules.has_line(o), rules.is_dead(x, o), is_full

    x, o = rules.to_bits(boards)
    assert x.dtype == o.dtype == np.uint64
    expected = [plain_answers(rules, board) for board in boards.tolist()]
    batch = zip(*(found.tolist() for found in answers(x, o)), strict=True)
    assert list(batch) == expected
    single = [answers(*pair) for pair in zip(x.tolist(), o.tolist(), strict=True)]
    assert single == expected
    assert {type(answer) for found in single for answer in found} == {bool}
    lines = lines_of(rules.rows, rules.cols, rules.k)
    full = [line for line in lines if {boards[0, cell] for cell in line} in ({1}, {-1})]
    assert rules.winning_cells(boards[0]) == tuple(sorted(set().union(*full)))


@settings(max_examples=30)
@given(rules_and_boards())
@example(whole_board((7, 8, 7), 1))
@example(whole_board((1, 63, 1), -1))
def test_boards_become_bitboards_with_one_free_column_on_the_right_and_boards_again(case):
    rules, boards = case
    x, o = rules.to_bits(boards)
    assert (rules.to_boards(x, o) == boards).all()
    assert rules.to_boards(x, o).dtype == np.int8
    for marks, mark in ((x, 1), (o, -1)):
        expected = (boards == mark).astype(object) @ np.array(rules.cell_bits, dtype=object)
        assert marks.tolist() == expected.tolist()
    assert Rules(2, 3, 2).cell_bits == (1, 2, 4, 16, 32, 64)
    assert Rules(2, 3, 2).full == 0b1110111
