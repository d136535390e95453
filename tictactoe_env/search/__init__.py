"""Players that think ahead: alpha-beta search, and Monte Carlo tree search.

Both need the rules alone, on boards of any size.
"""

from tictactoe_env.search.alphabeta import SearchPolicy
from tictactoe_env.search.mcts import MCTSPolicy

__all__ = ["MCTSPolicy", "SearchPolicy"]
