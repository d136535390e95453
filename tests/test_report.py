import io
import re

import numpy as np
import pytest
from rich.console import Console
from sample_players import CellPlayer, FixedPlayer, fixed_table
from small_runs import best_player

from terminal import report as show
from tictactoe_env import match
from tictactoe_env.certificate import certify
from tictactoe_env.opponents import MinimaxPolicy
from tictactoe_env.policy import RandomPolicy, tabulate
from tictactoe_env.rules import Rules

RECTANGLE = Rules(2, 4, 3)
X_WINS = Rules(2, 3, 2)


def text_of(print_it, width=100):
    """What is written where the output is no terminal."""
    console = Console(file=io.StringIO(), width=width)
    print_it(console)
    return console.file.getvalue()


def certified(player, rules=None, **about):
    return certify(player, "somebody", rules or Rules(), **about)


# --- verdicts ----------------------------------------------------------------------------------------------------


def test_the_verdict_names_what_is_proven():
    assert show.verdict(certified(best_player(Rules()))) == (
        "PROVEN: unbeatable as X and as O, and no player that never loses wins more often against random"
    )
    assert show.verdict(certified(MinimaxPolicy(Rules()))) == (
        "PROVEN: unbeatable as X and as O; a player that never loses could win more often against random"
    )


def test_the_verdict_names_the_sides_that_can_be_beaten():
    assert show.verdict(certified(RandomPolicy())) == "can be beaten as X and as O"
    assert (
        show.verdict(certified(MinimaxPolicy(X_WINS), X_WINS))
        == "can be beaten as O (no O can avoid it on this board)"
    )
    sides = {
        "as_x": {"unbeatable": False, "limit_vs_random": {}},
        "as_o": {"unbeatable": True, "limit_vs_random": {}},
    }
    assert show.verdict({"optimal": False, "unbeatable": False, **sides}) == "can be beaten as X"


def test_the_worst_case_of_a_side_is_a_value_or_a_losing_game():
    assert show.best_response_text(certified(MinimaxPolicy(Rules()))["as_x"], "X") == (
        "no opponent can beat it; the best response leaves it +0.0000 (wins minus losses)"
    )
    assert show.best_response_text(certified(CellPlayer(0))["as_o"], "O") == (
        "can be beaten, with probability 1.0000 by the best response; shortest losing game: a1 a1"
    )
    assert show.best_response_text(certified(MinimaxPolicy(X_WINS), X_WINS)["as_x"], "X").endswith(
        "+1.0000 (wins minus losses)"
    )


@pytest.mark.parametrize("rules", [X_WINS, Rules(3, 4, 3)], ids=str)
def test_a_loss_that_no_player_can_avoid_is_said_to_be_one(rules):
    content = certified(MinimaxPolicy(rules), rules)
    assert show.best_response_text(content["as_o"], "O").startswith(
        "can be beaten (no O can avoid it on this board), with probability 1.0000 by the best response; "
    )
    assert (
        show.verdict(certified(RandomPolicy(), rules))
        == "can be beaten as X and as O (no O can avoid it on this board)"
    )


def test_a_certificate_is_shown_with_its_training_all_rates_and_the_limits():
    training = {
        "steps": 4096,
        "seconds": 8.25,
        "best_at": {"steps": 2048, "seconds": 4.0},
        "first_unbeatable": {"steps": 1024, "seconds": 2.0},
    }
    shown = text_of(
        lambda console: show.certificate(
            certified(RandomPolicy(), seed=7, training=training), console
        )
    )
    assert (
        "somebody on 3x3, 3 in a row, seed 7, best after 2,048 steps, 4.0 s of 4,096 steps, 8.2 s, unbeatable first after 2.0 s\n"
        in shown
    )  # on one line, though it is longer than the console
    assert "optimal first" not in shown
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in shown.splitlines()
        if line.startswith("│")
    ]
    assert rows[0] == [
        "X",
        "random",
        "58.4921",
        "12.6984",
        "28.8095",
        "0.0000",
    ]  # 737/1260, 8/63, 121/420
    assert rows[2] == ["X", "random, best achievable", "99.4792", "0.5208", "0.0000", "0.0000"]
    assert rows[3] == ["O", "random", "28.8095", "12.6984", "58.4921", "0.0000"]
    assert rows[5] == ["O", "random, best achievable", "91.6402", "8.3598", "0.0000", "0.0000"]
    assert len(rows) == 6
    assert re.search(
        r"optimal moves: \d+\.\d\d % of the positions it can reach, \d+\.\d\d % of all 4,520\n",
        shown,
    )
    assert shown.endswith("can be beaten as X and as O\n")


