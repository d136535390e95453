"""The exact scores of Connect Four on 6x7, asked of a library that solves it: bitbully.

The package does not need bitbully, whose licence is the AGPL: the extra `connect-four` installs it,
and it is imported when this board is to be solved. Another solver could take its turn in `_ask`.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.rules import Boards, Rules

CONNECT_FOUR = Rules(6, 7, 4, gravity=True)
LAST_STONE = 22  # a win with stone number n has the score 22 - n
FULL = -100  # the score of a column that is full
INSTALL = 'pip install "tictactoe-env[connect-four]"'
REMEMBERED = 200_000  # positions, mirror images counted once; they take some 80 MB


@cache
def is_installed() -> bool:
    """True if bitbully can be imported, which is tried once."""
    try:
        from bitbully import BitBully, Board  # noqa: F401
    except ImportError:
        return False
    return True


def column_scores(boards: Boards) -> NDArray[np.int8]:
    """The mover's score of each column of unfinished boards (B, 42): (B, 7), FULL where it is full.

    0 is a draw; a positive score is a win with the mover's stone number 22 - score, a negative one
    a loss to the other side's stone number 22 + score. The boards must be such as play can reach.
    """
    stones = np.where(boards < 0, 2, boards).astype(np.uint8)
    columns = stones.reshape(-1, 6, 7)[:, ::-1].swapaxes(1, 2)  # of each the lowest stone first
    scores = np.empty((len(boards), 7), dtype=np.int8)
    for row, board in enumerate(columns):
        as_is, mirrored = board.tobytes(), board[::-1].tobytes()
        scores[row] = _ask(as_is) if as_is <= mirrored else _ask(mirrored)[::-1]
    return scores


@lru_cache(maxsize=REMEMBERED)
def _ask(stones: bytes) -> tuple[int, ...]:
    """The scores of the columns of a board, which is given by column: 1 is X, 2 is O."""
    from bitbully import Board

    board = Board.from_array([list(stones[first : first + 6]) for first in range(0, 42, 6)])
    scores = _solver().score_all_moves(board)
    return tuple(scores.get(col, FULL) for col in range(7))


@cache
def _solver() -> Any:
    """bitbully with its book of the first 12 plies, which is loaded once."""
    from bitbully import BitBully

    return BitBully()
