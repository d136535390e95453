import json
import warnings

import numpy as np
import pytest
import torch
from sample_players import CellPlayer, FixedPlayer
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN
from stable_baselines3.common.vec_env import VecMonitor

from tictactoe_env import match
from tictactoe_env.observation import observe
from tictactoe_env.policy import PredictPolicy, RandomPolicy
from tictactoe_env.positions import positions_of, symmetries_of
from tictactoe_env.rules import Rules
from tictactoe_env.vector_env import TicTacToeVectorEnv
from training.sb3 import TicTacToeVecEnv, Turn

BOARDS = [Rules(3, 3, 3), Rules(2, 4, 3), Rules(3, 4, 3)]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Several are many times slower on networks as small as these."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def started(num_envs=8, seed=0, **arguments):
    env = TicTacToeVecEnv(num_envs, **arguments)
    env.seed(seed)
    return env, env.reset()


def legal_actions(env, rng):
    return np.where(env.action_masks(), rng.random((env.num_envs, env.action_space.n)), -1).argmax(
        axis=1
    )


def unfinished(rules):
    return positions_of(rules).boards[positions_of(rules).unfinished]


# --- the contract of a VecEnv ------------------------------------------------------------------------------------


@pytest.mark.parametrize("observation", ["planes", "grid"])
def test_games_are_those_of_the_vector_environment_step_by_step(observation):
    arguments = {
        "opponent": FixedPlayer(1),
        "observation": observation,
        "rewards": {"loss": -2, "draw": 0.5},
    }
    env, observations = started(16, seed=3, **arguments)
    games = TicTacToeVectorEnv(16, **arguments)
    expected, _ = games.reset(seed=3)
    assert np.array_equal(observations, expected)
    rng, finished = np.random.default_rng(0), 0
    for step in range(60):
        actions = legal_actions(env, rng) if step % 3 else rng.integers(9, size=16)
        observations, rewards, dones, infos = env.step(actions)
        expected, expected_rewards, ended, _, info = games.step(actions)
        assert np.array_equal(observations, expected)
        assert np.array_equal(rewards, expected_rewards.astype(np.float32))
        assert np.array_equal(dones, ended)
        for game in range(16):
            if not dones[game]:
                assert infos[game] == {}
                continue
            finished += 1
            last = info["final_info"]
            assert np.array_equal(infos[game].pop("terminal_observation"), info["final_obs"][game])
            outcome, illegal = last["outcome"][game], last["illegal_move"][game]
            assert infos[game] == {
                "TimeLimit.truncated": False,
                "outcome": outcome,
                "illegal_move": illegal,
            }
            assert (type(infos[game]["outcome"]), type(infos[game]["illegal_move"])) == (str, bool)
    assert finished > 100


def test_types_and_shapes_are_what_stable_baselines3_expects():
    env, observations = started(5, opponent="minimax", rows=3, cols=4)
    assert (observations.dtype, observations.shape) == (np.int8, (5, 2, 3, 4))
    assert env.observation_space.shape == (2, 3, 4)
    assert env.action_space.n == 12
    assert all(env.observation_space.contains(observation) for observation in observations)
    assert [info["action_mask"].shape for info in env.reset_infos] == [(12,)] * 5
    observations, rewards, dones, infos = env.step(legal_actions(env, np.random.default_rng(0)))
    assert (rewards.dtype, rewards.shape, dones.dtype, dones.shape) == (
        np.float32,
        (5,),
        bool,
        (5,),
    )
    assert isinstance(infos, list)
    assert [type(info) for info in infos] == [dict] * 5


def test_the_loser_gets_minus_one_with_its_own_last_move_or_the_opponents():
    env = TicTacToeVecEnv(4, opponent=CellPlayer(5))
    env.set_options({"board": "XX./OO./...", "side": "X"})
    env.reset()
    _, rewards, dones, infos = env.step(np.array([7, 7, 3, 2]))  # c2 by O, twice; taken; c1 by X
    assert dones.all()
    assert rewards.tolist() == [-1, -1, -1, 1]
    assert [info["outcome"] for info in infos] == ["loss", "loss", "loss", "win"]
    assert [info["illegal_move"] for info in infos] == [False, False, True, False]
    assert infos[0]["terminal_observation"][1].tolist() == [[0, 0, 0], [1, 1, 1], [0, 0, 0]], (
        "the opponent's line is in the last observation"
    )


