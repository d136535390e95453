"""Symmetric positions: their canonical form, the one image that stands for all of them.

The canonical form of a position is the first of its images under the symmetries of the board, in
the order of X's bitboard and then O's, compared as numbers. `_CanonicalForms` finds it for many
positions at a time, `Orientations` for one, in a search.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.rules import Boards, Rules, to_move

_PART_BITS = 11  # of a bitboard that are looked up at once; 2,048 entries stay in the fastest cache
_Marks = NDArray[np.uint64]


@lru_cache(maxsize=8)
def canonical_forms(rules: Rules, is_symmetric: bool = True) -> _CanonicalForms:
    """The canonical forms of a board's positions; the tables are made on first use and kept.

    is_symmetric: if False, every position is its own canonical form.
    """
    identity = rules.symmetries[:1]
    return _CanonicalForms(rules, rules.symmetries if is_symmetric else identity)


class _CanonicalForms:
    """The canonical form of many positions.

    permutations: (S, cells), see `Rules.symmetries`; `board[permutations[s]]` is an image.
    """

    def __init__(self, rules: Rules, permutations: NDArray[np.intp]):
        self.rules = rules
        self.permutations = permutations
        size = rules.rows * (rules.cols + 1)
        self._parts = range(0, size, _PART_BITS)
        self._images = [self._tables(permutation, size) for permutation in self.permutations]

    def _tables(self, permutation: NDArray[np.intp], size: int) -> list[_Marks]:
        """The image of the bits of each part of a bitboard, one table for each part."""
        bits = self.rules.cell_bits
        bit_of = np.zeros(size, dtype=np.uint64)  # where each bit goes; padding bits are never set
        for cell, image in zip(permutation.tolist(), bits, strict=True):
            bit_of[bits[cell].bit_length() - 1] = image
        tables = []
        for first in self._parts:
            table = np.zeros(1, dtype=np.uint64)
            for bit in bit_of[first : first + _PART_BITS]:
                table = np.concatenate([table, table | bit])
            tables.append(table)
        return tables

    def find(self, x: _Marks, o: _Marks) -> tuple[_Marks, _Marks, NDArray[np.int32]]:
        """X's and O's bitboards (B,) uint64 in canonical form, and the symmetry that leads there.

        Of several such symmetries it is the one with the lowest number.
        """
        parts_x, parts_o = self._split(x), self._split(o)
        best_x, best_o = x.copy(), o.copy()
        which = np.zeros(len(x), dtype=np.int32)
        for symmetry, tables in enumerate(self._images[1:], 1):
            image_x, image_o = _joined(tables, parts_x), _joined(tables, parts_o)
            lower = (image_x < best_x) | ((image_x == best_x) & (image_o < best_o))
            np.copyto(best_x, image_x, where=lower)
            np.copyto(best_o, image_o, where=lower)
            which[lower] = symmetry
        return best_x, best_o, which

    def to_form(self, boards: Boards) -> tuple[_Marks, _Marks, NDArray[np.intp]]:
        """X's and O's bitboards (B,) of boards (B, cells) in canonical form, and the permutations.

        cells: (B, cells); cell i of the canonical form is cell `cells[b, i]` of board b.
        """
        x, o, which = self.find(*self.rules.to_bits(boards))
        return x, o, self.permutations[which]

    def _split(self, marks: _Marks) -> list[NDArray[np.intp]]:
        """The parts of bitboards (B,), as indices into the tables."""
        mask = np.uint64((1 << _PART_BITS) - 1)
        return [((marks >> np.uint64(first)) & mask).astype(np.intp) for first in self._parts]


def _joined(tables: list[_Marks], parts: list[NDArray[np.intp]]) -> _Marks:
    first, *others = (table.take(part) for table, part in zip(tables, parts, strict=True))
    for other in others:
        first |= other
    return first


class Orientations:
    """Marks as one Python integer that holds their bitboard in every orientation, side by side.

    The lowest bits hold the orientation of the board itself: `& rules.full` reads it. `cells[cell]`
    has the bits of a cell in all orientations, so a move is one `|`.
    """

    def __init__(self, rules: Rules):
        self.rules = rules
        bits = rules.cell_bits
        turned = rules.symmetries.tolist()
        self.size = max(bits).bit_length()
        self.field = (1 << 2 * self.size) - 1
        self.shifts = [2 * self.size * number for number in range(len(turned))]
        self.cells = [
            sum(bits[image] << shift for image, shift in zip(images, self.shifts, strict=True))
            for images in zip(*turned, strict=True)
        ]

    def marks(self, board: Boards, mark: int) -> int:
        """The marks of one side (+1 or -1) on a board (cells,), in all orientations."""
        return sum(
            cell for cell, found in zip(self.cells, board.tolist(), strict=True) if found == mark
        )

    def key_of(self, board: Boards) -> int:
        """The key of a board (cells,), X's marks first."""
        return self.key(self.marks(board, 1), self.marks(board, -1))

    def keys_after(self, board: Boards) -> dict[int, int]:
        """The key of the position after each legal move on a board (cells,): {cell: key}."""
        x, o = (self.marks(board, mark) for mark in (1, -1))
        legal = np.flatnonzero(self.rules.legal_cells(board)).tolist()
        if to_move(board) > 0:
            return {cell: self.key(x | self.cells[cell], o) for cell in legal}
        return {cell: self.key(x, o | self.cells[cell]) for cell in legal}

    def key(self, own: int, other: int) -> int:
        """The canonical form as a number: equal if and only if two positions are symmetric."""
        both = own << self.size | other
        field = self.field
        return min([both >> shift & field for shift in self.shifts])


def images(boards: Boards, rules: Rules) -> tuple[Boards, NDArray[np.intp]]:
    """The canonical forms (B, cells) of boards (B, cells), and which of their cells each shows.

    Cell i of the form of board b is cell `cells[b, i]` of the board.
    """
    _, _, cells = canonical_forms(rules).to_form(boards)
    return np.take_along_axis(boards, cells, axis=1), cells


def on_images(
    find: Callable[[Boards], NDArray[Any]], boards: Boards, rules: Rules
) -> NDArray[np.float64]:
    """What a function finds on the canonical forms of boards (B, cells), turned back to them.

    find: called once, with each of the forms (U, cells) once; returns an array (U, cells).
    """
    x, o, cells = canonical_forms(rules).to_form(boards)
    order = np.lexsort((o, x))
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = np.diff(x[order]).astype(bool) | np.diff(o[order]).astype(bool)
    form_of = np.empty_like(order)
    form_of[order] = is_first.cumsum() - 1
    firsts = order[is_first]
    found = np.asarray(find(rules.to_boards(x[firsts], o[firsts])), dtype=np.float64)
    return turned_back(found[form_of], cells)


def turned_back(found: NDArray[Any], cells: NDArray[np.intp]) -> NDArray[Any]:
    """Turn results on canonical forms (B, cells) to the boards as they are; see `to_form`."""
    turned = np.empty_like(found)
    np.put_along_axis(turned, cells, found, axis=1)
    return turned
