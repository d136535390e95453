"""MaskablePPO in RL Zoo: adds it to the algorithms, trains it, and evaluates it exactly.

    pip install tictactoe-env "rl_zoo3>=2.7" requests "torch>=2.8"
    python rl_zoo_train.py 50000

The algorithms that RL Zoo knows need no program, only the flag --gym-packages:

    python -m rl_zoo3.train --algo ppo --env tictactoe_env/TicTacToe-v0 \
        --gym-packages tictactoe_env --conf-file rl_zoo/ppo.yml
    python -m rl_zoo3.enjoy --algo ppo --env tictactoe_env/TicTacToe-v0 \
        --gym-packages tictactoe_env -f logs
"""

import sys
from pathlib import Path

from rl_zoo3 import ALGOS
from rl_zoo3.train import train
from sb3_contrib import MaskablePPO

from tictactoe_env import evaluate

STEPS = sys.argv[1] if len(sys.argv) > 1 else "50000"
CONFIG = Path(__file__).parent / "rl_zoo" / "ppo_mask.yml"

ALGOS["ppo_mask"] = MaskablePPO
sys.argv[1:] = ["--algo", "ppo_mask", "--env", "tictactoe_env/TicTacToe-v0", "--seed", "1"]
sys.argv += ["--gym-packages", "tictactoe_env", "--conf-file", str(CONFIG), "-n", STEPS]
train()

# Each run has a folder: logs/ppo_mask/tictactoe_env-TicTacToe-v0_1, then _2, ...
runs = Path("logs/ppo_mask").glob("*/tictactoe_env-TicTacToe-v0.zip")
newest = max(runs, key=lambda path: path.stat().st_mtime)
print(newest)
print(evaluate(MaskablePPO.load(newest)))
