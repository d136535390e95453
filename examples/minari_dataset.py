"""Records games of a perfect player with Minari, clones it from them, and proves the clone.

    pip install tictactoe-env "minari[create,hdf5]" pillow
    python minari_dataset.py 1500    # the number of games

The dataset goes where Minari keeps all datasets; an older one of this name is deleted.
"""

import sys
from collections import defaultdict

import gymnasium as gym
import minari
import numpy as np

from tictactoe_env import FunctionPolicy, Rules, evaluate, exact_result, make_opponent

DATASET = "tictactoe/minimax-v0"
GRID = np.arange(9).reshape(3, 3)
SYMMETRIES = [np.rot90(grid, turns).ravel() for grid in (GRID, GRID.T) for turns in range(4)]

# 1. Record the expert's games against random play, on both sides.
expert = make_opponent("minimax-first", Rules())
random = make_opponent("random", Rules())
env = gym.make("tictactoe_env:TicTacToe-v0", opponent="random", observation="grid")
collector = minari.DataCollector(env, record_infos=True)
for game in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1500):
    collector.reset(seed=game)
    terminated = False
    while not terminated:
        board = env.unwrapped.board  # +1 X, -1 O, as every player of tictactoe_env sees it
        _, _, terminated, _, _ = collector.step(expert.probs(board[None])[0].argmax())
if DATASET in minari.list_local_datasets():
    minari.delete_dataset(DATASET)
collector.create_dataset(DATASET, algorithm_name="minimax", eval_env=env.spec)

# 2. Load the games. Their mean return is a sample; the expected return is known exactly.
dataset = minari.load_dataset(DATASET)
mean = np.mean([episode.rewards.sum() for episode in dataset])
exact = np.mean([exact_result(expert, random, side=side).value for side in "XO"])
print(f"{dataset.total_episodes} games, mean return {mean:.4f}, exact {exact:.4f}")
print("environment of the dataset:", dataset.recover_environment().spec.kwargs)

# 3. Clone the expert: count its moves in each position and in the rotated and reflected ones.
counts = defaultdict(lambda: np.zeros(9))
for episode in dataset:
    for grid, action in zip(episode.observations, episode.actions, strict=False):
        for cells in SYMMETRIES:
            counts[grid.ravel()[cells].tobytes()] += cells == action


def clone(grids, masks):
    """The expert's most frequent moves (B,); the first free cell in a position without any."""
    moves = np.array([counts[grid.tobytes()] for grid in grids])
    return np.where(moves.any(axis=1), moves.argmax(axis=1), masks.argmax(axis=1))


# 4. Evaluate the clone exactly: can anybody beat it?
print(evaluate(FunctionPolicy(clone, Rules(), observation="grid")))
