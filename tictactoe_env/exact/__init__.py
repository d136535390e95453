"""Exact results of any policy, computed from its moves on every board that they lead to.

The positions of a board and their values, policies as tables, matches, proofs, best responses, and
the evaluation that sums them up.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tictactoe_env.exact.evaluation import Evaluation, evaluate, exploitability
    from tictactoe_env.exact.match import (
        BestResponse,
        OptimalShare,
        Result,
        best_achievable,
        best_responses,
        exact_result,
        optimal_share,
    )
    from tictactoe_env.exact.positions import Positions, positions_of
    from tictactoe_env.exact.proof import Limit, ProofLimitError
    from tictactoe_env.exact.responses import Response, respond
    from tictactoe_env.exact.solver import MinimaxPolicy, Solution, solve
    from tictactoe_env.exact.symmetry import CanonicalPolicy
    from tictactoe_env.exact.tables import TabularPolicy, tabulate

__all__ = [
    "BestResponse",
    "CanonicalPolicy",
    "Evaluation",
    "Limit",
    "MinimaxPolicy",
    "OptimalShare",
    "Positions",
    "ProofLimitError",
    "Response",
    "Result",
    "Solution",
    "TabularPolicy",
    "best_achievable",
    "best_responses",
    "evaluate",
    "exact_result",
    "exploitability",
    "optimal_share",
    "positions_of",
    "respond",
    "solve",
    "tabulate",
]
_FILES = ("positions", "tables", "solver", "match", "proof", "responses", "symmetry", "evaluation")


if not TYPE_CHECKING:  # type checkers shall report a name that does not exist

    def __getattr__(name: str) -> Any:
        """The modules are imported when a name is asked for: an environment needs few of them."""
        for module in _FILES if name in __all__ else ():
            found = _import_module(f"{__name__}.{module}")
            if hasattr(found, name):
                return getattr(found, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
