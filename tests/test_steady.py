"""Players whose moves are no function of the board are refused; a draw that is stated is proven."""

import numpy as np
import pytest
from oracles.plain_game import Player
from sample_players import LineCounter
from text_cases import refuses

from tictactoe_env.canonical import CanonicalPolicy
from tictactoe_env.certificate import certify, exact_results
from tictactoe_env.evaluation import evaluate, exploitability
from tictactoe_env.match import best_responses, exact_result, result_vs_random
from tictactoe_env.mcts import TreeSearchPolicy
from tictactoe_env.policy import (
    FunctionPolicy,
    MixturePolicy,
    RandomPolicy,
)
from tictactoe_env.rules import Rules
from tictactoe_env.search import SearchPolicy
from tictactoe_env.steady import check_steady, steady_table

SMALL, BIG = Rules(), Rules(4, 4, 4)
NO_FUNCTION = "no function of the board"


class Base:
    def __init__(self, rules):
        self.rules, self.calls, self.rng = rules, 0, np.random.default_rng(0)

    def weights(self, boards):
        raise NotImplementedError

    def probs(self, boards):
        self.calls += 1
        scores = np.where(boards == 0, self.weights(boards), -np.inf)
        return np.eye(boards.shape[1])[scores.argmax(axis=1)]


class HiddenDraw(Base):
    """Draws its move itself, and gives it the probability 1."""

    def weights(self, boards):
        return self.rng.random(boards.shape)


class FirstMoveInTurns(Base):
    """Changes its first move only, call by call."""

    def weights(self, boards):
        cells = np.arange(boards.shape[1])
        return np.where(boards.any(axis=1)[:, None], cells, cells * (-1) ** self.calls)


class OfItsBatch(Base):
    """Looks at the other boards that it is asked for."""

    def weights(self, boards):
        return np.roll(np.arange(boards.shape[1]), int(boards.sum()))


class Noise(Base):
    """States probabilities that are drawn anew each time."""

    def probs(self, boards):
        weights = self.rng.random(boards.shape) * (boards == 0)
        return weights / weights.sum(axis=1, keepdims=True)


UNSTEADY = (HiddenDraw, FirstMoveInTurns, OfItsBatch, Noise)
ASKS = {
    "evaluate": lambda player, rules: evaluate(player, rules),
    "exploitability": lambda player, rules: exploitability(player, rules),
    "certify": lambda player, rules: certify(player, "test", rules),
    "certify lines": lambda player, rules: certify(player, "test", rules, lines_only=True),
    "best_responses": lambda player, rules: best_responses(player, rules),
    "exact_result": lambda player, rules: exact_result(player, RandomPolicy(), rules),
    "the other side": lambda player, rules: exact_result(RandomPolicy(), player, rules),
    "result_vs_random": lambda player, rules: result_vs_random("X", player, rules),
}


@pytest.mark.parametrize("rules", [SMALL, BIG], ids=str)
@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("kind", UNSTEADY)
def test_a_player_that_is_no_function_of_the_board_is_refused(kind, ask, rules):
    with refuses(NO_FUNCTION):
        ASKS[ask](kind(rules), rules)


def test_the_error_says_what_was_found_and_what_to_do():
    with refuses(NO_FUNCTION, "twice"):
        evaluate(FirstMoveInTurns(SMALL))
    with refuses(NO_FUNCTION, "order"):
        evaluate(OfItsBatch(SMALL))
    with refuses(NO_FUNCTION, "sampled_result", "--battle"):
        exact_results(HiddenDraw(SMALL))
    noise = Noise(SMALL)
    with refuses(NO_FUNCTION):
        evaluate(FunctionPolicy(lambda observations, masks: noise.probs(~masks), SMALL))


CLOCKED = (
    lambda rules: SearchPolicy(rules, seconds=0.01),
    lambda rules: TreeSearchPolicy(rules, milliseconds=1),
    lambda rules: MixturePolicy([(RandomPolicy(), 1), (SearchPolicy(rules, seconds=0.01), 1)]),
    lambda rules: CanonicalPolicy(TreeSearchPolicy(rules, milliseconds=1), rules),
)


@pytest.mark.parametrize("rules", [SMALL, BIG], ids=str)
@pytest.mark.parametrize("make", CLOCKED)
def test_a_search_that_is_ended_by_a_clock_is_refused_before_it_is_asked(make, rules):
    with refuses(NO_FUNCTION, "clock"):
        evaluate(make(rules), rules)


def test_players_of_large_boards_are_asked_for_positions_of_random_games():
    asked = []

    def seen(board):
        asked.append(board)
        return {board.index(0): 1.0}

    check_steady(Player(seen), Rules(3, 5, 3))
    counts = {sum(map(abs, board)) for board in asked}
    assert counts >= set(range(9))
    assert (0,) * 15 in asked
    check_steady(LineCounter(BIG), BIG)
    check_steady(CanonicalPolicy(LineCounter(BIG), BIG), BIG)


class Rounded(Base):
    """A function of the board up to the rounding of float32, in the order of its batch."""

    def probs(self, boards):
        weights = np.where(boards == 0, 1 + np.float32(1e-6) * self.rng.random(boards.shape), 0)
        return weights / weights.sum(axis=1, keepdims=True)


def test_probabilities_may_differ_by_the_rounding_of_a_network():
    assert steady_table(Rounded(SMALL), SMALL).rules == SMALL
