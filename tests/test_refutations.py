"""Moves that are proven to lose: true by the solver, enough to become unbeatable, and checked."""

import numpy as np
import pytest
from test_proof import Hashed, Mixed

from tictactoe_env import Rules
from tictactoe_env.exact.match import best_response
from tictactoe_env.exact.proof import BoardReach
from tictactoe_env.exact.refutations import Refutations
from tictactoe_env.exact.solver import solve
from tictactoe_env.exact.symmetry import CanonicalPolicy
from tictactoe_env.policy import one_hot

BOARDS = [
    *((rules, is_it) for rules in (Rules(3, 3, 3), Rules(2, 4, 3)) for is_it in (False, True)),
    pytest.param(Rules(4, 4, 4), True, marks=pytest.mark.slow),
]


class Careful:
    """The player that makes no refuted move where another one is left."""

    def __init__(self, player, refutations):
        self.player, self.refutations = player, refutations

    def probs(self, boards):
        weights = self.player.probs(boards) + np.arange(boards.shape[1], 0, -1) * 1e-3
        left = (boards == 0) & ~self.refutations.cells(boards)
        left = np.where(left.any(axis=1, keepdims=True), left, boards == 0)
        return one_hot(np.where(left, weights, -1).argmax(axis=1), boards.shape[1])


def wrapped(player, rules, is_canonical):
    return CanonicalPolicy(player, rules) if is_canonical else player


@pytest.mark.parametrize("side", ["X", "O"])
@pytest.mark.parametrize(("rules", "is_canonical"), BOARDS, ids=str)
def test_a_player_that_learns_from_its_proofs_becomes_unbeatable(rules, is_canonical, side):
    known, lines = Refutations(rules), []
    while len(lines) < 200 and (not lines or lines[-1] is not None):
        player = wrapped(Careful(Hashed(rules), known), rules, is_canonical)
        reach = BoardReach({side: player}, side, rules)
        lines.append(best_response(reach).losing_line)
        known = known.learn(reach)
    assert lines[0] is not None
    assert lines[-1] is None
    check(known, rules)


def check(refutations, rules):
    """Every refuted move loses in the solution of the game."""
    boards = rules.to_boards(refutations.x, refutations.o)
    refuted = refutations.cells(boards)
    assert refuted.any(axis=1).all()
    assert (solve(rules).move_values(boards)[refuted] == -1).all()


def test_moves_of_any_probability_are_refuted():
    rules = Rules(3, 3, 3)
    known = Refutations(rules).learn(BoardReach({"O": Mixed(rules)}, "O", rules))
    assert len(known) > 20
    check(known, rules)
