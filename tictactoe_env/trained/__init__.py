"""The trained agents that come with the package, as tables of their moves on 3x3.

Each has its certificate, and most have their own values of the moves.
"""

from tictactoe_env.trained.packed import (
    certificate_of,
    trained_names,
    trained_policy,
    valued_policy,
)

__all__ = ["certificate_of", "trained_names", "trained_policy", "valued_policy"]
