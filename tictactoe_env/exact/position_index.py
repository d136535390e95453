"""Distinct positions as bitboards, sorted, and the place of a position among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.rules import Rules

Marks = NDArray[np.uint64]

NONE: Marks = np.zeros(0, dtype=np.uint64)
_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)


def fits_one_number(rules: Rules) -> bool:
    """True if both bitboards of a position fit one uint64: up to 5x5, 4x7 and 3x9."""
    return rules.rows * (rules.cols + 1) <= 32


def _packed(x: NDArray[Any], o: NDArray[Any]) -> Marks:
    """Two numbers of at most 32 bits as one, ordered by the first and then by the second."""
    return (x.astype(np.uint64) << _HALF) | o.astype(np.uint64, copy=False)


def _unpacked(keys: Marks) -> tuple[Marks, Marks]:
    """The two numbers of `_packed`."""
    return keys >> _HALF, keys & _LOW


class PositionIndex:
    """N distinct positions, sorted by X's bitboard and then by O's.

    x, o: (N,) bitboards. Bitboards of more than 32 bits are replaced by their ranks among those of
    the same side, so one number stands for a position on every board.
    """

    def __init__(self, x: Marks, o: Marks, rules: Rules):
        """x, o: sorted and distinct, as `distinct` gives them."""
        self._ranked = None
        if not fits_one_number(rules):
            self._ranked = [_ended(_sorted(one)) for one in (x, o)]
        self._keys = _ended(self._numbers(x, o)[0])

    def __len__(self) -> int:
        return len(self._keys) - 1

    def find(self, x: Marks, o: Marks) -> NDArray[np.intp]:
        """The places (B,) of positions; -1 for those that are not there."""
        keys, is_known = self._numbers(x, o)
        place, is_there = _places(self._keys, keys)
        return np.where(is_there & is_known, place, -1)

    def _numbers(self, x: Marks, o: Marks) -> tuple[Marks, Any]:
        """One number for each position, and whether both of its bitboards are known."""
        if self._ranked is None:
            return _packed(x, o), True
        (x_rank, is_x), (o_rank, is_o) = map(_places, self._ranked, (x, o))
        return _packed(x_rank, o_rank), is_x & is_o


def _ended(numbers: Marks) -> Marks:
    """Sorted numbers with a last one that is no bitboard."""
    return np.append(numbers, np.uint64((1 << 64) - 1))


def _places(numbers: Marks, wanted: Marks) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The places of numbers among those of `_ended`, and which of them are there."""
    place = np.searchsorted(numbers[:-1], wanted)
    return place, numbers[place] == wanted


class MoveSets:
    """Sets of moves, by position.

    x, o, moves: (B,) bitboards. Positions may be given in any order; those that come twice get the
    moves of both.
    """

    def __init__(self, rules: Rules, x: Marks, o: Marks, moves: Marks):
        self.rules = rules
        self._index = PositionIndex(*distinct(x, o, rules), rules)
        self._moves = np.zeros(len(self._index) + 1, dtype=np.uint64)  # the last: for no position
        np.bitwise_or.at(self._moves, self._index.find(x, o), moves)

    def bits(self, x: Marks, o: Marks) -> Marks:
        """The moves in positions (B,) as bitboards (B,); 0 for a position that is not there."""
        return self._moves[self._index.find(x, o)]


def distinct(x: Marks, o: Marks, rules: Rules) -> tuple[Marks, Marks]:
    """The distinct positions of (B,) bitboards, sorted by X's bitboard and then by O's."""
    if fits_one_number(rules):
        return _unpacked(_sorted(_packed(x, o)))
    order = np.lexsort((o, x))
    x, o = x[order], o[order]
    is_new = np.ones(len(x), dtype=bool)
    is_new[1:] = (x[1:] != x[:-1]) | (o[1:] != o[:-1])
    return x[is_new], o[is_new]


def _sorted(numbers: Marks) -> Marks:
    """The distinct numbers, sorted. For millions `np.unique` takes 50 times as long (NumPy 2.3)."""
    ordered = np.sort(numbers)
    is_first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]
