"""The first training of the documents, and what happens without each of its parts.

    python -m benchmarks.first_training --seeds 5

It needs the extra `sb3`, and some ten minutes of one core. The documents have what it prints.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import torch
from sb3_contrib import MaskablePPO

from tictactoe_env.sb3 import ExactEvaluation, TicTacToeVecEnv

STEPS = 300_000
PROGRAM = {"opponent": "minimax-slip=0.3", "exploring_starts": 0.5, "symmetric": True}
VARIANTS: dict[str, dict[str, Any]] = {
    "the program": {},
    "without `symmetric`": {"symmetric": False},
    "without random starts": {"exploring_starts": 0.0},
    "perfect opponent": {"opponent": "minimax"},
    "random opponent": {"opponent": "random"},
}


def train(seed: int, **changed: Any) -> tuple[bool, int, float]:
    """Train until the proof, or 300,000 steps: whether it's proven, the steps, and the seconds."""
    begun = time.process_time()
    env = TicTacToeVecEnv(256, **{**PROGRAM, **changed})
    options = {"n_steps": 16, "batch_size": 1024, "learning_rate": 1e-3, "gamma": 1.0}
    network = {"ent_coef": 0.01, "policy_kwargs": {"net_arch": [128, 128]}}
    model = MaskablePPO("MlpPolicy", env, **options, **network, seed=seed)
    exact = ExactEvaluation(every=8_192, stop_at="unbeatable")
    model.learn(STEPS, callback=exact)
    last = exact.last
    assert last is not None
    return last.evaluation.unbeatable, last.steps, time.process_time() - begun


def main(seeds: range) -> None:
    """Print a row for each variant: proven seeds, median and largest steps and seconds of these."""
    torch.set_num_threads(1)
    print("| | proven | steps | seconds |")
    print("| --- | --- | --- | --- |")
    for name, changed in VARIANTS.items():
        found = [train(seed, **changed) for seed in seeds]
        proven = [(steps, seconds) for is_proven, steps, seconds in found if is_proven]
        row = [name, f"{len(proven)} of {len(found)}"]
        if proven:
            steps, seconds = zip(*proven, strict=True)
            row.append(f"{statistics.median(steps):,.0f} ({min(steps):,} to {max(steps):,})")
            row.append(
                f"{statistics.median(seconds):.0f} ({min(seconds):.0f} to {max(seconds):.0f})"
            )
        print(f"| {' | '.join(row)} |" if proven else f"| {' | '.join(row)} | | |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="the number of seeds")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    given = parser.parse_args()
    main(range(given.first, given.first + given.seeds))
