"""One game at a time, seen from outside; `test_config` tests what holds for many games too."""

import copy
import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from sample_players import CellPlayer, FixedPlayer
from text_cases import refuses

from tictactoe_env import IllegalMoveError, Rules, TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.observation import OBSERVATIONS, observe

SIZES = [(3, 3, 3), (2, 3, 2), (2, 5, 3), (4, 4, 4), (7, 8, 5), (1, 5, 2)]
REWARDS = {"win": 10, "draw": 5, "loss": -10, "illegal": -20}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("kind", OBSERVATIONS)
@pytest.mark.parametrize("side", ["X", "O"])
def test_every_result_has_the_documented_form_and_says_what_the_board_says(size, kind, side):
    rows, cols, _ = size
    env, rng = TicTacToeEnv("random", side, *size, observation=kind), np.random.default_rng(0)
    space = {
        "planes": gym.spaces.Box(0, 1, (2, rows, cols), np.int8),
        "grid": gym.spaces.Box(-1, 1, (rows, cols), np.int8),
        "flat": gym.spaces.Box(0, 1, (2 * rows * cols,), np.float32),
    }[kind]
    assert env.observation_space == space
    assert env.action_space == gym.spaces.Discrete(rows * cols)
    outcomes, seat = set(), 1 if side == "X" else -1
    for seed in range(12):
        seen, info = env.reset(seed=seed)
        assert (env.board != 0).sum() == (side == "O")
        reward, terminated = 0.0, False
        while True:
            assert list(info) == ["action_mask", "side", "outcome", "illegal_move"]
            assert {value.dtype for value in info.values()} == {np.dtype(np.int8)}
            assert seen.dtype == space.dtype
            assert np.array_equal(seen, observe(env.board[None], env.rules, kind, seat)[0])
            assert np.array_equal(info["action_mask"], env.board == 0)
            assert np.array_equal(env.action_masks(), env.board == 0)
            assert (env.action_masks().dtype, info["side"]) == (np.bool_, seat)
            assert (reward, info["illegal_move"]) == (info["outcome"], 0)
            if terminated:
                break
            assert reward == 0.0
            cell = int(rng.choice(np.flatnonzero(env.action_masks())))
            seen, reward, terminated, truncated, info = env.step(cell)
            assert (type(reward), type(terminated), truncated) == (float, bool, False)
        outcomes.add(int(info["outcome"]))
        x, o = (int(env.rules.has_line(int(marks))) for marks in env.rules.to_bits(env.board))
        assert info["outcome"] == seat * (x - o)
    assert outcomes & {1, -1} or size == (4, 4, 4)


@pytest.mark.parametrize(
    ("board", "side", "cell", "reply", "outcome", "illegal", "arguments"),
    [
        ("XX./OO./...", "X", 2, 5, "win", False, {}),
        ("XX./OO./X..", "O", 5, 8, "win", False, {}),
        ("XX./OO./...", "X", 8, 5, "loss", False, {}),
        ("XX./O../O..", "X", 8, 2, None, False, {}),
        ("XOX/XOO/OX.", "X", 8, 8, "draw", False, {}),
        ("XOX/XO./O.X", "X", 7, 5, "draw", False, {}),
        ("XX./OO./...", "X", 0, 5, "loss", True, {}),
        ("XX./OO./...", "X", 3, 5, "loss", True, {}),
        ("XX./OO./...", "X", 8, 0, "win", True, {}),
        ("XX./OO./...", "X", 8, 8, "win", True, {}),
        ("X../.../...", "O", 1, 1, "win", True, {}),
        # The opponent's illegal move wins, also where the learner's would raise.
        (".../.../...", "X", 4, 4, "win", True, {"illegal": "raise"}),
        # An early draw by the learner's move, and by the reply.
        ("OXO/XX./.OX", "O", 5, 5, "draw", False, {"early_draw": True}),
        ("OXO/X../.OX", "X", 4, 5, "draw", False, {"early_draw": True}),
    ],
)
def test_a_game_ends_as_the_board_says(board, side, cell, reply, outcome, illegal, arguments):
    env = TicTacToeEnv(opponent=CellPlayer(reply), rewards=REWARDS, **arguments)
    env.reset(seed=0, options={"board": board, "side": side})
    seen, reward, terminated, truncated, info = env.step(cell)
    assert (terminated, truncated) == (outcome is not None, False)
    number = {"win": 1, "loss": -1}.get(outcome, 0)
    assert (info["outcome"], info["illegal_move"]) == (number, illegal)
    assert reward == {None: 0, "loss": -20 if illegal else -10}.get(outcome, REWARDS.get(outcome))
    if terminated:
        for again in (env, copy.deepcopy(env)):
            with refuses("reset", error=ResetNeeded):
                again.step(None)
    seat = 1 if side == "X" else -1
    assert np.array_equal(seen, observe(env.board[None], Rules(), seats=seat)[0])


