"""Exact values and optimal moves of every position of a small board, and of Connect Four on 6x7.

A small board is solved by backward induction, with one byte for each ternary code: 43 MB on 4x4,
which takes a second. It needs no list of the positions where every free cell is legal. Other games
have fewer positions, which are listed. On 6x7 a library is asked for one position at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tictactoe_env import reachable
from tictactoe_env.errors import one_of, probability
from tictactoe_env.exact import connect_four
from tictactoe_env.exact.blocks import After, Block, backward_by_blocks
from tictactoe_env.exact.positions import (
    ENUMERABLE,
    Ply,
    Positions,
    backward,
    can_enumerate,
    checked_boards,
    codes_of,
    positions_of,
    unreachable,
)
from tictactoe_env.policy import Probs, keeps
from tictactoe_env.rules import DRAW, LOSS, ONGOING, WIN, Boards, Outcome, Rules

LOST = -100  # the score of a lost position
NO_SCORE = -128  # of a position that play cannot reach, and of an illegal move
# By the outcome for the side that moved last; NO_SCORE while the game goes on.
_ENDED = np.array(
    [{WIN: LOST, DRAW: 0, LOSS: -LOST}.get(one, NO_SCORE) for one in Outcome], dtype=np.int8
)


def can_solve(rules: Rules) -> bool:
    """True if the positions of a board can be solved.

    These are boards of up to 16 cells, and Connect Four on 6x7 where bitbully is installed.
    """
    return can_enumerate(rules) or (
        rules == connect_four.CONNECT_FOUR and connect_four.is_installed()
    )


def reason_unknown(rules: Rules) -> str:
    """Why the exact values of a board are not known here, and what would help; "" if they are."""
    if can_solve(rules):
        return ""
    if rules == connect_four.CONNECT_FOUR:
        return f"{rules} is solved by bitbully, which cannot be imported: {connect_four.INSTALL}"
    return f"{rules} is too large to solve, with more than {ENUMERABLE} cells"


def check_solvable(rules: Rules) -> None:
    """Raises ValueError for a board whose positions cannot be solved; it says what would help."""
    if reason := reason_unknown(rules):
        raise ValueError(reason)


@lru_cache(maxsize=8)
def solve(rules: Rules) -> Solution:
    """The solution of a board, computed on first use and kept.

    Up to 16 cells it is an `EnumeratedSolution`; on 6x7 with gravity and four in a row it asks
    bitbully (AGPL; the extra `connect-four`). ValueError for other boards, and without bitbully.
    """
    check_solvable(rules)
    return EnumeratedSolution(rules) if can_enumerate(rules) else ConnectFourSolution(rules)


class Solution(ABC):
    """The exact scores of the positions of a board, for the side to move.

    They are the results if both sides play perfectly: the winner takes the shortest way and the
    loser the longest. A loss in n plies is LOST + n, a win in n plies is -LOST - n, a draw is 0.
    Boards are (B, cells); ValueError names one that play cannot reach.
    """

    def __init__(self, rules: Rules):
        self.rules = rules

    @abstractmethod
    def board_scores(self, boards: ArrayLike) -> NDArray[np.int8]:
        """Scores (B,) of boards (B, cells)."""

    @abstractmethod
    def move_scores(self, boards: ArrayLike) -> NDArray[np.int8]:
        """The mover's score of each move: (B, cells), NO_SCORE where it is illegal.

        A move counts as a ply: one that wins at once is -LOST - 1.
        """

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


class EnumeratedSolution(Solution):
    """The score of every position, by its ternary code: 43 MB on 4x4, solved in a second.

    scores: (3^cells,) int8; NO_SCORE if play cannot reach the position.
    """

    def __init__(self, rules: Rules):
        super().__init__(rules)
        self.scores = np.full(3**rules.cells, NO_SCORE, dtype=np.int8)
        self._powers = 3 ** np.arange(rules.cells, dtype=np.int64)
        if rules.all_free_are_legal:
            backward_by_blocks(rules, self._solved)
        else:
            self._solve_listed(positions_of(rules))
        self.scores.setflags(write=False)

    def _solved(self, block: Block, outcomes: NDArray[np.int8], moves: After) -> NDArray[np.int8]:
        best = np.full(outcomes.shape, LOST, dtype=np.int8)
        for where, scores in moves:
            best[where] = np.maximum(best[where], before(scores))
        found = np.where(outcomes == ONGOING, best, _ENDED[outcomes])
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
        """See `Solution.board_scores`."""
        boards = np.asarray(boards)
        return self._scores_at(codes_of(boards, self.rules), boards)

    def move_scores(self, boards: ArrayLike) -> NDArray[np.int8]:
        """See `Solution.move_scores`."""
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

    @cached_property
    def value(self) -> NDArray[np.int8]:
        """The mover's result with perfect play, by row of `Positions`: (N,) int8, +1, 0 or -1."""
        return np.sign(self.scores[positions_of(self.rules).codes])

    @property
    def value_x(self) -> NDArray[np.int8]:
        """X's result with perfect play, by row of `Positions`: (N,) int8."""
        return np.where(positions_of(self.rules).x_to_move, self.value, -self.value)


