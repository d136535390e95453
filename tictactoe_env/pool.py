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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ClosedEnvironmentError
from numpy.typing import NDArray

from tictactoe_env.config import Config, plain_spec
from tictactoe_env.errors import one_of, whole_number
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.notation import SIDES
from tictactoe_env.opponents import (
    BEST_RESPONSE,
    BUILT_IN,
    LEARNED,
    SELF,
    make_opponent,
    named_player,
    parse_pool,
    read_options,
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
from tictactoe_env.rules import Boards, Rules, checked_rules

_RANDOM = RandomPolicy()
_COPIES: WeakKeyDictionary[TabularPolicy, TabularPolicy] = WeakKeyDictionary()
_REPLACE = ("mixed", "oldest", "random")
PROOF_POSITIONS = 30_000_000  # of the proof for a best response, unless its name says another
_Member = TypeVar("_Member")


# --- snapshots ------------------------------------------------------------------------------------


def snapshot(
    player: Any, rules: Rules, deterministic: bool = False, symmetric: bool | None = None
) -> Policy:
    """A frozen copy of a player: what `player` learns later does not change how the copy plays.

    On boards of up to 12 cells the copy is a table of all positions (`TabularPolicy`), on larger
    ones a deep copy; of a Stable-Baselines3 model only the policy is copied. A deep copy shares the
    functions and classes of a player, so it's refused if one of them holds what may change: a
    lambda around a network, for example. An object with `probs` that has the network as an
    attribute is copied with it. "What is frozen" in docs/own_player.md says what isn't seen.

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
        one_of("way to replace a snapshot", self.replace, _REPLACE)

    @property
    def pairs(self) -> list[tuple[Policy, float]]:
        """The snapshots and their weights."""
        players = self.snapshots or (_RANDOM,)
        return [(player, self.weight / len(players)) for player in players]

    def with_snapshot(
        self, player: Policy, rng: np.random.Generator
    ) -> tuple[Snapshots, int | None]:
        """The member with a further snapshot, and the place of that which made room for it."""
        kept = list(self.snapshots)
        place = None
        if len(kept) >= self.keep:
            is_oldest = self.replace == "oldest" or (self.replace == "mixed" and rng.random() < 0.5)
            place = 0 if is_oldest else int(rng.integers(len(kept)))
            del kept[place]
        return replace(self, snapshots=(*kept, player)), place


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
        return [(self.player or _RANDOM, self.weight)]


@dataclass(frozen=True)
class Pool:
    """Opponents, and the probability with which each is drawn for a game.

    fixed: those that are not made from the learner, with their weights; all weights sum to 1. own:
    the member "self", whose snapshots are the last of the policies; None without one. responder:
    the member "best-response", whose player comes before these; None without one.
    """

    fixed: tuple[tuple[Policy, float], ...] = ()
    own: Snapshots | None = None
    responder: Responder | None = None

    @cached_property
    def pairs(self) -> list[tuple[Policy, float]]:
        """All policies and their weights."""
        members = [member for member in (self.responder, self.own) if member]
        return [*self.fixed, *(pair for member in members for pair in member.pairs)]

    @cached_property
    def policies(self) -> tuple[Policy, ...]:
        """All policies."""
        return tuple(policy for policy, _ in self.pairs)

    def draw(self, rng: np.random.Generator, games: int) -> Any:
        """The index of each game's opponent: (games,) intp. A pool of one does not use `rng`."""
        if len(self.pairs) == 1:
            return np.zeros(games, dtype=np.intp)
        return np.searchsorted(self._ends, rng.random(games), side="right")

    @cached_property
    def _ends(self) -> NDArray[np.float64]:
        return np.cumsum([weight for _, weight in self.pairs])[:-1]

    def with_snapshot(
        self, player: Policy, rng: np.random.Generator, response: Policy | None = None
    ) -> tuple[Pool, NDArray[np.intp]]:
        """The pool with a further snapshot, and the new index of each of its present policies.

        A policy that makes room has the index of the new snapshot. response: the best response to
        the snapshot, for the member "best-response"; if there is none, the snapshot itself plays in
        its place. Raises ValueError for a pool with neither "self" nor "best-response".
        """
        moved = np.arange(len(self.policies))
        own = self.own
        responder = self.responder
        if own is None and responder is None:
            raise ValueError('no opponent is "self" or "best-response", so no snapshot would play')
        if responder is not None:
            responder = replace(responder, player=response or player)
        if own is not None:
            first = len(moved) - len(own.pairs)
            own, place = own.with_snapshot(player, rng)
            if place is not None:
                moved[first + place + 1 :] -= 1
                moved[first + place] = len(moved) - 1
        return replace(self, own=own, responder=responder), moved


def make_pool(spec: Any, rules: Rules, before: Pool | None = None) -> Pool:
    """The pool of one opponent, of a list of [opponent, weight], or of such a list as text.

    Objects are frozen: see `snapshot`; a model plays its best moves. before: the pool whose
    snapshots the member "self" has from the start, and whose response "best-response" has.
    """
    if isinstance(spec, Pool):
        return spec
    if isinstance(spec, str) and not os.path.exists(spec):
        pairs: list[Any] = list(parse_pool(spec))
    elif isinstance(spec, (Sequence, Mapping)) and not isinstance(spec, str):
        pairs = list(spec)
    else:
        pairs = [(spec, 1.0)]
    if not pairs or not all(
        isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        for pair in pairs
    ):
        raise ValueError(f"a pool must be a list of [opponent, weight], got {spec!r}")
    weights = checked_weights([weight for _, weight in pairs])
    weighted = list(zip((opponent for opponent, _ in pairs), weights, strict=True))
    own, others = split_member(weighted, SELF, Snapshots)
    responder, others = split_member(others, BEST_RESPONSE, Responder)
    if own and before and before.own:
        own = replace(own, snapshots=before.own.snapshots[-own.keep :])
    if responder and before and before.responder:
        responder = replace(responder, player=before.responder.player)
    fixed = ((_frozen(opponent, rules), weight) for opponent, weight in others)
    return Pool(tuple(fixed), own, responder)


def split_member(
    pairs: Iterable[tuple[Any, float]], name: str, make: Callable[..., _Member], **defaults: Any
) -> tuple[_Member | None, list[tuple[Any, float]]]:
    """The member of a pool that is made from the learner, or None, and the other opponents.

    make: called as `make(weight, **options)` with the options in the text, or else the defaults.
    Raises ValueError if the name is there twice.
    """
    found = []
    others = []
    for opponent, weight in pairs:
        own, options = split_options(opponent) if isinstance(opponent, str) else (None, [])
        if own == name:
            found.append(make(weight, **{**defaults, **read_options(name, options, make)}))
        else:
            others.append((opponent, weight))
    if len(found) > 1:
        raise ValueError(f'"{name}" stands for one member of a pool: give it once')
    return (found[0] if found else None), others


def _frozen(opponent: Any, rules: Rules) -> Policy:
    is_small = rules.cells <= TABULATED
    is_built_in = isinstance(opponent, str) and split_options(opponent)[0] in BUILT_IN
    if is_built_in and is_small:
        return _built_in(opponent, rules)
    policy = make_opponent(opponent, rules, also=LEARNED)
    is_text = isinstance(opponent, (str, os.PathLike))
    # Nobody else has what is made here from a text, but somebody may have a registered player.
    is_new = is_built_in or (is_text and named_player(opponent) is None)
    return policy if is_new and not is_small else snapshot(policy, rules)


@lru_cache(maxsize=64)  # so that environments share the tables of the opponents with these names
def _built_in(name: str, rules: Rules) -> Policy:
    return snapshot(make_opponent(name, rules), rules)


# --- environments ---------------------------------------------------------------------------------


class Pooled:
    """An environment whose opponents are a pool."""

    config: Config
    np_random: np.random.Generator
    closed = False

    def __init__(self) -> None:
        self._pool = Pool()
        self._spec: EnvSpec | None = None
        self._counterexamples: list[Boards] = []

    @property
    def spec(self) -> EnvSpec | None:
        """Gymnasium's specification, from which `gym.make` makes such an environment again.

        Players of this package stand there by name. Its JSON form only describes other objects,
        with a warning.
        """
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = None if spec is None else plain_spec(spec)

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that the learner plays by the argument `side`: ("X",), ("O",) or both."""
        return (self.config.side,) if self.config.side in SIDES else SIDES

    @property
    def symmetric(self) -> bool:
        """Whether the learner sees one image of each board."""
        return self.config.symmetric

    @property
    def _changed_by(self) -> str:
        """The name of a subclass that may change observations, actions or masks, else ""."""
        from tictactoe_env.model_env import changed_by  # imported here: few are asked

        return changed_by(self)

    @property
    def self_play(self) -> dict[str, Any] | None:
        """The use of snapshots of the learner; None if no opponent is made from it.

        The keys are `snapshots`, the number of them, with the opponent "self" its options `keep`
        and `replace`, and with "best-response" `best_response`, whether there is one yet.
        """
        own = self._pool.own
        responder = self._pool.responder
        found: dict[str, Any] = {}
        if own:
            found = {"keep": own.keep, "replace": own.replace, "snapshots": len(own.snapshots)}
        if responder:
            answers = responder.player is not None
            found = {"snapshots": int(answers), **found, "best_response": answers}
        return found or None

    @property
    def counterexamples(self) -> tuple[Boards, ...]:
        """Boards (N, cells) of the last proofs, from which games start: see `ExploringStarts`."""
        return tuple(self._counterexamples)

    def set_opponent(self, opponent: Any) -> None:
        """Play against `opponent` from now on, also in current games.

        Raises ValueError, changing nothing, if it cannot be an opponent on this board, and for
        `None`: only an environment that was made with `opponent=None` has no opponent.
        """
        self._check_open()
        self._use(self._checked_pool(opponent, {}))

    def add_snapshot(self, player: Any, deterministic: bool = False) -> None:
        """Add a frozen copy of the learner to the opponents; see Self-play in `TicTacToeEnv`.

        player, deterministic: see `tictactoe_env.snapshot`. Games against a snapshot that makes
        room go on against the new one.
        Raises ValueError, changing nothing, if the opponents contain neither "self" nor
        "best-response", or if the player cannot be an opponent on this board.
        """
        self._check_open()
        copy = snapshot(player, self.config.rules, deterministic, self.symmetric or None)
        self.config.check_first_move([copy], {})
        response = self._best_response(player, copy)
        self._use(*self._pool.with_snapshot(copy, self.np_random, response))

    def add_counterexamples(self, boards: Boards) -> None:
        """Start games from these boards (N, cells) too, if `start` is for counterexamples.

        Those of the last 11 calls are kept; of more than 20,000 boards evenly spaced ones. Raises
        ValueError for a board that play cannot reach.
        """
        if not self._takes_counterexamples:
            return
        self.config.check_reachable(boards, "counterexamples")
        from tictactoe_env.exact.responses import kept_counterexamples

        self._counterexamples = kept_counterexamples(self._counterexamples, boards)

    @property
    def _takes_counterexamples(self) -> bool:
        return getattr(self.config.start, "counterexamples", 0) > 0

    def _checked_pool(self, opponent: Any, given: Mapping[str, Any]) -> Pool:
        """The pool of these opponents. given: the checked options of a reset."""
        if opponent is None:
            raise ValueError("opponent=None is for gym.make: make another environment for it")
        pool = make_pool(opponent, self.config.rules, self._pool)
        drawn = [policy for policy, weight in pool.pairs if weight > 0]
        self.config.check_first_move(drawn, given)
        return pool

    def _use(self, pool: Pool, moved: NDArray[np.intp] | None = None) -> None:
        """Play against these opponents, also in current games.

        moved: the new index of each present one; without it the opponents are drawn again.
        """
        raise NotImplementedError

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the environment is closed: make a new one")

    def _best_response(self, player: Any, copy: Policy) -> Policy | None:
        """The best response to a player, for the member "best-response"; None without one.

        copy: the snapshot of the player. The response answers the player's best moves, as proofs
        do, and is played off their lines by `copy`. Its counterexamples are kept for the exploring
        starts. If the player can meet more positions than the proof may have, there is a warning
        and no response.
        """
        responder = self._pool.responder
        if responder is None and not self._takes_counterexamples:
            return None
        from tictactoe_env.exact.proof import Limit
        from tictactoe_env.exact.responses import response_to_learner

        rules = self.config.rules
        limit = Limit(responder.positions if responder else PROOF_POSITIONS)
        best_moves = snapshot(player, rules, True, self.symmetric or None)
        found = response_to_learner(best_moves, rules, self.sides, copy, limit)
        if found is None:
            gym.logger.warn(
                f"the snapshot plays instead of its best response, whose proof on {rules} takes "
                f"more than {limit.positions:,} positions or {limit.megabytes:,} MB; the opponent "
                '"best-response-positions=N" has the limit N'
            )
            return None
        self.add_counterexamples(found.counterexamples)
        return found.player if responder else None
