"""Self-play of your own: a loop that is debugged on tic-tac-toe, and then learns another game.

    pip install "tictactoe-env[sb3]"
    python sb3_contrib_own_game.py 150000

In Nim two players take one to three matches in turns, and whoever takes the last one wins. The
right move leaves a multiple of four. After 150,000 steps all 16 moves are right.
"""

import random
import sys
from io import BytesIO

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from tictactoe_env import evaluate
from tictactoe_env.sb3 import TicTacToeVecEnv

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 150_000
MATCHES = 21


class Freeze(BaseCallback):
    """Freezes the learner before each rollout, in which one of the copies is the opponent."""

    def _on_training_start(self):
        self.copies = []

    def _on_rollout_start(self):
        file = BytesIO()
        self.model.policy.save(file)
        file.seek(0)
        self.copies.append(type(self.model.policy).load(file))
        opponent = random.choice(self.copies)
        self.training_env.env_method("set_opponent", opponent, indices=[0])

    def _on_step(self):
        return True


class Nim(VecEnv):
    """Games with 1 to 21 matches, in which the learner moves first."""

    def __init__(self, num_envs):
        self.render_mode = None
        super().__init__(num_envs, Box(0, 1, (MATCHES + 1,)), Discrete(3))
        self.rng = np.random.default_rng(0)

    def set_opponent(self, opponent):
        """Let a copy of the learner move second."""
        self.opponent = opponent

    def reset(self):
        """Start all games."""
        self.left = self.rng.integers(1, MATCHES + 1, self.num_envs)
        return self.seen(self.left)

    def seen(self, left):
        """The observation of each game: 1 at the number of matches that are left."""
        return np.eye(MATCHES + 1, dtype=np.float32)[left]

    def action_masks(self):
        """The moves that are legal now."""
        return self.legal(self.left)

    def legal(self, left):
        """The moves that are legal with so many matches: one cannot take more."""
        return left[:, None] > np.arange(3)

    def step_async(self, actions):
        """Take matches: action 0 takes one."""
        self.after = self.left - actions - 1

    def step_wait(self):
        """Let the opponent take some too, and start the next game where one has ended."""
        won = self.after == 0
        left = np.maximum(self.after, 1)  # a finished game gets a move that does not count
        left -= self.opponent.predict(self.seen(left), action_masks=self.legal(left))[0] + 1
        lost = (left == 0) & ~won
        fresh = self.rng.integers(1, MATCHES + 1, self.num_envs)
        self.left = np.where(won | lost, fresh, left)
        rewards = won.astype(np.float32) - lost
        return self.seen(self.left), rewards, won | lost, [{} for _ in won]

    def env_method(self, name, *arguments, indices=None, **keywords):
        """Call a method once, since all games are one object."""
        return getattr(self, name)(*arguments, **keywords)

    def get_attr(self, name, indices=None):
        """An attribute, once for each game."""
        return [getattr(self, name)] * self.num_envs

    close = set_attr = env_is_wrapped = lambda self, *arguments: None


def train(games):
    """A model that has learned these games in self-play."""
    random.seed(0)
    options = {"n_steps": 16, "batch_size": 1024, "learning_rate": 1e-3, "gamma": 1.0}
    model = MaskablePPO("MlpPolicy", games, **options, ent_coef=0.01, seed=0)
    return model.learn(STEPS, callback=Freeze())


torch.set_num_threads(1)  # several threads slow each other down where other programs run
print(evaluate(train(TicTacToeVecEnv(256, exploring_starts=0.5))))

nim = Nim(256)
left = np.arange(1, MATCHES + 1)
taken, _ = train(nim).predict(nim.seen(left), action_masks=nim.legal(left), deterministic=True)
is_right = (taken + 1 == left % 4)[left % 4 > 0]
print(f"Nim: {is_right.sum()} of {len(is_right)} moves are right")
