"""apps/terminal/progress.py: the lines that a training prints."""

import re
from dataclasses import asdict
from io import StringIO

import numpy as np
import pytest
from learners import BOARDS
from rich.console import Console
from small_runs import assert_same

import agents
import train
from apps.terminal import progress, watched
from apps.terminal.progress import ASCII_BARS, CURVE, Display, curve, describe
from apps.terminal.watched import WatchedRun
from tictactoe_env import Rules, evaluate, make_opponent
from training.run import Run
from training.tally import Tally
from training.values import ValuedTable

WIN, DRAW, LOSS = ({"outcome": number, "terminal_observation": ()} for number in (1, 0, -1))
RANDOM, PERFECT = (make_opponent(name, Rules()) for name in ("random", "minimax"))


@pytest.mark.parametrize(
    "settings",
    [{"width": 100}, {"width": 100, "force_terminal": True}, {"width": 40, "force_terminal": True}],
)
def test_a_row_is_printed_at_each_tenth_with_news_and_when_something_is_first_proven(
    settings,
):
    console = Console(file=StringIO(), **settings)
    display = Display("agent", 1_000, 0, console)
    for steps, policy in (
        *((50, RANDOM), (120, RANDOM), (150, PERFECT), (160, PERFECT)),
        *((170, RANDOM), (210, PERFECT), (310, RANDOM), (1_000, PERFECT)),
    ):
        results = evaluate(policy, rules=Rules())
        display.advance(steps)
        display.show({"steps": steps, "seconds": 1.0, "games": 7.0}, results, policy)
    display.stop()
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", console.file.getvalue())
    rows = re.findall(r"^ *([\d,]+) +1\.0 ", shown, re.MULTILINE)
    assert rows == ["120", "150", "310", "1,000"]
    assert shown.count("cannot be beaten") >= 2
    assert ("1,000/1,000 steps" in shown) == ("force_terminal" in settings)


def test_lines_of_a_training_fit_80_columns_and_the_curve_falls_by_halves_to_no_loss():
    console = Console(file=StringIO(), width=80, force_terminal=True)
    display = Display("agent", 20_000_000, 0, console)
    for steps, policy in ((10_000_000, RANDOM), (20_000_000, PERFECT)):
        row = {"steps": steps, "seconds": 12_345.6}
        display.show(row, evaluate(policy, rules=Rules()), policy)
    display.stop()
    shown = console.file.getvalue()
    rows = re.findall(r"[\d,]+ 12345\.6 .*", shown)
    assert (len(rows), max(map(len, rows)) + len(", optimal") <= 80) == (2, True)
    assert "X █▁  O █▁" in shown
    assert curve([0.8, 0.4, 0.1, 0.0001, 0.0], ASCII_BARS) == "#*=._"
    assert len(curve(np.linspace(0, 1, 1_000))) == CURVE


def test_a_log_tells_the_notes_of_a_learner_below_each_line():
    console = Console(file=StringIO(), width=100)
    tally = Tally()
    display = Display("agent", 300, 0, console)
    results = evaluate(RANDOM, rules=Rules())
    for steps in (100, 200, 300):
        tally.add([WIN] * 1_000)
        display.show({"steps": steps, "seconds": 1.0, **tally.notes()}, results, RANDOM)
    shown = console.file.getvalue()
    assert re.findall(r"games ([\d,]+), wins in 1000 games 1,000", shown) == ["1,000", "3,000"]


@pytest.mark.parametrize("side", ["both", "X", "O"])
def test_a_log_has_the_values_of_the_first_moves_also_of_a_learner_as_o(side):
    """Each cell is worth its number, but after the opening b1 all of them are worth 2 less."""
    is_lower = (BOARDS[:, [1]] == 1) & (np.abs(BOARDS).sum(axis=1, keepdims=True) == 1)
    values = np.where(BOARDS == 0, np.arange(9) - 2 * is_lower, -np.inf)
    policy = ValuedTable(Rules(), values)
    console = Console(file=StringIO(), width=100)
    display = Display("agent", 300, 0, console, side=side)
    row = {"steps": 300, "seconds": 0.0}
    display.show(row, evaluate(policy, rules=Rules()), policy)
    shown = " ".join(console.file.getvalue().split())
    assert ("after b1" in shown, "1 0.0000 1.0000 2.0000" in shown) == (side == "O", side != "O")
    assert ("1 -2.0000 X 0.0000 2 1.0000" in shown) == (side == "O")


def test_a_watched_training_learns_the_same_and_is_seen_until_nobody_can_beat_it(
    tmp_path, monkeypatch, capsys
):
    seen = []
    monkeypatch.setattr(watched, "PICTURE_SECONDS", 0.0)
    monkeypatch.setattr(Display, "_below", lambda display, text: seen.append(text))
    module = agents.module("tabular_q")
    for kind in (Run, WatchedRun):
        console = Console(file=StringIO(), width=100, force_terminal=True)
        run = kind(tmp_path / kind.__name__, module, module.Config(), "unbeatable")
        with run.files.held():
            run.start()
            with progress.shown([run], console) as displays:
                run.train(*displays)
            run.finish()
    assert_same(tmp_path / "Run", tmp_path / "WatchedRun")
    assert run.pictures > len(run.record.rows) + 5
    text = "\n".join(seen)
    assert re.search("(?s)this game beats it as X: .*this game beats it as O: ", text)
    assert seen[-1].endswith("nobody can beat it")
    for is_terminal in ("", "1"):  # and then one that cannot move its cursor
        monkeypatch.setenv("FORCE_COLOR", is_terminal)
        monkeypatch.setenv("TERM", "dumb")
        with pytest.raises(SystemExit):
            train.main(["tabular_q", "--watch"])
        assert "--watch" in capsys.readouterr().err


def test_results_are_described_in_per_cent_with_what_is_proven():
    random = describe(evaluate(RANDOM, rules=Rules()))
    assert random == "X 58.49/28.81  O 28.81/58.49"
    assert describe(evaluate(PERFECT, rules=Rules())).endswith("cannot be beaten")


# --- windows of a thousand games ------------------------------------------------------------------


def shown(tally):
    return tuple(tally.notes().values())


def test_a_window_ends_with_its_thousandth_game_and_the_best_one_is_kept():
    tally = Tally()
    tally.add([WIN, {}] * 600 + [DRAW] * 300 + [LOSS] * 99)
    assert shown(tally) == (999, 0, 0, 0, 0)
    tally.add([WIN] * 2)
    assert shown(tally) == (1_001, 601, 300, 99, 601)
    tally.add([DRAW] * 999)
    assert shown(tally) == (2_000, 1, 999, 0, 601)
    tally.add([WIN] * 1_500 + [DRAW] * 900 + [LOSS] * 100)  # more than a window holds
    assert shown(tally) == (4_500, 500, 500, 0, 1_000)
    assert Tally(**asdict(tally)) == tally
