"""Charts of runs, drawn with matplotlib and written as PNG files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tictactoe_env.exact.evaluation import best_play_x
from tictactoe_env.exact.match import best_achievable
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.files import write_file
from tictactoe_env.rules import SIDES, Rules
from training.learner import Table
from training.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# From Okabe and Ito's palette, which colour-blind readers can tell apart.
COLOURS = {"win": "#0072b2", "draw": "#999999", "loss": "#d55e00"}
Rows = Sequence[Mapping[str, Any]]


def draw(run: Run) -> None:
    """Draw the charts that the learner of a run has, and growth.png, into the run's folder."""
    title = f"{run.name} on {run.config.rules}, seed {run.config.seed}"
    for name, columns in run.learner.CHARTS.items():
        rows = [[row[column] for column in columns] for row in run.record.rows]
        chart(Table(columns, rows, title), run.folder / name)
    for name, table in run.learner.tables().items():
        if table.title:
            chart(table, (run.folder / name).with_suffix(".png"))
    learning_curves([run.record.rows], run.config.rules, run.folder / "growth.png", title)


def learning_curves(
    runs: Sequence[Rows],
    rules: Rules,
    path: Path,
    title: str,
    sides: Sequence[str] = SIDES,
    is_study: bool = False,
) -> None:
    """Results against random play over the steps, with a panel for each side.

    runs: the rows of metrics.csv of each. The curves are the median of the runs with the range from
    the smallest to the largest value, from where all runs have one. A run that has ended keeps its
    last value. A line marks the most wins of a player that never loses, where that is known. A
    study has one more panel: the share of its runs that are proven.
    """
    steps = np.unique([row["steps"] for rows in runs for row in rows])
    names = [side.lower() for side in sides]
    if is_study:
        figure, (shares, *panels) = _figure(1 + len(sides), 5)
        _draw_shares(shares, runs, steps, "".join(names))
    else:
        figure, panels = _figure(len(sides), 5)
    for axes, side in zip(panels, names, strict=True):
        _draw_rates(axes, runs, steps, side)
        if rules.cells <= TABULATED:
            _draw_best(axes, rules, side)
        panel_title = f"as {side.upper()}"
        if side == "o" and best_play_x(rules) == 1:
            panel_title += ", which cannot avoid losing to best play"
        is_sampled = any(row.get(f"sampled_{side}") for rows in runs for row in rows)
        how = "sampled in part" if is_sampled else "exact"
        if is_study:
            how += ", median"
        _label(axes, panel_title, f"% of games against random, {how}")
    figure.suptitle(title)
    _write(figure, path)


def _draw_rates(axes: Axes, runs: Sequence[Rows], steps: Any, side: str) -> None:
    """The wins, draws and losses of a side: the median of the runs, and their range."""
    for name, colour in COLOURS.items():
        rates = np.array([100 * _held(rows, f"{side}_{name}", steps) for rows in runs])
        median = np.median(rates, axis=0)
        lowest = rates.min(axis=0)
        highest = rates.max(axis=0)
        axes.plot(steps / 1000, median, color=colour, label=f"{name} {median[-1]:.2f} %")
        axes.fill_between(steps / 1000, lowest, highest, color=colour, alpha=0.2, linewidth=0)


def _draw_best(axes: Axes, rules: Rules, side: str) -> None:
    """A line at the most wins of a player that never loses, if there is such a player."""
    best = best_achievable(rules)[side.upper()]
    if best is not None:
        label = f"most wins without a loss {100 * best.win:.2f} %"
        axes.axhline(100 * best.win, color="black", linestyle=":", linewidth=1, label=label)


def _draw_shares(axes: Axes, runs: Sequence[Rows], steps: Any, sides: str) -> None:
    """The share of the runs that were proven by then, at some evaluation.

    Where X wins with best play, it is the share of those that win against everybody as X.
    """
    names = {name for rows in runs for row in rows for name in row}
    goal = "always_wins" if "x" in sides and "always_wins_x" in names else "unbeatable"
    for width, needed in ((5, "xo"), (3, "x"), (1, "o")):  # each is seen under the next
        columns = {f"{goal}_{side}" for side in needed}
        if set(needed) <= set(sides) and columns <= names:
            proven = [_all_true(rows, columns, steps) for rows in runs]
            proven_by_then = np.maximum.accumulate(proven, axis=1)
            share = 100 * np.mean(proven_by_then, axis=0)
            label = f"{goal.replace('_', ' ')} as {' and '.join(needed.upper())}"
            xs = np.append(0, steps / 1000)
            ys = np.append(0, share)
            axes.step(xs, ys, where="post", label=label, linewidth=width)
    _label(axes, "proven by then", f"% of {len(runs)} seeds")


def _label(axes: Axes, title: str, y_label: str) -> None:
    """Label a panel of per cent over steps."""
    axes.set(xlabel="steps, thousands", ylabel=y_label, title=title, ylim=(-2, 102))
    axes.set_xlim(left=0)
    axes.legend(loc="best", fontsize=8)
    axes.grid(alpha=0.3)


def _all_true(rows: Rows, columns: Iterable[str], steps: Any) -> Any:
    """True for each number of steps at which all of these columns were 1."""
    return np.all([_held(rows, name, steps) == 1 for name in columns], axis=0)


def _held(rows: Rows, name: str, steps: Any) -> Any:
    """A column at other steps: the value of the last row before, NaN before the first row."""
    at = np.searchsorted([row["steps"] for row in rows], steps, side="right") - 1
    values = np.array([row.get(name, np.nan) for row in rows])
    return np.where(at < 0, np.nan, values[np.maximum(at, 0)])


def chart(table: Table, path: Path) -> None:
    """Draw the columns of a table as curves over the first one."""
    figure, (axes,) = _figure(1, 8)
    name_of_first, *names = table.names
    xs, *columns = zip(*table.rows, strict=True)
    for name, ys in zip(names, columns, strict=True):
        axes.plot(xs, ys, label=name.replace("_", " "))
    axes.set(xlabel=name_of_first, title=table.title)
    figure.legend(loc="outside right center", fontsize=8)
    _write(figure, path)


def _figure(panels: int, width: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * panels, 4.2), layout="constrained")
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def _write(figure: Figure, path: Path) -> None:
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))
