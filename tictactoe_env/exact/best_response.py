"""The best responses to a policy: the results of a policy against an opponent that knows it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.match import Result, common_rules, result_of
from tictactoe_env.exact.positions import NO_CELL, Ply, backward
from tictactoe_env.exact.proof import Limit, Progress, Reach, reach_of
from tictactoe_env.exact.provable import to_be_met
from tictactoe_env.exact.values import (
    ROUNDING,
    EndValues,
    best_outcomes,
    finished_values,
    plies_to_loss,
    values_of,
    worst_outcomes,
)
from tictactoe_env.policy import Model, Policy
from tictactoe_env.rules import SIDES, Rules, mark_of
from tictactoe_env.symmetry import canonical_forms

_ONLY_LOSSES = EndValues(win=0.0, draw=0.0, loss=-1.0, illegal=-1.0)
_VALUE, _LOSS, _DELAY = range(3)  # what a reply is chosen by: the least of each
_AFTER_ILLEGAL = (-1.0, -1.0, 0.0)


@dataclass(frozen=True)
class BestResponse:
    """The results of a policy that plays `side` against a best response, an opponent that knows it.

    value: the policy's smallest expected result (win - loss) against any opponent.
    loss: the policy's largest probability of losing against any opponent.
    losing_line: the cells of a shortest game of a positive probability that it loses, an illegal
    move of the policy included; it ends where the policy makes no move. None if there is no such
    game.
    always_wins: True if the policy wins every game that has a positive probability.
    """

    side: str
    value: float
    loss: float
    losing_line: tuple[int, ...] | None
    always_wins: bool = False

    @property
    def can_lose(self) -> bool:
        """True if the policy loses any game that has a positive probability."""
        return self.losing_line is not None


def best_responses(
    policy: Policy | Model,
    rules: Rules | None = None,
    limit: Limit | None = None,
    progress: Progress | None = None,
    symmetric: bool | None = None,
) -> dict[str, BestResponse]:
    """The exact best responses to a policy as X and as O: {"X": ..., "O": ...}.

    symmetric: see `evaluation.evaluate`.

    On boards of more than 12 cells the positions that it can meet must be within `limit`: see
    `proof`. Raises ProofLimitError beyond it, and ValueError for a policy that is no function of
    the board: see `provable`.
    """
    rules = common_rules(rules, policy)
    with to_be_met(policy, rules, symmetric) as player:
        return {
            side: best_response(reach_of({side: player}, side, rules, limit, progress))
            for side in SIDES
        }


def best_response(reach: Reach) -> BestResponse:
    """The exact best response to a policy on the side whose positions these are."""
    value = float(values_of(reach)[0])
    lost_game = _shortest_lost_game(reach)
    loss = 0.0
    if lost_game is not None:
        loss = abs(float(values_of(reach, _ONLY_LOSSES)[0]))
    # A value of about 1 may be rounded, so the worst outcome decides; else it need not be asked.
    wins = value >= 1 - ROUNDING and bool(worst_outcomes(reach)[0] > 0)
    if wins:
        value = 1.0
    if 1 - ROUNDING <= loss != 1 and best_outcomes(reach)[0] < 0:  # the same of a sure loss
        value = -1.0
        loss = 1.0
    return BestResponse(reach.side, value, loss, lost_game, wins)


def results_of_responses(reach: Reach) -> list[Result]:
    """The results of a policy against the best response of `with_replies`.

    If another opponent beats it more often, the result against that one follows.
    """
    best, most_wins = (result_of(with_replies(reach, by_wins)) for by_wins in (False, True))
    return [best] if most_wins.loss <= best.loss + ROUNDING else [best, most_wins]


def with_replies(reach: Reach, by_wins: bool = False) -> Reach:
    """A reach in which the other side plays a best response that makes one move in each position.

    It is a move with the highest win - loss against the policy; of those, one with the most wins;
    then one that wins as soon and loses as late as it can, on average; then the first. by_wins: it
    wins as often as it can, and of those moves takes one with the highest win - loss.
    """
    order = (_LOSS, _VALUE, _DELAY) if by_wins else (_VALUE, _LOSS, _DELAY)
    ends = np.zeros((len(reach.outcome_x), len(order)))
    ends[:, _VALUE] = finished_values(reach)
    ends[:, _LOSS] = finished_values(reach, _ONLY_LOSSES)
    plies = []

    def before(ply: Ply, after: NDArray[np.float64]) -> NDArray[np.float64]:
        probs = ply.probs
        if probs is None:
            probs = _first_least(after, ply.legal, order)
        after = np.where(ply.legal[:, :, None], after, _AFTER_ILLEGAL)
        after[:, :, _DELAY] -= after[:, :, _VALUE]  # so a result counts once for each ply
        plies.append(ply._replace(probs=probs))
        return (probs[:, :, None] * after).sum(axis=1)

    backward(reach.plies, ends, before)
    replied = copy.copy(reach)
    replied.plies = plies[::-1]
    return replied


def _first_least(
    after: NDArray[np.float64], legal: NDArray[np.bool_], order: Sequence[int]
) -> NDArray[np.float64]:
    """1 on one legal move of each position: (B, M).

    after: (B, M, numbers). It is the first of those with the least numbers, compared in this order.
    """
    least = legal.copy()
    for number in order:
        numbers = np.where(least, after[:, :, number], np.inf)
        least = numbers <= numbers.min(axis=1, keepdims=True) + ROUNDING
    first: NDArray[np.bool_] = least & (least.cumsum(axis=1) == 1)
    return first.astype(np.float64)


def _shortest_lost_game(reach: Reach) -> tuple[int, ...] | None:
    """The cells of a shortest game that the policy loses; None if it never loses.

    Each move is the first one after which the loss is a ply nearer; in a reach in canonical form
    the first on the canonical board, turned back to the board as it is. Where the policy makes no
    move, which loses too, the game ends before it.
    """
    distances = plies_to_loss(reach)
    if not np.isfinite(distances[0]):
        return None
    game: list[int] = []
    board = np.zeros((1, reach.rules.cells), dtype=np.int8)
    row = 0
    for ply in reach.plies:
        rows = np.r_[ply.rows]  # as an array, also where they are a slice
        places = np.flatnonzero(rows == row)  # of the position in this ply: one or none
        if not len(places):
            continue
        at = places[0]
        children = ply.children[at]
        after = np.where(ply.legal[at], distances[children], 0.0)  # an illegal move ends the game
        is_nearer = after == distances[row] - 1
        move = int(np.argmax(ply.possible[at] & is_nearer))  # the first of them
        cell = move if ply.cells is None else int(ply.cells[at, move])
        if cell == NO_CELL:
            break
        if reach.is_symmetric:
            _, _, cells = canonical_forms(reach.rules).to_form(board)
            cell = int(cells[0, cell])
        game.append(cell)
        board[0, cell] = mark_of(ply.side)
        row = int(children[move])  # in no ply if the game is over
    return tuple(game)
