"""MaskablePPO against a pool with its own snapshots, its exact results, and a game that it loses.

    pip install "tictactoe-env[sb3]" "torch>=2.8,<2.14"
    python sb3_contrib_maskable_ppo.py 100000

It plays as X and as O. The shortest game that the trained model can lose is printed, and its boards
are drawn into losing_X.svg or losing_O.svg.
"""

import sys
from pathlib import Path

from sb3_contrib import MaskablePPO

from tictactoe_env import Rules, evaluate
from tictactoe_env.notation import game_text
from tictactoe_env.render import svg_game
from tictactoe_env.sb3 import SelfPlay, TicTacToeVecEnv

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000

pool = [["self", 0.5], ["minimax-slip=0.5", 0.5]]
env = TicTacToeVecEnv(64, opponent=pool)
model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=512, learning_rate=1e-3, seed=1)
model.learn(STEPS, callback=SelfPlay(every=10_000, keep=8))
model.save("maskable_ppo")

result, rules = evaluate(MaskablePPO.load("maskable_ppo")), Rules()
for side, found in (("X", result.x), ("O", result.o)):
    print(f"{side} against random play: {found.win:.4f} won, {found.loss:.4f} lost")
    line = result.best_responses[side].losing_line
    if line is None:
        print(f"{side} never loses, whatever the opponent does")
    else:
        print(f"{side} can lose: {game_text(line, rules)}")
        Path(f"losing_{side}.svg").write_text(svg_game(line, rules))
