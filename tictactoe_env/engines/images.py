"""Games on bitboards of which the learner sees one image of each board: its canonical form.

The games themselves are those of `bits`, on the board as it is. A view is that of the image, and
the learner's move is a cell of it, which is turned back. The images of a set of cells come from
tables over a few cells each. Sets have the order of `Rules`' bitboards, so the first image is the
same. Small boards need no engine of their own: `rows` has the images in its tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.engines.bitboards import BYTE
from tictactoe_env.engines.bits import BitGame, BitGames, State, States
from tictactoe_env.policy import Numbers
from tictactoe_env.rules import Rules

_KEPT = 1 << 14  # images of positions, 5 MB
_UNPACKED = 32  # cells of the largest board whose position fits 64 bits
_NUMBER_BITS = 3  # hold the number of a symmetry; there are at most eight
_NUMBERS = (1 << _NUMBER_BITS) - 1
_LAST_SET = np.iinfo(np.int64).max  # later than any other
_Sets = NDArray[np.int64]


def _images_of_cells(rules: Rules) -> _Sets:
    """Where each cell is under each symmetry, as a set of one cell: (S, cells)."""
    return np.left_shift(1, np.argsort(rules.symmetries, axis=1), dtype=np.int64)


class ImageGames(BitGames):
    """Many games at a time."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        super().__init__(rules, early_draw, observation)
        images = _images_of_cells(rules)
        starts = range(0, rules.cells, BYTE)
        self._tables = [_unions(images[:, first : first + BYTE]) for first in starts]
        self._ranks = np.arange(len(images), 0, -1, dtype=np.int8)[:, None]
        self._numbers = np.arange(len(images))[:, None]
        self._is_packed = 2 * rules.cells + _NUMBER_BITS < 64
        self._last: tuple[States, States, Numbers] | None = None

    def advance(
        self, states: States, cells: Numbers, *opponents: Any
    ) -> tuple[States, NDArray[np.int8]]:
        """States (4, B) and results (B,) after moves onto cells (B,) of the images, and replies."""
        _, which = self._images(states)
        return super().advance(states, self.rules.symmetries[which, cells], *opponents)

    def observe(self, states: States) -> NDArray[Any]:
        """Observations of the images from the learner's seats."""
        return super().observe(self._images(states)[0])

    def legal(self, states: States) -> NDArray[np.int8]:
        """Masks (B, cells) int8, 1 on legal cells of the images, on all after the end of a game."""
        seen = self._images(states)[0].copy()
        np.putmask(seen[2], states[2] == self._board.full, self._board.full)
        return super().legal(seen)

    def _images(self, states: States) -> tuple[States, Numbers]:
        """The states (4, B) of the images, and the symmetries (B,) that lead there.

        The last ones are kept: a step asks for them up to three times.
        """
        count = states.shape[1]
        if self._last is not None and np.array_equal(self._last[0][:, :count], states[:2]):
            return self._last[1][:, :count], self._last[2][:count]
        own, other, _, _ = states
        is_x = self.seats(states) > 0
        every_x = self._oriented(np.where(is_x, own, other))
        every_o = self._oriented(np.where(is_x, other, own))
        find_first = self._packed_first if self._is_packed else self._first
        x, o, which = find_first(every_x, every_o)
        seen = states.copy()
        seen[0] = np.where(is_x, x, o)
        seen[1] = np.where(is_x, o, x)
        seen[2] = self._board.legal(x | o)
        self._last = states[:2].copy(), seen, which
        return seen, which

    def _packed_first(self, every_x: _Sets, every_o: _Sets) -> tuple[_Sets, _Sets, Numbers]:
        """The first of the images (S, B) and its symmetry, on a board whose position fits 64 bits.

        X's set is in the upper bits of a number, then O's, then the number of the symmetry.
        """
        every_x <<= self.rules.cells
        every_x |= every_o
        every_x <<= _NUMBER_BITS
        every_x |= self._numbers
        first = every_x.min(axis=0)
        which = first & _NUMBERS
        both = first >> _NUMBER_BITS
        x = both >> self.rules.cells
        return x, both ^ x << self.rules.cells, which

    def _first(self, every_x: _Sets, every_o: _Sets) -> tuple[_Sets, _Sets, Numbers]:
        """The first of the images (S, B) and its symmetry, on any board."""
        x = every_x.min(axis=0)
        np.putmask(every_o, every_x != x, _LAST_SET)
        o = every_o.min(axis=0)
        # The lowest number of a symmetry that leads there; argmin takes ten times as long.
        which = len(every_o) - (self._ranks * (every_o == o)).max(axis=0)
        return x, o, which

    def _oriented(self, sets: _Sets) -> _Sets:
        """The images of sets (B,) under each symmetry: (S, B)."""
        first, *others = self._tables
        found: _Sets = first.take(sets & 255, axis=1)
        for table in others:
            sets = sets >> BYTE
            found |= table.take(sets & 255, axis=1)
        return found


class ImageGame(BitGame):
    """One game at a time.

    All images of a position are one Python integer, with a field for each that has X's set in its
    upper half and O's in its lower one.
    """

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        super().__init__(rules, early_draw, observation)
        self._permutations = rules.symmetries.tolist()
        count = len(self._permutations)
        self._half = 32 if rules.cells <= _UNPACKED else 64
        self._shifts = [2 * self._half * number for number in range(count)]
        self._field = (1 << 2 * self._half) - 1
        self._bytes = 8 * count
        self._unpack = Struct(f"<{count}Q").unpack
        images = [
            sum(image << shift for image, shift in zip(of_cell, self._shifts, strict=True))
            for of_cell in _images_of_cells(rules).T.tolist()
        ]
        self._tables = []
        for first in range(0, rules.cells, BYTE):
            table = [0]
            for image in images[first : first + BYTE]:
                table += [one | image for one in table]
            self._tables.append(([one << self._half for one in table], table))
        self._image = lru_cache(maxsize=_KEPT)(self._find_image)

    def advance(
        self, state: State, cell: int | None, *opponent: Any
    ) -> tuple[State, int, NDArray[Any], NDArray[np.int8]]:
        """State, result and view after a move onto a cell of the image, and the reply."""
        if cell is not None:
            cell = self._permutations[self._image(state)[2]][cell]
        return super().advance(state, cell, *opponent)

    def _view(self, state: State, legal: int) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The view of the image of a state."""
        own, other, _ = self._image(state)
        taken = own | other
        if legal != self._full:  # of no move so far, or after the end of the game
            legal = self._find_legal(taken) if self._find_legal else self._full ^ taken
        return super()._view((own, other, state[2]), legal)

    def _find_image(self, state: State) -> tuple[int, int, int]:
        """The learner's marks and the opponent's on the image, and the symmetry to it."""
        own, other, seat = state
        x, o = (own, other) if seat > 0 else (other, own)
        both = 0
        for of_x, of_o in self._tables:
            both |= of_x[x & 255] | of_o[o & 255]
            x >>= BYTE
            o >>= BYTE
        images: Sequence[int]
        if self._half == 32:  # in half the time
            images = self._unpack(both.to_bytes(self._bytes, "little"))
        else:
            images = [both >> shift & self._field for shift in self._shifts]
        first = min(images)
        which = images.index(first)
        x = first >> self._half
        o = first ^ x << self._half
        return (x, o, which) if seat > 0 else (o, x, which)


def _unions(images: _Sets) -> _Sets:
    """The union of each set of some images (S, n): (S, 2^n); bit i of the index is for image i."""
    found = np.zeros_like(images[:, :1])
    for image in images.T[:, :, None]:
        found = np.concatenate([found, found | image], axis=1)
    return found
