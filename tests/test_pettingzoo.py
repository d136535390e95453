"""The environment of PettingZoo: its own checks, its tictactoe_v3, and that of Gymnasium."""

import copy
import importlib
import os
import pickle
import warnings

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # windows without a screen

import numpy as np
import pettingzoo
import pettingzoo.test as checks
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.utils.wrappers import OrderEnforcingWrapper
from text_cases import refuses

import tictactoe_env
from tictactoe_env import IllegalMoveError, Rules
from tictactoe_env import pettingzoo as tictactoe
from tictactoe_env.exact.positions import positions_of

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


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("make", [tictactoe.env, tictactoe.raw_env])
def test_the_api_test_passes_and_the_only_warning_of_ours_is_for_its_unknown_option(make, settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checks.api_test(make(**settings), num_cycles=50)
    (ours,) = {str(one.message) for one in caught if "pettingzoo/test/" not in one.filename}
    assert "'options'" in ours


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_seed_test_and_the_state_test_pass(settings):
    checks.seed_test(lambda: tictactoe.env(**settings))
    env = tictactoe.env(**{**settings, "illegal": "lose"})  # the state test moves without masks
    env.reset(seed=0)
    state_checks.test_state_space(env)
    state_checks.test_state(env, num_cycles=50)


def test_100_random_games_agree_with_tictactoe_v3_step_by_step():
    """It counts the cells by columns, and puts the planes last."""
    rng = np.random.default_rng(0)
    theirs, ours = tictactoe_v3(), tictactoe.env()
    by_columns = np.arange(9).reshape(3, 3).T.ravel()
    results = set()
    for _ in range(100):
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
    with refuses("cell 4", error=IllegalMoveError):
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


def test_100_random_games_agree_move_by_move_with_the_environment_for_both_sides():
    """`opponent=None` has no agents, but the same boards, masks, rewards and random starts."""
    for kind in ("planes", "grid", "flat"):
        settings = {"observation": kind, "start": "random", "early_draw": kind == "grid"}
        single = tictactoe_env.TicTacToeEnv(opponent=None, **settings)
        compare(single, tictactoe.env(**settings), games=100)


def compare(single, both, games):
    rng = np.random.default_rng(1)
    for game in range(games):
        seed = game if game % 10 == 0 else None
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


# --- errors and the order of calls ----------------------------------------------------------------


@pytest.mark.parametrize("make", [tictactoe.env, tictactoe.raw_env])
@pytest.mark.parametrize(
    "action",
    [9, -1, 1.0, True, "b2", None, np.array([1]), np.timedelta64(1, "s"), np.ma.array(1, mask=1)],
)
def test_a_wrong_action_is_a_value_error_and_changes_nothing(make, action):
    env = play(make(), [4])
    with refuses("action", 0, 8):
        env.step(action)
    assert (env.agent_selection, int(np.abs(env.board).sum())) == (O, 1)


@pytest.mark.parametrize("action", [np.int8(3), np.int64(3), np.array(3)])
def test_numpy_integers_are_actions(action):
    assert play(tictactoe.env(), [action]).board[3] == 1


@pytest.mark.parametrize("make", [tictactoe.env, tictactoe.raw_env])
def test_calls_in_the_wrong_order_are_refused(make):
    env = make()
    for call in (lambda: env.step(0), env.state, env.render, lambda: env.observe(X)):
        with refuses("reset", error=ResetNeeded):
            call()
    with pytest.raises(AttributeError):
        _ = env.agents
    play(env, [0, 3, 1, 4, 2])
    with refuses("None"):
        env.step(5)
    env.step(None)
    env.step(None)
    assert env.agents == []
    with refuses("over", error=ResetNeeded):
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
    with refuses("step", error=AssertionError):
        for _ in env.agent_iter():
            pass


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        ({"observation": "plane"}, "'plane' 'planes'"),
        ({"render_mode": "rgb"}, "'rgb' rgb_array"),
        ({"max_cycles": 0}, "max_cycles 0"),
        ({"k": 4}, "k 4"),
        ({"rewards": {"wins": 1}}, "'wins' 'win'"),
        ({"opening": "a1 b1 a2 b2 a3"}, "opening"),
    ],
)
def test_wrong_arguments_are_refused(arguments, mentions):
    with refuses(*mentions.split()):
        tictactoe.env(**arguments)


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        ({"seed": -1}, "seed -1"),
        ({"seed": True}, "seed True"),
        ({"options": 3}, "options 3"),
        ({"options": {"board": "XXX/OO./..."}}, "XXX/OO./..."),
        ({"options": {"board": 3}}, "board 3"),
    ],
)
def test_a_wrong_reset_is_refused_and_leaves_the_game(arguments, mentions):
    env = play(tictactoe.env(), [4, 0])
    with refuses(*mentions.split()):
        env.reset(**arguments)
    env.step(8)
    assert env.board.tolist() == [-1, 0, 0, 0, 1, 0, 0, 0, 1]


def test_an_unknown_reset_option_is_ignored_with_a_guess():
    env = tictactoe.env()
    with pytest.warns(UserWarning, match="board"):
        env.reset(options={"bord": "X../.../..."})
    assert not env.board.any()


def test_pictures_show_the_last_move():
    env = play(tictactoe.env(render_mode="ansi"), [4, 0])
    assert env.render().splitlines()[1] == "1  [O]  .   ."
    picture = play(tictactoe.env(render_mode="rgb_array"), [4]).render()
    assert (picture.dtype, picture.shape) == (np.uint8, (360, 360, 3))
    with pytest.warns(UserWarning, match="render mode"):
        assert play(tictactoe.env(), [4]).render() is None
