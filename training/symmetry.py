"""The positions that a learner sees: one for each symmetry class of the board, or all of them."""

from __future__ import annotations

import numpy as np

from tictactoe_env.positions import Positions


class Representatives:
    """The unfinished positions that stand for their images; without symmetry, for themselves.

    rows: (C,) their row numbers, 627 on 3x3 with symmetry. index: (N,) which of them stands for
    each position, -1 for finished ones. cells: (N, cells) the cell of each position that a cell of
    its representative is an image of: `boards[n][cells[n]] == boards[rows[index[n]]]`.
    symmetries: (S, cells) the permutations in use, the identity alone without symmetry.
    """

    def __init__(self, positions: Positions, symmetry: bool):
        size, unfinished = len(positions), positions.unfinished
        shown = positions.canonical if symmetry else np.arange(size)
        self.rows, index = np.unique(shown[unfinished], return_inverse=True)
        self.index = np.full(size, -1)
        self.index[unfinished] = index
        self.symmetries = positions.symmetries if symmetry else positions.symmetries[:1]
        which = positions.to_canonical if symmetry else np.zeros(size, dtype=np.intp)
        self.cells = self.symmetries[which]
