"""Environments against plain rules, whatever they are asked for: single ones and vector ones.

A referee reads boards, or their images, from observations, in plain Python. It shares nothing with
the package: its lines are those of oracles/plain_game.py. Refused calls must change neither the
games nor the generator, copies and saved games must go on as the original does, the same seed must
give the same games, and what is returned must be the caller's own.
"""

import copy
import math
import pickle
from dataclasses import astuple, dataclass, replace
from functools import partial
from random import Random
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
from oracles.plain_game import PlainGame, first_image, lines_of, plain
from sample_players import Stubborn

from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.notation import board_text, cell_text
from tictactoe_env.rules import IllegalMoveError, Rules

INFOS = ("action_mask", "side", "outcome", "illegal_move")
FORMS = ("both", "single", "SAME_STEP", "NEXT_STEP", "DISABLED")
SEEDS, SIDES = st.integers(0, 2**31), ("X", "O", "random", "alternate")
DRAWS = st.builds(Random, SEEDS)
WRONG = [-1, 64, 2**70, np.uint64(2**63), 0.5, 4.0, math.nan, True, np.array(True), None]
WRONG += ["a1", b"4", [0], {}, 4j, np.timedelta64(4, "s"), np.datetime64(4, "s")]
SIZES = st.tuples(st.integers(1, 8), st.integers(1, 7), st.integers(2, 5))
SIZES = st.just((3, 3, 3)) | SIZES.filter(lambda size: size[2] <= max(size[:2]))


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

    def image(self, board):
        """The board that is shown; with symmetric=True the referee plays on images only."""
        board = tuple(int(mark) for mark in board)
        if not self.made["symmetric"]:
            return board
        return first_image(board, self.rules.rows, self.rules.cols, self.rules.gravity)

    def shown(self, env):
        """The boards of an environment as they are shown."""
        return [self.image(board) for board in env.boards.tolist()]

    def winner(self, board):
        """+1 or -1 for the side with a line, 0 for a draw, None if the game goes on."""
        outcome, lines = plain(self.rules).outcome(board), lines_of(*astuple(self.rules)[:3])
        if outcome is None and self.made["early_draw"]:
            is_dead = all({1, -1} <= {board[cell] for cell in line} for line in lines)
            return 0 if is_dead else None
        return outcome

    def begins(self, board, seat, game):
        """Check the first board of a game. game: its number, for the side "alternate"."""
        sides = {"X": (1,), "O": (-1,), "random": (1, -1), "alternate": (-1 if game % 2 else 1,)}
        opens = -1 if len(self.opening) % 2 else 1
        replies = self.made["opponent"] is not None and opens != seat
        assert seat in sides[self.made["side"]]
        assert seat == PlainGame.mover(board)
        assert self.winner(board) is None
        if self.made["start"] == "empty":
            assert all(self.made["symmetric"] or board[cell] == 1 for cell in self.opening)
            assert len(board) - board.count(0) == len(self.opening) + replies

    def after(self, before, seat, cell, shown):
        """How a game goes on after a move, and the reply that the board `shown` afterwards has."""
        opponent = self.made["opponent"]
        game = plain(self.rules)
        if cell not in game.legal(before):
            assert shown == before
            return End(True, -1, 1)
        moved = game.after(before, cell)
        winner = self.winner(moved)
        if winner is not None or opponent is None:
            assert shown == self.image(moved)
            return End(winner is not None, seat * (winner or 0))
        if shown == self.image(moved):
            assert not isinstance(opponent, str), "an opponent that makes legal moves made none"
            return End(True, 1, 1)
        replies = {at: self.image(game.after(moved, at)) for at in game.legal(moved)}
        replies = [at for at, image in replies.items() if image == shown]
        assert replies
        if opponent in ("minimax", "minimax-first") and not self.made["early_draw"]:
            assert {*replies} & {*game.best(moved)}
        winner = self.winner(shown)
        return End(winner is not None, seat * (winner or 0))

    def cell(self, action, board):
        """The cell of an action: of a column its lowest free cell, or the top one if it is full."""
        if self.made["actions"] == "cells":
            return action
        column = range(action, self.rules.cells, self.rules.cols)
        return max((cell for cell in column if not board[cell]), default=action)

    def mask(self, board, is_over=False):
        """1 for each legal action, and for every action after the end."""
        count = self.rules.cols if self.made["actions"] == "columns" else self.rules.cells
        legal = plain(self.rules).legal(board)
        return [int(is_over or self.cell(action, board) in legal) for action in range(count)]

    def action(self, draw, board):
        """A legal action, in one of four cases any."""
        mask = self.mask(board)
        legal = [action for action, is_legal in enumerate(mask) if is_legal]
        return draw.choice(legal) if legal and draw.random() < 3 / 4 else draw.randrange(len(mask))

    def reward(self, end):
        """The reward of a step."""
        if not end.over:
            return 0.0
        names = {1: "win", 0: "draw", -1: "illegal" if end.illegal else "loss"}
        return self.made["rewards"][names[end.outcome]]


