"""Players whose move depends on the sequence of moves, not on the board alone: exact results.

Such a player has a tree: a node is a sequence of moves, and node 0 is the empty one. The player has
probabilities of its moves at each node, and it moves at random after any other sequence. Its
results are computed over all sequences. Those that have left the tree need no nodes of their own,
because from there on only the position counts.

`averaged` makes a table by position of it, as a certificate needs one. In each position it has the
mean of the player's moves over all sequences that lead there, weighted by their probability against
random play. Against random play the table has exactly the results of the player (Puterman 1994,
Markov Decision Processes, theorem 5.5.1). Against any other opponent its results may differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import Positions, positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.rules import SIDES, Rules

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SequenceTree:
    """The tree of a player: its nodes, and the probabilities of its moves there.

    rows: (N,) the position of each node. children: (N, cells) the node after a move, -1 for none;
    a child has a higher number than its parent. probs: (N, cells) of legal moves, rows sum to 1;
    those of a finished game are ignored.
    """

    rules: Rules
    rows: NDArray[np.intp]
    children: NDArray[np.intp]
    probs: Floats

    @property
    def positions(self) -> Positions:
        """The positions of the board."""
        return positions_of(self.rules)

    def plies(self, backwards: bool = False) -> Any:
        """For each number of marks: the side to move, unfinished nodes, unfinished positions."""
        positions = self.positions
        ply, is_over = positions.ply[self.rows], positions.is_over
        order = range(self.rules.cells)
        for number in reversed(order) if backwards else order:
            nodes = np.flatnonzero((ply == number) & ~is_over[self.rows])
            first, last = positions.ply_starts[number : number + 2]
            rows = np.arange(first, last)[~is_over[first:last]]
            yield SIDES[number % 2], nodes, rows


def exact_results(tree: SequenceTree) -> dict[str, Any]:
    """As a JSON value, for each side: the result against random play, and the largest loss.

    `worst_case_loss` is the probability of losing against a best response.
    """
    found: dict[str, Any] = {}
    for side, won, lost in (("x", 1, -1), ("o", -1, 1)):
        win, draw, loss = (
            float(_expected(tree, side.upper(), outcome, best=False)) for outcome in (won, 0, lost)
        )
        found[f"as_{side}"] = {
            "vs_random": {"win": win, "draw": draw, "loss": loss},
            "worst_case_loss": float(_expected(tree, side.upper(), lost, best=True)),
        }
    return found


def _expected(tree: SequenceTree, side: str, outcome_x: int, best: bool) -> float:
    """The probability of an outcome. best: the other side maximizes it; else it plays at random."""
    positions = tree.positions
    outside = (positions.is_over & (positions.outcome_x == outcome_x)).astype(float)
    inside = outside[tree.rows]  # by node; `outside` is by position, for sequences not in the tree
    for mover, nodes, rows in tree.plies(backwards=True):
        for at, here, after in (
            (rows, rows, outside[positions.children[rows]]),
            (nodes, tree.rows[nodes], _after(tree, nodes, inside, outside)),
        ):
            legal = positions.children[here] >= 0
            if mover != side and best:
                values = np.where(legal, after, -np.inf).max(axis=1)
            else:
                uniform = legal / legal.sum(axis=1, keepdims=True)
                probs = tree.probs[nodes] if mover == side and at is nodes else uniform
                values = (probs * np.where(legal, after, 0.0)).sum(axis=1)
            (inside if at is nodes else outside)[at] = values
    return inside[0]


def _after(tree: SequenceTree, nodes: Any, inside: Floats, outside: Floats) -> Floats:
    """The values after each move at some nodes: (len(nodes), cells)."""
    children = tree.children[nodes]
    by_position = outside[tree.positions.children[tree.rows[nodes]]]
    return np.where(children >= 0, inside[children], by_position)


def averaged(tree: SequenceTree) -> TabularPolicy:
    """The table by position with the player's results against random play, on both sides.

    In positions that the player never reaches, its moves are random.
    """
    positions = tree.positions
    table = np.zeros((len(positions), tree.rules.cells))
    for side in SIDES:
        _add_moves(tree, side, table)
    legal = positions.children >= 0
    table[table.sum(axis=1) == 0] = 1.0
    table = np.where(legal, table, 0.0)[positions.unfinished]
    return TabularPolicy(tree.rules, table / table.sum(axis=1, keepdims=True))


def _add_moves(tree: SequenceTree, side: str, table: Floats) -> None:
    """Add the probability of each move of the player as `side` against random play."""
    positions = tree.positions
    inside, outside = np.zeros(len(tree.rows)), np.zeros(len(positions))
    inside[0] = 1.0
    for mover, nodes, rows in tree.plies():
        for at, here, share in (
            (nodes, tree.rows[nodes], inside[nodes]),
            (rows, rows, outside[rows]),
        ):
            after = positions.children[here]
            uniform = (after >= 0) / (after >= 0).sum(axis=1, keepdims=True)
            probs = tree.probs[nodes] if mover == side and at is nodes else uniform
            flow = share[:, None] * probs
            if mover == side:
                np.add.at(table, here, flow)
            left = after >= 0
            if at is nodes:
                children = tree.children[nodes]
                stays = children >= 0
                inside[children[stays]] = flow[stays]
                left &= ~stays
            np.add.at(outside, after[left], flow[left])
