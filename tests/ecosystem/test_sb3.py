"""Stable-Baselines3: its checker, algorithms, vector environments, wrappers and callbacks."""

import re

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.callbacks import (
    EvalCallback,
)
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import (
    SubprocVecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

import tictactoe_env
from tictactoe_env import Rules, evaluate, snapshot
from tictactoe_env.observation import OBSERVATIONS
from tictactoe_env.sb3 import TicTacToeVecEnv

ENV = "tictactoe_env:TicTacToe-v0"
SMALL = {
    PPO: {"n_steps": 64, "batch_size": 64},
    A2C: {},
    DQN: {"learning_starts": 100, "buffer_size": 1_000},
}


def small_model(algorithm, env, **options):
    return algorithm("MlpPolicy", env, **SMALL[algorithm], seed=0, **options)


def moves_of(policy):
    """The table of moves, for comparisons."""
    return tictactoe_env.tabulate(policy, Rules()).table


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

    def test_trains_on_many_games_and_keeps_its_moves_when_saved(self, algorithm, tmp_path):
        model = small_model(algorithm, TicTacToeVecEnv(8)).learn(1_000)
        model.save(tmp_path / "model")
        assert (moves_of(algorithm.load(tmp_path / "model")) == moves_of(model)).all()


class TestVectorEnvironments:
    def test_take_snapshots_in_other_processes_as_tables(self):
        kwargs = {"opponent": "self", "side": "O"}
        envs = make_vec_env(ENV, n_envs=2, vec_env_cls=SubprocVecEnv, env_kwargs=kwargs)
        model = small_model(PPO, envs).learn(128)
        envs.env_method("add_snapshot", snapshot(model, Rules(), deterministic=True))
        first = model.predict(np.zeros((1, 18), dtype=np.float32), deterministic=True)[0][0]
        for _ in range(3):
            assert (envs.reset()[:, 9 + first] == 1).all()
        envs.close()

    def test_normalize_stack_and_monitor(self, tmp_path):
        envs = TicTacToeVecEnv(4)
        stacked = VecFrameStack(VecMonitor(VecNormalize(envs), str(tmp_path / "log")), 2)
        assert stacked.observation_space.shape == (36,)
        small_model(PPO, stacked).learn(512)
        assert len((tmp_path / "log.monitor.csv").read_text().splitlines()) > 20


class TestCallbacks:
    def test_evaluation_saves_the_best_model_and_agrees_with_the_exact_results(self, tmp_path):
        test_env = make_vec_env(ENV, n_envs=4, seed=1, env_kwargs={"side": "X"})
        callback = EvalCallback(
            test_env, n_eval_episodes=300, eval_freq=500, best_model_save_path=str(tmp_path)
        )
        model = small_model(PPO, make_vec_env(ENV, n_envs=2, seed=0))
        model.learn(1_000, callback=callback)
        exact = evaluate(PPO.load(tmp_path / "best_model")).x.value
        assert abs(callback.best_mean_reward - exact) < 5 / np.sqrt(300)
