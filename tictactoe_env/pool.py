"""Pools: the opponents of an environment, their weights, and the learner's own snapshots.

make_pool("minimax", rules)                            # one opponent
make_pool([["random", 0.5], ["self", 0.5]], rules)     # one is drawn for each game
make_pool("self-keep=4-replace=oldest", rules)         # snapshots of the learner alone
make_pool([["best-response", 0.5], ["self", 0.5]], rules)  # and the best response to the newest
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.proof import Limit, checked_limit
from tictactoe_env.names import BEST_RESPONSE, LATEST, LEARNED, SELF, read_option, split_options
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import Policy, RandomPolicy, checked_weights
from tictactoe_env.rules import Rules
from tictactoe_env.snapshots import MAX_TABLE_CELLS, check_keeping, place_of_next, snapshot
from tictactoe_env.table_json import is_table

# The named players of this package whose tables all environments share.
KEPT = ("random", "minimax", "minimax-first", "minimax-random", "search", "mcts")
RANDOM = RandomPolicy()


@dataclass(frozen=True)
class Snapshots:
    """The member "self" of a pool: snapshots of the learner share its weight equally.

    keep: how many are kept. replace: which one makes room, see `snapshots.place_of_next`.
    snapshots: frozen policies, the oldest first. Random play takes their place while there is none.
    """

    weight: float = 1.0
    keep: int = 8
    replace: str = "mixed"
    snapshots: tuple[Policy, ...] = ()

    def __post_init__(self) -> None:
        check_keeping(self.keep, self.replace)

    @property
    def pairs(self) -> list[tuple[Policy, float]]:
        """The snapshots and their weights."""
        players = self.snapshots or (RANDOM,)
        return [(player, self.weight / len(players)) for player in players]


@dataclass(frozen=True)
class Responder:
    """The member "best-response" of a pool: the best reply to the newest snapshot.

    positions: how many positions its proof may have; without a number as many as `proof.Limit`
    says. player: None until there is a snapshot; random play takes its place until then.
    """

    weight: float = 1.0
    positions: int | None = None
    player: Policy | None = None

    def __post_init__(self) -> None:
        if self.positions is not None:
            checked_limit(self.limit)

    @property
    def limit(self) -> Limit | None:
        """The limit of its proof; None for the default one."""
        return None if self.positions is None else Limit(self.positions)

    @property
    def pairs(self) -> list[tuple[Policy, float]]:
        """The player and its weight."""
        return [(self.player or RANDOM, self.weight)]


@dataclass(frozen=True)
class Pool:
    """Opponents, and the probability with which each is drawn for a game; `weights` sum to 1.

    own: the member "self", whose snapshots are the last of the policies; None without one.
    responder: the member "best-response", whose player comes before these; None without one.
    """

    policies: tuple[Policy, ...]
    weights: tuple[float, ...]
    own: Snapshots | None = field(default=None, compare=False)
    responder: Responder | None = field(default=None, compare=False)

    def draw(self, rng: np.random.Generator, games: int) -> Any:
        """The index of each game's opponent: (games,) intp. A pool of one does not use `rng`."""
        if len(self.policies) == 1:
            return np.zeros(games, dtype=np.intp)
        return np.searchsorted(np.cumsum(self.weights)[:-1], rng.random(games), side="right")

    @property
    def snapshots(self) -> tuple[Policy, ...]:
        """The snapshots of the learner, the oldest first."""
        return self.own.snapshots if self.own else ()

    @property
    def response(self) -> Policy | None:
        """The best response to the newest snapshot; None if there is none."""
        return self.responder.player if self.responder else None

    @property
    def fixed(self) -> tuple[Policy, ...]:
        """The policies that are not made from the learner, in the order they were given."""
        return tuple(policy for policy, _ in self._fixed())

    @property
    def self_play(self) -> dict[str, Any] | None:
        """What the learner's snapshots are used for; None if they are not used.

        The keys are `snapshots`, the number of them, with the member "self" its options `keep` and
        `replace`, and with the member "best-response" `best_response`, whether there is one yet.
        """
        if self.own is None and self.responder is None:
            return None
        own, found = self.own, {"snapshots": len(self.snapshots)}
        options = {} if own is None else {"keep": own.keep, "replace": own.replace}
        if self.responder is None:
            return {**options, **found}
        if own is None:
            found["snapshots"] = int(self.response is not None)
        return {**options, **found, "best_response": self.response is not None}

    def keeping(self, keep: int | None = None, replace_by: str | None = None) -> Pool:
        """The pool with other options of "self"; of too many snapshots the oldest are left out.

        None leaves an option as it is. Raises ValueError for a pool without "self".
        """
        own = self._own()
        keep = own.keep if keep is None else keep
        check_keeping(keep, own.replace if replace_by is None else replace_by)
        kept = own.snapshots[-keep:]
        changed = replace(own, keep=keep, replace=replace_by or own.replace, snapshots=kept)
        return _pool(self._fixed(), changed, self.responder)

    def with_snapshot(
        self, player: Policy, rng: np.random.Generator, response: Policy | None = None
    ) -> tuple[Pool, NDArray[np.intp]]:
        """The pool with a further snapshot, and the new index of each of its present policies.

        A policy that makes room has the index of the new snapshot. response: the best response to
        the snapshot, for the member "best-response"; if there is none, the snapshot itself plays in
        its place. Raises ValueError for a pool with neither "self" nor "best-response".
        """
        responder = self.responder and replace(self.responder, player=response or player)
        if responder is not None and self.own is None:
            pool = _pool(self._fixed(), None, responder)
            return pool, np.arange(len(self.policies))
        own = self._own()
        kept, fixed = list(own.snapshots), len(self.policies) - len(own.pairs)
        place = place_of_next(len(kept), own.keep, own.replace, rng) if kept else 0
        if kept and place is not None:
            del kept[place]
        kept.append(player)
        pool = _pool(self._fixed(), replace(own, snapshots=tuple(kept)), responder)
        moved = np.arange(len(self.policies))
        if place is not None:
            moved[fixed + place + 1 :] -= 1
            moved[fixed + place] = len(pool.policies) - 1
        return pool, moved

    def _own(self) -> Snapshots:
        if self.own is None:
            raise ValueError(
                'the opponents do not contain "self", so a snapshot would never play: make the '
                'environment with opponent="self", or with a pool such as [["random", 0.5], '
                '["self", 0.5]] or [["best-response", 0.5], ["self", 0.5]]'
            )
        return self.own

    def _fixed(self) -> list[tuple[Policy, float]]:
        pairs = list(zip(self.policies, self.weights, strict=True))
        made = [member.pairs for member in (self.responder, self.own) if member]
        return pairs[: len(pairs) - sum(map(len, made))]


