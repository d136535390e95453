"""Kaggle's ConnectX: its agents play Connect Four here, and the players of this package play there.

    pip install tictactoe-env kaggle-environments
    python kaggle_connectx.py 10

The number is that of the games between a search and Kaggle's negamax, in each of the two libraries.
At the end an agent of Kaggle's form is proven, on a board small enough for it.
"""

import sys

import gymnasium as gym
import numpy as np
from kaggle_environments import evaluate as evaluate_there
from kaggle_environments.envs.connectx.connectx import negamax_agent
from kaggle_environments.utils import Struct

from tictactoe_env import Rules, evaluate, make_opponent

GAMES = int(sys.argv[1]) if len(sys.argv) > 1 else 10
CONNECT_FOUR = Rules(6, 7, 4, gravity=True)


class KagglePlayer:
    """The player that an agent of Kaggle's form is: agent(observation, configuration) -> column."""

    def __init__(self, agent, rules):
        self.agent = agent
        self.rules = rules
        self.configuration = Struct(rows=rules.rows, columns=rules.cols, inarow=rules.k)

    def probs(self, boards):
        """1 on the cell where the piece of the agent lands: (B, cells)."""
        landing = self.rules.landing(self.rules.legal_cells(boards))
        columns = [self.column(board) for board in boards]
        return np.eye(self.rules.cells)[landing[np.arange(len(boards)), columns]]

    def column(self, board):
        """The column of the agent on one board (cells,)."""
        plies = np.count_nonzero(board)
        marks = (board % 3).tolist()  # O, which is -1 here, is 2 there
        observation = Struct(board=marks, mark=1 + plies % 2, step=plies)
        return self.agent(observation, self.configuration)


def agent_of(player):
    """The agent of Kaggle's form that a player of this package is."""

    def agent(observation, configuration):
        board = np.array(observation.board, np.int8)
        board[board == 2] = -1
        return int(player.probs(board[None])[0].argmax()) % configuration.columns

    return agent


def middle_first(observation, configuration):
    """An agent: the open column that is nearest to the middle."""
    middle = (configuration.columns - 1) / 2
    is_open = [column for column in range(configuration.columns) if observation.board[column] == 0]
    return min(is_open, key=lambda column: abs(column - middle))


search = make_opponent("search-depth=4", CONNECT_FOUR)
rewards = np.array(evaluate_there("connectx", [agent_of(search), "negamax"], num_episodes=GAMES))
print(f"there the search wins {(rewards[:, 0] == 1).sum()} of {GAMES} games as the first player")

negamax = KagglePlayer(negamax_agent, CONNECT_FOUR)
env = gym.make("tictactoe_env/ConnectFour-v0", opponent=negamax, side="X")
won = 0
for game in range(GAMES):
    env.reset(seed=game)
    is_over = False
    while not is_over:
        cell = search.probs(env.board[None])[0].argmax()
        _, reward, is_over, _, _ = env.step(cell % env.rules.cols)
    won += reward == 1
print(f"here the search wins {won} of {GAMES} games as the first player")

print(evaluate(KagglePlayer(middle_first, Rules(4, 5, 4, gravity=True))))
