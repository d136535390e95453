"""Exact values and optimal moves of every position of a small board, by backward induction."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.positions import Positions, positions_of
from tictactoe_env.rules import Rules


@lru_cache(maxsize=8)
def solve(rules: Rules) -> Solution:
    """The solution of a board of at most 16 cells, computed on first use and kept; ValueError for larger ones."""
    return Solution(positions_of(rules))


class Solution:
    """value: (N,) int8, the mover's result with perfect play by both: +1 wins, 0 draws, -1 loses."""

    def __init__(self, positions: Positions):
        self.positions = positions
        # A finished position is lost for the side that would move next, or drawn.
        self.value = -np.abs(positions.outcome_x)
        for ply in range(positions.rules.cells - 1, -1, -1):
            rows = np.arange(positions.ply_starts[ply], positions.ply_starts[ply + 1])
            rows = rows[~positions.is_over[rows]]
            best = np.full(len(rows), -1, dtype=np.int8)
            for cell in range(positions.rules.cells):
                child = positions.child(rows, cell)
                np.maximum(best, np.where(child >= 0, -self.value[child], -1), out=best)
            self.value[rows] = best

    @property
    def value_x(self) -> NDArray[np.int8]:
        """X's result with perfect play: (N,) int8."""
        return np.where(self.positions.x_to_move, self.value, -self.value)

    def move_values(self, rows: NDArray[np.intp]) -> NDArray[np.int8]:
        """The mover's result after each move, perfect play following: (B, cells) int8, -2 where there is no such move."""
        children = np.stack(
            [self.positions.child(rows, cell) for cell in range(self.positions.rules.cells)], axis=1
        )
        return np.where(children >= 0, -self.value[children], np.int8(-2))

    def optimal(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which moves keep the value of the position: (B, cells) bool; all False where the game is over."""
        values = self.move_values(rows)
        return (values == self.value[rows][:, None]) & (values > -2)