def test_attributes_are_answered_for_each_game_and_unknown_names_raise():
    env = TicTacToeVecEnv(3, render_mode="rgb_array")
    assert env.get_attr("render_mode") == ["rgb_array"] * 3
    assert env.render_mode == "rgb_array"
    assert env.get_attr("rules", [0, 2]) == [Rules(), Rules()]
    assert env.has_attr("action_masks")
    assert not env.has_attr("acton_masks")
    with pytest.raises(AttributeError, match="nonsense"):
        env.get_attr("nonsense")
    with pytest.raises(AttributeError, match="nonsense"):
        env.env_method("nonsense")
    assert env.env_is_wrapped(VecMonitor) == [False] * 3
    env.set_attr("note", 7)
    assert env.get_attr("note") == [7, 7, 7]
    with pytest.raises(ValueError, match="leave indices out"):
        env.set_attr("note", 8, indices=[0])


def test_masks_are_one_array_for_all_games():
    env, _ = started(6, opponent=FixedPlayer(2))
    env.step(legal_actions(env, np.random.default_rng(1)))
    masks = env.env_method("action_masks")
    assert (masks.dtype, masks.shape) == (bool, (6, 9))
    assert np.array_equal(masks, env.games.boards == 0)
    assert np.array_equal(env.env_method("action_masks", indices=[4, 1]), masks[[4, 1]])
    assert np.array_equal(env.env_method("action_masks", indices=2), masks[[2]])
    assert is_masking_supported(env)
    assert np.array_equal(get_action_masks(env), masks)
    assert np.array_equal(get_action_masks(VecMonitor(env)), masks)


def test_the_same_seed_gives_the_same_games_and_options_count_for_one_reset():
    def play(seed):
        env, observations = started(8, seed=seed)
        rng, seen = np.random.default_rng(0), [observations]
        for _ in range(20):
            seen.append(env.step(legal_actions(env, rng))[0])
        return np.array(seen)

    assert np.array_equal(play(5), play(5))
    assert not np.array_equal(play(5), play(6))
    env = TicTacToeVecEnv(4, opponent=CellPlayer(8))
    env.set_options({"board": "X.O/.../...", "side": "X"})
    assert (env.reset()[:, 0, 0, 0] == 1).all()
    assert (env.reset()[:, 0].sum(axis=(1, 2)) == 0).all()


def test_options_that_differ_between_the_games_are_refused():
    env = TicTacToeVecEnv(2, opponent=CellPlayer(8))
    env.set_options([{"board": "X.O/.../...", "side": "X"}] * 2)
    assert (env.reset()[:, 0, 0, 0] == 1).all()
    for options in ([{"side": "X"}, {"side": "O"}], [{"side": "X"}, {}], [{"side": "X"}], []):
        with pytest.raises(ValueError, match="all 2 games start with the same options"):
            env.set_options(options)
    env.set_options(None)
    env.set_options([{}, {}])
    assert (env.reset()[:, 0].sum(axis=(1, 2)) == 0).all()


def test_the_opponent_can_be_replaced():
    env, _ = started(4, opponent="random", side="X")
    env.set_opponent(CellPlayer(8))
    assert (env.step(np.zeros(4, dtype=int))[0][:, 1, 2, 2] == 1).all()


def test_a_way_of_restarting_that_stable_baselines3_does_not_know_is_refused():
    with pytest.raises(ValueError, match="leave autoreset_mode out"):
        TicTacToeVecEnv(2, autoreset_mode="NEXT_STEP")


def test_pictures_are_one_a_game():
    env, _ = started(3, render_mode="rgb_array")
    images = env.get_images()
    assert len(images) == 3
    assert all(image.dtype == np.uint8 and image.ndim == 3 for image in images)
    assert env.render("rgb_array").ndim == 3


@pytest.mark.parametrize("mode", ["ansi", None])
def test_there_are_pictures_of_the_render_mode_rgb_array_only(mode):
    env, _ = started(3, render_mode=mode)
    with pytest.warns(UserWarning, match="rgb_array"):
        assert env.get_images() == [None] * 3


# --- with Stable-Baselines3 as it is -----------------------------------------------------------------------------


def test_a_monitor_around_the_games_counts_them():
    env = VecMonitor(TicTacToeVecEnv(8, opponent="minimax"))
    env.reset()
    rng, episodes = np.random.default_rng(0), []
    for _ in range(30):
        _, _, _, infos = env.step(legal_actions(env.venv, rng))
        episodes += [info["episode"] for info in infos if "episode" in info]
    assert len(episodes) > 20
    assert {episode["r"] for episode in episodes} <= {-1.0, 0.0}
    assert all(2 <= episode["l"] <= 5 for episode in episodes)


