"""tictactoe_env/sb3: many games as one `VecEnv`, with Stable-Baselines3 as it is."""

import numpy as np
import pytest
from learners import RULES
from sample_players import CellPlayer, FixedPlayer
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecMonitor
from text_cases import refuses

from tictactoe_env import ExploringStarts, RandomPolicy, evaluate, exact_result, snapshot
from tictactoe_env.observation import observe
from tictactoe_env.policy import as_policy
from tictactoe_env.sb3 import (
    ExactEvaluation,
    MaskableDQN,
    SelfPlay,
    TicTacToeVecEnv,
    dqn_recipe,
    ppo_recipe,
)
from tictactoe_env.sb3.vec_env import INFO_KEYS
from tictactoe_env.vector_env import TicTacToeVectorEnv


def started(num_envs=8, seed=0, **arguments):
    env = TicTacToeVecEnv(num_envs, **arguments)
    env.seed(seed)
    return env, env.reset()


def legal_actions(env, rng):
    scores = rng.random((env.num_envs, env.action_space.n))
    return np.where(env.action_masks(), scores, -1).argmax(axis=1)


def test_games_are_those_of_the_vector_environment_step_by_step():
    rewards = {"loss": -2, "draw": 0.5}
    arguments = {"opponent": FixedPlayer(1), "observation": "grid", "rewards": rewards}
    env, observations = started(16, seed=3, **arguments)
    games = TicTacToeVectorEnv(16, **arguments)
    assert np.array_equal(observations, games.reset(seed=3)[0])
    assert {tuple(info) for info in env.reset_infos} == {INFO_KEYS}
    rng, finished = np.random.default_rng(0), 0
    returns, lengths = np.zeros((2, 16))
    for step in range(30):
        actions = legal_actions(env, rng) if step % 3 else rng.integers(9, size=16)
        observations, rewards, dones, infos = env.step(actions)
        expected, expected_rewards, ended, _, info = games.step(actions)
        assert (rewards.dtype, dones.dtype) == (np.float32, bool)
        assert np.array_equal(observations, expected)
        assert np.array_equal(rewards, expected_rewards.astype(np.float32))
        assert np.array_equal(dones, ended)
        returns, lengths = returns + rewards, lengths + 1
        for game in range(16):
            told = info["final_info"] if dones[game] else info
            wanted = {name: told[name][game] for name in INFO_KEYS}
            if dones[game]:
                finished += 1
                episode = infos[game].pop("episode")
                assert (episode["r"], episode["l"]) == (returns[game], lengths[game])
                wanted["terminal_observation"] = info["final_obs"][game]
                wanted["TimeLimit.truncated"] = False
            assert repr(sorted(infos[game].items())) == repr(sorted(wanted.items()))
        returns[dones] = lengths[dones] = 0
    assert finished > 50


@pytest.mark.parametrize(
    ("board", "opening", "legal"),
    [({}, "b2 a1", [1, 2, 3, 5, 6, 7, 8]), ({"gravity": True}, "c3 c2", [2, 6, 7])],
)
def test_before_the_first_reset_the_masks_are_those_of_the_first_board(board, opening, legal):
    masks = TicTacToeVecEnv(2, opening=opening, **board).env_method("action_masks")
    assert (masks.dtype, masks.shape) == (bool, (2, 9))
    assert [np.flatnonzero(mask).tolist() for mask in masks] == [legal] * 2


FALLING = {"rows": 3, "cols": 4, "k": 3, "gravity": True, "actions": "columns"}


@pytest.mark.parametrize("make", [MaskablePPO, MaskableDQN])
def test_a_model_of_columns_is_evaluated_by_the_cells_on_which_its_pieces_land(make):
    env = TicTacToeVecEnv(8, opponent=[["best-response", 1], ["self", 1]], **FALLING)
    assert env.action_masks().shape == (8, 4)
    options = {"n_steps": 16, "batch_size": 64} if make is MaskablePPO else {"learning_starts": 16}
    model = make("MlpPolicy", env, seed=0, **options)
    exact = ExactEvaluation(every=128, verbose=0)
    model.learn(256, callback=[SelfPlay(every=128), exact])
    rules = env.games.rules
    boards, _ = ExploringStarts(1.0, rules)(np.ones(50, dtype=np.int8), np.random.default_rng(0))
    policy = as_policy(model, rules)
    chosen = policy.probs(boards).argmax(axis=1)
    open_columns = boards[:, :4] == 0
    columns, _ = model.predict(
        observe(boards, rules), deterministic=True, action_masks=open_columns
    )
    assert (chosen % 4).tolist() == columns.tolist()
    assert rules.legal_cells(boards)[np.arange(50), chosen].all()
    drawn = snapshot(model, rules, deterministic=False).probs(boards)
    assert not drawn[~rules.legal_cells(boards)].any()
    assert exact_result(model, RandomPolicy(), rules).illegal == 0


def test_attributes_are_answered_for_each_game_and_unknown_names_raise():
    env = TicTacToeVecEnv(3, render_mode="rgb_array")
    env.set_attr("note", 7)
    with refuses("indices"):
        env.set_attr("note", 8, indices=[0])
    for ask in (env.get_attr, env.env_method):
        with refuses("nonsense", error=AttributeError):
            ask("nonsense")
    assert [env.get_attr(name) for name in ("render_mode", "note")] == [["rgb_array"] * 3, [7] * 3]
    assert env.get_attr("rules", [0, 2]) == [RULES, RULES]
    assert (env.has_attr("action_masks"), env.has_attr("acton_masks")) == (True, False)
    assert env.env_is_wrapped(VecMonitor) == [False] * 3
    assert env.env_method("set_opponent", "minimax") == [None] * 3
    env.close()


