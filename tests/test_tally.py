"""training/tally.py: wins in windows of a thousand games."""

from dataclasses import asdict

from training.tally import Tally


def test_a_window_ends_with_its_thousandth_game_and_the_best_one_is_kept():
    tally = Tally()
    tally.add([True] * 600 + [False] * 399)
    assert tally.notes() == {"games": 999, "wins of the last 1000": 0, "best window": 0}
    tally.add([True] * 2)
    assert tally.notes() == {"games": 1_001, "wins of the last 1000": 601, "best window": 601}
    assert tally.won == 1
    tally.add([False] * 999)
    assert tally.notes() == {"games": 2_000, "wins of the last 1000": 1, "best window": 601}


def test_more_games_than_a_window_holds_may_end_at_once():
    tally = Tally()
    tally.add([True] * 1_500 + [False] * 1_000)
    assert asdict(tally) == {"games": 2_500, "won": 0, "last": 500, "best": 1_000}
