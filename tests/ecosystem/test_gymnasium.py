"""Gymnasium itself: its wrappers, videos, window and vector environments."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import wrappers
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector
from moviepy import VideoFileClip
from PIL import Image

ID = "tictactoe_env:TicTacToe-v0"
NEXT_STEP, SAME_STEP, DISABLED = (
    AutoresetMode.NEXT_STEP,
    AutoresetMode.SAME_STEP,
    AutoresetMode.DISABLED,
)
INFO = {"action_mask", "side", "outcome", "illegal_move"}
PIXELS = {"render_mode": "rgb_array"}
RESCALED = {"min_obs": np.float32(-1), "max_obs": np.float32(1)}


def fast(env):
    """Without the pause of half a second after each picture."""
    env.unwrapped.metadata = {**env.unwrapped.metadata, "render_fps": 10_000}
    return env


@pytest.fixture(autouse=True)
def in_an_empty_folder_without_a_screen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


# --- wrappers of one environment --------------------------------------------------------------

SINGLE = {  # what each wrapper is called with
    "Autoreset": {},
    "ClipReward": {"min_reward": -0.5, "max_reward": 0.5},
    "DelayObservation": {"delay": 1},
    "DiscretizeObservation": {"bins": 2, "multidiscrete": True},
    "DtypeObservation": {"dtype": np.int8},
    "FlattenObservation": {},
    "FrameStackObservation": {"stack_size": 3},
    "NormalizeObservation": {},
    "NormalizeReward": {},
    "NumpyToTorch": {},
    "PassiveEnvChecker": {},
    "RecordEpisodeStatistics": {},
    "RescaleObservation": RESCALED,
    "ReshapeObservation": {"shape": (2, 9)},
    "StickyAction": {"repeat_action_probability": 0.3},
    "TimeLimit": {"max_episode_steps": 2},
}
DRAWING = {
    "AddRenderObservation": {},
    "HumanRendering": {},
    "ObstructView": {"obstructed_pixels_ratio": 0.5, "obstruction_width": 20},
    "RenderCollection": {},
}


@pytest.mark.parametrize("name", [*SINGLE, *DRAWING])
@pytest.mark.filterwarnings("error", "ignore:.*render_fps")
def test_a_wrapper_of_gymnasium_plays_whole_games(name):
    is_drawn, is_torch = name in DRAWING, name == "NumpyToTorch"
    env = fast(gym.make(ID, **PIXELS if is_drawn else {}))
    env = getattr(wrappers, name)(env, **(SINGLE | DRAWING)[name])
    rng, ended, games = np.random.default_rng(0), True, 0
    for _ in range(40):
        if ended:
            observation, info = env.reset(seed=games)
            ended, games = False, games + 1
        else:
            cell = int(rng.choice(np.flatnonzero(np.asarray(info["action_mask"]))))
            step = env.step(torch.tensor(cell) if is_torch else cell)
            observation, _, terminated, truncated, info = step
            ended = bool(terminated or truncated)
        assert set(info) >= INFO
        assert is_torch or env.observation_space.contains(observation)
        assert env.get_wrapper_attr("action_masks")().shape == (9,)
    assert games > 3
    env.close()


# --- wrappers of vector environments ----------------------------------------------------------

# The rule of Gymnasium: vector wrappers of observations do not support SAME_STEP.
OBSERVING = {
    "DtypeObservation": {"dtype": np.int8},
    "FlattenObservation": {},
    "RescaleObservation": RESCALED,
    "ReshapeObservation": {"shape": (2, 9)},
    "VectorizeTransformObservation": {"wrapper": wrappers.ReshapeObservation, "shape": (3, 6)},
}
OTHERS = {
    "ClipReward": {"min_reward": -0.5, "max_reward": 0.5},
    "DictInfoToList": {},
    "HumanRendering": {},
    "NumpyToTorch": {},
    "RecordEpisodeStatistics": {},
    "RecordVideo": {
        "video_folder": "videos",
        "step_trigger": lambda step: step == 0,
        "video_length": 5,
    },
}


def native(mode, **arguments):
    return gym.make_vec(ID, 3, autoreset_mode=mode.name, **arguments)


def masks_of(infos):
    """The masks (num_envs, 9), from infos as a dictionary or as a list of dictionaries."""
    if isinstance(infos, list):  # empty dictionaries for games that a reset has left alone
        return np.stack([info.get("action_mask", np.zeros(9)) for info in infos])
    return np.asarray(infos["action_mask"])


def play_vector(env, mode, is_torch=False):
    """Plays random legal moves; returns the last observations, and the rewards."""
    rng, all_rewards = np.random.default_rng(0), []
    observations, infos = env.reset(seed=0)
    masks = masks_of(infos)
    for _ in range(25):
        cells = (rng.random(masks.shape) * masks).argmax(axis=1)
        cells = torch.as_tensor(cells) if is_torch else cells
        observations, rewards, ended, _, infos = env.step(cells)
        all_rewards.append(np.asarray(rewards))
        masks = masks_of(infos).copy()
        if mode is DISABLED and np.any(np.asarray(ended)):
            observations, infos = env.reset(options={"reset_mask": ended})
            masks[ended] = masks_of(infos)[ended]
    return observations, np.array(all_rewards)


@pytest.mark.parametrize("mode", [NEXT_STEP, DISABLED])
@pytest.mark.parametrize("name", OBSERVING)
@pytest.mark.filterwarnings("error")
def test_a_vector_wrapper_of_observations_works_in_the_modes_that_gymnasium_allows(name, mode):
    env = getattr(vector, name)(native(mode), **OBSERVING[name])
    observations, rewards = play_vector(env, mode)
    assert env.observation_space.contains(observations)
    assert np.array_equal(rewards, play_vector(native(mode), mode)[1])


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("error", "ignore:.*(Unable to save last video|the last frame)")
def test_another_vector_wrapper_works_in_all_modes(name, mode):
    is_drawn = name in ("HumanRendering", "RecordVideo")
    env = fast(native(mode, **PIXELS if is_drawn else {}))
    env = getattr(vector, name)(env, **OTHERS[name])
    observations, rewards = play_vector(env, mode, is_torch=name == "NumpyToTorch")
    plain, expected = play_vector(native(mode), mode)
    assert np.array_equal(np.asarray(observations), plain)
    assert np.array_equal(np.sign(rewards), np.sign(expected))
    env.close()


# --- videos, the window, the example -------------------------------------------------------------


def test_record_video_writes_every_board_of_a_game(tmp_path):
    env = wrappers.RecordVideo(gym.make(ID, side="X", **PIXELS), "game")
    env.reset()
    for cell in (4, 4):  # the second one is illegal and loses
        *_, ended, _, _ = env.step(cell)
    assert ended
    env.close()
    clip = VideoFileClip(str(tmp_path / "game" / "rl-video-episode-0.mp4"))
    assert (clip.size, clip.fps, clip.n_frames) == ([360, 360], 2, 3)
    clip.close()


def test_the_example_learns_evaluates_exactly_and_saves_a_game(run_example, rates_of, tmp_path):
    assert rates_of(run_example("gymnasium_q_learning.py", 60_000)).keys() == {"X", "O"}
    with Image.open(tmp_path / "game.gif") as picture:
        assert picture.size == (360, 360)
        assert 4 <= picture.n_frames <= 6  # the start and three to five moves of one side
