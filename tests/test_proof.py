"""Proof by reach: against plain recursion, against tables, and players that lose only deep down."""

from functools import cache

import numpy as np
import pytest

from tictactoe_env import Rules, match
from tictactoe_env.proof import BoardReach, reach_of

SMALL = [Rules(3, 3, 3), Rules(2, 4, 3), Rules(3, 4, 3)]


class Hashed:
    """One arbitrary legal move in each position, the same in every process."""

    def __init__(self, salt=0):
        self.salt = salt

    def probs(self, boards):
        free = boards == 0
        weights = np.array(
            [
                [hash((self.salt, cell, *board)) % 1009 for cell in range(boards.shape[1])]
                for board in boards.tolist()
            ]
        )
        best = np.where(free, weights, -1).argmax(axis=1)
        return np.eye(boards.shape[1])[best]


def plain(policy, side, rules):
    """The positions met, those with a decision, and whether it can lose, by plain recursion."""
    met, decisions = set(), set()

    @cache
    def loses(board, number):
        met.add(board)
        mark = 1 if number % 2 == 0 else -1
        cells = [cell for cell in range(rules.cells) if not board[cell]]
        if "XO"[number % 2] == side:
            decisions.add(board)
            probs = policy.probs(np.array([board], dtype=np.int8))[0]
            cells = [cell for cell in range(rules.cells) if probs[cell] > 0]
        found = False
        for cell in cells:
            after = list(board)
            after[cell] = mark
            if any(all(after[c] == mark for c in line) for line in rules.lines):
                found |= "XO"[number % 2] != side
            elif number + 1 < rules.cells:
                found |= loses(tuple(after), number + 1)
        return found

    return loses((0,) * rules.cells, 0), met, decisions


@pytest.mark.parametrize("rules", SMALL, ids=str)
@pytest.mark.parametrize("side", ["X", "O"])
def test_a_reach_holds_the_positions_of_plain_recursion(rules, side):
    policy = Hashed()
    can_lose, met, decisions = plain(policy, side, rules)
    for reach in (BoardReach({side: policy}, side, rules), reach_of(policy, side, rules)):
        assert (len(reach), reach.decisions) == (len(met), len(decisions))
        boards = np.concatenate([reach.boards(ply) for ply in reach.plies()])
        assert set(map(tuple, boards.tolist())) == met
        assert match.best_response(reach).can_lose == can_lose
