"""The game in plain Python, to compare the package with.

A board is a tuple of +1, -1 and 0, a chance a Fraction or an exact float. Nothing here imports the
package. Lines are walked cell by cell, positions are found by playing, results by recursion.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

Board = tuple[int, ...]
Choice = Callable[[Board], Mapping[int, Any]]  # the chance of each cell on a board
OUTCOMES = {1: (1, 0, 0, 0, 0), 0: (0, 1, 0, 0, 0), -1: (0, 0, 1, 0, 0)}  # see `PlainGame.match`


@lru_cache
def lines_of(rows: int, cols: int, k: int) -> frozenset[frozenset[int]]:
    """Every line of k cells, by walking from each cell in all eight directions."""
    found = set()
    for row, col in itertools.product(range(rows), range(cols)):
        for down, right in set(itertools.product((-1, 0, 1), repeat=2)) - {(0, 0)}:
            walk = [(row + i * down, col + i * right) for i in range(k)]
            if all(0 <= r < rows and 0 <= c < cols for r, c in walk):
                found.add(frozenset(r * cols + c for r, c in walk))
    return frozenset(found)


@lru_cache
def plain(rules: Any) -> PlainGame:
    """The game on a board of the package, kept so that its positions are listed only once.

    A law of the tests has a game of its own, which it names as `plain`.
    """
    kind = getattr(rules, "plain", PlainGame)
    return kind(rules.rows, rules.cols, rules.k, rules.gravity)


@lru_cache
def symmetries_of(rows: int, cols: int, gravity: bool = False) -> list[tuple[int, ...]]:
    """The cells in the order of each image of a board.

    gravity: the only other image is the left-right mirror.
    """
    grid = [tuple(range(row * cols, (row + 1) * cols)) for row in range(rows)]
    images = []
    for _ in range(1 if gravity else 4):
        for one in (grid, [row[::-1] for row in grid]):
            images += [sum(one, ())] * (len(one) == rows)
        grid = list(zip(*grid[::-1], strict=True))
    return images


class PlainGame:
    """All positions of a small board and their values with perfect play.

    gravity: only the lowest free cell of a column is legal.
    """

    def __init__(self, rows: int, cols: int, k: int, gravity: bool = False):
        self.cells = rows * cols
        self.cols = cols
        self.gravity = gravity
        self.empty: Board = (0,) * self.cells
        self._lines = [tuple(line) for line in lines_of(rows, cols, k)]
        self.orders = symmetries_of(rows, cols, gravity)

    def first_image(self, board: Board) -> Board:
        """The image that is shown of a board: the first by X's cells as bits, and then by O's."""

        def key(image: Board) -> list[int]:
            cells = range(len(image))
            return [sum(1 << cell for cell in cells if image[cell] == mark) for mark in (1, -1)]

        return min((tuple(board[cell] for cell in order) for order in self.orders), key=key)

    def outcome(self, board: Board, early_draw: bool = False) -> int | None:
        """+1 if X has a line, -1 if O has one, 0 for a draw, None if the game goes on.

        early_draw: it is a draw as soon as each line has marks of both sides.
        """
        for line in self._lines:
            mark = board[line[0]]
            if mark and all(board[cell] == mark for cell in line):
                return mark
        if early_draw and all({1, -1} <= {board[cell] for cell in line} for line in self._lines):
            return 0
        return None if self.legal(board) else 0

    @staticmethod
    def mover(board: Board) -> int:
        return 1 if board.count(1) == board.count(-1) else -1

    @staticmethod
    def free(board: Board) -> list[int]:
        return [cell for cell, mark in enumerate(board) if mark == 0]

    def legal(self, board: Board) -> list[int]:
        """The moves that are legal while the game goes on."""
        free = self.free(board)
        if not self.gravity:
            return free
        return [cell for cell in free if cell + self.cols not in free]

    def moves(self, board: Board) -> list[int]:
        """The legal moves, none in a finished game."""
        return self.legal(board) if self.positions[board] is None else []

    def after(self, board: Board, cell: int) -> Board:
        return (*board[:cell], self.mover(board), *board[cell + 1 :])

    @cached_property
    def positions(self) -> dict[Board, int | None]:
        """Every position that play reaches: +1 X has won, -1 O has, 0 drawn, None unfinished."""
        found: dict[Board, int | None] = {self.empty: self.outcome(self.empty)}
        waiting = [self.empty]
        while waiting:
            board = waiting.pop()
            for cell in self.legal(board) if found[board] is None else []:
                child = self.after(board, cell)
                if child not in found:
                    found[child] = self.outcome(child)
                    waiting.append(child)
        return found

    @cached_property
    def unfinished(self) -> list[Board]:
        return [board for board, outcome in self.positions.items() if outcome is None]

    @cached_property
    def last_first(self) -> list[Board]:
        return sorted(self.positions, key=lambda board: board.count(0))

    @cached_property
    def value_x(self) -> dict[Board, int]:
        """X's result of every position with perfect play by both."""
        values: dict[Board, int] = {}
        for board in self.last_first:
            best = max if self.mover(board) == 1 else min
            after = [values[self.after(board, cell)] for cell in self.moves(board)]
            values[board] = best(after) if after else self.positions[board]
        return values

    def best(self, board: Board) -> list[int]:
        """The moves that keep the value of a position."""
        value = self.value_x[board]
        moves = self.legal(board)
        return [cell for cell in moves if self.value_x[self.after(board, cell)] == value]

    def uniform(self, board: Board) -> dict[int, Fraction]:
        moves = self.legal(board)
        return dict.fromkeys(moves, Fraction(1, len(moves)))

    def perfect(self, board: Board) -> dict[int, Fraction]:
        best = self.best(board)
        return dict.fromkeys(best, Fraction(1, len(best)))

    def match(self, x: Choice, o: Choice, start: Board | None = None) -> tuple[Any, ...]:
        """Chances that X wins, of a draw, that O wins, and of an illegal move by X and by O."""

        @lru_cache(None)
        def from_here(board: Board) -> tuple[Any, ...]:
            outcome = self.positions[board]
            if outcome is not None:
                return OUTCOMES[outcome]
            sides = {1: (x, (0, 0, 1, 1, 0)), -1: (o, (1, 0, 0, 0, 1))}
            choice, forfeit = sides[self.mover(board)]
            parts = []
            for cell, chance in choice(board).items():
                is_legal = cell in self.legal(board)
                after = from_here(self.after(board, cell)) if is_legal else forfeit
                parts.append([chance * part for part in after])
            return tuple(map(sum, zip(*parts, strict=True)))

        return from_here(start or self.empty)


