"""The opponents of a learner: a weighted pool in which `self` stands for frozen snapshots of the learner.

"random:0.5,minimax:0.25,self:0.25" gives half of the games to random play, a quarter to perfect play and a quarter to
the snapshots, which share it equally. While there is no snapshot yet, random play takes their place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.opponents import Pool, make_opponent, parse_pool
from tictactoe_env.policy import Policy, RandomPolicy, TabularPolicy, one_hot, tabulate
from tictactoe_env.positions import Positions, positions_of
from tictactoe_env.rules import Rules

SELF = "self"


class SelfPlay:
    """A pool in which at most `size` snapshots share the weight of `self`: the newest, and older ones.

    A new snapshot replaces the oldest with probability 1/2 and a random one otherwise, so that their ages spread out.
    epsilon: probability that a snapshot makes a random legal move when it plays, as the learner does while it explores.
    Raises ValueError for an unknown opponent.
    """

    def __init__(
        self, opponents: str, rules: Rules, size: int = 8, seed: int = 0, epsilon: float = 0.0
    ):
        pairs = parse_pool(opponents)
        self.self_weight = sum(weight for name, weight in pairs if name == SELF)
        self.fixed = [
            (make_opponent(name, rules), weight) for name, weight in pairs if name != SELF
        ]
        self.rules, self.size, self.epsilon = rules, size, epsilon
        self.snapshots: list[TabularPolicy] = []
        self.rng = np.random.default_rng(seed)
        self._opponents: Opponents | None = None

    @property
    def has_self(self) -> bool:
        """Whether snapshots of the learner are played at all."""
        return self.self_weight > 0

    def add(self, snapshot: TabularPolicy) -> None:
        """Keep a snapshot of the learner."""
        if len(self.snapshots) >= self.size:
            replaces_oldest = self.rng.random() < 0.5
            place = 0 if replaces_oldest else int(self.rng.integers(len(self.snapshots)))
            del self.snapshots[place]
        self.snapshots.append(snapshot)
        self._opponents = None

    def pool(self) -> Pool:
        """The opponents to draw from now on."""
        pairs: list[tuple[Policy, float]] = list(self.fixed)
        if self.has_self:
            copies: list[Policy] = [exploring(copy, self.epsilon) for copy in self.snapshots]
            copies = copies or [RandomPolicy()]
            pairs += [(copy, self.self_weight / len(copies)) for copy in copies]
        policies, weights = zip(*pairs, strict=True)
        return Pool(policies, weights)

    def opponents(self, turns: str = "drawn") -> Opponents:
        """The pool as tables; made anew after `add` and `restore`. turns: see `Opponents`."""
        if self._opponents is None or self._opponents.turns != turns:
            self._opponents = Opponents(self.pool(), positions_of(self.rules), turns)
        return self._opponents

    def state(self) -> dict[str, Any]:
        """What is needed to continue: the snapshots and the generator."""
        return {"snapshots": [_compact(copy) for copy in self.snapshots], "rng": self.rng}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`. Raises ValueError for tables that do not fit the board."""
        self.snapshots = [_expanded(array, self.rules) for array in state["snapshots"]]
        self.rng = state["rng"]
        self._opponents = None


def exploring(player: TabularPolicy, epsilon: float) -> TabularPolicy:
    """A player that makes a random legal move with probability `epsilon`."""
    if epsilon == 0:
        return player
    positions = positions_of(player.rules)
    free = positions.boards[positions.unfinished] == 0
    uniform = free / free.sum(axis=1, keepdims=True)
    return TabularPolicy(player.rules, (1 - epsilon) * player.table + epsilon * uniform)


def _compact(player: TabularPolicy) -> NDArray[Any]:
    """The cells (U,) uint8 of a deterministic player, the probabilities (U, cells) of another."""
    is_sure = bool((player.table.max(axis=1) == 1).all())
    return player.table.argmax(axis=1).astype(np.uint8) if is_sure else player.table


def _expanded(array: NDArray[Any], rules: Rules) -> TabularPolicy:
    probs = one_hot(array.astype(np.intp), rules.cells) if array.ndim == 1 else array
    return TabularPolicy(rules, probs)


class Moves(NamedTuple):
    """The learner's moves at one ply: the games (B,), their positions (B,), the cells marked (B,)."""

    games: NDArray[np.intp]
    rows: NDArray[np.intp]
    cells: NDArray[np.intp]


def play_games(
    choose: Callable[[NDArray[np.intp]], NDArray[np.intp]],
    is_x: NDArray[np.bool_],
    opponents: Opponents,
    which: NDArray[np.intp],
    rng: np.random.Generator,
) -> tuple[list[Moves], NDArray[np.intp]]:
    """Play games (G,) to their ends: the learner's moves ply by ply, and the final positions (G,).

    choose: the learner's legal cells (B,) in the positions (B,), given as rows of `positions_of`.
    is_x: in which games (G,) the learner is X. which: the opponent of each game (G,).
    """
    positions = opponents.positions
    rows, going = np.zeros(len(is_x), dtype=np.intp), np.arange(len(is_x))
    moves = []
    for ply in range(positions.rules.cells):
        is_own = is_x[going] == (ply % 2 == 0)
        own, other = going[is_own], going[~is_own]
        moves.append(Moves(own, rows[own], choose(rows[own])))
        replies = opponents.move(which[other], rows[other], rng)
        rows[own] = positions.children[rows[own], moves[-1].cells]
        rows[other] = positions.children[rows[other], replies]
        going = going[~positions.is_over[rows[going]]]
    return moves, rows


class Opponents:
    """A pool as tables: who plays a game, and the moves of many games at a time.

    turns: how opponents are chosen: "drawn" by their weights, or "cycled", one after the other.
    """

    def __init__(self, pool: Pool, positions: Positions, turns: str = "drawn"):
        self.pool, self.positions, self.turns = pool, positions, turns
        tables = [tabulate(policy, positions.rules).by_row() for policy in pool.policies]
        self.sums = np.stack([table.cumsum(axis=1) for table in tables])

    def choose(self, games: NDArray[np.intp], rng: np.random.Generator) -> Any:
        """The opponent of each game (B,), an index into the pool."""
        if self.turns == "cycled":
            return games % len(self.pool.policies)
        return self.pool.draw(rng, len(games))

    def move(
        self, which: NDArray[np.intp], rows: NDArray[np.intp], rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """The cells (B,) that the opponents `which` (B,) mark in the positions `rows` (B,)."""
        sums = self.sums[which, rows]
        return (sums <= (rng.random(len(rows)) * sums[:, -1])[:, None]).sum(axis=1)
