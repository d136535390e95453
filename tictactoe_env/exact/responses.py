"""Best responses as players: the exact best reply to a policy, wherever that policy can be met.

    response = best_response_player(model, Rules(4, 4, 4))
    response.player                 # a policy that plays the best replies to the model
    response.counterexamples        # boards from which the model, to move, can still be beaten

Nothing but the rules and the policy's own moves is used: the values are those of `proof`, not those
of the game. A learner that trains against the best response to itself, refreshed again and again,
follows the double oracle algorithm (McMahan, Gordon and Blum 2003; PSRO, Lanctot et al. 2017). For
learners there are `response_to_learner` and `kept_counterexamples`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.best_response import with_replies
from tictactoe_env.exact.evaluation import fair_results
from tictactoe_env.exact.position_index import MoveSets
from tictactoe_env.exact.positions import TABULATED, Ply, positions_of
from tictactoe_env.exact.proof import BoardReach, Limit, ProofLimitError, Reach, TableReach
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.exact.values import ROUNDING, values_of, worst_outcomes
from tictactoe_env.policy import Model, Policy, Probs, RandomPolicy, as_policy
from tictactoe_env.rules import SIDES, Boards, Rules, checked_rules
from tictactoe_env.symmetry import canonical_forms, turned_back

MOST_KEPT = 20_000  # counterexamples of one proof


class BestResponsePlayer(NamedTuple):
    """The best response to a policy.

    player: the policy that plays it, on the side that the policy does not play. counterexamples:
    boards (N, cells) int8 that the policy can meet, with the policy to move, from which it can
    still be beaten; see `best_response_player`.
    """

    player: Policy
    counterexamples: Boards


def best_response_player(
    policy: Policy | Model,
    rules: Rules,
    sides: tuple[str, ...] = SIDES,
    elsewhere: Policy | None = None,
    targets: dict[str, int] | None = None,
    limit: Limit | None = None,
    deterministic: bool = False,
) -> BestResponsePlayer:
    """The exact best response to a policy, as a player.

    sides: those on which the policy is met; the response plays the others. deterministic: whether
    it makes one move in each position, that of `best_response.with_replies`. Else it plays each of
    equally good replies with the same probability.

    elsewhere: on boards of more than 12 cells, who plays on boards that are not reached if the
    policy plays as it does, random play by default; it also chooses between equally good replies,
    in the proportions of its own probabilities. On smaller boards it is not needed: there the
    replies are the best ones on all boards.

    targets: the result that the policy should be sure of, by side, 0 (a draw) by default; boards on
    which it is sure of less are counterexamples. limit: see `proof`.
    Raises ProofLimitError beyond it.
    """
    rules = checked_rules(rules)
    goals = {side: (targets or {}).get(side, 0) for side in sides}
    if rules.cells > TABULATED:
        elsewhere = elsewhere or RandomPolicy(rules)
        return _response_on_lines(policy, rules, goals, elsewhere, limit, deterministic)
    return _response_everywhere(policy, rules, goals, deterministic)


def _response_on_lines(
    policy: Policy | Model,
    rules: Rules,
    goals: dict[str, int],
    elsewhere: Policy,
    limit: Limit | None,
    deterministic: bool,
) -> BestResponsePlayer:
    """The best replies on the boards that are reached if the policy plays as it does."""
    bits = np.array(rules.cell_bits, dtype=np.uint64)
    known = []
    examples = []
    is_symmetric = True
    for side, goal in goals.items():
        reach = BoardReach({side: as_policy(policy, rules)}, side, rules, limit)
        for ply, best in _best_replies(reach, deterministic):
            marks = np.where(best, bits[ply.cells], np.uint64(0))
            known.append((ply.x, ply.o, np.bitwise_or.reduce(marks, axis=1)))
        examples.append(_below(reach, goal))
        is_symmetric = reach.is_symmetric
    replies = MoveSets(rules, *map(np.concatenate, zip(*known, strict=True)))
    player = _ResponsePolicy(replies, is_symmetric, elsewhere)
    return BestResponsePlayer(player, np.concatenate(examples))


def _response_everywhere(
    policy: Policy | Model, rules: Rules, goals: dict[str, int], deterministic: bool
) -> BestResponsePlayer:
    """The best replies on all boards, as a table."""
    positions = positions_of(rules)
    table = tabulate(policy, rules)
    replies = np.zeros(positions.boards.shape)
    examples = []
    for side, goal in goals.items():
        everywhere = TableReach({side: table}, side, rules, everywhere=True)
        for ply, best in _best_replies(everywhere, deterministic):
            replies[ply.rows] = best
        examples.append(_below(TableReach({side: table}, side, rules), goal))
    legal = rules.legal_cells(positions.boards)
    weights = np.where(replies.any(axis=1, keepdims=True), replies, legal)[positions.unfinished]
    shares = weights / weights.sum(axis=1, keepdims=True)
    return BestResponsePlayer(TabularPolicy(rules, shares), np.concatenate(examples))


def response_to_learner(
    policy: Policy,
    rules: Rules,
    sides: tuple[str, ...],
    elsewhere: Policy | None = None,
    limit: Limit | None = None,
    targets: dict[str, int] | None = None,
) -> BestResponsePlayer | None:
    """The best response to a learner; None if its proof would be beyond the limit.

    Counterexamples are the boards on which the learner is not sure of its target, by default its
    result in best play. The arguments are those of `best_response_player`.
    """
    goals = targets or fair_results(rules)
    try:
        return best_response_player(policy, rules, sides, elsewhere, goals, limit)
    except ProofLimitError:
        return None


def kept_counterexamples(kept: Sequence[Boards], boards: Boards, proofs: int = 11) -> list[Boards]:
    """The counterexamples (N, cells) of a learner's last proofs, the newest last.

    kept: those of the proofs before. boards: those of the newest one; of more than 20,000 boards
    evenly spaced ones are kept. proofs: how many proofs are remembered.
    """
    step = max(1, math.ceil(len(boards) / MOST_KEPT))
    return [*kept, boards[::step].copy()][-proofs:]


def _best_replies(reach: Reach, deterministic: bool) -> Iterator[tuple[Ply, NDArray[np.bool_]]]:
    """The plies of the other side, and which of its moves (B, M) are best against the policy.

    deterministic: only the one of `with_replies`.
    """
    if deterministic:
        plies = with_replies(reach).plies
        yield from ((ply, ply.possible) for ply in plies if ply.side != reach.side)
        return
    values = values_of(reach)
    for ply in reach.plies:
        if ply.probs is None:
            after = np.where(ply.legal, values[ply.children], np.inf)
            yield ply, after <= after.min(axis=1, keepdims=True) + ROUNDING


def _below(reach: Reach, goal: int) -> Boards:
    """The boards (N, cells) where the policy is to move and not sure of the result `goal`."""
    worst = worst_outcomes(reach)
    none = np.zeros((0, reach.rules.cells), dtype=np.int8)  # where the game ends before it moves
    found = [
        reach.rules.to_boards(ply.x, ply.o)[worst[ply.rows] < goal]
        for ply in reach.plies
        if ply.probs is not None
    ]
    return np.concatenate([none, *found])


class _ResponsePolicy:
    """Plays the best replies on the lines of a policy, and by another policy off them.

    replies: the best replies in the positions of the lines, which are in canonical form if
    `is_symmetric`. Of several each is as likely as `elsewhere` makes it.
    """

    def __init__(self, replies: MoveSets, is_symmetric: bool, elsewhere: Policy):
        self.replies = replies
        self.elsewhere = elsewhere
        self._forms = canonical_forms(replies.rules, is_symmetric)

    def probs(self, boards: Boards) -> Probs:
        """Probabilities (B, cells) on unfinished boards (B, cells)."""
        boards = np.asarray(boards, dtype=np.int8)
        best = self.knows(boards)
        other = np.asarray(self.elsewhere.probs(boards), dtype=np.float64)
        kept = np.where(best, other, 0.0)
        is_kept = kept.sum(axis=1, keepdims=True) > 0
        weights = np.where(is_kept, kept, np.where(best.any(axis=1, keepdims=True), best, other))
        return weights / weights.sum(axis=1, keepdims=True)

    def knows(self, boards: Boards) -> NDArray[np.bool_]:
        """The best replies (B, cells) bool; all False on boards that are on no line."""
        x, o, cells = self._forms.to_form(boards)
        return turned_back(self.replies.rules.to_cells(self.replies.bits(x, o)) > 0, cells)
