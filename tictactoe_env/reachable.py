"""Which boards play can reach: those that moves make in some order, X first, up to a first line.

Without gravity the numbers of marks and the lines tell. With gravity an order is looked for
backwards: the sides take their pieces off the board in turn, the last mover first. It is found, or
there is none, on boards of all sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.rules import Boards, Rules

_Marks = NDArray[np.uint64]  # bitboards (B,)


class Unreachable(NamedTuple):
    """A board that play cannot reach: its number among those that were asked for, and why."""

    number: int
    why: str


def unreachable(boards: Boards, rules: Rules) -> Unreachable | None:
    """A board of boards (B, cells) that play cannot reach, or None if there is none."""
    x, o = rules.to_bits(boards)
    ahead = boards.sum(axis=1)
    last = np.where(ahead > 0, x, o)  # the marks of the side that has moved last
    other = np.where(ahead > 0, o, x)
    faults = (
        ("a board has as many X as O or one more X", lambda: (ahead != 0) & (ahead != 1)),
        ("with gravity no mark is above a free cell", lambda: rules.floating(x | o) != 0),
        ("after the first line nobody can have moved", lambda: rules.has_line(other)),
        ("no order of moves with X first leads there", lambda: ~_is_made(last, other, rules)),
    )
    for why, find in faults:
        wrong = find()
        if wrong.any():
            return Unreachable(int(wrong.argmax()), why)
    return None


def _is_made(last: _Marks, other: _Marks, rules: Rules) -> NDArray[np.bool_]:
    """True where some order of moves makes these marks: (B,)."""
    found = _has_order(last, other, rules)
    bits = np.array(rules.cell_bits, dtype=np.uint64)
    for game in np.flatnonzero(rules.has_line(last)):  # only the last move can have made lines
        own = last[game : game + 1]
        theirs = other[game : game + 1]
        moves = bits[(bits & own & rules.uncovered(own | theirs)) != 0]
        before = own ^ moves
        ordered = _has_order(np.repeat(theirs, len(moves)), before, rules)
        found[game] = (ordered & ~rules.has_line(before)).any()
    return found


def _has_order(last: _Marks, other: _Marks, rules: Rules) -> NDArray[np.bool_]:
    """True where the sides can take their marks off the board in turn: (B,)."""
    found = np.ones(len(last), dtype=bool)
    if not rules.gravity:
        return found
    own, theirs = last, other
    while (taken := own | theirs).any():  # the highest piece first, which nearly always goes
        pieces = own & rules.uncovered(taken)
        highest = pieces & (~pieces + 1)
        found &= (highest != 0) | (taken == 0)
        own, theirs = theirs, own ^ highest
        if not found.any():
            break
    for game in np.flatnonzero(~found):
        found[game] = _finds_order(last[game : game + 1], other[game : game + 1], rules)
    return found


def _finds_order(last: _Marks, other: _Marks, rules: Rules) -> bool:
    """True if the sides can take the marks of one board (1,) off in turn: all ways are tried.

    The positions on the way differ in the cells that are taken, so there are at most
    (rows + 1)^cols of them. It takes 0.1 seconds on 6x7 and some seconds on 7x8, at most.
    """
    bits = np.array(rules.cell_bits, dtype=np.uint64)
    columns = np.array([[bits[col :: rules.cols].sum()] for col in range(rules.cols)])
    ways = last | other
    while ways.any():
        pieces = last & rules.uncovered(ways) & columns  # (cols, W), at most one in each
        ways = np.sort((ways ^ pieces)[pieces != 0])
        is_first = np.ones(len(ways), dtype=bool)  # `np.unique` takes up to five times as long
        np.not_equal(ways[1:], ways[:-1], out=is_first[1:])
        ways = ways[is_first]
        last, other = other, last
    return len(ways) > 0
