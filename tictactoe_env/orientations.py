"""The canonical form of positions under symmetry, from bitboards in all orientations at once."""

from __future__ import annotations

import numpy as np

from tictactoe_env.positions import symmetries_of
from tictactoe_env.rules import Boards, Rules


class Orientations:
    """Marks as one Python integer: their bitboards in every orientation, side by side.

    The board's own orientation is in the lowest bits: `& rules.full` reads it. A cell is one
    number, `cells[cell]`, so a move is one `|`.
    """

    def __init__(self, rules: Rules):
        bits, turned = rules.cell_bits, symmetries_of(rules).tolist()
        self.size = max(bits).bit_length()
        self.field = (1 << 2 * self.size) - 1
        self.shifts = [2 * self.size * number for number in range(len(turned))]
        self.cells = [
            sum(
                bits[images[cell]] << shift
                for images, shift in zip(turned, self.shifts, strict=True)
            )
            for cell in range(rules.cells)
        ]

    def marks(self, board: Boards, mark: int) -> int:
        """Where one side's marks (+1 or -1) are on a board (cells,)."""
        return sum(
            cell for cell, found in zip(self.cells, board.tolist(), strict=True) if found == mark
        )

    def keys_after(self, board: Boards) -> dict[int, int]:
        """The key of the position after each legal move on a board (cells,): {cell: key}."""
        x, o = (self.marks(board, mark) for mark in (1, -1))
        x_moves = int(board.sum()) == 0
        free = [
            (cell, images)
            for cell, (images, mark) in enumerate(zip(self.cells, board.tolist(), strict=True))
            if not mark
        ]
        return {
            cell: self.key(x | images, o) if x_moves else self.key(x, o | images)
            for cell, images in free
        }

    def key(self, own: int, other: int) -> int:
        """A number that two positions share if and only if they are images of each other."""
        both, field = own << self.size | other, self.field
        return min([both >> shift & field for shift in self.shifts])


def check_unfinished(boards: Boards, rules: Rules) -> Boards:
    """Boards (B, cells) as an array; ValueError if one of them is finished."""
    boards = np.asarray(boards)
    x, o = rules.to_bits(boards)
    if (rules.has_line(x) | rules.has_line(o) | rules.is_full(x, o)).any():
        raise ValueError("a finished board has no move: ask for unfinished boards only")
    return boards
