"""Who the learner plays: opponents by name, as objects, as saved runs, and weighted pools of them.

random                   every legal move equally likely
minimax                  perfect play, ties drawn at random
minimax-first            perfect play, the lowest of the best cells
minimax-slip=0.1         perfect play that makes a random legal move with probability 0.1 (also minimax-first-slip=0.1)
runs/dqn-0               the policy that a run saved in its certificate.json
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tictactoe_env.certificate import load_policy
from tictactoe_env.errors import unknown_name
from tictactoe_env.policy import MinimaxPolicy, Policy, RandomPolicy, as_policy, checked_weights
from tictactoe_env.rules import Rules

NAMES = ("random", "minimax", "minimax-first")


@dataclass(frozen=True)
class Pool:
    """Opponents with the probability of each to be drawn for a game; `weights` sum to 1."""

    policies: tuple[Policy, ...]
    weights: tuple[float, ...]

    def draw(self, rng: np.random.Generator, games: int) -> Any:
        """The opponent of each game: (games,) intp. Draws nothing from `rng` where there is no choice."""
        if len(self.policies) == 1:
            return np.zeros(games, dtype=np.intp)
        return np.searchsorted(np.cumsum(self.weights)[:-1], rng.random(games), side="right")


def make_opponent(spec: Any, rules: Rules) -> Policy:
    """The policy that `spec` describes: a name, the path of a saved run, or an object with `probs` or `predict`.

    Raises ValueError for an unknown name and for an object that cannot play.
    """
    if not isinstance(spec, (str, os.PathLike)):
        return as_policy(spec, rules)
    if spec == "random":
        return RandomPolicy()
    name = str(spec)
    match = re.fullmatch(r"minimax(?:-(first|random))?(?:-slip=([0-9.eE+-]+))?", name)
    if match:
        try:
            slip = float(match[2] or 0)
        except ValueError:
            raise ValueError(
                f"the slip of an opponent must be a probability such as minimax-slip=0.1, got {name!r}"
            ) from None
        return MinimaxPolicy(rules, match[1] or "random", slip)
    if isinstance(spec, os.PathLike) or os.sep in name or os.path.exists(name):
        if not os.path.exists(name):
            raise ValueError(
                f"there is no saved run or certificate at {name!r}, and it is no name of an opponent ({', '.join(NAMES)})"
            )
        if name.endswith(".zip"):
            raise ValueError(
                f"{name!r} may execute code when it is read: load it with its own class and give the model as the opponent"
            )
        try:
            return load_policy(name, rules)
        except FileNotFoundError as error:
            raise ValueError(f"{name!r} is no saved run: {error}") from None
    raise unknown_name("opponent", name, (*NAMES, "minimax-slip=0.1", "the path of a saved run"))


def make_pool(spec: Any, rules: Rules) -> Pool:
    """The pool of a single opponent, or of a list of [opponent, weight], drawn anew for each game."""
    if isinstance(spec, Pool):
        return spec
    if not isinstance(spec, Sequence) or isinstance(spec, str):
        return Pool((make_opponent(spec, rules),), (1.0,))
    pairs = list(spec)
    if not pairs or not all(
        isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        for pair in pairs
    ):
        raise ValueError(
            f'a pool of opponents must be a list of [opponent, weight], such as [["random", 0.5], ["minimax", 0.5]], got {spec!r}'
        )
    weights = checked_weights([weight for _, weight in pairs])
    return Pool(tuple(make_opponent(opponent, rules) for opponent, _ in pairs), tuple(weights))


def parse_pool(text: str) -> list[tuple[str, float]]:
    """Names and weights of "random:0.5,minimax:0.25,self:0.25"; a name alone has the weight 1."""
    pairs = []
    for part in text.split(","):
        name, colon, weight = part.strip().rpartition(":")
        try:
            pairs.append((name, float(weight)) if colon else (part.strip(), 1.0))
        except ValueError:
            raise ValueError(
                f"opponents must be written as name:weight,name:weight, got {part!r} in {text!r}"
            ) from None
    if not all(name for name, _ in pairs):
        raise ValueError(f"opponents must be written as name:weight,name:weight, got {text!r}")
    return list(
        zip(
            [name for name, _ in pairs],
            checked_weights([weight for _, weight in pairs]),
            strict=True,
        )
    )
