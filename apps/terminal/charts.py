"""Charts of runs, drawn with matplotlib and written as PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tictactoe_env.exact.evaluation import best_play_x
from tictactoe_env.exact.match import best_achievable
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.files import write_file
from tictactoe_env.rules import Rules
from training.learner import Table
from training.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# From Okabe and Ito's palette, which colour-blind readers can tell apart.
COLOURS = {"win": "#0072b2", "draw": "#999999", "loss": "#d55e00"}
UNBEATABLE, ALWAYS = "#009e73", "#cc79a7"
WIDE = {"color": UNBEATABLE, "linewidth": 5, "alpha": 0.4}  # seen under thinner lines
PALETTE = (*COLOURS.values(), UNBEATABLE, ALWAYS, "#56b4e9", "#e69f00", "#f0e442", "brown", "black")
Rows = Sequence[Mapping[str, Any]]


def draw(run: Run) -> None:
    """Draw the charts of a run into its folder: those of its learner, and growth.png."""
    title = f"{run.name} on {run.config.rules}, seed {run.config.seed}"
    for name, columns in run.learner.CHARTS.items():
        rows = [[row[column] for column in columns] for row in run.rows]
        chart(Table(columns, rows, title), run.folder / name)
    for name, table in run.learner.tables().items():
        if table.title:
            chart(table, (run.folder / name).with_suffix(".png"))
    learning_curves(run.rows, run.config.rules, run.folder / "growth.png", title)


def learning_curves(rows: Rows, rules: Rules, path: Path, title: str) -> None:
    """Exact results against random over the steps, with a panel for each side.

    rows: those of metrics.csv. Lines mark the most wins of a player that never loses, where that
    is known, and the first evaluations at which the side was unbeatable, and at which X won against
    everybody.
    """
    figure, panels = _figure(2, 5)
    steps = [row["steps"] / 1000 for row in rows]
    for axes, side in zip(panels, "xo", strict=True):
        for name, colour in COLOURS.items():
            rates = [100 * row[f"{side}_{name}"] for row in rows]
            axes.plot(steps, rates, color=colour, label=f"{name} {rates[-1]:.2f} %")
        best = best_achievable(rules)[side.upper()] if rules.cells <= TABULATED else None
        if best is not None:
            label = f"most wins without a loss {100 * best.win:.2f} %"
            axes.axhline(100 * best.win, color="black", linestyle=":", linewidth=1, label=label)
        for column, text, colour in (
            (f"unbeatable_{side}", "unbeatable", UNBEATABLE),
            (f"always_wins_{side}", "wins against everybody", ALWAYS),
        ):
            first = next((row["steps"] for row in rows if row.get(column)), None)
            if first is not None:
                label = f"{text} first at {first:,.0f} steps"
                axes.axvline(first / 1000, color=colour, linestyle="--", linewidth=1, label=label)
        hint = ", which cannot avoid losing to best play"
        is_lost = side == "o" and best_play_x(rules) == 1
        _show_rates(axes, f"as {side.upper()}{hint * is_lost}", side, rows)
    figure.suptitle(title)
    _write(figure, path)


def study_chart(runs: Sequence[Rows], path: Path, title: str, sides: Sequence[str]) -> None:
    """Many runs of one agent: the share that is proven over the steps, and their learning curves.

    runs: the rows of metrics.csv of each. The curves are the median of the runs with the range from
    the smallest to the largest value, from where all runs have one. A run that has ended keeps its
    last value.
    """
    steps = np.unique([row["steps"] for rows in runs for row in rows])
    figure, (first, *others) = _figure(1 + len(sides), 5.2)
    _draw_shares(first, runs, steps, "".join(sides).lower())
    for axes, side in zip(others, map(str.lower, sides), strict=True):
        for name, colour in COLOURS.items():
            rates = np.array([100 * _held(rows, f"{side}_{name}", steps) for rows in runs])
            is_known = ~np.isnan(rates).any(axis=0)
            xs, rates = steps[is_known] / 1000, rates[:, is_known]
            axes.plot(xs, np.median(rates, axis=0), color=colour, label=f"{name}, median")
            ends = rates.min(axis=0), rates.max(axis=0)
            axes.fill_between(xs, *ends, color=colour, alpha=0.2, linewidth=0)
        _show_rates(axes, f"as {side.upper()}", side, [row for rows in runs for row in rows])
        axes.set_xlim(left=0)
    figure.suptitle(title)
    _write(figure, path)


def _draw_shares(axes: Axes, runs: Sequence[Rows], steps: Any, sides: str) -> None:
    """The share of the runs that were proven by then, at some evaluation.

    Where X wins with best play, it is the share of those that win against everybody as X.
    """
    blue, red = {"color": COLOURS["win"]}, {"color": COLOURS["loss"], "linestyle": "--"}
    goals: dict[str, tuple[str, str, dict[str, Any]]] = {
        "unbeatable on both sides": ("unbeatable", "xo", WIDE),
        "unbeatable as X": ("unbeatable", "x", blue),
        "unbeatable as O": ("unbeatable", "o", red),
    }
    if "x" in sides and any("always_wins_x" in row for rows in runs for row in rows):
        goals = {"wins against everybody as X": ("always_wins", "x", {"color": UNBEATABLE})}
    for label, (goal, needed, style) in goals.items():
        if set(needed) <= set(sides):
            columns = [f"{goal}_{side}" for side in needed]
            proven = [np.all([_held(rows, one, steps) == 1 for one in columns], 0) for rows in runs]
            share = 100 * np.mean(np.maximum.accumulate(proven, axis=1), axis=0)
            xs, ys = np.append(0, steps / 1000), np.append(0, share)
            axes.step(xs, ys, where="post", label=label, **style)
    y_label = f"per cent of {len(runs)} seeds"
    axes.set(xlabel="steps, thousands", ylabel=y_label, title="proven by then", ylim=(-2, 102))
    axes.set_xlim(left=0)
    axes.legend(loc="best", fontsize=8)
    axes.grid(alpha=0.3)


def _show_rates(axes: Axes, title: str, side: str, rows: Rows) -> None:
    """Label a panel of rates against random play. rows: those that it shows."""
    sampled = [row.get(f"sampled_{side}", 0) for row in rows]
    how = "sampled" if all(sampled) else "sampled in part" if any(sampled) else "exact"
    y_label = f"per cent of games against random, {how}"
    axes.set(xlabel="steps, thousands", ylabel=y_label, title=title, ylim=(-2, 102))
    axes.legend(loc="center right", fontsize=8)
    axes.grid(alpha=0.3)


def _held(rows: Rows, name: str, steps: Any) -> Any:
    """A column at other steps: the value of the last row before, NaN before the first row."""
    at = np.searchsorted([row["steps"] for row in rows], steps, side="right") - 1
    values = np.array([row.get(name, np.nan) for row in rows], dtype=float)
    return np.where(at < 0, np.nan, values[np.maximum(at, 0)])


def chart(table: Table, path: Path) -> None:
    """Draw the columns of a table as curves over the first one, which holds whole numbers."""
    from matplotlib.ticker import MaxNLocator

    figure, (axes,) = _figure(1, 8)
    axes.set_prop_cycle(color=PALETTE)
    xs, *columns = zip(*table.rows, strict=True)
    for name, ys in zip(table.names[1:], columns, strict=True):
        axes.plot(xs, ys, label=name.replace("_", " "))
    axes.set(xlabel=table.names[0], title=table.title)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    axes.grid(alpha=0.3)
    _write(figure, path)


def _figure(panels: int, width: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * panels, 4.2), layout="constrained")
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def _write(figure: Figure, path: Path) -> None:
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))
