"""The values of positions, by backward induction over those that a policy can meet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import Ply, backward
from tictactoe_env.exact.proof import Reach

_Values = NDArray[np.float64]

ROUNDING = 1e-12  # error of a result, a sum of some thousand float64 terms; never of what is proven


def least_values(
    reach: Reach,
    ends: NDArray[Any],
    illegal: float,
    at_worst: bool = False,
    of_each_ply: float = 0.0,
) -> _Values:
    """The least value that a side without a policy can bring about: (N,) float64, by row.

    Backward induction: the value before a move of a side without a policy is the least after its
    legal moves, the value before a policy's move is the mean after its moves. at_worst: it is the
    least there too, of the moves that have a positive probability.

    ends: (N,), the values of finished positions. illegal: the value after an illegal move of the
    reach's own side; after one of the other side it is the negative. of_each_ply: what each ply
    adds to the value.
    """

    def least(ply: Ply, after: _Values) -> _Values:
        if ply.probs is None:
            return np.where(ply.legal, after, np.inf).min(axis=1) + of_each_ply
        after_illegal = illegal if ply.side == reach.side else -illegal
        after = np.where(ply.legal, after, after_illegal)
        if at_worst:
            return np.where(ply.probs > 0, after, np.inf).min(axis=1) + of_each_ply
        return (ply.probs * after).sum(axis=1) + of_each_ply

    return backward(reach.plies, ends.astype(np.float64), least)


def own_outcomes(reach: Reach) -> NDArray[np.int8]:
    """The outcome of each position for the side of a reach: (N,) int8, -1 lost, +1 won, else 0."""
    return reach.outcome_x if reach.side == "X" else -reach.outcome_x


def values_of(reach: Reach) -> _Values:
    """The smallest expected result (win - loss) of a side from each position on: (N,) float64."""
    return least_values(reach, own_outcomes(reach), -1.0)


def worst_outcomes(reach: Reach) -> _Values:
    """The policy's worst outcome from each position on: (N,) float64, -1 a loss, 0, 1 a win.

    It is that of the games that have a positive probability, however small it is; a mean such as
    `values_of` would not show a loss that is rare enough. An illegal move is a loss.
    """
    return least_values(reach, own_outcomes(reach), -1.0, at_worst=True)
