import io
import re

import numpy as np
import pytest
from consoles import printed
from rich.console import Console
from sample_players import CellPlayer, FixedPlayer, best_player, fixed_table
from text_cases import refuses, rows_of

from terminal import report as show
from tictactoe_env import RandomPolicy, Rules, make_opponent, match, tabulate
from tictactoe_env.certificate import certify, verify
from tictactoe_env.policy import MinimaxPolicy, TabularPolicy
from tictactoe_env.positions import positions_of

RECTANGLE, X_WINS = Rules(2, 4, 3), Rules(2, 3, 2)
UNAVOIDABLE = " (no O can avoid it on this board)"
ZERO = ["0.0000"] * 2


def certified(player, rules=None, **about):
    return certify(player, "somebody", rules or Rules(), **about)


WINS = "PROVEN on 2x3, 2 in a row: wins against everybody as X"
UNBEATABLE = "PROVEN on 3x3, 3 in a row: unbeatable as X and as O"
LOST = "can be beaten as X and as O"
BEST = f"{UNBEATABLE}, and optimal: no player that never loses wins more against random"
SAFE = f"{UNBEATABLE}, not optimal: a player that never loses could win more against random"


@pytest.mark.slow
def test_the_verdict_names_what_is_proven_and_the_sides_that_can_be_beaten():
    for player, rules, verdict in (
        (best_player(Rules()), Rules(), BEST),
        (MinimaxPolicy(Rules()), Rules(), SAFE),
        (RandomPolicy(), Rules(), "on 3x3, 3 in a row it can be beaten as X and as O"),
        (RandomPolicy(), Rules(3, 4, 3), f"on 3x4, 3 in a row it {LOST}{UNAVOIDABLE}"),
        (MinimaxPolicy(X_WINS), X_WINS, f"{WINS}; O cannot avoid losing on this board"),
    ):
        assert show.verdict(certified(player, rules)) == verdict
        lines = certified(player, rules, lines_only=True)
        # The best achievable results are not in it.
        expected = UNBEATABLE if verdict in (BEST, SAFE) else verdict.removesuffix(UNAVOIDABLE)
        assert show.verdict(lines) == expected
    only = certified(MinimaxPolicy(X_WINS), X_WINS, config={"side": "X"})
    assert show.verdict(only) == f"{WINS} (trained as X only; as O it can be beaten)"


def test_the_verdict_on_a_run_of_one_side_is_about_that_side_only():
    """It is perfect as X and marks the first cell as O, where it makes illegal moves."""
    perfect, cell = tabulate(MinimaxPolicy(Rules()), Rules()), tabulate(CellPlayer(0), Rules())
    boards = positions_of(Rules()).boards[positions_of(Rules()).unfinished]
    as_x = (boards.sum(axis=1) == 0)[:, None]
    player = TabularPolicy(Rules(), np.where(as_x, perfect.table, cell.table))
    on = "on 3x3, 3 in a row"
    for side, verdict in (
        ("X", f"PROVEN {on}: unbeatable as X (trained as X only; as O it can be beaten), "),
        ("O", f"{on} it can be beaten as O (trained as O only; as X unbeatable)"),
        ("both", f"{on} it can be beaten as O"),
    ):
        found = show.verdict(certified(player, config={"side": side}))
        assert found.startswith(verdict)
        assert found.endswith(verdict) or side == "X"


def test_a_configuration_that_names_one_side_does_not_hide_what_is_proven_of_the_other():
    """A configuration is not verified; anybody can write one."""
    content = certify(make_opponent("search-depth=1", Rules()), "forged", Rules())
    assert content["as_x"]["unbeatable"]
    assert not content["as_o"]["unbeatable"]
    forged = {**content, "config": {"side": "X"}}
    verify(forged)
    assert "(trained as X only; as O it can be beaten)" in show.verdict(forged)


def test_the_best_response_to_a_side_is_a_value_or_a_losing_game():
    lost = ", with a probability of up to 1.0000; shortest losing game: "
    minimax, cell, won = MinimaxPolicy(Rules()), CellPlayer(0), MinimaxPolicy(X_WINS)
    for player, rules, side, text in (
        (minimax, Rules(), "X", "unbeatable; its strongest opponent draws every game"),
        (won, X_WINS, "X", "wins against everybody"),
        (cell, Rules(), "O", f"can be beaten{lost}a1 a1"),
        (won, X_WINS, "O", f"can be beaten{UNAVOIDABLE}{lost}a1 b1 a2"),
    ):
        assert show.best_response_text(certified(player, rules), side) == text


def test_a_small_chance_of_a_loss_is_not_shown_as_none():
    content = certify(make_opponent("minimax-slip=1e-9", Rules()), "slips", Rules())
    text = show.best_response_text(content, "O")
    found = re.search(r"can be beaten, with a probability of up to (\S+);", text)
    assert float(found[1]) == float(f"{content['as_o']['worst_case_loss']:.1g}") > 0
    assert show.decimals(0.0) == "0.0000"
    assert (show.decimals(0.00005), show.decimals(4.9e-5)) == ("0.0001", "5e-05")


