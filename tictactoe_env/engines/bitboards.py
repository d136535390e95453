"""Sets of cells as bits of one number, for boards of any size: bit c is cell c.

    0 1 2        a set of cells is a Python integer (one game) or int64 (B,) (many games);
    3 4 5        the largest board has 63 cells, so the numbers are never negative
    6 7 8

Most questions are answered by tables over all sets of 16 cells: which cells, how many, which is the
n-th. A larger board is cut into parts of 16 cells. Whether there is a line is a table too if the
board is one part. The lines and the legal moves are those of `Rules.compact`, the law of the game
on these sets.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.rules import Rules

_PART = 16  # cells of a part of the board
BYTE = 8  # cells of a part of the board of one game
_ONES = (1 << _PART) - 1
_Sets = NDArray[np.int64]


@lru_cache(maxsize=1)
def _members() -> NDArray[np.int8]:
    """1 on the cells of each set of 16 cells, else 0: (65536, 16) int8."""
    sets = np.arange(1 << _PART, dtype="<u2")
    bits = np.unpackbits(sets[:, None].view(np.uint8), axis=1, bitorder="little")
    return bits.view(np.int8)


@lru_cache(maxsize=_PART)
def _rows(count: int) -> NDArray[np.int8]:
    """1 on the cells of each set of `count` cells, else 0: (2**count, count) int8."""
    return np.ascontiguousarray(_members()[: 1 << count, :count])


def members(sets: _Sets, count: int) -> NDArray[np.int8]:
    """1 on the cells of sets (...) of cells below `count`, else 0: (..., count) int8."""
    if count > _PART:
        as_bytes = np.ascontiguousarray(sets, dtype="<i8")[..., None].view(np.uint8)
        bits = np.unpackbits(as_bytes, axis=-1, count=count, bitorder="little")
        return bits.view(np.int8)
    if count == _PART and len(sets) > 512:  # more rows than a cache holds
        packed = sets.astype("<u2").view(np.uint8).ravel()
        found = np.unpackbits(packed, bitorder="little").view(np.int8)
        return found.reshape(*sets.shape, _PART)
    return _rows(count).take(sets, axis=0)


@lru_cache(maxsize=1)
def _counts() -> NDArray[np.uint8]:
    """The number of cells of each set of 16 cells: (65536,)."""
    return _members().sum(axis=1, dtype=np.uint8)


@lru_cache(maxsize=1)
def _nth() -> NDArray[np.uint8]:
    """The n-th cell of set s is at 16 s + n, n from 0; 0 where there is none: (2**20,)."""
    sets, cells = np.nonzero(_members())
    first = np.flatnonzero(np.diff(sets, prepend=-1))  # of each set but the empty one
    found = np.zeros((1 << _PART, _PART), dtype=np.uint8)
    found[sets, np.arange(len(sets)) - first[sets - 1]] = cells
    return found.ravel()


@lru_cache(maxsize=8)
def bitboards_of(rules: Rules) -> _Bitboards:
    """The tables of a board for many games, built on first use and shared."""
    return _Bitboards(rules)


class _Bitboards:
    """Sets of the cells of one board, as int64 arrays.

    full: the set of all cells. bits: (cells,), the set of each cell alone. columns: (cols,), the
    set of the cells of each column.
    """

    def __init__(self, rules: Rules):
        self.cells = rules.cells
        law = rules.compact
        self.full = law.full
        self.legal = law.legal
        self.bits = np.left_shift(1, np.arange(rules.cells, dtype=np.int64))
        self.is_one_part = rules.cells <= _PART
        self._part_starts = np.arange(0, rules.cells, _PART)[:, None]
        self._counts = _counts()
        self._nth = _nth()
        steps, self._first_cells, self._bent = (
            np.array([*numbers], dtype=np.int64)[:, None]
            for numbers in (law.straight_lines, law.straight_lines.values(), law.bent_lines)
        )
        self._shifts = [stride * steps for stride in rules.strides]
        # With gravity a set of legal moves has at most one cell of each column.
        self._draws_columns = rules.gravity and rules.cols <= _PART and not self.is_one_part
        first_column = sum(1 << cell for cell in range(0, rules.cells, rules.cols))
        self.columns = np.left_shift(first_column, np.arange(rules.cols, dtype=np.int64))
        if self._draws_columns:  # the cells of the n-th column of set s of columns are at 16 s + n
            self._nth_columns = self.columns.take(self._nth[: 1 << rules.cols + 4])
        # As arrays: Python's numbers take twice the time.
        self._first_column = np.array(first_column)
        self._last_row = np.array(rules.cells - rules.cols)
        self._row = np.array((1 << rules.cols) - 1)
        if self.is_one_part:
            self.lines = self._find_lines(np.arange(self.full + 1))

    def has_line(self, sets: _Sets) -> NDArray[np.bool_]:
        """True where k cells of the set are in a line: (B,)."""
        if self.is_one_part:
            return self.lines.take(sets)
        return self._find_lines(sets)

    def _find_lines(self, sets: _Sets) -> NDArray[np.bool_]:
        lines: Any = sets
        for shifts in self._shifts:
            lines = lines & lines >> shifts  # (steps, B)
        found: NDArray[np.bool_] = (lines & self._first_cells).any(axis=0)
        if len(self._bent):
            found |= (sets & self._bent == self._bent).any(axis=0)
        return found

    def is_dead(self, own: _Sets, other: _Sets) -> NDArray[np.bool_]:
        """True where every line has marks of both sides, so nobody can make one: (B,)."""
        return ~(self.has_line(self.full ^ own) | self.has_line(self.full ^ other))

    def columns_of(self, sets: _Sets) -> _Sets:
        """The columns of the cells of each set, as a set: (B,). No two may be in one column.

        The product adds up the sets moved down by 0, 1, ... rows: its last row has all rows.
        """
        return sets * self._first_column >> self._last_row & self._row

    def members(self, sets: _Sets) -> NDArray[np.int8]:
        """1 on the cells of the set, else 0: (..., cells) of sets (...)."""
        return members(sets, self.cells)

    def both_members(self, own: _Sets, other: _Sets) -> NDArray[np.int8]:
        """The members of each of two sets (B,), one after the other: (B, 2 * cells).

        On boards of more than 16 cells it is a part of wider rows.
        """
        pairs = np.empty((len(own), 2), dtype="<i8")
        pairs[:, 0] = own
        pairs[:, 1] = other
        if self.is_one_part:
            return self.members(pairs).reshape(-1, 2 * self.cells)
        # As 128 bits without a gap, all pairs are unpacked at once, in half the time.
        pairs[:, 0] |= other << self.cells
        pairs[:, 1] >>= 64 - self.cells
        bits = np.unpackbits(pairs.view(np.uint8).ravel(), bitorder="little").view(np.int8)
        return bits.reshape(-1, 128)[:, : 2 * self.cells]

    def sets(self, members: NDArray[np.bool_]) -> _Sets:
        """The sets (B,) of the cells that are True in `members` (B, cells)."""
        padded = np.zeros((len(members), 64), dtype=bool)
        padded[:, : self.cells] = members
        packed = np.packbits(padded, axis=1, bitorder="little")
        return packed.view("<i8")[:, 0].astype(np.int64)

    def draw(self, sets: _Sets, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """One cell of each set (B,), all equally likely, drawn with one number in [0, 1) each.

        It is the cell with the number floor(uniform * size) of the set; 0 for the empty set.
        """
        if self.is_one_part:
            wanted = (uniforms * self._counts.take(sets)).astype(np.int64)
            return self._nth.take((sets << 4) + wanted).astype(np.int64)
        counts = self._counts.take(sets >> self._part_starts & _ONES)  # (parts, B)
        ends = counts.copy()
        for before, after in pairwise(ends):
            after += before
        wanted = (uniforms * ends[-1]).astype(np.uint8)
        beyond = wanted >= ends[:-1]  # whether the wanted cell is in a later part
        counts[:-1] *= beyond
        rest = wanted - np.add.reduce(counts[:-1], axis=0, dtype=np.uint8)
        first = np.add.reduce(beyond, axis=0, dtype=np.int64) << 4
        return self._nth.take(((sets >> first & _ONES) << 4) + rest) + first

    def draw_moves(
        self, legal: _Sets, uniforms: NDArray[np.float64], moving: NDArray[np.bool_]
    ) -> _Sets:
        """A random legal move of each game, as a set of one cell; no cell where not `moving`.

        legal, uniforms, moving: (B,) each. All legal moves are equally likely.
        """
        if not self._draws_columns:
            return np.left_shift(moving, self.draw(legal, uniforms))
        open_columns = self.columns_of(legal)
        wanted = (uniforms * self._counts.take(open_columns)).astype(np.int64)
        return legal * moving & self._nth_columns.take((open_columns << 4) + wanted)


# --- one game: tables of Python numbers -----------------------------------------------------------


@lru_cache(maxsize=1)
def nth_cells() -> bytes:
    """The n-th cell of set s of 8 cells is at 8 s + n.

    Tables over 8 cells stay in the processor's first cache, which makes a game of 4x4 half as fast
    again as tables over 16 cells do.
    """
    return _nth().reshape(-1, _PART)[: 1 << BYTE, :BYTE].tobytes()


@lru_cache(maxsize=8)
def line_table(rules: Rules) -> bytes:
    """On boards of up to 16 cells 1 for each set with k cells in a line, else 0; else empty."""
    return bitboards_of(rules).lines.tobytes() if rules.cells <= _PART else b""


@lru_cache(maxsize=8)
def cell_bytes(cells: int, dtype: type[np.generic]) -> list[list[bytes]]:
    """For each 8 cells of the board 1 or 0 for each cell of each set, as bytes of this type."""
    members = _members()[: 1 << BYTE].astype(dtype)
    widths = (min(BYTE, cells - start) for start in range(0, cells, BYTE))
    return [[row[:width].tobytes() for row in members] for width in widths]
