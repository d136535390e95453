"""Tic-tac-toe and m,n,k-games for Gymnasium, with built-in opponents and exact evaluation.

    import gymnasium as gym
    import tictactoe_env  # registers the environments

    env = gym.make("tictactoe_env/TicTacToe-v0", opponent="minimax", side="random")

The names below are imported on first use, so that importing the package stays fast.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register as _register

if TYPE_CHECKING:
    from tictactoe_env.env import TicTacToeEnv
    from tictactoe_env.exact.evaluation import Evaluation, evaluate, exploitability
    from tictactoe_env.exact.match import best_responses, exact_result
    from tictactoe_env.exact.tables import TabularPolicy, tabulate
    from tictactoe_env.games.game import Game, Participant
    from tictactoe_env.games.store import GameStore
    from tictactoe_env.opponents import make_opponent, register_opponent, unregister_opponent
    from tictactoe_env.policy import FunctionPolicy, Policy, RandomPolicy
    from tictactoe_env.pool import snapshot
    from tictactoe_env.rules import IllegalMoveError, Rules
    from tictactoe_env.vector_env import TicTacToeVectorEnv

__version__ = "0.1.0"

# The second is another name of the first, so that "tictactoe_env:TicTacToe-v0" works.
ENV_IDS = ("tictactoe_env/TicTacToe-v0", "TicTacToe-v0")

# One opponent each, and the reward that the best response to it gets on average over both sides:
# nobody can get more. `reward_threshold` is this limit, and a test computes it.
OPPONENT_IDS = {
    "tictactoe_env/TicTacToe-Random-v0": ("random", (191 / 192 + 874 / 945) / 2),
    "tictactoe_env/TicTacToe-MinimaxSlip-v0": ("minimax-slip=0.5", (407 / 512 + 373 / 630) / 2),
    "tictactoe_env/TicTacToe-Minimax-v0": ("minimax", 0.0),
}

for _id in (*ENV_IDS, *OPPONENT_IDS):
    _opponent, _threshold = OPPONENT_IDS.get(_id, (None, None))
    _register(
        _id,
        entry_point="tictactoe_env:TicTacToeEnv",
        vector_entry_point="tictactoe_env:TicTacToeVectorEnv",
        kwargs={} if _opponent is None else {"opponent": _opponent},
        reward_threshold=_threshold,
        # No wrappers: gym.make returns the environment itself, with action_masks() and
        # set_opponent(). It enforces the order of calls and checks its inputs, and both checkers
        # pass in its tests. (With Gymnasium 1.4.0's passive checker every step after a refused
        # first reset fails; gym.make(..., disable_env_checker=False) brings it back.)
        order_enforce=False,
        disable_env_checker=True,
    )

__all__ = [
    "ENV_IDS",
    "OPPONENT_IDS",
    "Evaluation",
    "FunctionPolicy",
    "Game",
    "GameStore",
    "IllegalMoveError",
    "Participant",
    "Policy",
    "RandomPolicy",
    "Rules",
    "TabularPolicy",
    "TicTacToeEnv",
    "TicTacToeVectorEnv",
    "best_responses",
    "evaluate",
    "exact_result",
    "exploitability",
    "make_opponent",
    "register_opponent",
    "snapshot",
    "tabulate",
    "unregister_opponent",
]
# Those that need the fewest modules come first.
_FILES = ("rules", "policy", "opponents", "pool", "env", "vector_env", "exact", "games")


if not TYPE_CHECKING:  # type checkers shall report a name that does not exist

    def __getattr__(name: str) -> Any:
        for module in _FILES if name in __all__ else ():
            found = _import_module(f"{__name__}.{module}")
            if hasattr(found, name):
                return getattr(found, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(["__version__", *__all__])
