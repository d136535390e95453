import io
import re

import numpy as np
import pytest
from rich.console import Console
from sample_players import CellPlayer, FixedPlayer, best_player, fixed_table

from terminal import report as show
from tictactoe_env import match
from tictactoe_env.certificate import certify
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy, tabulate
from tictactoe_env.rules import Rules

RECTANGLE, X_WINS = Rules(2, 4, 3), Rules(2, 3, 2)
UNAVOIDABLE = " (no O can avoid it on this board)"


def text_of(print_it, *arguments, width=100):
    """What is written where the output is no terminal."""
    console = Console(file=io.StringIO(), width=width)
    print_it(*arguments, console)
    return console.file.getvalue()


def certified(player, rules=None, **about):
    return certify(player, "somebody", rules or Rules(), **about)


# --- certificates -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("player", "rules", "verdict"),
    [
        (
            best_player(Rules()),
            Rules(),
            "PROVEN: unbeatable as X and as O, and no player that never loses wins more often "
            "against random",
        ),
        (
            MinimaxPolicy(Rules()),
            Rules(),
            "PROVEN: unbeatable as X and as O; a player that never loses could win more often "
            "against random",
        ),
        (RandomPolicy(), Rules(), "can be beaten as X and as O"),
        (RandomPolicy(), Rules(3, 4, 3), f"can be beaten as X and as O{UNAVOIDABLE}"),
        (MinimaxPolicy(X_WINS), X_WINS, f"can be beaten as O{UNAVOIDABLE}"),
    ],
)
def test_the_verdict_names_what_is_proven_and_the_sides_that_can_be_beaten(player, rules, verdict):
    assert show.verdict(certified(player, rules)) == verdict


def test_the_best_response_to_a_side_is_a_value_or_a_losing_game():
    draws, wins = (
        show.best_response_text(certified(MinimaxPolicy(rules), rules)["as_x"], "X")
        for rules in (Rules(), X_WINS)
    )
    never = "no opponent can beat it; the best response leaves it"
    assert draws == f"{never} +0.0000 (wins minus losses)"
    assert wins == f"{never} +1.0000 (wins minus losses)"
    assert show.best_response_text(certified(CellPlayer(0))["as_o"], "O") == (
        "can be beaten, with probability 1.0000 by the best response; shortest losing game: a1 a1"
    )
    lost = show.best_response_text(certified(MinimaxPolicy(X_WINS), X_WINS)["as_o"], "O")
    assert lost.startswith(f"can be beaten{UNAVOIDABLE}, with probability 1.0000 by the best resp")


def test_a_certificate_is_shown_with_its_training_all_rates_and_the_best_achievable():
    best, first = {"steps": 2048, "seconds": 4.0}, {"steps": 1024, "seconds": 2.0}
    training = {"steps": 4096, "seconds": 8.25, "best_at": best, "first_unbeatable": first}
    content = certified(RandomPolicy(), seed=7, training=training, config={"side": "X"})
    shown = text_of(show.certificate, content)
    assert (
        "somebody on 3x3, 3 in a row, seed 7, trained as X only, best after 2,048 steps, 4.0 s of "
        "4,096 steps, 8.2 s, unbeatable first after 2.0 s\n" in shown
    )  # on one line, though it is longer than the console
    assert "optimal first" not in shown
    rows = rows_of(shown)
    random = ["58.4921", "12.6984", "28.8095", "0.0000"]  # 737/1260, 8/63, 121/420
    assert len(rows) == 6
    assert rows[0] == ["X", "random", *random]
    assert rows[2] == ["X", "random, best achievable", "99.4792", "0.5208", "0.0000", "0.0000"]
    assert rows[3] == ["O", "random", *random[2::-1], "0.0000"]
    assert rows[5] == ["O", "random, best achievable", "91.6402", "8.3598", "0.0000", "0.0000"]
    assert re.search(r"optimal moves: \d+\.\d\d % of the positions it can reach, \d+", shown)
    assert shown.endswith("% of all 4,520\ncan be beaten as X and as O\n")
    preset = {**training, "preset": "quick"}
    assert "\nsomebody-quick on 3x3" in text_of(show.certificate, {**content, "training": preset})
    shown = text_of(show.certificate, certified(RandomPolicy(), X_WINS))
    assert shown.count("best achievable") == 1, "there is none for O"
    assert "seed" not in shown


POINT = {"steps": 1, "seconds": 1.0}


@pytest.mark.parametrize(
    "training",
    [
        *(5, [], "long", True, {}, {"steps": 1}, POINT | {"best_at": 3}),
        POINT | {"best_at": POINT, "steps": "1"},
        POINT | {"best_at": POINT, "seconds": float("nan")},
        POINT | {"best_at": POINT, "seconds": 10**400},
        POINT | {"best_at": POINT, "first_optimal": None},
    ],
)
def test_a_training_that_no_run_writes_is_refused(training):
    content = certified(RandomPolicy(), X_WINS, training=training)
    with pytest.raises(ValueError, match="the training of a certificate must hold steps and sec"):
        text_of(show.certificate, content)


