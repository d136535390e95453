"""Exact results of policies against each other.

On a board that can be enumerated, two policies define the probability of every position. So the
result of a match is computed, not played. Each function says whose view it takes. Probability on a
taken cell counts as a loss by illegal move, and is also reported separately.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import EndRow, positions_of
from tictactoe_env.exact.proof import Limit, Progress, Reach, TableReach, reach_of
from tictactoe_env.exact.provable import to_be_met
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.exact.values import values_of
from tictactoe_env.model_env import stated_rules
from tictactoe_env.policy import Model, Policy
from tictactoe_env.rules import Boards, Rules, checked_rules, other_side


@dataclass(frozen=True)
class Result:
    """Probabilities of a match for one side; win + draw + loss = 1.

    illegal: the part of `loss` that comes from this side's illegal moves.
    illegal_other: the part of `win` that comes from the other side's illegal moves.
    """

    win: float
    draw: float
    loss: float
    illegal: float = 0.0
    illegal_other: float = 0.0

    @property
    def other_side(self) -> Result:
        """The same match seen by the other side."""
        return Result(self.loss, self.draw, self.win, self.illegal_other, self.illegal)

    @property
    def value(self) -> float:
        """win - loss."""
        return self.win - self.loss


def exact_result(
    policy: Policy | Model,
    opponent: Policy | Model,
    rules: Rules | None = None,
    limit: Limit | None = None,
    progress: Progress | None = None,
    *,
    side: str = "X",
    symmetric: bool | None = None,
) -> Result:
    """The exact result for `policy`, playing `side`, against `opponent`.

    Both may be deterministic or stochastic. The board is that of a policy with `rules`, such as a
    TabularPolicy, or that of a model's environment, or `rules`, or 3x3. On boards of more
    than 12 cells the positions that both can reach must be within `limit`: see `proof`.
    symmetric: of `policy`, see `evaluation.evaluate`.
    Raises ProofLimitError beyond the limit, and ValueError for a policy that is no function of the
    board: see `provable`.
    """
    rules = common_rules(rules, policy, opponent)
    with to_be_met(policy, rules, symmetric) as one, to_be_met(opponent, rules) as other:
        reach = reach_of({side: one, other_side(side): other}, side, rules, limit, progress)
    return result_of(reach)


def result_of(reach: Reach) -> Result:
    """The exact result for the side of a reach. A side without a policy plays at random here.

    The probability of each position is passed on to the positions after its moves, ply by ply.
    """
    share = np.zeros(len(reach.outcome_x))  # of the games that lead to each position
    share[0] = 1
    illegal = {"X": 0.0, "O": 0.0}
    for ply in reach.plies:
        legal = ply.legal
        probs = ply.probs
        if probs is None:
            probs = legal / legal.sum(axis=1, keepdims=True)
        passed = share[ply.rows, None] * probs  # of the games that make each move
        illegal[ply.side] += float(passed[~legal].sum())
        _pass_on(share, ply.children[legal], passed[legal])
    drawn = reach.is_over & (reach.outcome_x == 0)
    of_x = Result(
        win=float(share[reach.outcome_x > 0].sum()) + illegal["O"],
        draw=float(share[drawn].sum()),
        loss=float(share[reach.outcome_x < 0].sum()) + illegal["X"],
        illegal=illegal["X"],
        illegal_other=illegal["O"],
    )
    ends = (of_x.win, of_x.draw, of_x.loss)
    if ends.count(0) == 2:  # every game ends like this, so that its rounded share is 1
        of_x = Result(*(part / max(ends) for part in astuple(of_x)))
    return of_x if reach.side == "X" else of_x.other_side


def _pass_on(
    share: NDArray[np.float64], children: NDArray[np.int32], passed: NDArray[np.float64]
) -> None:
    """Add to the shares (N,) of these positions (B,) what is passed on to each of them: (B,).

    Positions may come several times. Those on boards lie together, since all are of the next ply;
    the ends of games are the last rows, which `EndRow` counts from the end.
    """
    is_end = children < 0  # never on boards whose positions are tabulated
    if is_end.any():
        ends = children[is_end] + len(EndRow)
        share[-len(EndRow) :] += np.bincount(ends, passed[is_end], minlength=len(EndRow))
        children = children[~is_end]
        passed = passed[~is_end]
    if len(children):
        first = int(children.min())
        last = int(children.max())
        share[first : last + 1] += np.bincount(children - first, passed)


def action_values(
    side: str,
    policy: Policy | Model,
    opponent: Policy | Model,
    rules: Rules | None = None,
    board: Boards | None = None,
) -> NDArray[np.float64]:
    """Exact expected results (win - loss) of `side` after each move on a board: (cells,) float64.

    The moves are those of the side to move, NaN where illegal. After the move `side` is played by
    `policy` and the other side by `opponent`. Where `side` is to move these are the action values
    (Q-values) of `policy`. board: (cells,), unfinished; the empty board by default. Both are
    tabulated, so the board has at most 12 cells, and each is asked once.
    """
    rules = common_rules(rules, policy, opponent)
    positions = positions_of(rules)
    if board is None:
        board = np.zeros(rules.cells, dtype=np.int8)
    start = int(positions.rows(np.asarray(board)[None])[0])
    if positions.is_over[start]:
        raise ValueError("a finished board has no moves: give an unfinished one")
    players = {side: tabulate(policy, rules), other_side(side): tabulate(opponent, rules)}
    values = values_of(TableReach(players, side, rules, everywhere=True))
    children = positions.children[start]
    return np.where(children >= 0, values[children], np.nan)


def common_rules(rules: Rules | None, *policies: Any) -> Rules:
    """The rules that all policies play by, or `rules`, or 3x3; ValueError if these differ.

    Most policies state none, and play by any. A model states those of its environment.
    """
    stated = [boards for policy in policies if (boards := stated_rules(policy))]
    if rules is not None:
        stated.append({checked_rules(rules)})
    if not stated:
        return Rules()
    common = set.intersection(*stated)
    if len(common) != 1:
        names = ", ".join(sorted(map(str, set.union(*stated))))
        raise ValueError(f"these policies play on different boards: {names}")
    return common.pop()