def test_stock_maskable_ppo_takes_the_games_as_they_are_and_makes_legal_moves():
    env = TicTacToeVecEnv(16, opponent="minimax")
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=128, n_epochs=1, seed=0).learn(512)
    assert model.num_timesteps == 512
    assert isinstance(model.env, VecMonitor) or model.env is env
    assert match.exact_result_as("X", PredictPolicy(model, Rules()), RandomPolicy()).illegal == 0
    mean, _ = evaluate_policy(model, env, n_eval_episodes=20, warn=False)
    assert -1 <= mean <= 0


def test_stock_dqn_takes_the_games_as_they_are():
    model = DQN(
        "MlpPolicy",
        TicTacToeVecEnv(16),
        learning_starts=64,
        batch_size=32,
        buffer_size=1000,
        seed=0,
    ).learn(512)
    assert model.num_timesteps == 512
    assert model.replay_buffer.size() == 32
    assert set(np.unique(model.replay_buffer.rewards[: model.replay_buffer.pos])) <= {
        -1.0,
        0.0,
        1.0,
    }


def test_a_rectangular_board_is_learned_by_both_as_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for learner in (MaskablePPO, DQN):
            env = TicTacToeVecEnv(8, rows=3, cols=4, exploring_starts=0.5)
            arguments = (
                {"n_steps": 8, "batch_size": 64}
                if learner is MaskablePPO
                else {"learning_starts": 16}
            )
            assert learner("MlpPolicy", env, **arguments).learn(128).num_timesteps == 128


# --- exploring starts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_a_share_of_the_games_starts_from_a_board_drawn_at_random(share):
    env, observations = started(20_000, seed=1, exploring_starts=share, side="X")
    marks = np.bincount(observations.reshape(20_000, -1).sum(axis=1), minlength=9) / 20_000
    assert marks == pytest.approx([1 - share + share / 9, *[share / 9] * 8], abs=0.01)
    assert np.isin(
        positions_of(Rules()).rows(env.games.boards), positions_of(Rules()).unfinished
    ).all()


def test_the_learner_is_to_move_on_a_drawn_board_whatever_its_side():
    env, observations = started(2_000, exploring_starts=1.0, side="O", opponent=CellPlayer(0))
    assert np.array_equal(observations, observe(env.games.boards, Rules()))
    assert {int(marks) for marks in np.abs(env.games.boards).sum(axis=1)} == set(range(9))


def test_random_starts_reach_every_position():
    env, _ = started(100_000, exploring_starts=1.0)
    assert len(np.unique(env.games.boards, axis=0)) == 4520


@pytest.mark.parametrize("rules", [Rules(2, 3, 2), Rules(1, 3, 1), Rules(2, 4, 3)], ids=str)
@pytest.mark.parametrize("early_draw", [False, True])
def test_only_boards_on_which_a_game_can_go_on_are_drawn(rules, early_draw):
    whose = {"side": "X"} if rules.k == 1 else {}  # there an opponent that begins ends the game
    env, _ = started(
        60_000,
        rows=rules.rows,
        cols=rules.cols,
        k=rules.k,
        exploring_starts=1.0,
        early_draw=early_draw,
        **whose,
    )
    positions = positions_of(rules)
    going = ~positions.is_over & ~(positions.is_dead if early_draw else False)
    drawn = np.unique(positions.rows(env.games.boards))
    assert np.array_equal(drawn, np.flatnonzero(going))


@pytest.mark.parametrize("arguments", [{"opening": "b2"}, {"start": "random"}], ids=str)
def test_exploring_starts_exclude_other_starts(arguments):
    with pytest.raises(ValueError, match="exploring starts go with neither an opening nor start"):
        TicTacToeVecEnv(2, exploring_starts=0.5, **arguments)


def test_without_exploring_starts_every_game_starts_from_the_empty_board():
    env, _ = started(500, exploring_starts=0.0)
    assert np.abs(env.games.boards).sum(axis=1).max() == 1


def test_games_that_follow_explore_too():
    env, _ = started(200, exploring_starts=1.0, opponent=CellPlayer(0), side="X")
    _, _, dones, _ = env.step(np.zeros(200, dtype=int))
    assert dones.mean() > 0.5
    assert len(np.unique(env.games.boards[dones], axis=0)) > 50


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), True, "half"])
def test_the_share_is_a_probability(share):
    with pytest.raises(
        ValueError, match="share of exploring starts must be a probability from 0 to 1"
    ):
        TicTacToeVecEnv(2, exploring_starts=share)


