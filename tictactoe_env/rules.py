"""The rules of m,n,k-games: X and O mark free cells in turn, X first; k in a line win.

`Rules` is the law of the game. It alone says which cells make a line (`lines`), what a line is
worth to the side that completes it (`line_result`), which moves are legal (`open_cells`), and which
images of a board may be the same game (`possible_symmetries`). All else follows from these four,
and all other modules ask it.

A position is two bitboards, one with X's cells and one with O's. The law uses bit operations only,
so it works on Python integers (one game) and on `uint64` arrays (a batch). Cells are numbered row
by row:

    0 1 2        cell = row * cols + col
    3 4 5        bit  = row * (cols + 1) + col
    6 7 8

The bit layout has one empty column on the right; that of `compact` has none. A bitboard b has k
marks in a line with the step d if `b & b >> d & ... & b >> (k - 1) d` has the first bit of a line.
The steps of straight lines are 1, cols, cols + 1 and cols + 2.

    game = game_state([4, 0, 1, 8, 7], Rules())
    game.ended, game.winner, game.line       # "line", "X", (1, 4, 7)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import unknown_name, whole_number

SIZES = ("rows", "cols", "k")  # the fields of `Rules` that every document names
MAX_BITS = 64  # of a bitboard with its padding column; 7x8 is the largest nearly square board

_LEFT_OUT: Any = None  # of a `k` that is not given; a board has a number
_Bits = Any  # one bitboard as an int, or a batch as uint64 (B,)
Boards = NDArray[np.int8]
SIDES = ("X", "O")


class Outcome(IntEnum):
    """How a game stands, seen by one side. An illegal move loses."""

    ONGOING = 0
    WIN = 1
    DRAW = 2
    LOSS = 3
    ILLEGAL = 4  # this side made an illegal move
    OPPONENT_ILLEGAL = 5  # the other side made one

    @property
    def of_other_side(self) -> Outcome:
        """How the game stands for the other side."""
        return Outcome(_OF_OTHER_SIDE[self])


# Their numbers, for arrays: NumPy compares them in a quarter of the time that members take.
ONGOING, WIN, DRAW, LOSS, ILLEGAL, OPPONENT_ILLEGAL = map(int, Outcome)
_OF_OTHER_SIDE = (ONGOING, LOSS, DRAW, WIN, OPPONENT_ILLEGAL, ILLEGAL)
OUTCOME_NUMBERS = np.array([0, 1, 0, -1, -1, 1], dtype=np.int8)  # of each: +1 won, -1 lost, else 0


def mark_of(side: str) -> int:
    """The mark of a side on a board: +1 for "X", -1 for "O"; ValueError for anything else."""
    if side not in SIDES:
        raise unknown_name("side", side, SIDES)
    return 1 if side == "X" else -1


def other_side(side: str) -> str:
    """The side of the opponent; ValueError for anything but "X" and "O"."""
    return "O" if mark_of(side) > 0 else "X"


class IllegalMoveError(ValueError):
    """A move onto a taken cell, or after the end of the game."""


@dataclass(frozen=True)
class Rules:
    """A board of `rows` x `cols` cells on which `k` marks in a line win; 1 <= k <= max(rows, cols).

    k: it may be left out of 3x3, where it is 3; every other board says how many win.
    gravity: a mark falls to the lowest free cell of its column, as in Connect Four (6x7x4).
    Raises ValueError for sizes that do not fit `rows * (cols + 1) <= 64` bits.
    """

    rows: int = 3
    cols: int = 3
    k: int = _LEFT_OUT
    gravity: bool = False

    def __init_subclass__(cls) -> None:
        fixed = [name for name in vars(cls) if hasattr(getattr(Rules, name, None), "__final__")]
        if fixed:
            laws = "lines, line_result, open_cells and possible_symmetries"
            raise TypeError(f"a law is made of {laws}; they decide {fixed}: change them in {cls}")

    def __post_init__(self) -> None:
        if not isinstance(self.gravity, bool):
            raise ValueError(f"gravity must be True or False, got {self.gravity!r}")
        for name in ("rows", "cols"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name, 1))
        size = f"{self.rows}x{self.cols}"
        longest = max(self.rows, self.cols)
        if (bits := self.rows * (self.cols + 1)) > MAX_BITS:
            needs = f"needs rows * (cols + 1) = {bits} bits, more than {MAX_BITS}"
            raise ValueError(f"a board of {size} {needs}; use a smaller one, for example 7x8")
        k = 3 if self.k is None and size == "3x3" else self.k
        if k is None:
            possible = " to ".join(f"{size}x{k}" for k in sorted({min(3, longest), longest}))
            raise ValueError(f"{size} does not say how many win: write {possible}, or give k")
        object.__setattr__(self, "k", whole_number(k, "k", 1))
        if self.k > longest:
            raise ValueError(f"k must be at most max(rows, cols) = {longest}, got {self.k}")

    def __str__(self) -> str:
        """Such as "4x4, 4 in a row, gravity"."""
        size = f"{self.rows}x{self.cols}, {self.k} in a row"
        further = [f"{name}={value}" for name, value in self.variant.items()]
        return ", ".join(word.removesuffix("=True") for word in (size, *further))

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> Rules:
        """The board by those of some arguments that are fields of it."""
        names = (one.name for one in fields(cls))
        return cls(**{name: arguments[name] for name in names if name in arguments})

    @classmethod
    def further_fields(cls) -> dict[str, Any]:
        """The fields beside the sizes, which make variants, and their defaults."""
        return {one.name: one.default for one in fields(cls) if one.name not in SIZES}

    @property
    def variant(self) -> dict[str, Any]:
        """The fields beside the sizes that do not have their defaults; none on a plain board."""
        plain = self.further_fields()
        values = {name: getattr(self, name) for name in plain}
        return {name: value for name, value in values.items() if value != plain[name]}

    def to_json(self) -> dict[str, Any]:
        """The board as JSON values: the sizes, and what makes it a variant.

        So what was written before a field existed is written alike.
        """
        return {name: getattr(self, name) for name in SIZES} | self.variant

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.rows * self.cols

    @cached_property
    def row_bits(self) -> int:
        """The number of bits from a cell to the one below it."""
        return self.cols + 1

    @cached_property
    def compact(self) -> Rules:
        """The same law for bitboards without the empty column: the bit of a cell is its number."""
        law = replace(self)
        vars(law)["row_bits"] = self.cols
        return law

    @cached_property
    def cell_bits(self) -> tuple[int, ...]:
        """The bit of each cell, as an integer with that one bit set."""
        places = (divmod(cell, self.cols) for cell in range(self.cells))
        return tuple(1 << row * self.row_bits + col for row, col in places)

    @cached_property
    def full(self) -> int:
        """The bitboard with every cell set."""
        return sum(self.cell_bits)

    # --- the law: on integers and on uint64 arrays ------------------------------------------------

    def open_cells(self, taken: _Bits) -> Any:
        """The cells, as bits, that may be marked if they are free: a bitboard, or (B,); None: all.

        taken: the cells with a mark. With gravity they are the lowest row, and those above a mark.
        """
        if not self.gravity:
            return None
        return taken >> self.row_bits | self._lowest_row

    @cached_property
    def _lowest_row(self) -> int:
        return sum(self.cell_bits[-self.cols :])

    @final
    @property
    def all_free_are_legal(self) -> bool:
        """True if every free cell is a legal move; then some answers are found in less time."""
        return self.open_cells(0) is None

    @final
    @property
    def opens_above(self) -> bool:
        """True if a mark opens just the cell above it; then legal moves are found in less time."""
        return self.gravity and type(self).open_cells is Rules.open_cells

    @final
    def legal(self, taken: _Bits) -> Any:
        """The legal moves, as bits, where these cells are taken: a bitboard, or (B,).

        After the end of a game they are the moves that would be legal if it went on.
        """
        free = taken ^ self.full
        opened = self.open_cells(taken)
        return free if opened is None else free & opened

    def floating(self, taken: _Bits) -> Any:
        """The taken cells, as bits, above a free one, where gravity allows none: int, or (B,)."""
        if not self.gravity:
            return taken & 0
        return taken & (self.open_cells(taken) ^ self.full)

    def uncovered(self, taken: _Bits) -> Any:
        """The taken cells, as bits, of which each may have been marked last: int, or (B,)."""
        if not self.gravity:
            return taken
        return taken & (taken << self.row_bits ^ self.full)

    @property
    def line_result(self) -> int:
        """The outcome for the side that completes a line."""
        return WIN

    @final
    def result(self, own: _Bits, other: _Bits, early_draw: bool = False) -> Any:
        """The result for the side that has just moved: ONGOING, WIN, DRAW or LOSS; or (B,) int8.

        own: its marks after the move. early_draw: a game in which nobody can complete a line is
        drawn.
        """
        has_line = self.has_line(own)
        is_drawn = self.legal(own | other) == 0
        if early_draw:
            is_drawn = is_drawn | self.is_dead(own, other)
        if isinstance(has_line, np.ndarray):
            drawn = np.where(is_drawn, np.int8(DRAW), np.int8(ONGOING))
            return np.where(has_line, np.int8(self.line_result), drawn)
        if has_line:
            return self.line_result
        return DRAW if is_drawn else ONGOING

    def possible_symmetries(self) -> list[NDArray[np.intp]]:
        """The cells (rows, cols) of each image of the board that may be the same game.

        They are a group: turns and mirror images.
        """
        grid = np.arange(self.cells).reshape(self.rows, self.cols)
        images = [np.rot90(one, turn) for turn in range(4) for one in (grid, np.fliplr(grid))]
        return [one for one in images if one.shape == grid.shape]

    @cached_property
    def symmetries(self) -> NDArray[np.intp]:
        """The symmetries of the game as distinct permutations (S, cells), the identity first.

        `board[symmetries[s]]` is the image of a board under symmetry s. A square has 8 symmetries,
        a rectangle 4, a single row or column 2. With gravity only the left-right mirror remains.
        They are the possible ones that keep the lines, and the legal moves on the empty board and
        after one mark. Raises ValueError if these are no group.
        """
        possible = [np.arange(self.cells), *self.possible_symmetries()]
        distinct = dict.fromkeys(tuple(np.ravel(one).tolist()) for one in possible)
        found = np.array([one for one in distinct if self._keeps_the_law(one)], dtype=np.intp)
        after_each_other = {tuple(one) for first in found for one in first[found].tolist()}
        if len(after_each_other) > len(found):
            got = repr(found.tolist())
            raise ValueError(f"the symmetries of {self} must be a group, got {got:.99}")
        found.setflags(write=False)
        return found

    def _keeps_the_law(self, image: tuple[int, ...]) -> bool:
        """True if an image of the board, given as its cells, has the same lines and moves."""
        lines = {frozenset(line) for line in self.lines}
        if {frozenset(image[cell] for cell in line) for line in lines} != lines:
            return False
        marked = np.eye(self.cells + 1, self.cells, -1, dtype=np.int8)  # nothing, and each cell
        moves = self.legal_cells(marked)[:, image]
        return np.array_equal(self.legal_cells(marked[:, image]), moves)

    def is_dead(self, x: _Bits, o: _Bits) -> Any:
        """True if every line has marks of both sides, so nobody can complete one: or (B,) bool."""
        is_open = self.has_line(x ^ self.full) | self.has_line(o ^ self.full)
        return ~is_open if isinstance(is_open, np.ndarray) else not is_open

    def is_over(self, x: _Bits, o: _Bits, early_draw: bool = False) -> Any:
        """True if a game is finished, whoever has moved last: bool, or (B,) bool."""
        return self.has_line(x) | (self.result(o, x, early_draw) != ONGOING)

    # --- lines ------------------------------------------------------------------------------------

    @cached_property
    def lines(self) -> tuple[tuple[int, ...], ...]:
        """Every line, as cell numbers. A side that has all cells of one has a line."""
        found = set()
        for cell in range(self.cells):
            row, col = divmod(cell, self.cols)
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                last_row, last_col = row + down * (self.k - 1), col + right * (self.k - 1)
                if last_row < self.rows and 0 <= last_col < self.cols:
                    step = down * self.cols + right
                    found.add(tuple(cell + i * step for i in range(self.k)))
        return tuple(sorted(found))

    @cached_property
    def line_bits(self) -> tuple[int, ...]:
        """The bitboard of each line."""
        return tuple(sum(self.cell_bits[cell] for cell in line) for line in self.lines)

    @cached_property
    def lines_through(self) -> dict[int, tuple[int, ...]]:
        """The bitboards of the lines through each cell, by its bit."""
        lines = self.line_bits
        return {bit: tuple(line for line in lines if line & bit) for bit in self.cell_bits}

    @cached_property
    def strides(self) -> list[int]:
        """The steps by which `b & b >> stride` is applied in turn to find k marks in a line.

        Each doubles the length of what is found, and the last one ends it at k.
        """
        return [min(1 << i, self.k - (1 << i)) for i in range((self.k - 1).bit_length())]

    def _step(self, line: tuple[int, ...]) -> int:
        """The number of bits from cell to cell of a line; 0 unless it is one, and k cells."""
        places = sorted(self.cell_bits[cell].bit_length() for cell in line)
        steps = {after - before for before, after in pairwise(places)} or {1}
        return steps.pop() if len(steps) == 1 and len(line) == self.k else 0

    @cached_property
    def straight_lines(self) -> dict[int, int]:
        """The lines of k bits with one step, as the first bits of all lines by their step."""
        found: dict[int, int] = {}
        for line in self.lines:
            if step := self._step(line):
                found[step] = found.get(step, 0) | self.cell_bits[min(line)]
        return found

    @cached_property
    def bent_lines(self) -> tuple[int, ...]:
        """The bitboards of all other lines."""
        every = zip(self.lines, self.line_bits, strict=True)
        return tuple(bits for line, bits in every if not self._step(line))

    @cached_property
    def _shifts(self) -> list[tuple[list[int], int]]:
        """The shifts by which `has_line` finds straight lines, and the first bits of these.

        The bits are 0 where the shifts find nothing else, not even on a full board.
        """
        found = []
        for step, firsts in self.straight_lines.items():
            shifts = [stride * step for stride in self.strides]
            everywhere = reduce(lambda line, shift: line & line >> shift, shifts, self.full)
            found.append((shifts, 0 if everywhere == firsts else firsts))
        return found

    @final
    def has_line(self, marks: _Bits) -> Any:
        """True if these marks hold a line: bool, or (B,) bool."""
        found = marks & 0
        for shifts, firsts in self._shifts:
            line = marks
            for shift in shifts:
                line = line & line >> shift
            if firsts:
                line = line & firsts
            found = found | line
        for bent in self.bent_lines:
            found = found | (marks & bent == bent)
        return found != 0

    # --- between bitboards and boards -------------------------------------------------------------

    def to_bits(self, boards: Boards) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """X's and O's bitboards, (B,) uint64 each, of boards (B, cells) int8."""
        bits = np.array(self.cell_bits, dtype=np.uint64)
        x, o = (np.where(boards == mark, bits, 0).sum(axis=-1) for mark in (1, -1))
        return x, o

    def to_boards(self, x: NDArray[np.uint64], o: NDArray[np.uint64]) -> Boards:
        """Boards (B, cells) int8, +1 X, -1 O, 0 free, of bitboards (B,) uint64."""
        return self.to_cells(x) - self.to_cells(o)

    def to_cells(self, marks: NDArray[np.uint64]) -> Boards:
        """1 on the cells that are set, else 0: (B, cells) int8 of bitboards (B,) uint64."""
        as_bytes = np.ascontiguousarray(marks, dtype="<u8")[..., None].view(np.uint8)
        count = self.rows * self.row_bits
        bits = np.unpackbits(as_bytes, axis=-1, count=count, bitorder="little")
        grid = bits.reshape(*marks.shape, self.rows, self.row_bits)[..., : self.cols]
        return grid.reshape(*marks.shape, self.cells).view(np.int8)

    # --- on boards --------------------------------------------------------------------------------

    def legal_cells(self, boards: Boards) -> NDArray[np.bool_]:
        """The legal moves (B, cells) bool on boards (B, cells), or (cells,) of one board."""
        if self.all_free_are_legal:
            return boards == 0
        x, o = self.to_bits(np.atleast_2d(boards))  # NumPy 1 takes no single uint64 beside an int
        found: NDArray[np.bool_] = self.to_cells(self.legal(x | o)) > 0
        return found.reshape(boards.shape)

    def open_columns(self, legal: NDArray[Any]) -> NDArray[Any]:
        """The columns with a legal cell: (..., cols), of legal cells (..., cells), bool or int8."""
        found: NDArray[Any] = self._grid(legal).max(axis=-2)
        return found

    def landing(self, legal: NDArray[Any]) -> NDArray[np.intp]:
        """The cell on which a piece lands in each column: (..., cols), of legal cells (..., cells).

        A full column stands for its top cell, which is taken: a move there is illegal.
        """
        found: NDArray[np.intp] = self._grid(legal).argmax(axis=-2)
        return found * self.cols + np.arange(self.cols)

    def _grid(self, legal: NDArray[Any]) -> NDArray[Any]:
        return legal.reshape(*legal.shape[:-1], self.rows, self.cols)

    def results(self, boards: Boards) -> NDArray[np.int8]:
        """The results (B,) of boards (B, cells) for the sides that moved last: see `result`."""
        x, o = self.to_bits(boards)
        x_moved = to_move(boards) < 0
        found: NDArray[np.int8] = self.result(np.where(x_moved, x, o), np.where(x_moved, o, x))
        return found

    def marked(self, order: NDArray[Any], moves: Any) -> Boards:
        """Boards (B, cells) after so many moves (B, 1), each on the first legal cell in an order.

        order: (B, cells), the place of each cell in the order. No game stops at its end.
        """
        if self.all_free_are_legal:
            return np.where(order < moves, 1 - 2 * (order % 2), 0).astype(np.int8)
        boards = np.zeros(order.shape, dtype=np.int8)
        moves = np.broadcast_to(moves, (len(order), 1))[:, 0]
        for ply in range(moves.max(initial=0)):
            going = np.flatnonzero(moves > ply)
            places = np.where(self.legal_cells(boards[going]), order[going], self.cells)
            boards[going, places.argmin(axis=1)] = 1 - 2 * (ply % 2)
        return boards

    def winning_cells(self, board: Boards) -> tuple[int, ...]:
        """The cells of all complete lines on one board (cells,), in order; () if there is none."""
        won = [line for line in self.lines if abs(int(board[list(line)].sum())) == len(line)]
        return tuple(sorted({cell for line in won for cell in line}))


def checked_rules(rules: Any) -> Rules:
    """`rules` itself. Raises ValueError unless it is a board."""
    if isinstance(rules, Rules):
        return rules
    hint = 'for a result against an opponent use exact_result(mine, make_opponent("random", rules))'
    raise ValueError(f"a board must be Rules(rows, cols, k), got {rules!r}; {hint}")


def check_unfinished(boards: Boards, rules: Rules) -> Boards:
    """Boards (B, cells) as an array. Raises ValueError if one of them is finished."""
    boards = np.asarray(boards)
    if rules.is_over(*rules.to_bits(boards)).any():
        raise ValueError("a finished board has no move: ask for unfinished boards only")
    return boards


def to_move(boards: Boards) -> NDArray[np.int8]:
    """The mark to move, +1 for X and -1 for O: (B,) int8 of boards (B, cells). X moves first."""
    return (1 - 2 * boards.sum(axis=-1)).astype(np.int8)


def side_to_move(board: Boards) -> str:
    """The side to move on one board (cells,), "X" or "O"."""
    return "X" if to_move(board) > 0 else "O"


class GameState(NamedTuple):
    """The state of a game.

    moves: the legal moves, as cells. x, o: the bitboards of both sides.
    ended: "" while the game goes on, "line", "full" (a draw), "early" (a draw, because no line can
    be completed), or "illegal" (a move onto a taken cell, which loses).
    winner: "X", "O", or None for a draw and for an unfinished game.
    illegal: the index of the first illegal move among the given cells, or None. A move after the
    end is illegal too, but does not change `ended` and `winner`.
    """

    rules: Rules
    moves: tuple[int, ...]
    x: int
    o: int
    ended: str
    winner: str | None
    illegal: int | None

    @property
    def mover(self) -> str | None:
        """The side to move, "X" or "O"; None once the game has ended."""
        return None if self.ended else SIDES[len(self.moves) % 2]

    @property
    def board(self) -> Boards:
        """The board (cells,) int8: +1 X, -1 O, 0 free."""
        board = np.zeros(self.rules.cells, dtype=np.int8)
        board[list(self.moves[::2])] = 1
        board[list(self.moves[1::2])] = -1
        return board

    @property
    def line(self) -> tuple[int, ...]:
        """The cells of the complete lines, in order; () if there is none."""
        return self.rules.winning_cells(self.board) if self.ended == "line" else ()


def game_state(cells: Sequence[int], rules: Rules, early_draw: bool = False) -> GameState:
    """The state of a game after moves on these cells, X first. It stops at the first illegal move.

    early_draw: the game is drawn as soon as every line holds marks of both sides.
    Raises ValueError for a number that is no cell of the board.
    """
    bits = rules.cell_bits
    own, other = 0, 0  # marks of the side to move, and of the side that moved last
    moves: list[int] = []
    ended = ""
    result = ONGOING
    illegal = None
    legal = rules.legal(0)
    for ply, cell in enumerate(cells):
        if type(cell) is not int or not 0 <= cell < len(bits):
            cell = whole_number(cell, "a cell", 0, len(bits) - 1)
        if ended or not legal & bits[cell]:
            illegal = ply
            if not ended:
                ended = "illegal"
                result = WIN  # for the side that moved last
            break
        own, other = other, own | bits[cell]
        legal = rules.legal(own | other)
        moves.append(cell)
        result = rules.result(other, own, early_draw)
        if result == DRAW:
            ended = "early" if legal else "full"
        elif result != ONGOING:
            ended = "line"
    moved_last = SIDES[(len(moves) - 1) % 2]
    winner = {WIN: moved_last, LOSS: other_side(moved_last)}.get(result)
    marks = {moved_last: other, other_side(moved_last): own}
    return GameState(rules, tuple(moves), marks["X"], marks["O"], ended, winner, illegal)
