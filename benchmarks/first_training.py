"""The first training of the documents, and what happens without each of its parts.

    python -m benchmarks.first_training --seeds 20

It needs the extra `sb3`, and some twenty minutes of one core. The page *Train with
Stable-Baselines3* has what it prints.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from sb3_contrib import MaskablePPO

from tictactoe_env.sb3 import ExactEvaluation, MaskableDQN, dqn_recipe, ppo_recipe


class Variant(NamedTuple):
    """What differs from the program of the documents."""

    games: dict[str, Any] = {}
    options: dict[str, Any] = {}
    algorithm: Any = MaskablePPO
    recipe: Callable[..., dict[str, Any]] = ppo_recipe
    stop_at: str = "unbeatable"
    steps: int = 200_000


VARIANTS = {
    "the program": Variant(),
    "without `symmetric=True`": Variant({"symmetric": False}),
    "without random starts": Variant({"exploring_starts": 0.0}),
    "against `minimax`, which never slips": Variant({"opponent": "minimax"}),
    "against `random`": Variant({"opponent": "random"}),
    "with the library's own network": Variant(options={"policy_kwargs": {}}),
    "until it's optimal, against `minimax-slip=0.7`": Variant(
        {"opponent": "minimax-slip=0.7"}, stop_at="optimal", steps=300_000
    ),
    "with `MaskableDQN`": Variant(algorithm=MaskableDQN, recipe=dqn_recipe),
}


def train(variant: Variant, seed: int) -> tuple[bool, int, float]:
    """Train to the goal: is it reached within the steps, after how many, and processor seconds."""
    begun = time.process_time()
    arguments = variant.recipe(**variant.games) | variant.options
    model = variant.algorithm(**arguments, seed=seed)
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
