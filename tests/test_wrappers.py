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

    observation_space, action_space = Discrete(8), Discrete(2, start=5)
    gives, said = "info", 2  # where the mask is, and how many entries it has

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 7
        return self.left, self._info()

    def step(self, action):
        self.left = max(self.left - int(action), 0)
        return self.left, 0.0, self.left < 5, False, self._info()

    def _info(self):
        return {"action_mask": self._mask()} if self.gives == "info" else {}

    def _mask(self):
        return np.array([self.left >= 5, self.left >= 6, True][: self.said], np.int8)


class Asked(Countdown):
    gives = "method"

    def action_masks(self):
        return self._mask().astype(bool)


class Silent(Countdown):
    gives = "nothing"


class TooLong(Countdown):
    said = 3


def keys_of(names):
    return names.get("observation", "observation"), names.get("mask", "action_mask")


def legal_actions(masks, rng):
    return np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])


def made():
    return gym.make(f"tictactoe_env:{ID}", opponent="random")


def vector(kind, mode, make=made):
    """Three games: a vector environment of our own class, or single ones in Gymnasium's."""
    if kind == "native":
        return gym.make_vec(ID, 3, opponent="random", autoreset_mode=mode.name)
    return {"sync": SyncVectorEnv, "async": AsyncVectorEnv}[kind]([make] * 3, autoreset_mode=mode)


# --- one environment ------------------------------------------------------------------------------


@pytest.mark.parametrize(("names", "kind"), [({}, "planes"), (TIANSHOU, "grid"), (RLLIB, "flat")])
def test_the_observation_has_the_mask_under_the_chosen_name_and_dtype(names, kind):
    env = MaskInObservation(gym.make(ID, observation=kind), **names)
    observation_key, mask_key = keys_of(names)
    dtype, plain = np.dtype(names.get("dtype", "int8")), gym.make(ID, observation=kind)
    mask_space = Box(0, 1, (9,), dtype.type)
    assert env.observation_space == Dict(
        {observation_key: plain.observation_space, mask_key: mask_space}
    )
    rng, ended = np.random.default_rng(0), True
    for step in range(30):
        if ended:
            seen, info = env.reset(seed=step)
            expected, _ = plain.reset(seed=step)
            ended = False
        else:
            action = int(legal_actions([info["action_mask"]], rng)[0])
            seen, reward, ended, _, info = env.step(action)
            expected, expected_reward, *_ = plain.step(action)
            assert reward == expected_reward
        assert seen[mask_key].dtype == dtype
        assert env.observation_space.contains(seen)
        assert np.array_equal(seen[observation_key], expected)
        assert seen[mask_key].tolist() == info["action_mask"].tolist()
        masks = env.get_wrapper_attr("action_masks")()
        assert (masks.dtype, masks.tolist()) == (bool, seen[mask_key].astype(bool).tolist())


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
    seen, _ = env.reset(seed=0)
    before = env.action_masks().tolist()
    seen["action_mask"][:] = 0
    env.action_masks()[:] = False
    assert env.action_masks().tolist() == before


def test_the_spec_survives_json_with_the_names_and_the_dtype():
    env = MaskInObservation(gym.make(ID, side="O"), **{**TIANSHOU, "dtype": np.bool_})
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert type(again) is MaskInObservation
    assert again.spec == env.spec
    assert again.observation_space == env.observation_space
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


class Continuous(Countdown):
    action_space = Box(0, 1, (2,))


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
    if TooLong in env_classes:
        with refuses("(2,)", "(3,)"):
            MaskInObservation(TooLong()).reset()


# --- many environments ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "mode"), [*product(("native", "sync"), MODES), ("async", AutoresetMode.SAME_STEP)]
)
def test_vector_observations_have_the_masks_in_every_autoreset_mode(kind, mode):
    plain, env = vector(kind, mode), VectorMaskInObservation(vector(kind, mode), **TIANSHOU)
    observation_key, mask_key = keys_of(TIANSHOU)
    (seen, infos), (expected, expected_infos) = env.reset(seed=5), plain.reset(seed=5)
    rng, games_ended = np.random.default_rng(0), 0
    for _ in range(20):
        assert env.observation_space.contains(seen)
        assert np.array_equal(seen[observation_key], expected)
        assert np.array_equal(seen[mask_key], expected_infos["action_mask"])
        assert np.array_equal(env.action_masks(), seen[mask_key])
        actions = legal_actions(seen[mask_key], rng)
        seen, rewards, ended, _, infos = env.step(actions)
        expected, expected_rewards, _, _, expected_infos = plain.step(actions)
        assert np.array_equal(rewards, expected_rewards)
        assert ("final_obs" in infos) == (mode is AutoresetMode.SAME_STEP and ended.any())
        if "final_obs" in infos:
            assert [row is not None for row in infos["final_obs"]] == ended.tolist()
            for game in np.flatnonzero(ended):
                final = infos["final_obs"][game]
                assert env.single_observation_space.contains(final)
                assert np.array_equal(final[observation_key], expected_infos["final_obs"][game])
                final_mask = expected_infos["final_info"]["action_mask"][game]
                assert np.array_equal(final[mask_key], final_mask)
        games_ended += ended.sum()
        if mode is AutoresetMode.DISABLED and ended.any():
            before = seen[mask_key]
            seen, infos = env.reset(options={"reset_mask": ended})
            expected, expected_infos = plain.reset(options={"reset_mask": ended})
            assert np.array_equal(seen[mask_key][~ended], before[~ended])
            masks = np.where(ended[:, None], expected_infos["action_mask"], before)
            expected_infos = {"action_mask": masks}
    assert games_ended > 8
    env.close()
    plain.close()
