"""How far a policy is from perfect play: in its moves, and in its results against random play."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.match import Result, common_rules
from tictactoe_env.exact.positions import Ply, backward, positions_of
from tictactoe_env.exact.proof import Reach, TableReach
from tictactoe_env.exact.solver import solve
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import Model, Policy
from tictactoe_env.rules import SIDES, Rules, mark_of

_Values = NDArray[np.float64]

_UNSAFE = -np.inf  # in place of a chance to win, where perfect play of the other side wins


@dataclass(frozen=True)
class OptimalShare:
    """Share of a policy's probability on optimal moves, mean over positions: 1.0 is perfect play.

    everywhere: over all unfinished positions.
    reachable: over those where the policy may have to move, as X or as O, against any opponent.
    """

    everywhere: float
    reachable: float


def optimal_share(policy: Policy | Model, rules: Rules | None = None) -> OptimalShare:
    """The share of a policy's probability that is on optimal moves."""
    rules = common_rules(rules, policy)
    positions = positions_of(rules)
    table = tabulate(policy, rules)
    is_best = solve(rules).optimal(positions.boards)
    optimal = (table.by_row() * is_best).sum(axis=1)
    reachable = np.zeros(len(positions), dtype=bool)
    for side in SIDES:
        for ply in TableReach({side: table}, side, rules).plies:
            if ply.side == side:
                reachable[ply.rows] = True
    return OptimalShare(
        float(optimal[positions.unfinished].mean()), float(optimal[reachable].mean())
    )


@lru_cache(maxsize=8)
def best_achievable(rules: Rules) -> dict[str, Result | None]:
    """The best achievable results against random play of policies that never lose, by side.

    Such a policy wins as often as possible and draws the rest: on 3x3 X wins 191/192 and O 866/945.
    None for a side that cannot avoid losing to perfect play. For boards of up to 12 cells.
    """
    results: dict[str, Result | None] = {}
    for side in SIDES:
        most = _most_wins(side, rules)
        results[side] = None
        if most[0] != _UNSAFE:
            win = float(most[0] / _ways_to_reply(side, rules))
            results[side] = Result(win, 1 - win, 0.0)
    return results


def wins_most(reach: Reach) -> bool:
    """True if a policy never loses and no such policy wins more often against random play.

    reach: of a board of at most 12 cells. Whole numbers are compared: the policy wins most if each
    move of positive probability is one after which most can be won. So no tolerance is needed.
    """
    most = _most_wins(reach.side, reach.rules)
    for ply in reach.plies:
        if ply.probs is not None:
            after = np.where(ply.legal, most[ply.children], _UNSAFE)
            gives_away = after < most[ply.rows][:, None]
            if (ply.possible & gives_away).any():
                return False
    return bool(most[0] != _UNSAFE)


@lru_cache(maxsize=16)
def _most_wins(side: str, rules: Rules) -> _Values:
    """The largest chance to win against random play, for a player that never loses: (N,), by row.

    A sure win counts `_ways_to_reply`, so that all chances are whole numbers, and exact: on 3x3 X
    has 382 of 384 from the start on, and all 384 after a won game. Where perfect play beats `side`
    it is _UNSAFE.
    """
    positions = positions_of(rules)
    outcome = positions.outcome_x * mark_of(side)
    ends = np.zeros(len(positions))
    ends[outcome > 0] = _ways_to_reply(side, rules)
    ends[outcome < 0] = _UNSAFE

    def chance(ply: Ply, after: _Values) -> _Values:
        if ply.side == side:
            return np.where(ply.legal, after, _UNSAFE).max(axis=1)
        return np.where(ply.legal, after, 0.0).sum(axis=1) / ply.legal.sum(axis=1)

    most = backward(positions.plies, ends, chance)
    most.setflags(write=False)  # all callers get the array that the cache keeps
    return most


def _ways_to_reply(side: str, rules: Rules) -> int:
    """A common denominator of all chances against random replies to `side`.

    On 3x3 there are 8 replies to X's first move, then 6, 4 and 2, each as likely as the others. So
    each chance is a multiple of 1 / (8 * 6 * 4 * 2) = 1/384. Where the positions of a ply differ in
    the number of replies, their least common multiple takes its place. The largest on a plain board
    of up to 12 cells is 12 * 10 * 8 * 6 * 4 * 2 = 46,080.
    """
    replies = [ply.legal.sum(axis=1) for ply in positions_of(rules).plies if ply.side != side]
    return math.prod(math.lcm(*np.unique(counts).tolist()) for counts in replies)
