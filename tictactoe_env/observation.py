"""Observations of a board: own and opponent's marks in one row, in planes, or in one grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from tictactoe_env.errors import one_of
from tictactoe_env.rules import Boards, Rules, to_move

OBSERVATIONS = ("flat", "planes", "grid")


def observe(boards: Boards, rules: Rules, kind: str = "flat", seats: Any = None) -> NDArray[Any]:
    """Observations of boards (B, cells) from `seats` (B,): +1 for X, -1 for O.

    Without `seats` each board is seen by its side to move.
    "flat": float32 (B, 2 * cells), 1 on own marks, then 1 on the opponent's, in one row.
    "planes": int8 (B, 2, rows, cols), plane 0 is 1 on own marks, plane 1 on the opponent's.
    "grid": int8 (B, rows, cols), +1 own mark, -1 the opponent's, 0 free.
    Raises ValueError for another kind.
    """
    one_of("observation", kind, OBSERVATIONS)
    if seats is None:
        seats = to_move(boards)
    grid = boards * np.asarray(seats, dtype=np.int8).reshape(-1, 1)
    grid = grid.reshape(-1, rules.rows, rules.cols)
    if kind == "grid":
        return grid
    planes = np.stack([grid > 0, grid < 0], axis=1)
    if kind == "planes":
        return planes.astype(np.int8)
    return planes.reshape(len(planes), 2 * rules.cells).astype(np.float32)


class ImageBox(spaces.Box):
    """The space of observations of one image of each board: see `symmetric` in `TicTacToeEnv`.

    Stable-Baselines3 saves the space with a model, so a loaded one is known too. No other Box is
    equal to it: a model that learned from images is not set on an environment without them.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImageBox) and super().__eq__(other)

    def __repr__(self) -> str:
        return f"Image{super().__repr__()}"


def observation_space(rules: Rules, kind: str = "flat", symmetric: bool = False) -> Any:
    """Gymnasium's space of one observation; symmetric: of one image of each board."""
    one_of("observation", kind, OBSERVATIONS)
    box = ImageBox if symmetric else spaces.Box
    if kind == "planes":
        return box(0, 1, (2, rules.rows, rules.cols), np.int8)
    if kind == "grid":
        return box(-1, 1, (rules.rows, rules.cols), np.int8)
    return box(0, 1, (2 * rules.cells,), np.float32)


def last_move(before: Boards, after: Boards, seat: int) -> int | None:
    """The cell of the last move between two boards (cells,), or None if they are equal.

    Between them the learner, with the mark `seat`, has moved, and possibly the opponent after it.
    """
    new = np.flatnonzero(before != after)
    return max(new.tolist(), key=lambda cell: (after[cell] != seat, cell), default=None)
