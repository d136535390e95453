import math

import numpy as np
import pytest
from sample_players import Stubborn, fixed_table

from apps.players.seat import EXPECTED, KINDS, Seat
from tictactoe_env.exact.match import action_values
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.games.game import UNKNOWN
from tictactoe_env.notation import parse_board
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules


def thoughts(policy, board, rules, kind="own"):
    return Seat(UNKNOWN, rules, policy).thoughts(board, kind)


@pytest.mark.parametrize("text", [".../.../...", "X../.../...", "X../.O./..X"])
def test_a_table_without_values_is_given_its_exact_result_against_random_moves(text):
    board, table = parse_board(text, Rules()), fixed_table(Rules())
    found = thoughts(table, board, Rules())
    side = "XO"[(board != 0).sum() % 2]
    expected = action_values(side, table, RandomPolicy(), Rules(), board)
    assert found.values == [None if math.isnan(number) else number for number in expected]
    assert (found.kind, "random moves" in found.meaning) == (EXPECTED, True)


def test_the_thoughts_of_a_player_without_values_are_its_probabilities_and_its_illegal_ones():
    large = thoughts(RandomPolicy(), np.zeros(25, dtype=np.int8), Rules(5, 5, 4))
    assert (large.probs, large.values, large.kind) == ([0.04] * 25, None, "")
    board = parse_board("X../.O./...", Rules())
    found = thoughts(Stubborn(), board, Rules())
    assert found.illegal == 0.5
    assert found.probs == [None, *[0.5 / 7] * 3, None, *[0.5 / 7] * 4]


class Both(TabularPolicy):
    meaning, scale = "a guess", (0.0, 2.0)

    def q_values(self, boards):
        return np.where(np.arange(9) == 3, np.nan, 1.5) * np.ones((len(boards), 1))


def test_a_player_with_own_values_and_a_table_can_be_asked_for_either_kind():
    rules, board = Rules(), parse_board("X../.O./...", Rules())
    plain, player = fixed_table(rules), Both(rules, fixed_table(rules).table)
    own, expected = (thoughts(player, board, rules, kind) for kind in KINDS)
    assert own.values == [None, 1.5, 1.5, None, None, 1.5, 1.5, 1.5, 1.5], "NaN is not known"
    assert (own.kind, own.meaning, own.scale, own.kinds) == ("own", "a guess", (0, 2), KINDS)
    assert thoughts(player, board, rules) == own
    assert (expected.kind, expected.scale, expected.kinds) == ("expected", (-1, 1), KINDS)
    assert expected.values == thoughts(plain, board, rules).values
    assert thoughts(plain, board, rules, "own").kinds == ("expected",)
