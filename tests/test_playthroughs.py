"""Recorded games: each is played again, and every line must be the same.

`python tests/playthroughs/record.py` writes them anew; read the diff.
"""

import pytest
from playthroughs import record

FILES = sorted(record.FOLDER.glob("*.txt"))
PARTS = [f"{name:12} {number}" for name in ("outcome", "side") for number in (1, -1)]
PARTS += ["reward 0.0, terminated True", "illegal_move 1", '"opponent": null', '"flat"']
PARTS += ['"observation": "grid"', '"rows": 2, "cols": 5', '"opening"', '"early_draw": true']


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_game_is_played_again_in_the_same_way(file):
    text = file.read_text(encoding="utf-8")
    assert record.record(record.read(text)) == text


def test_every_game_is_recorded_and_they_hold_every_outcome_side_and_kind_of_board():
    assert sorted(file.stem for file in FILES) == sorted(record.GAMES)
    text = "".join(file.read_text(encoding="utf-8") for file in FILES)
    assert not [part for part in (*PARTS, '"start": "random"') if part not in text]
