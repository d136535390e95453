"""training/progress.py: the lines that a training prints."""

from io import StringIO

import pytest
from rich.console import Console

from tictactoe_env import Rules, evaluate, make_opponent
from training.progress import Display, notes_text
from training.tally import Tally

BOARD = Rules()
WIN, DRAW, LOSS = ({"outcome": number, "terminal_observation": ()} for number in (1, 0, -1))


@pytest.fixture
def screen(monkeypatch):
    """A display of 1,000 steps on a file, for which no time goes by, and its lines."""
    monkeypatch.setattr("training.progress.PLAIN_SECONDS", 1e9)
    console = Console(file=StringIO(), width=100)
    display = Display("agent", 1_000, 0, console)

    def show(steps, policy):
        results = evaluate(policy, rules=BOARD)
        display.show(steps, 1.0, results, policy, {}, is_last=False)
        return console.file.getvalue().splitlines()

    return show


def test_a_row_is_printed_at_each_tenth_and_when_something_is_first_proven(screen):
    random, perfect = (make_opponent(name, BOARD) for name in ("random", "minimax"))
    assert screen(50, random) == []
    assert len(screen(120, random)) == 3  # two lines of heading
    assert screen(150, perfect)[3].split()[0] == "150"
    assert screen(150, perfect)[3].endswith("unbeatable")
    assert len(screen(160, perfect)) == len(screen(170, random)) == 4
    assert screen(210, perfect)[4].split()[0] == "210"


def test_the_notes_of_a_training_say_which_games_were_won():
    tally = Tally()
    tally.add([WIN] * 700 + [DRAW] * 300 + [WIN] * 600 + [LOSS] * 1_234)
    assert notes_text(5_668, 2.0, {**tally.notes(), "learning_rate": 0.00025}) == (
        "2,834 steps a second, games 2,834, learning rate 0.00025\n"
        "training games 1,001 to 2,000: 600 won, 0 drawn, 400 lost (best 1,000 games: 700 won)"
    )


def test_the_notes_leave_out_games_before_there_are_a_thousand():
    tally = Tally()
    tally.add([WIN] * 999)
    assert notes_text(0, 0.0, tally.notes()) == "games 999"
