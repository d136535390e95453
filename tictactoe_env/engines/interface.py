"""The interfaces of the game engines, for one game and for many, and the choice of an engine.

An engine plays the moves of both sides. A state describes a game and which side the learner plays;
its form is private to the engine: `rows` uses row numbers in the table of all positions,
`bits` uses sets of cells. The learner's seat is its mark: +1 for X, -1 for O. A result is how
a game stands for the learner: ONGOING, WIN, DRAW, LOSS, ILLEGAL (an illegal move of the learner) or
OPPONENT_ILLEGAL of `rules`.

Boards of up to 10 cells go by row number, since any tabulated opponent then draws in the time of
random play. On 3x3 bitboards make 0.4 to 0.8 times the steps against random play, and 0.1 to 0.2
times those against minimax (docs/BENCHMARKS.md). Larger boards have too many rows for such tables.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.policy import Policy, Uniforms
from tictactoe_env.rules import Boards, Rules

# Cells of a board that goes by row: 2x5 has 15,983 positions; 3x4 has 111,973, 100 MB of lists.
ROW_ENGINE = 10

State = Any  # one game; immutable
States = Any  # B games: an array whose last axis is the games: (B,) or (n, B)
Reply = Any  # an opponent, prepared for drawing its moves


class GameEngine(Protocol):
    """One game at a time."""

    def start(self, board: Boards, seat: int) -> State:
        """The state of an unfinished board (cells,) int8; `seat` is the learner's mark."""
        ...

    def draw_start(self, seat: int, rng: np.random.Generator) -> tuple[State, int]:
        """The state of a random unfinished position with the learner to move, and its mark.

        seat: +1 or -1 for the learner's mark, 0 to give the learner the side to move.
        """
        ...

    def prepare(self, policy: Policy) -> Reply:
        """The opponent in the form that `reply` takes."""
        ...

    def advance(
        self, state: State, cell: int | None, reply: Reply, uniforms: Uniforms
    ) -> tuple[State, int, NDArray[Any], NDArray[np.int8]]:
        """State, result, observation and mask after the learner's move and the opponent's reply.

        cell: None at the start of a game, where only the opponent moves, if it is its turn. A move
        onto a taken cell is illegal and ends the game. The game must be unfinished. A reply is
        drawn with one number in [0, 1). The arrays are those of `view`.
        """
        ...

    def move(self, state: State, cell: int) -> tuple[State, int]:
        """The state and result after the learner's move, without a reply, for the other side.

        The learner has the other seat in the new state; the result is that of the side that moved.
        """
        ...

    def view(self, state: State) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The observation from the learner's seat and the mask (cells,) int8, 1 on free; fresh."""
        ...

    def board(self, state: State) -> Boards:
        """A fresh board (cells,) int8: +1 X, -1 O, 0 free."""
        ...


class BatchEngine(Protocol):
    """B games at a time."""

    def start(self, boards: Boards, seats: NDArray[np.int8], results: Any = 0) -> States:
        """States (..., B) of boards (B, cells) int8; `seats` (B,) int8 are the learner's marks.

        results (B,): how these games stand, by default unfinished.
        """
        ...

    def draw_starts(self, seats: NDArray[np.int8], rng: np.random.Generator) -> States:
        """States (..., B) of random unfinished positions with the learner to move.

        seats (B,): +1 or -1 for the learner's mark, 0 to give the learner the side to move.
        """
        ...

    def prepare(self, policies: list[Policy]) -> Reply:
        """The opponents in the form that `reply` takes."""
        ...

    def advance(
        self,
        states: States,
        cells: NDArray[np.intp],
        replies: Reply,
        which: NDArray[np.intp],
        rng: np.random.Generator,
        waiting: NDArray[np.intp] | None = None,
    ) -> tuple[States, NDArray[np.int8]]:
        """States (..., B) and fresh results (B,) after the learner's moves and the replies.

        A move onto a taken cell is illegal and ends the game. which (B,): the opponent of each
        game, an index into the policies given to `prepare`. waiting: the finished games; their
        state and result are undefined afterwards, and callers overwrite them.
        """
        ...

    def reply(
        self,
        states: States,
        replies: Reply,
        which: NDArray[np.intp],
        rng: np.random.Generator,
        same_board: bool = False,
    ) -> States:
        """States (..., B) after the opponents' moves, where it is an opponent's turn.

        same_board: whether all games have the same board. A policy that has no table is then asked
        only if it was asked for another board the last time.
        """
        ...

    def result(self, states: States) -> NDArray[np.int8]:
        """Fresh results (B,) int8, the numbers ONGOING to OPPONENT_ILLEGAL."""
        ...

    def opponent_moves(self, states: States) -> NDArray[np.bool_]:
        """Whether a game is unfinished and it is the opponent's turn: (B,) bool."""
        ...

    def observe(self, states: States) -> NDArray[Any]:
        """Fresh observations from the learner's seats: see `observation.observe`."""
        ...

    def legal(self, states: States) -> NDArray[np.int8]:
        """Fresh masks (B, cells) int8, 1 on free cells."""
        ...

    def boards(self, states: States) -> Boards:
        """Fresh boards (B, cells) int8: +1 X, -1 O, 0 free."""
        ...

    def seats(self, states: States) -> NDArray[np.int8]:
        """The learner's marks (B,) int8: +1 X, -1 O."""
        ...


def game_engine(rules: Rules, early_draw: bool, observation: str) -> GameEngine:
    """The engine for one game: by row on boards of up to 10 cells, else by sets of cells."""
    if rules.cells <= ROW_ENGINE:
        from tictactoe_env.engines.rows import RowGame

        return RowGame(rules, early_draw, observation)
    from tictactoe_env.engines.bits import BitGame

    return BitGame(rules, early_draw, observation)


def batch_engine(rules: Rules, early_draw: bool, observation: str) -> BatchEngine:
    """The engine for many games: by row on boards of up to 10 cells, else by sets of cells."""
    if rules.cells <= ROW_ENGINE:
        from tictactoe_env.engines.rows import RowGames

        return RowGames(rules, early_draw, observation)
    from tictactoe_env.engines.bits import BitGames

    return BitGames(rules, early_draw, observation)
