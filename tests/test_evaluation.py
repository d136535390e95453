import pytest
from sample_players import CellPlayer, best_player

from tictactoe_env.evaluation import UNTIL, Evaluation, evaluate, exploitability
from tictactoe_env.match import Result
from tictactoe_env.policy import MinimaxPolicy
from tictactoe_env.rules import Rules

X_WINS = Rules(2, 3, 2)  # O must lose to perfect play, so it has no best achievable result


def test_the_best_player_is_optimal_minimax_unbeatable_and_nobody_where_a_side_must_lose():
    best, minimax = evaluate(best_player(Rules())), evaluate(MinimaxPolicy(Rules()))
    assert (best.x.win, best.o.win) == pytest.approx((191 / 192, 866 / 945), abs=1e-15)
    assert (best.optimal, minimax.unbeatable, minimax.optimal) == (True, True, False)
    best = evaluate(MinimaxPolicy(X_WINS))
    assert (best.unbeatable_x, best.unbeatable_o) == (True, False)
    assert (best.unbeatable, best.optimal) == (False, False)


def test_perfect_play_cannot_be_exploited_and_illegal_moves_can_be_entirely():
    assert exploitability(MinimaxPolicy(Rules())) == 0
    assert exploitability(MinimaxPolicy(X_WINS, "first")) == 0  # though O loses
    assert exploitability(CellPlayer(0), X_WINS) == 1


def evaluation(x, o, proven):
    """(win, loss) on each side, and what is proven: unbeatable X, O, optimal X, O."""
    results = (Result(win, 1 - win - loss, loss) for win, loss in (x, o))
    return Evaluation(*results, *(sign == "+" for sign in proven))


def test_sides_that_cannot_be_beaten_count_more_than_wins():
    none = evaluation((1, 0), (1, 0), "----")
    one = evaluation((0.1, 0), (0, 1), "+---")
    other = evaluation((0.2, 0.1), (0, 0.9), "-+--")
    both = evaluation((0, 0), (0, 0), "++--")
    more = evaluation((0.2, 0), (0, 0), "++++")
    ranked = sorted([more, both, other, one, none], key=lambda found: found.rank())
    assert ranked == [none, one, other, both, more]


def test_goals_are_reached_by_what_is_proven_and_steps_never_are():
    found = [evaluation((0.9, 0), (0.8, 0), proven) for proven in ("+---", "++--", "++++")]
    reached = {goal: [one.reached(goal) for one in found] for goal in UNTIL}
    expected = {"steps": [False] * 3, "unbeatable": [False, True, True]}
    assert reached == expected | {"optimal": [False, False, True]}
