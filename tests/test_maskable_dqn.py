"""MaskableDQN: here, and on a task of the tests' own whose masks are not seen in observations."""

import warnings
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from masked_tasks import ACTIONS, DISCOUNT, STATES, Lottery, lottery_values
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy as unmasked_evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecMonitor, VecNormalize
from text_cases import refuses

from tictactoe_env.sb3 import (
    ExactEvaluation,
    MaskableDQN,
    MaskableReplayBufferSamples,
    SelfPlay,
    TicTacToeVecEnv,
)

SMALL = {"buffer_size": 4_096, "batch_size": 64, "learning_starts": 64, "train_freq": 1}
NO_TIMEOUTS = {"replay_buffer_kwargs": {"handle_timeout_termination": False}}


def lottery(count=4, limit=None, **arguments):
    """Lotteries as a VecEnv; limit: steps after which one is truncated."""

    def made():
        env = Lottery(**arguments)
        return gym.wrappers.TimeLimit(env, limit) if limit else env

    return make_vec_env(made, count, seed=0)


def model_of(env, **options):
    is_dict = isinstance(env.observation_space, gym.spaces.Dict)
    policy = "MultiInputPolicy" if is_dict else "MlpPolicy"
    return MaskableDQN(policy, env, seed=0, **{**SMALL, **options})


def values_in_all_states(model):
    with torch.no_grad():
        return model.q_net(model.policy.obs_to_tensor(np.arange(STATES))[0]).numpy()


@pytest.mark.parametrize(("double_q", "values"), [(False, [7.0, 5.0]), (True, [2.0, 5.0])])
def test_the_target_takes_the_best_legal_action_of_the_right_network(double_q, values):
    model = model_of(lottery(), double_q=double_q, gamma=0.5)
    online, target = torch.zeros(2, ACTIONS), torch.zeros(2, ACTIONS)
    online[0, :3] = torch.tensor([9.0, 4.0, 3.0])  # action 0 is illegal; the network prefers 1
    target[0, :3] = torch.tensor([99.0, 2.0, 7.0])  # the target network prefers 2
    target[1] = 50.0  # after the end nothing counts
    masks = torch.ones(2, ACTIONS, dtype=torch.bool)
    masks[0, 0] = False
    model.q_net, model.q_net_target = (lambda seen: online), (lambda seen: target)
    batch = MaskableReplayBufferSamples(
        observations=torch.zeros(2),
        actions=torch.zeros(2, 1),
        next_observations=torch.zeros(2),
        dones=torch.tensor([[0.0], [1.0]]),
        rewards=torch.tensor([[1.0], [5.0]]),
        next_action_masks=masks,
    )
    expected = [1 + 0.5 * values[0], values[1]]
    assert model._target(batch)[:, 0].tolist() == expected


