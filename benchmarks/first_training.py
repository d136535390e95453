"""The first training of the documents, and what happens without each of its parts.

    python -m benchmarks.first_training --seeds 20

It needs the extra `sb3`, and some twenty minutes of one core. The page *Train with
Stable-Baselines3* has what it prints.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any, NamedTuple

import torch
from sb3_contrib import MaskablePPO

from tictactoe_env.sb3 import ExactEvaluation, MaskableDQN, TicTacToeVecEnv

ENVIRONMENT = {"opponent": "minimax-slip=0.3", "exploring_starts": 0.5, "symmetric": True}
NETWORK = {"net_arch": [128, 128], "activation_fn": torch.nn.ReLU}
PPO = {"n_steps": 16, "batch_size": 1024, "learning_rate": 2e-3, "gamma": 1.0, "ent_coef": 0.03}
DQN = {"batch_size": 1024, "learning_rate": 1e-3, "gamma": 1.0, "train_freq": 1}
DQN |= {"target_update_interval": 2_000}


class Variant(NamedTuple):
    """What differs from the program of the documents."""

    environment: dict[str, Any] = {}
    network: dict[str, Any] = NETWORK
    is_dqn: bool = False
    stop_at: str = "unbeatable"
    steps: int = 200_000


VARIANTS = {
    "the program": Variant(),
    "without `symmetric=True`": Variant({"symmetric": False}),
    "without random starts": Variant({"exploring_starts": 0.0}),
    "against `minimax`, which never slips": Variant({"opponent": "minimax"}),
    "against `random`": Variant({"opponent": "random"}),
    "with the library's own network": Variant(network={}),
    "until it's optimal, against `minimax-slip=0.7`": Variant(
        {"opponent": "minimax-slip=0.7"}, stop_at="optimal", steps=300_000
    ),
    "with `MaskableDQN`": Variant(is_dqn=True),
}


def train(variant: Variant, seed: int) -> tuple[bool, int, float]:
    """Train to the goal: is it reached within the steps, after how many, and processor seconds."""
    begun = time.process_time()
    arguments: dict[str, Any] = {**ENVIRONMENT, **variant.environment}
    env = TicTacToeVecEnv(64 if variant.is_dqn else 256, **arguments)
    learner, options = (MaskableDQN, DQN) if variant.is_dqn else (MaskablePPO, PPO)
    model = learner("MlpPolicy", env, **options, policy_kwargs=variant.network, seed=seed)
    exact = ExactEvaluation(stop_at=variant.stop_at)
    model.learn(variant.steps, callback=exact)
    last = exact.last
    assert last is not None  # it evaluates at the end of every training
    return getattr(last.evaluation, variant.stop_at), last.steps, time.process_time() - begun


def main(seeds: range) -> None:
    """Print a row for each variant: the seeds proven, the steps, and the seconds that it took."""
    torch.set_num_threads(1)
    print("| | proven | steps until then | processor seconds |")
    print("| --- | --- | --- | --- |")
    for name, variant in VARIANTS.items():
        found = [train(variant, seed) for seed in seeds]
        proven = [(steps, seconds) for is_proven, steps, seconds in found if is_proven]
        row = f"| {name} | {len(proven)} of {len(found)} |"
        for values in zip(*proven, strict=True):
            row += f" {statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f}) |"
        print(row if proven else f"{row} | |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="the number of seeds")
    given = parser.parse_args()
    main(range(given.seeds))
