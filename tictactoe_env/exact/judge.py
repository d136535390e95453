"""The evaluation of a policy during its training, exact wherever a proof is small enough."""

from __future__ import annotations

from tictactoe_env.exact.evaluation import Evaluation, SideEvaluation, evaluate_side, evaluation_of
from tictactoe_env.exact.match import Result, sampled_result
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import Limit, Progress, ProofLimitError
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import Policy, RandomPolicy
from tictactoe_env.rules import SIDES, Rules

SAMPLED_GAMES = 2_000  # against random play, of a side that is not proven


def judge(
    policy: Policy,
    rules: Rules,
    side: str = "both",
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """The evaluation of a policy that is trained as one side, or as both.

    On boards of up to 12 cells it is exact. On larger ones a side is sampled in 2,000 games against
    random play, and nothing is proven of it, if it is not trained or if its proof is beyond the
    limit; `Evaluation.sampled` names these sides.
    """
    if rules.cells <= TABULATED:
        policy, side = tabulate(policy, rules), "both"
    sides = {
        one: _proven(policy, one, rules, limit, progress)
        if side in ("both", one)
        else SideEvaluation(_sampled(policy, one, rules))
        for one in SIDES
    }
    return evaluation_of(sides, rules)


def _proven(
    policy: Policy, side: str, rules: Rules, limit: Limit | None, progress: Progress | None
) -> SideEvaluation:
    try:
        return evaluate_side(policy, side, rules, limit, progress)
    except ProofLimitError:  # the evaluation names the side as sampled
        return SideEvaluation(_sampled(policy, side, rules))


def _sampled(policy: Policy, side: str, rules: Rules) -> Result:
    x, o = (policy, RandomPolicy()) if side == "X" else (RandomPolicy(), policy)
    result = sampled_result(x, o, rules, SAMPLED_GAMES).result
    return result if side == "X" else result.other_side
