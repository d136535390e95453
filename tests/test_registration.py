"""The environments as Gymnasium knows them: by id, through its wrappers, in a fresh process."""

import json
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from sample_players import CellPlayer

import tictactoe_env
from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv

ids = pytest.mark.parametrize("env_id", tictactoe_env.ENV_IDS)
ARGUMENTS = {
    "opponent": [["random", 1], ["minimax-slip=0.1", 2.5]],
    **{"side": "alternate", "rows": 3, "cols": 4, "k": 3, "illegal": "raise"},
    **{"rewards": {"win": 2, "draw": 0.5}, "observation": "grid", "opening": "b2"},
    **{"start": "empty", "early_draw": True, "render_mode": "ansi"},
}


@ids
def test_make_gives_the_environment_with_its_arguments_and_a_spec_that_survives_json(env_id):
    assert tictactoe_env.ENV_IDS == ("tictactoe_env/TicTacToe-v0", "TicTacToe-v0")
    env = gym.make(env_id, **ARGUMENTS)
    assert type(env) is TicTacToeEnv, "without wrappers, so action_masks and set_opponent are there"
    assert (env.observation_space.shape, env.action_space.n) == ((3, 4), 12)
    assert (env.render_mode, gym.make(env_id).spec.max_episode_steps) == ("ansi", None)
    text = env.spec.to_json()
    assert json.loads(text)["kwargs"] == ARGUMENTS
    again, rng = gym.make(EnvSpec.from_json(text)), np.random.default_rng(0)
    assert (again.spec, again.unwrapped.config) == (env.spec, env.unwrapped.config)
    for seed in range(5):
        results = env.reset(seed=seed)
        assert repr(results) == repr(again.reset(seed=seed))
        assert results[1]["side"] == 1
        terminated = False
        while not terminated:
            action = int(rng.choice(np.flatnonzero(env.action_masks())))
            results = env.step(action)
            terminated = results[2]
            assert repr(results) == repr(again.step(action))


@ids
def test_make_vec_gives_the_native_environment_with_its_arguments_or_stacks_single_ones(env_id):
    env = gym.make_vec(env_id, num_envs=5, **ARGUMENTS)
    assert isinstance(env.unwrapped, TicTacToeVectorEnv)
    assert (env.num_envs, env.observation_space.shape) == (5, (5, 3, 4))
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, infos = env.reset(seed=0)
    assert env.observation_space.contains(observations)
    assert infos["side"].tolist() == [1, -1, 1, -1, 1]
    modes = {mode: gym.make_vec(env_id, 2, autoreset_mode=mode.name) for mode in AutoresetMode}
    assert all(env.metadata["autoreset_mode"] is mode for mode, env in modes.items())
    flat = gym.wrappers.vector.FlattenObservation(modes[AutoresetMode.NEXT_STEP])
    assert flat.reset(seed=0)[0].shape == (2, 18)
    assert gym.wrappers.FlattenObservation(gym.make(env_id)).reset(seed=0)[0].shape == (18,)
    stacked = gym.make_vec(env_id, num_envs=3, vectorization_mode="sync", **ARGUMENTS)
    assert stacked.reset(seed=0)[0].shape == (3, 3, 4)


@ids
def test_an_id_with_the_module_needs_no_import(env_id):
    program = f"""
import sys, gymnasium as gym
assert "tictactoe_env" not in sys.modules
env = gym.make("tictactoe_env:{env_id}", opponent="minimax")
vec = gym.make_vec("tictactoe_env:{env_id}", num_envs=2)
print(env.reset(seed=0)[0].shape, vec.reset(seed=0)[0].shape)
assert not {{"torch", "pygame", "stable_baselines3"}} & set(sys.modules)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(2, 3, 3) (2, 2, 3, 3)\n"


def test_record_episode_statistics_counts_returns_and_lengths_of_games():
    games = gym.make_vec("TicTacToe-v0", 2, opponent=CellPlayer(6), autoreset_mode="NEXT_STEP")
    env = gym.wrappers.vector.RecordEpisodeStatistics(games)
    env.reset(options={"side": "X", "board": "XX./OO./..."})
    infos = [env.step(np.array(actions))[-1] for actions in ([8, 7], [2, 0])][-1]
    assert [infos["episode"][key].tolist() for key in "rl"] == [[1, -1], [2, 2]]


def test_human_rendering_opens_a_window_through_gymnasium(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with pytest.warns(UserWarning, match="HumanRendering wrapper is being applied"):
        env = gym.make("TicTacToe-v0", render_mode="human", opponent="minimax-first", side="X")
    env.reset(seed=0)
    env.step(4)
    assert env.unwrapped.render_mode == "rgb_array"
    assert env.screen_size == env.unwrapped.render().shape[1::-1]
    env.close()
