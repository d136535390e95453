"""The canonical form of positions under symmetry, computed from bitboards of all orientations."""

from __future__ import annotations

import numpy as np

from tictactoe_env.exact.positions import symmetries_of
from tictactoe_env.rules import Boards, Rules


class Orientations:
    """Marks as one Python integer that holds their bitboard in every orientation, side by side.

    The lowest bits hold the orientation of the board itself: `& rules.full` reads it. `cells[cell]`
    has the bits of a cell in all orientations, so a move is one `|`.
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
        """The marks of one side (+1 or -1) on a board (cells,), in all orientations."""
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
        """The canonical form as a number: equal if and only if two positions are symmetric."""
        both, field = own << self.size | other, self.field
        return min([both >> shift & field for shift in self.shifts])


def check_unfinished(boards: Boards, rules: Rules) -> Boards:
    """Boards (B, cells) as an array. Raises ValueError if one of them is finished."""
    boards = np.asarray(boards)
    x, o = rules.to_bits(boards)
    if (rules.has_line(x) | rules.has_line(o) | rules.is_full(x, o)).any():
        raise ValueError("a finished board has no move: ask for unfinished boards only")
    return boards
