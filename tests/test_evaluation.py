import numpy as np
import pytest
from sample_players import FixedPlayer, Stubborn, random_probs
from small_runs import best_player

from tictactoe_env.certificate import exact_results
from tictactoe_env.match import Result
from tictactoe_env.opponents import MinimaxPolicy
from tictactoe_env.policy import RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.rules import Rules
from training.evaluation import Figures, judge, silent

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
def test_a_judgement_says_what_the_certificate_says(name, rules):
    table = tabulate(PLAYERS[name](rules), rules)
    judged, certified = judge(table), exact_results(table)
    for side, found in (("x", judged.x), ("o", judged.o)):
        stated = certified[f"as_{side}"]["vs_random"]
        assert (found.win, found.draw, found.loss, found.illegal) == tuple(
            stated[rate] for rate in ("win", "draw", "loss", "illegal")
        )
    assert (judged.unbeatable_x, judged.unbeatable_o) == (
        certified["as_x"]["unbeatable"],
        certified["as_o"]["unbeatable"],
    )
    assert judged.unbeatable == certified["unbeatable"]
    assert judged.optimal == certified["optimal"]


def test_the_best_player_reaches_both_limits_and_minimax_does_not():
    best, minimax = (
        judge(tabulate(player, Rules()))
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
    best = judge(tabulate(MinimaxPolicy(X_WINS), X_WINS))
    assert best.unbeatable_x
    assert not best.unbeatable_o
    assert not best.unbeatable
    assert not best.optimal


def test_sides_that_cannot_be_beaten_count_more_than_wins():
    none = Figures(result(1, 0), result(1, 0), False, False, False, False)
    one = Figures(result(0.1, 0), result(0, 1), True, False, False, False)
    other = Figures(result(0.2, 0.1), result(0, 0.9), False, True, False, False)
    both = Figures(result(0, 0), result(0, 0), True, True, False, False)
    more = Figures(result(0.2, 0), result(0, 0), True, True, True, True)
    ranked = sorted([more, both, other, one, none], key=lambda figures: figures.rank())
    assert ranked == [none, one, other, both, more]


def test_goals_are_reached_by_what_is_proven_and_steps_never_are():
    unbeatable = Figures(result(0.9, 0), result(0.8, 0), True, True, False, False)
    optimal = Figures(result(0.9, 0), result(0.8, 0), True, True, True, True)
    half = Figures(result(0.9, 0), result(0.8, 0), True, False, False, False)
    reached = {
        goal: [figures.reached(goal) for figures in (half, unbeatable, optimal)]
        for goal in ("steps", "unbeatable", "optimal")
    }
    assert reached == {
        "steps": [False, False, False],
        "unbeatable": [False, True, True],
        "optimal": [False, False, True],
    }


def test_a_silent_report_stops_at_its_goal_only_and_saves_nothing():
    random, minimax, best = (
        tabulate(player, Rules())
        for player in (RandomPolicy(), MinimaxPolicy(Rules()), best_player(Rules()))
    )

    def save(folder, everything=True):
        raise AssertionError("a silent report saves nothing")

    assert [silent()(1, player, save) for player in (random, minimax, best)] == [
        False,
        False,
        False,
    ]
    assert [silent("unbeatable")(1, player, save) for player in (random, minimax, best)] == [
        False,
        True,
        True,
    ]
    assert [silent("optimal")(1, player, save) for player in (random, minimax, best)] == [
        False,
        False,
        True,
    ]
