"""Environments against plain rules, whatever they are asked for: single ones and vector ones.

A referee reads boards from observations, in plain Python. It shares nothing with the package: its
lines are those of oracles/plain_game.py. Refused calls must change neither the games nor the
generator, copies must go on as the original does, and what is returned must be the caller's own.
"""

import copy
import pickle
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from hypothesis import reject, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from oracles.plain_game import lines_of, plain

from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.notation import board_text, cell_text
from tictactoe_env.rules import IllegalMoveError, Rules

MODES = ("SAME_STEP", "NEXT_STEP", "DISABLED")
MOST_CELLS = 9  # of a board whose perfect moves are known by recursion
INFOS = ("action_mask", "side", "outcome", "illegal_move")
SEEDS, SIDES = st.integers(0, 2**31), ("X", "O", "random", "alternate")
DRAWS = st.randoms(use_true_random=False)
RULES = st.just(Rules()) | st.tuples(
    st.integers(1, 8), st.integers(1, 8), st.integers(2, 5)
).filter(lambda size: size[2] <= max(size[:2]) and size[0] * (size[1] + 1) <= 64).map(
    lambda size: Rules(*size)
)


class Anywhere:
    """Plays on every cell alike, taken or free."""

    def probs(self, boards):
        return np.full(boards.shape, 1 / boards.shape[1])


class End(NamedTuple):
    """How a move ends a game for the learner. over: whether it does; the rest is 0 otherwise."""

    over: bool
    outcome: int = 0
    illegal: int = 0


@dataclass(frozen=True)
class Referee:
    """Knows the rules of a board, and how an environment was made.

    made: its options. opening: the cells of the forced first moves.
    """

    rules: Rules
    made: Any
    opening: tuple[int, ...] = ()

    def board(self, observation, seat):
        """The board that an observation shows to this side."""
        flat, cells = [float(number) for number in observation.reshape(-1)], self.rules.cells
        if self.made["observation"] != "grid":
            assert set(flat) <= {0, 1}
            flat = [flat[at] - flat[at + cells] for at in range(len(flat) - cells)]
        assert len(flat) == cells
        assert set(flat) <= {-1, 0, 1}
        return tuple(int(number) * seat for number in flat)

    def winner(self, board):
        """+1 or -1 for the side with a line, 0 for a draw, None if the game goes on."""
        lines = lines_of(self.rules.rows, self.rules.cols, self.rules.k)
        marks = [{board[cell] for cell in line} for line in lines]
        for side in (1, -1):
            if {side} in marks:
                return side
        is_dead = self.made["early_draw"] and all({1, -1} <= both for both in marks)
        return 0 if is_dead or 0 not in board else None

    @staticmethod
    def mover(board):
        return 1 if board.count(1) == board.count(-1) else -1

    def begins(self, board, seat, side, game):
        """Check the first board of a game. game: its number, for the side "alternate"."""
        sides = {"X": (1,), "O": (-1,), "random": (1, -1), "alternate": (-1 if game % 2 else 1,)}
        opens = -1 if len(self.opening) % 2 else 1
        replies = self.made["opponent"] is not None and opens != seat
        assert seat in sides[side]
        assert seat == self.mover(board)
        assert [board[cell] for cell in self.opening] == [1, -1][: len(self.opening)]
        assert len(board) - board.count(0) == len(self.opening) + replies
        assert self.winner(board) is None

    def after(self, before, seat, cell, shown):
        """How a game goes on after a move, and the reply that the board `shown` afterwards has."""
        opponent = self.made["opponent"]
        if before[cell]:
            assert shown == before
            return End(True, -1, 1)
        moved = (*before[:cell], seat, *before[cell + 1 :])
        winner = self.winner(moved)
        if winner is not None or opponent is None:
            assert shown == moved
            return End(winner is not None, seat * (winner or 0))
        if shown == moved:
            assert not isinstance(opponent, str), "an opponent that makes legal moves made none"
            return End(True, 1, 1)
        (reply,) = (at for at in range(len(shown)) if shown[at] != moved[at])
        assert (moved[reply], shown[reply]) == (0, -seat)
        if opponent in ("minimax", "minimax-first") and not self.made["early_draw"]:
            assert reply in plain(self.rules).best(moved)
        winner = self.winner(shown)
        return End(winner is not None, seat * (winner or 0))

    def reward(self, end):
        """The reward of a step."""
        if not end.over:
            return 0.0
        names = {1: "win", 0: "draw", -1: "illegal" if end.illegal else "loss"}
        return self.made["rewards"][names[end.outcome]]


