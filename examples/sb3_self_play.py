"""MaskableDQN of this package in self-play, evaluated exactly while it learns with SB3's callbacks.

    pip install "tictactoe-env[sb3]"
    python sb3_self_play.py 50000

A quarter of the games are against snapshots of the model, the others against a perfect player that
makes a random move three times in ten. Training stops when the model never loses, on either side,
whatever the opponent does, or after the number of steps that is given.
"""

import sys

import torch

from tictactoe_env import evaluate
from tictactoe_env.sb3 import ExactEvaluation, MaskableDQN, SelfPlay, dqn_recipe

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000

torch.set_num_threads(1)  # several threads slow each other down where other programs run
pool = [["self", 0.25], ["minimax-slip=0.3", 0.75]]
model = MaskableDQN(**dqn_recipe(opponent=pool), seed=1)
exact = ExactEvaluation(every=5_000, stop_at="unbeatable", best_model_save_path="best", verbose=1)
model.learn(STEPS, callback=[exact, SelfPlay(every=5_000)])

print(f"the best model, of {exact.best.steps:,} steps:")
print(evaluate(MaskableDQN.load("best/best_model")))
