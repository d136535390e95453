"""The game in plain Python, to hold the package against: a board is a tuple of +1, -1 and 0, a chance is a Fraction.

Nothing here imports the package. Lines are walked cell by cell, positions are found by playing, results are counted
by going through the games.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

Board = tuple[int, ...]
Choice = Callable[[Board], Mapping[int, Fraction]]  # the chance of each cell on a board


@lru_cache
def lines_of(rows: int, cols: int, k: int) -> frozenset[frozenset[int]]:
    """Every line of k cells, by walking from each cell in all eight directions."""
    found = set()
    for row in range(rows):
        for col in range(cols):
            for down, right in [(d, r) for d in (-1, 0, 1) for r in (-1, 0, 1) if (d, r) != (0, 0)]:
                walk = [(row + i * down, col + i * right) for i in range(k)]
                if all(0 <= r < rows and 0 <= c < cols for r, c in walk):
                    found.add(frozenset(r * cols + c for r, c in walk))
    return frozenset(found)


@lru_cache
def plain_game(rows: int = 3, cols: int = 3, k: int = 3) -> PlainGame:
    """The game on one board, kept so that its positions are listed once for all tests."""
    return PlainGame(rows, cols, k)


class PlainGame:
    """All positions of a small board and what perfect play makes of them."""

    def __init__(self, rows: int, cols: int, k: int):
        self.size = (rows, cols, k)
        self.cells = rows * cols
        self.empty: Board = (0,) * self.cells
        self._lines = [tuple(line) for line in lines_of(rows, cols, k)]

    def _judge(self, board: Board) -> int | None:
        for line in self._lines:
            mark = board[line[0]]
            if mark and all(board[cell] == mark for cell in line):
                return mark
        return None if 0 in board else 0

    @staticmethod
    def mover(board: Board) -> int:
        """+1 if X is to move, -1 if O is."""
        return 1 if board.count(1) == board.count(-1) else -1

    @staticmethod
    def free(board: Board) -> list[int]:
        """The cells that are free."""
        return [cell for cell, mark in enumerate(board) if mark == 0]

    def after(self, board: Board, cell: int) -> Board:
        """The board after the side to move has marked a cell."""
        return (*board[:cell], self.mover(board), *board[cell + 1 :])

    @cached_property
    def positions(self) -> dict[Board, int | None]:
        """Every position that play reaches: +1 where X has won, -1 where O has, 0 where drawn, None where the game goes on."""
        found: dict[Board, int | None] = {self.empty: self._judge(self.empty)}
        waiting = [self.empty]
        while waiting:
            board = waiting.pop()
            if found[board] is None:
                for cell in self.free(board):
                    child = self.after(board, cell)
                    if child not in found:
                        found[child] = self._judge(child)
                        waiting.append(child)
        return found

    @cached_property
    def unfinished(self) -> list[Board]:
        """The positions with a move to make."""
        return [board for board, outcome in self.positions.items() if outcome is None]

    @cached_property
    def value_x(self) -> dict[Board, int]:
        """X's result of every position with perfect play by both."""
        values: dict[Board, int] = {}
        for board in sorted(self.positions, key=lambda board: board.count(0)):
            outcome = self.positions[board]
            if outcome is None:
                best = max if self.mover(board) == 1 else min
                outcome = best(values[self.after(board, cell)] for cell in self.free(board))
            values[board] = outcome
        return values

    def best(self, board: Board) -> list[int]:
        """The moves that keep the value of a position."""
        return [
            cell
            for cell in self.free(board)
            if self.value_x[self.after(board, cell)] == self.value_x[board]
        ]

    def uniform(self, board: Board) -> dict[int, Fraction]:
        """Every legal move with the same chance."""
        return _evenly(self.free(board))

    def perfect(self, board: Board) -> dict[int, Fraction]:
        """Every optimal move with the same chance."""
        return _evenly(self.best(board))

    def match(self, x: Choice, o: Choice, start: Board | None = None) -> tuple[Fraction, ...]:
        """Chances that X wins, of a draw, that O wins, and that X or O moves onto a taken cell (a loss, counted there too)."""

        @lru_cache(None)
        def from_here(board: Board) -> tuple[Fraction, ...]:
            outcome = self.positions[board]
            if outcome is not None:
                return (
                    *(Fraction(outcome == mark) for mark in (1, 0, -1)),
                    Fraction(0),
                    Fraction(0),
                )
            x_moves = self.mover(board) == 1
            total = [Fraction(0)] * 5
            for cell, chance in (x if x_moves else o)(board).items():
                forfeit = (0, 0, 1, 1, 0) if x_moves else (1, 0, 0, 0, 1)
                for i, part in enumerate(
                    forfeit if board[cell] else from_here(self.after(board, cell))
                ):
                    total[i] += chance * part
            return tuple(total)

        return from_here(start or self.empty)

    def best_against_uniform(
        self, side: int, score: Callable[[tuple[Fraction, ...]], Any], never_loses: bool
    ) -> dict[Board, int]:
        """The moves of the player of `side` with the highest score of (wins, draws, losses) against uniformly random play.

        With `never_loses` only among the moves after which perfect play cannot beat it; boards where there are none are left out.
        """
        results: dict[Board, tuple[Fraction, ...]] = {}
        moves: dict[Board, int] = {}
        for board in sorted(self.positions, key=lambda board: board.count(0)):
            outcome = self.positions[board]
            if outcome is not None:
                results[board] = tuple(Fraction(outcome == mark) for mark in (side, 0, -side))
                continue
            children = {cell: self.after(board, cell) for cell in self.free(board)}
            if self.mover(board) == side:
                allowed = [
                    cell
                    for cell, child in children.items()
                    if not never_loses or self.value_x[child] * side >= 0
                ]
                if allowed:
                    moves[board] = max(allowed, key=lambda cell: score(results[children[cell]]))
                    results[board] = results[children[moves[board]]]
                else:
                    results[board] = (Fraction(0), Fraction(0), Fraction(1))
            else:
                results[board] = tuple(
                    sum(results[child][i] for child in children.values()) / len(children)
                    for i in range(3)
                )
        return moves


