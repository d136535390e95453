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


def legal_actions(masks, rng):
    return np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])


def vector(kind, mode, count=3, wrap=lambda env: env, env_class=None):
    """A vector environment of our own class, or single environments in Gymnasium's."""

    def make():
        return wrap(
            env_class() if env_class else gym.make(f"tictactoe_env:{ID}", opponent="random")
        )

    if kind == "native":
        return gym.make_vec(ID, count, opponent="random", autoreset_mode=mode.name)
    return {"sync": SyncVectorEnv, "async": AsyncVectorEnv}[kind](
        [make] * count, autoreset_mode=mode
    )


# --- one environment ------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [{}, TIANSHOU, RLLIB, {"dtype": np.float32}])
@pytest.mark.parametrize("kind", ["planes", "grid", "flat"])
def test_the_observation_has_the_mask_under_the_chosen_name_and_dtype(names, kind):
    env = MaskInObservation(gym.make(ID, observation=kind), **names)
    observation_key, mask_key = (
        names.get("observation", "observation"),
        names.get("mask", "action_mask"),
    )
    dtype, plain = np.dtype(names.get("dtype", "int8")), gym.make(ID, observation=kind)
    mask_space = Box(0, 1, (9,), dtype.type)
    assert env.observation_space == Dict(
        {observation_key: plain.observation_space, mask_key: mask_space}
    )
    rng, ended = np.random.default_rng(0), True
    for step in range(60):
        if ended:
            seen, info = env.reset(seed=step)
            expected, _ = plain.reset(seed=step)
            ended = False
        else:
            action = int(legal_actions([info["action_mask"]], rng)[0])
            seen, reward, ended, _, info = env.step(action)
            expected, expected_reward, *_ = plain.step(action)
            assert reward == expected_reward
        assert set(seen) == {observation_key, mask_key}
        assert seen[mask_key].dtype == dtype
        assert env.observation_space.contains(seen)
        assert np.array_equal(seen[observation_key], expected)
        assert seen[mask_key].tolist() == info["action_mask"].tolist()
        assert not np.shares_memory(seen[mask_key], info["action_mask"])
        for masks in (env.action_masks(), env.get_wrapper_attr("action_masks")()):
            assert masks.dtype == bool
            assert masks.tolist() == seen[mask_key].astype(bool).tolist()


@pytest.mark.parametrize("names", [{}, TIANSHOU, RLLIB])
@pytest.mark.parametrize("env_class", [None, Countdown, Asked])
def test_gymnasiums_checker_passes(names, env_class):
    env = env_class() if env_class else gym.make(ID).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version")
        check_env(MaskInObservation(env, **names), skip_render_check=True)


@pytest.mark.parametrize("env_class", [Countdown, Asked])
def test_other_environments_give_their_mask_by_info_or_by_a_method(env_class):
    env = MaskInObservation(env_class(), **TIANSHOU)
    seen, _ = env.reset()
    assert (seen["obs"], seen["mask"].tolist()) == (7, [True, True])
    seen, *_ = env.step(6)
    assert (seen["obs"], seen["mask"].tolist()) == (1, [False, False])


