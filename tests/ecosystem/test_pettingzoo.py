"""PettingZoo's own checks, its tictactoe_v3, its wrappers and SuperSuit's, on our AEC environment.

`python tests/ecosystem/run.py pettingzoo` runs them; see examples/README.md.
"""

import copy
import importlib
import os
import pickle
import re
import warnings
from types import SimpleNamespace

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows without a screen

import numpy as np
import pettingzoo
import pettingzoo.test as checks
import pytest
import supersuit
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.utils.conversions import aec_to_parallel, turn_based_aec_to_parallel
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

import tictactoe_env
from tictactoe_env import IllegalMoveError, Rules
from tictactoe_env import pettingzoo as tictactoe
from tictactoe_env.positions import positions_of

state_checks = importlib.import_module("pettingzoo.test.state_test")  # the module, not its function
SETTINGS = (
    {},
    {"observation": "grid", "illegal": "raise"},
    {"observation": "flat", "rows": 3, "cols": 4},
    {"rows": 4, "cols": 5, "k": 4, "max_cycles": 3},
    {"start": "random", "early_draw": True},
    {"opening": "b2"},
)
X, O = tictactoe.AGENTS  # noqa: E741


def play(env, cells):
    """Step through cells of a new game; what both agents see at its end, and the rewards."""
    env.reset()
    for cell in cells:
        env.step(cell)
    return env


