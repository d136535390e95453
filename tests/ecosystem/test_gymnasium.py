"""Gymnasium itself: its wrappers, videos, window and vector environments."""

from itertools import product

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
INFO = {"action_mask", "side", "outcome", "illegal_move"}
RESCALED = {"min_obs": np.float32(-1), "max_obs": np.float32(1)}
SINGLE = {  # what each wrapper is called with
    "AddRenderObservation": {},
    "DelayObservation": {"delay": 1},
    "DiscretizeObservation": {"bins": 2, "multidiscrete": True},
    "FrameStackObservation": {"stack_size": 3},
    "HumanRendering": {},
    "NormalizeObservation": {},
    "NormalizeReward": {},
    "NumpyToTorch": {},
    "PassiveEnvChecker": {},
    "RecordEpisodeStatistics": {},
    "RescaleObservation": RESCALED,
    "TimeLimit": {"max_episode_steps": 2},
}
OBSERVING = {  # Gymnasium has none of these in the mode SAME_STEP
    "RescaleObservation": RESCALED,
    "VectorizeTransformObservation": {"wrapper": wrappers.ReshapeObservation, "shape": (3, 6)},
}
OTHERS = {
    "DictInfoToList": {},
    "HumanRendering": {},
    "NumpyToTorch": {},
    "RecordEpisodeStatistics": {},
}
MODES = list(AutoresetMode)
MANY = [*product(OTHERS, MODES), *product(OBSERVING, set(MODES) - {AutoresetMode.SAME_STEP})]


@pytest.fixture(autouse=True)
def in_an_empty_folder_without_a_screen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def fast(env):
    """Without the pause of half a second after each picture."""
    env.unwrapped.metadata = {**env.unwrapped.metadata, "render_fps": 10_000}
    return env


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.filterwarnings("error", "ignore:.*render_fps")
def test_a_wrapper_of_gymnasium_plays_whole_games(name):
    env = fast(gym.make(ID, render_mode="rgb_array"))
    env = getattr(wrappers, name)(env, **SINGLE[name])
    is_torch = name == "NumpyToTorch"
    for game in range(10):
        seen, info = env.reset(seed=game)
        ended = False
        while not ended:
            cell = int(np.asarray(info["action_mask"]).argmax())
            seen, _, terminated, truncated, info = env.step(
                torch.tensor(cell) if is_torch else cell
            )
            ended = terminated or truncated
            assert set(info) >= INFO
            assert is_torch or env.observation_space.contains(seen)
    env.close()


@pytest.mark.parametrize(("name", "mode"), MANY)
@pytest.mark.filterwarnings("error")
def test_a_vector_wrapper_of_gymnasium_plays_whole_games(name, mode):
    games = fast(gym.make_vec(ID, 3, autoreset_mode=mode.name, render_mode="rgb_array"))
    env = getattr(vector, name)(games, **(OBSERVING | OTHERS)[name])
    rng = np.random.default_rng(0)
    finished = 0
    env.reset(seed=0)
    for _ in range(25):
        masks = games.action_masks()
        cells = (rng.random(masks.shape) * masks).argmax(axis=1)
        cells = torch.as_tensor(cells) if name == "NumpyToTorch" else cells
        seen, _, ended, _, _ = env.step(cells)
        finished += int(ended.sum())
        if mode is AutoresetMode.DISABLED and ended.any():
            env.reset(options={"reset_mask": ended})
    assert env.observation_space.contains(np.asarray(seen))
    assert finished > 9
    env.close()


def test_record_video_writes_every_board_of_a_game(tmp_path):
    env = wrappers.RecordVideo(gym.make(ID, side="X", render_mode="rgb_array"), "game")
    env.reset()
    for cell in (4, 4):  # the second one is illegal and loses
        env.step(cell)
    env.close()
    with VideoFileClip(str(tmp_path / "game" / "rl-video-episode-0.mp4")) as clip:
        assert (clip.size, clip.fps, clip.n_frames) == ([360, 360], 2, 3)


def test_the_example_learns_evaluates_exactly_and_saves_a_game(run_example, tmp_path):
    assert run_example("gymnasium_q_learning.py", 60_000)[1].keys() == {"X", "O"}
    with Image.open(tmp_path / "game.gif") as picture:
        assert picture.size == (360, 360)
        assert 4 <= picture.n_frames <= 6  # the start and three to five moves of one side
