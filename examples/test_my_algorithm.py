"""A learning test to copy: an exact limit for what the trained player loses.

    pip install "tictactoe-env[sb3]" pytest
    pytest test_my_algorithm.py

Put your algorithm into `train`, run it with 20 seeds, and set the limit above the worst.
"""

import pytest
import torch
from sb3_contrib import MaskablePPO

from tictactoe_env import evaluate
from tictactoe_env.sb3 import TicTacToeVecEnv


def train(seed):
    """Your algorithm; half of the games start from random positions."""
    torch.set_num_threads(1)
    env = TicTacToeVecEnv(256, opponent="minimax-slip=0.3", exploring_starts=0.5)
    options = {"n_steps": 16, "batch_size": 1024, "learning_rate": 1e-3, "gamma": 1.0}
    network = {"ent_coef": 0.01, "policy_kwargs": {"net_arch": [128, 128]}}
    return MaskablePPO("MlpPolicy", env, **options, **network, seed=seed).learn(98_304)


@pytest.mark.parametrize("seed", [0])
def test_it_learns(seed):
    """Every game against random play is counted, so the limit can be tight."""
    found = evaluate(train(seed))
    assert found.o.loss < 0.03, found
