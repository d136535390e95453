"""Exact values and optimal moves of every position of a small board, by backward induction.

`solve` keeps one byte for each ternary code: 43 MB on 4x4, which takes a second. It needs no list
of the positions where every free cell is legal. Other games have fewer positions, which are listed.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tictactoe_env.errors import one_of, probability
from tictactoe_env.exact.blocks import After, Block, backward_by_blocks
from tictactoe_env.exact.positions import (
    Ply,
    Positions,
    backward,
    check_enumerable,
    codes_of,
    positions_of,
    unreachable,
)
from tictactoe_env.policy import Probs
from tictactoe_env.rules import DRAW, LOSS, ONGOING, WIN, Boards, Outcome, Rules

LOST = -100  # the score of a lost position
NO_SCORE = -128  # of a position that play cannot reach, and of an illegal move
_ENDED = {WIN: LOST, DRAW: 0, LOSS: -LOST}  # scores, by the outcome for the side that moved last


@lru_cache(maxsize=8)
def solve(rules: Rules) -> Solution:
    """The solution of a board, computed on first use and kept. ValueError above 16 cells."""
    return Solution(rules)


class Solution:
    """The exact score of every position, by its ternary code: 43 MB on 4x4, solved in a second.

    scores: (3^cells,) int8, the mover's score if both sides play perfectly. The winner takes the
    shortest way and the loser the longest. A loss in n plies is LOST + n, a win in n plies is
    -LOST - n, a draw is 0; NO_SCORE if play cannot reach the position.
    """

    def __init__(self, rules: Rules):
        check_enumerable(rules)
        self.rules = rules
        self.scores = np.full(3**rules.cells, NO_SCORE, dtype=np.int8)
        self._powers = 3 ** np.arange(rules.cells, dtype=np.int64)
        if rules.all_free_are_legal:
            self._ended = np.array([_ENDED.get(one, NO_SCORE) for one in Outcome], dtype=np.int8)
            backward_by_blocks(rules, self._solved)
        else:
            self._solve_listed(positions_of(rules))
        self.scores.setflags(write=False)

    def _solved(self, block: Block, outcomes: NDArray[np.int8], moves: After) -> NDArray[np.int8]:
        best = np.full(outcomes.shape, LOST, dtype=np.int8)
        for where, scores in moves:
            best[where] = np.maximum(best[where], before(scores))
        found = np.where(outcomes == ONGOING, best, self._ended[outcomes])
        self.scores[block.codes] = found
        return found

    def _solve_listed(self, positions: Positions) -> None:
        """Solve the game by the list of its positions."""
        won = np.int8(-LOST) * positions.outcome_x  # of X
        scores = np.where(positions.x_to_move, won, -won)

        def best(ply: Ply, after: NDArray[np.int8]) -> NDArray[np.int8]:
            found: NDArray[np.int8] = np.where(ply.legal, before(after), np.int8(LOST)).max(axis=1)
            return found

        self.scores[positions.codes] = backward(positions.plies, scores, best)

    def board_scores(self, boards: ArrayLike) -> NDArray[np.int8]:
        """Scores (B,) of boards (B, cells); ValueError names a board that play cannot reach."""
        boards = np.asarray(boards)
        return self._scores_at(codes_of(boards, self.rules), boards)

    def move_scores(self, boards: ArrayLike) -> NDArray[np.int8]:
        """The mover's score of each move: (B, cells), NO_SCORE where it is illegal.

        A move counts as a ply: one that wins at once is -LOST - 1.
        """
        boards = np.asarray(boards)
        codes = codes_of(boards, self.rules)
        self._scores_at(codes, boards)
        legal = self.rules.legal_cells(boards)
        digits = np.where(np.count_nonzero(boards, axis=1) % 2 == 0, 1, 2)
        after = self.scores[codes[:, None] + digits[:, None] * (legal * self._powers)]
        # After the end of a game no position can be reached.
        return np.where(legal & (after != NO_SCORE), before(after), np.int8(NO_SCORE))

    def _scores_at(self, codes: NDArray[np.int64], boards: NDArray[Any]) -> NDArray[np.int8]:
        scores = self.scores[codes]
        if NO_SCORE in scores:
            raise unreachable(boards[int(np.argmin(scores))], self.rules)
        return scores

    def move_values(self, boards: ArrayLike) -> NDArray[np.int8]:
        """The mover's result after each move, with perfect play: (B, cells) int8, -2 if illegal."""
        scores = self.move_scores(boards)
        return np.where(scores != NO_SCORE, np.sign(scores), np.int8(-2))

    def optimal(self, boards: ArrayLike) -> NDArray[np.bool_]:
        """The moves that keep the position's value: (B, cells) bool, False in finished games."""
        values = self.move_values(boards)
        return (values == values.max(axis=1, keepdims=True)) & (values > -2)

    def fastest(self, boards: ArrayLike) -> NDArray[np.bool_]:
        """Those optimal moves (B, cells) bool that win soonest or lose latest; all that draw."""
        scores = self.move_scores(boards)
        return (scores == scores.max(axis=1, keepdims=True)) & (scores != NO_SCORE)

    @cached_property
    def value(self) -> NDArray[np.int8]:
        """The mover's result with perfect play, by row of `Positions`: (N,) int8, +1, 0 or -1."""
        return np.sign(self.scores[positions_of(self.rules).codes])

    @property
    def value_x(self) -> NDArray[np.int8]:
        """X's result with perfect play, by row of `Positions`: (N,) int8."""
        return np.where(positions_of(self.rules).x_to_move, self.value, -self.value)


def before(after: NDArray[np.int8]) -> NDArray[np.int8]:
    """The mover's scores of moves, from the other side's scores of the positions they lead to."""
    return -after + np.sign(after)


class MinimaxPolicy:
    """Perfect play from the exact solution; ValueError for boards of more than 16 cells.

    The board is solved when probabilities are asked for the first time. All policies of a process
    share the solution, 43 MB on 4x4; copies and pickles of a policy do not hold it.

    ties: "random" draws uniformly among the optimal moves, "first" takes the lowest cell, and
    "fastest" draws among those that win soonest, or lose latest, against the best replies.
    slip: the probability of a uniformly random legal move instead.
    """

    varies = ""  # see `provable`
    meaning = "exact result with best play of both sides: win 1, draw 0, loss -1"

    def __init__(self, rules: Rules, ties: str = "random", slip: float = 0.0):
        one_of("way to break ties", ties, ("random", "first", "fastest"))
        self.rules = rules
        self.ties = ties
        self.plays_symmetrically = ties != "first"  # a proof then counts symmetric positions once
        self.slip = probability(slip, "slip")
        check_enumerable(rules)

    def probs(self, boards: Boards) -> Probs:
        """Probabilities (B, cells) of unfinished boards (B, cells)."""
        solution = solve(self.rules)
        best = solution.fastest(boards) if self.ties == "fastest" else solution.optimal(boards)
        if self.ties == "first":
            best &= best.cumsum(axis=1) == 1
        legal = self.rules.legal_cells(np.asarray(boards))
        perfect, slipping = (which / which.sum(axis=1, keepdims=True) for which in (best, legal))
        return (1 - self.slip) * perfect + self.slip * slipping

    def q_values(self, boards: Boards) -> Probs:
        """The exact results of the moves (B, cells) of unfinished boards, NaN where illegal."""
        values = solve(self.rules).move_values(boards).astype(np.float64)
        return np.where(values >= -1, values, np.nan)
