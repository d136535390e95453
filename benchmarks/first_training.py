"""The first training of the documents, and what happens without each of its parts.

    python -m benchmarks.first_training --seeds 20

It needs the extra `sb3`, and some twenty minutes of one core. The page *Train with
Stable-Baselines3* has what it prints.
"""

from __future__ import annotations

import argparse
import statistics
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


def train(variant: Variant, seed: int) -> tuple[bool, int]:
    """Train to the goal: is it reached within the steps, and after how many."""
    arguments = variant.recipe(**variant.games) | variant.options
    model = variant.algorithm(**arguments, seed=seed)
    exact = ExactEvaluation(stop_at=variant.stop_at)
    model.learn(variant.steps, callback=exact)
    last = exact.last
    assert last is not None  # it evaluates at the end of every training
    return getattr(last.evaluation, variant.stop_at), last.steps


def main(seeds: range) -> None:
    """Print a row for each variant: the seeds proven, and their steps."""
    torch.set_num_threads(1)
    print("| | proven | steps until then |")
    print("| --- | --- | --- |")
    for name, variant in VARIANTS.items():
        found = [train(variant, seed) for seed in seeds]
        steps = [steps for is_proven, steps in found if is_proven]
        row = f"| {name} | {len(steps)} of {len(found)} |"
        if steps:
            row += f" {statistics.median(steps):,.0f} ({min(steps):,} to {max(steps):,})"
        print(f"{row} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="the number of seeds")
    given = parser.parse_args()
    main(range(given.seeds))
