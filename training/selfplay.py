"""The opponents of a learner: a weighted pool that can contain frozen snapshots of the learner.

In "random:0.5,minimax:0.25,self:0.25" half of the games are against random play, a quarter against
perfect play, and a quarter against the snapshots (`self`), each of which gets an equal share. Until
the first snapshot is added, random play takes their place. In the same way `rival` means snapshots
of another learner (`training.rivals`). `best-response` is the exact best reply to the learner's
policy at its newest snapshot: see `tictactoe_env.exact.responses`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import Positions, positions_of
from tictactoe_env.exact.proof import Limit
from tictactoe_env.exact.responses import BestResponsePlayer, response_to_learner
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.opponents import parse_pool
from tictactoe_env.policy import Policy, Probs, RandomPolicy, draw
from tictactoe_env.pool import PROOF_POSITIONS, Pool, Responder, Snapshots, pool_of, taken_out
from tictactoe_env.rules import SIDES, Boards, Rules
from training.history import packed, unpacked
from training.learner import BoardPlayer, Learner, crossed

RIVAL = "rival"
OPPONENTS = (
    'Opponents, as name:weight,...; "self" means snapshots of the learner, "best-response" the '
    'exact best reply to the newest one, "rival" snapshots of --rival.'
)
"""The sentence of an option `opponents` for `TrainingPool`."""
Rows = NDArray[np.intp]
"""Row numbers of positions, or other whole numbers."""
FromWeights = Callable[[dict[str, NDArray[Any]]], Policy]
"""Makes a snapshot from the weights of its network."""


class TrainingPool:
    """The opponents of a learner: a `Pool` (`without_rival`), and snapshots of a rival.

    Snapshots of the learner share the weight of `self`, and snapshots of another learner share the
    weight of `rival`. size: how many snapshots of each are kept, unless the text says
    `self-keep=N`; `self-replace=oldest` says which one makes room for a further one, see
    `tictactoe_env.pool.Snapshots`. epsilon: probability that a snapshot makes a random legal move.
    sides: those that the learner plays. proof_positions: how many a proof for "best-response" may
    have, unless the text says `best-response-positions=N`. answers: whether the best response is
    computed even if it is not an opponent, for its counterexamples. Raises ValueError for an
    unknown opponent.

    Snapshots that are no tables are saved as the weights of their networks. `snapshot_from` makes a
    snapshot of the learner from its weights again, `rival_from` one of the rival, and `policy_from`
    the policy without exploration, which a best response answers.

    response: the best response to the newest snapshot, with the boards from which that one can
    still be beaten; None without one, and if its proof would be beyond the limit, where the
    snapshot takes its place.
    """

    def __init__(
        self,
        opponents: str,
        rules: Rules,
        size: int = 8,
        seed: int = 0,
        epsilon: float = 0.0,
        snapshot_from: FromWeights | None = None,
        sides: tuple[str, ...] = SIDES,
        proof_positions: int = PROOF_POSITIONS,
        answers: bool = False,
    ):
        make_snapshots = partial(Snapshots, keep=size)
        make_responder = partial(Responder, positions=proof_positions)
        self.rivals, others = taken_out(parse_pool(opponents), RIVAL, make_snapshots)
        self.without_rival = pool_of(others, rules, make_snapshots, make_responder)
        self.rules = rules
        self.epsilon = epsilon
        self.snapshot_from = snapshot_from
        self.rival_from = snapshot_from
        self.policy_from = snapshot_from
        self.sides = sides
        responder = self.without_rival.responder
        self.answers = answers or responder is not None
        self.limit = Limit(responder.positions if responder else proof_positions)
        # The policy that the response answers, and the snapshot that plays off its lines.
        self.answered: tuple[Policy, Policy] | None = None
        self.response: BestResponsePlayer | None = None
        self.rng = np.random.default_rng(seed)
        self._opponents: Opponents | None = None

    @property
    def snapshots(self) -> tuple[Policy, ...]:
        """The snapshots of the learner, the oldest first, as they were added."""
        own = self.without_rival.own
        return () if own is None else own.snapshots

    @property
    def takes_snapshots(self) -> bool:
        """True if the learner's snapshots are opponents, or are answered by a best response."""
        return self.without_rival.takes_snapshots or self.answers

    def add(self, snapshot: Policy, best: Policy | None = None) -> None:
        """Add a snapshot of the learner, in place of another one if the pool is full.

        best: the learner's policy without exploration, which the best response answers; by default
        the snapshot itself.
        """
        if best is None:
            best = snapshot
        response = self._answer(best, snapshot)
        self.without_rival = self.without_rival.with_snapshot(snapshot, self.rng, response)
        self._opponents = None

    def _answer(self, best: Policy, snapshot: Policy) -> Policy:
        """The best response to `best`, which `snapshot` plays off the lines of `best`.

        If none is wanted, or its proof would be beyond the limit, it is `snapshot` itself.
        """
        if not self.answers:
            return snapshot
        self.answered = best, snapshot
        self.response = response_to_learner(best, self.rules, self.sides, snapshot, self.limit)
        return snapshot if self.response is None else self.response.player

    def add_rival(self, snapshot: Policy) -> None:
        """Add a snapshot of another learner in the same way, if it is among the opponents."""
        if self.rivals is not None:
            self.rivals = self.rivals.with_snapshot(snapshot, self.rng)
        self._opponents = None

    def pool(self) -> Pool:
        """The opponents and their weights, with the present snapshots."""
        pool = replace(self.without_rival, own=self._exploring(self.without_rival.own))
        rivals = self._exploring(self.rivals)
        return Pool((*pool.pairs, *(rivals.pairs if rivals else ())))

    def _exploring(self, member: Snapshots | None) -> Snapshots | None:
        """Snapshots as they play: with probability `epsilon` at random."""
        if member is None or self.epsilon == 0:
            return member
        copies = (ExploringPolicy(copy, self.epsilon, self.rules) for copy in member.snapshots)
        return replace(member, snapshots=tuple(copies))

    def opponents(self) -> Opponents:
        """The pool as tables, up to date after `add` and `restore`."""
        if self._opponents is None:
            self._opponents = Opponents(self.pool(), positions_of(self.rules))
        return self._opponents

    def state(self) -> dict[str, Any]:
        """The state to continue from: the snapshots and the generator."""
        kept = {
            "snapshots": self.snapshots,
            "rivals": self.rivals.snapshots if self.rivals else (),
            "answered": self.answered or (),
        }
        found = {name: [_saved(copy) for copy in copies] for name, copies in kept.items()}
        return {**found, "rng": self.rng}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`. Raises ValueError for tables that do not fit the board."""
        snapshots = [self._read(saved, self.snapshot_from) for saved in state["snapshots"]]
        rivals = [self._read(saved, self.rival_from) for saved in state["rivals"]]
        response = None
        if state["answered"]:
            saved_best, saved_snapshot = state["answered"]
            best = self._read(saved_best, self.policy_from)
            snapshot = self._read(saved_snapshot, self.snapshot_from)
            response = self._answer(best, snapshot)
        self.without_rival = self.without_rival.with_learned(snapshots, response)
        if self.rivals is not None:
            self.rivals = replace(self.rivals, snapshots=tuple(rivals))
        self.rng = state["rng"]
        self._opponents = None

    def _read(self, saved: Any, from_weights: FromWeights | None) -> Policy:
        """The snapshot that was saved as a table, or by its weights."""
        if not isinstance(saved, dict):
            return unpacked(saved, self.rules)
        if from_weights is None:
            raise ValueError("expected snapshots as tables, got weights of networks")
        return from_weights(saved)


class PoolLearner(Learner):
    """A learner that plays rounds of games against a pool with snapshots of itself.

    `round` plays and learns from one round, and adds the moves made to `steps`.
    """

    config: Any
    pool: TrainingPool

    @abstractmethod
    def round(self) -> None:
        """Play a round of games and learn from it."""

    def advance(self, most: int) -> None:
        """Play rounds until `most` further moves are made."""
        goal = self.steps + most
        while self.steps < goal:
            before = self.steps
            self.round()
            if crossed(before, self.steps, self.config.snapshot_every):
                self.take_snapshot()

    def take_snapshot(self) -> None:
        """Add the present policy to the opponents, if snapshots are among them."""
        if self.pool.takes_snapshots:
            self.pool.add(self.policy())

    def add_rival(self, snapshot: BoardPlayer) -> None:
        """Add a snapshot of another learner to the opponents."""
        self.pool.add_rival(snapshot)


class ExploringPolicy(NamedTuple):
    """A policy that makes a random legal move with probability `epsilon`.

    This may be one probability for each ply, of which the last one repeats.
    """

    policy: Policy
    epsilon: float | tuple[float, ...]
    rules: Rules

    def probs(self, boards: Boards) -> Probs:
        """The mean of the policy's probabilities and equal ones: (B, cells)."""
        equal = RandomPolicy(self.rules).probs(boards)
        epsilon = np.take(self.epsilon, np.count_nonzero(boards, axis=1), mode="clip")[:, None]
        return (1 - epsilon) * self.policy.probs(boards) + epsilon * equal


def _saved(player: Any) -> Any:
    """A snapshot as it is saved: a `packed` table, or the weights of a network by name."""
    return packed(player) if isinstance(player, TabularPolicy) else player.weights


class Moves(NamedTuple):
    """Moves at one ply: the games (B,), their positions (B,), the cells (B,)."""

    games: Rows
    rows: Rows
    cells: Rows


def play_out(
    starts: Rows, move: Callable[[Rows, Rows], Rows], positions: Positions
) -> tuple[list[Moves], Rows]:
    """Play G games from these positions (G,) to their ends: the moves of each ply, and the ends.

    Positions are rows of `positions`. move: the cells (B,) for games (B,) and their positions (B,).
    An illegal move ends the game, in the position -1.
    """
    rows = starts.copy()
    going = np.arange(len(starts))  # the games that are not over
    plies = []
    while len(going):
        before = rows[going]
        cells = move(going, before)
        plies.append(Moves(going, before, cells))
        after = positions.children[before, cells]
        rows[going] = after
        going = going[(after >= 0) & ~positions.is_over[after]]
    return plies, rows


def play_games(
    choose: Callable[[Rows], Rows],
    is_x: NDArray[np.bool_],
    opponents: Opponents,
    rng: np.random.Generator,
    starts: Rows | None = None,
) -> tuple[list[Moves], Rows]:
    """Play G games against opponents: the learner's moves at each ply, and its results (G,).

    choose: the learner's moves, from positions (B,) to cells (B,). is_x: whether the learner is X,
    for each game (G,). opponents: one is drawn for each game. starts: (G,), by default the empty
    board. A result is 1, 0 or -1; who makes an illegal move loses.
    """
    positions = opponents.positions
    which = opponents.pool.draw(rng, len(is_x))
    moves: list[Moves] = []
    was_own = np.zeros(len(is_x), dtype=bool)  # whether the learner made the last move

    def move(games: Rows, rows: Rows) -> Rows:
        own = positions.x_to_move[rows] == is_x[games]
        others = ~own
        cells = np.empty(len(games), dtype=np.intp)
        cells[own] = choose(rows[own])
        cells[others] = opponents.move(which[games[others]], rows[others], rng)
        moves.append(Moves(games[own], rows[own], cells[own]))
        was_own[games] = own
        return cells

    if starts is None:
        starts = np.zeros(len(is_x), dtype=np.intp)
    _, ends = play_out(starts, move, positions)
    results = positions.outcome_x[ends] * np.where(is_x, 1, -1)
    results_by_illegal_move = np.where(was_own, -1, 1)
    return moves, np.where(ends < 0, results_by_illegal_move, results)


class Opponents:
    """A pool as tables, which moves in many games at a time."""

    def __init__(self, pool: Pool, positions: Positions):
        self.pool = pool
        self.positions = positions
        tables = [tabulate(policy, positions.rules).by_row() for policy in pool.policies]
        self.cumulative = np.stack([table.cumsum(axis=1) for table in tables])

    def move(self, which: Rows, rows: Rows, rng: np.random.Generator) -> Rows:
        """The moves (B,) of the opponents `which` (B,) in the positions `rows` (B,)."""
        return draw(self.cumulative[which, rows].T, rng.random(len(rows)))