def moves_of(env, rng):
    """A random game to its very end: what `last` gives at each step."""
    found = []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        found.append((agent, observation, reward, terminated, truncated, info))
        over = terminated or truncated
        env.step(None if over else int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    return found


def tictactoe_v3():
    """PettingZoo's own environment."""
    if hasattr(pettingzoo, "make"):
        return pettingzoo.make("aec", "classic/tictactoe-v3")
    from pettingzoo.classic import tictactoe_v3

    return tictactoe_v3.env()


# --- PettingZoo's checks --------------------------------------------------------------------------


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("make", [tictactoe.env, tictactoe.raw_env])
def test_the_api_test_passes_and_the_only_warning_of_ours_is_for_its_unknown_option(make, settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checks.api_test(make(**settings), num_cycles=200)
    ours = {str(one.message) for one in caught if "pettingzoo/test/" not in one.filename}
    assert len(ours) == 1
    assert "unknown reset option 'options' (known: board); ignored" in ours.pop()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_seed_test_and_the_state_test_pass(settings):
    checks.seed_test(lambda: tictactoe.env(**settings))
    env = tictactoe.env(**{**settings, "illegal": "lose"})  # the state test moves without masks
    env.reset(seed=0)
    state_checks.test_state_space(env)
    state_checks.test_state(env, num_cycles=50)


def test_the_render_test_passes_in_all_modes():
    checks.render_test(tictactoe.env)
    assert tictactoe.raw_env.metadata["render_modes"] == ["human", "ansi", "rgb_array"]


def test_the_max_cycles_test_passes_where_both_move_in_one_cycle():
    """It samples without masks, so the board is large and the seeds give 8 different cells."""

    class Parallelizable(tictactoe.TicTacToeAECEnv):
        metadata = {**tictactoe.TicTacToeAECEnv.metadata, "is_parallelizable": True}

    def env(max_cycles):
        made = Parallelizable(7, 8, 8, max_cycles=max_cycles)
        for seed, agent in zip((0, 100), made.possible_agents, strict=True):
            made.action_space(agent).seed(seed)
        return made

    checks.max_cycles_test(
        SimpleNamespace(env=env, parallel_env=lambda max_cycles: aec_to_parallel(env(max_cycles)))
    )


def test_save_obs_passes_and_says_that_observations_are_no_pictures(capsys):
    env = tictactoe.env()
    checks.test_save_obs(env)
    assert "Observations must be Box to save observations as image" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo before 1.27")
def test_pettingzoo_makes_it_by_its_id():
    made = pettingzoo.make("aec", tictactoe.ENV_ID, rows=4, cols=4, max_cycles=2)
    assert (made.unwrapped.rules, made.unwrapped.max_cycles) == (Rules(4, 4, 3), 2)


# --- the same games as tictactoe_v3 and as Gymnasium's environment --------------------------------


def test_600_random_games_agree_with_tictactoe_v3_step_by_step():
    """It counts the cells by columns, and puts the planes last."""
    rng = np.random.default_rng(0)
    theirs, ours = tictactoe_v3(), tictactoe.env()
    by_columns = np.arange(9).reshape(3, 3).T.ravel()
    results = set()
    for _ in range(600):
        theirs.reset()
        ours.reset()
        for agent in ours.agent_iter():
            assert agent == theirs.agent_selection
            seen, *rest, _ = ours.last()
            expected, *expected_rest, _ = theirs.last()
            assert rest == expected_rest
            assert (seen["action_mask"][by_columns] == expected["action_mask"]).all()
            assert (seen["observation"] == expected["observation"].transpose(2, 1, 0)).all()
            cell = None
            if not rest[1]:
                cell = int(rng.choice(np.flatnonzero(seen["action_mask"])))
            results.add(tuple(ours.rewards.values()))
            ours.step(cell)
            theirs.step(None if cell is None else by_columns[cell])
        assert not theirs.agents
    assert {(1, -1), (-1, 1), (0, 0)} <= results


# --- results, illegal moves, options --------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "rewards", "outcomes"),
    [
        ([0, 3, 1, 4, 2], (1, -1), (1, -1)),
        ([0, 3, 1, 4, 8, 5], (-1, 1), (-1, 1)),
        ([0, 1, 2, 4, 3, 5, 7, 6, 8], (0, 0), (0, 0)),
        ([0, 3, 1, 4], (0, 0), (0, 0)),
    ],
)
def test_both_agents_are_told_the_result_after_the_last_move(cells, rewards, outcomes):
    env = play(tictactoe.env(), cells)
    assert tuple(env.rewards.values()) == rewards
    assert tuple(info["outcome"] for info in env.infos.values()) == outcomes
    assert set(env.terminations.values()) == {len(cells) > 4}
    assert env.agent_selection == (X, O)[len(cells) % 2]


def test_infos_are_numbers_with_the_same_keys_at_all_times():
    env = tictactoe.env(start="random")
    env.reset(seed=3)
    for agent, *_, info in moves_of(env, np.random.default_rng(3)):
        assert {name: type(value) for name, value in info.items()} == dict.fromkeys(
            ("side", "outcome", "illegal_move"), np.int8
        )
        assert info["side"] == (1 if agent == X else -1)


def test_an_illegal_move_loses_with_the_rewards_that_were_given():
    env = play(tictactoe.env(rewards={"win": 2, "illegal": -5}), [4, 4])
    assert env.rewards == {X: 2, O: -5}
    assert env.terminations == {X: True, O: True}
    assert env.truncations == {X: False, O: False}
    assert [int(env.infos[agent]["illegal_move"]) for agent in (X, O)] == [1, 1]
    assert [int(env.infos[agent]["outcome"]) for agent in (X, O)] == [1, -1]
    assert env.board.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0]


