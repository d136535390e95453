"""The wrappers that put the mask into the observation, on our environments and on others."""

import warnings
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from text_cases import refuses

from tictactoe_env.wrappers import MaskInObservation, VectorMaskInObservation

ID = "tictactoe_env/TicTacToe-v0"
TIANSHOU = {"observation": "obs", "mask": "mask", "dtype": "bool"}
RLLIB = {"observation": "observations", "mask": "action_mask", "dtype": "float32"}
MODES = list(AutoresetMode)


class Countdown(gym.Env):
    """Take 5 or 6 (if so many are left) from seven until nothing is left to take."""

    observation_space = Discrete(8)
    action_space = Discrete(2, start=5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 7
        return self.left, self.info()

    def step(self, action):
        self.left = max(self.left - int(action), 0)
        return self.left, 0.0, self.left < 5, False, self.info()

    def info(self):
        return {"action_mask": np.array([self.left >= 5, self.left >= 6], np.int8)}


class Silent(Countdown):
    def info(self):
        return {}


class Asked(Silent):
    def action_masks(self):
        return Countdown.info(self)["action_mask"].astype(bool)


class TooLong(Countdown):
    def info(self):
        return {"action_mask": np.ones(3, np.int8)}


class Continuous(Countdown):
    action_space = Box(0, 1, (2,))


@pytest.mark.parametrize(("names", "kind"), [({}, "planes"), (TIANSHOU, "grid"), (RLLIB, "flat")])
def test_the_observation_has_the_mask_under_the_chosen_name_and_dtype(names, kind):
    plain = gym.make(ID, observation=kind)
    env = MaskInObservation(gym.make(ID, observation=kind), **names)
    key = names.get("observation", "observation")
    mask_key = names.get("mask", "action_mask")
    mask_space = Box(0, 1, (9,), np.dtype(names.get("dtype", "int8")).type)
    assert env.observation_space == Dict({key: plain.observation_space, mask_key: mask_space})
    for seed in range(5):
        (seen, info) = env.reset(seed=seed)
        (expected, _) = plain.reset(seed=seed)
        ended = False
        while not ended:
            cell = int(info["action_mask"].argmax())
            seen, reward, ended, _, info = env.step(cell)
            expected, expected_reward, *_ = plain.step(cell)
            assert env.observation_space.contains(seen)
            assert (seen[key].tolist(), reward) == (expected.tolist(), expected_reward)
            assert seen[mask_key].tolist() == info["action_mask"].tolist()
            assert np.array_equal(env.action_masks(), seen[mask_key].astype(bool))


@pytest.mark.parametrize("env_class", [Countdown, Asked])
def test_other_environments_give_their_mask_by_info_or_by_a_method(env_class):
    env = MaskInObservation(env_class(), **TIANSHOU)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version")
        check_env(env, skip_render_check=True)
    seen, _ = env.reset()
    assert (seen["obs"], seen["mask"].tolist()) == (7, [True, True])
    seen, *_ = env.step(6)
    assert (seen["obs"], seen["mask"].tolist()) == (1, [False, False])


@pytest.mark.parametrize(
    "make",
    [
        lambda: MaskInObservation(gym.make(ID)),
        lambda: VectorMaskInObservation(gym.make_vec(ID, 2)),
    ],
)
def test_the_mask_that_was_handed_out_may_be_changed_and_there_is_none_before_reset(make):
    env = make()
    with refuses("reset", error=ResetNeeded):
        env.action_masks()
    for call in (lambda: env.reset(seed=0), lambda: env.step(env.action_space.sample())):
        seen = call()[0]
        before = env.action_masks().tolist()
        seen["action_mask"][:] = 0
        env.action_masks()[:] = False
        assert env.action_masks().tolist() == before


def test_the_spec_survives_json_with_the_names_and_the_dtype():
    env = MaskInObservation(gym.make(ID, side="O"), **{**TIANSHOU, "dtype": np.bool_})
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert type(again) is MaskInObservation
    assert again.spec == env.spec
    assert repr(again.reset(seed=3)) == repr(env.reset(seed=3))


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        ({"observation": "same", "mask": "same"}, ["'same'"]),
        ({"observation": ""}, ["observation", "''"]),
        ({"dtype": "boolean"}, ["dtype", "'boolean'"]),
    ],
)
def test_wrong_arguments_are_refused(arguments, mentions):
    with refuses(*mentions):
        MaskInObservation(gym.make(ID), **arguments)
    with refuses(*mentions):
        VectorMaskInObservation(gym.make_vec(ID, 2), **arguments)


@pytest.mark.parametrize(
    ("env_classes", "mentions"),
    [
        ([Continuous], ["Discrete", "Box"]),
        ([Silent], ["action_mask"]),
        ([TooLong] * 4, ["(4, 2)", "(4, 3)"]),
        ([Countdown, Silent, Countdown, Silent], ["[1, 3]"]),
    ],
)
def test_environments_that_are_not_discrete_or_give_no_or_other_masks_are_refused(
    env_classes, mentions
):
    with refuses(*mentions):
        VectorMaskInObservation(SyncVectorEnv(env_classes)).reset()
    if len(env_classes) == 1:
        with refuses(*mentions):
            MaskInObservation(env_classes[0]()).reset()


@pytest.mark.parametrize(
    ("kind", "mode"), [*product(("native", "sync"), MODES), ("async", AutoresetMode.SAME_STEP)]
)
def test_a_vector_environment_is_wrapped_as_gymnasiums_own_of_wrapped_games(kind, mode):
    """Without chance, the games of our own class are those of Gymnasium's classes."""
    made = {"opponent": "minimax-first", "side": "X"}
    if kind == "native":
        env = gym.make_vec(ID, 3, autoreset_mode=mode.name, **made)
    else:
        vector = SyncVectorEnv if kind == "sync" else AsyncVectorEnv
        env = vector([lambda: gym.make(f"tictactoe_env:{ID}", **made)] * 3, autoreset_mode=mode)
    env = VectorMaskInObservation(env, **TIANSHOU)
    rng = np.random.default_rng(0)
    single = [lambda: MaskInObservation(gym.make(ID, **made), **TIANSHOU)] * 3
    expected = SyncVectorEnv(single, autoreset_mode=mode)
    assert env.observation_space == expected.observation_space
    (seen, _) = env.reset(seed=5)
    finals = 0
    assert repr(seen) == repr(expected.reset(seed=5)[0])
    for _ in range(20):
        actions = (seen["mask"] * rng.random((3, 9))).argmax(axis=1)
        *results, infos = env.step(actions)
        *theirs, their_infos = expected.step(actions)
        assert repr(results) == repr(theirs)
        assert repr(infos.get("final_obs")) == repr(their_infos.get("final_obs"))
        (seen, _, ended, _) = results
        finals = finals + ("final_obs" in infos)
        last = list(seen["mask"][ended])
        if mode is AutoresetMode.SAME_STEP:
            last = [final["mask"] for final in infos.get("final_obs", ()) if final]
        assert np.all(last), "after the end any action is ignored"
        assert seen["mask"].any(axis=1).all()
        if mode is AutoresetMode.DISABLED and ended.any():
            seen, _ = env.reset(options={"reset_mask": ended})
            assert repr(seen) == repr(expected.reset(options={"reset_mask": ended})[0])
        assert np.array_equal(env.action_masks(), seen["mask"])
    assert (finals > 3) == (mode is AutoresetMode.SAME_STEP)
    env.close()
