"""The exact payoffs of many policies against each other, in one matrix.

    found = payoffs(policies, policies)
    found.x[i, j]    # the mean result of policies[i] as X against policies[j] as O, from -1 to 1

All policies that play O are followed at once, so 200 x 200 on 3x3 take seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy, tabulate

MOST_BYTES = 256 << 20  # of the tables of the policies that are followed at once


class Payoffs(NamedTuple):
    """The exact results of each policy as X (rows) against each as O (columns).

    x_wins, o_wins: (P, Q), shares of the games. An illegal move loses.
    """

    x_wins: NDArray[np.float64]
    o_wins: NDArray[np.float64]

    @property
    def x(self) -> NDArray[np.float64]:
        """X's mean result (win - loss): (P, Q), from -1 to 1."""
        return self.x_wins - self.o_wins


def payoffs(as_x: Sequence[TabularPolicy], as_o: Sequence[TabularPolicy]) -> Payoffs:
    """The exact results of each policy of `as_x` as X against each of `as_o` as O.

    All are tables of one board, see `tabulate`. Raises ValueError for several boards.
    """
    as_x, as_o = ([tabulate(one, one.rules) for one in side] for side in (as_x, as_o))
    boards = {policy.rules for policy in (*as_x, *as_o)}
    if len(boards) != 1:
        raise ValueError(f"expected policies of one board, got {', '.join(map(str, boards))}")
    at_once = max(1, MOST_BYTES // as_o[0].table.nbytes)
    parts = []
    for first in range(0, len(as_o), at_once):
        tables = np.stack([policy.table for policy in as_o[first : first + at_once]], axis=2)
        parts.append([_against(policy, tables) for policy in as_x])
    x_wins, o_wins = np.moveaxis(np.concatenate(parts, axis=2), 1, 0)
    return Payoffs(x_wins, o_wins)


def _against(policy: TabularPolicy, tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares of games that a policy as X wins and loses against Q policies as O: (2, Q).

    tables: (U, cells, Q), of these policies. The probability of each position is passed on to the
    positions after its moves, ply by ply, for all Q games at once.
    """
    positions = positions_of(policy.rules)
    share = np.zeros((len(positions), tables.shape[2]))  # of the games that lead to each position
    share[0] = 1
    lost_by_rule = {"X": 0.0, "O": 0.0}
    first = 0  # of this ply's rows among the unfinished ones
    for ply in positions.plies:
        met = np.flatnonzero(share[ply.rows].any(axis=1))
        of_rows = share[ply.rows[met]]
        at = first + met
        first += len(ply.rows)
        for cell in range(policy.rules.cells):
            if ply.side == "X":
                passed = of_rows * policy.table[at, cell, None]
            else:
                passed = of_rows * tables[at, cell]
            legal = ply.legal[met, cell]
            lost_by_rule[ply.side] += passed[~legal].sum(axis=0)
            share[ply.children[met[legal], cell]] += passed[legal]  # all different positions
    won, lost = (share[positions.outcome_x == mark].sum(axis=0) for mark in (1, -1))
    return np.stack([won + lost_by_rule["O"], lost + lost_by_rule["X"]])
