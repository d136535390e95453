"""Moves that are proven to lose, found by the proofs of a policy.

    refutations = Refutations(rules)
    respond(policy, rules, refutations=refutations)    # learns from the proof
    refutations.cells(boards)                          # (B, cells): moves that lose for certain

A move is refuted if the other side can complete a line at once, or has a reply after which every
move is refuted. That follows from the rules alone, so it stays true whatever the policy becomes.
Only positions in which the policy itself would lose are looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.position_index import Marks, PositionIndex, in_order
from tictactoe_env.exact.proof import O_WINS, X_WINS, BoardReach
from tictactoe_env.rules import Boards, Rules

NAMES = ("x", "o", "moves")
NONE: Marks = np.zeros(0, dtype=np.uint64)


class Refutations:
    """The moves that are known to lose, by position.

    x, o: the bitboards (N,) uint64 of positions, sorted by X's and then by O's. moves: the refuted
    moves in each, as bitboards (N,). A policy that plays alike on symmetric boards has positions in
    canonical form here.
    """

    def __init__(self, rules: Rules, x: Marks = NONE, o: Marks = NONE, moves: Marks = NONE):
        self.rules, self.x, self.o, self.moves = rules, x, o, moves
        self._index = PositionIndex(self.x, self.o, rules)

    def __len__(self) -> int:
        return len(self.x)

    def bits(self, x: Marks, o: Marks) -> Marks:
        """The refuted moves of positions (B,) as bitboards (B,); 0 where none is known."""
        rows = self._index.find(x, o)
        if not len(self):
            return np.zeros(len(x), dtype=np.uint64)
        return np.where(rows >= 0, self.moves[rows], np.uint64(0))

    def cells(self, boards: Boards) -> NDArray[np.bool_]:
        """Which moves are refuted on boards (B, cells): (B, cells)."""
        found: NDArray[np.bool_] = self.rules.to_cells(self.bits(*self.rules.to_bits(boards))) > 0
        return found

    def learn(self, reach: BoardReach) -> Refutations:
        """These and the moves that a policy would make, which are refuted in what it can meet.

        The same object if there are none to add.
        """
        bits = np.array(self.rules.cell_bits, dtype=np.uint64)
        loses = np.zeros(len(reach.outcome_x), dtype=bool)
        loses[O_WINS if reach.side == "X" else X_WINS] = True
        found = [(self.x, self.o, self.moves)]
        for ply in reach.plies(backward=True):
            after = loses[ply.children] & ply.legal
            if ply.probs is None:
                loses[ply.rows] = after.any(axis=1)
                continue
            assert ply.cells is not None
            x, o = reach.bits(ply)
            known = self.bits(x, o)
            at = np.flatnonzero(after.any(axis=1) | ((known | x | o) == self.rules.full))
            x, o, known = x[at], o[at], known[at]
            made = np.where(after[at], bits[ply.cells[at]], np.uint64(0))
            refuted = known | np.bitwise_or.reduce(made, axis=1)
            refuted |= _refuted_at_once(x, o, ply.number, self.rules)
            loses[ply.rows.start + at] = (refuted | x | o) == self.rules.full
            is_new = refuted != known
            found.append((x[is_new], o[is_new], refuted[is_new]))
        if not any(len(x) for x, _, _ in found[1:]):
            return self
        return self._with(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def _with(self, x: Marks, o: Marks, moves: Marks) -> Refutations:
        """Those of these positions, which may come twice."""
        order, starts = in_order(x, o)
        joined = np.bitwise_or.reduceat(moves[order], starts)
        return Refutations(self.rules, x[order][starts], o[order][starts], joined)


def _refuted_at_once(x: Marks, o: Marks, number: int, rules: Rules) -> Marks:
    """The moves (B,) after which the other side can complete a line; `number` marks are set."""
    bits = np.array(rules.cell_bits, dtype=np.uint64)
    own, other = (x, o) if number % 2 == 0 else (o, x)
    is_free = ((x | o)[:, None] & bits) == 0
    wins = is_free & rules.has_line(own[:, None] | bits)
    threats = is_free & rules.has_line(other[:, None] | bits)
    left = threats.sum(axis=1, keepdims=True) - threats  # threats that the move does not stop
    refuted = np.where(is_free & ~wins & (left > 0), bits, np.uint64(0))
    joined: Marks = np.bitwise_or.reduce(refuted, axis=1)
    return joined
