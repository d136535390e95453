"""A player's own values of the moves, as a table of all unfinished positions.

What a network or a tree thinks of each move can be shown without loading it. The files of such
values, beside a certificate or in the package, are NumPy archives (`allow_pickle=False`).
"""

from __future__ import annotations

import io
import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.rules import Boards, Rules


class OwnValues(NamedTuple):
    """The values of the moves in all unfinished positions, and what they are.

    values: (U, cells), for the side to move; a move without a value has NaN or an infinity.
    meaning: what the numbers are, in words, such as "expected reward: win 1, draw 0, loss -1".
    low, high: the values of a sure loss and of a sure win.
    known: (U,) bool, whether the position came up in training; None if the player does not know.
    """

    values: NDArray[Any]
    meaning: str
    low: float = -1.0
    high: float = 1.0
    known: NDArray[np.bool_] | None = None


class ValuedPolicy(TabularPolicy):
    """A policy as a table, with the player's own values of the moves.

    own: its values are kept as float32, with NaN on taken cells. Raises ValueError for another
    shape.
    """

    def __init__(self, rules: Rules, table: Any, own: OwnValues):
        super().__init__(rules, table)
        self.own = checked(own, rules)
        self.meaning, self.scale = self.own.meaning, (self.own.low, self.own.high)

    @property
    def values(self) -> NDArray[np.float32]:
        """The values of the moves in the unfinished positions: (U, cells), NaN without one."""
        return self.own.values

    def q_values(self, boards: Boards) -> NDArray[np.float32]:
        """The values of the moves (B, cells) on unfinished boards (B, cells), NaN without one."""
        return self.values[self._at(boards)]

    def is_new(self, boards: Boards) -> NDArray[np.bool_]:
        """Whether each board (B,) never came up in training; False if that is not known."""
        at, known = self._at(boards), self.own.known
        return np.zeros(len(at), dtype=bool) if known is None else ~known[at]

    def _at(self, boards: Boards) -> NDArray[np.intp]:
        self.probs(boards)  # ValueError for finished and impossible boards
        positions = positions_of(self.rules)
        return np.searchsorted(positions.unfinished, positions.rows(boards))


def checked(own: OwnValues, rules: Rules) -> OwnValues:
    """Values as float32 with NaN on taken cells and for infinities. ValueError for other shapes."""
    positions = positions_of(rules)
    boards, values = positions.boards[positions.unfinished], np.asarray(own.values)
    if values.shape != boards.shape or (own.known is not None and len(own.known) != len(boards)):
        raise ValueError(f"values and known need {boards.shape[0]} rows, got {values.shape}")
    kept = np.where(np.isfinite(values) & (boards == 0), values, np.nan).astype(np.float32)
    kept.setflags(write=False)
    return own._replace(values=kept)


def own_in(data: bytes, rules: Rules) -> tuple[OwnValues, dict[str, Any]]:
    """The values of a file as they stand in it, and all that it says of them."""
    with np.load(io.BytesIO(data), allow_pickle=False) as content:
        values, bits, text = (content[name] for name in ("values", "known", "about"))
    about = json.loads(text.tobytes())
    rows = len(positions_of(rules).unfinished)
    known = np.unpackbits(bits)[:rows].astype(bool) if len(bits) else None
    return OwnValues(values, about["meaning"], about["low"], about["high"], known), about
