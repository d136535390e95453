"""The environments as Gymnasium knows them: by id, through its wrappers, in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from sample_players import CellPlayer, FixedPlayer

import tictactoe_env
from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv

ids = pytest.mark.parametrize("env_id", tictactoe_env.ENV_IDS)
ARGUMENTS = {
    "opponent": [["random", 1], ["minimax-slip=0.1", 2.5]],
    "side": "alternate",
    "rows": 3,
    "cols": 4,
    "k": 3,
    "illegal": "raise",
    "rewards": {"win": 2, "draw": 0.5},
    "observation": "grid",
    "opening": "b2",
    "start": "empty",
    "early_draw": True,
    "render_mode": "ansi",
}


def test_both_ids_are_registered():
    assert tictactoe_env.ENV_IDS == ("tictactoe_env/TicTacToe-v0", "TicTacToe-v0")
    assert set(tictactoe_env.ENV_IDS) <= set(gym.registry)


@ids
def test_make_gives_the_environment_with_its_arguments(env_id):
    env = gym.make(env_id, **ARGUMENTS)
    assert isinstance(env.unwrapped, TicTacToeEnv)
    assert env.observation_space.shape == (3, 4)
    assert env.action_space.n == 12
    assert env.render_mode == "ansi"
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert info["side"] == "X"
    assert gym.make(env_id).spec.max_episode_steps is None


@ids
def test_a_spec_survives_json(env_id):
    env = gym.make(env_id, **ARGUMENTS)
    text = env.spec.to_json()
    assert json.loads(text)["kwargs"] == ARGUMENTS
    again = gym.make(EnvSpec.from_json(text))
    assert again.spec == env.spec
    assert again.unwrapped.config == env.unwrapped.config
    rng = np.random.default_rng(0)
    for seed in range(5):
        first, second = env.reset(seed=seed), again.reset(seed=seed)
        assert repr(first) == repr(second)
        terminated = False
        while not terminated:
            action = int(rng.choice(np.flatnonzero(env.unwrapped.action_masks())))
            first, second = env.step(action), again.step(action)
            assert repr(first) == repr(second)
            terminated = first[2]


@ids
def test_make_vec_gives_the_native_environment_with_its_arguments(env_id):
    env = gym.make_vec(env_id, num_envs=5, **ARGUMENTS)
    assert isinstance(env.unwrapped, TicTacToeVectorEnv)
    assert env.num_envs == 5
    assert env.observation_space.shape == (5, 3, 4)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, infos = env.reset(seed=0)
    assert env.observation_space.contains(observations)
    assert infos["side"].tolist() == list("XOXOX")
    for mode in AutoresetMode:
        env = gym.make_vec(env_id, num_envs=2, autoreset_mode=mode.name)
        assert env.metadata["autoreset_mode"] is mode


@ids
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_single_environments_can_be_stacked_by_gymnasium(env_id, mode):
    env = gym.make_vec(
        env_id,
        num_envs=3,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        opponent="minimax-first",
        side="O",
    )
    native = gym.make_vec(
        env_id, num_envs=3, autoreset_mode=mode, opponent="minimax-first", side="O"
    )
    results = env.reset(seed=0), native.reset(seed=0)
    rng, ended = np.random.default_rng(0), 0
    for _ in range(30):
        assert np.array_equal(results[0][0], results[1][0])
        masks = np.array(results[0][-1]["action_mask"])
        assert np.array_equal(masks, results[1][-1]["action_mask"])
        actions = (masks * rng.random(masks.shape)).argmax(axis=1)
        results = env.step(actions), native.step(actions)
        for first, second in zip(results[0][:4], results[1][:4], strict=True):
            assert np.array_equal(first, second)
        over = results[0][2]
        ended += over.sum()
        if over.any() and mode is AutoresetMode.SAME_STEP:
            for key in ("action_mask", "side", "outcome", "illegal_move"):
                first, second = (result[4]["final_info"][key][over] for result in results)
                assert first.tolist() == second.tolist()
            assert np.array_equal(
                np.stack(results[0][4]["final_obs"][over]), results[1][4]["final_obs"][over]
            )
        elif over.any():
            assert (
                results[0][4]["outcome"][over].tolist() == results[1][4]["outcome"][over].tolist()
            )
            if mode is AutoresetMode.DISABLED:
                results = tuple(
                    made.reset(options={"reset_mask": over.copy()}) for made in (env, native)
                )
                masks = native.unwrapped.action_masks()
                results[0][1]["action_mask"] = results[1][1]["action_mask"] = masks
    assert ended > 5


@pytest.mark.parametrize(
    "env_id", ["tictactoe_env:TicTacToe-v0", "tictactoe_env:tictactoe_env/TicTacToe-v0"]
)
def test_an_id_with_the_module_needs_no_import(env_id):
    program = f"""
import sys, gymnasium as gym
assert "tictactoe_env" not in sys.modules
env = gym.make({env_id!r}, opponent="minimax")
env.reset(seed=0)
vec = gym.make_vec({env_id!r}, num_envs=2)
vec.reset(seed=0)
assert not {{"torch", "pygame", "stable_baselines3"}} & set(sys.modules)
print(env.unwrapped.board.size, vec.unwrapped.boards.shape)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["9", "(2,", "9)"]