def test_an_illegal_move_is_refused_and_the_game_goes_on_with_raise():
    env = play(tictactoe.env(illegal="raise"), [4])
    with pytest.raises(IllegalMoveError, match="cell 4 is taken"):
        env.step(4)
    assert env.agent_selection == O
    env.step(0)
    assert env.board.tolist() == [-1, 0, 0, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("kind", ["planes", "grid", "flat"])
def test_each_agent_sees_its_own_marks_and_only_the_mover_has_legal_cells(kind):
    env = play(tictactoe.env(observation=kind), [4, 0])
    shown = {
        "planes": ([[0, 0, 0, 0, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0]], (2, 3, 3)),
        "grid": ([-1, 0, 0, 0, 1, 0, 0, 0, 0], (3, 3)),
        "flat": ([[0, 0, 0, 0, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0]], (18,)),
    }
    numbers, shape = shown[kind]
    seen = {agent: env.observe(agent) for agent in (X, O)}
    assert (seen[X]["observation"] == np.reshape(numbers, shape)).all()
    swapped = -np.array(numbers) if kind == "grid" else np.array(numbers)[::-1]
    assert (seen[O]["observation"] == swapped.reshape(shape)).all()
    assert seen[X]["action_mask"].tolist() == [0, 1, 1, 1, 0, 1, 1, 1, 1]
    assert seen[O]["action_mask"].tolist() == [0] * 9
    assert all(env.observation_space(agent).contains(seen[agent]) for agent in (X, O))


def test_a_game_starts_from_an_opening_a_board_or_a_function():
    env = tictactoe.env(opening="b2")
    env.reset()
    assert (env.agent_selection, int(env.board[4])) == (O, 1)
    env.reset(options={"board": "X.O/.../..."})
    assert (env.agent_selection, env.board.tolist()) == (X, [1, 0, -1, 0, 0, 0, 0, 0, 0])

    def start(seats, rng):
        boards = np.zeros((len(seats), 9), np.int8)
        boards[0, rng.integers(9)] = 1
        return boards, -seats

    env, boards = tictactoe.env(start=start), []
    for seed in (5, None, 5, None):
        env.reset(seed=seed)
        assert env.agent_selection == O
        boards.append(env.board.tolist())
    assert boards[:2] == boards[2:]
    assert len({tuple(board) for board in boards}) == 2


def test_random_starts_are_uniform_over_the_unfinished_positions():
    env, positions = tictactoe.raw_env(start="random"), positions_of(Rules())
    env.reset(seed=0)
    boards = []
    for _ in range(4_520):
        env.reset()
        boards.append(env.board)
    rows = positions.rows(np.array(boards))
    assert not positions.is_over[rows].any()
    # Of n cells drawn n times, 1 - 1/e are hit: 2,857 on average, with a deviation of 21.
    assert abs(len(set(rows.tolist())) - 2_857) < 100


def test_early_draw_and_max_cycles_end_a_game():
    dead = [7, 6, 2, 3, 5, 1, 0, 8]  # no line is open after the eighth move
    env = play(tictactoe.env(early_draw=True), dead)
    assert set(env.terminations.values()) == {True}
    assert set(play(tictactoe.env(), dead).terminations.values()) == {False}
    env = play(tictactoe.env(max_cycles=2), [0, 1, 2])
    assert set(env.truncations.values()) == {False}
    env.step(4)
    assert (env.truncations, env.terminations) == (
        {X: True, O: True},
        {X: False, O: False},
    )
    won = play(tictactoe.env(max_cycles=3), [0, 3, 1, 4, 8, 5])
    assert (won.truncations[X], won.terminations[X]) == (False, True)


@pytest.mark.parametrize("make", [tictactoe.env, tictactoe.raw_env])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_game_continues_with_the_same_random_numbers(make, copied):
    env = make(start="random", render_mode="human")
    env.reset(seed=8)
    legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
    twin = copied(env)
    env.step(int(legal[0]))
    assert (twin.board != env.board).sum() == 1
    twin.step(int(legal[0]))
    for _ in range(3):
        assert (twin.board == env.board).all()
        assert twin.agent_selection == env.agent_selection
        assert data_equivalence(twin.infos, env.infos)
        env.reset()
        twin.reset()
    env.close()
    twin.close()


# --- errors and the order of calls ----------------------------------------------------------------


@pytest.mark.parametrize("make", [tictactoe.env, tictactoe.raw_env])
@pytest.mark.parametrize(
    "action",
    [9, -1, 1.0, True, "b2", None, np.array([1]), np.timedelta64(1), np.ma.array(1, mask=True)],
)
def test_a_wrong_action_is_a_value_error_and_changes_nothing(make, action):
    env = play(make(), [4])
    with pytest.raises(ValueError, match="an action must be a whole number from 0 to 8"):
        env.step(action)
    assert (env.agent_selection, int(np.abs(env.board).sum())) == (O, 1)


@pytest.mark.parametrize("action", [np.int8(3), np.int64(3), np.array(3)])
def test_numpy_integers_are_actions(action):
    assert play(tictactoe.env(), [action]).board[3] == 1


@pytest.mark.parametrize("make", [tictactoe.env, tictactoe.raw_env])
def test_calls_in_the_wrong_order_are_refused(make):
    env = make()
    for call in (lambda: env.step(0), env.state, env.render, lambda: env.observe(X)):
        with pytest.raises(ResetNeeded, match="call reset"):
            call()
    with pytest.raises(AttributeError):
        _ = env.agents
    play(env, [0, 3, 1, 4, 2])
    with pytest.raises(ValueError, match="only valid action is None"):
        env.step(5)
    env.step(None)
    env.step(None)
    assert env.agents == []
    with pytest.raises(ResetNeeded, match="the game is over"):
        env.step(None)
    env.close()
    env.close()
    for call in (lambda: env.step(0), env.reset, env.render, lambda: env.observe(X)):
        with pytest.raises(ClosedEnvironmentError):
            call()


def test_a_loop_over_agents_that_does_not_step_is_refused_as_in_pettingzoo():
    env = tictactoe.env()
    assert isinstance(env, OrderEnforcingWrapper)
    assert str(env) == "tictactoe_env_v0"
    env.reset()
    with pytest.raises(AssertionError, match="need to call step"):
        for _ in env.agent_iter():
            pass


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"observation": "plane"}, "did you mean 'planes'"),
        ({"render_mode": "rgb"}, "known: ansi, human, rgb_array"),
        ({"max_cycles": 0}, "max_cycles must be a whole number of at least 1"),
        ({"k": 4}, "k must be at most"),
        ({"rewards": {"wins": 1}}, "did you mean 'win'"),
        ({"opening": "a1 b1 a2 b2 a3"}, "leaves a finished game"),
    ],
)
def test_wrong_arguments_are_refused(arguments, text):
    with pytest.raises(ValueError, match=text):
        tictactoe.env(**arguments)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"seed": -1}, "seed must be"),
        ({"seed": True}, "seed must be"),
        ({"options": 3}, "options must be a mapping"),
        ({"options": {"board": "XXX/OO./..."}}, "leaves a finished game"),
        ({"options": {"board": 3}}, "a board must be text"),
    ],
)
def test_a_wrong_reset_is_refused_and_leaves_the_game(arguments, text):
    env = play(tictactoe.env(), [4, 0])
    with pytest.raises(ValueError, match=text):
        env.reset(**arguments)
    env.step(8)
    assert env.board.tolist() == [-1, 0, 0, 0, 1, 0, 0, 0, 1]


