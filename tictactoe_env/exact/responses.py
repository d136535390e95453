"""Best responses as players: the exact best reply to a policy, wherever that policy can be met.

    response = respond(model, Rules(4, 4, 4))
    response.player                 # a policy that plays the best replies to the model
    response.counterexamples        # boards from which the model, to move, can still be beaten

Nothing but the rules and the policy's own moves is used: the values are those of `proof`, not those
of the game. A learner that trains against the best response to itself, refreshed again and again,
follows the double oracle algorithm (McMahan, Gordon and Blum 2003; PSRO, Lanctot et al. 2017).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.match import ROUNDING, values_of, worst_outcomes
from tictactoe_env.exact.positions import TABULATED, Ply, positions_of
from tictactoe_env.exact.proof import BoardReach, Limit, Reach, TableReach, reach_of
from tictactoe_env.exact.refutations import Refutations
from tictactoe_env.exact.symmetry import canonical_forms, turned_back
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.policy import Model, Policy, Probs, RandomPolicy
from tictactoe_env.rules import SIDES, Boards, Rules, checked_rules


class Response(NamedTuple):
    """The best response to a policy.

    player: the policy that plays it, on the side that the policy does not play. counterexamples:
    boards (N, cells) int8 that the policy can meet, with the policy to move, from which it can
    still be beaten; see `respond`. refutations: those given to `respond`, with what it has learned.
    """

    player: Policy
    counterexamples: Boards
    refutations: Refutations | None = None


def respond(
    policy: Policy | Model,
    rules: Rules,
    sides: tuple[str, ...] = SIDES,
    elsewhere: Policy | None = None,
    targets: dict[str, int] | None = None,
    limit: Limit | None = None,
    refutations: Refutations | None = None,
) -> Response:
    """The exact best response to a policy, as a player.

    sides: those on which the policy is met; the response plays the others. Of equally good replies
    it plays each with the same probability.

    elsewhere: on boards of more than 12 cells, who plays on boards that are not reached if the
    policy plays as it does, random play by default; it also chooses between equally good replies,
    in the proportions of its own probabilities. On smaller boards it is not needed: there the
    replies are the best ones on all boards.

    targets: the result that the policy should be sure of, by side, 0 (a draw) by default; boards on
    which it is sure of less are counterexamples. limit: see `proof`. refutations: on boards of more
    than 12 cells, the known ones, to which the proof adds.
    Raises ProofLimitError beyond the limit.
    """
    rules = checked_rules(rules)
    goals = {side: (targets or {}).get(side, 0) for side in sides}
    if rules.cells > TABULATED:
        lines = {}
        examples = []
        for side in sides:
            reach = reach_of({side: policy}, side, rules, limit)
            values = values_of(reach)
            examples.append(_below(reach, goals[side]))
            if refutations is not None and isinstance(reach, BoardReach):
                refutations = refutations.learn(reach)
            lines[side] = ResponseLines(reach, values)
        player = ResponsePolicy(lines, rules, elsewhere)
        return Response(player, np.concatenate(examples), refutations)
    table, positions = tabulate(policy, rules), positions_of(rules)
    replies = np.zeros(positions.boards.shape)
    examples = []
    for side in sides:
        everywhere = TableReach({side: table}, side, rules, everywhere=True)
        values = values_of(everywhere)
        for ply, best in best_replies(everywhere, values):
            replies[ply.rows] = best
        examples.append(_below(TableReach({side: table}, side, rules), goals[side]))
    return Response(
        TabularPolicy(rules, _shares(replies, positions.boards == 0)[positions.unfinished]),
        np.concatenate(examples),
    )


def best_replies(
    reach: Reach, values: NDArray[np.float64]
) -> Iterator[tuple[Ply, NDArray[np.bool_]]]:
    """The plies of the other side, and which of its moves (B, M) are best against the policy."""
    for ply in reach.plies():
        if ply.probs is None:
            after = np.where(ply.legal, values[ply.children], np.inf)
            yield ply, after <= after.min(axis=1, keepdims=True) + ROUNDING


def _below(reach: Reach, goal: int) -> Boards:
    """The boards (N, cells) where the policy is to move and not sure of the result `goal`."""
    worst = worst_outcomes(reach)
    none = np.zeros((0, reach.rules.cells), dtype=np.int8)  # where the game ends before it moves
    found = [
        reach.boards(ply)[worst[ply.rows] < goal] for ply in reach.plies() if ply.probs is not None
    ]
    return np.concatenate([none, *found])


def _shares(replies: Probs, free: NDArray[np.bool_]) -> Probs:
    """Rows scaled to sum to 1; rows without a reply become uniform over the free cells."""
    total = replies.sum(axis=1, keepdims=True)
    weights = np.where(total > 0, replies, free)
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1)


class ResponseLines:
    """The best replies on the lines of play of a policy: bitboards of cells, ply by ply."""

    def __init__(self, reach: Reach, values: NDArray[np.float64]):
        assert isinstance(reach, BoardReach)
        self.reach = reach
        self.replies = np.zeros(len(reach), dtype=np.uint64)
        bits = np.array(reach.rules.cell_bits, dtype=np.uint64)
        for ply, best in best_replies(reach, values):
            marks = np.where(best, bits[ply.cells], np.uint64(0))
            self.replies[ply.rows] = np.bitwise_or.reduce(marks, axis=1)
        reach.forget_moves()

    def best(self, number: int, boards: Boards) -> NDArray[np.bool_]:
        """The best replies (B, cells) on boards (B, cells) with `number` marks.

        All False on a board that is on no line.
        """
        rules, cells = self.reach.rules, None
        if self.reach.is_symmetric:
            x, o, cells = canonical_forms(rules).to_form(boards)
        else:
            x, o = rules.to_bits(boards)
        rows = self.reach.rows(number, x, o)
        best = rules.to_cells(np.where(rows >= 0, self.replies[rows], np.uint64(0))) > 0
        return best if cells is None else turned_back(best, cells)


class ResponsePolicy:
    """Plays the best replies on the lines of a policy, and by another policy off them."""

    def __init__(
        self, lines: dict[str, ResponseLines], rules: Rules, elsewhere: Policy | None = None
    ):
        self.lines, self.rules = lines, rules
        self.elsewhere = elsewhere or RandomPolicy()

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
        best = np.zeros(boards.shape, dtype=bool)
        counts = np.count_nonzero(boards, axis=1)
        for number in np.unique(counts).tolist():
            lines = self.lines.get(SIDES[1 - number % 2])
            if lines is not None:
                at = counts == number
                best[at] = lines.best(number, boards[at])
        return best