@ids
def test_made_environments_refuse_bad_actions_and_steps_out_of_turn(env_id):
    env = gym.make(env_id, side="X")
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    for action in (-1, 9, True, 0.0, None, "4"):
        with pytest.raises(ValueError, match="an action must be a whole number"):
            env.step(action)
    env.reset(options={"board": "XX./OO./..."})
    env.step(2)
    with pytest.raises(ResetNeeded):
        env.step(5)


@ids
def test_action_masks_and_set_opponent_are_reached_through_the_wrappers(env_id):
    env = gym.make(env_id, side="X")
    env.reset(seed=0)
    assert env.get_wrapper_attr("action_masks")().all()
    env.get_wrapper_attr("set_opponent")(CellPlayer(8))
    env.step(0)
    assert env.unwrapped.board[8] == -1


# --- wrappers ---------------------------------------------------------------------------------------------------


def test_record_episode_statistics_counts_returns_and_lengths_of_single_games():
    env = gym.wrappers.RecordEpisodeStatistics(gym.make("TicTacToe-v0", opponent=CellPlayer(5)))
    env.reset(options={"side": "X", "board": "X../O../..."})
    env.step(1)
    *_, info = env.step(2)
    assert (info["outcome"], info["episode"]["r"], info["episode"]["l"]) == ("win", 1.0, 2)
    env.reset(options={"side": "X", "board": "X../OO./..X"})
    *_, info = env.step(1)
    assert (info["outcome"], info["episode"]["r"], info["episode"]["l"]) == ("loss", -1.0, 1)


# Gymnasium's own wrapper counts a game one step short in SAME_STEP before 1.4.0.
COUNTED = (
    ["SAME_STEP", "NEXT_STEP"]
    if tuple(map(int, gym.__version__.split(".")[:2])) >= (1, 4)
    else ["NEXT_STEP"]
)


@pytest.mark.parametrize("mode", COUNTED)
def test_record_episode_statistics_counts_returns_and_lengths_of_many_games(mode):
    env = gym.wrappers.vector.RecordEpisodeStatistics(
        gym.make_vec("TicTacToe-v0", num_envs=4, autoreset_mode=mode)
    )
    env.reset(seed=0)
    lengths, rng, waiting, games = (
        np.zeros(4, dtype=int),
        np.random.default_rng(0),
        np.zeros(4, dtype=bool),
        0,
    )
    for _ in range(60):
        masks = env.unwrapped.action_masks()
        _, rewards, ended, _, infos = env.step((masks * rng.random(masks.shape)).argmax(axis=1))
        lengths += ~waiting
        if ended.any():
            assert infos["_episode"].tolist() == ended.tolist()
            assert infos["episode"]["r"][ended].tolist() == rewards[ended].tolist()
            assert infos["episode"]["l"][ended].tolist() == lengths[ended].tolist()
        lengths[ended] = 0
        games += ended.sum()
        waiting = ended if mode == "NEXT_STEP" else waiting
    assert games > 20


def test_a_time_limit_truncates():
    env = gym.wrappers.TimeLimit(
        gym.make("TicTacToe-v0", side="X", opponent=FixedPlayer(0)), max_episode_steps=2
    )
    env.reset()
    first = env.step(int(env.unwrapped.action_masks().argmax()))
    second = env.step(int(np.flatnonzero(env.unwrapped.action_masks())[-1]))
    assert [result[2:4] for result in (first, second)] == [(False, False), (False, True)]


def test_observations_flatten():
    env = gym.wrappers.FlattenObservation(
        gym.make("TicTacToe-v0", side="X", rows=2, cols=3, k=3, opponent=CellPlayer(5))
    )
    assert env.observation_space == gym.spaces.Box(0, 1, (12,), np.int8)
    env.reset()
    assert env.step(0)[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    env = gym.wrappers.vector.FlattenObservation(
        gym.make_vec("TicTacToe-v0", num_envs=2, autoreset_mode="NEXT_STEP")
    )  # it refuses SAME_STEP
    assert env.reset(seed=0)[0].shape == (2, 18)


def test_infos_become_a_list_with_one_dict_a_game():
    env = gym.wrappers.vector.DictInfoToList(
        gym.make_vec("TicTacToe-v0", num_envs=2, side="X", opponent=FixedPlayer(0))
    )
    _, infos = env.reset(options={"board": "XX./OO./..."})
    assert [set(info) for info in infos] == [{"action_mask", "side"}] * 2
    *_, infos = env.step(np.array([2, 8]))
    assert set(infos[0]) == {"action_mask", "side", "final_obs", "final_info"}
    assert set(infos[1]) == {"action_mask", "side"}
    assert infos[0]["action_mask"].tolist() == [1] * 9
    final = infos[0]["final_info"]
    assert (final["side"], final["outcome"], bool(final["illegal_move"])) == ("X", "win", False)
    assert final["action_mask"].tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_random_actions_drawn_under_the_mask_are_never_illegal():
    env = gym.make("TicTacToe-v0", illegal="raise")
    env.action_space.seed(0)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            _, _, terminated, _, info = env.step(env.action_space.sample(mask=info["action_mask"]))
        assert info["illegal_move"] is False


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
