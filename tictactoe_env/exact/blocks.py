"""Backward induction over every position of a small board, with two plies in memory.

The cells are split into two parts of at most 8 cells. The positions of a part are grouped by the
numbers of X and O in them. A block is a group of one part together with a group of the other: all
its positions have the same ply, and a move leads from one block to another. So a ply is some dozen
blocks, whose successors are whole rows and columns of the blocks of the next ply, if every free
cell is a legal move. 4x4 has 9.7 million positions; its largest block has 313,600.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.rules import DRAW, ILLEGAL, ONGOING, SIDES, Rules

_LOW_CELLS = 8  # cells of the first part; the others are the second, at most 8 on 4x4
_Counts = tuple[int, int]  # marks of X and of O
_Scores = NDArray[np.int8]
After = Iterator[tuple[Any, _Scores]]
"""Of each move, where it is legal: the positions, as `block[where]`, and the scores after it."""


class Block:
    """Positions (H, L) of one ply: every group of the upper part with every group of the lower one.

    side: the side to move, "X" or "O". high, low: ternary codes of the parts, (H,) and (L,).
    """

    def __init__(self, ply: int, parts: tuple[_Part, _Part], groups: tuple[_Counts, _Counts]):
        self.ply = ply
        self.side = SIDES[ply % 2]
        self._parts = parts
        self._groups = groups
        self.high, self.low = (part.codes[group] for part, group in zip(parts, groups, strict=True))

    @property
    def codes(self) -> NDArray[np.intp]:
        """Ternary codes (H, L)."""
        return np.add.outer(self.high * 3 ** len(self._parts[1].cells), self.low)

    def outcomes(self, lines: NDArray[np.int8]) -> NDArray[np.int8]:
        """The `Outcome` of each position for the side that moved last: (H, L) int8.

        It is ILLEGAL where play had stopped before. lines: see `_lines`.
        """
        x, o = (
            np.bitwise_or.outer(self._parts[0].bits[side][self.high], low[self.low])
            for side, low in enumerate(self._parts[1].bits)
        )
        own, other = (x, o) if self.side == "X" else (o, x)
        is_full = self.ply == sum(len(part.cells) for part in self._parts)
        without_line = np.int8(DRAW if is_full else ONGOING)
        by_last = lines[other]
        by_last = np.where(by_last > 0, by_last, without_line)
        return np.where(lines[own] > 0, np.int8(ILLEGAL), by_last)

    def after(self, following: dict[tuple[_Counts, _Counts], _Scores]) -> After:
        """The scores after each move; following: those of the next ply, by their groups."""
        high, low = self._groups
        upper, lower = self._parts
        for cell in lower.cells:
            if move := lower.move(low, cell, self.side):
                columns = (slice(None), move.places)
                yield columns, following[high, move.group].take(move.targets, axis=1)
        for cell in upper.cells:
            if move := upper.move(high, cell, self.side):
                yield move.places, following[move.group, low].take(move.targets, axis=0)


def backward_by_blocks(
    rules: Rules, rule: Callable[[Block, NDArray[np.int8], After], _Scores]
) -> None:
    """Ask for the scores of all positions, block by block, from the last ply to the first.

    rule: called with each block, the outcomes of its positions, and their scores after each move;
    it returns the scores of the positions (H, L). The board has at most 16 cells.
    """
    parts = _parts(rules.cells)
    lines = _lines(rules)
    following: dict[tuple[_Counts, _Counts], _Scores] = {}
    for ply in reversed(range(rules.cells + 1)):
        found = {}
        x_marks = (ply + 1) // 2
        o_marks = ply // 2
        for high in parts[0].codes:
            low = (x_marks - high[0], o_marks - high[1])
            if low in parts[1].codes:
                block = Block(ply, parts, (high, low))
                found[high, low] = rule(block, block.outcomes(lines), block.after(following))
        following = found


class _Move(NamedTuple):
    """Moves onto one cell, from the places of a group to the targets of another."""

    group: _Counts
    places: NDArray[np.intp]
    targets: NDArray[np.intp]


class _Part:
    """The positions of some cells. codes: those of each group, ascending. bits: X's and O's."""

    def __init__(self, cells: range):
        self.cells = cells
        numbers = np.arange(3 ** len(cells))
        self._digits = (numbers[:, None] // 3 ** np.arange(len(cells)) % 3).astype(np.int8)
        marks = [self._digits == digit for digit in (1, 2)]
        weights = 1 << np.array(cells, dtype=np.int64)
        self.bits = [(one @ weights).astype(np.uint16) for one in marks]
        x, o = (one.sum(axis=1) for one in marks)
        pairs = dict.fromkeys(zip(x.tolist(), o.tolist(), strict=True))
        self.codes: dict[_Counts, NDArray[np.intp]] = {
            (a, b): np.flatnonzero((x == a) & (o == b)) for a, b in pairs
        }
        self.move = cache(self._move)

    def _move(self, group: _Counts, cell: int, side: str) -> _Move | None:
        """The moves of a side onto a cell; None where it is taken in the whole group."""
        codes = self.codes[group]
        digit = cell - self.cells.start
        places = np.flatnonzero(self._digits[codes, digit] == 0)
        if not len(places):
            return None
        x, o = group
        to = (x + 1, o) if side == "X" else (x, o + 1)
        after = codes[places] + (1 if side == "X" else 2) * 3**digit
        return _Move(to, places, np.searchsorted(self.codes[to], after))


@lru_cache(maxsize=8)
def _parts(cells: int) -> tuple[_Part, _Part]:
    """The upper and the lower part of a board with so many cells."""
    split = min(cells, _LOW_CELLS)
    return _Part(range(split, cells)), _Part(range(split))


@lru_cache(maxsize=8)
def _lines(rules: Rules) -> NDArray[np.int8]:
    """The outcome of every set of marks for their side: (2^cells,) int8, bit c is cell c.

    It is ONGOING without a line. With lines it is the result of a line if one mark less leaves
    none, so that the last move may have made them, and ILLEGAL if play had stopped before.
    """
    law = rules.compact
    marks = np.arange(1 << rules.cells)
    found = np.where(law.has_line(marks), np.int8(ILLEGAL), np.int8(ONGOING))
    for bit in law.cell_bits:
        found[(found > 0) & ~law.has_line(marks & ~bit)] = rules.line_result
    return found
