"""training/tally.py: wins in windows of a thousand games."""

from dataclasses import asdict

from training.tally import Tally

WIN, DRAW, GOES_ON = {"outcome": "win"}, {"outcome": "draw"}, {}


def test_a_window_ends_with_its_thousandth_game_and_the_best_one_is_kept():
    tally = Tally()
    tally.add([WIN, GOES_ON] * 600 + [DRAW] * 399)
    assert tally.notes() == {"games": 999, "wins of the last 1000": 0, "best window": 0}
    tally.add([WIN] * 2)
    assert tally.notes() == {"games": 1_001, "wins of the last 1000": 601, "best window": 601}
    tally.add([DRAW] * 999)
    assert tally.notes() == {"games": 2_000, "wins of the last 1000": 1, "best window": 601}
    tally.add([WIN] * 1_500 + [DRAW] * 1_000)  # more than a window holds
    assert asdict(tally) == {"games": 4_500, "won": 0, "last": 500, "best": 1_000}