@pytest.mark.parametrize(
    "training",
    [
        5,
        [],
        "long",
        True,
        {},
        {"steps": 1},
        {"steps": 1, "seconds": 1.0, "best_at": 3},
        {"steps": "1", "seconds": 1.0, "best_at": {"steps": 1, "seconds": 1.0}},
        {"steps": 1, "seconds": float("nan"), "best_at": {"steps": 1, "seconds": 1.0}},
        {"steps": 1, "seconds": 10**400, "best_at": {"steps": 1, "seconds": 1.0}},
        {
            "steps": 1,
            "seconds": 1.0,
            "best_at": {"steps": 1, "seconds": 1.0},
            "first_optimal": None,
        },
    ],
)
def test_a_training_that_no_run_writes_is_refused(training):
    with pytest.raises(
        ValueError, match="the training of a certificate must hold steps and seconds"
    ):
        text_of(
            lambda console: show.certificate(certified(RandomPolicy(), training=training), console)
        )


def test_a_side_without_a_limit_has_no_row_for_it():
    shown = text_of(lambda console: show.certificate(certified(RandomPolicy(), X_WINS), console))
    assert shown.count("best achievable") == 1
    assert "seed" not in shown


def test_names_are_shown_as_they_are_written():
    name = "runs/[bold]x[/bold][/] 'y'"
    assert name in text_of(lambda console: show.say(name, console))
    assert name in text_of(
        lambda console: show.certificate(
            {**certified(RandomPolicy(), X_WINS), "agent": name}, console
        )
    )
    results = show.cross_table({name: fixed_table(X_WINS)})
    assert (
        text_of(lambda console: show.print_cross_table(results, console), width=20).count(name) == 2
    )


def test_a_line_is_not_broken_where_the_output_is_no_terminal():
    path = "runs/" + "a-very-long-name-" * 10
    assert (
        text_of(lambda console: show.say(f"saved: {path} look", console), width=40)
        == f"saved: {path} look\n"
    )


# --- the cross table ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [Rules(), RECTANGLE], ids=str)
def test_the_cross_table_holds_the_exact_results_of_everyone_against_everyone(rules):
    players = {
        "random": tabulate(RandomPolicy(), rules),
        "minimax": tabulate(MinimaxPolicy(rules), rules),
        "cell": tabulate(CellPlayer(1), rules),
    }
    results = show.cross_table(players)
    assert [list(row) for row in results.values()] == [list(players)] * 3
    for x_name, row in results.items():
        for o_name, cell in row.items():
            exact = match.exact_result(players[x_name], players[o_name])
            assert cell == {
                "win": exact.win,
                "draw": exact.draw,
                "loss": exact.loss,
                "illegal": exact.illegal,
            }
    shown = text_of(lambda console: show.print_cross_table(results, console))
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:-1]]
        for line in shown.splitlines()
        if len(cells := line.split("│")) > 4
    }
    assert list(rows) == list(players)
    assert rows["cell"][2] == "100.0/0.0/0.0"  # b1, and O answers on the same cell
    assert rows["minimax"][1].endswith("/0.0")


