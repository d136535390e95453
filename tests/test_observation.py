import gymnasium as gym
import numpy as np
import pytest
from text_cases import cases

from tictactoe_env import ENVS_WITH_OPPONENT
from tictactoe_env.notation import parse_board
from tictactoe_env.observation import last_move, observe
from tictactoe_env.rules import Rules

RECTANGLE = Rules(2, 3, 3)


def test_the_mover_sees_its_own_marks_and_the_others():
    boards = np.array([parse_board(text, RECTANGLE) for text in ("X.O/...", "X.O/.X.")])
    grids = [[[1, 0, -1], [0, 0, 0]], [[-1, 0, 1], [0, -1, 0]]]
    assert observe(boards, RECTANGLE, "grid").tolist() == grids
    planes = [[(np.array(grid) == mark).tolist() for mark in (1, -1)] for grid in grids]
    assert observe(boards, RECTANGLE, "planes").tolist() == planes


@pytest.mark.parametrize("env_id", ["TicTacToe-v0", *ENVS_WITH_OPPONENT])
def test_by_default_an_observation_is_one_row_of_float32(env_id):
    row = gym.spaces.Box(0, 1, (20,), np.float32)
    board = {"rows": 2, "cols": 5, "k": 3}
    assert gym.make(env_id, **board).observation_space == row
    assert gym.make_vec(env_id, 2, **board).single_observation_space == row


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
