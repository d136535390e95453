"""Charts: a PNG file, and what its lines say."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from tictactoe_env.rules import Rules
from training.charts import Curve, chart, compare, draw, growth
from training.learner import Table


def rows(*wins, safe_from=9):
    """Rows of metrics: what is not won or drawn (0.1) is lost, a best response wins the rest."""
    found = []
    for number, win in enumerate(wins):
        row = {"steps": 1000 * (number + 1)}
        for side in "xo":
            row |= {f"{side}_win": win, f"{side}_draw": 0.1, f"{side}_loss": 0.9 - win}
            row[f"unbeatable_{side}"] = int(number >= safe_from)
            row[f"exploited_{side}"] = 1 - win
        found.append(row)
    return found


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are saved."""
    figures = []
    save = Figure.savefig
    both = lambda figure, *a, **k: (figures.append(figure), save(figure, *a, **k))  # noqa: E731
    monkeypatch.setattr(Figure, "savefig", both)
    return figures


def lines(axes):
    curves = {line.get_label(): line.get_data() for line in axes.get_lines()}
    return {name: [list(map(float, data)) for data in curve] for name, curve in curves.items()}


def test_growth_shows_wins_losses_and_exploitability_and_when_a_goal_was_reached(tmp_path, drawn):
    path = tmp_path / "growth.png"
    growth(rows(0.2, 0.5, 0.8), Rules(), path, "dqn, seed 7", {"unbeatable": 2000})
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    (figure,) = drawn
    assert figure.get_suptitle() == "dqn, seed 7"
    wins, losses = map(lines, figure.axes)
    for side in ("as X", "as O"):
        assert wins[f"{side}: 80.00 %"] == [[1, 2, 3], pytest.approx([20, 50, 80])]
        assert losses[f"{side}: 10.00 %"] == [[1, 2, 3], pytest.approx([70, 40, 10])]
    assert losses["exploitability: 20.00 %"] == [[1, 2, 3], pytest.approx([80, 50, 20])]
    heights = {round(line[1][0], 2) for line in wins.values()}
    assert {99.48, 91.64} <= heights  # the most wins without a loss: 191 of 192, 866 of 945
    assert [2, 2] in [line[0] for line in losses.values()]
    assert [text.get_text() for text in figure.axes[0].texts] == ["unbeatable"]


def test_a_comparison_has_the_share_of_seeds_that_can_be_beaten_and_their_exploitability(
    tmp_path, drawn
):
    late = rows(0.4, 0.8, safe_from=0)[1:]
    runs = [rows(0.2, 0.4, safe_from=1), late]
    curves = [Curve("all", runs), Curve("late", [late], "O")]
    compare(curves, tmp_path / "vary.png", "2 curves")
    shares, means = map(lines, drawn[0].axes)
    assert shares == {
        "all": [[0, 1, 2], [100, 100, 0]],
        "late": [[0, 1, 2], [100, 100, 0]],
    }
    both, alone = (line[1] for line in means.values())
    assert both == pytest.approx([np.nan, 40], nan_ok=True)  # from where all runs have a value
    assert alone == pytest.approx([np.nan, 20], nan_ok=True)
    with open(tmp_path / "vary_curves.csv", newline="") as file:
        found = list(csv.reader(file))
    assert found[2] == ["all", "2000", "0.0", "40.0"]
    assert len(found) == 5


WON = Rules(4, 4, 3)  # by X, with best play


def test_where_x_wins_it_counts_when_x_wins_against_everybody(tmp_path, drawn):
    found = [{**row, "always_wins_x": int(row["steps"] > 1000)} for row in rows(0.2, 0.5, 0.8)]
    growth(found, WON, tmp_path / "growth.png", "dqn", {})
    assert "as O, which must lose: 80.00 %" in lines(drawn[0].axes[0])
    for row in found:
        del row["exploited_o"]  # as where O was sampled
    compare([Curve("dqn", [found])], tmp_path / "study.png", "1 seed")
    shares, losses = map(lines, drawn[1].axes)
    assert shares["dqn"][1] == [100, 100, 0, 0]
    assert next(iter(losses.values()))[1] == pytest.approx([70, 40, 10])  # to random play


def test_on_a_large_board_it_counts_when_o_wins_against_everybody(tmp_path, drawn):
    found = rows(0.2, 0.5, 0.8)
    found[1]["always_wins_o"] = 1  # only then it's known that O can
    compare([Curve("dqn", [found], ("O",))], tmp_path / "study.png", "1 seed")
    shares = lines(drawn[0].axes[0])
    assert shares["dqn"][1] == [100, 100, 0, 0]


def test_a_run_draws_columns_of_its_metrics_and_tables_with_a_title(tmp_path, drawn):
    league = Table(("round", "all_games"), [(1, 9), (2, 6)], {"games": ["all_games"]})
    tables = {"league.csv": league, "dataset.csv": Table((), ())}
    learner = SimpleNamespace(CHARTS={"wins.png": ("steps", "x_win")}, tables=lambda: tables)
    config = SimpleNamespace(rules=Rules(), seed=0, learned_sides=("X",))
    record = SimpleNamespace(rows=rows(0.2, 0.5), first_reached={})
    about = {"name": "dqn", "learner": learner, "config": config, "record": record}
    draw(SimpleNamespace(folder=tmp_path, **about))
    assert {path.stem for path in tmp_path.iterdir()} == {"growth", "league", "wins"}
    (wins,), (leagues,), _ = (figure.axes for figure in drawn)
    assert lines(wins) == {"x win": [[1000, 2000], [0.2, 0.5]]}
    assert lines(leagues) == {"all games": [[1, 2], [9, 6]]}
    assert (leagues.get_xlabel(), leagues.get_title()) == ("round", "games")


def test_one_point_is_seen_twelve_colours_differ_and_a_legend_is_beside_the_curves(tmp_path, drawn):
    names = [f"length_{length}" for length in range(1, 13)]
    table = Table(("level", *names), [range(13)], {"lengths": names})
    chart(table, tmp_path / "lengths.png")
    growth(rows(0.5), Rules(), tmp_path / "growth.png", "dqn", {})
    (lengths,), (wins, losses) = (figure.axes for figure in drawn)
    curves = [*lengths.get_lines(), *wins.get_lines()[::2], *losses.get_lines()]
    assert {curve.get_marker() for curve in curves} == {"."}
    assert len({curve.get_color() for curve in lengths.get_lines()}) == 12
    assert not lengths.get_legend().get_window_extent().overlaps(lengths.get_window_extent())
    assert all(tick == round(tick) for tick in lengths.get_xticks())


def test_bars_stand_beside_each_other_with_their_heights(tmp_path, drawn):
    found = [("won", 955.62, 960), ("lost", 0.0, 1)]
    names = ("result", "exact", "sampled")
    chart(Table(names, found, {"games": names[1:]}, bars=True), tmp_path / "games.png")
    ((axes,),) = (figure.axes for figure in drawn)
    bars = sorted((bar.get_x(), bar.get_height()) for bar in axes.patches)
    assert [height for _, height in bars] == [955.62, 960, 0, 1]
    assert len({place for place, _ in bars}) == 4
    assert {text.get_text() for text in axes.texts} == {"955.6", "960", "0", "1"}
