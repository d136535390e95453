"""The values of the positions of a reach, by backward induction.

A side without a policy plays a best response: of its moves it makes one after which the value for
the side of the reach is the least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import Ply, backward
from tictactoe_env.exact.proof import Reach
from tictactoe_env.rules import mark_of

ROUNDING = 1e-12  # error of a result, a sum of some thousand float64 terms; never of what is proven

_Values = NDArray[np.float64]


class EndValues(NamedTuple):
    """The value of a game that a side wins, draws, loses, or ends by an illegal move.

    An illegal move of the other side is a win.
    """

    win: float = 1.0
    draw: float = 0.0
    loss: float = -1.0
    illegal: float = -1.0


RESULTS = EndValues()  # win - loss


def values_of(reach: Reach, ends: EndValues = RESULTS) -> _Values:
    """The expected value for the side of a reach from each position on: (N,) float64, by row.

    It is the mean after the moves of a policy, and the least after the moves of a side without one,
    which `match.result_of` lets play at random. By default the value is the result (win - loss).
    The values of positions outside the reach mean nothing.
    """

    def value(ply: Ply, after: _Values) -> _Values:
        if ply.probs is None:
            return np.where(ply.legal, after, np.inf).min(axis=1)
        return (ply.probs * _after_moves(ply, after, reach, ends)).sum(axis=1)

    return backward(reach.plies, finished_values(reach, ends), value)


def worst_outcomes(reach: Reach) -> _Values:
    """The policy's worst outcome from each position on: (N,) float64, -1 a loss, 0, 1 a win.

    It is that of the games that have a positive probability, however small it is; a mean such as
    `values_of` would not show a loss that is rare enough. An illegal move is a loss.
    """
    return _least(reach, RESULTS)


def best_outcomes(reach: Reach) -> _Values:
    """The policy's best outcome from each position on against the replies that are worst for it.

    (N,) float64, of the games that have a positive probability. -1: an opponent wins all of them.
    """

    def value(ply: Ply, after: _Values) -> _Values:
        if ply.probs is None:
            return np.where(ply.legal, after, np.inf).min(axis=1)
        after = _after_moves(ply, after, reach, RESULTS)
        return np.where(ply.possible, after, -np.inf).max(axis=1)

    return backward(reach.plies, finished_values(reach), value)


def plies_to_loss(reach: Reach) -> _Values:
    """The number of plies to the nearest loss that is possible: (N,) float64, inf without one.

    An illegal move of the policy is a loss in one ply.
    """
    distances = EndValues(win=np.inf, draw=np.inf, loss=0.0, illegal=0.0)
    return _least(reach, distances, of_each_ply=1.0)


def _least(reach: Reach, ends: EndValues, of_each_ply: float = 0.0) -> _Values:
    """The least value of the games from each position on that have a positive probability: (N,).

    of_each_ply: what each ply adds to the value.
    """

    def value(ply: Ply, after: _Values) -> _Values:
        if ply.probs is not None:
            after = _after_moves(ply, after, reach, ends)
        return np.where(ply.possible, after, np.inf).min(axis=1) + of_each_ply

    return backward(reach.plies, finished_values(reach, ends), value)


def _after_moves(ply: Ply, after: _Values, reach: Reach, ends: EndValues) -> _Values:
    """The values (B, M) after the moves of a policy, illegal ones included."""
    after_illegal = ends.illegal if ply.side == reach.side else ends.win
    return np.where(ply.legal, after, after_illegal)


def finished_values(reach: Reach, ends: EndValues = RESULTS) -> _Values:
    """The values (N,) of the finished positions of a reach; those of the others mean nothing."""
    outcome = reach.outcome_x * mark_of(reach.side)
    values = np.full(len(outcome), ends.draw)
    values[outcome > 0] = ends.win
    values[outcome < 0] = ends.loss
    return values
