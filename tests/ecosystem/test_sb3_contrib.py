"""sb3-contrib: MaskablePPO with its wrapper, callback and evaluation, and the other algorithms."""

import gymnasium as gym
import pytest
from sb3_contrib import ARS, QRDQN, TRPO, MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from tictactoe_env import evaluate
from tictactoe_env.sb3 import TicTacToeVecEnv

ENV = "tictactoe_env:TicTacToe-v0"
STRICT = {"illegal": "raise"}  # an illegal move is an error
SMALL = {"n_steps": 64, "batch_size": 64, "seed": 0}


class TestTheExample:
    def test_trains_and_draws_the_game_that_it_can_lose(self, run_example, rates_of, tmp_path):
        assert rates_of(run_example("sb3_contrib_maskable_ppo.py", 10_000))["X"][0] > 75
        picture = (tmp_path / "lost.svg").read_text()  # nobody is unbeatable after 10,000 steps
        assert 'class="line"' in picture  # the opponent's three in a row
        assert evaluate(MaskablePPO.load(tmp_path / "maskable_ppo")).x.illegal == 0


class TestMaskablePPO:
    @pytest.mark.parametrize("vec_env", [DummyVecEnv, SubprocVecEnv])
    def test_never_makes_an_illegal_move_in_single_environments(self, vec_env):
        envs = make_vec_env(ENV, n_envs=2, seed=0, vec_env_cls=vec_env, env_kwargs=STRICT)
        assert is_masking_supported(envs)
        envs.reset()
        assert (get_action_masks(envs).sum(axis=1) >= 8).all()  # the opponent may have moved
        MaskablePPO("MlpPolicy", envs, **SMALL).learn(512)
        envs.close()

    def test_takes_masks_by_the_wrapper(self):
        env = ActionMasker(gym.make(ENV, **STRICT), lambda env: env.unwrapped.action_masks())
        MaskablePPO("MlpPolicy", env, **SMALL).learn(256)

    @pytest.mark.parametrize("many", [False, True])
    def test_the_evaluation_callback_passes_the_masks(self, many, tmp_path):
        envs = TicTacToeVecEnv(4, **STRICT) if many else make_vec_env(ENV, env_kwargs=STRICT)
        callback = MaskableEvalCallback(envs, eval_freq=64, best_model_save_path=str(tmp_path))
        model = MaskablePPO("MlpPolicy", TicTacToeVecEnv(4, **STRICT), **SMALL)
        model.learn(512, callback=callback)
        assert (tmp_path / "best_model.zip").exists()
        assert -1 <= callback.last_mean_reward <= callback.best_mean_reward <= 1


OTHERS = {
    QRDQN: {"learning_starts": 100, "buffer_size": 1_000},
    TRPO: {"n_steps": 64, "batch_size": 64},
    ARS: {"n_delta": 2},
}


@pytest.mark.parametrize("algorithm", OTHERS)
class TestTheOtherAlgorithms:
    def test_train_and_are_evaluated_and_opponents(self, algorithm):
        env = gym.make(ENV)
        model = algorithm("MlpPolicy", env, seed=0, **OTHERS[algorithm]).learn(300)
        result = evaluate(model)
        assert result.x.win + result.x.draw + result.x.loss == pytest.approx(1)
        gym.make(ENV, opponent=model).reset(seed=0)
