"""Tic-tac-toe and its larger cousins for Gymnasium, with opponents inside and exact evaluation.

import gymnasium as gym
import tictactoe_env  # registers the environments

env = gym.make("tictactoe_env/TicTacToe-v0", opponent="minimax", side="random")
"""

from importlib import metadata as _metadata

from gymnasium.envs.registration import register as _register

from tictactoe_env.env import TicTacToeEnv
from tictactoe_env.match import exact, worst_case
from tictactoe_env.policy import Policy, RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.rules import IllegalMoveError, Rules
from tictactoe_env.vector_env import TicTacToeVectorEnv

IDS = ("tictactoe_env/TicTacToe-v0", "TicTacToe-v0")  # the second so that "tictactoe_env:TicTacToe-v0" works

for _id in IDS:
    _register(_id, entry_point="tictactoe_env.env:TicTacToeEnv", vector_entry_point="tictactoe_env.vector_env:TicTacToeVectorEnv")

try:
    __version__ = _metadata.version("tictactoe-env")
except _metadata.PackageNotFoundError:  # used from a source tree that was not installed
    __version__ = "0+unknown"

__all__ = [
    "IDS",
    "IllegalMoveError",
    "Policy",
    "RandomPolicy",
    "Rules",
    "TabularPolicy",
    "TicTacToeEnv",
    "TicTacToeVectorEnv",
    "exact",
    "tabulate",
    "worst_case",
]
