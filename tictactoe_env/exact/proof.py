"""Proof by reach: the positions that a policy can meet as one side, against every reply.

    reach = reach_of({"X": policy}, "X", Rules(4, 4, 4))
    len(reach), reach.decisions         # positions, and those in which the policy decides

Whether a policy can be beaten depends on the positions that it can meet, and a policy that makes
one move in each position meets few: 88 of the 4,520 positions of 3x3 as X, ten thousand to a
million of the 9.7 million of 4x4. They are found ply by ply; positions with the same marks are one
position, however they were reached. If the policy is a `CanonicalPolicy`, positions that are equal
under symmetry are one as well.

On boards of up to 12 cells the rows are those of `positions.Positions`, on larger ones a reach has
rows of its own. Either way a policy is asked for the positions of each ply at once, each position
once, and the plies are walked, forwards or backwards: see `match` and `values`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.actions import checked_probs
from tictactoe_env.errors import whole_number
from tictactoe_env.exact.position_index import PositionIndex, distinct, fits_one_number
from tictactoe_env.exact.positions import NO_CELL, NO_CHILD, TABULATED, EndRow, Ply, positions_of
from tictactoe_env.exact.solver import asks_library
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.policy import (
    CanonicalPolicy,
    Model,
    Policy,
    Probs,
    RandomPolicy,
    as_policy,
    keeps,
    plays_symmetrically,
    possible_cells,
)
from tictactoe_env.rules import DRAW, LOSS, SIDES, WIN, Rules
from tictactoe_env.symmetry import canonical_forms

POSITIONS_AT_ONCE = 1 << 17  # so that arrays (B, cells) stay small
ASKED_POSITIONS = 2_000  # of a proof in which a library is asked for moves: see `asks_library`
_MAX_ROWS = 2**31 - 5  # of a reach: they are int32, and the ends of games take four

# The row after a move of a side, by its outcome for that side; 0 while the game goes on.
_ROW_AFTER = {side: np.zeros(4, dtype=np.int32) for side in SIDES}
_ROW_AFTER["X"][[WIN, DRAW, LOSS]] = EndRow.X_WINS, EndRow.DRAWN, EndRow.O_WINS
_ROW_AFTER["O"][[WIN, DRAW, LOSS]] = EndRow.O_WINS, EndRow.DRAWN, EndRow.X_WINS
_OUTCOMES_X = np.zeros(len(EndRow), dtype=np.int8)  # in the rows of ends
_OUTCOMES_X[[EndRow.X_WINS, EndRow.O_WINS]] = 1, -1

_Marks = NDArray[np.uint64]
Progress = Callable[[str, int, int], None]
"""Called after each ply with the side, the number of the ply and the positions found so far."""


class Limit(NamedTuple):
    """The limit of a proof: positions, and megabytes of memory for them.

    The memory is that of the positions, of their successors and of their results. What comes on top
    is the policy's own memory, and that of the work on POSITIONS_AT_ONCE: at most half a
    gigabyte, measured on 5x5 with random play, where every move is possible. A proof with minimax
    on 6x7 has at most 2,000 positions, because each is asked of a library.
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
    of up to 12 cells. Raises ProofLimitError beyond it. That the policies answer alike when they
    are asked again is seen to by `provable.to_be_met`.
    """
    known = {one: as_policy(player, rules) for one, player in players.items()}
    if rules.cells > TABULATED:
        return BoardReach(known, side, rules, limit, progress)
    return TableReach(known, side, rules, progress=progress)


class Reach:
    """The positions that a policy can meet as `side`; row 0 is the start.

    plies: the positions by ply, on large boards some at a time. outcome_x: (N,) int8 by row, +1
    where X has won, -1 where O has, else 0. is_over: (N,) bool. is_symmetric: whether the positions
    are in canonical form.
    """

    side: str
    rules: Rules
    plies: list[Ply]
    outcome_x: NDArray[np.int8]
    is_over: NDArray[np.bool_]
    is_symmetric: bool

    def __len__(self) -> int:
        return sum(len(ply.x) for ply in self.plies)

    @property
    def decisions(self) -> int:
        """The number of positions in which the policy has to move."""
        return sum(len(ply.x) for ply in self.plies if ply.side == self.side)

    def asked(self, policy: Policy | Model) -> int:
        """The number of positions for which the policy was asked, or looked up if it is a table.

        Symmetric positions are one for a CanonicalPolicy.
        """
        is_one = plays_symmetrically(policy) and not keeps(policy, RandomPolicy)
        if self.is_symmetric or not is_one:
            return self.decisions
        canonical = positions_of(self.rules).canonical
        own = [ply.rows for ply in self.plies if ply.side == self.side]
        return sum(len(np.unique(canonical[rows])) for rows in own)


class TableReach(Reach):
    """A reach on a board whose positions are tabulated; the rows are those of `Positions`.

    A policy that is no table is asked for the positions that it can meet, ply by ply.
    everywhere: whether all unfinished positions belong to it, also those that the players cannot
    meet. progress: called after each ply.
    """

    def __init__(
        self,
        players: Mapping[str, Policy],
        side: str,
        rules: Rules,
        everywhere: bool = False,
        progress: Progress | None = None,
    ):
        positions = positions_of(rules)
        tables = {
            one: player.by_row() for one, player in players.items() if keeps(player, TabularPolicy)
        }
        self.side = side
        self.rules = rules
        self.is_symmetric = False
        self.outcome_x = positions.outcome_x
        self.is_over = positions.is_over
        reached = np.full(len(positions), everywhere)
        reached[0] = True
        self.plies = []
        for ply in positions.plies:
            met = reached.take(ply.rows)
            if not met.all():
                parts = (ply.rows, ply.x, ply.o, ply.children)
                ply = Ply(ply.number, ply.side, *(part[met] for part in parts))
            if ply.side in tables:
                ply = ply._replace(probs=tables[ply.side].take(ply.rows, axis=0))
            elif ply.side in players and len(ply.x):
                boards = positions.boards[ply.rows]
                probs = checked_probs(players[ply.side].probs(boards), boards.shape, True)
                ply = _with_probs(ply, probs)
            reached[ply.children[ply.legal & ply.possible]] = True
            self.plies.append(ply)
            if progress is not None and len(ply.x):
                progress(side, ply.number + 1, int((reached & ~self.is_over).sum()))


def _with_probs(ply: Ply, probs: Probs) -> Ply:
    """The ply of a board with a policy's moves (B, cells), of which rows of zeros are no move."""
    is_none = ~probs.any(axis=1)
    if not is_none.any():
        return ply._replace(probs=probs)
    cells = np.tile(np.arange(probs.shape[1], dtype=np.int8), (len(probs), 1))
    children = ply.children.copy()
    cells[is_none] = NO_CELL
    children[is_none] = NO_CHILD
    probs[is_none, 0] = 1
    return ply._replace(children=children, probs=probs, cells=cells)


