"""Exact results of any policy, computed from its moves on every board that they lead to.

The positions of a board and their values, policies as tables, matches, proofs, best responses, and
the evaluation that sums them up.
"""

from typing import TYPE_CHECKING

from tictactoe_env.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from tictactoe_env.exact.best_response import BestResponse, best_responses
    from tictactoe_env.exact.evaluation import Evaluation, evaluate, exploitability
    from tictactoe_env.exact.match import Result, exact_result
    from tictactoe_env.exact.optimality import OptimalShare, best_achievable, optimal_share
    from tictactoe_env.exact.positions import Positions, positions_of
    from tictactoe_env.exact.proof import Limit, ProofLimitError
    from tictactoe_env.exact.responses import BestResponsePlayer, best_response_player
    from tictactoe_env.exact.round_robin import Payoffs, payoffs
    from tictactoe_env.exact.solver import MinimaxPolicy, Solution, solve
    from tictactoe_env.exact.tables import TabularPolicy, tabulate

__all__ = [
    "BestResponse",
    "BestResponsePlayer",
    "Evaluation",
    "Limit",
    "MinimaxPolicy",
    "OptimalShare",
    "Payoffs",
    "Positions",
    "ProofLimitError",
    "Result",
    "Solution",
    "TabularPolicy",
    "best_achievable",
    "best_response_player",
    "best_responses",
    "evaluate",
    "exact_result",
    "exploitability",
    "optimal_share",
    "payoffs",
    "positions_of",
    "solve",
    "tabulate",
]
_MODULES = {
    "BestResponse": "best_response",
    "BestResponsePlayer": "responses",
    "Evaluation": "evaluation",
    "Limit": "proof",
    "MinimaxPolicy": "solver",
    "OptimalShare": "optimality",
    "Payoffs": "round_robin",
    "Positions": "positions",
    "ProofLimitError": "proof",
    "Result": "match",
    "Solution": "solver",
    "TabularPolicy": "tables",
    "best_achievable": "optimality",
    "best_response_player": "responses",
    "best_responses": "best_response",
    "evaluate": "evaluation",
    "exact_result": "match",
    "exploitability": "evaluation",
    "optimal_share": "optimality",
    "payoffs": "round_robin",
    "positions_of": "positions",
    "solve": "solver",
    "tabulate": "tables",
}
if not TYPE_CHECKING:  # type checkers shall report a name that does not exist
    __getattr__ = _lazy_names(__name__, _MODULES)
