"""Stable-Baselines3: its checker and its algorithms, on one game and on many."""

import re

import gymnasium as gym
import pytest
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_checker import check_env

import tictactoe_env
from tictactoe_env import evaluate
from tictactoe_env.observation import OBSERVATIONS

ENV = "tictactoe_env:TicTacToe-v0"
SMALL = {
    PPO: {"n_steps": 64, "batch_size": 64},
    A2C: {},
    DQN: {"learning_starts": 100, "buffer_size": 1_000},
}


def small_model(algorithm, env, **options):
    return algorithm("MlpPolicy", env, **SMALL[algorithm], seed=0, **options)


class TestTheExample:
    def test_trains_in_self_play_and_loads_the_best_model(self, run_example, rates_of, tmp_path):
        printed = run_example("sb3_self_play.py", 10_000)
        won, lost = rates_of(printed)["X"]
        assert won > 85  # an untrained network wins 70 to 80 %
        assert lost < 10
        assert (tmp_path / "best" / "best_model.zip").exists()
        assert len(re.findall(r"steps(?:, the end)?   X %: ", printed)) >= 2


class TestTheChecker:
    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("env_id", [*tictactoe_env.ENV_IDS, *tictactoe_env.OPPONENT_IDS])
    def test_has_nothing_to_say(self, env_id):
        check_env(gym.make(env_id))

    @pytest.mark.parametrize("observation", ["planes", "grid"])
    def test_only_advises_flat_observations_where_they_are_not(self, observation):
        with pytest.warns(UserWarning, match="image|shape|flatten"):
            check_env(gym.make(ENV, observation=observation))


@pytest.mark.parametrize("algorithm", SMALL)
class TestAnAlgorithm:
    @pytest.mark.parametrize("observation", OBSERVATIONS)
    def test_trains_by_the_id_and_is_evaluated_and_an_opponent(self, algorithm, observation):
        env = gym.make(ENV, observation=observation)
        model = small_model(algorithm, env).learn(300)
        result = evaluate(model)
        assert 0 < result.x.illegal < 1  # it does not know the masks
        opponent = gym.make(ENV, opponent=model, side="O")
        first_moves = {tuple(opponent.reset(seed=seed)[0]) for seed in range(5)}
        assert len(first_moves) == 1  # the model plays its best move
