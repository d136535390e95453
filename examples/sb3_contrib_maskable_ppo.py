"""MaskablePPO against a pool with its own snapshots, its exact results, and a game that it loses.

    pip install "tictactoe-env[sb3]" "torch>=2.8,<2.14"
    python sb3_contrib_maskable_ppo.py 100000

It plays as X and as O. The shortest games that the trained model can lose are drawn into lost.svg.
"""

import sys

from sb3_contrib import MaskablePPO

from tictactoe_env import evaluate
from tictactoe_env.sb3 import SelfPlay, TicTacToeVecEnv

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000

pool = [["self", 0.5], ["minimax-slip=0.5", 0.5]]
env = TicTacToeVecEnv(64, opponent=pool)
model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=512, learning_rate=1e-3, seed=1)
model.learn(STEPS, callback=SelfPlay(every=10_000))
model.save("maskable_ppo")

found = evaluate(MaskablePPO.load("maskable_ppo"))
print(found)
if not found.unbeatable:
    found.save("lost.svg")