def test_both_sides_start_where_the_arguments_say_and_copies_go_on_alone():
    assert TicTacToeEnv(None, opening="b2").reset()[1]["side"] == -1
    env = TicTacToeEnv(None, start="random")
    sides = [int(env.reset(seed=seed)[1]["side"]) for seed in range(50)]
    assert all(side == 1 - 2 * env.board.sum() for side in sides[-1:])
    assert set(sides) == {1, -1}
    drawn = TicTacToeEnv(None, start=lambda seats, rng: (np.eye(1, 9, dtype=int), seats))
    assert drawn.reset()[1]["side"] == -1
    _, info = env.reset(options={"board": "X.O/.X./..."})
    assert (info["side"], env.board.tolist()) == (-1, [1, 0, -1, 0, 1, 0, 0, 0, 0])
    twin = copy.deepcopy(env)
    assert twin.step(8)[2] is False
    assert (env.board[8], twin.board[8]) == (0, -1)
    raising = TicTacToeEnv(None, illegal="raise")
    raising.reset()
    raising.step(4)
    with pytest.raises(IllegalMoveError):
        raising.step(4)
    assert raising.step(0)[-1]["side"] == 1, "the refused move changed nothing"


def test_what_belongs_to_an_opponent_is_refused_where_there_is_none():
    env = TicTacToeEnv(None)
    for options in ({"side": "X"}, {"opponent": "random"}):
        with refuses(*options):
            env.reset(options=options)
    with refuses("opponent=None", "side="):
        TicTacToeEnv(None, side="X")
    for made, opponent in ((env, "random"), (TicTacToeEnv(), None)):
        with refuses("opponent=None"):
            made.set_opponent(opponent)
    with refuses('"self"'):
        env.add_snapshot(FixedPlayer(0))
    with refuses("opponent", None):
        TicTacToeVectorEnv(2, opponent=None)


BAD_ACTIONS = [
    *(True, False, np.True_, np.array(True), 0.0, 4.5, np.float64(4), np.array(4.0), math.nan),
    *(math.inf, -math.inf, None, "4", "", b"4", [4], (4,), np.array([4]), {}, 4j, slice(4), ...),
    *(-1, 9, 2**63, -(2**63), 2**64, np.int64(-1), np.int64(9), np.uint64(2**63)),
    *(np.timedelta64(4, "s"), np.datetime64(4, "s"), np.ma.array(4, mask=True), np.ma.masked),
]


@pytest.mark.parametrize("board", [{}, {"rows": 4, "cols": 2, "k": 2}], ids=str)
def test_an_action_that_is_no_cell_is_refused_and_the_game_continues(board):
    env = TicTacToeEnv(side="X", opponent=FixedPlayer(0), **board)
    env.reset(seed=0)
    last, state = env.rules.cells - 1, env.np_random.bit_generator.state
    for action in [*BAD_ACTIONS, env.rules.cells]:
        with refuses("action", f"to {last}"):
            env.step(action)
    assert not env.board.any()
    assert env.np_random.bit_generator.state == state
    for kind in (int, np.int64, np.int8, np.uint8, np.uint64, np.array):
        assert env.step(kind(4))[2] is False
        assert env.board[4] == 1
        env.reset()


def assert_share(count, total, share):
    """Within five standard deviations."""
    assert abs(count - share * total) < 5 * math.sqrt(total * share * (1 - share))


def test_sides_and_opponents_are_drawn_anew_for_each_game_by_their_weights():
    env = TicTacToeEnv(opponent=[[CellPlayer(0), 3], [CellPlayer(8), 1], [CellPlayer(4), 0]])
    env.reset(seed=0)
    games = [env.reset() for _ in range(10_000)]
    assert_share(sum(info["side"] > 0 for _, info in games), 10_000, 0.5)
    replies = [seen[9:].argmax() for seen, info in games if info["side"] < 0]
    assert set(replies) == {0, 8}
    assert_share(replies.count(0), len(replies), 0.75)
    for seed in range(50):  # the same opponent throughout a game: its second move is illegal
        env.reset(seed=seed, options={"side": "O"})
        *_, info = env.step(5)
        assert (info["outcome"], info["illegal_move"]) == (1, 1)


@pytest.mark.parametrize("cols", [3, 4])
def test_the_random_opponent_replies_uniformly(cols):
    env, games = TicTacToeEnv(side="O", rows=3, cols=cols), 6_000
    env.reset(seed=0)
    counts = sum(env.reset()[0][env.rules.cells :] for _ in range(games))
    expected, degrees = games / env.rules.cells, env.rules.cells - 1
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < degrees + 5 * math.sqrt(2 * degrees)
