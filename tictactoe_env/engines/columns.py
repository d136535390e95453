"""Columns as actions, on boards on which pieces fall: an engine behind a translation of its moves.

A column stands for its lowest free cell. A full one stands for its top cell, which is taken, so a
move there is illegal as every move on a taken cell is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tictactoe_env.engines import BatchEngine, GameEngine
from tictactoe_env.engines.bitboards import bitboards_of
from tictactoe_env.policy import Numbers, Uniforms
from tictactoe_env.rules import Rules


class ColumnGame:
    """A `GameEngine` whose moves and masks are columns, around one of cells."""

    def __init__(self, game: GameEngine[Any, Any], rules: Rules):
        self._game = game
        self._rules = rules
        self.start = game.start
        self.prepare = game.prepare
        self.board = game.board

    def advance(self, state: Any, column: int | None, reply: Any, uniforms: Uniforms) -> Any:
        """As `GameEngine.advance`, after a move into a column; the mask is (cols,)."""
        cell = None
        if column is not None:
            _, legal = self._game.view(state)
            cell = int(self._rules.landing(legal)[column])
        state, result, seen, legal = self._game.advance(state, cell, reply, uniforms)
        return state, result, seen, self._rules.open_columns(legal)

    def view(self, state: Any) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The observation from the learner's seat and the mask (cols,) int8; both are fresh."""
        seen, legal = self._game.view(state)
        return seen, self._rules.open_columns(legal)


class ColumnGames:
    """A `BatchEngine` whose moves and masks are columns, around one of cells."""

    def __init__(self, games: BatchEngine[Any, Any], rules: Rules):
        self._games = games
        self._rules = rules
        self.start = games.start
        self.prepare = games.prepare
        self.begin = games.begin
        self.result = games.result
        self.observe = games.observe
        self.boards = games.boards
        self.seats = games.seats

    def advance(
        self,
        states: Any,
        columns: Numbers,
        replies: Any,
        which: Numbers,
        rng: Generator,
        waiting: Numbers | None = None,
    ) -> Any:
        """As `BatchEngine.advance`, after moves into these columns (B,)."""
        cells = self._landing(states, columns)
        return self._games.advance(states, cells, replies, which, rng, waiting)

    def _landing(self, states: Any, columns: Numbers) -> Numbers:
        """The cells (B,) on which pieces land in these columns (B,)."""
        return self._rules.landing(self._games.legal(states))[np.arange(len(columns)), columns]

    def legal(self, states: Any) -> NDArray[np.int8]:
        """Masks (B, cols), 1 on columns with a free cell, on all after the end of a game."""
        return self._rules.open_columns(self._games.legal(states))


class ColumnBitGames(ColumnGames):
    """`ColumnGames` around `bits.BitGames`, whose sets of cells tell columns in less time."""

    def __init__(self, games: BatchEngine[Any, Any], rules: Rules):
        super().__init__(games, rules)
        self._sets = bitboards_of(rules).columns
        self._rows = [rules.cols << power for power in range((rules.rows - 1).bit_length())]

    def _landing(self, states: Any, columns: Numbers) -> Numbers:
        bits = states[2] & self._sets.take(columns)  # of at most one cell
        _, cells_and_one = np.frexp(bits)  # a bit as a float: 0.5 * 2 ** (cell + 1)
        return np.where(bits == 0, columns, cells_and_one - 1)

    def legal(self, states: Any) -> NDArray[np.int8]:
        """Masks (B, cols), 1 on columns with a legal cell, on all after the end of a game."""
        found = states[2].astype("<i8")
        for shift in self._rows:  # all rows onto the first
            found |= found >> shift
        as_bytes = found[:, None].view(np.uint8)
        bits = np.unpackbits(as_bytes, axis=1, count=self._rules.cols, bitorder="little")
        return bits.view(np.int8)
