import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_game import lines_of, plain_game
from text_cases import refuses

from tictactoe_env.rules import (
    ILLEGAL,
    LOSS,
    ONGOING,
    OPPONENT_ILLEGAL,
    OUTCOMES,
    WIN,
    IllegalMoveError,
    Rules,
    to_move,
)

SMALL = [Rules(3, 3, 3), Rules(2, 3, 2), Rules(3, 4, 3)]


@st.composite
def rules_and_boards(draw):
    """A board of any size that is allowed, and up to four fillings of it, reachable or not."""
    rows = draw(st.integers(1, 20))
    cols = draw(st.integers(1, min(20, 64 // rows - 1)))
    rules = Rules(rows, cols, draw(st.integers(1, max(rows, cols))))
    # Few free cells or marks of one side only, so that long lines come up too.
    marks = draw(st.sampled_from([(-1, 0, 1), (-1, 1), (0, 1), (1, 1, 1, 1, -1)]))
    count = draw(st.integers(1, 4)) * rules.cells
    boards = draw(st.lists(st.sampled_from(marks), min_size=count, max_size=count))
    return rules, np.array(boards, dtype=np.int8).reshape(-1, rules.cells)


def whole_board(rules, mark):
    return rules, np.full((1, rules.cells), mark, dtype=np.int8)


def plain_answers(rules, board):
    """Whether X and O have a line, the board is dead, and it is full."""
    lines = [{board[cell] for cell in line} for line in lines_of(rules.rows, rules.cols, rules.k)]
    return {1} in lines, {-1} in lines, all({1, -1} <= marks for marks in lines), 0 not in board


def answers(rules, x, o):
    return rules.has_line(x), rules.has_line(o), rules.is_dead(x, o), rules.is_full(x, o)


def test_a_board_is_three_by_three_by_default_hashable_and_kept_as_python_ints():
    assert Rules() == Rules(3, 3, 3)
    assert Rules().cells == 9
    assert str(Rules(3, 4, 2)) == "3x4, 2 in a row"
    assert {Rules(3, 4, 3), Rules(3, 4, 3), Rules(4, 3, 3)} == {Rules(4, 3, 3), Rules(3, 4, 3)}
    rules = Rules(np.int64(3), np.int8(4), np.int32(3))
    assert rules == Rules(3, 4, 3)
    assert {type(size) for size in (rules.rows, rules.cols, rules.k)} == {int}


@pytest.mark.parametrize(
    "sizes", [(7, 8, 5), (1, 20, 5), (20, 1, 5), (1, 63, 63), (32, 1, 32), (1, 1, 1)]
)
def test_boards_up_to_64_bits_are_allowed(sizes):
    assert len(Rules(*sizes).cell_bits) == sizes[0] * sizes[1]
    assert Rules(*sizes).full < 2**64


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 3, 3), "rows must be a whole number of at least 1, got 0"),
        ((3, -1, 3), "cols must be a whole number of at least 1, got -1"),
        ((3, 3, 0), "k must be a whole number of at least 1, got 0"),
        ((3.0, 3, 3), "rows must be a whole number of at least 1, got 3.0 of type float"),
        ((3, True, 3), "cols must be a whole number of at least 1, got the bool True"),
        ((3, 4, 5), "k must be at most max(rows, cols) = 4, got 5"),
        (
            (8, 8, 5),
            "a board of 8x8 needs 72 bits, more than 64; use a smaller one "
            "(the condition is rows * (cols + 1) <= 64, for example 7x8)",
        ),
    ],
)
def test_sizes_that_make_no_board_are_refused(sizes, message):
    with refuses(message):
        Rules(*sizes)


def test_an_illegal_move_is_an_error_of_the_caller_and_loses_in_words_too():
    assert issubclass(IllegalMoveError, ValueError)
    assert (OUTCOMES[ONGOING], OUTCOMES[WIN], OUTCOMES[LOSS]) == ("", "win", "loss")
    assert (OUTCOMES[ILLEGAL], OUTCOMES[OPPONENT_ILLEGAL]) == ("loss", "win")


