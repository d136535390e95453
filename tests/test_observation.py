import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tictactoe_env.notation import parse_board
from tictactoe_env.observation import observe
from tictactoe_env.rules import Rules

SQUARE, RECTANGLE = Rules(), Rules(2, 3, 3)


def test_planes_are_the_movers_marks_and_the_others():
    x_to_move, o_to_move = parse_board("X.O/.../...", SQUARE), parse_board("X.O/.X./...", SQUARE)
    seen = observe(np.array([x_to_move, o_to_move]), SQUARE)
    assert seen.dtype == np.int8
    assert seen.tolist() == [
        [[[1, 0, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 1], [0, 0, 0], [0, 0, 0]]],
        [[[0, 0, 1], [0, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 1, 0], [0, 0, 0]]],
    ]


def test_a_grid_is_plus_one_for_own_marks():
    x_to_move, o_to_move = parse_board("X.O/.../...", SQUARE), parse_board("X.O/.X./...", SQUARE)
    seen = observe(np.array([x_to_move, o_to_move]), SQUARE, "grid")
    assert seen.dtype == np.int8
    assert seen.tolist() == [
        [[1, 0, -1], [0, 0, 0], [0, 0, 0]],
        [[-1, 0, 1], [0, -1, 0], [0, 0, 0]],
    ]


def test_a_rectangle_is_seen_with_its_rows_and_columns():
    board = parse_board("X.O/..X", RECTANGLE)[None]
    assert observe(board, RECTANGLE).tolist() == [[[[0, 0, 1], [0, 0, 0]], [[1, 0, 0], [0, 0, 1]]]]
    assert observe(board, RECTANGLE, "grid").tolist() == [[[-1, 0, 1], [0, 0, -1]]]


def test_each_board_is_seen_from_the_seat_that_is_given():
    boards = np.array([parse_board("X../...", RECTANGLE)] * 2)
    assert observe(boards, RECTANGLE, "grid", [1, -1]).tolist() == [
        [[1, 0, 0], [0, 0, 0]],
        [[-1, 0, 0], [0, 0, 0]],
    ]
    assert observe(boards, RECTANGLE, "grid", 1).tolist() == [[[1, 0, 0], [0, 0, 0]]] * 2
    assert observe(boards, RECTANGLE, "planes", np.array([1, -1]))[:, 0, 0, 0].tolist() == [1, 0]


@given(st.integers(1, 7), st.integers(1, 8), st.randoms(use_true_random=False))
def test_both_observations_give_the_board_back(rows, cols, random):
    rules = Rules(rows, cols, 1)
    boards = np.array(
        [[random.choice((-1, 0, 1)) for _ in range(rules.cells)] for _ in range(3)], dtype=np.int8
    )
    seats = np.array([1, -1, 1], dtype=np.int8)
    planes, grid = (observe(boards, rules, kind, seats) for kind in ("planes", "grid"))
    assert planes.shape == (3, 2, rows, cols)
    assert grid.shape == (3, rows, cols)
    assert (planes[:, 0] - planes[:, 1] == grid).all()
    assert (grid.reshape(3, -1) * seats[:, None] == boards).all()
    assert set(np.unique(planes)) <= {0, 1}


def test_no_boards_give_no_observations():
    none = np.zeros((0, 6), dtype=np.int8)
    assert observe(none, RECTANGLE).shape == (0, 2, 2, 3)
    assert observe(none, RECTANGLE, "grid").shape == (0, 2, 3)


def test_an_unknown_observation_is_refused_with_a_guess():
    with pytest.raises(
        ValueError,
        match=r"^unknown observation 'plane'; did you mean 'planes'\? \(known: grid, planes\)$",
    ):
        observe(np.zeros((1, 6), dtype=np.int8), RECTANGLE, "plane")