def test_an_unknown_reset_option_is_ignored_with_a_guess():
    env = tictactoe.env()
    with pytest.warns(UserWarning, match="did you mean 'board'"):
        env.reset(options={"bord": "X../.../..."})
    assert not env.board.any()


def test_pictures_show_the_last_move():
    env = play(tictactoe.env(render_mode="ansi"), [4, 0])
    assert env.render().splitlines()[1] == "1  [O]  .   ."
    picture = play(tictactoe.env(render_mode="rgb_array"), [4]).render()
    assert (picture.dtype, picture.shape) == (np.uint8, (360, 360, 3))
    with pytest.warns(UserWarning, match="does nothing without a render mode"):
        assert play(tictactoe.env(), [4]).render() is None


# --- other libraries' wrappers --------------------------------------------------------------------


def test_supersuit_transforms_the_board_once_it_is_taken_out_of_the_dictionary():
    """SuperSuit's wrappers take observations without a dictionary; the mask is in `observe`."""
    plain = tictactoe.env(observation="grid")
    env = supersuit.observation_lambda_v0(
        plain,
        lambda observation, _space: observation["observation"],
        lambda space: space["observation"],
    )
    env = supersuit.frame_stack_v1(supersuit.flatten_v0(supersuit.dtype_v0(env, np.float32)), 2)
    env = supersuit.reward_lambda_v0(env, lambda reward: 10 * reward)
    env.reset(seed=0)
    for cell in (4, 0, 2, 6):
        assert plain.observe(env.agent_selection)["action_mask"][cell] == 1
        env.step(cell)
    observation, *_ = env.last()
    assert env.observation_space(X).contains(observation)
    assert observation[-9:].tolist() == [-1, 0, 1, 0, 1, 0, -1, 0, 0]
    env.step(0)  # taken: an illegal move
    assert env.last()[1:3] == (10, True)
    env.step(None)
    assert env.last()[1:3] == (-10, True)