def test_a_certificate_is_shown_with_its_training_all_rates_and_the_best_achievable():
    best, first = {"steps": 2048, "seconds": 4.0}, {"steps": 1024, "seconds": 2.0}
    training = {"steps": 4096, "seconds": 8.25, "best_at": best, "first_unbeatable": first}
    content = certified(RandomPolicy(), seed=7, training=training, config={"side": "X"})
    shown = printed(show.certificate, content)
    assert "somebody on 3x3, 3 in a row, seed 7, trained as X only\n" in shown
    reached = "trained for 4,096 steps in 8.2 s, at its best after 2,048 (4.0 s), first unbeat"
    assert f"{reached}able after 2.0 s\n" in shown  # in a line, though the console is narrower
    assert "first optimal" not in shown
    assert "\n(limit against random): no opponent, but the results of the player that wins" in shown
    rows = rows_of(shown)
    random = ["58.4921", "12.6984", "28.8095", "0.0000"]  # 737/1260, 8/63, 121/420
    assert len(rows) == 6
    best = "(limit against random)"
    assert rows[0:3:2] == [["X", "random", *random], ["X", best, *["99.4792", "0.5208"], *ZERO]]
    assert rows[3] == ["O", "random", *random[2::-1], "0.0000"]
    assert rows[5] == ["O", best, "91.6402", "8.3598", *ZERO]
    assert re.search(r"perfect moves, .*: \d+\.\d\d % where it can get to, \d+", shown)
    assert "\nas X: can be beaten" in shown
    assert "\nas O (not trained for): can be beaten" in shown
    assert shown.endswith(
        "% in all 4,520 positions\n"
        "on 3x3, 3 in a row it can be beaten as X (trained as X only; as O it can be beaten)\n"
    )
    preset = {**training, "preset": "quick"}
    assert "\nsomebody-quick on 3x3" in printed(show.certificate, {**content, "training": preset})
    shown = printed(show.certificate, certified(RandomPolicy(), X_WINS))
    assert shown.count("│ (limit against random)") == 1, "there is none for O"
    assert "seed" not in shown


POINT = {"steps": 1, "seconds": 1.0}
NO_TRAINING = [
    *(5, [], "long", True, {}, {"steps": 1}, POINT | {"best_at": 3}),
    POINT | {"best_at": POINT, "steps": "1"},
    *(POINT | {"best_at": POINT, "seconds": seconds} for seconds in (float("nan"), 10**400)),
    POINT | {"best_at": POINT, "first_optimal": None},
]


def test_on_a_narrow_terminal_the_results_are_lines():
    content = certified(RandomPolicy())
    narrow = Console(file=io.StringIO(), width=40, force_terminal=True, color_system=None)
    show.certificate(content, narrow)
    shown = narrow.file.getvalue()
    assert max(map(len, shown.splitlines())) <= 40
    words = "as X against random: win 58.4921 %, draw 12.6984 %, loss 28.8095 %, illegal 0.0000 %"
    limit = "as X, limit against random: win 99.4792 %"
    assert not [one for one in (words, limit) if one not in " ".join(shown.split())]


def test_a_training_that_no_run_writes_is_refused():
    content = certified(RandomPolicy(), X_WINS)
    for training in NO_TRAINING:
        with refuses("the training of a certificate must hold steps and seconds"):
            printed(show.certificate, content | {"training": training})


def test_names_are_shown_as_they_are_written_and_lines_are_not_broken():
    name = "runs/[bold]x[/bold][/] 'y'"
    player = {name: fixed_table(X_WINS)}
    assert name in printed(show.say, name)
    content = certified(RandomPolicy(), X_WINS) | {"agent": name}
    assert name in printed(show.certificate, content)
    assert printed(show.print_cross_table, show.cross_table(player), width=20).count(name) == 2
    sampled = show.sampled_table(player, X_WINS, 9, 0)
    assert printed(show.print_sampled_table, sampled, X_WINS, 9, width=20).count(name) == 2
    line = f"saved: {'runs/a-very-long-name-' * 10} look"
    assert printed(show.say, line, width=40) == f"{line}\n"


def test_counted_rates_are_those_of_the_side_with_its_interval():
    rules, fixed, uniform = Rules(4, 5, 4), FixedPlayer(1), RandomPolicy()
    found = match.sampled_result(fixed, uniform, rules, 200, 7)
    x = show.count_games("X", fixed, uniform, rules, 200, 7)
    o = show.count_games("O", uniform, fixed, rules, 200, 7)
    assert x["win"] != x["loss"]
    intervals = {name: list(ends) for name, ends in found.intervals.items()}
    rates = {rate: getattr(found.result, rate) for rate in show.RATES}
    assert x == {"games": 200, **rates, "intervals": intervals}
    for own, other in (("win", "loss"), ("draw", "draw"), ("loss", "win")):
        assert (o[own], o["intervals"][own]) == (x[other], x["intervals"][other])
    lost = show.count_games("O", CellPlayer(0), CellPlayer(0), rules, 10, 0)
    text = ["0.0 (0.0-27.8)", "0.0 (0.0-27.8)", "100.0 (72.2-100.0)", "100.0"]
    assert show.rates_with_intervals(lost) == text, "Wilson, 10 of 10: X plays the cell first"


def test_names_are_the_last_parts_of_paths_and_all_different():
    for specs, names in (
        ("runs/dqn-0,runs/dqn-1/,minimax", "dqn-0,dqn-1,minimax"),
        ("a/dqn-0,b/dqn-0,random", "a/dqn-0,b/dqn-0,random"),
        ("minimax-slip=0.1", "minimax-slip=0.1"),
        ("random,random", "random,random (2)"),
        ("a/x,b/x,a/x,a/x", "a/x,b/x,a/x (2),a/x (3)"),
        ("random (2),random,random", "random (2),random,random (3)"),
    ):
        assert show.names_of(specs.split(",")) == names.split(",")
