"""Q-learning with a table on 64 games at a time, the exact results, and a picture of a game.

    pip install tictactoe-env pillow
    python gymnasium_q_learning.py 100000

Needs NumPy and Gymnasium only, and Pillow for the picture, game.gif.
"""

import sys

import gymnasium as gym
import numpy as np
from gymnasium.wrappers import RenderCollection
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from PIL import Image

from tictactoe_env import FunctionPolicy, Rules, evaluate

ID = "tictactoe_env:tictactoe_env/TicTacToe-v0"
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
GAMES = 64
EXPLORATION = 0.2
q_table = np.zeros((3**9, 9))
rng = np.random.default_rng(0)


def rows_of(observations):
    """The rows (B,) of the boards: a flat observation holds own marks, then the opponent's."""
    return ((observations[:, :9] + 2 * observations[:, 9:]) @ 3 ** np.arange(9)).astype(int)


def q_values(observations, masks):
    """The values (B, 9) of all moves, -inf for illegal ones."""
    return np.where(masks, q_table[rows_of(observations)], -np.inf)


games = gym.make_vec(ID, GAMES, opponent="minimax-slip=0.5", symmetric=True)
env = RecordEpisodeStatistics(games, buffer_length=2_000)
observations, infos = env.reset(seed=0)
for _ in range(STEPS // GAMES):
    rows = rows_of(observations)
    masks = infos["action_mask"]
    random_moves = (rng.random(masks.shape) * masks).argmax(axis=1)
    best_moves = q_values(observations, masks).argmax(axis=1)
    moves = np.where(rng.random(GAMES) < EXPLORATION, random_moves, best_moves)
    observations, rewards, ended, _, infos = env.step(moves)
    # Where a game has ended, the observation is the first one of the next game.
    next_values = q_values(observations, infos["action_mask"]).max(axis=1)
    targets = rewards + np.where(ended, 0, next_values)
    q_table[rows, moves] += 0.1 * (targets - q_table[rows, moves])
print(f"mean reward of the last games, with exploration: {np.mean(env.return_queue):.2f}")

policy = FunctionPolicy(lambda *boards: q_values(*boards).argmax(axis=1), Rules(), symmetric=True)
print(evaluate(policy))

game = RenderCollection(gym.make(ID, opponent=policy, render_mode="rgb_array", symmetric=True))
observation, info = game.reset(seed=0)
ended = False
while not ended:  # the policy plays against itself
    move = q_values(observation[None], info["action_mask"][None]).argmax()
    observation, _, ended, _, info = game.step(move)
first, *frames = map(Image.fromarray, game.render())
first.save("game.gif", save_all=True, append_images=frames, duration=800, loop=0)