@st.composite
def referees(draw):
    """The referee of an environment of any kind."""
    rules = draw(RULES)
    is_small, is_wide = rules.cells <= MOST_CELLS, rules.cells >= 6 and rules.k >= 3
    opponents = ["random", Anywhere(), [["random", 1], [Anywhere(), 2]], None]
    opponents += ["minimax", "minimax-first", "minimax-slip=0.3"] * is_small
    opponent, rewards = draw(st.sampled_from(opponents)), st.sampled_from((-2.0, -1.0, 0.0, 0.5))
    opening = draw(st.lists(st.integers(0, rules.cells - 1), max_size=1)) if is_wide else ()
    made = {
        "opponent": opponent,
        "side": draw(st.sampled_from(SIDES)) if opponent is not None else "random",
        **{"rows": rules.rows, "cols": rules.cols, "k": rules.k},
        "illegal": draw(st.sampled_from(("lose", "raise"))),
        "rewards": {name: draw(rewards) for name in ("win", "draw", "loss")} | {"illegal": -7.0},
        "observation": draw(st.sampled_from(("planes", "grid", "flat"))),
        "opening": " ".join(cell_text(cell, rules) for cell in opening),
        "early_draw": is_wide and draw(st.booleans()),
    }
    return Referee(rules, made, tuple(opening))


def made_by(environment, referee, **options):
    """An environment; the example is left out where the opponent could end the game at once."""
    try:
        return environment(**referee.made, **options)
    except ValueError:
        assert referee.made["early_draw"] or not isinstance(referee.made["opponent"], str)
        reject()


def cell_of(draw, board):
    """A free cell, in one of eight cases any cell."""
    free = [cell for cell, mark in enumerate(board) if mark == 0]
    return draw.choice(free) if free and draw.random() < 7 / 8 else draw.randrange(len(board))


def masks_of(boards):
    return [[int(mark == 0) for mark in board] for board in boards]


def generator_of(env):
    return repr(env.unwrapped.np_random.bit_generator.state)


@contextmanager
def refused(env, boards, *errors):
    """Check that a call raises one of these errors, draws no number and changes no board."""
    before = generator_of(env)
    with pytest.raises(errors):
        yield
    assert np.array_equal(env.board if hasattr(env, "board") else env.boards, boards)
    assert generator_of(env) == before


def copied(draw, env):
    """A copy of an environment."""
    return draw.choice((copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))))(env)


