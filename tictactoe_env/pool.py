"""Pools: the opponents of an environment, their weights, and the learner's own snapshots.

make_pool("minimax", rules)                            # one opponent
make_pool([["random", 0.5], ["self", 0.5]], rules)     # one is drawn for each game
make_pool("random:0.5,self:0.5", rules)                # the same as text
make_pool("self-keep=4-replace=oldest", rules)         # snapshots of the learner alone
make_pool([["best-response", 0.5], ["self", 0.5]], rules)  # and the best response to the newest

A snapshot is a frozen copy of a player, which plays on as it was while the player goes on learning:

env.add_snapshot(model)                      # into the opponent "self" of an environment
frozen = snapshot(model, Rules(4, 4, 4))     # a policy for anything else
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import one_of, whole_number
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.opponents import (
    AGENT,
    BEST_RESPONSE,
    BUILT_IN,
    LEARNED,
    SELF,
    make_opponent,
    options_of,
    parse_pool,
    read_options,
    resolve,
    split_options,
)
from tictactoe_env.policy import (
    CanonicalPolicy,
    GreedyPolicy,
    Policy,
    RandomPolicy,
    as_policy,
    checked_weights,
    keeps,
)
from tictactoe_env.rules import Rules, checked_rules

_RANDOM = RandomPolicy()
_COPIES: WeakKeyDictionary[TabularPolicy, TabularPolicy] = WeakKeyDictionary()
PROOF_POSITIONS = 30_000_000  # of the proof for a best response, unless its name says another
_Member = TypeVar("_Member")


# --- snapshots ------------------------------------------------------------------------------------


def snapshot(
    player: Any, rules: Rules, deterministic: bool = False, symmetric: bool | None = None
) -> Policy:
    """A frozen copy of a player: what `player` learns later does not change how the copy plays.

    Random play is returned as it is. On boards of up to 12 cells any other copy is a table of all
    positions (`TabularPolicy`), on larger ones a deep copy; of a Stable-Baselines3 model only the
    policy is copied. A deep copy shares the functions and classes of a player, so it's refused if
    one of them holds what may change: a lambda around a network, for example. An object with
    `probs` that has the network as an attribute is copied with it. "What is frozen" in
    docs/own_player.md says what isn't seen.

    player: an object with `probs(boards)`, or with Stable-Baselines3's `predict`. deterministic:
    True if the copy always plays the most probable move, of equal ones the lowest cell. Otherwise
    it plays by its probabilities, as PPO, A2C and MaskablePPO of Stable-Baselines3 have them. A DQN
    plays its best action either way. On larger boards the copy of a CanonicalPolicy is one too, so
    that proofs of it remain small. symmetric: see `tictactoe_env.evaluate`.
    Raises ValueError for an object that is not a player, or cannot be copied.
    """
    policy = as_policy(player, checked_rules(rules), deterministic, symmetric)
    if deterministic:
        policy = _greedy(policy)
    if keeps(policy, RandomPolicy):
        return policy
    if rules.cells <= TABULATED:
        table = tabulate(policy, rules)
        return _copy_of(table) if table is policy else table
    from tictactoe_env.frozen import frozen_copy  # imported here because few environments need it

    try:
        copied: Policy = frozen_copy(policy)
    except ValueError as error:
        raise ValueError(f"this player cannot be frozen for {rules}: {error}") from error
    except Exception as error:
        raise ValueError(
            f"this player cannot be copied for {rules}: {error!r}; its __deepcopy__ may say how"
        ) from error
    return copied


def _copy_of(table: TabularPolicy) -> TabularPolicy:
    """A copy of a table, the same one each time, so that engines prepare it once."""
    copied = _COPIES.get(table)
    if copied is None or copied.table is not table.table:
        copied = _COPIES[table] = copy.copy(table)
    return copied


def _greedy(policy: Policy) -> Policy:
    """The most probable moves of a policy; on canonical boards, if it plays by these."""
    from tictactoe_env.predict_policy import PredictPolicy  # imported here as in `policy`

    if keeps(policy, PredictPolicy) and policy.deterministic:
        return policy
    if keeps(policy, CanonicalPolicy):
        return CanonicalPolicy(_greedy(policy.policy), policy.rules)
    return GreedyPolicy(policy)


# --- pools ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Snapshots:
    """The member "self" of a pool: snapshots of the learner share its weight equally.

    keep: how many are kept. replace: which one makes room for a further one: "oldest"; "random",
    each equally likely; or "mixed", which is the oldest with probability 1/2 and otherwise any one,
    so that snapshots of many ages remain. snapshots: frozen policies, the oldest first. Random play
    takes their place while there is none.
    """

    weight: float
    keep: int = 8
    replace: str = "mixed"
    snapshots: tuple[Policy, ...] = ()

    def __post_init__(self) -> None:
        whole_number(self.keep, "keep, the number of snapshots,", 1)
        one_of("way to replace a snapshot", self.replace, ("mixed", "oldest", "random"))

    @property
    def pairs(self) -> list[tuple[Policy, float]]:
        """The snapshots and their weights."""
        players = self.snapshots or (_RANDOM,)
        return [(player, self.weight / len(players)) for player in players]

    def with_snapshot(self, player: Policy, rng: np.random.Generator) -> Snapshots:
        """The member with a further snapshot; if it is full, another one makes room."""
        kept = list(self.snapshots)
        if len(kept) >= self.keep:
            del kept[self._place_to_free(rng)]
        return replace(self, snapshots=(*kept, player))

    def _place_to_free(self, rng: np.random.Generator) -> int:
        """The index of the snapshot that makes room."""
        if self.replace == "oldest" or (self.replace == "mixed" and rng.random() < 0.5):
            return 0
        return int(rng.integers(len(self.snapshots)))


@dataclass(frozen=True)
class Responder:
    """The member "best-response" of a pool: the best reply to the newest snapshot.

    positions: how many positions its proof may have. player: None until there is a snapshot; random
    play takes its place until then.
    """

    weight: float
    positions: int = PROOF_POSITIONS
    player: Policy | None = None

    def __post_init__(self) -> None:
        whole_number(self.positions, "positions of best-response", 1)

    @property
    def pairs(self) -> list[tuple[Policy, float]]:
        """The player and its weight."""
        return [(_RANDOM if self.player is None else self.player, self.weight)]


@dataclass(frozen=True)
class Pool:
    """Opponents, and the probability with which each is drawn for a game.

    fixed: those that are not made from the learner, with their weights; all weights sum to 1. own:
    the member "self", whose snapshots are the last of the policies. responder: the member
    "best-response", whose player comes before these.
    """

    fixed: tuple[tuple[Policy, float], ...] = ()
    own: Snapshots | None = None
    responder: Responder | None = None

    @cached_property
    def pairs(self) -> list[tuple[Policy, float]]:
        """All policies and their weights."""
        members = [member for member in (self.responder, self.own) if member is not None]
        return [*self.fixed, *(pair for member in members for pair in member.pairs)]

    @cached_property
    def policies(self) -> tuple[Policy, ...]:
        """All policies."""
        return tuple(policy for policy, _ in self.pairs)

    @property
    def takes_snapshots(self) -> bool:
        """True if an opponent is made from the learner: "self" or "best-response"."""
        return self.own is not None or self.responder is not None

    def draw(self, rng: np.random.Generator, games: int) -> Any:
        """The index of each game's opponent: (games,) intp. A pool of one does not use `rng`."""
        if len(self.pairs) == 1:
            return np.zeros(games, dtype=np.intp)
        return np.searchsorted(self._ends, rng.random(games), side="right")

    @cached_property
    def _ends(self) -> NDArray[np.float64]:
        """Where the share of each policy but the last ends in [0, 1): (N - 1,)."""
        return np.cumsum([weight for _, weight in self.pairs])[:-1]

    def with_snapshot(self, player: Policy, rng: np.random.Generator, response: Policy) -> Pool:
        """The pool with a further snapshot of the learner.

        response: who plays as the member "best-response", the best response to this snapshot.
        """
        snapshots: tuple[Policy, ...] = ()
        if self.own is not None:
            snapshots = self.own.with_snapshot(player, rng).snapshots
        return self.with_learned(snapshots, response)

    def with_learned(self, snapshots: Sequence[Policy], response: Policy | None) -> Pool:
        """The pool whose "self" is these snapshots and whose "best-response" is this player.

        It takes the newest snapshots, as many as it keeps, and nothing for a member that it lacks.
        """
        own = self.own
        responder = self.responder
        if own is not None:
            own = replace(own, snapshots=tuple(snapshots[-own.keep :]))
        if responder is not None:
            responder = replace(responder, player=response)
        return replace(self, own=own, responder=responder)

    def indices_of(self, before: Pool) -> NDArray[np.intp]:
        """The index of each policy of the pool before `with_snapshot` in this one: (N,).

        A policy that is no longer there has the index of who plays on in its place: a best response
        that of the new one, and a snapshot that has made room that of the newest snapshot.
        """
        newest = len(self.policies) - 1
        indices = {id(policy): index for index, policy in enumerate(self.policies)}
        found = [indices.get(id(policy), newest) for policy in before.policies]
        if self.responder is not None:
            place = len(self.fixed)  # of the best response in both pools
            found[place] = place
        return np.array(found, dtype=np.intp)


