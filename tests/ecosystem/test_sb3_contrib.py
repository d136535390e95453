"""sb3-contrib: MaskablePPO with its callback and evaluation, and the other algorithms."""

import re

import gymnasium as gym
import pytest
from sb3_contrib import ARS, QRDQN, TRPO, MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

from tictactoe_env import evaluate

ENV = "tictactoe_env:TicTacToe-v0"
OTHERS = {
    QRDQN: {"learning_starts": 100, "buffer_size": 1_000},
    TRPO: {"n_steps": 64, "batch_size": 64},
    ARS: {"n_delta": 2},
}


def test_the_example_trains_and_draws_the_game_that_it_can_lose(run_example, tmp_path):
    _, rates = run_example("sb3_contrib_maskable_ppo.py", 10_000)
    assert rates["X"][0] > 75
    picture = (tmp_path / "lost.svg").read_text()  # nobody is unbeatable after 10,000 steps
    assert 'class="line"' in picture  # the opponent's three in a row
    assert evaluate(MaskablePPO.load(tmp_path / "maskable_ppo")).x.illegal == 0


def test_the_loop_of_an_own_game_learns_both_games(run_example):
    output, rates = run_example("sb3_contrib_own_game.py", 50_000)
    assert rates["X"][0] > 75
    assert int(re.search(r"Nim: (\d+) of 16", output)[1]) >= 14


def test_maskable_ppo_learns_and_is_judged_in_processes_without_an_illegal_move(tmp_path):
    """One would raise an error."""
    options = {"vec_env_cls": SubprocVecEnv, "env_kwargs": {"illegal": "raise"}}
    envs, judge = (make_vec_env(ENV, n_envs=2, seed=0, **options) for _ in range(2))
    callback = MaskableEvalCallback(judge, eval_freq=64, best_model_save_path=str(tmp_path))
    MaskablePPO("MlpPolicy", envs, n_steps=64, batch_size=64, seed=0).learn(512, callback=callback)
    assert (tmp_path / "best_model.zip").exists()
    assert -1 <= callback.last_mean_reward <= callback.best_mean_reward <= 1


@pytest.mark.parametrize("algorithm", OTHERS)
def test_another_algorithm_trains_and_is_evaluated_and_an_opponent(algorithm):
    model = algorithm("MlpPolicy", gym.make(ENV), seed=0, **OTHERS[algorithm]).learn(300)
    evaluate(model)
    gym.make(ENV, opponent=model).reset(seed=0)
