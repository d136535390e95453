"""Players that choose the move of the highest value, and keep these values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Boards, Rules


class ValuedTable(TabularPolicy):
    """The moves of the highest value; of equal values, that of the lowest cell.

    values: (U, cells) floats, the value of each move in the unfinished positions for the side that
    makes it; -inf for moves that a player who knows the rules does not have.
    """

    def __init__(self, rules: Rules, values: NDArray[np.floating[Any]]):
        super().__init__(rules, one_hot(values.argmax(axis=1), rules.cells))
        self.values = values

    def q_values(self, boards: Boards) -> NDArray[np.floating[Any]]:
        """Values of the moves (B, cells) of unfinished boards (B, cells).

        Raises ValueError for other boards.
        """
        self.probs(boards)
        positions = positions_of(self.rules)
        return self.values[np.searchsorted(positions.unfinished, positions.rows(boards))]
