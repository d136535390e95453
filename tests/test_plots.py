import struct

import matplotlib.figure
import pytest

from tictactoe_env.rules import Rules
from training.learner import Chart
from training.plots import chart, learning_curves


def rows(*wins, safe_from=None):
    return [
        {
            "steps": 1000 * (number + 1),
            **{
                f"{side}_{name}": rate
                for side in "xo"
                for name, rate in (("win", win), ("draw", 0.1), ("loss", 0.9 - win))
            },
            **{
                f"unbeatable_{side}": int(safe_from is not None and number >= safe_from)
                for side in "xo"
            },
        }
        for number, win in enumerate(wins)
    ]


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are saved."""
    figures, save = [], matplotlib.figure.Figure.savefig
    monkeypatch.setattr(
        matplotlib.figure.Figure,
        "savefig",
        lambda figure, *args, **kwargs: (figures.append(figure), save(figure, *args, **kwargs)),
    )
    return figures


def lines(axes):
    return {
        line.get_label(): [list(map(float, data)) for data in line.get_data()]
        for line in axes.get_lines()
    }


def test_the_growth_is_a_png_with_a_panel_for_each_side(tmp_path, drawn):
    learning_curves(rows(0.2, 0.5, 0.8, safe_from=1), Rules(), tmp_path / "growth.png", "dqn, seed 7")
    data = (tmp_path / "growth.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (1100, 462)
    assert [path.name for path in tmp_path.iterdir()] == ["growth.png"]
    (figure,) = drawn
    assert figure.get_suptitle() == "dqn, seed 7"
    assert [axes.get_title() for axes in figure.axes] == ["as X", "as O"]
    for axes, limit in zip(figure.axes, (100 * 191 / 192, 100 * 866 / 945), strict=True):
        shown = lines(axes)
        assert shown["win 80.00 %"] == [[1, 2, 3], pytest.approx([20, 50, 80])]
        assert shown["draw 10.00 %"] == [[1, 2, 3], pytest.approx([10, 10, 10])]
        assert shown["loss 10.00 %"] == [[1, 2, 3], pytest.approx([70, 40, 10])]
        assert shown[f"most wins without a loss {limit:.2f} %"][1] == pytest.approx([limit, limit])
        assert shown["unbeatable first at 2,000 steps"][0] == [2, 2]
        assert len(shown) == 5


def test_a_side_that_has_no_limit_or_was_never_unbeatable_gets_no_line_for_it(tmp_path, drawn):
    learning_curves(rows(0.2, 0.5), Rules(3, 4, 3), tmp_path / "growth.png", "on a board where X wins")
    of_x, of_o = (list(lines(axes)) for axes in drawn[0].axes)
    assert of_x == [
        "win 50.00 %",
        "draw 10.00 %",
        "loss 40.00 %",
        "most wins without a loss 100.00 %",
    ]
    assert of_o == ["win 50.00 %", "draw 10.00 %", "loss 40.00 %"]


def test_one_judgement_is_enough_for_a_plot(tmp_path):
    learning_curves(rows(0.2), Rules(), tmp_path / "growth.png", "short")
    assert (tmp_path / "growth.png").stat().st_size > 5_000


@pytest.mark.parametrize("percent", [False, True])
def test_a_chart_draws_its_curves_over_the_same_numbers(tmp_path, drawn, percent):
    curves = [("as X", "C0-", [1.0, 50.0]), ("as O", "C1.", [0.0, 3.0])]
    content = Chart("illegal moves", "steps", "per cent", [10, 20], curves, percent)
    chart(content, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    (axes,) = drawn[0].axes
    assert lines(axes) == {"as X": [[10, 20], [1, 50]], "as O": [[10, 20], [0, 3]]}
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == (
        *("illegal moves", "steps", "per cent"),
    )
    assert axes.get_yscale() == ("symlog" if percent else "linear")
