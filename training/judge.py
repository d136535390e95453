"""The evaluation of a policy during its training, exact wherever a proof is small enough."""

from __future__ import annotations

from typing import Any

from tictactoe_env.evaluation import Evaluation, evaluate, evaluate_side, evaluation_of
from tictactoe_env.match import BestResponse, Result, sampled_result
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.proof import TABLE_CELLS, Limit, Progress, ProofLimitError
from tictactoe_env.rules import SIDES
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
            else (_sampled(policy, one), None)
            for one in SIDES
        },
        policy.rules,
    )


def _proven(
    policy: BoardPlayer, side: str, limit: Limit | None, progress: Progress | None
) -> tuple[Result, BestResponse | None]:
    try:
        return evaluate_side(policy, side, policy.rules, limit, progress)
    except ProofLimitError:  # the evaluation names the side as sampled
        return _sampled(policy, side), None


def _sampled(policy: BoardPlayer, side: str) -> Result:
    x, o = (policy, RandomPolicy()) if side == "X" else (RandomPolicy(), policy)
    result = sampled_result(x, o, policy.rules, SAMPLED_GAMES).result
    return result if side == "X" else result.other_side
