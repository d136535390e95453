"""Recorded games: each is played again, and every line must be the same.

`python tests/playthroughs/record.py` writes them anew; read the diff.
"""

import pytest
from playthroughs import record

FILES = sorted(record.FOLDER.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_game_is_played_again_in_the_same_way(file):
    text = file.read_text(encoding="utf-8")
    assert record.record(record.read(text)) == text
