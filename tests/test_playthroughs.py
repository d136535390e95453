"""Recorded games: each is played again, and every line must be the same. Regenerate with tests/playthroughs/record.py and read the diff."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "playthroughs"
sys.path.insert(0, str(FOLDER))

import record  # noqa: E402

FILES = sorted(FOLDER.glob("*.txt"))


def test_every_game_of_the_script_is_recorded_and_no_other():
    assert [file.stem for file in FILES] == sorted(record.GAMES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_game_is_played_again_in_the_same_way(file):
    text = file.read_text()
    assert record.record(record.read(text)) == text


def test_the_recordings_hold_every_outcome_both_sides_both_observations_and_boards_that_are_not_square():
    texts = [file.read_text() for file in FILES]
    for part in (
        "'win'",
        "'draw'",
        "'loss'",
        "illegal_move True",
        "side         'X'",
        "side         'O'",
        '"observation": "grid"',
        '"rows": 2, "cols": 5',
        '"opening"',
        '"early_draw": true',
        '"start": "random"',
    ):
        assert any(part in text for text in texts), part
