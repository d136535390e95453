"""Minimax: a search that proves what a position is worth, on any board, or looks a few moves ahead.

Negamax with alpha-beta bounds (Knuth and Moore 1975, https://doi.org/10.1016/0004-3702(75)90019-3) on two bitboards in
Python integers. It shares nothing with `tictactoe_env.solver` but the rules' list of lines: two independent answers to
the same question. What is more than textbook:

- A table keeps the bounds of the positions that were searched. A position is looked up in the orientation, of all its
  board allows, that has the smallest number. All orientations live side by side in one integer, so a move sets one
  precomputed number in all of them.
- A side that can complete a line does so; a side that cannot, but whose opponent could, must take that cell; two such
  cells are a loss, and a move that makes two of them is a win. The search sees three moves ahead without searching.
- A side whose every line is blocked cannot win, so its bound is a draw.
- Threats are tried first, then the moves that refuted others most often, then those on the most lines.

Without limits the value is exact and every best move is equally likely (`ties="random"`), or the lowest is played
("first"). With `depth` or `seconds` it deepens move by move, and values what lies beyond by counting the lines that are
still open to one side, more the fuller they are. It then plays the shortest win it sees and puts off a loss as long as
it can. No random numbers are drawn: the answer follows from the board, unless `seconds` cut the search short.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from tictactoe_env.errors import unknown_name, whole_number
from tictactoe_env.orientations import Orientations, check_unfinished
from tictactoe_env.policy import Probs
from tictactoe_env.positions import MAX_CELLS
from tictactoe_env.rules import Boards, Rules

WIN = 1_000_000  # the score of a proven win; whatever is counted stays below
CLOCK_NODES = 64  # positions between two looks at the clock
TIES = ("random", "first")


class Move(NamedTuple):
    """A cell as the search sees it: its bit, its bit in all orientations, and the lines through it."""

    cell: int
    bit: int
    images: int
    lines: tuple[int, ...]


class TimeUpError(Exception):
    """The seconds are over in the middle of a search."""


class SearchPolicy:
    """The policy of the search. Raises ValueError for limits that are negative, and without any on boards of more than 16 cells.

    ties: "random" or "first". depth: moves to look ahead, 0 for no limit. seconds: for each move, 0 for no limit; with both, what comes first.
    """

    def __init__(self, rules: Rules, ties: str = "random", depth: int = 0, seconds: float = 0.0):
        if ties not in TIES:
            raise unknown_name("way to break ties", ties, TIES)
        if isinstance(seconds, bool) or not 0 <= seconds < math.inf:
            raise ValueError(f"seconds must be a finite number of at least 0, got {seconds!r}")
        self.rules, self.ties, self.depth, self.seconds = (
            rules,
            ties,
            whole_number(depth, "depth", 0),
            float(seconds),
        )
        self.limited = bool(self.depth or self.seconds)
        if rules.cells > MAX_CELLS and not self.limited:
            raise ValueError(
                f"{rules} is too large to search to the end of every game: give a depth or seconds, such as search-depth=4 or search-seconds=1"
            )
        self.search = Search(rules)

    def probs(self, boards: Boards) -> Probs:
        """The best moves of boards (B, cells), equally likely or the lowest: (B, cells). ValueError for a finished board."""
        boards = check_unfinished(boards, self.rules)
        probs = np.zeros((len(boards), self.rules.cells))
        for row, board in zip(probs, boards, strict=True):
            best = self.best_moves(board)
            chosen = best if self.ties == "random" else [min(best)]
            row[chosen] = 1 / len(chosen)
        return probs

    def best_moves(self, board: Boards) -> list[int]:
        """The cells of the best moves on a board (cells,)."""
        if not self.limited:
            scores = self.search.scores(board)
            return [cell for cell, score in scores.items() if score == max(scores.values())]
        return self.search.deepen(board, self.depth or self.rules.cells, self.seconds)

    def value(self, board: Boards) -> int:
        """The exact value of a board (cells,) for the side to move, +1, 0 or -1, whatever the limits."""
        return max(self.search.scores(board).values()) // WIN


class Search:
    """Negamax on one board. `table` keeps what was proven without limits: (lowest, highest) score of a position."""

    def __init__(self, rules: Rules):
        self.rules, self.full, self.orientations = rules, rules.full, Orientations(rules)
        self.key = self.orientations.key
        bits, images = rules.cell_bits, self.orientations.cells
        self.lines = [sum(bits[cell] for cell in line) for line in rules.lines]
        moves = [
            Move(cell, bit, images[cell], tuple(line for line in self.lines if line & bit))
            for cell, bit in enumerate(bits)
        ]
        self.moves = sorted(moves, key=lambda move: -len(move.lines))
        self.weights = [
            0,
            *(4**marks for marks in range(rules.k)),
        ]  # of an open line with so many marks
        self.table: dict[int, tuple[int, int]] = {}
        self.history = [0] * rules.cells
        self.nodes = 0
        self.deadline = math.inf

    # --- the search ------------------------------------------------------------------------------------------------

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
        """The score for the side with the marks `own`, to move: exact inside (alpha, beta), else a bound on the same side of it.

        own, other: marks in all orientations. own_threats, other_threats: cells that complete a line of theirs, taken ones included.
        """
        full = self.full
        free = full & ~(own | other)
        if own_threats & free:
            return WIN
        forced = other_threats & free
        if forced & (forced - 1):
            return -WIN
        if not free & (free - 1):
            return 0  # one cell is left, and it completes nothing
        if beta > 0 and not self.is_open(other):
            if alpha >= 0:
                return 0
            beta = 0
        if alpha < 0 and not self.is_open(own):
            if beta <= 0:
                return 0
            alpha = 0
        if depth <= 0:
            return self.estimate(own, other)
        key = self.key(own, other)
        low, high = self.table.get(key, (-WIN, WIN))
        if low >= beta or low == high:
            return low
        if high <= alpha:
            return high
        alpha, beta = max(alpha, low), min(beta, high)
        self.nodes += 1
        if self.nodes % CLOCK_NODES == 0 and time.perf_counter() > self.deadline:
            raise TimeUpError
        quick: list[tuple[Move, int]] = []
        quiet: list[tuple[Move, int]] = []
        own_marks, history = own & full, self.history
        for move in self.moves:
            if not (forced or free) & move.bit:
                continue
            marks, threats = own_marks | move.bit, own_threats
            for line in move.lines:
                rest = line & ~marks
                if not rest & (rest - 1):
                    threats |= rest
            live = threats & free & ~move.bit
            if live & (live - 1):
                self.table[key] = (WIN, WIN)
                return WIN
            (quick if live else quiet).append((move, threats))
        if len(quiet) > 1:
            quiet.sort(key=lambda pair: -history[pair[0].cell])
        best, lower = -WIN, alpha
        for move, threats in quick + quiet:
            score = -self.negamax(
                other, own | move.images, other_threats, threats, -beta, -lower, depth - 1
            )
            if score > best:
                best = score
                if best > lower:
                    lower = best
                    if lower >= beta:
                        history[move.cell] += depth * depth
                        break
        if best >= beta:
            low = best
        else:
            low, high = (best if best > alpha else low), max(best, low)
        self.table[key] = (low, high)
        return best

    def is_open(self, other: int) -> bool:
        """Whether some line has none of these marks."""
        return any(not line & other for line in self.lines)

    def estimate(self, own: int, other: int) -> int:
        """What the lines promise that are still open to one side only, more the fuller they are; 0 for equal chances."""
        score, weights = 0, self.weights
        for line in self.lines:
            ours, theirs = line & own, line & other
            if not theirs:
                score += weights[ours.bit_count()]
            elif not ours:
                score -= weights[theirs.bit_count()]
        return max(1 - WIN, min(score, WIN - 1))

    # --- the root --------------------------------------------------------------------------------------------------

    def scores(self, board: Boards) -> dict[int, int]:
        """The score of each move on a board (cells,), searched to the end: exact for the best moves, below theirs for the others."""
        own, other = self.sides(board)
        return self.root(
            own,
            other,
            [move for move in self.moves if not (own | other) & move.bit],
            self.rules.cells,
        )

    def deepen(self, board: Boards, depth: int, seconds: float) -> list[int]:
        """The best cells of the deepest search within the limits, at least one move deep; `seconds` is 0 where only `depth` counts.

        It ends with the shortest win, and before the depth at which every move is seen to lose.
        """
        own, other = self.sides(board)
        moves = [move for move in self.moves if not (own | other) & move.bit]
        for threats in (
            self.threats(own),
            self.threats(other),
        ):  # win, else do not let the other side win
            moves = [move for move in moves if move.bit & threats] or moves
            if moves[0].bit & threats:
                break
        proven, self.table, self.history = self.table, {}, [0] * self.rules.cells
        cells, self.deadline = (
            [move.cell for move in moves],
            time.perf_counter() + (seconds or math.inf),
        )
        try:
            for ahead in range(1, min(depth, int((board == 0).sum())) + 1):
                self.table = {}  # bounds of another depth are no bounds
                scores = self.root(own, other, moves, ahead)
                if max(scores.values()) == -WIN and ahead > 1:
                    break
                cells = [cell for cell, score in scores.items() if score == max(scores.values())]
                moves.sort(key=lambda move: -scores[move.cell])
                if max(scores.values()) == WIN:
                    break
        except TimeUpError:
            pass
        finally:
            self.table, self.deadline = proven, math.inf
        return cells

    def root(self, own: int, other: int, moves: Sequence[Move], depth: int) -> dict[int, int]:
        """The score of each of these moves, seen `depth` moves ahead: exact for the best ones, below theirs for the others."""
        own_threats, other_threats = self.threats(own), self.threats(other)
        best, scores = -WIN, {}
        for move in moves:
            if own_threats & move.bit:
                score = WIN
            else:
                score = -self.negamax(
                    other,
                    own | move.images,
                    other_threats,
                    self.threats(own | move.bit),
                    -WIN,
                    1 - best,
                    depth - 1,
                )
            scores[move.cell] = score
            best = max(best, score)
        return scores

    def sides(self, board: Boards) -> tuple[int, int]:
        """The marks of the side to move and of the other one, in all orientations, on a board (cells,)."""
        mark = 1 if board.sum() == 0 else -1
        return self.orientations.marks(board, mark), self.orientations.marks(board, -mark)

    def threats(self, marks: int) -> int:
        """The cells that complete a line of these marks, whether they are free or not."""
        rests = (line & ~marks for line in self.lines)
        return reduce(or_, (rest for rest in rests if not rest & (rest - 1)), 0)