def _pool(
    fixed: list[tuple[Policy, float]], own: Snapshots | None, responder: Responder | None = None
) -> Pool:
    made = [pair for member in (responder, own) if member for pair in member.pairs]
    policies, weights = zip(*fixed, *made, strict=True)
    return Pool(policies, weights, own, responder)


def make_pool(
    spec: Any, rules: Rules, snapshots: Sequence[Policy] = (), response: Policy | None = None
) -> Pool:
    """The pool of one opponent, or of a list of [opponent, weight].

    Objects are frozen: see `snapshots.snapshot`; a model plays its best moves. snapshots: those
    that the member "self" has from the start, the oldest first. response: the player that the
    member "best-response" has from the start.
    """
    if isinstance(spec, Pool):
        return spec
    is_list = isinstance(spec, (Sequence, Mapping)) and not (
        isinstance(spec, str) or is_table(spec)
    )
    pairs = list(spec) if is_list else [(spec, 1.0)]
    if not pairs or not all(
        isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        for pair in pairs
    ):
        raise ValueError(
            "a pool of opponents must be a list of [opponent, weight], such as "
            f'[["random", 0.5], ["minimax", 0.5]], got {spec!r}'
        )
    weights = checked_weights([weight for _, weight in pairs])
    weighted = list(zip((opponent for opponent, _ in pairs), weights, strict=True))
    own, others = split_self(weighted, snapshots)
    responder, others = split_response(others, response)
    fixed = [(_frozen(opponent, rules), weight) for opponent, weight in others]
    return _pool(fixed, own, responder)


