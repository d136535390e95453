"""The checkers of Gymnasium and of Stable-Baselines3 on every kind of environment, and MaskablePPO with nothing else."""

from __future__ import annotations

import warnings

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check

import tictactoe_env

OPPONENTS = [
    "random",
    "minimax",
    "minimax-first",
    "minimax-slip=0.2",
    [["random", 0.5], ["minimax", 0.5]],
]
BOARDS = [
    {"rows": 2, "cols": 3, "k": 2},
    {"rows": 1, "cols": 5, "k": 3},
    {"rows": 3, "cols": 4, "k": 3},
    {"rows": 2, "cols": 5, "k": 3},
]
LARGE = [{"rows": 4, "cols": 5, "k": 4}, {"rows": 7, "cols": 8, "k": 5}]
GRID = [
    {"side": side, "opponent": opponent, "observation": observation, **board}
    for side in ("X", "O", "random", "alternate")
    for observation in ("planes", "grid")
    for board, opponents in [
        ({}, OPPONENTS),
        *((board, OPPONENTS[-2:]) for board in BOARDS),
        *((board, ["random"]) for board in LARGE),
    ]
    for opponent in opponents
]
EXTRAS = [
    {"start": "random"},
    {"opening": "b2"},
    {"early_draw": True},
    {"rewards": {"win": 2, "draw": 0.5, "illegal": -3}},
]


def every(env_id):
    """The whole grid for the first id; for the second, which is the same environment by another name, a part of it."""
    return (*GRID, *EXTRAS) if env_id == tictactoe_env.ENV_IDS[0] else (*GRID[::7], *EXTRAS)


IMAGE_ADVICE = (
    "image|minimal resolution"  # SB3 takes int8 planes for pictures: advice for CnnPolicy, no fault
)


@pytest.mark.parametrize("env_id", tictactoe_env.ENV_IDS)
def test_gymnasiums_checker_passes_without_a_warning(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for arguments in every(env_id):
            env = gym.make(env_id, **arguments).unwrapped
            gymnasium_check(env, skip_render_check=True)


def test_gymnasiums_checker_passes_the_pictures_too():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for arguments in ({}, {"rows": 2, "cols": 5, "k": 3}, {"rows": 7, "cols": 8, "k": 5}):
            for mode in ("ansi", "rgb_array"):
                gymnasium_check(gym.make("TicTacToe-v0", render_mode=mode, **arguments).unwrapped)


@pytest.mark.parametrize("env_id", tictactoe_env.ENV_IDS)
def test_stable_baselines3s_checker_passes(env_id):
    stable_baselines3_check = pytest.importorskip("stable_baselines3.common.env_checker").check_env
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=f".*({IMAGE_ADVICE})")
        for arguments in every(env_id):
            stable_baselines3_check(gym.make(env_id, **arguments))


def test_maskable_ppo_learns_on_a_made_environment_with_nothing_else():
    torch = pytest.importorskip("torch")
    maskable_ppo = pytest.importorskip("sb3_contrib").MaskablePPO
    torch.set_num_threads(1)
    for arguments in ({}, {"observation": "grid"}, {"rows": 2, "cols": 5, "k": 3}):
        env = gym.make(
            "tictactoe_env/TicTacToe-v0", illegal="raise", **arguments
        )  # so that an unmasked action would show
        model = maskable_ppo(
            "MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=2, seed=0, device="cpu"
        )
        before = model.policy.state_dict()["action_net.weight"].clone()
        model.learn(256)
        assert model.num_timesteps == 256
        assert not torch.equal(before, model.policy.state_dict()["action_net.weight"])
        observation, info = env.reset(seed=0)
        terminated = False
        while not terminated:
            action, _ = model.predict(observation, action_masks=info["action_mask"].astype(bool))
            observation, _, terminated, _, info = env.step(action)
        assert info["outcome"] in ("win", "draw", "loss")
        env.close()


def test_the_checkers_grid_has_every_side_opponent_observation_and_board():
    for key, count in (("side", 4), ("observation", 2)):
        assert len({arguments[key] for arguments in GRID}) == count
    assert len(GRID) == 4 * 2 * (len(OPPONENTS) + 2 * len(BOARDS) + len(LARGE))
