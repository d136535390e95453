"""Self-play in PettingZoo's loop: minimax-Q learning, one table for the moves of both players.

    pip install "tictactoe-env[pettingzoo]"
    python pettingzoo_two_seats.py 40000

The number is that of the games. Each player sees the board as its own and the other's marks, so
both can use one table. At the end the greedy policy is evaluated exactly, on all positions: as X
and as O, against random play and against a best response.
"""

import sys
from collections import defaultdict

import numpy as np

from tictactoe_env import FunctionPolicy, Rules, evaluate, exploitability
from tictactoe_env import pettingzoo as tictactoe

GAMES = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
RATE = 0.5
EXPLORE = 0.7
rng = np.random.default_rng(0)
values = defaultdict(lambda: np.ones(9))  # of moves, by the bytes of the board; new ones seem best

env = tictactoe.env(observation="grid", illegal="raise")
for game in range(GAMES):
    env.reset(seed=game)
    last_move = None
    for _ in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        board = observation["observation"].tobytes()
        legal = np.flatnonzero(observation["action_mask"])
        is_over = terminated or truncated
        if last_move is not None:  # the other player's move is worth what it leaves to this one
            before, cell = last_move
            target = -reward if is_over else -values[board][legal].max()
            values[before][cell] += RATE * (target - values[before][cell])
        if is_over:
            last_move = None
            env.step(None)
        else:
            is_greedy = rng.random() >= EXPLORE
            cell = legal[values[board][legal].argmax()] if is_greedy else rng.choice(legal)
            last_move = board, cell
            env.step(cell)


def greedy(observations, masks):
    """The best known cell of each observation."""
    learned = np.array([values[board.tobytes()] for board in observations])
    return np.where(masks, learned, -np.inf).argmax(axis=1)


policy = FunctionPolicy(greedy, Rules(), observation="grid")
print(evaluate(policy))
print(f"exploitability after {GAMES:,} games: {exploitability(policy):.4f}")
