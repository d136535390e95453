"""training/tally.py: results in windows of a thousand games."""

from dataclasses import asdict
from math import isnan

from training.tally import Tally, windows_chart

WIN, DRAW, LOSS = ({"outcome": number, "terminal_observation": ()} for number in (1, 0, -1))
GOES_ON = {}
NAMES = ("wins_in_1000_games", "draws_in_1000_games", "losses_in_1000_games")


def shown(tally):
    notes = tally.notes()
    assert list(notes) == ["games", *NAMES, "most_wins_in_1000_games"]
    return tuple(notes.values())


def test_a_window_ends_with_its_thousandth_game_and_the_best_one_is_kept():
    tally = Tally()
    tally.add([WIN, GOES_ON] * 600 + [DRAW] * 300 + [LOSS] * 99)
    assert shown(tally) == (999, 0, 0, 0, 0)
    tally.add([WIN] * 2)
    assert shown(tally) == (1_001, 601, 300, 99, 601)
    tally.add([DRAW] * 999)
    assert shown(tally) == (2_000, 1, 999, 0, 601)
    tally.add([WIN] * 1_500 + [DRAW] * 900 + [LOSS] * 100)  # more than a window holds
    assert shown(tally) == (4_500, 500, 500, 0, 1_000)
    assert Tally(**asdict(tally)) == tally


def test_the_chart_of_windows_begins_where_there_are_some():
    tally = Tally(games=1_999, won=700, last=600, best=800)
    tally.add([WIN])
    assert shown(tally) == (2_000, 701, 0, 299, 800)
    chart = windows_chart([{"steps": 1_000}, {"steps": 2_000, **tally.notes()}], "duel")
    assert chart.xs == [1, 2]
    found = [values for _, _, values in chart.curves]
    assert [values[1] for values in found] == [701, 0, 299]
    assert all(isnan(values[0]) for values in found)
