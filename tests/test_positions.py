import numpy as np
import pytest
from oracles.plain_game import plain
from test_law import EVERY
from text_cases import refuses

from tictactoe_env.exact.positions import can_enumerate, positions_of
from tictactoe_env.rules import Rules

SMALL = [Rules(3, 3, 3), Rules(2, 3, 2), Rules(3, 4, 2), Rules(1, 5, 2), Rules(1, 1, 1), *EVERY]


def test_three_by_three_has_5478_positions_765_up_to_symmetry():
    positions = positions_of(Rules())
    assert (len(positions), positions.is_over.sum(), len(positions.unfinished)) == (5478, 958, 4520)
    classes = np.unique(positions.canonical)
    finished = classes[positions.is_over[classes]]
    assert (len(classes), len(finished)) == (765, 138)
    outcomes = positions.outcome_x[finished]
    assert [np.count_nonzero(outcomes == outcome) for outcome in (1, -1, 0)] == [91, 44, 3]


def test_four_by_four_with_gravity_has_161029_positions_80541_up_to_the_mirror():
    positions = positions_of(Rules(4, 4, 4, gravity=True))
    by_line = np.count_nonzero(positions.outcome_x)
    assert (len(positions), len(np.unique(positions.canonical))) == (161_029, 80_541)
    assert (by_line, positions.is_over.sum() - by_line) == (21_404, 5_336)


@pytest.mark.parametrize("rules", SMALL, ids=str)
def test_every_position_found_by_playing_is_there_once_with_its_outcome_and_its_children(rules):
    game, positions = plain(rules), positions_of(rules)
    ends = zip(positions.outcome_x.tolist(), positions.is_over.tolist(), strict=True)
    outcomes = [outcome if is_over else None for outcome, is_over in ends]
    boards = list(map(tuple, positions.boards.tolist()))
    assert dict(zip(boards, outcomes, strict=True)) == game.positions
    assert len(game.positions) == len(positions)
    assert not positions.outcome_x[~positions.is_over].any()
    row_of = {board: row for row, board in enumerate(boards)}
    expected = np.full((len(boards), rules.cells), -1)
    for row, board in enumerate(boards):
        for cell in game.moves(board):
            expected[row, cell] = row_of[game.after(board, cell)]
    assert np.array_equal(positions.children, expected)


@pytest.mark.parametrize("rules", SMALL, ids=str)
def test_boards_are_ordered_by_ply_and_code_and_each_has_its_row_its_bits_and_its_canonical_form(
    rules,
):
    positions = positions_of(rules)
    marks = np.count_nonzero(positions.boards, axis=1)
    assert (positions.ply == marks).all()
    assert (positions.x_to_move == (marks % 2 == 0)).all()
    order = list(zip(marks.tolist(), positions.codes.tolist(), strict=True))
    assert order == sorted(order)
    assert positions.unfinished.tolist() == np.flatnonzero(~positions.is_over).tolist()
    every = np.arange(len(positions))
    x, o = rules.to_bits(positions.boards)
    assert np.array_equal(positions.bits(every), (x, o))
    assert (positions.is_dead == rules.is_dead(x, o)).all()
    order = np.random.default_rng(0).permutation(every)
    assert (positions.rows(positions.boards[order]) == order).all()
    assert positions.rows(positions.boards[:0]).tolist() == []
    images = np.array([positions.rows(positions.boards[:, one]) for one in rules.symmetries])
    smallest = images.min(axis=0)  # rows of a ply are ordered by code
    assert np.array_equal(positions.canonical, smallest)
    assert (smallest[images] == smallest).all()
    assert np.array_equal(images[positions.to_canonical, every], smallest)


def test_boards_that_play_cannot_reach_of_another_shape_or_of_other_numbers_are_refused():
    positions = positions_of(Rules())
    for text in ("X..X.....", "XXXOOO...", "XXXOO.O.."):  # two X, two lines, a mark after the end
        board = [{"X": 1, "O": -1, ".": 0}[letter] for letter in text]
        with refuses("3x3, 3 in a row", board):
            positions.rows(np.array([[0] * 9, board, [1] * 9], dtype=np.int8))
    with refuses("(B, 9)", (1, 3, 3)):
        positions.rows(np.zeros((1, 3, 3), dtype=np.int8))
    for mark in (-2, 2, 0.5, float("nan")):
        with refuses("boards"):
            positions.rows([[mark] * 9])


def test_positions_are_enumerated_once_and_a_large_board_is_refused_with_the_way_out():
    assert positions_of(Rules(2, 3, 2)) is positions_of(Rules(2, 3, 2))
    assert (can_enumerate(Rules(4, 4, 4)), can_enumerate(Rules(3, 6, 3))) == (True, False)
    with refuses("3x6", 16, 18):
        positions_of(Rules(3, 6, 3))
