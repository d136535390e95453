"""Calls in any order, drawn by hypothesis: an environment follows the rules, a store loses nothing.

A failure is shrunk to the shortest series of calls that shows it. `make attack` draws longer ones.
"""

import copy
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from any_games import any_games
from gymnasium.error import ResetNeeded
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from attack.referee import End, Referee
from tictactoe_env import TicTacToeEnv
from tictactoe_env.games import RESULTS
from tictactoe_env.store import GameStore, StoreError, UnknownGameError

REWARDS = {"win": 1.0, "draw": 0.0, "loss": -1.0, "illegal": -1.0}
SEEDS = st.integers(0, 2**31)
SIDES = ("X", "O", "random")
OPPONENTS = ("random", "minimax", "minimax-slip=0.5", [["random", 1], ["minimax-first", 3]])


class OneGame(RuleBasedStateMachine):
    """A learner that moves, resets, changes its opponent and copies its environment at will."""

    @initialize(opponent=st.sampled_from(OPPONENTS), seed=SEEDS)
    def make(self, opponent, seed):
        self.env = TicTacToeEnv(opponent)
        self.referee = Referee((3, 3, 3), "flat", False, REWARDS, "random", (), True, False)
        with pytest.raises(ResetNeeded):
            self.env.step(0)
        self.reset(seed, "random")

    @rule(seed=st.none() | SEEDS, side=st.sampled_from(SIDES))
    def reset(self, seed, side):
        seen, info = self.env.reset(seed=seed, options={} if side == "random" else {"side": side})
        self.seat, self.end = int(info["side"]), End(False)
        self.board = self.referee.board(seen, self.seat)
        replace(self.referee, sides=side).begins(self.board, self.seat, None)

    @precondition(lambda self: not self.end.over)
    @rule(number=st.integers(0, 8))
    def move(self, number):
        free = [cell for cell in range(9) if not self.board[cell]]
        self.step(free[number % len(free)])

    @rule(cell=st.integers(0, 8))
    def step(self, cell):
        if self.end.over:
            with pytest.raises(ResetNeeded):
                self.env.step(cell)
            return
        seen, reward, terminated, truncated, info = self.env.step(cell)
        after = self.referee.board(seen, self.seat)
        self.end = self.referee.steps(self.board, self.seat, cell, after)
        self.board = after
        assert (terminated, info["outcome"], info["illegal_move"]) == self.end
        assert (reward, truncated) == (self.referee.reward(self.end), False)
        assert info["side"] == self.seat

    @rule(wrong=st.sampled_from([-1, 9, 2**70, 1.0, True, "a1", None, [0], np.float32(1)]))
    def refuse(self, wrong):
        with pytest.raises((ValueError, TypeError, ResetNeeded)):
            self.env.step(wrong)

    @rule(moves=st.permutations(range(9)), count=st.integers(0, 9))
    def reset_to_a_board(self, moves, count):
        """An unfinished board is where the game starts, a finished one is refused."""
        board = (0,) * 9
        for number, cell in enumerate(moves[:count]):
            if self.referee.winner(board) is None:
                board = (*board[:cell], -1 if number % 2 else 1, *board[cell + 1 :])
        text = "".join(".XO"[mark] for mark in board)
        mover = "X" if self.referee.mover(board) == 1 else "O"
        options = {"board": f"{text[:3]}/{text[3:6]}/{text[6:]}", "side": mover}
        if self.referee.winner(board) is not None:
            with pytest.raises(ValueError, match=text[:3]):
                self.env.reset(options=options)
            return
        seen, info = self.env.reset(options=options)
        self.seat, self.end, self.board = int(info["side"]), End(False), board
        assert self.referee.board(seen, self.seat) == board
        assert self.seat == self.referee.mover(board)

    @rule(opponent=st.sampled_from(OPPONENTS))
    def change_the_opponent(self, opponent):
        self.env.set_opponent(opponent)

    @precondition(lambda self: not self.end.over)
    @rule(cell=st.integers(0, 8))
    def copy(self, cell):
        """Two copies go on alike, and leave the game as it is."""
        one, two = copy.deepcopy(self.env), copy.deepcopy(self.env)
        (seen, *told), (same, *again) = one.step(cell), two.step(cell)
        assert np.array_equal(seen, same)
        assert told[:3] == again[:3]

    @invariant()
    def the_board_and_its_mask_are_those_of_the_game(self):
        assert tuple(self.env.board.tolist()) == self.board
        assert self.env.action_masks().tolist() == [mark == 0 for mark in self.board]


class OneStore(RuleBasedStateMachine):
    """A store that is written by two connections, opened again, and asked in between."""

    ids = Bundle("ids")

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "games.db"
        self.stores = [GameStore(self.path), GameStore(self.path)]
        self.games = []

    def teardown(self):
        for store in self.stores:
            store.close()
        shutil.rmtree(self.folder)

    @rule(target=ids, game=any_games(), which=st.integers(0, 1))
    def add(self, game, which):
        number = self.stores[which].add(game)
        self.games.append(replace(game, id=number))
        assert number == len(self.games)
        return number

    @rule(games=st.lists(any_games(), max_size=4), which=st.integers(0, 1))
    def add_many(self, games, which):
        numbers = self.stores[which].add_many(games)
        expected = range(len(self.games) + 1, len(self.games) + len(games) + 1)
        assert numbers == expected
        self.games += [replace(game, id=id) for id, game in zip(numbers, games, strict=True)]

    @rule(games=st.lists(any_games(), max_size=3), which=st.integers(0, 1))
    def add_none_of_a_series_that_fails(self, games, which):
        lines = [*(game.line() for game in games), "a1 a1 a1 ?"]
        with pytest.raises(ValueError, match="line"):
            self.stores[which].import_lines(lines)

    @rule(id=ids, which=st.integers(0, 1))
    def get(self, id, which):
        assert self.stores[which].get(id) == self.games[id - 1]

    @rule(beyond=st.integers(1, 2**70), which=st.integers(0, 1))
    def miss(self, beyond, which):
        with pytest.raises(UnknownGameError):
            self.stores[which].get(len(self.games) + beyond)

    @rule(
        limit=st.integers(0, 5),
        before=st.none() | st.integers(1, 12),
        result=st.none() | st.sampled_from(sorted(RESULTS)),
        which=st.integers(0, 1),
    )
    def list(self, limit, before, result, which):
        wanted = [
            game
            for game in reversed(self.games)
            if game.origin != "training" and result in (None, game.result)
        ]
        store = self.stores[which]
        assert store.count(result=result) == len(wanted)
        older = [game for game in wanted if before is None or game.id < before]
        assert store.list(limit, before, result=result) == older[:limit]

    @rule(which=st.integers(0, 1))
    def open_again(self, which):
        self.stores[which].close()
        self.stores[which] = GameStore(self.path)

    @rule(game=any_games())
    def refuse_to_write_what_is_read_only(self, game):
        with GameStore(self.path, read_only=True) as store:
            with pytest.raises(StoreError, match="read"):
                store.add(game)
            assert list(store) == self.games

    @invariant()
    def every_game_is_there(self):
        assert self.stores[0].check() == len(self.games)
        assert list(self.stores[1]) == self.games


TestOneGame = OneGame.TestCase
TestOneGame.settings = settings(max_examples=40, stateful_step_count=25)
TestOneStore = OneStore.TestCase
TestOneStore.settings = settings(max_examples=10, stateful_step_count=12)
