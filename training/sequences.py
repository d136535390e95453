"""Players whose move depends on the sequence of moves, not on the board alone.

Such a player has a tree: a node is a sequence of moves, and node 0 is the empty one. The player has
probabilities of its moves at each node, and it moves at random after any other sequence. Of these
sequences, which have left the tree, only the position counts: so the state of a game is a node of
the tree, or a position outside it.

`averaged` makes a table by position of it, as a certificate needs one. In each position it has the
mean of the player's moves over all sequences that lead there, weighted by their probability against
random play. Against random play the table has exactly the results of the player (Puterman 1994,
Markov Decision Processes, theorem 5.5.1). Against any other opponent its results may differ:
`worst_cases` are those of the player itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.rules import SIDES, Rules

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


class SequenceTree:
    """The tree of a player: its nodes, and the probabilities of its moves there.

    rows: (N,) the position of each node. edges: (N - 1,) the move to each node after the first, as
    cell + cells * the node before it. probs: (N, cells) of legal moves, rows sum to 1; those of a
    finished game are ignored.

    The S states are the nodes, followed by all positions. rows: (S,) their positions. after:
    (S, cells) the state after each move. legal: (S, cells) bool. random, probs: (S, cells) the
    probabilities of random play and of the player.
    """

    def __init__(self, rules: Rules, rows: list[int], edges: list[int], probs: Floats):
        self.rules, self.positions = rules, positions_of(rules)
        outside = len(rows) + self.positions.children
        self.after = np.concatenate([outside[rows], outside])
        self.after.flat[edges] = np.arange(1, len(rows))
        self.rows = np.concatenate([rows, np.arange(len(outside))])
        self.legal = self.positions.children[self.rows] >= 0
        self.random = self.legal / np.maximum(self.legal.sum(axis=1, keepdims=True), 1)
        self.probs = np.concatenate([probs, self.random[len(rows) :]])

    def plies(self) -> Iterator[tuple[str, Rows]]:
        """For each number of marks: the side to move, and the unfinished states."""
        ply, is_going = self.positions.ply[self.rows], ~self.positions.is_over[self.rows]
        for number in range(self.rules.cells):
            yield SIDES[number % 2], np.flatnonzero((ply == number) & is_going)


def worst_cases(tree: SequenceTree) -> dict[str, dict[str, float]]:
    """The probability of losing against a best response, as a certificate has it for each side."""
    found = {}
    for side, lost in zip(SIDES, (-1, 1), strict=True):
        outcome = tree.positions.outcome_x[tree.rows]
        losses = (tree.positions.is_over[tree.rows] & (outcome == lost)).astype(float)
        for mover, at in reversed(list(tree.plies())):
            after = np.where(tree.legal[at], losses[tree.after[at]], 0.0)
            expected = (tree.probs[at] * after).sum(axis=1)
            losses[at] = expected if mover == side else after.max(axis=1)
        found[f"as_{side.lower()}"] = {"worst_case_loss": float(losses[0])}
    return found


def averaged(tree: SequenceTree) -> TabularPolicy:
    """The table by position with the player's results against random play, on both sides.

    In positions that the player never reaches, its moves are random.
    """
    table = np.zeros((len(tree.positions), tree.rules.cells))
    for side in SIDES:
        shares = np.zeros(len(tree.rows))  # the probability of each state against random play
        shares[0] = 1.0
        for mover, at in tree.plies():
            probs = tree.probs if mover == side else tree.random
            moves = shares[at, None] * probs[at]
            if mover == side:
                np.add.at(table, tree.rows[at], moves)
            legal = tree.legal[at]
            np.add.at(shares, tree.after[at][legal], moves[legal])
    unfinished = tree.positions.unfinished
    legal = tree.positions.children[unfinished] >= 0
    table = table[unfinished]
    table = np.where(table.sum(axis=1, keepdims=True) == 0, legal, table)
    return TabularPolicy(tree.rules, table / table.sum(axis=1, keepdims=True))
