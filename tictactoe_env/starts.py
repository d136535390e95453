"""Random start positions: drawn from the unfinished positions of a small board."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import probability
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Boards, Rules, to_move


def draw_starts(
    rules: Rules, early_draw: bool, movers: NDArray[np.int8], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
    """Rows (B,) of `positions_of(rules)`, unfinished, and the marks (B,) of the sides to move.

    movers (B,): +1 or -1 draws uniformly from the positions in which X or O is to move, 0 from all.
    Raises ValueError if there is no such position.
    """
    rows, x_count = _unfinished(rules, early_draw)
    first = np.where(movers < 0, x_count, 0)
    last = np.where(movers > 0, x_count, len(rows))
    if (first == last).any():
        raise ValueError(
            f'start="random" finds no unfinished position with O to move ({rules}): '
            'give the learner side="X"'
        )
    drawn = rng.integers(first, last)
    return rows[drawn], np.where(drawn < x_count, 1, -1).astype(np.int8)


@lru_cache(maxsize=8)
def _unfinished(rules: Rules, early_draw: bool) -> tuple[NDArray[np.intp], int]:
    """The rows of all unfinished positions, those with X to move first, and the number of these."""
    positions = positions_of(rules)
    rows = positions.unfinished
    if early_draw:
        rows = rows[~positions.is_dead[rows]]
    x_moves = positions.x_to_move[rows]
    return rows[np.argsort(~x_moves, kind="stable")], int(x_moves.sum())


class ExploringStarts:
    """Start positions for `TicTacToeVectorEnv(start=...)`: a share of the games start at random.

    share: the share of the games that start from a random board, with the learner to move; the
    other games start from the empty board. The number of marks is drawn first, uniformly, and then
    a board with that many marks, uniformly. (With start="random" all boards are equally likely:
    most of them have five to seven marks, and openings are rare.)
    """

    def __init__(self, share: float, rules: Rules, early_draw: bool = False):
        self.share = probability(share, "the share of exploring starts")
        self.rules = rules
        positions = positions_of(rules)
        rows = positions.unfinished
        self._rows = rows[~positions.is_dead[rows]] if early_draw else rows
        first = np.unique(positions.ply[self._rows], return_index=True)[1]
        self._first = np.append(first, len(self._rows))  # the first row with 0 marks, 1, ...

    def __call__(
        self, seats: NDArray[np.int8], rng: np.random.Generator
    ) -> tuple[Boards, NDArray[np.int8]]:
        """Boards (B, cells) and the learner's marks (B,): those of `seats` on empty boards."""
        drawn = rng.random(len(seats)) < self.share
        ply = np.where(drawn, rng.integers(len(self._first) - 1, size=len(seats)), 0)
        rows = self._rows[rng.integers(self._first[ply], self._first[ply + 1])]
        boards = positions_of(self.rules).boards[rows]
        return boards, np.where(drawn, to_move(boards), seats).astype(np.int8)
