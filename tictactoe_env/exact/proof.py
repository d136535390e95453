"""Proof by reach: the positions that a policy can meet as one side, against every reply.

    reach = reach_of({"X": policy}, "X", Rules(4, 4, 4))
    len(reach), reach.decisions         # positions, and those in which the policy decides

Whether a policy can be beaten depends on the positions that it can meet, and a policy that makes
one move in each position meets few: 88 of the 4,520 positions of 3x3 as X, some ten thousand to a
million of the 9.7 million of 4x4. They are found ply by ply; positions with the same marks are one
position, however they were reached. If the policy is a `CanonicalPolicy`, positions that are equal
under symmetry are one as well.

On boards of up to 12 cells the rows are those of `positions.Positions`, on larger ones a reach has
rows of its own. Either way it is walked by `plies`, forwards or backwards: see `match`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import whole_number
from tictactoe_env.exact.position_index import PositionIndex, distinct, fits_one_number
from tictactoe_env.exact.positions import TABULATED, Ply, positions_of
from tictactoe_env.exact.symmetry import CanonicalPolicy, canonical_forms, plays_symmetrically
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import Model, Policy, Probs, as_policy, checked_probs
from tictactoe_env.rules import SIDES, Boards, Rules

CHUNK = 1 << 17  # positions at a time, so that arrays (B, cells) stay small
MAX_ROWS = 2**31 - 5  # of a reach: they are int32, and the ends of games take four

# The child of a move that ends the game; these are also the last rows of a reach.
ILLEGAL, O_WINS, DRAW, X_WINS = -1, -2, -3, -4
ENDS = np.array([1, 0, -1, 0], dtype=np.int8)  # X's outcome in the last four rows

Marks = NDArray[np.uint64]
Progress = Callable[[str, int, int], None]
"""Called after each ply with the side, the number of the ply and the positions found so far."""


class Limit(NamedTuple):
    """How large a proof may become: positions, and megabytes of memory for them.

    The memory is that of the positions, of their successors and of their results. What comes on top
    is the policy's own memory, and that of the work on CHUNK positions at a time: at most half a
    gigabyte, measured on 5x5 with random play, where every move is possible.
    """

    positions: int = 30_000_000
    megabytes: int = 1_500


class ProofLimitError(ValueError):
    """A policy can meet more positions than the limit allows."""


def reach_of(
    players: Mapping[str, Policy | Model],
    side: str,
    rules: Rules,
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> Reach:
    """The positions that a policy can meet as `side`, against every reply.

    players: the policies by side; a side without one makes every reply. limit: not used on boards
    of up to 12 cells. Raises ProofLimitError beyond it.
    """
    if rules.cells <= TABULATED:
        return TableReach(players, side, rules)
    known = {one: as_policy(player, rules) for one, player in players.items()}
    return BoardReach(known, side, rules, limit, progress)


class TableReach:
    """A reach on a board whose positions are tabulated; the rows are those of `Positions`.

    everywhere: whether all unfinished positions belong to it, also those that the players cannot
    meet.
    """

    is_symmetric = False

    def __init__(
        self,
        players: Mapping[str, Policy | Model],
        side: str,
        rules: Rules,
        everywhere: bool = False,
    ):
        positions = positions_of(rules)
        tables = {one: tabulate(player, rules).by_row() for one, player in players.items()}
        self.side, self.rules = side, rules
        self.outcome_x, self.is_over = positions.outcome_x, positions.is_over
        reached = np.full(len(positions), everywhere)
        reached[0] = True
        self._plies = []
        for ply in positions.plies:
            met = reached.take(ply.rows)
            if not met.all():
                ply = Ply(ply.number, ply.side, ply.rows[met], ply.children[met], ply.legal[met])
            possible = ply.legal
            if ply.side in tables:
                probs = tables[ply.side].take(ply.rows, axis=0)
                ply, possible = ply._replace(probs=probs), ply.legal & (probs > 0)
            reached[ply.children[possible]] = True
            self._plies.append(ply)
        self.decisions = sum(len(ply.rows) for ply in self._plies if ply.side == side)

    def __len__(self) -> int:
        return sum(len(ply.rows) for ply in self._plies)

    def plies(self, backward: bool = False) -> Iterator[Ply]:
        """The positions by ply, from the first to the last, or in reverse order."""
        return reversed(self._plies) if backward else iter(self._plies)

    def boards(self, ply: Ply) -> Boards:
        """The boards (B, cells) int8 of a ply."""
        return positions_of(self.rules).boards[ply.rows]


class Moves(NamedTuple):
    """The moves of at most CHUNK positions of one ply.

    children: (B, M) int32, the row after each of M moves or one of ENDS. cells: (B, M) int8, the
    moves. probs: (B, M), or None where every reply is possible.
    """

    children: NDArray[np.int32]
    cells: NDArray[np.int8]
    probs: Probs | None

    @property
    def bytes(self) -> int:
        """Memory of the moves."""
        return sum(array.nbytes for array in self if array is not None)


class Layer(NamedTuple):
    """The B positions of one ply: x, o (B,) bitboards, sorted, and their moves by chunks."""

    x: Marks
    o: Marks
    moves: list[Moves]

    @property
    def bytes(self) -> int:
        """Memory of the layer, and of four float64 results of each position."""
        return sum(moves.bytes for moves in self.moves) + (16 + 32) * len(self.x)


class BoardReach:
    """A reach on a board of any size.

    The rows are numbered by ply and then by the bitboards of X and O; after them come four rows for
    the ends of games. players: the policies by side; a side without one makes every reply. If all
    players play alike on symmetric boards, the positions are in canonical form.
    """

    def __init__(
        self,
        players: Mapping[str, Policy],
        side: str,
        rules: Rules,
        limit: Limit | None = None,
        progress: Progress | None = None,
    ):
        self.side, self.rules, self.limit = side, rules, checked_limit(limit)
        self.is_symmetric = all(plays_symmetrically(player) for player in players.values())
        # On boards that fit 32 bits, marks that wait to be looked up are kept in half the memory.
        self._marks = np.uint32 if fits_one_number(rules) else np.uint64
        self._players = {
            side: player.policy
            if self.is_symmetric and isinstance(player, CanonicalPolicy)
            else player
            for side, player in players.items()
        }
        self._layers: list[Layer] = []
        self.starts = [0, 1]
        self._bytes = 0
        x, o = (np.zeros(1, dtype=np.uint64) for _ in SIDES)
        while len(x):
            x, o = self._add_layer(x, o)
            if progress is not None:
                progress(side, len(self._layers), len(self))
        self.outcome_x = np.concatenate([np.zeros(len(self), dtype=np.int8), ENDS])
        self.is_over = np.arange(len(self.outcome_x)) >= len(self)
        self.decisions = sum(len(layer.x) for layer in self._layers[SIDES.index(side) :: 2])

    def __len__(self) -> int:
        return self.starts[-1]

    def plies(self, backward: bool = False) -> Iterator[Ply]:
        """The positions by ply, some at a time, from the first to the last, or reversed."""
        numbers = range(len(self._layers))
        for number in reversed(numbers) if backward else numbers:
            start = self.starts[number]
            for moves in self._layers[number].moves:
                children, cells, probs = moves
                rows = slice(start, start + len(children))
                start += len(children)
                legal = children != ILLEGAL
                yield Ply(number, SIDES[number % 2], rows, children, legal, probs, cells)

    def boards(self, ply: Ply) -> Boards:
        """The boards (B, cells) int8 of a ply."""
        return self.rules.to_boards(*self.bits(ply))

    def bits(self, ply: Ply) -> tuple[Marks, Marks]:
        """X's and O's bitboards (B,) uint64 of a ply, sorted by X's and then by O's."""
        layer, start = self._layers[ply.number], self.starts[ply.number]
        part = slice(ply.rows.start - start, ply.rows.stop - start)
        return layer.x[part], layer.o[part]

    # --- finding the positions ply by ply ---------------------------------------------------------

    def _add_layer(self, x: Marks, o: Marks) -> tuple[Marks, Marks]:
        """Add the layer of these positions, sorted; returns those of the next layer, sorted."""
        number, further = len(self._layers), 0
        moved, found = [], []
        for begin in range(0, len(x), CHUNK):
            part = slice(begin, begin + CHUNK)
            moves, after_x, after_o = self._moved(number, x[part], o[part])
            found.append(distinct(after_x, after_o, self.rules))
            after: list[Any] = [marks.astype(self._marks) for marks in (after_x, after_o)]
            moved.append((moves, after))
            further += moves.bytes + 2 * after[0].nbytes + 2 * found[-1][0].nbytes
            self._check(number, further)
        next_x, next_o = (np.concatenate(marks) for marks in zip(*found, strict=True))
        next_x, next_o = distinct(next_x, next_o, self.rules)
        del found
        index = PositionIndex(next_x, next_o, self.rules)
        layer = Layer(x, o, [])
        for moves, after in moved:
            goes_on = moves.children == 0
            moves.children[goes_on] = index.find(*after) + self.starts[-1]
            layer.moves.append(moves)
        self._layers.append(layer)
        self._bytes += layer.bytes
        if len(next_x):
            self.starts.append(self.starts[-1] + len(next_x))
        self._check(number, 2 * next_x.nbytes)
        return next_x, next_o

    def _moved(self, number: int, x: Marks, o: Marks) -> tuple[Moves, Marks, Marks]:
        """The moves of positions (B,) with `number` marks, and the positions after them.

        The children of moves that do not end the game are 0; there is one position for each.
        """
        cells, probs = self._moves(number, x, o)
        bits = np.array(self.rules.cell_bits, dtype=np.uint64)[cells]
        own, other = (x, o) if number % 2 == 0 else (o, x)
        after = own[:, None] | bits
        won = self.rules.has_line(after)
        ends = np.where(won, np.int32(X_WINS if number % 2 == 0 else O_WINS), np.int32(0))
        if number + 1 == self.rules.cells:
            ends[~won] = DRAW
        if probs is not None:
            taken = ((own | other)[:, None] & bits) != 0
            ends[taken | (probs == 0)] = ILLEGAL
        goes_on = ends == 0
        others = np.broadcast_to(other[:, None], after.shape)[goes_on]
        marks = (after[goes_on], others) if number % 2 == 0 else (others, after[goes_on])
        if self.is_symmetric:
            marks = canonical_forms(self.rules).find(*marks)[:2]
        return Moves(ends, cells, probs), *marks

    def _moves(self, number: int, x: Marks, o: Marks) -> tuple[NDArray[np.int8], Probs | None]:
        """The cells (B, M) of the moves, and their probabilities; None for every reply."""
        boards = self.rules.to_boards(x, o)
        player = self._players.get(SIDES[number % 2])
        if player is None:
            free = np.nonzero(boards == 0)[1].reshape(len(x), -1)
            return free.astype(np.int8), None
        probs = checked_probs(player.probs(boards), boards.shape)
        width = int((probs > 0).sum(axis=1).max())
        if width == 1:
            cells = probs.argmax(axis=1)[:, None]
        else:  # the cells of positive probability come first
            cells = np.argsort(probs <= 0, axis=1, kind="stable")[:, :width]
        return cells.astype(np.int8), np.take_along_axis(probs, cells, axis=1)

    def _check(self, number: int, further: int) -> None:
        """Raises ProofLimitError where the positions, or their memory, are beyond the limit."""
        megabytes = (self._bytes + further) / 1e6
        for name, found in (("positions", len(self)), ("megabytes", megabytes)):
            if found > (most := getattr(self.limit, name)):
                raise ProofLimitError(
                    f"the proof as {self.side} on {self.rules} needs more than {most:,} {name}: it "
                    f"found {len(self):,} positions up to ply {number + 1} of {self.rules.cells}; "
                    "raise the limit, or take a policy with one move in each position or a "
                    "CanonicalPolicy (tictactoe_env.exact), or sample games (sampled_result)"
                )


Reach: TypeAlias = TableReach | BoardReach
"""The positions that a policy can meet as `side`; row 0 is the start.

outcome_x: (N,) int8 by row, +1 where X has won, -1 where O has, else 0. is_over: (N,) bool.
decisions: the number of positions in which the policy has to move.
"""


def checked_limit(limit: Limit | None) -> Limit:
    """The limit, or the default one. Raises ValueError for numbers that are none or too small."""
    positions, megabytes = Limit() if limit is None else limit
    return Limit(
        whole_number(positions, "positions of a proof", 1, MAX_ROWS),
        whole_number(megabytes, "megabytes of a proof", 1),
    )
