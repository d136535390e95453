"""Exact values and optimal moves of every position of a small board, by backward induction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.positions import Ply, Positions, positions_of
from tictactoe_env.rules import Rules

Values = NDArray[np.float64]


class Graph(Protocol):
    """Positions with their successors, such as `Positions` or a `proof.Reach`."""

    def plies(self, first: int = 0, backward: bool = False) -> Iterator[Ply]:
        """The unfinished positions from ply `first` to the last, or in reverse order."""
        ...


def backward_induction(
    graph: Graph, values: Any, rule: Callable[[Ply, Values], Values], first: int = 0
) -> Values:
    """The values of all positions from ply `first` on: (N, ...) float64.

    values: (N, ...); those of finished positions are kept, the others are computed.
    rule: called with a ply and the values after each move (B, M, ...); it returns the values of the
    ply's positions (B, ...). The value after an illegal move is undefined: the rule must overwrite
    it.
    """
    values = values.astype(np.float64)
    for ply in graph.plies(first, backward=True):
        values[ply.rows] = rule(ply, values[ply.children])
    return values


def best_scores(
    positions: Positions,
    scores: NDArray[np.int8],
    before: Callable[[NDArray[np.int8]], NDArray[np.int8]],
    worst: int,
) -> NDArray[np.int8]:
    """The mover's score of every position if both sides make their best moves: (N,) int8.

    scores: (N,); those of finished positions are kept, the others are computed.
    before: turns the other side's scores after moves into the mover's scores of these moves.
    worst: the lowest possible score.
    Cells are processed one at a time, since all children of 4x4 would take 622 MB.
    """
    scores = scores.copy()
    for number in reversed(range(positions.rules.cells)):
        rows = positions.unfinished_at(number)
        best = np.full(len(rows), worst, dtype=np.int8)
        for cell in range(positions.rules.cells):
            child = positions.child(rows, cell)
            after = np.where(child >= 0, before(scores[child]), np.int8(worst))
            np.maximum(best, after, out=best)
        scores[rows] = best
    return scores


@lru_cache(maxsize=8)
def solve(rules: Rules) -> Solution:
    """The solution of a board, computed on first use and kept. ValueError above 16 cells."""
    return Solution(positions_of(rules))


class Solution:
    """value: (N,) int8, the mover's result with perfect play: +1 a win, 0 a draw, -1 a loss."""

    def __init__(self, positions: Positions):
        self.positions = positions
        # In a finished position the side that would move next has lost or drawn.
        self.value = best_scores(positions, -np.abs(positions.outcome_x), np.negative, -1)

    @property
    def value_x(self) -> NDArray[np.int8]:
        """X's result with perfect play: (N,) int8."""
        return np.where(self.positions.x_to_move, self.value, -self.value)

    def move_values(self, rows: NDArray[np.intp]) -> NDArray[np.int8]:
        """The mover's result after each move, with perfect play: (B, cells) int8, -2 if illegal."""
        cells = range(self.positions.rules.cells)
        children = np.stack([self.positions.child(rows, cell) for cell in cells], axis=1)
        return np.where(children >= 0, -self.value[children], np.int8(-2))

    def optimal(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which moves keep the position's value: (B, cells) bool, all False in finished games."""
        values = self.move_values(rows)
        return (values == self.value[rows][:, None]) & (values > -2)
