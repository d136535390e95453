"""What one game and many games have in common: arguments, options, starts, chance, copies."""

from __future__ import annotations

import copy
import functools
import math
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from sample_players import CellPlayer, fixed_table
from text_cases import refuses

from tictactoe_env import RandomPolicy, Rules, TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.certificates import certify

MANY = partial(TicTacToeVectorEnv, 3)
LARGE = {"rows": 4, "cols": 5, "k": 4}
BY_BOARD = pytest.mark.parametrize("board", [{}, LARGE], ids=str)


@pytest.fixture(params=[TicTacToeEnv, MANY], ids=["one", "many"])
def make(request):
    """Both environments."""
    return request.param


def boards_of(env):
    return np.atleast_2d(env.boards if isinstance(env, TicTacToeVectorEnv) else env.board)


def sides_of(reset):
    """The learners' sides in what `reset` returned, as text."""
    return "".join("X" if side > 0 else "O" for side in np.atleast_1d(reset[1]["side"]))


def step(env, cells):
    """Step with cells (B,): the first of them on a single environment."""
    return env.step(int(cells[0]) if isinstance(env, TicTacToeEnv) else cells)


def some_cells(env, rng):
    """Legal moves (B,)."""
    masks = np.atleast_2d(env.action_masks())
    return (masks * rng.random(masks.shape)).argmax(axis=1)


def going(make):
    """An environment with current games, and a copy of it."""
    env = make(side="alternate", opponent=[["random", 1], ["minimax", 1]])
    env.reset(seed=3)
    return env, copy.deepcopy(env)


def assert_same_games(env, twin):
    """Both are at the same boards, and go on alike, whatever was refused before."""
    assert np.array_equal(boards_of(env), boards_of(twin))
    cells = some_cells(env, np.random.default_rng(0))
    assert repr(step(env, cells)) == repr(step(twin, cells))
    assert repr(env.reset()) == repr(twin.reset())


def resized(row, boards):
    return np.resize(row, boards.shape)


BROKEN, NEGATIVE, LITTLE = (
    SimpleNamespace(probs=functools.partial(resized, row))
    for row in (0.5, [1.5, -0.5, *[0.0] * 18], [0.9999, *[0.0] * 19])
)
# Of each kind one; `test_opponents`, `test_rules` and `test_notation` have more of theirs.
BAD_ARGUMENTS = [
    ({"opponent": []}, "list"),
    ({"opponent": BROKEN}, "probabilities"),
    ({"opponent": fixed_table(Rules(2, 3, 2))}, "2x3, 3x3,"),
    ({"k": 4}, "k 3 4"),
    ({"rewards": {"wins": 1}}, "'wins' 'win'"),
    *(({"rewards": {"win": wrong}}, "'win'") for wrong in ("1", 10**400, math.nan, True)),
    *(({"rewards": {"win": wrong}}, "'win'") for wrong in (np.float16("inf"), np.ones(1), 1j)),
    ({"rewards": [1, 0, -1, -1]}, "rewards"),
    ({"opening": "a1 a2 b1 b2 c1"}, 'opening "XXX/OO./..."'),
    ({"opening": ["b2"]}, "game"),
    ({"opening": "b1 a1 a2 c1 b2 c2 c3 b3", "early_draw": True}, "opening"),
    ({"opening": "b2", "start": "random"}, "opening start"),
    ({"start": "random", "rows": 5, "cols": 5, "k": 4}, "16 cells"),
    ({"early_draw": 1}, "early_draw"),
    ({"render_mode": "rgb_aray"}, "'rgb_aray' 'rgb_array'"),
]


@pytest.mark.parametrize(("arguments", "mentions"), BAD_ARGUMENTS)
def test_a_wrong_argument_or_opponent_is_refused_and_changes_nothing(make, arguments, mentions):
    with refuses(*mentions.split(), error=(ValueError, FileNotFoundError)):
        make(**arguments)
    if set(arguments) == {"opponent"}:
        env, twin = going(make)
        with refuses(*mentions.split(), error=(ValueError, FileNotFoundError)):
            env.set_opponent(**arguments)
        assert_same_games(env, twin)


def test_an_unknown_argument_is_refused_by_the_name_of_what_was_called(make):
    for name, meant in (("sid", "'side'"), ("size", "rows, cols and k"), ("foo", "known: actions")):
        with refuses("TicTacToe", repr(name), meant, error=TypeError):
            make(**{name: 4})
    with refuses("certify", "'limt'", "'limit'", error=TypeError):
        certify(RandomPolicy(), "mine", Rules(), limt=3)


@pytest.mark.parametrize("num_envs", [0, True, 2.0])
def test_a_wrong_number_of_games_is_refused(num_envs):
    with refuses("num_envs"):
        TicTacToeVectorEnv(num_envs)
    with refuses("render mode", "'human'"):
        TicTacToeVectorEnv(2, render_mode="human")


def test_a_wrong_seed_or_reset_option_is_refused_and_changes_nothing(make):
    env, twin = going(make)
    for options, mentions in (
        ([], "options side opponent board"),
        ({"side": "x"}, "'x' 'X'"),
        ({"board": None}, "board"),
        ({"opponent": "minimax", "board": np.ones(9)}, "board"),
        ({"board": "XX./.../..."}, "XX./.../..."),
        ({"reset_mask": [True, False, False]}, "reset_mask"),
    ):
        with refuses(*mentions.split()):
            env.reset(seed=1, options=options)
    for seed in (-1, 1.0, True, "1", math.nan, [1], [1, None, 2], [1, 2, -1]):
        with refuses("seed"):
            env.reset(seed=seed)
    assert_same_games(env, twin)
    for seed in (2**70, np.int64(3)):
        assert np.array_equal(make().reset(seed=seed)[0], make().reset(seed=int(seed))[0])


