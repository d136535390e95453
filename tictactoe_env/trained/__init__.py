"""The trained agents that come with the package, as tables of their moves on 3x3.

Each has its certificate.
"""

from tictactoe_env.certificates.trained import certificate_of, trained_names, trained_policy

__all__ = ["certificate_of", "trained_names", "trained_policy"]
