"""The positions that a learner uses: one for each class of symmetric boards, or all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import Positions


class Representatives:
    """The unfinished positions in canonical form; without symmetry, all unfinished positions.

    rows: (C,) their row numbers, 627 on 3x3 with symmetry.
    index: (N,) for each position its canonical form, as an index into `rows`; -1 if it is finished.
    cells: (N, cells) the permutation to the canonical form:
    `boards[n][cells[n]] == boards[rows[index[n]]]`.
    symmetries: (S, cells) the permutations in use; without symmetry, only the identity.
    """

    def __init__(self, positions: Positions, symmetry: bool):
        size = len(positions)
        if symmetry:
            canonical: NDArray[Any] = positions.canonical
            to_canonical = positions.to_canonical
            self.symmetries = positions.rules.symmetries
        else:
            canonical = np.arange(size)
            to_canonical = np.zeros(size, dtype=np.intp)
            self.symmetries = positions.rules.symmetries[:1]
        unfinished = positions.unfinished
        self.rows, index = np.unique(canonical[unfinished], return_inverse=True)
        self.index = np.full(size, -1)
        self.index[unfinished] = index
        self.cells = self.symmetries[to_canonical]
