"""benchmarks/scaling.py: the page of scaling is made of what was measured."""

import numpy as np
import pytest

from benchmarks import scaling
from tictactoe_env.match import best_response
from tictactoe_env.proof import reach_of
from tictactoe_env.rules import Rules

PAGE = scaling.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", scaling.TABLES)
def test_the_page_has_each_table_with_three_sizes_or_more(name):
    names, rows = scaling.table_on(PAGE, name)
    assert len({row[0] for row in rows}) >= 3
    assert {len(row) for row in rows} == {len(names)}
    changed = scaling.put(PAGE, name, scaling.Rows(names, rows[:1]))
    assert scaling.table_on(changed, name) == (names, rows[:1])
    assert scaling.put(changed, name, scaling.Rows(names, rows)) == PAGE
    with pytest.raises(ValueError, match=f"needs a table between <!-- {name} -->"):
        scaling.put("no such page", name, scaling.Rows(names, rows))


@pytest.mark.slow
def test_the_picture_is_drawn_from_the_page(tmp_path):
    scaling.draw(PAGE, tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").read_bytes().startswith(b"\x89PNG")


def test_the_player_by_hand_wins_and_blocks_before_anything_else():
    player = scaling.LineCounter(Rules())
    boards = [[1, 1, 0, -1, -1, 0, 0, 0, 0], [1, 0, 0, -1, -1, 0, 1, 0, 0]]
    boards.append([1, 1, 0, 0, -1, 0, 0, 0, 0])
    assert player.probs(np.array(boards, dtype=np.int8)).argmax(axis=1).tolist() == [2, 5, 2]


def test_the_proof_of_the_page_is_the_one_that_is_made_now():
    rows = scaling.table_on(PAGE, "proofs").rows
    board = Rules(4, 4, 4)
    row = next(row for row in rows if row[:3] == [str(board), "X", "no"])
    reach = reach_of(scaling.LineCounter(board), "X", board)
    assert (row[3], row[4]) == (f"{reach.decisions:,}", f"{len(reach):,}")
    assert (row[7] == "unbeatable") == (not best_response(reach).can_lose)


@pytest.mark.slow
def test_a_table_is_measured_and_printed(monkeypatch, capsys):
    monkeypatch.setattr(scaling, "ENUMERATED", (Rules(), Rules(2, 3, 2)))
    monkeypatch.setattr(scaling, "in_a_process", lambda function, *arguments: function(*arguments))
    assert scaling.main(["positions"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("| board | positions | found in s | solved in s | MB |\n| --- |")
    assert "| 3x3, 3 in a row | 5,478 | " in printed
    assert "| 2x3, 2 in a row | 129 | " in printed
