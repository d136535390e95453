"""The exact evaluation of a policy: its results against random play, and whether it can be beaten.

    found = evaluate(policy)
    found.x.win, found.unbeatable, found.best_responses["O"].losing_line
    exploitability(policy)      # 0 for perfect play

On boards of up to 12 cells the results are computed from the policy's table of all positions: on
3x3 this takes milliseconds, on 3x4 tenths of a second. On larger boards they are computed from the
positions that the policy can meet, see `proof`: for one that makes one move in each position, this
takes about a second on 4x4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tictactoe_env import match
from tictactoe_env.match import BestResponse, Result
from tictactoe_env.policy import Model, Policy, tabulate
from tictactoe_env.proof import TABLE_CELLS, Limit, Progress, reach_of
from tictactoe_env.rules import SIDES, Rules

UNTIL = ("steps", "unbeatable", "optimal")  # goals of a training


@dataclass(frozen=True)
class Evaluation:
    """The exact results of a policy on each side.

    x, o: its exact results as X and as O against uniformly random play.
    unbeatable_x, unbeatable_o: whether it never loses on that side, whatever the opponent does.
    optimal_x, optimal_o: whether it is unbeatable on that side and no unbeatable policy wins more
    often against random play. False if the side cannot avoid losing, and on boards of more than 12
    cells, where the best achievable result is not computed.
    best_responses: by side; empty in an evaluation that was read from a table of metrics.
    """

    x: Result
    o: Result
    unbeatable_x: bool
    unbeatable_o: bool
    optimal_x: bool
    optimal_o: bool
    best_responses: Mapping[str, BestResponse] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def unbeatable(self) -> bool:
        """Whether it never loses, on either side, whatever the opponent does."""
        return self.unbeatable_x and self.unbeatable_o

    @property
    def optimal(self) -> bool:
        """Whether it is optimal on both sides."""
        return self.optimal_x and self.optimal_o

    def reached(self, until: str, side: str = "both") -> bool:
        """Whether one or both sides have reached a goal of UNTIL; "steps" is never reached."""
        reached = {
            "steps": (False, False),
            "unbeatable": (self.unbeatable_x, self.unbeatable_o),
            "optimal": (self.optimal_x, self.optimal_o),
        }[until]
        return all(one for name, one in zip(SIDES, reached, strict=True) if side in ("both", name))

    def rank(self, side: str = "both") -> tuple[float, float]:
        """The key that ranks checkpoints: number of unbeatable sides, then value against random."""
        by_side = {"X": (self.unbeatable_x, self.x.value), "O": (self.unbeatable_o, self.o.value)}
        chosen = [by_side[name] for name in SIDES if side in ("both", name)]
        unbeatable, values = zip(*chosen, strict=True)
        return float(sum(unbeatable)), float(sum(values))


def evaluate(
    policy: Policy | Model,
    rules: Rules | None = None,
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """The exact evaluation of a policy.

    The board is that of a policy with `rules`, such as a TabularPolicy, or `rules`, or 3x3. On
    boards of more than 12 cells the positions that the policy can meet must be within `limit`, and
    `progress` is called after each ply: see `proof`. Raises ProofLimitError beyond the limit.
    """
    rules = match.board_of(rules, policy)
    is_table = rules.cells <= TABLE_CELLS
    policy = tabulate(policy, rules) if is_table else policy
    results, responses = {}, {}
    for side in SIDES:
        reach = reach_of(policy, side, rules, limit, progress)
        results[side] = match.reach_vs_random(reach)
        responses[side] = match.best_response(reach)
    best = match.best_achievable(rules) if is_table else dict.fromkeys(SIDES)

    def is_optimal(side: str) -> bool:
        top = best[side]
        is_best = top is not None and results[side].win >= top.win - match.ROUNDING
        return is_best and not responses[side].can_lose

    return Evaluation(
        results["X"],
        results["O"],
        unbeatable_x=not responses["X"].can_lose,
        unbeatable_o=not responses["O"].can_lose,
        optimal_x=is_optimal("X"),
        optimal_o=is_optimal("O"),
        best_responses=responses,
    )


def exploitability(policy: Policy | Model, rules: Rules | None = None) -> float:
    """The mean gain of a best response over the policy on both sides, as OpenSpiel defines it.

    It is NashConv / 2: half the sum of the best responses' results (win - loss) against the policy
    as X and as O. It is 0 for perfect play, even where one side must lose, and at most 1.
    """
    responses = match.best_responses(policy, rules)
    return max(0.0, -sum(response.value for response in responses.values()) / 2)
