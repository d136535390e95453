"""Boards in canonical form: a network sees one board of each class of symmetric boards."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tictactoe_env.rules import Rules

# The largest boards whose ternary code fits into a float without rounding.
FLOAT_CELLS = 14  # float32
DOUBLE_CELLS = 33  # float64
RANDOM_BITS = 45  # of a mark on larger boards
MOST_SYMMETRIES = 16  # of whose sets there is a table


class CanonicalBoards(torch.nn.Module):
    """The canonical form of boards: 765 positions of 3x3 instead of 5,478.

    The canonical form of a board is the image with the smallest code, among its images under the
    symmetries of the board's shape. It does not depend on the solution of the game. The code is the
    ternary number of the cells; on boards of more than 33 cells, where that does not fit, a sum of
    45 random bits for each mark, which two boards share by a chance of about 1 in 10^13.
    symmetry: if False, every board is its own canonical form. Raises ValueError for a game of more
    than 16 symmetries.
    """

    cells_of: torch.Tensor
    weights: torch.Tensor
    representatives: torch.Tensor
    bits: torch.Tensor

    def __init__(self, rules: Rules, symmetry: bool = True):
        super().__init__()
        permutations = rules.symmetries
        if not symmetry:
            permutations = permutations[:1]  # the identity
        if len(permutations) > MOST_SYMMETRIES:
            raise ValueError(
                f"canonical boards of at most {MOST_SYMMETRIES} symmetries are known to networks, "
                f"{rules} has {len(permutations)}: learn without symmetry (--no-symmetry)"
            )
        back = np.argsort(permutations, axis=1)
        # weights[plane and cell, s]: what a mark adds to the code of the image under symmetry s
        codes = torch.float32 if rules.cells <= FLOAT_CELLS else torch.float64
        of_cells: NDArray[Any] = 3.0 ** np.arange(rules.cells)
        if rules.cells > DOUBLE_CELLS:
            of_cells = np.random.default_rng(0).integers(1 << RANDOM_BITS, size=rules.cells)
        of_own = of_cells[back].T
        of_other = 2 * of_own
        self._keep("weights", np.concatenate([of_own, of_other]), codes)
        self._keep("cells_of", permutations)
        # A set of symmetries is a number: bit s says whether symmetry s is in it.
        symmetries = np.arange(len(back))
        sets = np.arange(2 ** len(back))
        is_in_set = ((sets[:, None] >> symmetries) & 1) == 1
        # representatives[set of symmetries, cell]: of the cells of the canonical board that these
        # symmetries map to `cell`, the lowest
        mapped = np.where(is_in_set[:, :, None], back, rules.cells)
        self._keep("representatives", mapped.min(axis=1))
        self._keep("bits", 2.0**symmetries, torch.float32)

    def _keep(self, name: str, array: NDArray[Any], dtype: torch.dtype | None = None) -> None:
        """Make an array a constant of the module, which moves with it to a device."""
        self.register_buffer(name, torch.tensor(array, dtype=dtype), persistent=False)

    def forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The canonical planes (B, 2, rows, cols), and the permutations (B, cells) to them.

        For each cell i of a board: canonical[i] = board[permutation[i]].
        """
        return self._turned(planes, self._codes(planes).argmin(dim=1))

    def each(self, planes: torch.Tensor) -> tuple[torch.Tensor, slice, torch.Tensor]:
        """The result of `distinct` if equal boards aren't looked for: canonical is (B, ...)."""
        codes = self._codes(planes)
        leads_there = codes == codes.amin(dim=1, keepdim=True)
        canonical, _ = self._turned(planes, codes.argmin(dim=1))
        return canonical, slice(None), self._representatives(leads_there)

    def distinct(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The distinct canonical boards of a batch, and which of their cells score its cells.

        canonical: (U, 2, rows, cols), the planes. which: (B,), the canonical board of each board.
        cells: (B, cells), for each cell of a board the representative cell on the canonical board.
        `network(canonical)[which].gather(1, cells)` are the scores (B, cells), from U evaluations
        instead of B. If a symmetry maps a board to itself, the cells that it maps to each other
        have the same representative, and so the same score.
        """
        codes = self._codes(planes)
        lowest = codes.amin(dim=1, keepdim=True)
        found, which = torch.unique(lowest, return_inverse=True)
        which = which.squeeze(1)
        one_of_each = which.new_empty(len(found)).scatter_(
            0, which, torch.arange(len(which), device=which.device)
        )
        canonical, _ = self(planes[one_of_each])
        return canonical, which, self._representatives(codes == lowest)

    def _codes(self, planes: torch.Tensor) -> torch.Tensor:
        """The codes (B, symmetries) of the images."""
        return planes.flatten(1).to(self.weights.dtype) @ self.weights

    def _turned(
        self, planes: torch.Tensor, symmetry: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The images of planes under symmetries (B,), and the permutations (B, cells) to them."""
        cells = self.cells_of[symmetry]
        both = torch.cat([cells, cells + cells.shape[1]], dim=1)
        return planes.flatten(1).gather(1, both).reshape(planes.shape), cells

    def _representatives(self, leads_there: torch.Tensor) -> torch.Tensor:
        """The representative cells (B, cells). leads_there: which symmetries (B, symmetries) do."""
        set_of_symmetries = (leads_there.float() @ self.bits).long()
        return self.representatives[set_of_symmetries]