def test_the_values_of_the_empty_board_stand_in_a_grid_of_its_shape():
    best = tabulate(MinimaxPolicy(Rules()), Rules())
    lines = text_of(lambda console: show.first_move_values(best, console)).splitlines()
    values = match.action_values("X", best, RandomPolicy())
    grid = [[float(number) for number in line.split()[1:]] for line in lines[3:6]]
    assert np.allclose(grid, values.reshape(3, 3), atol=0.005)
    assert lines[2].split() == ["a", "b", "c"]
    rectangle = text_of(
        lambda console: show.first_move_values(fixed_table(RECTANGLE), console)
    ).splitlines()
    assert [line.split()[0] for line in rectangle[2:]] == ["a", "1", "2"]
    assert len(rectangle[3].split()) == 5


# --- results that are counted ------------------------------------------------------------------------------------


def test_counted_rates_are_those_of_the_side_with_its_interval():
    rules = Rules(4, 5, 4)
    found = match.sampled_result(FixedPlayer(1), RandomPolicy(), rules, 200, 7)
    x = show.count_games("X", FixedPlayer(1), RandomPolicy(), rules, 200, 7)
    o = show.count_games("O", RandomPolicy(), FixedPlayer(1), rules, 200, 7)
    assert x["win"] != x["loss"]
    assert (x["win"], x["draw"], x["loss"], x["games"]) == (
        found.result.win,
        found.result.draw,
        found.result.loss,
        200,
    )
    assert (o["win"], o["draw"], o["loss"], o["games"]) == (x["loss"], x["draw"], x["win"], 200)
    assert x["intervals"] == {name: list(ends) for name, ends in found.intervals.items()}
    assert o["intervals"] == {
        "win": x["intervals"]["loss"],
        "draw": x["intervals"]["draw"],
        "loss": x["intervals"]["win"],
    }
    illegal = show.count_games("O", CellPlayer(0), CellPlayer(0), rules, 10, 0)
    assert (illegal["loss"], illegal["illegal"]) == (1.0, 1.0), "X plays the cell first"


def test_counted_rates_are_written_in_per_cent_with_the_interval_in_brackets():
    lost = show.count_games("O", CellPlayer(0), CellPlayer(0), Rules(), 10, 0)
    assert show.rates_with_intervals(lost) == [
        "0.0 (0.0-27.8)",
        "0.0 (0.0-27.8)",
        "100.0 (72.2-100.0)",
        "100.0",
    ]  # Wilson, 10 of 10


def test_the_sampled_table_has_a_row_for_each_pair_and_says_that_it_is_sampled():
    rules = Rules(5, 5, 4)
    players = {"random": RandomPolicy(), "[fixed]": FixedPlayer(0)}
    results = show.sampled_table(players, rules, 50, 3)
    assert results["random"]["[fixed]"] == show.count_games(
        "X", players["random"], players["[fixed]"], rules, 50, 3
    )
    shown = text_of(lambda console: show.print_sampled_table(results, rules, 50, console), width=20)
    assert "5x5, 4 in a row: sampled, 50 games, 95 % interval (Wilson)" in shown
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in shown.splitlines()
        if line.startswith("│")
    ]
    assert rows == [
        [x, o, *show.rates_with_intervals(results[x][o])] for x in players for o in players
    ]


# --- names -------------------------------------------------------------------------------------------------------


def test_agents_are_named_by_the_last_part_of_their_path_where_that_is_unique():
    assert show.names_of(["runs/dqn-0", "runs/dqn-1/", "minimax"]) == ["dqn-0", "dqn-1", "minimax"]
    assert show.names_of(["a/dqn-0", "b/dqn-0", "random"]) == ["a/dqn-0", "b/dqn-0", "random"]
    assert show.names_of(["minimax-slip=0.1"]) == ["minimax-slip=0.1"]


def test_the_same_agent_twice_gets_two_names():
    assert show.names_of(["random", "random"]) == ["random", "random (2)"]
    assert show.names_of(["a/x", "b/x", "a/x", "a/x"]) == ["a/x", "b/x", "a/x (2)", "a/x (3)"]
    assert show.names_of(["random (2)", "random", "random"]) == [
        "random (2)",
        "random",
        "random (3)",
    ]
