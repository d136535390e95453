"""Alpha-beta search: proves the value of a position on any board, or looks a few moves ahead.

Negamax with alpha-beta bounds (Knuth and Moore 1975, https://doi.org/10.1016/0004-3702(75)90019-3)
on two bitboards in Python integers. It shares only the list of lines with the solver in `exact/`,
so that each is a test of the other. Additions to the textbook algorithm:

- A transposition table keeps the bounds of searched positions, with one entry for all images of a
  position under symmetry. One integer holds all orientations of the board, so a move is one `|`.
- Threats. A side that can complete a line does so. Otherwise, if its opponent could complete one,
  it must take that cell; if there are two such cells, it has lost. A move that makes two threats
  wins. These rules see three moves ahead without a search.
- If every line of a side is blocked, that side cannot win, so its value is at most a draw.
- Move ordering: first moves that threaten, then moves that caused the most cutoffs (history
  heuristic), then moves on the most lines.

Where a free cell may be illegal, or a line does not win, a threat is not all that counts: the
search asks `Rules` which cells are legal after each move, and what a line is worth.

Without limits the value is exact; the moves of this value are equally likely (`ties="random"`), or
the lowest of their cells is played ("first"), however long the game then lasts. With `depth` or
`seconds` the search deepens iteratively, plays the shortest win that it finds, and delays a loss
that it finds as long as possible. A depth of N finds every win and every loss in up to N + 2 moves,
where lines win. Positions at the depth limit are estimated: each line that is open to one side only
counts for that side, more with each mark on it. The search draws no random numbers, so the same
board gives the same moves, unless `seconds` ends the search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from tictactoe_env.errors import not_negative, one_of, whole_number
from tictactoe_env.exact.positions import ENUMERABLE
from tictactoe_env.policy import Probs, equally_likely, of_each_board
from tictactoe_env.rules import OUTCOME_NUMBERS, WIN, Boards, Rules, to_move
from tictactoe_env.symmetry import Orientations

WIN_SCORE = 1_000_000  # of a proven win; estimates are smaller
_UNKNOWN = (-WIN_SCORE, WIN_SCORE)  # the bounds of a position that was not searched
CLOCK_NODES = 64  # positions between two checks of the clock
_EXACT = ", exact: win 1, draw 0, loss -1"
_ESTIMATED = (
    ": proven win 1, proven loss -1, in between an estimate from the lines that are still open to "
    "one side"
)


class _Move(NamedTuple):
    """A cell: its bit, its bits in all orientations, and the lines through it."""

    cell: int
    bit: int
    images: int
    lines: tuple[int, ...]


class _TimeUpError(Exception):
    """The time limit was reached during a search."""


class SearchPolicy:
    """The best moves of an alpha-beta search, with or without limits.

    ties: "random" or "first". depth: plies to look ahead, 0 for no limit; wins and losses are seen
    two plies further, on every board. seconds: for each move, 0 for no limit. Raises ValueError for
    negative limits, and on more than 16 cells without a limit.
    """

    def __init__(self, rules: Rules, ties: str = "random", depth: int = 0, seconds: float = 0.0):
        one_of("way to break ties", ties, ("random", "first"))
        self.rules = rules
        self.ties = ties
        self.seconds = not_negative(seconds, "seconds")
        self.depth = whole_number(depth, "depth", 0)
        self._ahead = rules.cells if self.seconds and not depth else self.depth  # 0: no limit
        if rules.cells > ENUMERABLE and not self._ahead:
            raise ValueError(f"{rules} is too large to search to its end: give depth or seconds")
        lines_win = rules.line_result == WIN and rules.all_free_are_legal
        self.search = _Search(rules) if lines_win else _LawSearch(rules)
        self.meaning = f"its search score of each move{_ESTIMATED if self._ahead else _EXACT}"

    @property
    def varies(self) -> str:
        """Why its moves may be others the next time, see `provable`."""
        return "its search is ended by a clock (seconds)" if self.seconds else ""

    def probs(self, boards: Boards) -> Probs:
        """The best moves on boards (B, cells), equally likely or the lowest one: (B, cells).

        Raises ValueError for a finished board.
        """

        def chosen(board: Boards) -> dict[int, float]:
            best = self.best_moves(board)
            return equally_likely(best if self.ties == "random" else [min(best)])

        return of_each_board(chosen, boards, self.rules)

    def q_values(self, boards: Boards) -> Probs:
        """The score of each move on unfinished boards (B, cells), from -1 to 1, NaN where illegal.

        Proven wins are 1, proven losses -1. An estimate e is e / (|e| + 4**(k - 1)): 4**(k - 1) is
        the weight that a full line would have. The scores are those of the depth at which the
        search ends. With `seconds` they take a search of their own, which may reach another depth.
        """
        full = 4 ** (self.rules.k - 1)

        def value(score: int) -> float:
            return score / (WIN_SCORE if abs(score) == WIN_SCORE else abs(score) + full)

        def values(board: Boards) -> dict[int, float]:
            scores = self.search.scores(board, self._ahead, self.seconds, exact=True)
            return {cell: value(score) for cell, score in scores.items()}

        return of_each_board(values, boards, self.rules, np.nan)

    def best_moves(self, board: Boards) -> list[int]:
        """The cells of the best moves on a board (cells,)."""
        scores = self.search.scores(board, self._ahead, self.seconds)
        return [cell for cell, score in scores.items() if score == max(scores.values())]


class _Search:
    """Negamax on one board. `table` holds the proven bounds (low, high) of positions by key."""

    def __init__(self, rules: Rules):
        self.rules = rules
        self.full = rules.full
        self.line_score = WIN_SCORE * int(OUTCOME_NUMBERS[rules.line_result])
        self.orientations = Orientations(rules)
        self.key = self.orientations.key
        self.lines = rules.line_bits
        moves = [
            _Move(cell, bit, self.orientations.cells[cell], rules.lines_through[bit])
            for cell, bit in enumerate(rules.cell_bits)
        ]
        self.moves = sorted(moves, key=lambda move: -len(move.lines))
        # The estimate of an open line, by the number of marks on it.
        self.weights = [0, *(4**marks for marks in range(rules.k))]
        self.table: dict[int, tuple[int, int]] = {}
        self.history = [0] * rules.cells
        self.nodes = 0
        self.clock = time.perf_counter
        self.deadline = math.inf

    # --- the search ---------------------------------------------------------------------------

    def negamax(
        self,
        own: int,
        other: int,
        own_threats: int,
        other_threats: int,
        alpha: int,
        beta: int,
        depth: int,
    ) -> int:
        """The score for the side to move, which has the marks `own`.

        Inside (alpha, beta) it is exact, below it an upper bound, above it a lower bound.
        own, other: marks in all orientations. own_threats, other_threats: cells that complete a
        line of that side, taken cells included.
        """
        free = self.full & ~(own | other)
        forced = other_threats & free
        if own_threats & free:
            return WIN_SCORE
        if forced & (forced - 1):
            return -WIN_SCORE
        if not free & (free - 1):
            return 0  # one cell is left, and it completes no line
        if beta > 0 and not self.is_open(other):
            beta = 0
        if alpha < 0 and not self.is_open(own):
            alpha = 0
        if alpha >= beta:
            return 0
        if depth <= 0:
            return self.estimate(own, other)
        key = self.key(own, other)
        low, high = self.table.get(key, _UNKNOWN)
        if low >= beta or low == high:
            return low
        if high <= alpha:
            return high
        alpha, beta = max(alpha, low), min(beta, high)
        self.count_node()
        moves = self.ordered_moves(own & self.full, own_threats, free, forced or free)
        if moves is None:
            self.table[key] = (WIN_SCORE, WIN_SCORE)
            return WIN_SCORE
        best = -WIN_SCORE
        negamax = self.negamax
        bound = alpha
        for move, after in moves:
            marks = own | move.images
            score = -negamax(other, marks, other_threats, after, -beta, -bound, depth - 1)
            if score > best:
                best = score
                bound = max(score, bound)
                if best >= beta:
                    self.history[move.cell] += depth * depth
                    break
        if best < beta:
            high = max(best, low)
        if best > alpha:
            low = best
        self.table[key] = (low, high)
        return best

    def count_node(self) -> None:
        """Count a searched position. Raises _TimeUpError after the deadline."""
        self.nodes += 1
        if self.nodes % CLOCK_NODES == 0 and self.clock() > self.deadline:
            raise _TimeUpError

    def ordered_moves(
        self, marks: int, threats: int, free: int, allowed: int
    ) -> list[tuple[_Move, int]] | None:
        """The moves on the allowed cells, with the threats after each; None if one makes two.

        Moves that threaten come first, then moves that caused the most cutoffs.
        """
        quick: list[tuple[_Move, int]] = []
        quiet: list[tuple[_Move, int]] = []
        for move in self.moves:
            bit = move.bit
            if not allowed & bit:
                continue
            own = marks | bit
            after = threats
            for line in move.lines:
                rest = line & ~own
                if not rest & (rest - 1):
                    after |= rest
            live = after & free & ~bit
            if live & (live - 1):
                return None
            (quick if live else quiet).append((move, after))
        if len(quiet) > 1:
            history = self.history
            quiet.sort(key=lambda pair: -history[pair[0].cell])
        return quick + quiet

    def is_open(self, other: int) -> bool:
        """True if a line has none of these marks, so that the other side can complete it."""
        return any(not line & other for line in self.lines)

    def estimate(self, own: int, other: int) -> int:
        """The estimated score: 4**(marks - 1) for each line with marks of one side only."""
        score = 0
        weights = self.weights
        for line in self.lines:
            ours, theirs = line & own, line & other
            if not theirs:
                score += weights[ours.bit_count()]
            elif not ours:
                score -= weights[theirs.bit_count()]
        return max(1 - WIN_SCORE, min(score, WIN_SCORE - 1))

    # --- the root -----------------------------------------------------------------------------

    def scores(
        self, board: Boards, depth: int = 0, seconds: float = 0.0, exact: bool = False
    ) -> dict[int, int]:
        """The score of each move on a board (cells,), of at least the best ones: {cell: score}.

        depth: 0 to search to the end of the game. Otherwise the search deepens ply by ply, up to
        this many or until `seconds` are over (0 for no limit), and ends at the first win. Where
        every move loses, the scores are those of the last depth that did not see it, which delays
        the loss. They are 0 if not even one ply was searched in time.
        exact: whether the scores of all moves are exact, proven losses included; otherwise those of
        the best moves are.
        """
        mark = int(to_move(board))
        own, other = (self.orientations.marks(board, one) for one in (mark, -mark))
        legal = self.rules.legal_cells(board)
        moves = [move for move in self.moves if legal[move.cell]]
        if not depth:
            return self.root(own, other, moves, self.rules.cells, exact)
        if not exact:
            moves = self.urgent(own, other, moves)
        found = dict.fromkeys((move.cell for move in moves), 0)
        proven = self.table
        self.history = [0] * self.rules.cells
        self.deadline = self.clock() + (seconds or math.inf)
        try:
            for ahead in range(1, min(depth, int((board == 0).sum())) + 1):
                self.table = {}  # bounds of another depth are no bounds
                scores = self.root(own, other, moves, ahead, exact)
                best = max(scores.values())
                if best == -WIN_SCORE and ahead > 1 and not exact:
                    break
                found = scores
                moves.sort(key=lambda move: -scores[move.cell])
                if abs(best) == WIN_SCORE:
                    break
        except _TimeUpError:
            pass
        finally:
            self.table = proven
            self.deadline = math.inf
        return found

    def urgent(self, own: int, other: int, moves: list[_Move]) -> list[_Move]:
        """Those of some moves that win at once, else those that block such a win, else all."""
        if self.line_score == WIN_SCORE:
            for threats in (self.threats(own), self.threats(other)):
                found = [move for move in moves if move.bit & threats]
                if found:
                    return found
        return moves

    def root(
        self, own: int, other: int, moves: Sequence[_Move], depth: int, exact: bool = False
    ) -> dict[int, int]:
        """The score of each of these moves, searched `depth` plies deep.

        The scores of the best moves are exact; unless `exact`, the others are bounds below the best
        score.
        """
        threats = self.threats(other)
        best = -WIN_SCORE
        scores = {}
        for move in moves:
            score = self.line_score
            limit = WIN_SCORE if exact else 1 - best
            if not self.threats(own) & move.bit:
                marks = own | move.images
                after = self.threats(own | move.bit)
                score = -self.negamax(other, marks, threats, after, -WIN_SCORE, limit, depth - 1)
            scores[move.cell] = score
            best = max(best, score)
        return scores

    def threats(self, marks: int, lines: Iterable[int] = ()) -> int:
        """The cells that complete a line of these marks, taken cells included.

        lines: those to look at, by default all.
        """
        rests = (line & ~marks for line in lines or self.lines)
        return reduce(or_, (rest for rest in rests if not rest & (rest - 1)), 0)


class _LawSearch(_Search):
    """Negamax for games in which a free cell may be illegal, or a line does not win."""

    def negamax(
        self,
        own: int,
        other: int,
        own_threats: int,
        other_threats: int,
        alpha: int,
        beta: int,
        depth: int,
    ) -> int:
        """The score for the side to move, which has the marks `own`: see `_Search.negamax`."""
        legal = self.rules.legal((own | other) & self.full)
        if not legal:
            return 0
        if own_threats & legal and self.line_score == WIN_SCORE:
            return WIN_SCORE
        moves = self.moves_that_hold(own | other, legal, own_threats, other_threats)
        if not moves:
            return -WIN_SCORE
        if depth <= 0:
            return self.estimate(own, other)
        key = self.key(own, other)
        low, high = self.table.get(key, _UNKNOWN)
        if low >= beta or low == high:
            return low
        if high <= alpha:
            return high
        self.count_node()
        best = -WIN_SCORE
        bound = max(alpha, low)
        for move in moves:
            marks = own | move.images
            after = own_threats | self.threats(marks, move.lines)
            score = -self.negamax(other, marks, other_threats, after, -beta, -bound, depth - 1)
            best = max(best, score)
            bound = max(bound, score)
            if best >= beta:
                break
        if best > alpha:
            low = max(low, best)
        if best < beta:
            high = min(high, best)
        self.table[key] = (low, high)
        return best

    def moves_that_hold(
        self, taken: int, legal: int, own_threats: int, other_threats: int
    ) -> list[_Move]:
        """The legal moves that neither lose by a line nor let the other side win by one."""
        if self.line_score != WIN_SCORE:
            return [move for move in self.moves if move.bit & legal & ~own_threats]
        moves = [move for move in self.moves if move.bit & legal]
        open_threats = other_threats & ~taken
        if not open_threats:
            return moves
        after = self.rules.legal
        taken &= self.full
        return [move for move in moves if not after(taken | move.bit) & open_threats]

    def estimate(self, own: int, other: int) -> int:
        """The estimate of `_Search`, or its negative where a line loses."""
        return int(OUTCOME_NUMBERS[self.rules.line_result]) * super().estimate(own, other)