# --- pools from texts and lists -------------------------------------------------------------------


def make_pool(spec: Any, rules: Rules, before: Pool | None = None) -> Pool:
    """The pool of one opponent, of a list of [opponent, weight], or of such a list as text.

    Objects are frozen: see `snapshot`; a model plays its best moves. before: the pool whose
    snapshots the member "self" has from the start, and whose response "best-response" has. A Pool
    is returned as it is.
    """
    if isinstance(spec, Pool):
        return spec
    pool = pool_of(weighted_opponents(spec), rules)
    if before is None:
        return pool
    snapshots = before.own.snapshots if before.own else ()
    response = before.responder.player if before.responder else None
    return pool.with_learned(snapshots, response)


def weighted_opponents(spec: Any) -> list[tuple[Any, float]]:
    """The opponents of a text, of a list of [opponent, weight], or of one opponent, and weights.

    The weights are scaled to sum to 1. Raises ValueError for other lists, and for mappings.
    """
    if isinstance(spec, str) and not os.path.exists(spec):
        return parse_pool(spec)
    if isinstance(spec, str) or not isinstance(spec, (Sequence, Mapping)):
        return [(spec, 1.0)]
    pairs = list(spec)
    if isinstance(spec, Mapping) or not pairs or not all(map(_is_pair, pairs)):
        raise ValueError(f"a pool must be a list of [opponent, weight], got {spec!r}")
    weights = checked_weights([weight for _, weight in pairs])
    return [(opponent, weight) for (opponent, _), weight in zip(pairs, weights, strict=True)]


