"""Charts: a PNG file, and what its lines say."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from tictactoe_env.rules import Rules
from training.charts import draw, learning_curves
from training.learner import Table


def rows(*wins, safe_from=9):
    found = []
    for number, win in enumerate(wins):
        row = {"steps": 1000 * (number + 1)}
        for side in "xo":
            row |= {f"{side}_win": win, f"{side}_draw": 0.1, f"{side}_loss": 0.9 - win}
            row[f"unbeatable_{side}"] = int(number >= safe_from)
        found.append(row)
    return found


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are saved."""
    figures, save = [], Figure.savefig
    both = lambda figure, *a, **k: (figures.append(figure), save(figure, *a, **k))  # noqa: E731
    monkeypatch.setattr(Figure, "savefig", both)
    return figures


def lines(axes):
    curves = {line.get_label(): line.get_data() for line in axes.get_lines()}
    return {name: [list(map(float, data)) for data in curve] for name, curve in curves.items()}


def test_the_learning_curves_have_a_panel_for_each_side_and_the_limit_of_safe_play(tmp_path, drawn):
    path = tmp_path / "growth.png"
    learning_curves([rows(0.2, 0.5, 0.8, safe_from=1)], Rules(), path, "dqn, seed 7")
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    (figure,) = drawn
    assert figure.get_suptitle() == "dqn, seed 7"
    for axes, limit in zip(figure.axes, (100 * 191 / 192, 100 * 866 / 945), strict=True):
        curves = list(lines(axes).values())
        assert curves[:3] == [
            [[1, 2, 3], pytest.approx([20, 50, 80])],
            [[1, 2, 3], pytest.approx([10, 10, 10])],
            [[1, 2, 3], pytest.approx([70, 40, 10])],
        ]
        assert [[0, 1], pytest.approx([limit, limit])] in curves


def test_a_study_shows_each_side_and_both_and_medians_from_where_all_runs_have_a_value(
    tmp_path, drawn
):
    late = rows(0.4, 0.8, safe_from=0)[1:]
    runs = [rows(0.2, 0.4, safe_from=1), late]
    learning_curves(runs, Rules(), tmp_path / "s.png", "2 seeds", is_study=True)
    learning_curves([late], Rules(), tmp_path / "o.png", "1 seed", "O", is_study=True)
    assert list(lines(drawn[1].axes[0])) == ["unbeatable as O"]
    shares, *sides = drawn[0].axes
    assert list(lines(shares).values()) == [[[0, 1, 2], [0, 0, 100]]] * 3
    for axes in sides:
        assert lines(axes)["win 60.00 %"][1] == pytest.approx([np.nan, 60], nan_ok=True)


WON = Rules(4, 4, 3)  # by X, with best play


def test_where_x_wins_a_study_shows_when_it_wins_against_everybody(tmp_path, drawn):
    found = [{**row, "always_wins_x": int(row["steps"] > 1000)} for row in rows(0.2, 0.5, 0.8)]
    learning_curves([found], WON, tmp_path / "growth.png", "dqn")
    assert "best play" in drawn[0].axes[1].get_title()
    learning_curves([found], WON, tmp_path / "study.png", "1 seed", "X", is_study=True)
    ((_, shares),) = lines(drawn[1].axes[0]).values()
    assert shares == [0, 0, 100, 100]


def test_a_run_draws_columns_of_its_metrics_and_tables_with_a_title(tmp_path, drawn):
    league = Table(("round", "all_games"), [(1, 9), (2, 6)], "games")
    tables = {"league.csv": league, "dataset.csv": Table((), ())}
    learner = SimpleNamespace(CHARTS={"wins.png": ("steps", "x_win")}, tables=lambda: tables)
    config = SimpleNamespace(rules=Rules(), seed=0)
    record = SimpleNamespace(rows=rows(0.2, 0.5))
    about = {"name": "dqn", "learner": learner, "config": config, "record": record}
    draw(SimpleNamespace(folder=tmp_path, **about))
    assert {path.stem for path in tmp_path.iterdir()} == {"growth", "league", "wins"}
    (wins,), (leagues,), _ = (figure.axes for figure in drawn)
    assert lines(wins) == {"x win": [[1000, 2000], [0.2, 0.5]]}
    assert lines(leagues) == {"all games": [[1, 2], [9, 6]]}
    assert (leagues.get_xlabel(), leagues.get_title()) == ("round", "games")
