"""One game at a time, seen from outside; `test_config` tests what holds for many games too."""

from __future__ import annotations

import copy
import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from sample_players import CellPlayer, FixedPlayer

from tictactoe_env import Rules, TicTacToeEnv
from tictactoe_env.notation import parse_board
from tictactoe_env.observation import observe

BOARDS = [
    {},
    {"rows": 2, "cols": 3, "k": 2},
    {"rows": 2, "cols": 5, "k": 3},
    {"rows": 4, "cols": 4, "k": 4},
    {"rows": 7, "cols": 8, "k": 5},
    {"rows": 1, "cols": 5, "k": 2},
]
BY_BOARD = pytest.mark.parametrize("board", BOARDS, ids=str)


def visible(env):
    """Everything that one can see of a game, and of the random numbers to come."""
    return env.board.tolist(), env.action_masks().tolist(), env.np_random.bit_generator.state


def play_out(env, rng, illegal_share=0.0):
    """Steps to the end of the game with random moves: all that step returned."""
    results = []
    while not results or not results[-1][2]:
        legal = env.action_masks()
        cells = range(len(legal)) if rng.random() < illegal_share else np.flatnonzero(legal)
        results.append(env.step(int(rng.choice(cells))))
    return results


# --- what is returned -----------------------------------------------------------------------------


@BY_BOARD
@pytest.mark.parametrize("observation", ["planes", "grid"])
@pytest.mark.parametrize("side", ["X", "O"])
def test_every_result_has_the_documented_form_and_says_what_the_board_says(
    board, observation, side
):
    env, rng = TicTacToeEnv(side=side, observation=observation, **board), np.random.default_rng(0)
    rows, cols = env.rules.rows, env.rules.cols
    shape, low = ((2, rows, cols), 0) if observation == "planes" else ((rows, cols), -1)
    assert env.observation_space == gym.spaces.Box(low, 1, shape, np.int8)
    assert env.action_space == gym.spaces.Discrete(rows * cols)
    seat, outcomes = 1 if side == "X" else -1, set()

    def check(seen, info, last):
        assert seen.dtype == info["action_mask"].dtype == np.int8
        assert env.observation_space.contains(seen)
        grid = env.board.reshape(rows, cols) * seat
        expected = np.stack([grid == 1, grid == -1]) if observation == "planes" else grid
        assert np.array_equal(seen, expected)
        assert np.array_equal(info["action_mask"], env.board == 0)
        assert env.action_masks().dtype == np.bool_
        assert np.array_equal(env.action_masks(), env.board == 0)
        assert info["side"] == side
        further = {"outcome", "illegal_move"} if last else set()
        assert set(info) == {"action_mask", "side"} | further

    for _ in range(12):
        seen, info = env.reset(seed=int(rng.integers(1000)))
        check(seen, info, False)
        assert (env.board != 0).sum() == (side == "O")
        terminated = False
        while not terminated:
            cell = int(rng.choice(np.flatnonzero(env.action_masks())))
            seen, reward, terminated, truncated, info = env.step(cell)
            assert (type(reward), type(terminated), truncated) == (float, bool, False)
            check(seen, info, terminated)
            assert terminated or reward == 0.0
        outcomes.add(info["outcome"])
        assert type(info["outcome"]) is str
        assert info["illegal_move"] is False
        assert reward == {"win": 1.0, "draw": 0.0, "loss": -1.0}[info["outcome"]]
    assert outcomes & {"win", "loss"} or board.get("k", 3) == 4


# --- how games end --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("board", "side", "cell", "opponent", "outcome", "illegal"),
    [
        ("XX./OO./...", "X", 2, "random", "win", False),
        ("XX./OO./X..", "O", 5, "random", "win", False),
        ("XX./OO./...", "X", 8, CellPlayer(5), "loss", False),
        ("XX./O../O..", "X", 8, CellPlayer(2), None, False),
        ("XOX/XOO/OX.", "X", 8, "random", "draw", False),
        ("XOX/XO./O.X", "X", 7, CellPlayer(5), "draw", False),
        ("XX./OO./...", "X", 0, "random", "loss", True),
        ("XX./OO./...", "X", 3, "random", "loss", True),
        ("XX./OO./...", "X", 8, CellPlayer(0), "win", True),
        ("XX./OO./...", "X", 8, CellPlayer(8), "win", True),
        ("X../.../...", "O", 1, CellPlayer(1), "win", True),
    ],
)
def test_a_game_ends_as_the_board_says(board, side, cell, opponent, outcome, illegal):
    rewards = {"win": 10, "draw": 5, "loss": -10, "illegal": -20}
    env = TicTacToeEnv(opponent=opponent, rewards=rewards)
    env.reset(seed=0, options={"board": board, "side": side})
    seen, reward, terminated, truncated, info = env.step(cell)
    assert truncated is False
    assert terminated is (outcome is not None)
    assert info.get("outcome") == outcome
    assert info.get("illegal_move", False) is illegal
    expected = {None: 0.0, "win": 10.0, "draw": 5.0, "loss": -20.0 if illegal else -10.0}[outcome]
    assert reward == expected
    if terminated:
        for again in (env, copy.deepcopy(env)):
            with pytest.raises(ResetNeeded, match="the game is over"):
                again.step(None)
    seat = 1 if side == "X" else -1
    assert np.array_equal(seen, observe(env.board[None], Rules(), "planes", seat)[0])