def test_a_limit_of_moves_truncates_the_games_and_says_so():
    env, _ = started(4, opponent=FixedPlayer(1), max_episode_steps=1, side="X")
    _, rewards, dones, infos = env.step(np.full(4, 4))
    assert (dones.all(), rewards.any()) == (True, False)
    assert [env.step(np.full(4, 4))[3][0]["episode"]["l"] for _ in range(2)] == [1, 1]
    assert all(info["TimeLimit.truncated"] and not info["action_mask"][4] for info in infos)
    MaskableDQN("MlpPolicy", env, learning_starts=8, buffer_size=64, train_freq=1).learn(64)


def test_a_reset_forgets_the_seed_and_the_moves_before_it():
    env, first = started(64, side="O")
    assert not np.array_equal(env.reset(), first)
    env, _ = started(1, opponent=FixedPlayer(1), side="X")
    for moves in ([0], [0, 0]):  # the second one is illegal
        env.reset()
        *_, (info,) = [env.step([cell]) for cell in moves][-1]
    assert info["episode"]["l"] == 2


def test_options_count_for_one_reset_and_must_be_alike():
    env, board = TicTacToeVecEnv(2, opponent=CellPlayer(8)), {"board": "X.O/.../...", "side": "X"}
    for options, own in ((board, 1), ([board] * 2, 1), ([{}, {}], 0)):
        env.set_options(options)
        assert (env.reset()[:, 0] == own).all()
        assert (env.reset()[:, :9] == 0).all()
    for options in ([{"side": "X"}, {"side": "O"}], [{"side": "X"}, {}], [{"side": "X"}], []):
        with refuses(2, "options"):
            env.set_options(options)


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        ({"autoreset_mode": "NEXT_STEP"}, ["autoreset_mode"]),
        ({"opponent": None}, ["opponent"]),
        ({"exploring_starts": 0.5, "opening": "b2"}, ["exploring_starts", "opening"]),
        ({"exploring_starts": 0.5, "start": "random"}, ["exploring_starts", "start"]),
        *(({"exploring_starts": share}, [share]) for share in (1.1, "half")),
        ({"num_envs": "tictactoe_env/TicTacToe-v0", "exploring_starts": 8}, ["num_envs"]),
        ({"explorng_starts": 0.5}, ["'exploring_starts'"]),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, mentions):
    with refuses(*mentions, error=(ValueError, TypeError)):
        TicTacToeVecEnv(**{"num_envs": 2, **arguments})


def test_there_is_one_picture_a_game_with_the_render_mode_rgb_array_only():
    images = started(3, render_mode="rgb_array")[0].get_images()
    assert [(image.dtype, image.ndim) for image in images] == [(np.uint8, 3)] * 3
    for mode in ("ansi", None):
        with pytest.warns(UserWarning, match="rgb_array"):
            assert started(3, render_mode=mode)[0].get_images() == [None] * 3


def test_a_share_of_the_games_starts_from_a_drawn_board_with_the_learner_to_move():
    for share in (0.0, 0.25):
        _, observations = started(5_000, seed=1, exploring_starts=share, side="X")
        marks = np.bincount(observations.sum(axis=1).astype(int), minlength=9) / 5_000
        assert marks == pytest.approx([1 - share + share / 9, *[share / 9] * 8], abs=0.02)
    board = {"rows": 2, "cols": 4, "k": 3, "early_draw": True}
    assert started(300, exploring_starts=1.0, **board)[1].shape == (300, 16), "no dead board"
    # Whatever its side, in later games too.
    env, observations = started(1_000, exploring_starts=1.0, side="O", opponent=CellPlayer(0))
    assert np.array_equal(observations, observe(env.games.boards, RULES))
    _, _, dones, _ = env.step(np.zeros(1_000, dtype=int))
    assert dones.mean() > 0.5
    assert set(np.abs(env.games.boards[dones]).sum(axis=1).tolist()) == set(range(9))


RECIPES = [(MaskablePPO, ppo_recipe), (MaskableDQN, dqn_recipe)]


@pytest.mark.parametrize(("algorithm", "recipe"), RECIPES)
def test_a_recipe_can_be_read_and_changed(algorithm, recipe):
    given = recipe(num_envs=3, opponent="random")
    shown = "TicTacToeVecEnv(3, opponent='random', symmetric=True, exploring_starts=0.5)"
    assert repr(given["env"]) == shown
    model = algorithm(**given | {"gamma": 0.5}, seed=1)
    assert (model.gamma, model.batch_size, model.n_envs) == (0.5, given["batch_size"], 3)
    assert recipe()["env"] is not recipe()["env"]


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "recipe"), RECIPES)
def test_a_recipe_ends_in_a_proof(algorithm, recipe):
    model = algorithm(**recipe(), seed=0)
    model.learn(200_000, callback=ExactEvaluation(stop_at="unbeatable"))
    assert evaluate(model).unbeatable