@st.composite
def referees(draw):
    """The referee of an environment of any kind."""
    rules = Rules(*draw(SIZES), gravity=draw(st.booleans()))
    is_small, is_wide = rules.cells <= 9, rules.cells >= 6 and rules.k >= 3
    opponents = ["random", Stubborn(), [["random", 1], [Stubborn(), 2]]]
    opponents += ["minimax", "minimax-first", "minimax-slip=0.3"] * is_small
    rewards = st.sampled_from((-2.0, -1.0, 0.0, 0.5))
    first_moves = st.sampled_from(plain(rules).legal(plain(rules).empty))
    opening = draw(st.lists(first_moves, max_size=1)) if is_wide else ()
    made = {
        "opponent": draw(st.sampled_from(opponents)),
        "side": draw(st.sampled_from(SIDES)),
        **rules.to_json(),
        "illegal": draw(st.sampled_from(("lose", "raise"))),
        "rewards": {name: draw(rewards) for name in ("win", "draw", "loss")} | {"illegal": -7.0},
        "observation": draw(st.sampled_from(("planes", "grid", "flat"))),
        "opening": " ".join(cell_text(cell, rules) for cell in opening),
        "start": draw(st.sampled_from(["empty", *["random"] * (is_small and not opening)])),
        "early_draw": is_wide and draw(st.booleans()),
        "actions": draw(st.sampled_from(["cells", *["columns"] * rules.gravity])),
        "symmetric": draw(st.booleans()),
    }
    return Referee(rules, made, tuple(opening))


class Alone:
    """A single environment as a vector environment of one game, which its caller resets."""

    num_envs = 1

    def __init__(self, **made):
        self.env = self.unwrapped = TicTacToeEnv(**made)
        with pytest.raises(ResetNeeded):
            self.env.step(0)

    @property
    def boards(self):
        return self.env.board[None]

    def action_masks(self):
        return self.env.action_masks()[None]

    def reset(self, seed=None, options=None):
        seen, info = self.env.reset(seed=seed, options=options)
        return seen[None], {name: np.asarray(info[name])[None] for name in INFOS}

    def step(self, cells):
        (cell,) = cells
        seen, reward, terminated, truncated, info = self.env.step(cell)
        infos = {name: np.asarray(info[name])[None] for name in INFOS}
        return seen[None], [reward], [terminated], [truncated], infos


def generator_of(env):
    return repr(env.unwrapped.np_random.bit_generator.state)


