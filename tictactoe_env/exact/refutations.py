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

from tictactoe_env.exact.position_index import Marks, MoveSets
from tictactoe_env.exact.proof import O_WINS, X_WINS, BoardReach
from tictactoe_env.rules import Rules

NAMES = ("x", "o", "moves")


class Refutations(MoveSets):
    """The moves that are known to lose, by position.

    A policy that plays alike on symmetric boards has positions in canonical form here.
    """

    def learn(self, reach: BoardReach) -> Refutations:
        """These and the moves that a policy would make, which are refuted in what it can meet.

        The same object if there are none to add.
        """
        bits = np.array(self.rules.cell_bits, dtype=np.uint64)
        loses = np.zeros(len(reach.outcome_x), dtype=bool)
        loses[O_WINS if reach.side == "X" else X_WINS] = True
        found = [(self.x, self.o, self.moves)]
        for ply in reversed(reach.plies):
            after = loses[ply.children] & ply.legal
            if ply.probs is None:
                loses[ply.rows] = after.any(axis=1)
                continue
            assert ply.cells is not None
            x, o = ply.x, ply.o
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
        return Refutations(self.rules, *map(np.concatenate, zip(*found, strict=True)))


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
