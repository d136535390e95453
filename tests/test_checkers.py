"""Gymnasium's and Stable-Baselines3's checkers on every kind of environment, and a MaskablePPO."""

import warnings
from itertools import product

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check

from tictactoe_env import ENV_IDS
from tictactoe_env.observation import OBSERVATIONS

POOL = [["random", 0.5], ["minimax", 0.5]]
OPPONENTS = ["random", "minimax", "minimax-first", "minimax-slip=0.2", POOL]
SIZES = {(3, 3, 3): OPPONENTS, (4, 5, 4): ["random"], (7, 8, 5): ["random"]}
SIZES |= dict.fromkeys(((2, 3, 2), (1, 5, 3), (3, 4, 3), (2, 5, 3)), OPPONENTS[-2:])
GRID = [
    {"side": side, "observation": kind, "opponent": opponent, "rows": rows, "cols": cols, "k": k}
    for (rows, cols, k), opponents in SIZES.items()
    for side in ("O", "alternate")
    for kind, opponent in product(OBSERVATIONS, opponents)
]
EXTRAS = [{"start": "random"}, {"opening": "b2"}, {"early_draw": True}, {"rewards": {"win": 2}}]
# The second id is the same environment by another name.
EVERY = {ENV_IDS[0]: (*GRID, *EXTRAS), ENV_IDS[1]: EXTRAS}


@pytest.mark.parametrize("env_id", ENV_IDS)
@pytest.mark.filterwarnings("error")
def test_gymnasiums_checker_passes_without_a_warning(env_id):
    for arguments in EVERY[env_id]:
        gymnasium_check(gym.make(env_id, **arguments).unwrapped, skip_render_check=True)
    for mode, (rows, cols) in product(("ansi", "rgb_array"), ((3, 3), (2, 5), (7, 8))):
        gymnasium_check(gym.make(env_id, render_mode=mode, rows=rows, cols=cols).unwrapped)


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_stable_baselines3s_checker_passes_and_warns_only_of_planes_and_grids(env_id):
    stable_baselines3_check = pytest.importorskip("stable_baselines3.common.env_checker").check_env
    for arguments in EVERY[env_id]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if arguments.get("observation", "flat") != "flat":  # SB3 takes planes for pictures
                warnings.filterwarnings("ignore", message=".*(image|minimal resolution)")
            stable_baselines3_check(gym.make(env_id, **arguments))


@pytest.mark.parametrize("arguments", [{}, {"observation": "grid"}, {"rows": 2, "cols": 5}])
def test_maskable_ppo_learns_on_a_made_environment_with_nothing_else(arguments):
    pytest.importorskip("torch").set_num_threads(1)
    maskable_ppo = pytest.importorskip("sb3_contrib").MaskablePPO
    # illegal="raise", so that an unmasked action would show
    env = gym.make("tictactoe_env/TicTacToe-v0", illegal="raise", **arguments)
    sizes = {"n_steps": 128, "batch_size": 64, "n_epochs": 2}
    model = maskable_ppo("MlpPolicy", env, **sizes, seed=0, device="cpu")
    before = model.policy.state_dict()["action_net.weight"].clone()
    model.learn(256)
    assert model.num_timesteps == 256
    assert not before.equal(model.policy.state_dict()["action_net.weight"])
    observation, info = env.reset(seed=0)
    terminated = False
    while not terminated:
        action, _ = model.predict(observation, action_masks=info["action_mask"].astype(bool))
        observation, reward, terminated, _, info = env.step(action)
    assert (info["outcome"], info["illegal_move"]) == (reward, 0)
