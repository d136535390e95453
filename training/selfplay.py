"""The opponents of a learner: a weighted pool in which `self` stands for frozen copies of the learner.

"random:0.5,minimax:0.25,self:0.25" gives half of the games to random play, a quarter to perfect play and a quarter to
the snapshots, which share it equally. While there is no snapshot yet, random play takes their place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.opponents import Pool, make_opponent, parse_pool
from tictactoe_env.policy import Policy, RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.positions import Positions
from tictactoe_env.rules import Rules

SELF = "self"


class SelfPlay:
    """A pool whose `self` share is spread over at most `size` snapshots: the newest, and older ones.

    A new snapshot takes the place of the oldest half of the time and of a random one otherwise, so that the ages spread out.
    """

    def __init__(self, opponents: str, rules: Rules, size: int = 8, seed: int = 0):
        pairs = parse_pool(opponents)
        self.self_weight = sum(weight for name, weight in pairs if name == SELF)
        self.fixed = [
            (make_opponent(name, rules), weight) for name, weight in pairs if name != SELF
        ]
        self.rules, self.size = rules, size
        self.snapshots: list[TabularPolicy] = []
        self.rng = np.random.default_rng(seed)

    def add(self, snapshot: TabularPolicy) -> None:
        """Keep a frozen copy of the learner."""
        if len(self.snapshots) >= self.size:
            place = 0 if self.rng.random() < 0.5 else int(self.rng.integers(len(self.snapshots)))
            del self.snapshots[place]
        self.snapshots.append(snapshot)

    def pool(self) -> Pool:
        """The opponents to draw from now on."""
        pairs: list[tuple[Policy, float]] = list(self.fixed)
        if self.self_weight > 0:
            copies: list[Policy] = [*self.snapshots] or [RandomPolicy()]
            pairs += [(copy, self.self_weight / len(copies)) for copy in copies]
        return Pool(tuple(policy for policy, _ in pairs), tuple(weight for _, weight in pairs))


class Opponents:
    """A pool as tables: who plays a game, and the moves of many games at a time.

    turns: "drawn", by the weights, or "cycled", one after the other.
    """

    def __init__(self, pool: Pool, positions: Positions, turns: str = "drawn"):
        self.pool, self.turns = pool, turns
        self.sums = np.stack(
            [tabulate(policy, positions.rules).by_row().cumsum(axis=1) for policy in pool.policies]
        )

    def choose(self, games: NDArray[np.intp], rng: np.random.Generator) -> Any:
        """The opponent of each game (B,), an index into the pool."""
        return (
            games % len(self.pool.policies)
            if self.turns == "cycled"
            else self.pool.draw(rng, len(games))
        )

    def move(
        self, which: NDArray[np.intp], rows: NDArray[np.intp], rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """The cells (B,) that the opponents move to."""
        sums = self.sums[which, rows]
        return (sums <= (rng.random(len(rows)) * sums[:, -1])[:, None]).sum(axis=1)