# --- going on ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"side": "alternate"},
        {"exploring_starts": 0.5},
        {"rows": 5, "cols": 5, "k": 4},
        {"early_draw": True, "observation": "grid"},
    ],
    ids=str,
)
def test_games_under_way_go_on_bit_for_bit(arguments):
    pool = [["random", 0.5], [FixedPlayer(0), 0.5]]
    env, _ = started(32, seed=4, opponent=pool, **arguments)
    rng = np.random.default_rng(0)
    for _ in range(7):
        observations, *_ = env.step(legal_actions(env, rng))
    arrays, generator = env.under_way()
    arrays = {name: array.copy() for name, array in arrays.items()}
    other = TicTacToeVecEnv(32, opponent="random", **arguments)
    other.set_opponent(pool)
    assert np.array_equal(other.go_on(arrays, generator), observations)
    for _ in range(40):
        actions = legal_actions(env, rng)
        (seen, rewards, dones, infos), (again, *rest) = env.step(actions), other.step(actions)
        assert np.array_equal(seen, again)
        assert np.array_equal(rewards, rest[0])
        assert np.array_equal(dones, rest[1])
        assert [info.get("outcome") for info in infos] == [info.get("outcome") for info in rest[2]]
        assert np.array_equal(env.action_masks(), other.action_masks())


def test_what_is_under_way_is_arrays_and_json():
    env, _ = started(3)
    arrays, generator = env.under_way()
    assert {len(array) for array in arrays.values()} == {3}
    env.step(legal_actions(env, np.random.default_rng(0)))
    before = json.loads(json.dumps(generator))
    assert before == generator
    assert env.under_way()[1] != before, "the generator has moved on, what was taken down has not"


# --- turning boards ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_all_images_of_a_position_are_turned_into_the_same_planes(rules):
    turn, boards = Turn(rules), unfinished(rules)[::7]
    turned, _ = turn(torch.as_tensor(observe(boards, rules)).float())
    for permutation in symmetries_of(rules):
        again, _ = turn(torch.as_tensor(observe(boards[:, permutation], rules)).float())
        assert torch.equal(again, turned)


@pytest.mark.parametrize("symmetry", [True, False])
@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_the_permutation_says_where_each_cell_came_from(rules, symmetry):
    planes = torch.as_tensor(observe(unfinished(rules), rules)).float()
    turned, cells = Turn(rules, symmetry)(planes)
    assert turned.shape == planes.shape
    assert torch.equal(cells.sort(dim=1).values, torch.arange(rules.cells).expand_as(cells))
    assert torch.equal(
        turned.flatten(2), planes.flatten(2).gather(2, cells[:, None].expand(-1, 2, -1))
    )
    back = turned.flatten(2).gather(2, cells.argsort(dim=1)[:, None].expand(-1, 2, -1))
    assert torch.equal(back.reshape(planes.shape), planes)


def test_the_unfinished_positions_of_3x3_are_627_inputs_and_without_symmetry_4520():
    planes = torch.as_tensor(observe(unfinished(Rules()), Rules())).float()
    distinct = {
        symmetry: len(Turn(Rules(), symmetry)(planes)[0].flatten(1).unique(dim=0))
        for symmetry in (True, False)
    }
    assert distinct == {True: 627, False: 4520}


def test_without_symmetry_boards_stay_as_they_are():
    planes = torch.as_tensor(observe(unfinished(Rules(2, 4, 3)), Rules(2, 4, 3))).float()
    turned, cells = Turn(Rules(2, 4, 3), symmetry=False)(planes)
    assert torch.equal(turned, planes)
    assert torch.equal(cells, torch.arange(8).expand(len(planes), 8))


def test_a_board_is_turned_alike_alone_and_among_others():
    turn, planes = Turn(Rules()), torch.as_tensor(observe(unfinished(Rules()), Rules())).float()
    together, cells = turn(planes)
    for row in (0, 17, 900, 4519):
        alone, alone_cells = turn(planes[row : row + 1])
        assert torch.equal(alone[0], together[row])
        assert torch.equal(alone_cells[0], cells[row])


def test_a_board_of_sixteen_cells_is_turned_without_rounding():
    turn = Turn(Rules(4, 4, 4))
    full = torch.zeros(2, 2, 4, 4)
    full[0, 1], full[1, 1] = 1, 1
    full[0, 1, 0, 1] = full[1, 1, 2, 0] = (
        0  # the one is a turned image of the other; their codes differ far behind the point
    )
    turned, _ = turn(full)
    assert torch.equal(turned[0], turned[1])
    full[1, 1], full[1, 1, 0, 0] = 1, 0
    assert not torch.equal(turn(full)[0][0], turn(full)[0][1])


def test_the_turning_adds_nothing_to_what_is_saved():
    assert Turn(Rules()).state_dict() == {}