def plain_standing(cells: Any, size: tuple[int, int, int], early_draw: bool) -> dict[str, Any]:
    """How a game stands, by looking at every line of the board after every move."""
    lines = lines_of(*size)
    board, moves, ended, winner, line, illegal = [0] * (size[0] * size[1]), [], "", None, (), None
    for index, cell in enumerate(cells):
        side = "XO"[len(moves) % 2]
        if ended or board[cell]:
            illegal = index
            if not ended:
                ended, winner = "illegal", "O" if side == "X" else "X"
            break
        board[cell] = 1 if side == "X" else -1
        moves.append(cell)
        mine = {cell for cell, mark in enumerate(board) if mark == board[moves[-1]]}
        full = [one for one in lines if one <= mine]
        if full:
            ended, winner, line = "line", side, tuple(sorted(set().union(*full)))
        elif 0 not in board:
            ended = "full"
        elif early_draw and all({1, -1} <= {board[cell] for cell in one} for one in lines):
            ended = "early"
    mover = None if ended else "XO"[len(moves) % 2]
    return {
        "moves": tuple(moves),
        "board": tuple(board),
        "ended": ended,
        "winner": winner,
        "illegal": illegal,
        "mover": mover,
        "line": line,
    }


class Player:
    """A policy for the package that asks a plain choice for each board."""

    def __init__(self, choice: Choice):
        self.choice = choice

    def probs(self, boards: Any) -> Any:
        """Probabilities (B, cells)."""
        table = np.zeros(boards.shape)
        for row, board in enumerate(boards.tolist()):
            for cell, chance in self.choice(tuple(board)).items():
                table[row, cell] = chance
        return table


def is_exactly(value: float, fraction: Fraction) -> bool:
    """Whether a float is this fraction: no other fraction with a denominator up to a million is nearer, and it is within 1e-12."""
    return Fraction(value).limit_denominator(10**6) == fraction and abs(
        Fraction(value) - fraction
    ) < Fraction(1, 10**12)


def _evenly(cells: list[int]) -> dict[int, Fraction]:
    return {cell: Fraction(1, len(cells)) for cell in cells}
