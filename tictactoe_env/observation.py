"""Observations of a board: planes of own and other marks, or a grid of -1, 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from tictactoe_env.errors import one_of
from tictactoe_env.rules import Boards, Rules, to_move

OBSERVATIONS = ("planes", "grid")


def observe(
    boards: Boards, rules: Rules, kind: str = "planes", seats: Any = None
) -> NDArray[np.int8]:
    """Observations of boards (B, cells) from the seats (B,) of X (+1) and O (-1).

    Without `seats` they are seen by the side to move. Raises ValueError for another kind than
    "planes": (B, 2, rows, cols) int8, 1 where the own marks and where the other's marks are.
    "grid": (B, rows, cols) int8, +1 own, -1 other, 0 free.
    """
    one_of("observation", kind, OBSERVATIONS)
    seats = to_move(boards) if seats is None else seats
    grid = boards * np.asarray(seats, dtype=np.int8).reshape(-1, 1)
    grid = grid.reshape(-1, rules.rows, rules.cols)
    return grid if kind == "grid" else np.stack([grid > 0, grid < 0], axis=1).astype(np.int8)


def observation_space(rules: Rules, kind: str = "planes") -> Any:
    """Gymnasium's space of one observation."""
    if one_of("observation", kind, OBSERVATIONS) == "planes":
        return spaces.Box(0, 1, (2, rules.rows, rules.cols), np.int8)
    return spaces.Box(-1, 1, (rules.rows, rules.cols), np.int8)


def last_move(before: Boards, after: Boards, seat: int) -> int | None:
    """The cell of the last move between two boards (cells,), or None if they are alike.

    Between them the learner, whose mark is `seat`, has moved, and then perhaps the opponent.
    """
    new = np.flatnonzero(before != after)
    replies = new[after[new] == -seat]
    chosen = replies if len(replies) else new
    return int(chosen[-1]) if len(chosen) else None
