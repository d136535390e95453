"""Gymnasium itself: its wrappers, checkers, videos, specs and vector environments."""

from functools import partial
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces, wrappers
from gymnasium.utils import performance
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector
from moviepy import VideoFileClip
from PIL import Image

from tictactoe_env.wrappers import MaskInObservation, VectorMaskInObservation

ID, ALIAS = "tictactoe_env/TicTacToe-v0", "TicTacToe-v0"
MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]
INFO = {"action_mask", "side", "outcome", "illegal_move"}
PIXELS = {"render_mode": "rgb_array"}


def pixels(env):
    return wrappers.AddRenderObservation(env, render_only=True)


def stretch(observation):
    return 10 * observation - 5


STRETCHED = spaces.Box(-5, 5, (18,), np.float32)


def fast(env):
    """Without the pause of half a second after each picture."""
    env.unwrapped.metadata = {**env.unwrapped.metadata, "render_fps": 10_000}
    return env


# --- wrappers of one environment --------------------------------------------------------------

# What a wrapper is called with, the arguments of the environment, the shape of an observation.
SINGLE = {
    "AddRenderObservation": (pixels, PIXELS, (360, 360, 3)),
    "AddWhiteNoise": (lambda env: wrappers.AddWhiteNoise(env, 0.5), PIXELS, (18,)),
    "ArrayConversion": (lambda env: wrappers.ArrayConversion(env, np, torch), {}, (18,)),
    "Autoreset": (wrappers.Autoreset, {}, (18,)),
    "ClipReward": (lambda env: wrappers.ClipReward(env, -0.5, 0.5), {}, (18,)),
    "DelayObservation": (lambda env: wrappers.DelayObservation(env, 1), {}, (18,)),
    "DiscretizeObservation": (
        lambda env: wrappers.DiscretizeObservation(env, bins=2, multidiscrete=True),
        {},
        (18,),
    ),
    "DtypeObservation": (lambda env: wrappers.DtypeObservation(env, np.int8), {}, (18,)),
    "FilterObservation": (
        lambda env: wrappers.FilterObservation(MaskInObservation(env), ["action_mask"]),
        {},
        {"action_mask": (9,)},
    ),
    "FlattenObservation": (wrappers.FlattenObservation, {"observation": "planes"}, (18,)),
    "FrameStackObservation": (
        lambda env: wrappers.FrameStackObservation(env, 3),
        {},
        (3, 18),
    ),
    "GrayscaleObservation": (
        lambda env: wrappers.GrayscaleObservation(pixels(env)),
        PIXELS,
        (360, 360),
    ),
    "HumanRendering": (lambda env: wrappers.HumanRendering(fast(env)), PIXELS, (18,)),
    "MaxAndSkipObservation": (
        lambda env: wrappers.MaxAndSkipObservation(env, skip=2),
        {},
        (18,),
    ),
    "NormalizeObservation": (wrappers.NormalizeObservation, {}, (18,)),
    "NormalizeReward": (wrappers.NormalizeReward, {}, (18,)),
    "NumpyToTorch": (lambda env: wrappers.NumpyToTorch(env), {}, (18,)),
    "ObstructView": (lambda env: wrappers.ObstructView(env, 0.5, 20), PIXELS, (18,)),
    "OrderEnforcing": (wrappers.OrderEnforcing, {}, (18,)),
    "PassiveEnvChecker": (wrappers.PassiveEnvChecker, {}, (18,)),
    "RecordEpisodeStatistics": (wrappers.RecordEpisodeStatistics, {}, (18,)),
    "RecordVideo": (
        lambda env: wrappers.RecordVideo(env, "videos", episode_trigger=lambda game: game == 0),
        PIXELS,
        (18,),
    ),
    "RenderCollection": (wrappers.RenderCollection, PIXELS, (18,)),
    "RepeatAction": (lambda env: wrappers.RepeatAction(env, 1), {}, (18,)),
    "RescaleObservation": (
        lambda env: wrappers.RescaleObservation(env, np.float32(-1), np.float32(1)),
        {},
        (18,),
    ),
    "ReshapeObservation": (lambda env: wrappers.ReshapeObservation(env, (2, 9)), {}, (2, 9)),
    "ResizeObservation": (
        lambda env: wrappers.ResizeObservation(pixels(env), (64, 64)),
        PIXELS,
        (64, 64, 3),
    ),
    "StickyAction": (lambda env: wrappers.StickyAction(env, 0.3), {}, (18,)),
    "TimeAwareObservation": (
        lambda env: wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 9), flatten=True),
        {},
        (19,),
    ),
    "TimeLimit": (lambda env: wrappers.TimeLimit(env, 2), {}, (18,)),
    "TransformAction": (
        lambda env: wrappers.TransformAction(env, lambda cell: 8 - cell, env.action_space),
        {},
        (18,),
    ),
    "TransformObservation": (
        lambda env: wrappers.TransformObservation(env, stretch, STRETCHED),
        {},
        (18,),
    ),
    "TransformReward": (lambda env: wrappers.TransformReward(env, lambda r: 2 * r), {}, (18,)),
}
NOT_FOR_US = {
    "AtariPreprocessing": "needs an Atari game",
    **dict.fromkeys(("ClipAction", "DiscretizeAction", "RescaleAction"), "need Box actions"),
    **dict.fromkeys(("JaxToNumpy", "JaxToTorch"), "need an environment in JAX"),
    "vector": "a module",
}


