"""Stable-Baselines3: its algorithms by the id alone, and self-play."""

import re

import gymnasium as gym
import pytest
from stable_baselines3 import A2C, DQN, PPO

from tictactoe_env import evaluate

ENV = "tictactoe_env:TicTacToe-v0"
SMALL = {
    PPO: {"n_steps": 64, "batch_size": 64},
    A2C: {},
    DQN: {"learning_starts": 100, "buffer_size": 1_000},
}


@pytest.mark.parametrize("algorithm", SMALL)
def test_an_algorithm_trains_by_the_id_and_is_evaluated_and_an_opponent(algorithm):
    model = algorithm("MlpPolicy", gym.make(ENV), seed=0, **SMALL[algorithm]).learn(300)
    assert evaluate(model).x.illegal > 0  # it does not know the masks
    opponent = gym.make(ENV, opponent=model, side="O")
    first_moves = {tuple(opponent.reset(seed=seed)[0]) for seed in range(5)}
    assert len(first_moves) == 1  # the model plays its best move


def test_the_example_trains_in_self_play_and_saves_the_best_model(run_example, tmp_path):
    printed, rates = run_example("sb3_self_play.py", 10_000)
    won, lost = rates["X"]
    assert won > 85  # an untrained network wins 70 to 80 %
    assert lost < 10
    assert (tmp_path / "best" / "best_model.zip").exists()
    assert len(re.findall(r"steps(?:, the end)?   X %: ", printed)) >= 2