def plain_standing(cells: Any, size: tuple[int, int, int], early_draw: bool) -> dict[str, Any]:
    """The state of a game, by looking at every line of the board after every move."""
    lines = lines_of(*size)
    board = [0] * (size[0] * size[1])
    moves = []
    ended = ""
    winner = None
    line = ()
    illegal = None
    for index, cell in enumerate(cells):
        side, other = ("X", "O") if len(moves) % 2 == 0 else ("O", "X")
        if ended or board[cell]:
            illegal = index
            if not ended:
                ended = "illegal"
                winner = other
            break
        board[cell] = 1 if side == "X" else -1
        moves.append(cell)
        full = [one for one in lines if all(board[cell] == board[moves[-1]] for cell in one)]
        if full:
            ended = "line"
            winner = side
            line = tuple(sorted(set().union(*full)))
        elif 0 not in board:
            ended = "full"
        elif early_draw and all({1, -1} <= {board[cell] for cell in one} for one in lines):
            ended = "early"
    mover = None if ended else "XO"[len(moves) % 2]
    found = {"moves": tuple(moves), "board": tuple(board), "line": line, "ended": ended}
    return found | {"winner": winner, "illegal": illegal, "mover": mover}


class Player:
    """A policy for the package that asks a plain choice for each board."""

    def __init__(self, choice: Choice):
        self.choice = choice

    def probs(self, boards: Any) -> Any:
        """Probabilities (B, cells)."""
        assert boards.dtype == np.int8
        table = np.zeros(boards.shape)
        for row, board in enumerate(boards.tolist()):
            for cell, chance in self.choice(tuple(board)).items():
                table[row, cell] = chance
        return table