class OneGame(RuleBasedStateMachine):
    """A single environment: its caller moves, resets, copies it, changes its opponent at will."""

    @initialize(referee=referees(), seed=SEEDS)
    def make(self, referee, seed):
        self.referee, self.games = referee, 0
        self.env = made_by(TicTacToeEnv, referee)
        with pytest.raises(ResetNeeded):
            self.env.step(0)
        self.reset(seed, None)

    @rule(seed=st.none() | SEEDS, side=st.none() | st.sampled_from(SIDES[:2]))
    def reset(self, seed, side):
        is_as_made = side is None or not isinstance(self.referee.made["opponent"], str)
        own = self.referee.made["side"]
        seen, info = self.env.reset(seed=seed, options={} if is_as_made else {"side": side})
        self.games = 0 if seed is not None else self.games
        self.board, self.seat, self.end = self.seen(seen, info), int(info["side"]), End(False)
        self.referee.begins(self.board, self.seat, own if is_as_made else side, self.games)
        self.games += 1
        self.check(seen, info)

    @rule(moves=DRAWS, count=st.integers(0, 64))
    def reset_to_a_board(self, moves, count):
        """An unfinished board is where the game starts, a finished one is refused."""
        board, rules = (0,) * self.referee.rules.cells, self.referee.rules
        cells = moves.sample(range(rules.cells), min(count, rules.cells))
        for number, cell in enumerate(cells):
            if self.referee.winner(board) is None:
                board = (*board[:cell], -1 if number % 2 else 1, *board[cell + 1 :])
        text, mover = board_text(board, rules), self.referee.mover(board)
        options = {"board": text}
        if self.referee.made["opponent"] is not None:
            options["side"] = "X" if mover == 1 else "O"
        if self.referee.winner(board) is not None:
            with refused(self.env, self.board, ValueError):
                self.env.reset(options=options)
            return
        seen, info = self.env.reset(options=options)
        self.games += 1
        self.board, self.seat, self.end = board, mover, End(False)
        assert (self.seen(seen, info), info["side"]) == (board, mover)
        self.check(seen, info)

    @precondition(lambda self: not self.end.over)
    @rule(draw=DRAWS)
    def step(self, draw):
        cell = cell_of(draw, self.board)
        if self.board[cell] and self.referee.made["illegal"] == "raise":
            with refused(self.env, self.board, IllegalMoveError):
                self.env.step(cell)
            return
        result = self.env.step(draw.choice((int, np.int64, np.int8))(cell))
        seen, reward, terminated, truncated, info = result
        after = self.seen(seen, info)
        self.end = self.referee.after(self.board, self.seat, cell, after)
        self.board = after
        assert (terminated, info["outcome"], info["illegal_move"]) == self.end
        assert (reward, truncated) == (self.referee.reward(self.end), False)
        self.seat *= -1 if self.referee.made["opponent"] is None else 1
        self.check(seen, info)

    def seen(self, observation, info):
        return self.referee.board(observation, int(info["side"]))

    def check(self, seen, info):
        """Check what is told beside the result of a call, and that it is the caller's own."""
        assert tuple(info) == INFOS
        assert info["side"] == self.seat
        assert [info["action_mask"].tolist()] == masks_of([self.board])
        seen[...] = info["action_mask"][...] = 7
        assert tuple(self.env.board.tolist()) == self.board
        assert self.env.action_masks().tolist() == [mark == 0 for mark in self.board]

    @precondition(lambda self: self.end.over)
    @rule()
    def step_after_the_end(self):
        with refused(self.env, self.board, ResetNeeded):
            self.env.step(0)

    @rule(wrong=st.sampled_from([-1, 64, 2**70, 1.0, True, "a1", None, [0], np.float32(1)]))
    def refuse(self, wrong):
        with refused(self.env, self.board, ValueError, TypeError, ResetNeeded):
            self.env.step(wrong)

    @precondition(lambda self: self.referee.made["opponent"] is not None)
    @rule(opponent=st.sampled_from(("random", [["random", 1], ["search-depth=1", 1]])))
    def change_the_opponent(self, opponent):
        self.env.set_opponent(opponent)
        self.referee = replace(self.referee, made={**self.referee.made, "opponent": opponent})

    @precondition(lambda self: not self.end.over)
    @rule(draw=DRAWS)
    def copy(self, draw):
        """Two copies go on alike, and the game goes on with a third."""
        one, two, self.env = (copied(draw, self.env) for _ in range(3))
        cell = self.board.index(0)
        (seen, *told), (same, *again) = one.step(cell), two.step(cell)
        assert np.array_equal(seen, same)
        assert (told[:3], generator_of(one)) == (again[:3], generator_of(two))


