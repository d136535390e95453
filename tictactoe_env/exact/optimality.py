"""How far a policy is from perfect play: in its moves, and in its results against random play."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.match import Result, board_of
from tictactoe_env.exact.positions import Ply, backward, positions_of
from tictactoe_env.exact.proof import Reach, TableReach
from tictactoe_env.exact.solver import solve
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import Model, Policy
from tictactoe_env.rules import SIDES, Rules, mark_of

_Values = NDArray[np.float64]

_UNSAFE = -np.inf  # in place of a number of wins, where a side cannot avoid losing to perfect play


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
    rules = board_of(rules, policy)
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
        win = float(_most_wins(side, rules)[0] / np.prod(_shares(side, rules)))
        results[side] = None if win == _UNSAFE else Result(win, 1 - win, 0.0)
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
            if ((ply.probs > 0) & gives_away).any():
                return False
    return bool(most[0] != _UNSAFE)


@lru_cache(maxsize=16)
def _most_wins(side: str, rules: Rules) -> _Values:
    """How often a player that never loses can win against random replies: (N,) float64, by row.

    It is not a probability but the number of ways in which the replies from a position on can be
    drawn so that the player wins. In all there are as many ways as the product of `_shares` from
    the ply on: 8 * 6 * 4 * 2 = 384 for X on 3x3, of which 382 win. So the numbers are whole, at
    most 46,080 on 3x4, and exact. A game that ends early counts for all replies that could have
    followed. _UNSAFE where perfect play beats `side`.
    """
    positions = positions_of(rules)
    shares = _shares(side, rules)
    ways = np.cumprod([1, *shares[::-1]])[::-1]  # in all: of each ply the product from there on
    outcome = positions.outcome_x * mark_of(side)
    ends = np.choose(outcome + 1, [_UNSAFE, 0.0, ways[positions.ply]])  # lost, drawn, won

    def ways_to_win(ply: Ply, after: _Values) -> _Values:
        if ply.side == side:
            return np.where(ply.legal, after, _UNSAFE).max(axis=1)
        shares_of_each = shares[ply.number] // ply.legal.sum(axis=1)  # of each reply: (B,)
        return np.where(ply.legal, after, 0.0).sum(axis=1) * shares_of_each

    most = backward(positions.plies, ends, ways_to_win)
    most.setflags(write=False)  # all callers get the array that the cache keeps
    return most


def _shares(side: str, rules: Rules) -> NDArray[np.int64]:
    """Into how many shares the random replies to `side` are divided in each ply: (cells,).

    It is the least common multiple of the numbers of replies in the positions of the ply, so each
    reply has a whole number of shares. On a plain board it is the number of free cells, in which
    the positions of a ply agree. 1 where `side` itself moves.
    """
    shares = np.ones(rules.cells, dtype=np.int64)
    for ply in positions_of(rules).plies:
        if ply.side != side:
            shares[ply.number] = np.lcm.reduce(np.unique(ply.legal.sum(axis=1)), initial=1)
    return shares
