"""Symmetric positions: their canonical form on bitboards, and policies that play by it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import symmetries_of
from tictactoe_env.policy import Policy, Probs, RandomPolicy, as_policy
from tictactoe_env.rules import Boards, Rules, checked_rules

PART_BITS = 11  # of a bitboard that are looked up at once; 2,048 entries stay in the fastest cache
Marks = NDArray[np.uint64]


@lru_cache(maxsize=8)
def canonical_forms(rules: Rules) -> CanonicalForms:
    """The canonical forms of a board's positions; the tables are made on first use and kept."""
    return CanonicalForms(rules)


class CanonicalForms:
    """Finds the canonical form of positions.

    It is the first of the position's images under the symmetries of the board, in the order of X's
    bitboard and then O's, compared as numbers. permutations: (S, cells), see
    `positions.symmetries_of`; `board[permutations[s]]` is an image.
    """

    def __init__(self, rules: Rules):
        self.rules, self.permutations = rules, symmetries_of(rules)
        size = rules.rows * (rules.cols + 1)
        self._parts = range(0, size, PART_BITS)
        self._images = [self._tables(permutation, size) for permutation in self.permutations]

    def _tables(self, permutation: NDArray[np.intp], size: int) -> list[Marks]:
        """The image of the bits of each part of a bitboard, one table for each part."""
        bit_of = np.zeros(size, dtype=np.uint64)  # where each bit goes; padding bits are never set
        place = {bit.bit_length() - 1: cell for cell, bit in enumerate(self.rules.cell_bits)}
        to = np.argsort(permutation)
        for number, cell in place.items():
            bit_of[number] = self.rules.cell_bits[to[cell]]
        tables = []
        for first in self._parts:
            table = np.zeros(1, dtype=np.uint64)
            for bit in bit_of[first : first + PART_BITS]:
                table = np.concatenate([table, table | bit])
            tables.append(table)
        return tables

    def find(self, x: Marks, o: Marks) -> tuple[Marks, Marks, NDArray[np.int8]]:
        """X's and O's bitboards (B,) uint64 in canonical form, and the symmetry that leads there.

        Of several such symmetries it is the one with the lowest number.
        """
        parts_x, parts_o = self._split(x), self._split(o)
        best_x, best_o = x.copy(), o.copy()
        which = np.zeros(len(x), dtype=np.int8)
        for symmetry, tables in enumerate(self._images[1:], 1):
            image_x, image_o = _joined(tables, parts_x), _joined(tables, parts_o)
            lower = (image_x < best_x) | ((image_x == best_x) & (image_o < best_o))
            np.copyto(best_x, image_x, where=lower)
            np.copyto(best_o, image_o, where=lower)
            which[lower] = symmetry
        return best_x, best_o, which

    def _split(self, marks: Marks) -> list[NDArray[np.intp]]:
        """The parts of bitboards (B,), as indices into the tables."""
        mask = np.uint64((1 << PART_BITS) - 1)
        return [((marks >> np.uint64(first)) & mask).astype(np.intp) for first in self._parts]


def _joined(tables: list[Marks], parts: list[NDArray[np.intp]]) -> Marks:
    first, *others = (table.take(part) for table, part in zip(tables, parts, strict=True))
    for other in others:
        first |= other
    return first


class CanonicalPolicy:
    """A policy that sees every board in canonical form, so it plays alike on symmetric boards.

    `policy` is asked about canonical boards only; its moves are turned back to the board as it is.
    Proofs are smaller by a factor of up to eight for such a policy, since positions that are equal
    under symmetry count once: see `proof`.
    """

    def __init__(self, policy: Any, rules: Rules):
        self.rules = checked_rules(rules)
        self.policy: Policy = as_policy(policy, rules)

    def probs(self, boards: Boards) -> Probs:
        """Probabilities (B, cells) on unfinished boards (B, cells)."""
        forms = canonical_forms(self.rules)
        boards = np.asarray(boards, dtype=np.int8)
        _, _, which = forms.find(*self.rules.to_bits(boards))
        cells = forms.permutations[which]
        seen = np.asarray(self.policy.probs(np.take_along_axis(boards, cells, axis=1)))
        turned = np.empty(seen.shape, dtype=np.float64)
        np.put_along_axis(turned, cells, seen, axis=1)
        return turned


def plays_symmetrically(policy: Any) -> bool:
    """Whether a policy plays alike on symmetric boards by the way in which it is made.

    That is a CanonicalPolicy, random play, and a policy whose `symmetric_probs` is the `probs` of
    its class, as of a `lines.LinesPolicy`. A subclass with its own `probs` does not count, nor does
    a wrapper: they may play otherwise, and proofs rely on it.
    """
    probs = getattr(type(policy), "probs", None)
    known = (CanonicalPolicy.probs, RandomPolicy.probs, getattr(policy, "symmetric_probs", None))
    return probs is not None and probs in known
