"""Boards in canonical form: a network sees one board of each class of symmetric boards."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tictactoe_env.exact.positions import symmetries_of
from tictactoe_env.rules import Rules

EXACT_CELLS = {torch.float32: 14, torch.float64: 33}  # of a ternary code without rounding


class CanonicalBoards(torch.nn.Module):
    """The canonical form of boards: 765 positions of 3x3 instead of 5,478.

    The canonical form of a board is the image with the smallest ternary code, among its images
    under the symmetries of the board's shape. It does not depend on the solution of the game.
    Boards of more than 33 cells have codes of two parts, which are compared one after the other.
    symmetry: if False, every board is its own canonical form.
    """

    cells_of: torch.Tensor
    weights: torch.Tensor
    further_weights: torch.Tensor
    representatives: torch.Tensor
    bits: torch.Tensor

    def __init__(self, rules: Rules, symmetry: bool = True):
        super().__init__()
        permutations = symmetries_of(rules) if symmetry else np.arange(rules.cells)[None]
        back = np.argsort(permutations, axis=1)
        # weights[plane and cell, s]: what a mark adds to the code of the image under symmetry s
        codes = torch.float32
        if rules.cells > EXACT_CELLS[codes]:
            codes = torch.float64
        first = max(0, rules.cells - EXACT_CELLS[codes])  # the cells before are in the other part
        powers = np.where(back >= first, 3.0 ** (back - first), 0.0)
        further = np.where(back < first, 3.0**back, 0.0)
        self._keep("weights", np.concatenate([powers.T, 2 * powers.T]), codes)
        self.is_in_parts = first > 0
        if self.is_in_parts:
            self._keep("further_weights", np.concatenate([further.T, 2 * further.T]), codes)
        self._keep("cells_of", permutations)
        # representatives[set of symmetries, cell]: of the cells of the canonical board that these
        # symmetries map to `cell`, the lowest
        sets = np.arange(1 << len(back))[:, None] >> np.arange(len(back)) & 1 > 0
        self._keep("representatives", np.where(sets[:, :, None], back, rules.cells).min(axis=1))
        self._keep("bits", 2.0 ** np.arange(len(back)), torch.float32)

    def _keep(self, name: str, array: NDArray[Any], dtype: torch.dtype | None = None) -> None:
        self.register_buffer(name, torch.tensor(array, dtype=dtype), persistent=False)

    def forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The canonical planes (B, 2, rows, cols), and the permutations (B, cells) to them.

        For each cell i of a board: canonical[i] = board[permutation[i]].
        """
        return self._turned(planes, self._codes(planes)[0].argmin(dim=1))

    def each(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The canonical planes (B, 2, rows, cols), and which of their cells score a board's cells.

        cells: (B, cells), as those of `distinct`, which looks for equal boards first.
        """
        codes = self._codes(planes)[0]
        leads_there = codes == codes.amin(dim=1, keepdim=True)
        return self._turned(planes, codes.argmin(dim=1))[0], self._representatives(leads_there)

    def distinct(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The distinct canonical boards of a batch, and which of their cells score its cells.

        canonical: (U, 2, rows, cols), the planes. which: (B,), the canonical board of each board.
        cells: (B, cells), for each cell of a board the representative cell on the canonical board.
        `network(canonical)[which].gather(1, cells)` are the scores (B, cells), from U evaluations
        instead of B. If a symmetry maps a board to itself, the cells that it maps to each other
        have the same representative, and so the same score.
        """
        codes, further = self._codes(planes)
        lowest = codes.amin(dim=1, keepdim=True)
        leads_there = codes == lowest  # (B, symmetries): at least one is True
        code = lowest if further is None else torch.cat([further, lowest], dim=1)
        if further is None:
            found, which = torch.unique(code.squeeze(1), return_inverse=True)
        else:
            found, which = torch.unique(code, dim=0, return_inverse=True)
        one_of_each = which.new_empty(len(found)).scatter_(
            0, which, torch.arange(len(which), device=which.device)
        )
        return self(planes[one_of_each])[0], which, self._representatives(leads_there)

    def _codes(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The codes (B, symmetries) of the images, and the first part (B, 1) of the lowest one.

        If the codes have two parts, they are infinite where the first part is not the lowest.
        """
        flat = planes.flatten(1).to(self.weights.dtype)
        if not self.is_in_parts:
            return flat @ self.weights, None
        high = flat @ self.weights
        lowest = high.amin(dim=1, keepdim=True)
        low = flat @ self.further_weights
        return low.masked_fill(high > lowest, torch.inf), lowest

    def _turned(
        self, planes: torch.Tensor, symmetry: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The images of planes under symmetries (B,), and the permutations (B, cells) to them."""
        cells = self.cells_of[symmetry]
        both = torch.cat([cells, cells + cells.shape[1]], dim=1)
        return planes.flatten(1).gather(1, both).reshape(planes.shape), cells

    def _representatives(self, leads_there: torch.Tensor) -> torch.Tensor:
        return self.representatives[(leads_there.float() @ self.bits).long()]
