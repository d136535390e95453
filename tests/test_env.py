"""One game at a time, seen from outside; `test_config` tests what holds for many games too."""

import gymnasium as gym
import numpy as np
import pytest
from sample_players import FixedPlayer
from text_cases import refuses

from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv


@pytest.mark.parametrize("size", [(3, 3, 3), (2, 5, 3), (7, 8, 5)], ids=str)
@pytest.mark.parametrize("kind", ["planes", "grid", "flat"])
@pytest.mark.filterwarnings("error")
def test_spaces_and_numbers_have_the_documented_form(size, kind):
    rows, cols, k = size
    board = {"rows": rows, "cols": cols, "k": k}
    env = gym.make("TicTacToe-v0", side="X", observation=kind, render_mode="ansi", **board)
    assert (
        env.observation_space
        == {
            "planes": gym.spaces.Box(0, 1, (2, rows, cols), np.int8),
            "grid": gym.spaces.Box(-1, 1, (rows, cols), np.int8),
            "flat": gym.spaces.Box(0, 1, (2 * rows * cols,), np.float32),
        }[kind]
    )
    assert env.action_space == gym.spaces.Discrete(rows * cols)
    env.reset(seed=0)
    _, *results, info = env.step(0)
    assert [type(one) for one in results] == [float, bool, bool]
    assert list(info) == ["action_mask", "side", "outcome", "illegal_move"]


def test_what_belongs_to_an_opponent_is_refused_where_there_is_none():
    env = TicTacToeEnv(None)
    for options in ({"side": "X"}, {"opponent": "random"}):
        with refuses(*options):
            env.reset(options=options)
    with refuses("opponent=None", "side="):
        TicTacToeEnv(None, side="X")
    for made, opponent in ((env, "random"), (TicTacToeEnv(), None)):
        with refuses("opponent=None"):
            made.set_opponent(opponent)
    with refuses('"self"'):
        env.add_snapshot(FixedPlayer(0))
    with refuses("opponent", None):
        TicTacToeVectorEnv(2, opponent=None)


@pytest.mark.parametrize("env", [TicTacToeEnv(), TicTacToeVectorEnv(1)], ids=["one", "many"])
def test_a_masked_action_is_refused(env):
    env.reset()
    with refuses("action"):
        env.step(np.ma.array([0], mask=True))
