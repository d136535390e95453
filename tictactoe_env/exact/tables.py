"""Policies as tables: the probabilities of the moves in every position of a small board."""

from __future__ import annotations

from typing import Any

import numpy as np

from tictactoe_env.actions import checked_probs
from tictactoe_env.exact.positions import in_parts, positions_of
from tictactoe_env.policy import Model, Policy, Probs, as_policy, keeps
from tictactoe_env.rules import Boards, Rules


class TabularPolicy:
    """A policy as a table (U, cells) with a row for each unfinished position, 4,520 on 3x3.

    The rows are in the order of `Positions.unfinished`. The table is copied, and its rows are
    scaled to sum to 1. Raises ValueError unless it has this shape and holds finite numbers of at
    least 0 whose rows sum to 1 within 1e-5.
    """

    varies = ""  # see `provable`

    def __init__(self, rules: Rules, table: Any):
        positions = positions_of(rules)
        self.rules = rules
        self.table = checked_probs(table, (len(positions.unfinished), rules.cells))
        self.table.setflags(write=False)

    def probs(self, boards: Boards) -> Probs:
        """The rows of these boards; ValueError for a finished or unreachable board."""
        positions = positions_of(self.rules)
        rows = positions.rows(boards)
        if positions.is_over[rows].any():
            raise ValueError("a finished board has no move: ask for unfinished boards only")
        return self.table[np.searchsorted(positions.unfinished, rows)]

    def by_row(self) -> Probs:
        """Probabilities of every position (N, cells), zero where the game is over."""
        positions = positions_of(self.rules)
        full = np.zeros((len(positions), self.rules.cells))
        full[positions.unfinished] = self.table
        return full


def tabulate(policy: Policy | Model, rules: Rules) -> TabularPolicy:
    """A policy as a table of all unfinished positions; a table is returned as it is.

    `probs` is called once, on boards with more than a million positions once for each million.
    """
    policy = as_policy(policy, rules)
    if keeps(policy, TabularPolicy):
        return policy
    positions = positions_of(rules)
    parts = [policy.probs(positions.boards_at(part)) for part in in_parts(positions.unfinished)]
    return TabularPolicy(rules, parts[0] if len(parts) == 1 else np.concatenate(parts))