def test_names_are_shown_as_they_are_written_and_lines_are_not_broken():
    name = "runs/[bold]x[/bold][/] 'y'"
    assert name in text_of(show.say, name)
    content = certified(RandomPolicy(), X_WINS) | {"agent": name}
    assert name in text_of(show.certificate, content)
    results = show.cross_table({name: fixed_table(X_WINS)})
    assert text_of(show.print_cross_table, results, width=20).count(name) == 2
    line = f"saved: {'runs/a-very-long-name-' * 10} look"
    assert text_of(show.say, line, width=40) == f"{line}\n"


# --- several agents ---------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [Rules(), RECTANGLE], ids=str)
def test_the_cross_table_holds_the_exact_results_of_everyone_against_everyone(rules):
    policies = {"random": RandomPolicy(), "minimax": MinimaxPolicy(rules), "cell": CellPlayer(1)}
    players = {name: tabulate(policy, rules) for name, policy in policies.items()}
    results = show.cross_table(players)
    assert [list(row) for row in results.values()] == [list(players)] * 3
    for x, o in ((x, o) for x in players for o in players):
        exact = match.exact_result(players[x], players[o])
        assert results[x][o] == {rate: getattr(exact, rate) for rate in show.RATES}
    rows = {row[0]: row[1:] for row in rows_of(text_of(show.print_cross_table, results))}
    assert list(rows) == list(players)
    assert rows["cell"][2] == "100.0/0.0/0.0"  # b1, and O answers on the same cell
    assert rows["minimax"][1].endswith("/0.0")


@pytest.mark.parametrize("rules", [Rules(), RECTANGLE], ids=str)
def test_the_values_of_the_empty_board_stand_in_a_grid_of_its_shape(rules):
    best = tabulate(MinimaxPolicy(rules), rules)
    lines = text_of(show.first_move_values, best).splitlines()[2:]
    assert lines[0].split() == list("abcd"[: rules.cols])
    values = match.action_values("X", best, RandomPolicy()).reshape(rules.rows, rules.cols)
    grid = [[float(number) for number in line.split()[1:]] for line in lines[1:]]
    assert np.allclose(grid, values, atol=0.005)


def test_counted_rates_are_those_of_the_side_with_its_interval():
    rules, fixed, uniform = Rules(4, 5, 4), FixedPlayer(1), RandomPolicy()
    found = match.sampled_result(fixed, uniform, rules, 200, 7)
    x = show.count_games("X", fixed, uniform, rules, 200, 7)
    o = show.count_games("O", uniform, fixed, rules, 200, 7)
    assert x["win"] != x["loss"]
    assert {rate: x[rate] for rate in show.RATES} == {
        rate: getattr(found.result, rate) for rate in show.RATES
    }
    assert x["intervals"] == {name: list(ends) for name, ends in found.intervals.items()}
    assert (x["games"], o["games"]) == (200, 200)
    for own, other in (("win", "loss"), ("draw", "draw"), ("loss", "win")):
        assert (o[own], o["intervals"][own]) == (x[other], x["intervals"][other])
    lost = show.count_games("O", CellPlayer(0), CellPlayer(0), rules, 10, 0)
    text = ["0.0 (0.0-27.8)", "0.0 (0.0-27.8)", "100.0 (72.2-100.0)", "100.0"]
    assert show.rates_with_intervals(lost) == text, "Wilson, 10 of 10: X plays the cell first"


def test_the_sampled_table_has_a_row_for_each_pair_and_says_that_it_is_sampled():
    rules, players = Rules(5, 5, 4), {"random": RandomPolicy(), "[fixed]": FixedPlayer(0)}
    results = show.sampled_table(players, rules, 50, 3)
    pair = players["random"], players["[fixed]"]
    assert results["random"]["[fixed]"] == show.count_games("X", *pair, rules, 50, 3)
    shown = text_of(show.print_sampled_table, results, rules, 50, width=20)
    assert "5x5, 4 in a row: sampled, 50 games, 95 % interval (Wilson)" in shown
    assert rows_of(shown) == [
        [x, o, *show.rates_with_intervals(results[x][o])] for x in players for o in players
    ]


@pytest.mark.parametrize(
    ("specs", "names"),
    [
        ("runs/dqn-0 runs/dqn-1/ minimax", "dqn-0 dqn-1 minimax"),
        ("a/dqn-0 b/dqn-0 random", "a/dqn-0 b/dqn-0 random"),
        ("minimax-slip=0.1", "minimax-slip=0.1"),
        ("random random", "random random_(2)"),
        ("a/x b/x a/x a/x", "a/x b/x a/x_(2) a/x_(3)"),
        ("random_(2) random random", "random_(2) random random_(3)"),
    ],
)
def test_names_are_the_last_parts_of_paths_and_all_different(specs, names):
    given = [spec.replace("_", " ") for spec in specs.split()]
    assert show.names_of(given) == [name.replace("_", " ") for name in names.split()]