def split_response(
    pairs: Iterable[tuple[Any, float]], player: Policy | None = None
) -> tuple[Responder | None, list[tuple[Any, float]]]:
    """The member "best-response" of a pool, or None, and the other opponents.

    Raises ValueError if there are two of them.
    """
    found: Responder | None = None
    others = []
    for opponent, weight in pairs:
        if not isinstance(opponent, str) or split_options(opponent)[0] != BEST_RESPONSE:
            others.append((opponent, weight))
        elif found is not None:
            raise ValueError(f'"{BEST_RESPONSE}" is one player: give it once in a pool')
        else:
            texts = split_options(opponent)[1]
            options = dict(read_option(BEST_RESPONSE, text, _response_options) for text in texts)
            found = Responder(weight, options.get("positions"), player)
    return found, others


def _response_options(positions: int = Limit().positions) -> None:
    """Declares the options of "best-response"."""


def split_self(
    pairs: Iterable[tuple[Any, float]],
    snapshots: Sequence[Policy] = (),
    keep: int = 8,
    name: str = SELF,
) -> tuple[Snapshots | None, list[tuple[Any, float]]]:
    """The member "self" of a pool, or None, and the other opponents.

    keep: used unless the text says `self-keep=N`. name: that of the member, if it is another
    learner's snapshots. Raises ValueError if there are two of them.
    """
    own: Snapshots | None = None
    others = []
    for opponent, weight in pairs:
        if not isinstance(opponent, str) or split_options(opponent)[0] != name:
            others.append((opponent, weight))
        elif own is not None:
            raise ValueError(
                f'"{name}" stands for all snapshots of the learner: give it once in a pool'
            )
        else:
            texts = split_options(opponent)[1]
            options = dict(read_option(name, text, _self_options) for text in texts)
            own = Snapshots(**{"weight": weight, "keep": keep, **options})
    if own is not None:
        own = replace(own, snapshots=tuple(snapshots)[-own.keep :])
    return own, others


def _self_options(keep: int = 8, replace: str = "mixed") -> None:
    """Declares the options of "self"."""


def _frozen(opponent: Any, rules: Rules) -> Policy:
    if (
        isinstance(opponent, str)
        and split_options(opponent)[0] in KEPT
        and rules.cells <= MAX_TABLE_CELLS
    ):
        return _built_in(opponent, rules)
    policy = make_opponent(opponent, rules, also=LEARNED)
    is_named = isinstance(opponent, (str, os.PathLike))  # so nobody else can change it
    return policy if is_named and rules.cells > MAX_TABLE_CELLS else snapshot(policy, rules)


@lru_cache(maxsize=64)  # so that environments share the tables of the opponents with these names
def _built_in(name: str, rules: Rules) -> Policy:
    return snapshot(make_opponent(name, rules), rules)


def parse_pool(text: str) -> list[tuple[str, float]]:
    """Names and weights of "random:0.5,minimax:0.25,self:0.25", scaled to sum to 1.

    A name without a weight has the weight 1. Raises ValueError for any other form.
    """
    pairs = []
    for part in text.split(","):
        name, colon, weight = part.strip().rpartition(":")
        if f"{name}:" == LATEST:  # "latest:dqn" without a weight
            name, colon, weight = part.strip(), ":", "1"
        try:
            pairs.append((name, float(weight)) if colon else (part.strip(), 1.0))
        except ValueError:
            raise ValueError(
                f"opponents must be written as name:weight,name:weight, got {part!r} in {text!r}"
            ) from None
    if not all(name for name, _ in pairs):
        raise ValueError(f"opponents must be written as name:weight,name:weight, got {text!r}")
    weights = checked_weights([weight for _, weight in pairs])
    return [(name, weight) for (name, _), weight in zip(pairs, weights, strict=True)]
