"""Random start positions: drawn from all unfinished positions of a small board."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules


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
