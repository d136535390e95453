"""Every position of a small board, as arrays with one row for each position.

These are the positions that play can reach, where play stops at a line. They are ordered by ply,
then by ternary code (cell c adds 3^c for X and 2 * 3^c for O). Boards of up to 16 cells (4x4, 3x5,
2x8) can be enumerated: 3x3 has 5,478 positions and takes some milliseconds, 4x4 with four in a row
has 9,722,011 and takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tictactoe_env.rules import (
    DRAW,
    LOSS,
    ONGOING,
    OUTCOME_NUMBERS,
    SIDES,
    WIN,
    Boards,
    Rules,
    mark_of,
)

ENUMERABLE = 16  # cells of a board whose positions can be listed; 3^16 table entries are 172 MB
TABULATED = 12  # cells of a board whose positions are all tabulated: 3x4 has 111,973


class EndRow(IntEnum):
    """The row after a move that ends the game, counted from the end of the rows of a reach.

    On boards whose positions are tabulated a finished position has a row of its own, so only
    ILLEGAL is needed there.
    """

    ILLEGAL = -1
    O_WINS = -2
    DRAWN = -3
    X_WINS = -4


NO_CHILD = EndRow.ILLEGAL.value  # in place of the row after an illegal move
NO_CELL = -1  # in place of the cell, where a policy makes no move
ROWS_AT_ONCE = 1 << 20  # where an array (N, cells) would not fit the cache


def can_enumerate(rules: Rules) -> bool:
    """True if the positions of this board can be enumerated: at most 16 cells."""
    return rules.cells <= ENUMERABLE


def check_enumerable(rules: Rules) -> None:
    """Raises ValueError for a board whose positions cannot be enumerated."""
    if not can_enumerate(rules):
        raise ValueError(
            f"the positions of {rules.rows}x{rules.cols} are too many to enumerate: at most "
            f"{ENUMERABLE} cells, not {rules.cells}"
        )


def checked_boards(boards: NDArray[Any], rules: Rules) -> NDArray[Any]:
    """Boards (B, cells). ValueError for another shape, and for numbers other than -1, 0 and 1."""
    if boards.ndim != 2 or boards.shape[1] != rules.cells:
        raise ValueError(f"boards must have the shape (B, {rules.cells}), got {boards.shape}")
    if len(boards) and not (
        boards.dtype.kind in "if"
        and boards.min() >= -1
        and boards.max() <= 1
        and (boards.dtype == np.int8 or (boards == boards.astype(np.int8)).all())
    ):
        raise ValueError("boards must hold only +1 (X), -1 (O) and 0 (free)")
    return boards


def codes_of(boards: NDArray[Any], rules: Rules) -> NDArray[np.int64]:
    """Ternary codes (B,) of boards (B, cells), at most 33 cells: see `checked_boards`."""
    boards = checked_boards(boards, rules)
    digits = np.where(boards < 0, 2, boards).astype(np.int64)
    codes: NDArray[np.int64] = digits @ 3 ** np.arange(rules.cells, dtype=np.int64)
    return codes


def in_parts(rows: NDArray[Any]) -> list[NDArray[Any]]:
    """The rows in parts of at most ROWS_AT_ONCE."""
    starts = range(0, len(rows), ROWS_AT_ONCE)
    return [rows[start : start + ROWS_AT_ONCE] for start in starts] or [rows]


def unreachable(board: NDArray[Any], rules: Rules) -> ValueError:
    """The error for a board (cells,) that play cannot reach."""
    return ValueError(f"play on {rules} cannot reach the board {board.tolist()}")


@lru_cache(maxsize=8)
def positions_of(rules: Rules) -> Positions:
    """The positions of a board, enumerated on first use and kept. ValueError above 16 cells."""
    return Positions(rules)


class Ply(NamedTuple):
    """B unfinished positions with `number` marks.

    side: the side to move, "X" or "O". rows: (B,) or a slice. x, o: (B,) bitboards. children:
    (B, M) int32, the row after each of M moves, NO_CHILD where a move is illegal. probs: (B, M),
    the probabilities of the moves where they are known. cells: (B, M) int8 of the moves; None if
    move m is cell m, as in `Positions`. If a policy makes no move, that is an illegal one on
    NO_CELL.
    """

    number: int
    side: str
    rows: Any
    x: NDArray[np.uint64]
    o: NDArray[np.uint64]
    children: NDArray[np.int32]
    probs: NDArray[np.float64] | None = None
    cells: NDArray[np.int8] | None = None

    @property
    def legal(self) -> NDArray[np.bool_]:
        """The legal moves: (B, M)."""
        return self.children != NO_CHILD

    @property
    def possible(self) -> NDArray[np.bool_]:
        """The moves that can be made: (B, M), every legal one, or those that a policy may make."""
        return self.legal if self.probs is None else self.probs > 0

    @property
    def bytes(self) -> int:
        """Memory of the moves."""
        moves = (self.children, self.probs, self.cells)
        return sum(one.nbytes for one in moves if one is not None)


_Values = TypeVar("_Values", bound=NDArray[Any])


def backward(
    plies: Sequence[Ply], ends: _Values, before: Callable[[Ply, _Values], _Values]
) -> _Values:
    """The values (N,) of all positions by row, from the last ply to the first.

    ends: (N,), the values of finished positions, which becomes the result. before: called with a
    ply and the values (B, M) after its moves; returns those of its positions (B,). After an illegal
    move, NO_CHILD, it gets the value of the last row, which means nothing.
    """
    for ply in reversed(plies):
        ends[ply.rows] = before(ply, ends.take(ply.children, axis=0))
    return ends


class Positions:
    """All N positions that can be reached from the empty board, which is row 0.

    codes: (N,) int64 ternary codes. ply: (N,) int8 marks on the board. is_over: (N,) bool.
    outcome_x: (N,) int8, +1 where X has won, -1 where O has, else 0.
    """

    def __init__(self, rules: Rules):
        check_enumerable(rules)
        self.rules = rules
        self.powers = 3 ** np.arange(rules.cells, dtype=np.int64)
        self._half = rules.cells // 2
        self._low_bits, self._high_bits = (
            _ternary_to_bits(bits)
            for bits in (rules.cell_bits[: self._half], rules.cell_bits[self._half :])
        )
        self._enumerate()

    def _enumerate(self) -> None:
        rules = self.rules
        seen = np.zeros(3**rules.cells, dtype=bool)
        layers = [np.zeros(1, dtype=np.int64)]
        over = []
        outcome = []
        for ply in range(rules.cells + 1):
            codes = layers[ply]
            x, o = self._bits(codes)
            x_moves = ply % 2 == 0
            result = rules.result(o, x) if x_moves else rules.result(x, o)
            of_last = OUTCOME_NUMBERS.take(result)
            outcome.append(-of_last if x_moves else of_last)
            goes_on = result == ONGOING
            over.append(~goes_on)
            going = codes[goes_on]
            legal = rules.legal(x | o)[goes_on]
            digit = 1 if x_moves else 2
            for power, bit in zip(self.powers.tolist(), rules.cell_bits, strict=True):
                movable = going[(legal & bit) != 0]
                seen[movable + power * digit] = True
            following = np.flatnonzero(seen)
            seen[following] = False
            layers.append(following)
        self.codes = np.concatenate(layers)
        self.is_over = np.concatenate(over)
        self.outcome_x = np.concatenate(outcome)
        sizes = [len(layer) for layer in over]
        self.ply = np.repeat(np.arange(len(sizes), dtype=np.int8), sizes)
        self._row_of_code = np.full(3**rules.cells, -1, dtype=np.int32)
        self._row_of_code[self.codes] = np.arange(len(self.codes), dtype=np.int32)

    def _bits(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """X's and O's bitboards of ternary codes, from one table for each half of the digits."""
        high, low = np.divmod(codes, 3**self._half)
        x, o = (self._low_bits[side][low] | self._high_bits[side][high] for side in (0, 1))
        return x, o

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def unfinished(self) -> NDArray[np.intp]:
        """Rows of the unfinished positions: (U,), in the order of a TabularPolicy; 4,520 on 3x3."""
        return np.flatnonzero(~self.is_over)

    def going(self, early_draw: bool) -> NDArray[np.intp]:
        """Rows of the unfinished positions; early_draw: of those in which a line can be made."""
        return np.flatnonzero(self.results("X", early_draw) == ONGOING)

    def results(self, side: str, early_draw: bool = False) -> NDArray[np.int8]:
        """The `Outcome` of each position for a side: (N,) int8, ONGOING, WIN, DRAW or LOSS.

        early_draw: a game in which nobody can make a line is drawn.
        """
        is_over = self.is_over | self.is_dead if early_draw else self.is_over
        outcome = self.outcome_x * np.int8(mark_of(side))
        found = np.where(is_over, np.int8(DRAW), np.int8(ONGOING))
        found[outcome > 0] = WIN
        found[outcome < 0] = LOSS
        return found

    @cached_property
    def x_to_move(self) -> NDArray[np.bool_]:
        """True where X moves next, or would if the game weren't over: (N,) bool."""
        return self.ply % 2 == 0

    @cached_property
    def boards(self) -> Boards:
        """Boards (N, cells) int8: +1 X, -1 O, 0 free."""
        return self.rules.to_boards(*self._bits(self.codes))

    @cached_property
    def is_dead(self) -> NDArray[np.bool_]:
        """True where every line has marks of both sides, so nobody can make one: (N,) bool."""
        dead: NDArray[np.bool_] = self.rules.is_dead(*self._bits(self.codes))
        return dead

    def bits(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """X's and O's bitboards of some rows: (B,) uint64 each."""
        return self._bits(self.codes[rows])

    def boards_at(self, rows: NDArray[np.intp]) -> Boards:
        """Boards (B, cells) int8 of some rows; on large boards without all of `boards`."""
        if self.rules.cells <= TABULATED:
            return self.boards[rows]
        return self.rules.to_boards(*self.bits(rows))

    def rows(self, boards: ArrayLike) -> NDArray[np.intp]:
        """Rows (B,) of boards (B, cells); ValueError names a board that play cannot reach."""
        boards = np.asarray(boards)
        parts = [self._row_of_code[codes_of(part, self.rules)] for part in in_parts(boards)]
        found = np.concatenate(parts, dtype=np.intp)
        if (found < 0).any():
            raise unreachable(boards[int(np.argmin(found))], self.rules)
        return found

    @cached_property
    def children(self) -> NDArray[np.int32]:
        """Rows after each move: (N, cells) int32, NO_CHILD for illegal moves and finished games.

        622 MB on 4x4.
        """
        found = []
        x, o = self._bits(self.codes)
        moves = np.where(self.is_over, 0, self.rules.legal(x | o))
        digits = np.where(self.x_to_move, 1, 2)
        for power, bit in zip(self.powers, self.rules.cell_bits, strict=True):
            legal = (moves & bit) != 0
            after = np.where(legal, self.codes + digits * power, 0)
            found.append(np.where(legal, self._row_of_code[after], np.int32(NO_CHILD)))
        return np.stack(found, axis=1)

    @cached_property
    def plies(self) -> list[Ply]:
        """The unfinished positions by ply."""
        starts = np.searchsorted(self.ply[self.unfinished], range(1, self.rules.cells))
        return [
            Ply(number, SIDES[number % 2], rows, *self.bits(rows), self.children[rows])
            for number, rows in enumerate(np.split(self.unfinished, starts))
        ]

    # --- symmetries -------------------------------------------------------------------------------

    @cached_property
    def _canonical(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        # Within a ply the smallest row has the smallest code.
        images = np.array([self.rows(self.boards[:, cells]) for cells in self.rules.symmetries])
        return images.min(axis=0).astype(np.int32), images.argmin(axis=0).astype(np.int32)

    @property
    def canonical(self) -> NDArray[np.int32]:
        """Row of each position's canonical form under symmetry, its smallest code: (N,) int32.

        3x3 has 765 canonical forms.
        """
        return self._canonical[0]

    @property
    def to_canonical(self) -> NDArray[np.int32]:
        """The symmetry that takes each position to its canonical form: (N,) int8."""
        return self._canonical[1]


def draw_starts(
    rules: Rules, early_draw: bool, movers: Any, rng: np.random.Generator
) -> tuple[Boards, Any]:
    """Random unfinished boards (B, cells), and the marks (B,) int8 of the sides to move.

    movers (B,): +1 or -1 draws uniformly from the positions in which X or O is to move, 0 from all.
    For one number instead of an array it is one board (cells,) and one mark.
    Raises ValueError if there is no such position.
    """
    starts = _starts_of(rules, early_draw)
    first, last = starts.first[movers], starts.last[movers]
    if (first == last).any():
        raise ValueError(f'start="random" finds no position of {rules} with O to move: side="X"')
    drawn = rng.integers(first, last)
    return positions_of(rules).boards_at(starts.rows[drawn]), starts.marks[drawn]


class _Starts(NamedTuple):
    """Rows and marks to move (U,) of the unfinished positions, those of X first.

    first, last: where the rows of a side to move begin and end, by its mark; 0 is any side.
    """

    rows: NDArray[np.intp]
    marks: NDArray[np.int8]
    first: NDArray[np.intp]
    last: NDArray[np.intp]


@lru_cache(maxsize=8)
def _starts_of(rules: Rules, early_draw: bool) -> _Starts:
    positions = positions_of(rules)
    rows = positions.going(early_draw)
    rows = rows[np.argsort(positions.ply[rows] % 2, kind="stable")]
    marks = np.where(positions.x_to_move[rows], 1, -1).astype(np.int8)
    count = len(rows)
    x_count = int((marks > 0).sum())
    first = np.array([0, 0, x_count])  # for any side, X, and O, whose mark is the last index, -1
    last = np.array([count, x_count, count])
    return _Starts(rows, marks, first, last)


def _ternary_to_bits(cell_bits: tuple[int, ...]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """X's and O's bits of every ternary number with these digits, lowest first: (3^cells,) each."""
    x, o = np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.uint64)
    for bit in cell_bits:
        mark = np.uint64(bit)
        x, o = np.concatenate([x, x | mark, x]), np.concatenate([o, o, o | mark])
    return x, o
