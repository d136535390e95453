"""Players whose moves are no function of the board are refused; a draw that is stated is proven."""

import numpy as np
import pytest
from oracles.plain_game import Player
from sample_players import LineCounter
from text_cases import refuses

from tictactoe_env.certificates.certificate import certify
from tictactoe_env.exact.evaluation import evaluate, exploitability
from tictactoe_env.exact.match import best_responses, exact_result
from tictactoe_env.exact.provable import provable
from tictactoe_env.policy import CanonicalPolicy, GreedyPolicy, RandomPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.search.alphabeta import SearchPolicy
from tictactoe_env.search.mcts import MCTSPolicy

SMALL, BIG = Rules(), Rules(4, 4, 4)
NO_FUNCTION = "no function of the board"


class Scored:
    """Plays the free cells with probabilities as the scores of a function of it and the boards."""

    policy = RandomPolicy()  # what is inside says nothing of what is around it

    def __init__(self, scores):
        self.scores, self.calls, self.rng = scores, 0, np.random.default_rng(0)

    def probs(self, boards):
        self.calls += 1
        scores = np.where(boards == 0, self.scores(self, boards), 0)
        return scores / scores.sum(axis=1, keepdims=True)


def hidden_draw(player, boards):
    """Draws its move itself, and gives it the probability 1."""
    drawn = np.where(boards == 0, player.rng.random(boards.shape), 0)
    return drawn == drawn.max(axis=1, keepdims=True)


def first_move_in_turns(player, boards):
    """Changes its first move only, call by call."""
    cells = np.arange(1, 1 + boards.shape[1])[:: (-1) ** player.calls]
    return np.where(boards.any(axis=1, keepdims=True), 1, cells)


def of_its_batch(player, boards):
    """Looks at the other boards that it is asked for."""
    return np.roll(np.arange(1, 1 + boards.shape[1]), int(boards.sum()))


NO_FUNCTIONS = (hidden_draw, first_move_in_turns, of_its_batch)
ASKS = {
    "evaluate": lambda player, rules: evaluate(player, rules),
    "exploitability": lambda player, rules: exploitability(player, rules),
    "certify": lambda player, rules: certify(player, "test", rules),
    "best_responses": lambda player, rules: best_responses(player, rules),
    "exact_result": lambda player, rules: exact_result(RandomPolicy(), player, rules),
}


@pytest.mark.parametrize("rules", [SMALL, BIG], ids=str)
@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("kind", NO_FUNCTIONS)
def test_a_player_that_is_no_function_of_the_board_is_refused(kind, ask, rules):
    with refuses(NO_FUNCTION):
        ASKS[ask](Scored(kind), rules)


CLOCKED = (
    lambda rules: SearchPolicy(rules, seconds=0.01),
    lambda rules: MCTSPolicy(rules, milliseconds=1),
    lambda rules: GreedyPolicy(MCTSPolicy(rules, milliseconds=1)),
    lambda rules: CanonicalPolicy(MCTSPolicy(rules, milliseconds=1), rules),
)


@pytest.mark.parametrize("make", CLOCKED)
def test_a_search_that_is_ended_by_a_clock_is_refused_before_it_is_asked(make):
    with refuses(NO_FUNCTION, "clock"):
        evaluate(make(BIG), BIG)


def test_players_of_large_boards_are_asked_for_positions_of_random_games():
    asked = []

    def seen(board):
        asked.append(board)
        return {board.index(0): 1.0}

    provable(Player(seen), Rules(3, 5, 3))
    counts = {sum(map(abs, board)) for board in asked}
    assert counts >= set(range(9))
    assert (0,) * 15 in asked
    provable(LineCounter(BIG), BIG)
    provable(CanonicalPolicy(LineCounter(BIG), BIG), BIG)


def test_probabilities_may_differ_by_the_rounding_of_a_network():
    rounded = Scored(lambda player, boards: 1 + np.float32(1e-6) * player.rng.random(boards.shape))
    assert provable(rounded, SMALL).rules == SMALL
    for share, size in ((1, 0.001), (0.05, 1)):  # too much, and more than seldom

        def wandering(player, boards, share=share, size=size):
            changes = player.rng.random((len(boards), 1)) < share if player.calls == 1 else 0
            return 1 + changes * size * np.arange(boards.shape[1])

        with refuses(NO_FUNCTION):
            provable(Scored(wandering), BIG)
