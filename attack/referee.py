"""The plain rules as a referee of environments: what has to follow from a board and a move.

It reads boards from observations, in plain Python, and shares nothing with the package: the lines
are those of tests/oracles/plain_game.py. An environment is wrong where `Wrong` is raised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from tests.oracles.plain_game import PlainGame, lines_of

Board = tuple[int, ...]
MOST_CELLS = 9  # of a board whose perfect moves are known by recursion


class Wrong(Exception):
    """What an environment did is not what the rules say."""


class End(NamedTuple):
    """How a step ends a game for the learner. over: whether it does; the rest is 0 otherwise."""

    over: bool
    outcome: int = 0
    illegal: int = 0


def check(is_right: Any, *text: Any) -> None:
    """Raise Wrong with this text unless it is right."""
    if not is_right:
        raise Wrong(" ".join(map(str, text)))


@dataclass(frozen=True)
class Referee:
    """Knows the rules of a board, and how an environment was made.

    opening: the cells of the forced first moves. sides: "X", "O", "random" or "alternate".
    is_legal: whether the opponent makes legal moves only. is_perfect: whether these are best moves.
    """

    size: tuple[int, int, int]
    kind: str
    early_draw: bool
    rewards: Mapping[str, float]
    sides: str
    opening: Sequence[int]
    is_legal: bool
    is_perfect: bool

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.size[0] * self.size[1]

    def board(self, observation: Any, seat: int) -> Board:
        """The board that an observation shows to this side."""
        flat = [float(number) for number in observation.reshape(-1)]
        if self.kind == "grid":
            own = flat
        else:
            own = [flat[at] - flat[at + self.cells] for at in range(self.cells)]
        check(len(flat) == self.cells * (1 if self.kind == "grid" else 2), "observation", flat)
        check(set(flat) <= ({-1, 0, 1} if self.kind == "grid" else {0, 1}), "observation", flat)
        return tuple(int(number) * seat for number in own)

    def winner(self, board: Board) -> int | None:
        """+1 or -1 for the side with a line, 0 for a draw, None if the game goes on."""
        lines = lines_of(*self.size)
        for line in lines:
            marks = {board[cell] for cell in line}
            if marks in ({1}, {-1}):
                return marks.pop()
        is_dead = all({1, -1} <= {board[cell] for cell in line} for line in lines)
        return 0 if 0 not in board or (self.early_draw and is_dead) else None

    def begins(self, board: Board, seat: int, game: int | None) -> None:
        """Check the first board of a game. game: its number, if the side follows from it."""
        check(seat in (1, -1), "side", seat)
        expected = {"X": 1, "O": -1}.get(self.sides, seat)
        if self.sides == "alternate" and game is not None:
            expected = -1 if game % 2 else 1
        check(seat == expected, "side", seat, "instead of", expected)
        for number, cell in enumerate(self.opening):
            check(board[cell] == (-1 if number % 2 else 1), "the opening is not on", board)
        opens = 1 if len(self.opening) % 2 == 0 else -1
        marks = len(self.opening) + (opens != seat)
        check(len(board) - board.count(0) == marks, board, "is no first board of", seat)
        check(self.mover(board) == seat, board, "is not the turn of", seat)
        check(self.winner(board) is None, board, "is over at the start")

    @staticmethod
    def mover(board: Board) -> int:
        """The side to move."""
        return 1 if board.count(1) == board.count(-1) else -1

    def steps(self, before: Board, seat: int, cell: int, after: Board) -> End:
        """How a game goes on after the learner's move, and the reply that `after` shows."""
        if before[cell]:
            check(after == before, "an illegal move has changed", before, "to", after)
            return End(True, -1, 1)
        moved = (*before[:cell], seat, *before[cell + 1 :])
        winner = self.winner(moved)
        if winner is not None:
            check(after == moved, "a finished game has changed:", moved, after)
            return End(True, seat * winner)
        if after == moved:
            check(not self.is_legal, "no reply on", moved)
            return End(True, 1, 1)
        new = [at for at in range(len(after)) if after[at] != moved[at]]
        is_reply = len(new) == 1 and moved[new[0]] == 0 and after[new[0]] == -seat
        check(is_reply, "the reply on", moved, "led to", after)
        if self.is_perfect and not self.early_draw and self.cells <= MOST_CELLS:
            best = plain(self.size).best(moved)
            check(new[0] in best, "the reply", new[0], "on", moved, "is none of the best", best)
        winner = self.winner(after)
        return End(winner is not None, seat * (winner or 0))

    def reward(self, end: End) -> float:
        """The reward of a step."""
        if not end.over:
            return 0.0
        if end.illegal and end.outcome < 0:
            return self.rewards["illegal"]
        return self.rewards[{1: "win", 0: "draw", -1: "loss"}[end.outcome]]


@lru_cache
def plain(size: tuple[int, int, int]) -> PlainGame:
    """The plain game on a board, whose values take a second and are kept."""
    return PlainGame(*size)