@pytest.mark.parametrize(
    ("sizes", "count"),
    # rows * (cols - k + 1) + cols * (rows - k + 1) + 2 * (rows - k + 1) * (cols - k + 1)
    [
        *(((3, 3, 3), 8), ((4, 4, 4), 10), ((2, 3, 2), 11), ((3, 4, 3), 14), ((7, 8, 4), 107)),
        *(((1, 20, 5), 16), ((20, 1, 5), 16), ((3, 3, 1), 9)),
    ],
)
def test_a_board_has_so_many_lines(sizes, count):
    assert len(Rules(*sizes).lines) == count


@given(rules_and_boards())
def test_the_lines_are_those_found_by_walking(case):
    found, plain = case[0].lines, lines_of(case[0].rows, case[0].cols, case[0].k)
    assert sorted(map(sorted, found)) == sorted(map(sorted, plain))


def are_as_plain(rules, boards):
    """Compares the answers of a batch and of single boards with plain ones."""
    x, o = rules.to_bits(boards)
    assert x.dtype == o.dtype == np.uint64
    expected = [plain_answers(rules, board) for board in boards.tolist()]
    batch = zip(*(found.tolist() for found in answers(rules, x, o)), strict=True)
    assert list(batch) == expected
    pairs = zip(x.tolist(), o.tolist(), strict=True)
    single = [answers(rules, one_x, one_o) for one_x, one_o in pairs]
    assert single == expected
    assert {type(answer) for found in single for answer in found} == {bool}
    return True


@settings(max_examples=300)
@given(rules_and_boards())
@example(whole_board(Rules(7, 8, 7), 1))
@example(whole_board(Rules(1, 20, 20), -1))
@example(whole_board(Rules(20, 1, 20), 1))
@example(whole_board(Rules(1, 63, 63), 1))
@example(whole_board(Rules(3, 5, 5), 1))  # no column or diagonal has room for five
def test_lines_dead_and_full_boards_are_recognised_on_any_board(case):
    assert are_as_plain(*case)


@pytest.mark.parametrize("rules", SMALL, ids=str)
def test_lines_dead_and_full_boards_are_recognised_in_every_position(rules):
    positions = plain_game(rules.rows, rules.cols, rules.k).positions
    assert are_as_plain(rules, np.array(list(positions), dtype=np.int8))


@given(rules_and_boards())
@example(whole_board(Rules(7, 8, 7), 1))
@example(whole_board(Rules(1, 63, 1), -1))
def test_boards_become_bitboards_and_boards_again(case):
    rules, boards = case
    x, o = rules.to_bits(boards)
    assert (rules.to_boards(x, o) == boards).all()
    assert rules.to_boards(x, o).dtype == np.int8
    for marks, mark in ((x, 1), (o, -1)):
        expected = [
            sum(bit for bit, found in zip(rules.cell_bits, board, strict=True) if found == mark)
            for board in boards.tolist()
        ]
        assert marks.tolist() == expected
    assert (x & o == 0).all()


def test_the_bits_leave_one_column_free_on_the_right():
    assert Rules(2, 3, 2).cell_bits == (1, 2, 4, 16, 32, 64)
    assert Rules(2, 3, 2).full == 0b1110111


@given(rules_and_boards())
def test_a_cell_is_winning_if_a_line_through_it_has_one_mark(case):
    rules, boards = case
    lines = lines_of(rules.rows, rules.cols, rules.k)
    full = [line for line in lines if {boards[0, cell] for cell in line} in ({1}, {-1})]
    assert rules.winning_cells(boards[0]) == tuple(sorted(set().union(*full)))
    cross = [1, 1, 1, -1, 1, -1, -1, 1, -1]  # XXX/OXO/OXO
    assert Rules().winning_cells(np.array(cross, dtype=np.int8)) == (0, 1, 2, 4, 7)


@pytest.mark.parametrize("rules", SMALL, ids=str)
def test_x_moves_first_and_then_they_take_turns(rules):
    board = np.zeros((1, rules.cells), dtype=np.int8)
    for ply in range(rules.cells):
        mark = to_move(board)
        assert mark.tolist() == [1 if ply % 2 == 0 else -1]
        assert mark.dtype == np.int8
        board[0, ply] = mark[0]