@pytest.mark.parametrize("is_vector", [False, True])
def test_the_mask_that_was_handed_out_may_be_changed(is_vector):
    if is_vector:
        env = VectorMaskInObservation(gym.make_vec(ID, 2))
    else:
        env = MaskInObservation(gym.make(ID))
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
    ("arguments", "message"),
    [
        ({"observation": "mask", "mask": "mask"}, "must have different keys, got 'mask' for both"),
        ({"observation": ""}, "observation must be a key of the observation, a text, got ''"),
        ({"mask": 3}, "mask must be a key of the observation, a text, got 3"),
        ({"dtype": "int64"}, "dtype must be one of int8, bool, float32, got 'int64'"),
        ({"dtype": "boolean"}, "dtype must be one of int8, bool, float32, got 'boolean'"),
        ({"dtype": None}, "dtype must be one of int8, bool, float32, got None"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MaskInObservation(gym.make(ID), **arguments)
    with pytest.raises(ValueError, match=message):
        VectorMaskInObservation(gym.make_vec(ID, 2), **arguments)


def test_an_environment_that_is_not_discrete_or_gives_no_masks_is_refused():
    class Continuous(Countdown):
        action_space = Box(0, 1, (2,))

    with pytest.raises(ValueError, match=r"needs the action space Discrete\(n\), got Box"):
        MaskInObservation(Continuous())
    with pytest.raises(ValueError, match=r"needs the action space Discrete\(n\), got Box"):
        VectorMaskInObservation(SyncVectorEnv([Continuous]))
    with pytest.raises(
        ValueError, match=r'gives no masks: expected info\["action_mask"\] on every'
    ):
        MaskInObservation(Silent()).reset()
    with pytest.raises(ValueError, match=r"must have the shape \(2,\), got \(3,\)"):
        MaskInObservation(TooLong()).reset()
    with pytest.raises(ValueError, match=r"must have the shape \(4, 2\), got \(4, 3\)"):
        VectorMaskInObservation(SyncVectorEnv([TooLong] * 4)).reset()
    with pytest.raises(ResetNeeded, match="no mask before reset"):
        MaskInObservation(gym.make(ID)).action_masks()
    with pytest.raises(ResetNeeded, match="no masks before reset"):
        VectorMaskInObservation(gym.make_vec(ID, 2)).action_masks()


# --- many environments ----------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "mode"), list(product(("native", "sync", "async"), MODES)))
@pytest.mark.parametrize("names", [{}, TIANSHOU])
def test_vector_observations_have_the_masks_in_every_autoreset_mode(kind, mode, names):
    plain, env = vector(kind, mode), VectorMaskInObservation(vector(kind, mode), **names)
    observation_key, mask_key = (
        names.get("observation", "observation"),
        names.get("mask", "action_mask"),
    )
    (seen, infos), (expected, expected_infos) = env.reset(seed=5), plain.reset(seed=5)
    rng, games_ended = np.random.default_rng(0), 0
    for _ in range(30):
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
    assert games_ended > 15
    env.close()
    plain.close()


@pytest.mark.parametrize(("kind", "mode"), list(product(("sync", "async"), MODES[:2])))
@pytest.mark.parametrize("env_class", [None, Countdown])
def test_wrapping_the_vector_or_the_single_environments_is_the_same(kind, mode, env_class):
    outside = VectorMaskInObservation(vector(kind, mode, env_class=env_class), **RLLIB)

    def wrap(env):
        return MaskInObservation(env, **RLLIB)

    inside = vector(kind, mode, env_class=env_class, wrap=wrap)
    assert outside.single_observation_space == inside.single_observation_space
    assert outside.observation_space == inside.observation_space
    (seen, _), (expected, _) = outside.reset(seed=1), inside.reset(seed=1)
    rng = np.random.default_rng(1)
    first = outside.single_action_space.start
    for _ in range(12):
        actions = legal_actions(seen["action_mask"], rng) + first
        assert repr(seen) == repr(expected)
        seen, *_, infos = outside.step(actions)
        expected, *_, expected_infos = inside.step(actions)
        assert repr(infos.get("final_obs")) == repr(expected_infos.get("final_obs"))
    outside.close()
    inside.close()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_masks_of_a_method_serve_vectors_that_do_not_start_games_at_once(kind):
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED):
        env = VectorMaskInObservation(vector(kind, mode, env_class=Asked))
        assert env.reset()[0]["action_mask"].tolist() == [[1, 1]] * 3
        assert env.step(np.array([5, 6, 5]))[0]["action_mask"].tolist() == [[0, 0]] * 3
        env.close()
    for env_class, message in (
        (
            Asked,
            "cannot tell the masks of finished games in SAME_STEP: take another autoreset mode",
        ),
        (Silent, "masks"),
    ):
        env = VectorMaskInObservation(vector(kind, AutoresetMode.SAME_STEP, env_class=env_class))
        with pytest.raises(ValueError, match=message):
            env.reset()
        env.close()


def test_a_vector_in_which_some_environments_give_no_masks_is_refused():
    env = VectorMaskInObservation(SyncVectorEnv([Countdown, Silent, Countdown, Silent]))
    with pytest.raises(ValueError, match=r"the games \[1, 3\] give no masks"):
        env.reset()
    env = VectorMaskInObservation(SyncVectorEnv([Silent]))
    with pytest.raises(ValueError, match="gives no masks"):
        env.reset()


def test_make_vec_wraps_the_single_environments():
    env = gym.make_vec(ID, 2, vectorization_mode="sync", wrappers=[MaskInObservation])
    assert env.reset(seed=0)[0]["action_mask"].shape == (2, 9)


def test_maskable_ppo_learns_on_dictionary_observations_with_the_masks_of_the_wrapper():
    pytest.importorskip("torch").set_num_threads(1)
    maskable_ppo = pytest.importorskip("sb3_contrib").MaskablePPO
    env = MaskInObservation(gym.make(ID, illegal="raise"))
    model = maskable_ppo("MultiInputPolicy", env, n_steps=64, batch_size=32, seed=0, device="cpu")
    model.learn(128)
    assert model.num_timesteps == 128
