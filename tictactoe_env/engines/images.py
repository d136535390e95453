"""Games on bitboards of which the learner sees one image of each board: its canonical form.

The games themselves are those of `bits`, on the board as it is. A view is that of the image, and
the learner's move is a cell of it, which is turned back. Small boards need no engine of their own:
`rows` has the images in its tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.engines.bitboards import BYTE
from tictactoe_env.engines.bits import BitGame, BitGames, State, States
from tictactoe_env.policy import Numbers
from tictactoe_env.rules import Rules
from tictactoe_env.symmetry import CanonicalForms


class ImageGames(BitGames):
    """Many games at a time."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        super().__init__(rules, early_draw, observation)
        self._forms = CanonicalForms(rules.symmetries, [1 << cell for cell in range(rules.cells)])
        self._last: tuple[States, States, NDArray[np.int8]] | None = None

    def advance(
        self, states: States, cells: Numbers, *opponents: Any
    ) -> tuple[States, NDArray[np.int8]]:
        """States (4, B) and results (B,) after moves onto cells (B,) of the images, and replies."""
        _, which = self._images(states)
        return super().advance(states, self._forms.permutations[which, cells], *opponents)

    def observe(self, states: States) -> NDArray[Any]:
        """Observations of the images from the learner's seats."""
        return super().observe(self._images(states)[0])

    def legal(self, states: States) -> NDArray[np.int8]:
        """Masks (B, cells) int8, 1 on legal cells of the images."""
        return super().legal(self._images(states)[0])

    def _images(self, states: States) -> tuple[States, NDArray[np.int8]]:
        """The states (4, B) of the images, and the symmetries (B,) that lead there.

        The last ones are kept: a step asks for them up to three times.
        """
        count = states.shape[1]
        if self._last is not None and np.array_equal(self._last[0][:, :count], states):
            return self._last[1][:, :count], self._last[2][:count]
        own, other, _, _ = states
        is_x = self.seats(states) > 0
        x, o = np.where(is_x, own, other), np.where(is_x, other, own)
        x, o, which = self._forms.find(x.view(np.uint64), o.view(np.uint64))
        seen = states.copy()
        seen[0] = np.where(is_x, x, o)
        seen[1] = np.where(is_x, o, x)
        seen[2] = self._board.legal(seen[0] | seen[1])
        self._last = states.copy(), seen, which
        return seen, which


class ImageGame(BitGame):
    """One game at a time.

    A set of cells in all orientations is one Python integer, with `2 * cells` bits for each.
    """

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        super().__init__(rules, early_draw, observation)
        self._permutations = rules.symmetries.tolist()
        width = 2 * rules.cells
        self._field = (1 << width) - 1
        self._shifts = [width * number for number in range(len(self._permutations))]
        images = [
            sum(1 << places.index(cell) + shift for places, shift in self._oriented())
            for cell in range(rules.cells)
        ]
        self._turned = [
            _sums(images[first : first + BYTE]) for first in range(0, rules.cells, BYTE)
        ]
        self._last: tuple[State, tuple[int, int, int]] | None = None

    def _oriented(self) -> Iterable[tuple[list[int], int]]:
        return zip(self._permutations, self._shifts, strict=True)

    def advance(
        self, state: State, cell: int | None, *opponent: Any
    ) -> tuple[State, int, NDArray[Any], NDArray[np.int8]]:
        """State, result and view after a move onto a cell of the image, and the reply."""
        if cell is not None:
            _, _, which = self._image(state)
            cell = self._permutations[which][cell]
        return super().advance(state, cell, *opponent)

    def _view(self, state: State, legal: int) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The view of the image of a state."""
        own, other, _ = self._image(state)
        seen = (own, other, state[2])
        taken = own | other
        legal = self._find_legal(taken) if self._find_legal else self._full ^ taken
        return super()._view(seen, legal)

    def _image(self, state: State) -> tuple[int, int, int]:
        """The learner's marks and the opponent's on the image, and the symmetry that leads there.

        The last one is kept: the next move is made on it.
        """
        if self._last is not None and self._last[0] == state:
            return self._last[1]
        own, other, seat = state
        x, o = (own, other) if seat > 0 else (other, own)
        both = self._all_images(x) << self._cells | self._all_images(o)
        field = self._field
        forms = [both >> shift & field for shift in self._shifts]
        form = min(forms)
        x, o = form >> self._cells, form & self._full
        own, other = (x, o) if seat > 0 else (o, x)
        found = own, other, forms.index(form)
        self._last = state, found
        return found

    def _all_images(self, cells: int) -> int:
        """A set of cells in all orientations."""
        found = 0
        for turned in self._turned:
            found |= turned[cells & 255]
            cells >>= BYTE
        return found


def _sums(bits: list[int]) -> list[int]:
    """The union of each set of some bits: bit i of the index says whether bits[i] is in it."""
    found = [0]
    for bit in bits:
        found += [one | bit for one in found]
    return found