class Games(RuleBasedStateMachine):
    """The games of an environment, whose caller moves, resets and copies it at will."""

    form = "both"  # the caller moves for both sides

    @initialize(
        referee=referees(),
        count=st.sampled_from((1, 2, 5, 17)),
        limit=st.sampled_from((None, 1, 3)),
        seed=SEEDS,
        draw=DRAWS,
    )
    def make(self, referee, count, limit, seed, draw):
        if self.form == "both":
            made = {**referee.made, "opponent": None, "side": "random"}
            referee = replace(referee, made=made)
        self.referee, self.given = referee, []
        self.is_alone = self.form in ("both", "single")
        self.mode = "DISABLED" if self.is_alone else self.form
        self.new, self.limit = self.maker(count, limit)
        try:
            self.env = self.new()
        except ValueError:  # the opponent could end the game before the learner's first move
            assert referee.made["early_draw"] or not isinstance(referee.made["opponent"], str)
            reject()
        self.count = self.env.num_envs
        self.boards, self.seats = [()] * self.count, [0] * self.count
        self.over, self.moves = [False] * self.count, [0] * self.count
        self.masks = [[]] * self.count
        self.reset(seed, draw)

    def maker(self, count, limit):
        """A function that makes the environment, and the number of moves that truncates games."""
        if self.is_alone:
            return partial(Alone, **self.referee.made), None
        about = {"num_envs": count, "autoreset_mode": self.form, "max_episode_steps": limit}
        return partial(TicTacToeVectorEnv, **self.referee.made, **about), limit

    @rule(seed=st.none() | SEEDS, draw=DRAWS)
    def reset(self, seed, draw):
        if seed is not None:
            self.games = list(range(self.count))
        seen, infos = self.env.reset(seed=seed)
        self.begin(range(self.count), seen, infos)
        self.check(seen, infos)
        self.play(draw)

    def begin(self, rows, seen, infos, is_given=False):
        """Note the first boards of games. is_given: the caller has given them."""
        for row in rows:
            seat = self.seats[row] = int(infos["side"][row])
            board = self.boards[row] = self.referee.board(seen[row], seat)
            if not is_given:
                self.referee.begins(board, seat, self.games[row])
            self.games[row] += 1
            self.moves[row], self.over[row] = 0, False
            self.masks[row] = self.referee.mask(board)

    @rule(draw=DRAWS, most=st.integers(0, 64))
    def reset_to_a_board(self, draw, most):
        """An unfinished board is where the games start, a finished one is refused."""
        rules, referee = self.referee.rules, self.referee
        game = plain(rules)
        board = game.empty
        for cell in draw.sample(range(rules.cells), min(most, rules.cells)):
            if referee.winner(board) is None and cell in game.legal(board):
                board = game.after(board, cell)
        options, seat = {"board": board_text(board, rules)}, PlainGame.mover(board)
        if referee.made["opponent"] is not None:
            options["side"] = "X" if seat == 1 else "O"
        if referee.winner(board) is not None:
            self.refused(ValueError, lambda: self.env.reset(options=options))
            return
        seen, infos = self.env.reset(options=options)
        self.begin(range(self.count), seen, infos, is_given=True)
        self.check(seen, infos)
        assert self.boards == [referee.image(board)] * self.count
        assert self.seats == [seat] * self.count
        self.play(draw)

    @precondition(lambda self: self.mode == "DISABLED" and any(self.over))
    @rule()
    def step_after_the_end(self):
        self.refused(ResetNeeded, lambda: self.env.step([0] * self.count))

    @rule(draw=DRAWS, seed=st.none() | SEEDS)
    def reset_some(self, draw, seed):
        """Begin some games anew, whether they are over or not."""
        mask = np.array([draw.random() < 0.6 for _ in range(self.count)])
        if mask.any():
            options = {} if self.is_alone else {"reset_mask": mask}
            seed = None if mask.all() else seed  # of all games, it would begin the turns anew
            seen, infos = self.env.reset(seed=seed, options=options)
            self.begin(np.flatnonzero(mask).tolist(), seen, infos)
            self.play(draw)

    @rule(draw=DRAWS)
    def play(self, draw):
        for _ in range(draw.randrange(9)):
            if not (self.mode == "DISABLED" and any(self.over)):
                self.step(draw)

    def step(self, draw):
        referee = self.referee
        actions = [referee.action(draw, board) for board in self.boards]
        going = zip(self.boards, actions, self.over, strict=True)
        is_illegal = any(
            not over and not referee.mask(board)[action] for board, action, over in going
        )
        if is_illegal and referee.made["illegal"] == "raise":
            self.refused(IllegalMoveError, lambda: self.env.step(actions))
            return
        results = self.env.step(np.array(actions, draw.choice((np.int64, np.int32, np.uint8))))
        for row, action in enumerate(actions):
            self.check_row(row, referee.cell(action, self.boards[row]), *results)
        self.check(results[0], results[4])

    @rule(wrong=st.sampled_from(WRONG))
    def refuse(self, wrong):
        errors = (ValueError, TypeError, ResetNeeded)
        self.refused(errors, lambda: self.env.step([wrong] * self.count))
        self.refused(errors, lambda: self.env.step([0] * (self.count + 1)))

    def refused(self, error, call):
        """Check that a call raises this error, draws no number and changes no board."""
        before = generator_of(self.env)
        with pytest.raises(error):
            call()
        assert self.referee.shown(self.env) == self.boards
        assert generator_of(self.env) == before

    @rule(draw=DRAWS, seed=SEEDS)
    def copy(self, draw, seed):
        """The games go on with a copy; another plays alike; a seed begins the same games."""
        ways = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
        ways += [self.saved] * (not self.is_alone)
        one, two, self.env = (draw.choice(ways)(self.env) for _ in range(3))
        if not any(self.over):
            self.go_on_alike(one, two)
        fresh = self.new()
        assert np.array_equal(one.reset(seed=seed)[0], fresh.reset(seed=seed)[0])
        self.go_on_alike(one, fresh)
        self.play(draw)

    def saved(self, env):
        """A new environment that has loaded the games of another one."""
        other = self.new()
        seen, infos = other.load_state_dict(env.state_dict())
        self.check(seen, infos)
        return other

    def go_on_alike(self, one, two):
        actions = [self.referee.mask(board).index(1) for board in self.referee.shown(one)]
        results, again = one.step(actions), two.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(results[:4], again[:4], strict=True))
        assert generator_of(one) == generator_of(two)

    def check_row(self, row, cell, seen, rewards, terminated, truncated, infos):
        """Check what a step did to one game."""
        found = (bool(terminated[row]), bool(truncated[row]), float(rewards[row]))
        if self.over[row]:  # NEXT_STEP: the action is ignored, and a new game begins
            assert found == (False, False, 0.0)
            self.begin([row], seen, infos)
            return
        is_final = self.mode == "SAME_STEP" and (found[0] or found[1])
        shown, told = (infos["final_obs"], infos["final_info"]) if is_final else (seen, infos)
        assert not is_final or infos["_final_obs"][row]
        before, mover = self.boards[row], self.seats[row]
        seat = self.seats[row] = -mover if self.referee.made["opponent"] is None else mover
        after = self.boards[row] = self.referee.board(shown[row], seat)
        end = self.referee.after(before, mover, cell, after)
        self.moves[row] += 1
        is_late = self.limit is not None and self.moves[row] >= self.limit and not end.over
        assert found == (end.over, is_late, self.referee.reward(end))
        assert (told["outcome"][row], told["illegal_move"][row]) == end[1:]
        assert told["side"][row] == seat
        self.masks[row] = self.referee.mask(after, end.over)
        assert told["action_mask"][row].tolist() == self.masks[row]
        self.over[row] = end.over or is_late
        if is_final:
            self.begin([row], seen, infos)

    def check(self, seen, infos):
        """Check what is told of all games, and that it is the caller's own."""
        assert infos["side"].tolist() == self.seats
        assert infos["action_mask"].tolist() == self.env.action_masks().tolist() == self.masks
        assert all((array == 7).all() for array in self.given), "written into after it was returned"
        seen[...] = infos["action_mask"][...] = self.env.boards[...] = 7
        self.given = [seen, infos["action_mask"]]
        assert self.env.action_masks().tolist() == self.masks
        assert self.referee.shown(self.env) == self.boards


@pytest.mark.parametrize("form", FORMS)
def test_every_step_follows_the_rules(form):
    run_state_machine_as_test(games_in(form), settings=settings())


def games_in(form):
    return type("Games", (Games,), {"form": form})