def test_early_draw_can_come_before_the_opponents_reply_or_with_it():
    env = TicTacToeEnv(early_draw=True, opponent=CellPlayer(5))
    for board, side, cell in (("OXO/XX./.OX", "O", 5), ("OXO/X../.OX", "X", 4)):
        env.reset(options={"board": board, "side": side})
        *_, terminated, _, info = env.step(cell)
        assert env.board.tolist() == parse_board("OXO/XXO/.OX", Rules()).tolist()
        assert (terminated, info["outcome"], info["illegal_move"]) == (True, "draw", False)


def test_an_opponents_illegal_move_wins_even_where_the_learners_would_raise():
    env = TicTacToeEnv(side="X", illegal="raise", opponent=CellPlayer(4))
    env.reset()
    *_, info = env.step(4)
    assert (info["outcome"], info["illegal_move"]) == ("win", True)


# --- actions --------------------------------------------------------------------------------------

BAD_ACTIONS = [
    *(True, False, np.True_, np.array(True), 0.0, 4.5, np.float64(4), np.array(4.0), math.nan),
    *(math.inf, -math.inf, None, "4", "", b"4", [4], (4,), np.array([4]), {}, 4j, slice(4), ...),
    *(-1, 9, 2**63, -(2**63), 2**64, np.int64(-1), np.int64(9), np.uint64(2**63)),
]


@pytest.mark.parametrize("action", BAD_ACTIONS, ids=repr)
def test_an_action_that_is_no_cell_is_refused_and_the_game_continues(action):
    for board in ({}, {"rows": 4, "cols": 2, "k": 2}):  # cell 8 is on the first board only
        env = TicTacToeEnv(side="X", opponent=FixedPlayer(0), **board)
        env.reset(seed=0)
        before, last = visible(env), env.rules.cells - 1
        with pytest.raises(ValueError, match=f"must be a whole number from 0 to {last}, got"):
            env.step(action)
        assert visible(env) == before
        assert env.step(0)[2] is False


@pytest.mark.parametrize("kind", [int, np.int64, np.int8, np.uint8, np.uint64, np.array])
def test_any_kind_of_whole_number_is_an_action(kind):
    env = TicTacToeEnv(side="X", opponent=FixedPlayer(0))
    env.reset()
    env.step(kind(4))
    assert env.board[4] == 1


# --- chance and opponents -------------------------------------------------------------------------


def assert_share(count, total, share):
    """Within five standard deviations."""
    assert abs(count - share * total) < 5 * math.sqrt(total * share * (1 - share))


def test_sides_and_opponents_are_drawn_anew_for_each_game_by_their_weights():
    pool = [[CellPlayer(0), 3], [CellPlayer(8), 1], [CellPlayer(4), 0]]
    env = TicTacToeEnv(opponent=pool)
    env.reset(seed=0)
    games = [env.reset() for _ in range(10_000)]
    assert_share(sum(info["side"] == "X" for _, info in games), 10_000, 0.5)
    replies = [seen[1].argmax() for seen, info in games if info["side"] == "O"]
    assert set(replies) == {0, 8}
    assert_share(replies.count(0), len(replies), 0.75)
    for seed in range(50):  # the same opponent throughout a game: its second move is illegal
        env.reset(seed=seed, options={"side": "O"})
        *_, info = env.step(5)
        assert (info["outcome"], info["illegal_move"]) == ("win", True)


@pytest.mark.parametrize("board", [{}, {"rows": 3, "cols": 4, "k": 3}], ids=str)
def test_the_random_opponent_replies_uniformly(board):
    env, games = TicTacToeEnv(side="O", **board), 6_000
    env.reset(seed=0)
    counts = sum(env.reset()[0][1].ravel().astype(int) for _ in range(games))
    expected, degrees = games / env.rules.cells, env.rules.cells - 1
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < degrees + 5 * math.sqrt(2 * degrees)


def test_a_policy_that_answers_wrongly_on_a_large_board_leaves_the_game_as_it_was():
    class Broken:
        def probs(self, boards):
            return np.full(boards.shape, 2.0)

    env = TicTacToeEnv(side="X", rows=5, cols=5, k=4, opponent=Broken())
    env.reset()
    with pytest.raises(ValueError, match="probabilities must sum to 1"):
        env.step(0)
    assert env.board.tolist() == [0] * 25
