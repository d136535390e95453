"""Columns as actions, on boards on which pieces fall: an engine behind a translation of its moves.

A column stands for its lowest free cell. A full one stands for its top cell, which is taken, so a
move there is illegal as every move on a taken cell is. Many games on bitboards need no translation,
because a column is a set of cells there, of which at most one is legal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tictactoe_env.engines import BatchEngine, GameEngine
from tictactoe_env.engines.bitboards import members
from tictactoe_env.engines.bits import BitGames, States
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
        landing = self._rules.landing(self._games.legal(states))
        cells = landing[np.arange(len(columns)), columns]
        return self._games.advance(states, cells, replies, which, rng, waiting)

    def legal(self, states: Any) -> NDArray[np.int8]:
        """Masks (B, cols), 1 on columns with a free cell, on all after the end of a game."""
        return self._rules.open_columns(self._games.legal(states))


class ColumnBitGames(BitGames):
    """`BitGames` whose moves and masks are columns."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        super().__init__(rules, early_draw, observation)
        self._moves = self._board.columns
        self._all_moves = (1 << rules.cols) - 1

    def legal(self, states: States) -> NDArray[np.int8]:
        """Masks (B, cols), 1 on columns with a legal cell, on all after the end of a game."""
        return members(self._board.columns_of(states[2]), self.rules.cols)
