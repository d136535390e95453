"""The games of the environments, fast: the engine that plays the moves of both sides.

A state describes a game and which side the learner plays; its form is private to the engine: `rows`
uses row numbers in the table of all positions, `bits` uses sets of cells. Both have the same
methods. The learner's seat is its mark: +1 for X, -1 for O. A result is how a game stands for the
learner: ONGOING, WIN, DRAW, LOSS, ILLEGAL (an illegal move of the learner) or OPPONENT_ILLEGAL of
`rules`.

Boards of up to 10 cells go by row number, since any tabulated opponent then draws in the time of
random play. On 3x3 bitboards make 0.4 to 0.8 times the steps against random play, and 0.1 to 0.2
times those against minimax. Larger boards have too many rows for such tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.random import Generator as Generator
from numpy.typing import NDArray

from tictactoe_env.rules import Rules

if TYPE_CHECKING:
    from tictactoe_env.engines.bits import BitGame, BitGames
    from tictactoe_env.engines.rows import RowGame, RowGames

# Cells of a board that goes by row: 2x5 has 15,983 positions; 3x4 has 111,973, 100 MB of lists.
_ROW_ENGINE = 10

State = Any  # one game; immutable
States = Any  # B games: an array whose last axis is the games: (B,) or (n, B)
Numbers: TypeAlias = NDArray[np.intp]  # (B,): cells, or indices of games or of opponents
GameEngine: TypeAlias = "RowGame | BitGame"  # one game at a time
BatchEngine: TypeAlias = "RowGames | BitGames"  # many games at a time


class Engine:
    """A board, and what its games look like. Copies share the tables of the board."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self._arguments = rules, (rules, early_draw, observation)

    def __reduce__(self) -> Any:
        return (type(self), self._arguments)


def game_engine(rules: Rules, early_draw: bool, observation: str) -> GameEngine:
    """The engine for one game."""
    return _engines(rules)[0](rules, early_draw, observation)


def batch_engine(rules: Rules, early_draw: bool, observation: str) -> BatchEngine:
    """The engine for many games."""
    return _engines(rules)[1](rules, early_draw, observation)


def _engines(rules: Rules) -> tuple[type[GameEngine], type[BatchEngine]]:
    """The engines of a board: by row on boards of up to 10 cells, else by sets of cells."""
    if rules.cells <= _ROW_ENGINE:
        from tictactoe_env.engines.rows import RowGame, RowGames

        return RowGame, RowGames
    from tictactoe_env.engines.bits import BitGame, BitGames

    return BitGame, BitGames
