"""Gymnasium's and Stable-Baselines3's checkers on every kind of environment."""

import warnings
from itertools import product

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check

from tictactoe_env.observation import OBSERVATIONS

POOL = [["random", 0.5], ["minimax", 0.5]]
OPPONENTS = ["random", "minimax", "minimax-first", "minimax-slip=0.2", POOL]
SIZES = {(3, 3, 3): OPPONENTS, (4, 5, 4): ["random"], (7, 8, 5): ["random"]}
SIZES |= dict.fromkeys(((1, 5, 3), (2, 5, 3)), OPPONENTS[-2:])
GRID = [
    {"side": side, "observation": kind, "opponent": opponent, "rows": rows, "cols": cols, "k": k}
    for (rows, cols, k), opponents in SIZES.items()
    for side in ("O", "alternate")
    for kind, opponent in product(OBSERVATIONS, opponents)
]
BOARD = {"rows": 4, "cols": 5, "k": 4}
EXTRAS = [{"start": "random"}, {"opening": "b2"}, {"early_draw": True}, {"rewards": {"win": 2}}]
EXTRAS += [{"symmetric": True}, {"symmetric": True, **BOARD, "observation": "grid"}]
# The second id is the same environment by another name.
EVERY = {"tictactoe_env/TicTacToe-v0": (*GRID, *EXTRAS), "TicTacToe-v0": EXTRAS}
SMALL = {"rows": 3, "cols": 4, "k": 3}
EVERY["tictactoe_env/ConnectFour-v0"] = [{}, {"opponent": "search-depth=2"}, SMALL]


@pytest.mark.parametrize("env_id", EVERY)
@pytest.mark.filterwarnings("error")
def test_gymnasiums_checker_passes_without_a_warning(env_id):
    for arguments in EVERY[env_id]:
        gymnasium_check(gym.make(env_id, **arguments).unwrapped, skip_render_check=True)
    for mode, (rows, cols) in product(("ansi", "rgb_array"), ((3, 3), (2, 5), (7, 8))):
        board = {"rows": rows, "cols": cols, "k": 3}
        gymnasium_check(gym.make(env_id, render_mode=mode, **board).unwrapped)


@pytest.mark.parametrize("env_id", EVERY)
def test_stable_baselines3s_checker_passes_and_warns_only_of_planes_and_grids(env_id):
    stable_baselines3_check = pytest.importorskip("stable_baselines3.common.env_checker").check_env
    for arguments in EVERY[env_id]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if arguments.get("observation", "flat") != "flat":  # SB3 takes planes for pictures
                warnings.filterwarnings("ignore", message=".*(image|minimal resolution)")
            stable_baselines3_check(gym.make(env_id, **arguments))
