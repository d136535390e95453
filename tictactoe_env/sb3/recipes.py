"""Arguments with which MaskablePPO and MaskableDQN learn 3x3 until nobody can beat them.

docs/stable_baselines3.md says what each is for, and benchmarks/first_training.py what happens
without some of them.
"""

from __future__ import annotations

from typing import Any

import torch

from tictactoe_env.sb3.vec_env import TicTacToeVecEnv

GAMES = {"opponent": "minimax-slip=0.3", "exploring_starts": 0.5, "symmetric": True}


def ppo_recipe(**games: Any) -> dict[str, Any]:
    """Return arguments for MaskablePPO of sb3-contrib with which it learns 3x3 in seconds.

        from sb3_contrib import MaskablePPO
        from tictactoe_env.sb3 import ExactEvaluation, ppo_recipe

        model = MaskablePPO(**ppo_recipe(), seed=0)
        model.learn(200_000, ExactEvaluation(stop_at="unbeatable"))

    It's a dictionary: print it, or replace a value, as in `ppo_recipe() | {"gamma": 0.99}`. Its
    "env" is new at each call. games: arguments of `TicTacToeVecEnv` to add or to replace, as in
    `ppo_recipe(opponent="random")`. Raises TypeError for others, such as gamma.
    """
    return {
        "policy": "MlpPolicy",
        "env": TicTacToeVecEnv(**{"num_envs": 256, **GAMES, **games}),
        "n_steps": 16,
        "batch_size": 1024,
        "learning_rate": 2e-3,
        "gamma": 1.0,
        "ent_coef": 0.03,
        "policy_kwargs": {"net_arch": [128, 128], "activation_fn": torch.nn.ReLU},
        "device": "cpu",
    }


def dqn_recipe(**games: Any) -> dict[str, Any]:
    """Return arguments for `MaskableDQN` with which it learns 3x3 in seconds: see `ppo_recipe`."""
    return {
        "policy": "MlpPolicy",
        "env": TicTacToeVecEnv(**{"num_envs": 64, **GAMES, **games}),
        "batch_size": 1024,
        "learning_rate": 1e-3,
        "gamma": 1.0,
        "train_freq": 1,
        "target_update_interval": 2_000,
        "policy_kwargs": {"net_arch": [128, 128]},
        "device": "cpu",
    }