class ManyGames(RuleBasedStateMachine):
    """A vector environment, in each autoreset mode and with a limit of steps or without one."""

    @initialize(
        referee=referees().filter(lambda found: found.made["opponent"] is not None),
        count=st.sampled_from((1, 2, 5, 17)),
        mode=st.sampled_from(MODES),
        limit=st.sampled_from((None, 1, 3)),
        seed=SEEDS,
    )
    def make(self, referee, count, mode, limit, seed):
        self.referee, self.mode, self.limit = referee, mode, limit
        options = {"num_envs": count, "autoreset_mode": mode, "max_episode_steps": limit}
        self.env = made_by(TicTacToeVectorEnv, referee, **options)
        self.boards, self.seats, self.over = [()] * count, [0] * count, [False] * count
        self.games, self.moves = list(range(count)), [0] * count
        seen, infos = self.env.reset(seed=seed)
        for row in range(count):
            self.begin(row, seen, infos)
        self.check(seen, infos)

    def begin(self, row, seen, infos):
        """Note the first board of a game."""
        seat = self.seats[row] = int(infos["side"][row])
        board = self.boards[row] = self.referee.board(seen[row], seat)
        self.referee.begins(board, seat, self.referee.made["side"], self.games[row])
        self.games[row] += 1
        self.moves[row], self.over[row] = 0, False

    @precondition(lambda self: self.mode == "DISABLED" and any(self.over))
    @rule(draw=DRAWS)
    def reset_some(self, draw):
        """Begin some of the games that are over; a step before that is refused."""
        with refused(self.env, self.boards, ResetNeeded):
            self.env.step([0] * len(self.over))
        mask = np.array([over and draw.random() < 0.7 for over in self.over])
        if mask.any():
            seen, infos = self.env.reset(options={"reset_mask": mask})
            for row in np.flatnonzero(mask).tolist():
                self.begin(row, seen, infos)

    @precondition(lambda self: not (self.mode == "DISABLED" and any(self.over)))
    @rule(draw=DRAWS)
    def step(self, draw):
        cells = [cell_of(draw, board) for board in self.boards]
        taken = [board[cell] for board, cell in zip(self.boards, cells, strict=True)]
        is_illegal = any(mark and not over for mark, over in zip(taken, self.over, strict=True))
        if is_illegal and self.referee.made["illegal"] == "raise":
            with refused(self.env, self.boards, IllegalMoveError):
                self.env.step(cells)
            return
        results = self.env.step(np.array(cells, draw.choice((np.int64, np.int32, np.uint8))))
        for row, cell in enumerate(cells):
            self.check_row(row, cell, *results)
        self.check(results[0], results[4])

    @rule(draw=DRAWS)
    def refuse(self, draw):
        count = len(self.over)
        wrong = draw.choice(([-1] * count, [0.5] * count, [0] * (count + 1), None))
        with refused(self.env, self.boards, ValueError, ResetNeeded):
            self.env.step(wrong)

    @precondition(lambda self: not any(self.over))
    @rule(draw=DRAWS)
    def copy(self, draw):
        """Two copies go on alike, and the games go on with a third."""
        one, two, self.env = (copied(draw, self.env) for _ in range(3))
        cells = [board.index(0) for board in self.boards]
        results, again = one.step(cells), two.step(cells)
        assert all(np.array_equal(a, b) for a, b in zip(results[:4], again[:4], strict=True))
        assert generator_of(one) == generator_of(two)

    def check_row(self, row, cell, seen, rewards, terminated, truncated, infos):
        """Check what a step did to one game."""
        found = (bool(terminated[row]), bool(truncated[row]), float(rewards[row]))
        if self.over[row]:  # NEXT_STEP: the action is ignored, and a new game begins
            assert found == (False, False, 0.0)
            self.begin(row, seen, infos)
            return
        is_final = self.mode == "SAME_STEP" and (found[0] or found[1])
        shown, told = (infos["final_obs"], infos["final_info"]) if is_final else (seen, infos)
        assert not is_final or infos["_final_obs"][row]
        before, seat = self.boards[row], self.seats[row]
        after = self.boards[row] = self.referee.board(shown[row], seat)
        end = self.referee.after(before, seat, cell, after)
        self.moves[row] += 1
        is_late = self.limit is not None and self.moves[row] >= self.limit and not end.over
        assert found == (end.over, is_late, self.referee.reward(end))
        assert (told["side"][row], told["outcome"][row], told["illegal_move"][row]) == (
            seat,
            *end[1:],
        )
        assert [told["action_mask"][row].tolist()] == masks_of([after])
        self.over[row] = end.over or is_late
        if is_final:
            self.begin(row, seen, infos)

    def check(self, seen, infos):
        """Check what is told of all games, and that it is the caller's own."""
        assert infos["side"].tolist() == self.seats
        assert infos["action_mask"].tolist() == masks_of(self.boards)
        seen[...] = infos["action_mask"][...] = 7
        assert [tuple(board) for board in self.env.boards.tolist()] == self.boards
        assert self.env.action_masks().tolist() == [
            [mark == 0 for mark in board] for board in self.boards
        ]


@pytest.mark.parametrize("machine", [OneGame, ManyGames])
def test_every_step_follows_the_rules(machine):
    run_state_machine_as_test(machine, settings=settings())
