"""Minari records games, recovers their environment, and reads them back."""

import re

import gymnasium as gym
import minari
import numpy as np
import pytest

ID = "tictactoe_env:TicTacToe-v0"
INFO = {"action_mask": (9,), "side": (), "outcome": (), "illegal_move": ()}
POOL = [["random", 0.5], ["minimax-slip=0.5", 0.5]]
# Minari itself recommends more metadata than a test has.
pytestmark = pytest.mark.filterwarnings(
    "ignore:`(code_permalink|author|author_email|algorithm_name"
    "|description|eval_env)` is set to None"
)


@pytest.fixture(autouse=True)
def datasets(tmp_path, monkeypatch):
    """An empty folder of datasets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))


def recorded(games, seeds=True, **arguments):
    """A dataset of games with the first free cell as each move, read back from the disk."""
    env = gym.make(ID, **arguments)
    collector = minari.DataCollector(env, record_infos=True)
    for game in range(games):
        _, info = collector.reset(seed=game if seeds else None)
        terminated = False
        while not terminated:
            _, _, terminated, _, info = collector.step(int(info["action_mask"].argmax()))
    collector.create_dataset("tictactoe/test-v0")
    collector.close()
    return minari.load_dataset("tictactoe/test-v0")


def test_all_numbers_of_info_are_recorded_on_reset_and_on_every_step():
    dataset = recorded(20, opponent=POOL, observation="planes")
    assert dataset.total_episodes == 20
    outcomes = set()
    for episode in dataset:
        steps = len(episode.actions)
        assert episode.observations.shape[0] == steps + 1
        assert dataset.observation_space.contains(episode.observations[0])
        assert set(episode.infos) == set(INFO)
        for key, shape in INFO.items():
            assert episode.infos[key].shape == (steps + 1, *shape)
            assert episode.infos[key].dtype == np.int8
        assert set(episode.infos["side"].tolist()) in ({1}, {-1})
        assert not episode.infos["outcome"][:-1].any()
        assert episode.infos["outcome"][-1] == episode.rewards[-1]
        assert episode.terminations.tolist() == [False] * (steps - 1) + [True]
        assert not episode.truncations.any()
        legal = np.take_along_axis(episode.infos["action_mask"][:-1], episode.actions[:, None], 1)
        assert legal.all()
        outcomes.add(int(episode.infos["outcome"][-1]))
    assert {1, -1} <= outcomes


@pytest.mark.parametrize("seeds", [True, False], ids=["own seeds", "Minari's 64-bit seeds"])
def test_the_recovered_environment_plays_the_recorded_games_again(seeds):
    dataset = recorded(10, seeds, opponent=POOL, side="random", observation="grid")
    env = dataset.recover_environment()
    assert env.spec.kwargs == {"opponent": POOL, "side": "random", "observation": "grid"}
    metadata = dataset.storage.get_episode_metadata(dataset.episode_indices)
    for episode, about in zip(dataset, metadata, strict=True):
        observations = [env.reset(seed=int(about["seed"]))[0]]
        rewards = []
        for action in episode.actions:
            observation, reward, *_ = env.step(int(action))
            observations.append(observation)
            rewards.append(reward)
        np.testing.assert_array_equal(observations, episode.observations)
        np.testing.assert_array_equal(rewards, episode.rewards)


def test_the_example_proves_its_clone_unbeatable(run_example):
    printed = run_example("minari_dataset.py")
    assert "cannot be beaten" in printed
    assert "{'opponent': 'random', 'observation': 'grid'}" in printed
    games, mean, exact = re.search(r"(\d+) games, mean return (\S+), exact (\S+)", printed).groups()
    assert int(games) == 1500
    assert abs(float(mean) - float(exact)) < 0.04  # four standard errors
