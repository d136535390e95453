"""Recorded games: each is played again, and every line must be the same.

`python tests/playthroughs/record.py` writes them anew; read the diff.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "playthroughs"
sys.path.insert(0, str(FOLDER))

import record  # noqa: E402

FILES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_game_is_played_again_in_the_same_way(file):
    text = file.read_text()
    assert record.record(record.read(text)) == text


def test_every_game_is_recorded_and_they_hold_every_outcome_side_and_kind_of_board():
    assert [file.stem for file in FILES] == sorted(record.GAMES)
    text = "".join(file.read_text() for file in FILES)
    for part in ("'win'", "'draw'", "'loss'", "illegal_move True", '"observation": "grid"'):
        assert part in text
    for part in ("side         'X'", "side         'O'", '"rows": 2, "cols": 5'):
        assert part in text
    for part in ('"opening"', '"early_draw": true', '"start": "random"'):
        assert part in text