class RecordedMoves:
    """A player that reads out one move for each position, in the order of a reach."""

    def cells_at(self, x: _Marks, o: _Marks) -> NDArray[np.integer[Any]]:
        """The cells (B,) of its moves in positions (B,), which are the next ones."""
        raise NotImplementedError


class BoardReach(Reach):
    """A reach on a board of any size.

    The rows are numbered by ply and then by the bitboards of X and O; after them come four rows for
    the ends of games. players: the policies by side; a side without one makes every reply. If all
    players play alike on symmetric boards, the positions are in canonical form.
    """

    def __init__(
        self,
        players: Mapping[str, Policy | RecordedMoves],
        side: str,
        rules: Rules,
        limit: Limit | None = None,
        progress: Progress | None = None,
    ):
        self.side = side
        self.rules = rules
        self._limit = checked_limit(limit)
        self.is_symmetric = all(plays_symmetrically(player) for player in players.values())
        # On boards that fit 32 bits, marks that wait to be looked up are kept in half the memory.
        self._marks = np.uint32 if fits_one_number(rules) else np.uint64
        self._players = dict(players)
        if self.is_symmetric:  # the positions are canonical already
            for one, player in players.items():
                if keeps(player, CanonicalPolicy):
                    self._players[one] = player.policy
        if any(asks_library(player, rules) for player in self._players.values()):
            positions = min(self._limit.positions, ASKED_POSITIONS)
            self._limit = self._limit._replace(positions=positions)
        self.plies = []
        self._found = 1  # positions
        self._bytes = 0  # memory of those in `plies`
        number = 0
        x, o = (np.zeros(1, dtype=np.uint64) for _ in SIDES)
        while len(x):
            x, o = self._add_layer(number, x, o)
            number += 1
            if progress is not None:
                progress(side, number, self._found)
        self.outcome_x = np.concatenate([np.zeros(self._found, dtype=np.int8), _OUTCOMES_X])
        self.is_over = np.arange(len(self.outcome_x)) >= self._found

    # --- finding the positions ply by ply ---------------------------------------------------------

    def _add_layer(self, number: int, x: _Marks, o: _Marks) -> tuple[_Marks, _Marks]:
        """Add the positions with `number` marks, sorted; returns those after them, sorted."""
        first = self._found - len(x)
        further = 0
        moved = []
        found = []
        for begin in range(0, len(x), POSITIONS_AT_ONCE):
            part = slice(begin, begin + POSITIONS_AT_ONCE)
            ply, after_x, after_o = self._moved(number, first + begin, x[part], o[part])
            found.append(distinct(after_x, after_o, self.rules))
            after: list[Any] = [marks.astype(self._marks) for marks in (after_x, after_o)]
            moved.append((ply, after))
            marks_bytes = 2 * after[0].nbytes + 2 * found[-1][0].nbytes
            further += ply.bytes + marks_bytes
            self._check(number, further)
        next_x, next_o = (np.concatenate(marks) for marks in zip(*found, strict=True))
        next_x, next_o = distinct(next_x, next_o, self.rules)
        del found
        index = PositionIndex(next_x, next_o, self.rules)
        for ply, after in moved:
            goes_on = ply.children == 0
            ply.children[goes_on] = index.find(*after) + self._found
            self.plies.append(ply)
            self._bytes += ply.bytes + (16 + 32) * len(ply.x)  # and four float64 results of each
        self._found += len(next_x)
        self._check(number, 2 * next_x.nbytes)
        return next_x, next_o

    def _moved(self, number: int, first: int, x: _Marks, o: _Marks) -> tuple[Ply, _Marks, _Marks]:
        """Positions (B,) with `number` marks from row `first` on, and the positions after them.

        The children of moves that do not end the game are 0; there is one position for each.
        """
        cells, probs = self._moves(number, x, o)
        # The last entry is that of NO_CELL, which is no legal cell.
        bits = np.array([*self.rules.cell_bits, 0], dtype=np.uint64)[cells]
        side = SIDES[number % 2]
        own, other = (x, o) if side == "X" else (o, x)
        after = own[:, None] | bits
        ends = _ROW_AFTER[side].take(self.rules.result(after, other[:, None]))
        if probs is not None or not self.rules.all_free_are_legal:
            ends[(self.rules.legal(own | other)[:, None] & bits) == 0] = NO_CHILD
        if probs is not None:
            ends[probs == 0] = NO_CHILD
        goes_on = ends == 0
        others = np.broadcast_to(other[:, None], after.shape)[goes_on]
        moved = after[goes_on]
        after_x, after_o = (moved, others) if side == "X" else (others, moved)
        if self.is_symmetric:
            after_x, after_o, _ = canonical_forms(self.rules).find(after_x, after_o)
        rows = slice(first, first + len(x))
        return Ply(number, side, rows, x, o, ends, probs, cells), after_x, after_o

    def _moves(self, number: int, x: _Marks, o: _Marks) -> tuple[NDArray[np.int8], Probs | None]:
        """The cells (B, M) of the moves, and their probabilities; None for every reply."""
        player = self._players.get(SIDES[number % 2])
        if player is None:
            legal = self.rules.to_cells(self.rules.legal(x | o)) > 0
            if self.rules.all_free_are_legal:  # of which all positions of a ply have as many
                return np.nonzero(legal)[1].reshape(len(x), -1).astype(np.int8), None
            return possible_cells(legal).astype(np.int8), None
        if isinstance(player, RecordedMoves):
            return player.cells_at(x, o).astype(np.int8)[:, None], np.ones((len(x), 1))
        boards = self.rules.to_boards(x, o)
        probs = checked_probs(player.probs(boards), boards.shape, True)
        cells = possible_cells(probs > 0)
        probs = np.take_along_axis(probs, cells, axis=1)
        is_none = ~probs.any(axis=1)
        cells[is_none] = NO_CELL
        probs[is_none, :1] = 1
        return cells.astype(np.int8), probs

    def _check(self, number: int, further: int) -> None:
        """Raises ProofLimitError where the positions, or their memory, are beyond the limit."""
        megabytes = (self._bytes + further) / 1e6
        for name, found in (("positions", self._found), ("megabytes", megabytes)):
            if found > (most := getattr(self._limit, name)):
                error = ProofLimitError(
                    f"the proof as {self.side} on {self.rules} needs more than {most:,} {name}: it "
                    f"found {self._found:,} positions up to ply {number + 1} of {self.rules.cells}"
                )
                error.add_note(
                    "raise the limit, or take a policy with one move in each position or a "
                    "CanonicalPolicy (tictactoe_env), or sample games (sampled_result)"
                )
                raise error


def checked_limit(limit: Limit | None) -> Limit:
    """The limit, or the default one. Raises ValueError for numbers that are none or too small."""
    positions, megabytes = Limit() if limit is None else limit
    return Limit(
        whole_number(positions, "positions of a proof", 1, _MAX_ROWS),
        whole_number(megabytes, "megabytes of a proof", 1),
    )
