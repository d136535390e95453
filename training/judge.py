"""The evaluation of a policy during its training, exact wherever a proof is small enough."""

from __future__ import annotations

from typing import Any

from tictactoe_env.evaluation import (
    Evaluation,
    SideEvaluation,
    best_play_x,
    evaluate,
    evaluate_side,
    evaluation_of,
)
from tictactoe_env.match import Result, sampled_result
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.proof import TABLE_CELLS, Limit, Progress, ProofLimitError
from tictactoe_env.rules import SIDES, Rules
from training.learner import BoardPlayer

SAMPLED_GAMES = 2_000  # against random play, of a side that is not proven


def limit_of(config: Any) -> Limit | None:
    """The limit of a proof by the option `proof_positions`; None for an agent without it."""
    positions = getattr(config, "proof_positions", None)
    return None if positions is None else Limit(positions)


def judge(
    policy: BoardPlayer,
    side: str = "both",
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """The evaluation of a policy that is trained as one side, or as both.

    On boards of up to 12 cells it is exact. On larger ones a side is sampled in 2,000 games against
    random play, and nothing is proven of it, if it is not trained or if its proof is beyond the
    limit; `Evaluation.sampled` names these sides.
    """
    if policy.rules.cells <= TABLE_CELLS:
        return evaluate(policy)
    return evaluation_of(
        {
            one: _proven(policy, one, limit, progress)
            if side in ("both", one)
            else SideEvaluation(_sampled(policy, one))
            for one in SIDES
        },
        policy.rules,
    )


def _proven(
    policy: BoardPlayer, side: str, limit: Limit | None, progress: Progress | None
) -> SideEvaluation:
    try:
        return evaluate_side(policy, side, policy.rules, limit, progress)
    except ProofLimitError:  # the evaluation names the side as sampled
        return SideEvaluation(_sampled(policy, side))


def _sampled(policy: BoardPlayer, side: str) -> Result:
    x, o = (policy, RandomPolicy()) if side == "X" else (RandomPolicy(), policy)
    result = sampled_result(x, o, policy.rules, SAMPLED_GAMES).result
    return result if side == "X" else result.other_side


def check_goal(until: str, side: str, rules: Rules) -> None:
    """Raises ValueError for a goal that cannot be reached, or that nothing can prove."""
    if until == "optimal" and rules.cells > TABLE_CELLS:
        raise ValueError(
            "the best achievable results are computed on boards of at most "
            f"{TABLE_CELLS} cells, not on {rules}: give --until unbeatable"
        )
    if until != "steps" and side == "O" and best_play_x(rules) == 1:
        raise ValueError(
            f"no O can avoid losing on {rules}, where X wins with best play: leave --until "
            f"{until} out, or train another side"
        )


def goal_text(until: str, rules: Rules) -> str:
    """What the goal of a training means where X wins with best play; "" on other boards."""
    if until == "steps" or best_play_x(rules) != 1:
        return ""
    return (
        f"X wins {rules} with best play: the goal is that X wins against everybody; O, which "
        "cannot avoid losing, does not count"
    )
