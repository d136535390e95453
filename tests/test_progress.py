"""training/progress.py: the lines that a training prints."""

import re
from io import StringIO

import pytest
from rich.console import Console

from tictactoe_env import Rules, evaluate, make_opponent
from training.progress import Display, describe, notes_text
from training.tally import Tally

WIN, DRAW, LOSS = ({"outcome": number, "terminal_observation": ()} for number in (1, 0, -1))
RANDOM, PERFECT = (make_opponent(name, Rules()) for name in ("random", "minimax"))


@pytest.mark.parametrize(
    "settings", [{"width": 100}, {"width": 40}, {"width": 100, "force_terminal": True}]
)
def test_a_row_is_printed_at_each_tenth_and_when_something_is_first_proven(settings, monkeypatch):
    monkeypatch.setattr("training.progress.PLAIN_SECONDS", 1e9)
    console = Console(file=StringIO(), **settings)
    display = Display("agent", 1_000, 0, console)
    for steps, policy in (
        *((50, RANDOM), (120, RANDOM), (150, PERFECT), (160, PERFECT)),
        *((170, RANDOM), (210, PERFECT), (1_000, PERFECT)),
    ):
        results = evaluate(policy, rules=Rules())
        display.show(steps, 1.0, results, policy, {"games": 7.0}, is_last=steps == 1_000)
    display.stop()
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", console.file.getvalue())
    rows = re.findall(r"^ *([\d,]+) (?:steps,| +1\.0)", shown, re.MULTILINE)
    assert rows == ["120", "150", "210", "1,000"]
    assert shown.count("unbeatable") >= 3
    assert ("1,000/1,000 steps" in shown) == ("force_terminal" in settings)


def test_results_are_described_in_per_cent_with_what_is_proven():
    random = describe(evaluate(RANDOM, rules=Rules()))
    assert random == "X 58.49/12.70/28.81   O 28.81/12.70/58.49"
    assert describe(evaluate(PERFECT, rules=Rules())).count("unbeatable") == 2


def test_the_notes_of_a_training_say_which_games_were_won():
    tally = Tally()
    tally.add([WIN] * 700 + [DRAW] * 299)
    assert notes_text(0, 0.0, tally.notes()) == "games 999"
    tally.add([DRAW] + [WIN] * 600 + [LOSS] * 1_234)
    text = notes_text(5_668, 2.0, {**tally.notes(), "learning_rate": 0.00025})
    for fact in ("2,834 steps", "games 2,834", "0.00025", "600 won", "400 lost", "700 won"):
        assert fact in text