def shapes(value):
    """The shape of an observation, of each part of one that is a dictionary."""
    if isinstance(value, dict):
        return {key: shapes(part) for key, part in value.items()}
    return tuple(value.shape)


def test_every_wrapper_of_gymnasium_is_tried_or_cannot_apply():
    assert set(wrappers.__all__) <= set(SINGLE) | set(NOT_FOR_US)
    assert set(vector.__all__) <= set(VECTOR) | set(VECTOR_NOT_FOR_US)


@pytest.mark.parametrize("name", sorted(SINGLE))
@pytest.mark.filterwarnings("error", "ignore:.*(Overwriting existing videos|render_fps)")
def test_a_wrapper_of_gymnasium_plays_whole_games(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    wrap, arguments, shape = SINGLE[name]
    env = wrap(gym.make(ID, **arguments))
    is_torch = name in ("ArrayConversion", "NumpyToTorch")
    rng, ended, games = np.random.default_rng(0), True, 0
    for _ in range(40):
        if ended:
            observation, info = env.reset(seed=games)
            ended, games = False, games + 1
        else:
            cell = int(rng.choice(np.flatnonzero(np.asarray(info["action_mask"]))))
            if name == "TransformAction":
                cell = 8 - cell
            observation, _, terminated, truncated, info = env.step(
                torch.tensor(cell) if is_torch else cell
            )
            ended = bool(terminated or truncated)
        assert set(info) >= INFO
        assert shapes(observation) == shape
        assert is_torch == isinstance(observation, torch.Tensor)
        assert is_torch or env.observation_space.contains(observation)
        assert env.get_wrapper_attr("action_masks")().shape == (9,)
    assert games > 3
    env.close()


# --- wrappers of vector environments ----------------------------------------------------------

# The rule of Gymnasium: vector wrappers of observations do not support SAME_STEP.
OBSERVING = {
    "DtypeObservation": (lambda env: vector.DtypeObservation(env, np.int8), (18,)),
    "FlattenObservation": (
        lambda env: vector.FlattenObservation(vector.ReshapeObservation(env, (2, 9))),
        (18,),
    ),
    "NormalizeObservation": (vector.NormalizeObservation, (18,)),
    "RescaleObservation": (
        lambda env: vector.RescaleObservation(env, np.float32(-1), np.float32(1)),
        (18,),
    ),
    "ReshapeObservation": (lambda env: vector.ReshapeObservation(env, (2, 9)), (2, 9)),
    "TransformObservation": (
        lambda env: vector.TransformObservation(env, stretch, single_observation_space=STRETCHED),
        (18,),
    ),
    "VectorizeTransformObservation": (
        lambda env: vector.VectorizeTransformObservation(
            env, wrappers.ReshapeObservation, shape=(3, 6)
        ),
        (3, 6),
    ),
    "FilterObservation": (
        lambda env: vector.FilterObservation(VectorMaskInObservation(env), ["action_mask"]),
        {"action_mask": (9,)},
    ),
}
OTHERS = {
    "ArrayConversion": lambda env: vector.ArrayConversion(env, np, torch),
    "ClipReward": lambda env: vector.ClipReward(env, -0.5, 0.5),
    "DictInfoToList": vector.DictInfoToList,
    "HumanRendering": lambda env: vector.HumanRendering(fast(env)),
    "NormalizeReward": vector.NormalizeReward,
    "NumpyToTorch": lambda env: vector.NumpyToTorch(env),
    "RecordEpisodeStatistics": vector.RecordEpisodeStatistics,
    "RecordVideo": lambda env: vector.RecordVideo(
        env, "videos", step_trigger=lambda step: step == 0, video_length=5
    ),
    "TransformAction": lambda env: vector.TransformAction(env, lambda cells: 8 - cells),
    "TransformReward": lambda env: vector.TransformReward(env, lambda rewards: 2 * rewards),
    "VectorizeTransformAction": lambda env: vector.VectorizeTransformAction(
        env,
        wrappers.TransformAction,
        func=lambda cell: 8 - cell,
        action_space=spaces.Discrete(9),
    ),
    "VectorizeTransformReward": lambda env: vector.VectorizeTransformReward(
        env, wrappers.TransformReward, func=lambda reward: 2 * reward
    ),
}
PICTURES = {  # they need pictures, which the single environments can give
    "GrayscaleObservation": (vector.GrayscaleObservation, (360, 360)),
    "ResizeObservation": (lambda env: vector.ResizeObservation(env, (32, 32)), (32, 32, 3)),
}
VECTOR = {**OBSERVING, **OTHERS, **PICTURES}
VECTOR_NOT_FOR_US = {name: NOT_FOR_US.get(name) for name in NOT_FOR_US if name in vector.__all__}


def vector_env(kind, mode, count=3, **arguments):
    if kind == "native":
        return gym.make_vec(ID, count, autoreset_mode=mode.name, **arguments)
    makers = [partial(gym.make, ID, **arguments)] * count
    return {"sync": SyncVectorEnv, "async": AsyncVectorEnv}[kind](makers, autoreset_mode=mode)


def masks_of(infos):
    """The masks (num_envs, 9), from infos as a dictionary or as a list of dictionaries."""
    if isinstance(infos, list):  # empty dictionaries for games that a reset has left alone
        return np.stack([info.get("action_mask", np.zeros(9)) for info in infos])
    return np.asarray(infos["action_mask"])


def as_lists(value):
    """Nested dictionaries and arrays as lists, to be compared."""
    if isinstance(value, dict):
        return sorted((key, as_lists(part)) for key, part in value.items())
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [as_lists(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def play_vector(env, mode, steps=25, flip=False, is_torch=False):
    """Plays random legal moves; returns the last observations, rewards and all infos."""
    rng, trail = np.random.default_rng(0), []
    observations, infos = env.reset(seed=0)
    masks, all_rewards = masks_of(infos), []
    for _ in range(steps):
        cells = (rng.random(masks.shape) * masks).argmax(axis=1)
        cells = 8 - cells if flip else cells
        observations, rewards, ended, _, infos = env.step(
            torch.as_tensor(cells) if is_torch else cells
        )
        trail.append(infos)
        all_rewards.append(np.asarray(rewards))
        masks, ended = masks_of(infos).copy(), np.asarray(ended)
        if mode is AutoresetMode.DISABLED and ended.any():
            chosen = torch.as_tensor(ended) if is_torch else ended
            observations, infos = env.reset(options={"reset_mask": chosen})
            masks[ended] = masks_of(infos)[ended]
    return observations, np.array(all_rewards), trail


@pytest.mark.parametrize("name", sorted(OBSERVING))
@pytest.mark.parametrize(("kind", "mode"), list(product(("native", "sync"), MODES)))
@pytest.mark.filterwarnings("error")
def test_a_vector_wrapper_of_observations_works_in_the_modes_that_gymnasium_allows(
    name, kind, mode
):
    wrap, shape = OBSERVING[name]
    env = vector_env(kind, mode)
    allowed = MODES[:1] if name == "NormalizeObservation" else MODES[::2]
    if mode not in allowed:
        with pytest.raises(ValueError, match=r"Expected .*autoreset_mode.*NEXT_STEP"):
            wrap(env)
        return
    env = wrap(env)
    observations, _, trail = play_vector(env, mode)
    assert env.observation_space.contains(observations)
    assert shapes(observations) == shapes(env.observation_space.sample())
    single = shapes(env.single_observation_space.sample())
    assert single == shape
    assert all(set(infos) >= INFO for infos in trail)


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_a_vector_wrapper_of_pictures_works_on_single_environments_that_give_pictures(name):
    wrap, shape = PICTURES[name]
    env = gym.make_vec(ID, 2, vectorization_mode="sync", wrappers=[pixels], **PIXELS)
    env = wrap(env)
    observations, *_ = play_vector(env, AutoresetMode.NEXT_STEP, steps=4)
    assert observations.shape == (2, *shape)


@pytest.mark.parametrize("name", sorted(OTHERS))
@pytest.mark.parametrize(("kind", "mode"), list(product(("native", "sync"), MODES)))
@pytest.mark.filterwarnings(
    "error", "ignore:.*(Overwriting|Unable to save last video|the last frame)"
)
def test_another_vector_wrapper_works_in_all_modes(name, kind, mode, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    is_torch = name in ("NumpyToTorch", "ArrayConversion")
    if is_torch and kind == "sync" and mode is AutoresetMode.SAME_STEP:
        pytest.skip("final_obs of Gymnasium's own vector environments holds objects, not numbers")
    arguments = PIXELS if name in ("HumanRendering", "RecordVideo") else {}
    env = OTHERS[name](vector_env(kind, mode, **arguments))
    flip = name in ("TransformAction", "VectorizeTransformAction")
    observations, rewards, trail = play_vector(env, mode, flip=flip, is_torch=is_torch)
    plain_env = vector_env(kind, mode, **arguments)
    plain, plain_rewards, _ = play_vector(plain_env, mode)
    assert np.array_equal(np.asarray(observations), plain)
    factor = {"ClipReward": 0.5, "TransformReward": 2, "VectorizeTransformReward": 2}.get(name, 1)
    if name != "NormalizeReward":
        assert np.array_equal(rewards, factor * plain_rewards)
    assert rewards.any()
    if name == "DictInfoToList":
        assert all(set(info) >= INFO for infos in trail for info in infos)
    else:
        assert all(set(infos) >= INFO for infos in trail)
    if is_torch:
        assert all(isinstance(infos[key], torch.Tensor) for infos in trail for key in INFO)
    if name == "RecordEpisodeStatistics":
        assert any("episode" in infos for infos in trail)
    env.close()


@pytest.mark.parametrize("kind", ["native", "sync"])
def test_observations_with_masks_become_tensors(kind):
    mode = AutoresetMode.NEXT_STEP
    env = vector.NumpyToTorch(VectorMaskInObservation(vector_env(kind, mode), dtype="bool"))
    observations, _, trail = play_vector(env, mode, is_torch=True)
    assert shapes(observations) == {"observation": (3, 18), "action_mask": (3, 9)}
    assert observations["action_mask"].dtype == torch.bool
    assert torch.equal(observations["action_mask"], trail[-1]["action_mask"].bool())


# --- pictures and videos ------------------------------------------------------------------------


def play_game(env, seed=0):
    """One game of random legal moves: its number of steps."""
    _, info = env.reset(seed=seed)
    rng, ended, steps = np.random.default_rng(seed), False, 0
    while not ended:
        *_, ended, _, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        steps += 1
    return steps


def check_video(path, frames):
    clip = VideoFileClip(str(path))
    assert clip.size == [360, 360]
    assert clip.fps == 2, "the speed of the environment's metadata"
    assert clip.n_frames == frames
    clip.close()


def test_record_video_writes_every_board_of_a_game(tmp_path):
    env = wrappers.RecordVideo(gym.make(ID, **PIXELS), str(tmp_path / "game"))
    steps = play_game(env)
    env.close()
    check_video(tmp_path / "game" / "rl-video-episode-0.mp4", steps + 1)


@pytest.mark.filterwarnings("error")
def test_a_person_can_play_in_gymnasiums_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    import pygame
    from gymnasium.utils.play import play

    pygame.init()
    frames = [None]  # what happens on the keyboard at each picture
    for key in "sdf":
        frames += [(pygame.KEYDOWN, {"key": ord(key)}), (pygame.KEYUP, {"key": ord(key)})]
    frames.append((pygame.QUIT, {}))

    class Keyboard(gym.Wrapper):
        def render(self):
            if frames and (event := frames.pop(0)):
                pygame.event.post(pygame.event.Event(event[0], event[1]))
            return self.env.render()

    steps = []
    env = Keyboard(gym.make(ID, side="X", opponent="minimax-first", **PIXELS))
    keys = {key: cell for cell, key in enumerate("qweasdzxc")} | {"f": 8}
    play(
        env,
        keys_to_action=keys,
        wait_on_player=True,
        fps=100,
        callback=lambda *step: steps.append(step),
    )
    assert [step[2] for step in steps] == [4, 5, 8]
    assert not any(step[-1]["illegal_move"] for step in steps)


# --- specs, checkers, tools ---------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["vector_entry_point", "sync", "async"])
def test_make_vec_plays_in_its_three_vectorization_modes(mode):
    env = gym.make_vec(ID, num_envs=4, vectorization_mode=mode)
    observations, infos = env.reset(seed=2)
    assert observations.shape == (4, 18)
    assert set(infos) >= INFO
    first = play_vector(env, env.metadata["autoreset_mode"])
    again = play_vector(env, env.metadata["autoreset_mode"])
    assert data_equivalence(first, again), "the same seed gives the same games"
    env.close()


@pytest.mark.parametrize("mode", MODES)
def test_async_and_sync_play_the_same_games(mode):
    envs = [vector_env(kind, mode, opponent="minimax-slip=0.5") for kind in ("sync", "async")]
    sync, parallel = (play_vector(env, mode) for env in envs)
    assert data_equivalence(sync[:2], parallel[:2])
    assert as_lists(np.array(sync[2])) == as_lists(np.array(parallel[2]))
    for env in envs:
        assert np.array(env.call("action_masks")).shape == (3, 9)
        env.close()


def test_gymnasiums_benchmarks_run():
    env = gym.make(ID, **PIXELS)
    assert performance.benchmark_step(env, target_duration=0.05, seed=0) > 0
    assert performance.benchmark_init(partial(gym.make, ID), target_duration=0.05, seed=0) > 0
    env.reset()  # it does not reset by itself
    assert performance.benchmark_render(env, target_duration=0.05) > 0
    for mode in MODES:
        assert performance.benchmark_vector_step(vector_env("native", mode), 0.05, seed=0) > 0


def test_the_example_learns_evaluates_exactly_and_saves_a_game(run_example, rates_of, tmp_path):
    assert rates_of(run_example("gymnasium_q_learning.py", 60_000)).keys() == {"X", "O"}
    with Image.open(tmp_path / "game.gif") as picture:
        assert picture.size == (360, 360)
        assert 4 <= picture.n_frames <= 6  # the start and three to five moves of one side
