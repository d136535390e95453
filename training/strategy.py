"""A winning strategy of Connect Four, as a player and as the certificate of `connect-four-x`.

    python -m training.strategy strategy.npz

writes the certificate into the package. The file has two arrays: `keys`, positions with X to move
in which it cannot win at once, sorted, and `columns`, its move in each. A key is the bitboard of
all pieces plus that of X, bit 9 * column + row from the bottom; of a position and its mirror image
it is the smaller one, and the column is that of this image. Where X can win at once, it does.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.certificates import Certificate, certify, write
from tictactoe_env.certificates.trained import file_of
from tictactoe_env.exact.connect_four import CONNECT_FOUR as RULES
from tictactoe_env.policy import CanonicalPolicy, Probs, one_hot
from tictactoe_env.rules import Boards

NAME = "connect-four-x"
_PLACES = np.array([1 << (9 * col + 5 - row) for row in range(6) for col in range(7)], np.uint64)
_CENTRAL_FIRST = np.array([3, 2, 4, 5, 1, 6, 0])  # of several wins; others compress less well


class Strategy:
    """The player of a strategy, as X: see the file."""

    varies = ""

    def __init__(self, keys: NDArray[np.uint64], columns: NDArray[np.uint8]):
        self.keys = keys
        self.columns = columns

    def probs(self, boards: Boards) -> Probs:
        """1 on one cell of each board: (B, 42). Raises ValueError for unknown boards."""
        legal = RULES.legal_cells(boards)
        cells = RULES.landing(legal)
        x, _ = RULES.to_bits(boards)
        wins = RULES.has_line(x[:, None] | np.array(RULES.cell_bits, np.uint64)[cells])
        wins = (wins & RULES.open_columns(legal))[:, _CENTRAL_FIRST]
        columns = _CENTRAL_FIRST[wins.argmax(axis=1)]
        others = ~wins.any(axis=1)
        columns[others] = self.moves(boards[others])
        return one_hot(np.take_along_axis(cells, columns[:, None], axis=1)[:, 0], RULES.cells)

    def moves(self, boards: Boards) -> NDArray[np.intp]:
        """The columns (B,) of the strategy on boards (B, 42) that it knows."""
        key, is_mirrored = keys_of(boards)
        rows = np.searchsorted(self.keys, key).clip(max=len(self.keys) - 1)
        if not np.array_equal(self.keys[rows], key):
            raise ValueError(
                f"the strategy has no move in {np.sum(self.keys[rows] != key):,} positions"
            )
        columns = self.columns[rows].astype(np.intp)
        return np.where(is_mirrored, RULES.cols - 1 - columns, columns)


def keys_of(boards: Boards) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """The keys (B,) of boards (B, 42), and where they are those of the mirror images."""
    mirrored = boards.reshape(-1, RULES.rows, RULES.cols)[:, :, ::-1].reshape(boards.shape)
    keys, images = ((one != 0) @ _PLACES + (one == 1) @ _PLACES for one in (boards, mirrored))
    return np.minimum(keys, images), images < keys


def certified(file: Path) -> Certificate:
    """The certificate of the strategy in a file, as X. ValueError if it misses a position."""
    with np.load(file, allow_pickle=False) as arrays:
        player = Strategy(arrays["keys"], arrays["columns"])
    return certify(CanonicalPolicy(player, RULES), NAME, RULES, sides=("X",))


if __name__ == "__main__":
    found = certified(Path(sys.argv[1]))
    target = file_of(NAME, RULES)
    write(found, target)
    print(
        f"{found.claim}: {found.decisions:,} decisions, {target.stat().st_size:,} bytes in {target}"
    )
