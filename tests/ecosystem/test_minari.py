"""Minari records games, recovers their environment, and reads them back."""

import re

import gymnasium as gym
import minari
import numpy as np
import pytest

from tictactoe_env import Rules
from tictactoe_env.exact import MinimaxPolicy

ID = "tictactoe_env:TicTacToe-v0"
MADE = {
    "opponent": [["random", 0.5], [MinimaxPolicy(Rules(), slip=0.5), 0.5]],
    "side": "random",
    "observation": "grid",
}


@pytest.mark.filterwarnings("ignore:`.*` is set to None")  # Minari recommends more metadata
@pytest.mark.parametrize("seeds", [range(10), [None] * 10], ids=["own seeds", "Minari's 64 bits"])
def test_recorded_games_have_all_of_info_and_are_played_again(seeds, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    collector = minari.DataCollector(gym.make(ID, **MADE), record_infos=True)
    for seed in seeds:
        _, info = collector.reset(seed=seed)
        terminated = False
        while not terminated:
            _, _, terminated, _, info = collector.step(int(info["action_mask"].argmax()))
    collector.create_dataset("tictactoe/test-v0")
    collector.close()
    dataset = minari.load_dataset("tictactoe/test-v0")
    env = dataset.recover_environment()
    by_name = [["random", 0.5], ["minimax-ties=random-slip=0.5", 0.5]]
    assert env.spec.kwargs == {**MADE, "opponent": by_name}
    metadata = dataset.storage.get_episode_metadata(dataset.episode_indices)
    for episode, about in zip(dataset, metadata, strict=True):
        seen, info = env.reset(seed=int(about["seed"]))
        played = [(seen, *info.values())]
        rewards = []
        for action in episode.actions:
            seen, reward, *_, info = env.step(int(action))
            played.append((seen, *info.values()))
            rewards.append(reward)
        assert set(episode.infos) == set(info)
        recorded = episode.observations, *(episode.infos[name] for name in info)
        for values, expected in zip(recorded, zip(*played, strict=True), strict=True):
            np.testing.assert_array_equal(values, expected)
            assert values.dtype == np.int8
        np.testing.assert_array_equal(rewards, episode.rewards)


def test_at_recording_a_warning_says_that_an_opponent_has_no_name():
    class Own(MinimaxPolicy):
        """Not a player of the package."""

    with pytest.warns(UserWarning, match="Own.*register_opponent"):
        minari.DataCollector(gym.make(ID, opponent=Own(Rules())))


def test_the_example_proves_its_clone_unbeatable(run_example):
    printed, _ = run_example("minari_dataset.py")
    assert "cannot be beaten" in printed
    assert "{'opponent': 'random', 'observation': 'grid'}" in printed
    games, mean, exact = re.search(r"(\d+) games, mean return (\S+), exact (\S+)", printed).groups()
    assert int(games) == 1500
    assert abs(float(mean) - float(exact)) < 0.04  # four standard errors
