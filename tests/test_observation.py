import functools

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_cases import cases

from tictactoe_env import ENVS_WITH_OPPONENT, TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.notation import parse_board
from tictactoe_env.observation import OBSERVATIONS, last_move, observation_space, observe
from tictactoe_env.rules import Rules

RECTANGLE = Rules(2, 3, 3)


def test_the_mover_sees_its_own_marks_and_the_others():
    boards = np.array([parse_board(text, RECTANGLE) for text in ("X.O/...", "X.O/.X.")])
    grids = [[[1, 0, -1], [0, 0, 0]], [[-1, 0, 1], [0, -1, 0]]]
    assert observe(boards, RECTANGLE, "grid").tolist() == grids
    planes = [[(np.array(grid) == mark).tolist() for mark in (1, -1)] for grid in grids]
    assert observe(boards, RECTANGLE, "planes").tolist() == planes


@settings(max_examples=40)
@given(st.integers(1, 7), st.integers(1, 8), st.integers(0, 3), st.randoms(use_true_random=False))
def test_both_observations_from_given_seats_give_the_board_back(rows, cols, count, random):
    rules = Rules(rows, cols, 1)
    cells = [random.choice((-1, 0, 1)) for _ in range(count * rules.cells)]
    boards = np.array(cells, dtype=np.int8).reshape(count, rules.cells)
    seats = np.array([1, -1, 1], dtype=np.int8)[:count]
    flat, planes, grid = (observe(boards, rules, kind, seats) for kind in OBSERVATIONS)
    for kind, seen in zip(OBSERVATIONS, (flat, planes, grid), strict=True):
        assert seen.shape == (count, *observation_space(rules, kind).shape)
        assert all(observation_space(rules, kind).contains(one) for one in seen)
    assert (planes[:, 0] - planes[:, 1] == grid).all()
    assert (flat == planes.reshape(count, 2 * rows * cols)).all()
    assert (grid.reshape(count, rows * cols) * seats[:, None] == boards).all()
    assert np.array_equal(observe(boards, rules, "grid", 1), boards.reshape(count, rows, cols))


@pytest.mark.parametrize(
    "make",
    [
        *(functools.partial(gym.make, env_id) for env_id in ("TicTacToe-v0", *ENVS_WITH_OPPONENT)),
        functools.partial(gym.make_vec, "TicTacToe-v0", 2),
        TicTacToeEnv,
        functools.partial(TicTacToeVectorEnv, 2),
    ],
)
def test_by_default_an_observation_is_one_row_of_float32(make):
    env = make(rows=2, cols=5, k=3)
    space = getattr(env, "single_observation_space", env.observation_space)
    assert space == gym.spaces.Box(0, 1, (20,), np.float32)


def test_the_last_move_is_the_opponents_reply_if_there_is_one():
    for before, after, seat, cell in cases("""
        .../... | X../... | 1 | 0
        .../... | X../.O. | 1 | 4
        .../... | X../.O. | -1 | 0
        X../.O. | X../.O. | 1 | None
        XX./OO. | XXX/OO. | 1 | 2
    """):
        boards = (parse_board(text, RECTANGLE) for text in (before, after))
        assert str(last_move(*boards, int(seat))) == cell