@pytest.mark.parametrize("limit", [0.01, 100.0])
def test_where_all_actions_are_legal_an_update_is_that_of_dqn(limit):
    """By plain steps, which show the size of a gradient, with its limit and without."""
    masker = partial(ActionMasker, action_mask_fn=lambda env: np.ones(2, dtype=bool))
    env = make_vec_env("CartPole-v1", 1, wrapper_class=masker)
    rates = {"learning_rate": lambda left: 0.2 - 0.1 * left, "max_grad_norm": limit, "seed": 0}
    rates["policy_kwargs"] = {"optimizer_class": torch.optim.SGD}
    model, plain = (kind("MlpPolicy", env, **SMALL, **rates) for kind in (MaskableDQN, DQN))
    model.learn(100)
    plain.learn(0).set_parameters(model.get_parameters())
    plain._current_progress_remaining, updates = model._current_progress_remaining, model._n_updates
    for name in ("observations", "next_observations", "actions", "rewards", "dones", "timeouts"):
        setattr(plain.replay_buffer, name, getattr(model.replay_buffer, name))
    plain.replay_buffer.pos = model.replay_buffer.pos
    for one in (model, plain):
        np.random.seed(0)  # noqa: NPY002
        one.train(3, 16)
    for ours, theirs in zip(model.q_net.parameters(), plain.q_net.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert (model._n_updates - updates, plain._n_updates) == (3, 3)


@pytest.mark.parametrize("limit", [None, pytest.param(3, marks=pytest.mark.slow)])
def test_learned_values_are_those_of_the_task_with_masks(limit):
    """A target over all actions would learn values that are too high by 0.7."""
    ends = 0.0 if limit else 0.3
    expected, unmasked = (lottery_values(ends, with_masks)[:, :3] for with_masks in (True, False))
    assert (unmasked - expected).min() > 0.6
    model = model_of(
        lottery(64, limit, tells=True, ends=ends),
        **{"learning_rate": lambda left: 0.05 * left, "gamma": DISCOUNT, "tau": 0.05},
        **{"batch_size": 512, "buffer_size": 20_000, "target_update_interval": 64},
        **{
            "exploration_final_eps": 1.0,
            "policy_kwargs": {"net_arch": []},
            "double_q": bool(limit),
        },
    )
    with torch.no_grad():  # the action that is never legal would be the best
        model.q_net.q_net[-1].bias[3] = model.q_net_target.q_net[-1].bias[3] = 9.0
    model.learn(64 * (800 if limit else 200))
    np.testing.assert_allclose(values_in_all_states(model)[:, :3], expected, atol=0.06)


@pytest.mark.parametrize("kind", [DummyVecEnv, pytest.param(SubprocVecEnv, marks=pytest.mark.slow)])
def test_no_illegal_action_is_tried_with_dictionaries_that_are_normed(kind):
    """Warm-up, exploration and greedy actions: each illegal one would raise."""
    env = make_vec_env(lambda: Lottery(as_dict=True), 3, vec_env_cls=kind)
    model = model_of(VecNormalize(env, norm_obs_keys=["zeros"]), exploration_final_eps=0.2)
    assert model.learn(200)._n_updates > 20
    env.close()


def test_the_buffer_has_the_masks_of_the_next_observations_also_of_truncated_episodes():
    env = lottery(2, limit=3, tells=True, ends=0.2)
    model = model_of(env).learn(120)
    buffer = model.replay_buffer
    ends, timeouts = buffer.dones.astype(bool), buffer.timeouts.astype(bool)
    assert timeouts.any()
    assert (ends & ~timeouts).any()
    for index in range(2):
        drawn = env.envs[index].unwrapped.drawn
        at = 0
        for step in range(60):
            at += 1
            if not ends[step, index] or timeouts[step, index]:
                assert (buffer.next_action_masks[step, index] == drawn[at]).all()
            at += ends[step, index]  # the mask of the new episode's first observation
        assert at == len(drawn) - 1


def test_a_truncated_episode_without_a_mask_is_refused_unless_it_counts_as_terminated():
    with refuses("action_mask"):
        model_of(lottery(2, limit=3)).learn(50)
    model = model_of(lottery(2, limit=3), **NO_TIMEOUTS).learn(50)
    assert not model.replay_buffer.timeouts.any()


def test_environments_without_masks_are_refused_until_they_are_wrapped():
    model = model_of(make_vec_env("CartPole-v1", 1))
    with refuses("action_masks()"):
        model.learn(100)
    masker = ActionMasker(gym.make("CartPole-v1"), lambda env: np.array([True, False]))
    only = model_of(masker, **NO_TIMEOUTS).learn(100)
    assert not only.replay_buffer.actions[..., 0].any()


def test_a_prediction_is_the_best_legal_action_for_one_observation_or_a_batch():
    model = model_of(lottery())
    order = values_in_all_states(model).argsort(axis=1)[:, ::-1]
    greedy, memory = model.predict(np.arange(STATES), deterministic=True)
    assert (greedy.tolist(), memory) == (order[:, 0].tolist(), None)
    masks = np.ones((STATES, ACTIONS), dtype=np.int8)
    masks[np.arange(STATES), greedy] = 0
    second, _ = model.predict(np.arange(STATES), action_masks=masks, deterministic=True)
    assert second.tolist() == order[:, 1].tolist()
    alone, memory = model.predict(np.array(2), order, action_masks=masks[2], deterministic=True)
    assert (alone.shape, int(alone), memory is order) == ((), order[2, 1], True)


def test_each_observation_of_a_batch_tosses_its_own_coin_among_its_legal_actions():
    model = model_of(lottery())
    masks = np.zeros((8_000, ACTIONS), dtype=bool)
    masks[:, [1, 3]] = True
    for rate in (0.0, 0.5, 1.0):
        model.exploration_rate = rate
        greedy, _ = model.predict(np.zeros(8_000, int), action_masks=masks, deterministic=True)
        actions, _ = model.predict(np.zeros(8_000, int), action_masks=masks)
        assert set(actions.tolist()) <= {1, 3}
        assert (actions != greedy).mean() == pytest.approx(rate / 2, abs=0.03)
    free, _ = model.predict(np.zeros(8_000, int))
    assert np.bincount(free) / 8_000 == pytest.approx([0.25] * 4, abs=0.03)


def test_a_saved_model_predicts_the_same_and_learns_on(tmp_path):
    env = lottery()
    model = model_of(env, double_q=True).learn(120)
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "buffer")
    again = MaskableDQN.load(tmp_path / "model", env=lottery())
    again.load_replay_buffer(tmp_path / "buffer")
    assert again.double_q
    assert (values_in_all_states(again) == values_in_all_states(model)).all()
    kept, expected = (one.replay_buffer.next_action_masks for one in (again, model))
    assert (kept == expected).all()
    assert again.learn(40, reset_num_timesteps=False).num_timesteps == 160
    alone = MaskableDQN.load(tmp_path / "model")
    assert (values_in_all_states(alone) == values_in_all_states(model)).all()


def test_returns_of_several_steps_are_refused():
    with refuses("n_steps", 3):
        model_of(lottery(), n_steps=3)


def test_evaluations_of_stable_baselines3_warn_that_they_play_unmasked():
    """Learning with snapshots, exact evaluation and sb3-contrib's evaluations do not warn."""
    env, judge = (VecMonitor(TicTacToeVecEnv(2, opponent="self")) for _ in range(2))
    model, brief = model_of(env), {"eval_freq": 40, "n_eval_episodes": 2, "verbose": 0}
    exact = ExactEvaluation(every=40, stop_at="unbeatable")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model.learn(80, [SelfPlay(every=40), exact, MaskableEvalCallback(judge, **brief)])
        assert warned == []
        model.learn(80, EvalCallback(judge, **brief))
        unmasked_evaluate_policy(model, judge, 2)
    assert {"sb3_contrib.common.maskable" in str(one.message) for one in warned} == {True}