def test_each_of_several_seeds_counts_and_so_does_a_generator_of_the_caller(make):
    first, again, other = (going(MANY)[0].reset(seed=[1, 2, seed]) for seed in (3, 3, 4))
    assert repr(first) == repr(again) != repr(other)
    env, twin = make(), make()
    for games, seed in ((env, 1), (twin, 2)):
        games.reset(seed=seed)
        games.np_random = np.random.default_rng(3)
    assert [repr(env.reset()) for _ in range(9)] == [repr(twin.reset()) for _ in range(9)]


def test_a_reset_mask_is_a_bool_array_with_one_entry_a_game():
    env, ones = TicTacToeVectorEnv(3), np.ones(3, dtype=bool)
    with refuses("reset_mask"):
        env.reset(options={"reset_mask": np.array([True, False, True])})
    env.reset(seed=0)
    for mask in (ones.tolist(), ones.astype(np.int8), ones[:2], ~ones):
        with refuses("reset_mask", "(3,)"):
            env.reset(options={"reset_mask": mask})


def always(board, seat=1):
    return {"start": lambda seats, rng: ([board] * len(seats), 0 * seats + seat)}


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        ({"k": 1, "side": "O", "start": "random"}, "O"),
        ({"start": lambda seats, rng: 3}, "start boards 3"),
        (always([0] * 8), "start boards shape"),
        (always([-1] + [0] * 8), "start [-1, 0, 0,"),
        (always([1, 1, 1, -1, -1, 0, 0, 0, 0]), '"XXX/OO./..."'),
        (always([1, 1, 0, -1, -1, 0, 1, 0, 0]), "opponent first move"),
        ({**always([1] + [0] * 8), "gravity": True}, "start gravity"),
        ({**always([0, 0, 0, 1, 0, 0, -1, 0, 0]), "gravity": True}, "start order"),
    ],
)
def test_a_start_from_no_unfinished_board_is_refused_and_leaves_no_game(make, arguments, mentions):
    env = make(opponent=CellPlayer(5), **arguments)
    env.reset(options={"board": ".../.../...", "side": "X"})
    with refuses(*mentions.split()):
        env.reset(seed=0)
    with pytest.raises(ResetNeeded):
        step(env, [0, 0, 0])


def test_an_opponent_that_may_end_the_game_before_the_learner_has_moved_is_refused(make):
    with refuses("first move"):
        make(k=1, side="O")
    for side, seed in product(("X", "random"), range(6)):  # only X is ever to move
        assert set(sides_of(make(k=1, side=side, start="random").reset(seed=seed))) == {"X"}
    make(side="X", opening="b2", opponent=[["random", 1], [CellPlayer(4), 0]]).reset(seed=0)


def test_a_picture_shows_the_last_move_also_of_the_next_game_and_of_one_that_was_loaded(make):
    lowest = SimpleNamespace(probs=lambda boards: np.eye(9)[(boards == 0).argmax(axis=1)])
    env = make(side="O", opponent=lowest, render_mode="ansi")

    def top_rows():
        pictures = [env.render()] if make is TicTacToeEnv else env.render()
        return {picture.splitlines()[1] for picture in pictures}

    for _ in range(2):
        env.reset()
        assert top_rows() == {"1  [X]  .   ."}
        step(env, [8, 8, 8])
        assert top_rows() == {"1   X  [X]  ."}
        if make is MANY:
            step(env, [7, 7, 7])
            assert top_rows() == {"1  [X]  .   ."}
            env.load_state_dict(env.state_dict())


@pytest.mark.parametrize("damage", [lambda _: None, lambda array: array[1:], np.float64])
@pytest.mark.parametrize("name", ["boards", "seats", "results", "over", "which", "begun", "steps"])
def test_a_state_with_a_damaged_array_is_refused_by_its_name_and_changes_nothing(name, damage):
    env, twin = going(MANY)
    state = env.state_dict()
    with refuses(f"{name} ", "(3,"):
        env.load_state_dict({**state, name: damage(state[name])})
    assert_same_games(env, twin)


@pytest.mark.parametrize("number", [-1, 2])
def test_a_state_with_an_opponent_that_is_not_in_the_pool_is_refused(number):
    env, twin = going(MANY)
    with refuses("which", 2, number):
        env.load_state_dict({**env.state_dict(), "which": np.full(3, number)})
    assert_same_games(env, twin)
    with pytest.raises(ResetNeeded):
        MANY().state_dict()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [*"bhilqBHILQefdg", np.array, Fraction], ids=str)
def test_a_reward_is_a_number_of_any_type(make, kind):
    reward = np.dtype(kind).type(5) if isinstance(kind, str) else kind(5)
    env = make(rewards={"win": reward, "draw": reward})
    assert env.config.reward_table.tolist() == [0, 5, 5, -1, -1, 5]


def test_a_policy_that_answers_wrongly_raises(make):
    """On a small board its table is checked before."""
    for player in (BROKEN, NEGATIVE, LITTLE):
        env = make(side="X", opponent=player, **LARGE)
        env.reset()
        for _ in range(2):
            with refuses("probabilities"):
                step(env, [0, 1, 2])
        assert not boards_of(env).any()


@BY_BOARD
def test_a_call_before_reset_and_after_close_is_refused(make, board):
    env = make(render_mode="ansi", **board)
    for call in (lambda: step(env, [0] * 3), env.action_masks, env.render, lambda: boards_of(env)):
        with refuses("reset", error=ResetNeeded):
            call()
    env.reset()
    env.close()
    env.close()
    for call in (lambda: step(env, [0] * 3), env.reset, lambda: env.set_opponent("random")):
        with refuses("closed", error=ClosedEnvironmentError):
            call()
