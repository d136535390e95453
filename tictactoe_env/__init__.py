"""Tic-tac-toe, Connect Four and m,n,k-games for Gymnasium, with opponents and exact evaluation.

    import gymnasium as gym
    import tictactoe_env  # registers the environments

    env = gym.make("tictactoe_env/TicTacToe-v0", opponent="minimax", side="random")

The names below are imported on first use, so that importing the package stays fast.
"""

from typing import TYPE_CHECKING

from gymnasium.envs.registration import register as _register

from tictactoe_env.lazy import lazy_names as _lazy_names

__version__ = "0.1.0.dev0"

_CONNECT_FOUR = {"rows": 6, "cols": 7, "k": 4, "gravity": True, "actions": "columns"}

# The ids of environments with a given opponent: the opponent, and the reward that the best response
# to it gets on average over both sides. Nobody can get more. A test computes this limit.
ENVS_WITH_OPPONENT = {
    "tictactoe_env/TicTacToe-Random-v0": ("random", (191 / 192 + 874 / 945) / 2),
    "tictactoe_env/TicTacToe-MinimaxSlip-v0": ("minimax-slip=0.5", (407 / 512 + 373 / 630) / 2),
    "tictactoe_env/TicTacToe-Minimax-v0": ("minimax", 0.0),
}

_ARGUMENTS: dict[str, dict[str, object]] = {
    "tictactoe_env/TicTacToe-v0": {},
    "tictactoe_env/ConnectFour-v0": _CONNECT_FOUR,
    **{_id: {"opponent": _opponent} for _id, (_opponent, _) in ENVS_WITH_OPPONENT.items()},
}
# Each id has a short name too, so that "tictactoe_env:ConnectFour-v0" works.
_NAMES = {_id.removeprefix("tictactoe_env/"): _id for _id in _ARGUMENTS}
_NAMES |= {_id: _id for _id in _ARGUMENTS}
for _name, _id in _NAMES.items():
    _register(
        _name,
        entry_point="tictactoe_env:TicTacToeEnv",
        vector_entry_point="tictactoe_env:TicTacToeVectorEnv",
        kwargs=_ARGUMENTS[_id],
        reward_threshold=ENVS_WITH_OPPONENT[_id][1] if _id in ENVS_WITH_OPPONENT else None,
        # No wrappers: gym.make returns the environment itself, with action_masks() and
        # set_opponent(). It enforces the order of calls and checks its inputs, and both checkers
        # pass in its tests. (With Gymnasium 1.4.0's passive checker every step after a refused
        # first reset fails; gym.make(..., disable_env_checker=False) brings it back.)
        order_enforce=False,
        disable_env_checker=True,
    )

if TYPE_CHECKING:
    from tictactoe_env.env import TicTacToeEnv as TicTacToeEnv
    from tictactoe_env.exact.best_response import best_responses as best_responses
    from tictactoe_env.exact.evaluation import Evaluation as Evaluation
    from tictactoe_env.exact.evaluation import evaluate as evaluate
    from tictactoe_env.exact.evaluation import exploitability as exploitability
    from tictactoe_env.exact.match import Result as Result
    from tictactoe_env.exact.match import exact_result as exact_result
    from tictactoe_env.exact.proof import Limit as Limit
    from tictactoe_env.exact.tables import TabularPolicy as TabularPolicy
    from tictactoe_env.exact.tables import tabulate as tabulate
    from tictactoe_env.opponents import make_opponent as make_opponent
    from tictactoe_env.opponents import register_opponent as register_opponent
    from tictactoe_env.opponents import unregister_opponent as unregister_opponent
    from tictactoe_env.policy import CanonicalPolicy as CanonicalPolicy
    from tictactoe_env.policy import FunctionPolicy as FunctionPolicy
    from tictactoe_env.policy import Policy as Policy
    from tictactoe_env.policy import RandomPolicy as RandomPolicy
    from tictactoe_env.pool import snapshot as snapshot
    from tictactoe_env.rules import IllegalMoveError as IllegalMoveError
    from tictactoe_env.rules import Rules as Rules
    from tictactoe_env.starts import ExploringStarts as ExploringStarts
    from tictactoe_env.vector_env import TicTacToeVectorEnv as TicTacToeVectorEnv
else:
    _MODULES = {
        "CanonicalPolicy": "policy",
        "Evaluation": "exact.evaluation",
        "ExploringStarts": "starts",
        "FunctionPolicy": "policy",
        "IllegalMoveError": "rules",
        "Limit": "exact.proof",
        "Policy": "policy",
        "RandomPolicy": "policy",
        "Result": "exact.match",
        "Rules": "rules",
        "TabularPolicy": "exact.tables",
        "TicTacToeEnv": "env",
        "TicTacToeVectorEnv": "vector_env",
        "best_responses": "exact.best_response",
        "evaluate": "exact.evaluation",
        "exact_result": "exact.match",
        "exploitability": "exact.evaluation",
        "make_opponent": "opponents",
        "register_opponent": "opponents",
        "snapshot": "pool",
        "tabulate": "exact.tables",
        "unregister_opponent": "opponents",
    }
    __all__ = ["ENVS_WITH_OPPONENT", *_MODULES]
    __getattr__ = _lazy_names(__name__, _MODULES)

    def __dir__() -> list[str]:
        return sorted(["__version__", *__all__])
