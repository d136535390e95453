"""Exact results of any policy, computed from its moves on every board that they lead to.

The positions of a board and their values, policies as tables, matches, proofs, best responses, and
the evaluation that sums them up.
"""

from typing import TYPE_CHECKING

from tictactoe_env.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from tictactoe_env.exact.accuracy import Accuracy as Accuracy
    from tictactoe_env.exact.accuracy import accuracy_of as accuracy_of
    from tictactoe_env.exact.best_response import BestResponse as BestResponse
    from tictactoe_env.exact.best_response import best_responses as best_responses
    from tictactoe_env.exact.evaluation import Evaluation as Evaluation
    from tictactoe_env.exact.evaluation import evaluate as evaluate
    from tictactoe_env.exact.evaluation import exploitability as exploitability
    from tictactoe_env.exact.match import Result as Result
    from tictactoe_env.exact.match import exact_result as exact_result
    from tictactoe_env.exact.optimality import OptimalShare as OptimalShare
    from tictactoe_env.exact.optimality import best_achievable as best_achievable
    from tictactoe_env.exact.optimality import optimal_share as optimal_share
    from tictactoe_env.exact.positions import Positions as Positions
    from tictactoe_env.exact.positions import positions_of as positions_of
    from tictactoe_env.exact.proof import Limit as Limit
    from tictactoe_env.exact.proof import ProofLimitError as ProofLimitError
    from tictactoe_env.exact.responses import BestResponsePlayer as BestResponsePlayer
    from tictactoe_env.exact.responses import best_response_player as best_response_player
    from tictactoe_env.exact.round_robin import Payoffs as Payoffs
    from tictactoe_env.exact.round_robin import payoffs as payoffs
    from tictactoe_env.exact.solver import MinimaxPolicy as MinimaxPolicy
    from tictactoe_env.exact.solver import Solution as Solution
    from tictactoe_env.exact.solver import can_solve as can_solve
    from tictactoe_env.exact.solver import solve as solve
    from tictactoe_env.exact.tables import TabularPolicy as TabularPolicy
    from tictactoe_env.exact.tables import tabulate as tabulate
else:
    _MODULES = {
        "Accuracy": "accuracy",
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
        "accuracy_of": "accuracy",
        "best_achievable": "optimality",
        "best_response_player": "responses",
        "best_responses": "best_response",
        "can_solve": "solver",
        "evaluate": "evaluation",
        "exact_result": "match",
        "exploitability": "evaluation",
        "optimal_share": "optimality",
        "payoffs": "round_robin",
        "positions_of": "positions",
        "solve": "solver",
        "tabulate": "tables",
    }
    __all__ = [*_MODULES]
    __getattr__ = _lazy_names(__name__, _MODULES)
