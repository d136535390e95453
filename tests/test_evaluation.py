import numpy as np
import pytest
from sample_players import CellPlayer, FixedPlayer, Stubborn, best_player, random_probs

from tictactoe_env.certificate import exact_results
from tictactoe_env.evaluation import Evaluation, evaluate, exploitability
from tictactoe_env.match import Result, best_responses
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.rules import Rules

RATES = ("win", "draw", "loss", "illegal")
RECTANGLE = Rules(2, 4, 3)
X_WINS = Rules(2, 3, 2)  # O cannot avoid to lose, so there is no limit for it
PLAYERS = {
    "random": lambda rules: RandomPolicy(),
    "minimax": MinimaxPolicy,
    "fixed": lambda rules: FixedPlayer(1),
    "stubborn": lambda rules: Stubborn(),
    "stochastic": lambda rules: TabularPolicy(rules, random_probs(rules, np.random.default_rng(2))),
    "best": best_player,
}


def result(win, loss):
    return Result(win, 1 - win - loss, loss)


@pytest.mark.parametrize("rules", [Rules(), RECTANGLE, X_WINS], ids=str)
@pytest.mark.parametrize("name", PLAYERS)
def test_an_evaluation_says_what_the_certificate_says(name, rules):
    table = tabulate(PLAYERS[name](rules), rules)
    found, certified = evaluate(table), exact_results(table)
    for side in "xo":
        stated, against_random = certified[f"as_{side}"], getattr(found, side)
        assert {rate: getattr(against_random, rate) for rate in RATES} == stated["vs_random"]
        assert getattr(found, f"unbeatable_{side}") == stated["unbeatable"]
        assert getattr(found, f"optimal_{side}") == stated["optimal"]
    assert found.best_responses == best_responses(table)
    assert found.unbeatable == certified["unbeatable"]
    assert found.optimal == certified["optimal"]


def test_the_best_player_reaches_both_limits_and_minimax_does_not():
    best, minimax = (
        evaluate(tabulate(player, Rules()))
        for player in (best_player(Rules()), MinimaxPolicy(Rules()))
    )
    assert best.optimal
    assert (best.x.win, best.o.win) == (
        pytest.approx(191 / 192, abs=1e-15),
        pytest.approx(866 / 945, abs=1e-15),
    )
    assert minimax.unbeatable
    assert not minimax.optimal


def test_where_one_side_must_lose_nothing_is_unbeatable_or_optimal():
    best = evaluate(tabulate(MinimaxPolicy(X_WINS), X_WINS))
    assert best.unbeatable_x
    assert not best.unbeatable_o
    assert not best.unbeatable
    assert not best.optimal


def test_perfect_play_cannot_be_exploited_and_illegal_moves_can_be_entirely():
    assert exploitability(MinimaxPolicy(Rules())) == 0
    assert exploitability(MinimaxPolicy(X_WINS, "first")) == 0  # though O loses
    assert exploitability(CellPlayer(0), X_WINS) == 1


def test_sides_that_cannot_be_beaten_count_more_than_wins():
    none = Evaluation(result(1, 0), result(1, 0), False, False, False, False)
    one = Evaluation(result(0.1, 0), result(0, 1), True, False, False, False)
    other = Evaluation(result(0.2, 0.1), result(0, 0.9), False, True, False, False)
    both = Evaluation(result(0, 0), result(0, 0), True, True, False, False)
    more = Evaluation(result(0.2, 0), result(0, 0), True, True, True, True)
    ranked = sorted([more, both, other, one, none], key=lambda figures: figures.rank())
    assert ranked == [none, one, other, both, more]


def test_goals_are_reached_by_what_is_proven_and_steps_never_are():
    unbeatable = Evaluation(result(0.9, 0), result(0.8, 0), True, True, False, False)
    optimal = Evaluation(result(0.9, 0), result(0.8, 0), True, True, True, True)
    half = Evaluation(result(0.9, 0), result(0.8, 0), True, False, False, False)
    reached = {
        goal: [figures.reached(goal) for figures in (half, unbeatable, optimal)]
        for goal in ("steps", "unbeatable", "optimal")
    }
    assert reached == {
        "steps": [False, False, False],
        "unbeatable": [False, True, True],
        "optimal": [False, False, True],
    }
