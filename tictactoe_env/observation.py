"""What a player sees of a board: planes of own and other marks, or a grid of -1, 0 and 1, from one player's seat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import unknown_name
from tictactoe_env.rules import Boards, Rules, to_move

OBSERVATIONS = ("planes", "grid")


def observe(
    boards: Boards, rules: Rules, kind: str = "planes", seats: Any = None
) -> NDArray[np.int8]:
    """Observations of boards (B, cells) from the seats (B,) of X (+1) and O (-1); by default from the mover's.

    "planes": (B, 2, rows, cols) int8, 1 where the seat's own marks and where the other's marks are.
    "grid": (B, rows, cols) int8, +1 own, -1 other, 0 free. Raises ValueError for another kind.
    """
    if kind not in OBSERVATIONS:
        raise unknown_name("observation", kind, OBSERVATIONS)
    seats = to_move(boards) if seats is None else seats
    grid = (boards * np.asarray(seats, dtype=np.int8).reshape(-1, 1)).reshape(
        -1, rules.rows, rules.cols
    )
    return grid if kind == "grid" else np.stack([grid > 0, grid < 0], axis=1).astype(np.int8)