def _is_pair(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2


def pool_of(
    weighted: list[tuple[Any, float]],
    rules: Rules,
    make_own: Callable[..., Snapshots] = Snapshots,
    make_responder: Callable[..., Responder] = Responder,
) -> Pool:
    """The pool of these opponents and weights; "self" and "best-response" have no snapshot yet.

    make_own, make_responder: how these two are made if they are there: see `taken_out`.
    """
    own, others = taken_out(weighted, SELF, make_own)
    responder, others = taken_out(others, BEST_RESPONSE, make_responder)
    fixed = tuple((_frozen(opponent, rules), weight) for opponent, weight in others)
    return Pool(fixed, own, responder)


def taken_out(
    weighted: list[tuple[Any, float]], name: str, make: Callable[..., _Member]
) -> tuple[_Member | None, list[tuple[Any, float]]]:
    """The member of a pool that is made from a learner, or None, and the other opponents.

    name: of the member, which options may follow in the text of an opponent. make: called as
    `make(weight, **options)`. Raises ValueError if the name is there twice.
    """
    own = [(text, weight) for text, weight in weighted if _name_of(text) == name]
    others = [(opponent, weight) for opponent, weight in weighted if _name_of(opponent) != name]
    if not own:
        return None, others
    if len(own) > 1:
        raise ValueError(f'"{name}" stands for one member of a pool: give it once')
    text, weight = own[0]
    _, options = split_options(text)
    return make(weight, **read_options(name, options, options_of(make))), others


def _name_of(opponent: Any) -> str:
    """The name in the text of an opponent, without its options; "" for an object."""
    return split_options(opponent)[0] if isinstance(opponent, str) else ""


def _frozen(opponent: Any, rules: Rules) -> Policy:
    """The policy of an opponent, which nobody else can change: see `snapshot`."""
    is_small = rules.cells <= TABULATED
    if is_small and _name_of(opponent) in BUILT_IN:
        return _built_in(opponent, rules)
    policy = make_opponent(opponent, rules, also=LEARNED)
    if not is_small and _is_made_here(opponent, rules):
        return policy
    return snapshot(policy, rules)


def _is_made_here(opponent: Any, rules: Rules) -> bool:
    """True for a text from which this package makes a player that nobody else has."""
    if not isinstance(opponent, (str, os.PathLike)):
        return False
    player = resolve(opponent, rules, also=LEARNED)
    return player.kind != AGENT or player.name in BUILT_IN


@lru_cache(maxsize=64)
def _built_in(text: str, rules: Rules) -> Policy:
    """The frozen player of a name of `BUILT_IN` with options, which all environments share."""
    return snapshot(make_opponent(text, rules), rules)
