"""MaskablePPO against a pool with its own snapshots, its exact results, and a game that it loses.

    pip install "tictactoe-env[sb3]"
    python sb3_contrib_maskable_ppo.py 100000

It plays as X and as O, and after 100,000 steps it can't be beaten. If a model can, the shortest
games that it loses are drawn into lost.svg.
"""

import sys

import torch
from sb3_contrib import MaskablePPO

from tictactoe_env import evaluate
from tictactoe_env.sb3 import SelfPlay, ppo_recipe

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000

torch.set_num_threads(1)  # several threads slow each other down where other programs run
pool = [["self", 0.25], ["minimax-slip=0.3", 0.75]]
model = MaskablePPO(**ppo_recipe(opponent=pool), seed=1)
model.learn(STEPS, callback=SelfPlay(every=8_192))
model.save("maskable_ppo")

found = evaluate(MaskablePPO.load("maskable_ppo"))
print(found)
if not found.unbeatable:
    found.save("lost.svg")