class ConnectFourSolution(Solution):
    """The scores of Connect Four on 6x7. Each position is asked of bitbully: see `connect_four`.

    One costs 0.03 to 8 milliseconds with up to 11 stones, which are in a book, 100 with 12, 10 with
    16, and less than 0.2 with 18 or more. The last 200,000 are remembered.
    """

    def board_scores(self, boards: ArrayLike) -> NDArray[np.int8]:
        """See `Solution.board_scores`."""
        checked = self._checked(boards)
        found = _ENDED[self.rules.results(checked)]
        unfinished = found == NO_SCORE
        found[unfinished] = self._move_scores(checked[unfinished]).max(axis=1, initial=NO_SCORE)
        return found

    def move_scores(self, boards: ArrayLike) -> NDArray[np.int8]:
        """See `Solution.move_scores`."""
        checked = self._checked(boards)
        found = np.full(checked.shape, NO_SCORE, dtype=np.int8)
        unfinished = self.rules.results(checked) == ONGOING
        found[unfinished] = self._move_scores(checked[unfinished])
        return found

    def _checked(self, boards: ArrayLike) -> Boards:
        checked = checked_boards(np.asarray(boards), self.rules).astype(np.int8)
        if wrong := reachable.unreachable(checked, self.rules):
            raise unreachable(checked[wrong.number], self.rules)
        return checked

    def _move_scores(self, boards: Boards) -> NDArray[np.int8]:
        """The scores (B, cells) of the moves on unfinished boards (B, cells)."""
        by_column = connect_four.column_scores(boards).astype(np.int64)
        stones = np.count_nonzero(boards, axis=1)[:, None]
        # X has the odd plies: its stone number n is ply 2n - 1 of the game, that of O ply 2n.
        x_wins = (by_column > 0) == (stones % 2 == 0)
        plies = 2 * (connect_four.LAST_STONE - abs(by_column)) - x_wins - stones
        scores = np.sign(by_column) * (-LOST - plies)
        legal = self.rules.legal_cells(boards)
        games, columns = np.nonzero(self.rules.open_columns(legal))
        found = np.full(boards.shape, NO_SCORE, dtype=np.int8)
        found[games, self.rules.landing(legal)[games, columns]] = scores[games, columns]
        return found


def before(after: NDArray[np.int8]) -> NDArray[np.int8]:
    """The mover's scores of moves, from the other side's scores of the positions they lead to."""
    return -after + np.sign(after)


class MinimaxPolicy:
    """Perfect play from the exact solution; ValueError for a board that `solve` cannot solve.

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
        if reason := reason_unknown(rules):
            raise ValueError(f"{reason}; take another opponent: search-depth=2")

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


def asks_library(policy: object, rules: Rules) -> bool:
    """True for perfect play on 6x7, where a library is asked for each move: see `connect_four`."""
    return keeps(policy, MinimaxPolicy) and not can_enumerate(rules)
