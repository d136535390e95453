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

from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tictactoe_env.policy import Numbers, Policy, Uniforms
from tictactoe_env.rules import ONGOING, Boards, Rules

# Cells of a board that goes by row: 2x5 has 15,983 positions; 3x4 has 111,973, 100 MB of lists.
_ROW_ENGINE = 10

# One game, immutable: its row, or the learner's marks, the opponent's, and the learner's mark.
GameState: TypeAlias = int | tuple[int, int, int]
# B games, (B,) or (n, B).
GameStates: TypeAlias = NDArray[np.signedinteger[Any]]

_State = TypeVar("_State")
_States = TypeVar("_States")
_Reply = TypeVar("_Reply")  # an opponent, or several, in the form of the engine


class GameEngine(Protocol[_State, _Reply]):
    """Plays one game at a time; a copy of an engine shares the tables of the board."""

    def start(self, board: Boards, seat: int, /) -> _State:
        """The state of an unfinished board (cells,), the learner having the mark `seat`."""

    def prepare(self, policy: Policy, /) -> _Reply:
        """The opponent in the form that `advance` takes."""

    def advance(
        self, state: _State, cell: int | None, reply: _Reply | None, uniforms: Uniforms, /
    ) -> tuple[_State, int, NDArray[Any], NDArray[np.int8]]:
        """State, result, observation and mask after the learner's move and the opponent's reply.

        cell: None at the start of a game, where only the opponent moves, if it is its turn. A move
        that is not legal ends the game, which must be unfinished. A reply is drawn with one number
        in [0, 1). reply: None if the caller moves for both sides; then the learner has the other
        seat in the new state, and the result is that of the side that moved. After the end of a
        game the mask is 1 on all cells.
        """

    def view(self, state: _State, /) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The observation from the learner's seat and the mask (cells,) int8; both are fresh.

        The game must be unfinished.
        """

    def board(self, state: _State, /) -> Boards:
        """The board (cells,) int8."""


class BatchEngine(Protocol[_States, _Reply]):
    """Plays many games at a time."""

    def start(self, boards: Boards, seats: NDArray[np.int8], results: Any = ONGOING, /) -> _States:
        """States of boards (B, cells) int8; `seats` (B,) int8 are the learner's marks.

        results (B,): how these games stand, by default unfinished.
        """

    def prepare(self, policies: list[Policy], /) -> _Reply:
        """The opponents in the form that `advance` takes."""

    def advance(
        self,
        states: _States,
        cells: Numbers,
        replies: _Reply,
        which: Numbers,
        rng: Generator,
        waiting: Numbers | None = None,
        /,
    ) -> tuple[_States, NDArray[np.int8]]:
        """Fresh states and results (B,) after the learner's moves and the opponents' replies.

        A move that is not legal ends the game. which (B,): the opponent of each game, an index into
        the policies given to `prepare`. waiting: the finished games; their state and result are
        undefined afterwards, and callers overwrite them.
        """

    def begin(
        self,
        states: _States,
        replies: _Reply,
        which: Numbers,
        rng: Generator,
        same_board: bool = False,
        /,
    ) -> tuple[_States, NDArray[np.int8]]:
        """States and results (B,) after the opponents' moves, where it is their turn.

        same_board: whether all games have the same board. A policy that has no table is then asked
        only if it was asked for another board the last time.
        """

    def result(self, states: _States, /) -> NDArray[np.int8]:
        """Fresh results (B,), the numbers ONGOING to OPPONENT_ILLEGAL."""

    def observe(self, states: _States, /) -> NDArray[Any]:
        """Fresh observations from the learner's seats: see `observation.observe`."""

    def legal(self, states: _States, /) -> NDArray[np.int8]:
        """Fresh masks (B, cells), 1 on legal cells, and on all cells after the end of a game."""

    def boards(self, states: _States, /) -> Boards:
        """Boards (B, cells) int8, never images."""

    def seats(self, states: _States, /) -> NDArray[np.int8]:
        """The learner's marks (B,)."""


def game_engine(
    rules: Rules, early_draw: bool, observation: str, symmetric: bool = False, columns: bool = False
) -> GameEngine[Any, Any]:
    """The engine for one game: by row on boards of up to 10 cells, else by sets of cells.

    symmetric: views are those of one image of the board, and the learner's cells are cells of it.
    columns: whether moves and masks are columns, on boards on which pieces fall.
    """
    if columns:
        from tictactoe_env.engines.columns import ColumnGame

        return ColumnGame(game_engine(rules, early_draw, observation, symmetric), rules)
    if rules.cells <= _ROW_ENGINE:
        from tictactoe_env.engines.rows import RowGame

        return RowGame(rules, early_draw, observation, symmetric)
    if symmetric:
        from tictactoe_env.engines.images import ImageGame

        return ImageGame(rules, early_draw, observation)
    from tictactoe_env.engines.bits import BitGame

    return BitGame(rules, early_draw, observation)


def batch_engine(
    rules: Rules, early_draw: bool, observation: str, symmetric: bool = False, columns: bool = False
) -> BatchEngine[Any, Any]:
    """The engine for many games, with the arguments of `game_engine`."""
    if columns:
        from tictactoe_env.engines.columns import ColumnBitGames, ColumnGames

        if rules.cells > _ROW_ENGINE and not symmetric:
            return ColumnBitGames(rules, early_draw, observation)
        return ColumnGames(batch_engine(rules, early_draw, observation, symmetric), rules)
    if rules.cells <= _ROW_ENGINE:
        from tictactoe_env.engines.rows import RowGames

        return RowGames(rules, early_draw, observation, symmetric)
    if symmetric:
        from tictactoe_env.engines.images import ImageGames

        return ImageGames(rules, early_draw, observation)
    from tictactoe_env.engines.bits import BitGames

    return BitGames(rules, early_draw, observation)
