"""Players that choose the move with the highest value, and know these values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Boards, Rules


class ValuedTable(TabularPolicy):
    """The policy that makes the move with the highest value; among equal ones, the lowest cell.

    values: (U, cells) floats, the values of the moves in the unfinished positions, for the side to
    move. They are -inf for illegal moves, unless the player does not know the rules.
    """

    def __init__(self, rules: Rules, values: NDArray[np.floating[Any]]):
        super().__init__(rules, one_hot(values.argmax(axis=1), rules.cells))
        self.values = values

    def q_values(self, boards: Boards) -> NDArray[np.floating[Any]]:
        """The values of the moves (B, cells) on unfinished boards (B, cells).

        Raises ValueError for finished or impossible boards.
        """
        self.probs(boards)
        positions = positions_of(self.rules)
        return self.values[np.searchsorted(positions.unfinished, positions.rows(boards))]