def test_supersuit_changes_rewards_and_keeps_the_mask():
    env = supersuit.reward_lambda_v0(tictactoe.env(), lambda reward: 2 * reward)
    with pytest.warns(UserWarning, match="unknown reset option 'options'"):
        checks.api_test(env, num_cycles=50)
    checks.seed_test(lambda: supersuit.reward_lambda_v0(tictactoe.env(), abs))


def test_a_turn_based_game_becomes_a_parallel_environment():
    env = turn_based_aec_to_parallel(tictactoe.env())
    checks.parallel_seed_test(lambda: turn_based_aec_to_parallel(tictactoe.env()))
    env.reset(seed=0)
    for agent, cell in zip((X, O) * 3, (0, 3, 1, 4, 2), strict=False):
        actions = {name: cell if name == agent else None for name in (X, O)}
        seen, rewards, terminated, _, _ = env.step(actions)
    assert rewards == {X: 1, O: -1}
    assert terminated == {X: True, O: True}
    assert seen[O]["observation"][1].tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 0]]


def test_500_random_games_agree_move_by_move_with_the_environment_for_both_sides():
    """`opponent=None` has no agents, but the same boards, masks, rewards and random starts."""
    for settings in ({}, {"start": "random", "early_draw": True}, {"observation": "flat"}):
        single = tictactoe_env.TicTacToeEnv(opponent=None, **settings)
        both = tictactoe.env(**settings)
        compare(single, both, games=500)


def compare(single, both, games):
    rng = np.random.default_rng(1)
    for game in range(games):
        seed = game if game % 50 == 0 else None
        observation, info = single.reset(seed=seed)
        both.reset(seed=seed)
        over = False
        while not over:
            check_seen(both.last(), observation, info)
            mover = both.agent_selection
            # One move in twenty may be illegal.
            cell = int(rng.integers(9) if rng.random() < 0.05 else rng.choice(legal_cells(info)))
            observation, reward, over, _, info = single.step(cell)
            both.step(cell)
            assert (single.board == both.board).all()
            assert both.terminations[mover] == over
            assert both.rewards[mover] == reward
            assert both.infos[mover]["outcome"] == info["outcome"]
            assert both.infos[mover]["illegal_move"] == info["illegal_move"]
        check_seen(both.last(), observation, info)


def legal_cells(info):
    return np.flatnonzero(info["action_mask"])


def check_seen(last, observation, info):
    """The side to move sees the same in both."""
    assert data_equivalence(last[0]["observation"], observation)
    assert data_equivalence(last[0]["action_mask"], info["action_mask"])
    assert last[4]["side"] == info["side"]


def test_the_example_learns_and_is_evaluated_exactly(run_example):
    """Random play as O wins 28.8 % of games, loses 58.5 %."""
    printed = run_example("pettingzoo_two_seats.py", 10_000)
    assert "after 10000 games: unbeatable" in printed
    won, lost = re.findall(r"as O against random play: ([\d.]+) won, ([\d.]+) lost", printed)[0]
    assert float(won) > 0.6
    assert float(lost) < 0.2
