import numpy as np
import pytest
from sample_players import Stubborn, fixed_table

from apps.players.seat import KINDS, Seat
from tictactoe_env.exact.match import action_values
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.games.game import UNKNOWN
from tictactoe_env.notation import parse_board
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules


def thoughts(policy, board, rules, kind="own"):
    return Seat(UNKNOWN, rules, policy).thoughts(board, kind)


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


@pytest.mark.parametrize("text", ["X../.O./...", "X../.O./..X"])
def test_a_player_with_own_values_and_a_table_can_be_asked_for_either_kind(text):
    """The expected ones are exact results against random moves; a plain table has no others."""
    rules, board = Rules(), parse_board(text, Rules())
    plain, free = fixed_table(rules), board == 0
    player = Both(rules, plain.table)
    own, expected = (thoughts(player, board, rules, kind) for kind in KINDS)
    assert own.values == [
        1.5 if is_free and cell != 3 else None for cell, is_free in enumerate(free)
    ]
    assert (own.kind, own.meaning, own.scale, own.kinds) == ("own", "a guess", (0, 2), KINDS)
    assert thoughts(player, board, rules) == own
    exact = action_values("XO"[(~free).sum() % 2], plain, RandomPolicy(), rules, board)
    assert expected.values == [
        float(n) if is_free else None for n, is_free in zip(exact, free, strict=True)
    ]
    assert (expected.kind, expected.scale, expected.kinds) == ("expected", (-1, 1), KINDS)
    assert thoughts(plain, board, rules, "own").kinds == ("expected",)
