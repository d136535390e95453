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
from training.learner import Bars, Chart, Panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# From Okabe and Ito's palette, which colour-blind readers can tell apart.
COLOURS = {"win": "#0072b2", "draw": "#999999", "loss": "#d55e00"}
UNBEATABLE, ALWAYS = "#009e73", "#cc79a7"
WIDE = {"color": UNBEATABLE, "linewidth": 5, "alpha": 0.4}  # seen under thinner lines
CURVES = 9  # of a chart with its legend inside; with more curves it is beside them


def learning_curves(
    rows: Sequence[Mapping[str, Any]], rules: Rules, path: Path, title: str
) -> None:
    """Exact results against random over the steps, with a panel for each side.

    rows: those of metrics.csv. Lines mark the most wins of a player that never loses, where that
    is known, and the first evaluations at which the side was unbeatable, and at which X won against
    everybody.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    for number, side in enumerate("xo"):
        _draw_side(figure.add_subplot(1, 2, number + 1), rows, side, rules)
    figure.suptitle(title)
    _write(figure, path)


def _draw_side(axes: Axes, rows: Sequence[Mapping[str, Any]], side: str, rules: Rules) -> None:
    steps = [row["steps"] / 1000 for row in rows]
    for name, colour in COLOURS.items():
        rates = [100 * row[f"{side}_{name}"] for row in rows]
        axes.plot(steps, rates, color=colour, label=f"{name} {rates[-1]:.2f} %")
    best = best_achievable(rules)[side.upper()] if rules.cells <= TABULATED else None
    if best is not None:
        label = f"most wins without a loss {100 * best.win:.2f} %"
        axes.axhline(100 * best.win, color="black", linestyle=":", linewidth=1, label=label)
    safe = [row["steps"] / 1000 for row in rows if row[f"unbeatable_{side}"]]
    if safe:
        label = f"unbeatable first at {1000 * safe[0]:,.0f} steps"
        axes.axvline(safe[0], color=UNBEATABLE, linestyle="--", linewidth=1, label=label)
    _mark_wins(axes, rows, side)
    sampled = [row.get(f"sampled_{side}", 0) for row in rows]
    how = "sampled" if all(sampled) else "sampled in part" if any(sampled) else "exact"
    y_label = f"per cent of games against random, {how}"
    title = f"as {side.upper()}"
    if side == "o" and best_play_x(rules) == 1:
        title += ", which cannot avoid losing to best play"
    axes.set(xlabel="steps, thousands", ylabel=y_label, title=title, ylim=(-2, 102))
    axes.legend(loc="center right", fontsize=8)
    axes.grid(alpha=0.3)


def _mark_wins(axes: Axes, rows: Sequence[Mapping[str, Any]], side: str) -> None:
    """Mark the first evaluation at which X won against everybody."""
    won = [row["steps"] for row in rows if side == "x" and row.get("always_wins_x")]
    if won:
        label = f"wins against everybody first at {won[0]:,.0f} steps"
        axes.axvline(won[0] / 1000, color=ALWAYS, linestyle="-.", linewidth=1, label=label)


def study_chart(
    runs: Sequence[Sequence[Mapping[str, float]]], path: Path, title: str, sides: Sequence[str]
) -> None:
    """Many runs of one agent: the share that is proven over the steps, and their learning curves.

    runs: the rows of metrics.csv of each. The curves are the median of the runs with the range from
    the smallest to the largest value, from where all runs have one. A run that has ended keeps its
    last value.
    """
    from matplotlib.figure import Figure

    steps = np.unique([row["steps"] for rows in runs for row in rows])
    figure = Figure(figsize=(5.2 * (1 + len(sides)), 4.2), layout="constrained")
    first, *others = (figure.add_subplot(1, 1 + len(sides), at + 1) for at in range(1 + len(sides)))
    _draw_shares(first, runs, steps, [side.lower() for side in sides])
    for axes, side in zip(others, sides, strict=True):
        for name, colour in COLOURS.items():
            rates = np.array([100 * _held(rows, f"{side.lower()}_{name}", steps) for rows in runs])
            is_known = ~np.isnan(rates).any(axis=0)
            xs, rates = steps[is_known] / 1000, rates[:, is_known]
            axes.plot(xs, np.median(rates, axis=0), color=colour, label=f"{name}, median")
            ends = rates.min(axis=0), rates.max(axis=0)
            axes.fill_between(xs, *ends, color=colour, alpha=0.2, linewidth=0)
        is_sampled = any(row.get(f"sampled_{side.lower()}") for rows in runs for row in rows)
        label = f"per cent of games against random, {'sampled' if is_sampled else 'exact'}"
        axes.set(xlabel="steps, thousands", ylabel=label, title=f"as {side}", ylim=(-2, 102))
    for axes in (first, *others):
        axes.legend(loc="best" if axes is first else "center right", fontsize=8)
        axes.grid(alpha=0.3)
        axes.set_xlim(left=0)
    figure.suptitle(title)
    _write(figure, path)


def _draw_shares(
    axes: Axes, runs: Sequence[Sequence[Mapping[str, float]]], steps: Any, sides: Sequence[str]
) -> None:
    """The share of the runs that were proven by then, at some evaluation.

    Where X wins with best play, it is the share of those that win against everybody as X.
    """
    goals: dict[str, tuple[list[str], dict[str, Any]]]
    if "x" in sides and any("always_wins_x" in row for rows in runs for row in rows):
        goals = {"wins against everybody as X": (["always_wins_x"], {"color": UNBEATABLE})}
    else:
        goals = {
            "unbeatable on both sides": (["unbeatable_x", "unbeatable_o"], WIDE),
            "unbeatable as X": (["unbeatable_x"], {"color": COLOURS["win"]}),
            "unbeatable as O": (["unbeatable_o"], {"color": COLOURS["loss"], "linestyle": "--"}),
        }
    for label, (names, style) in goals.items():
        if not {name[-1] for name in names} <= set(sides):
            continue
        reached = [np.all([_held(rows, name, steps) == 1 for name in names], 0) for rows in runs]
        share = 100 * np.mean(np.maximum.accumulate(reached, axis=1), axis=0)
        xs, ys = np.append(0, steps / 1000), np.append(0, share)
        axes.step(xs, ys, where="post", label=label, **style)
    y_label = f"per cent of {len(runs)} seeds"
    axes.set(xlabel="steps, thousands", ylabel=y_label, title="proven by then", ylim=(-2, 102))


def _held(rows: Sequence[Mapping[str, float]], name: str, steps: Any) -> Any:
    """A column at other steps: the value of the last row before, NaN before the first row."""
    at = np.searchsorted([row["steps"] for row in rows], steps, side="right") - 1
    values = np.array([row.get(name, np.nan) for row in rows], dtype=float)
    return np.where(at < 0, np.nan, values[np.maximum(at, 0)])


def chart(content: Chart | Bars | Panels, path: Path) -> None:
    """Draw the curves or the bars of a chart, or several charts side by side."""
    from matplotlib.figure import Figure

    panels = content if isinstance(content, tuple) else (content,)
    figure = Figure(figsize=(7 * len(panels), 4.2), layout="constrained")
    for number, panel in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), number)
        if isinstance(panel, Bars):
            _draw_bars(axes, panel)
        else:
            _draw_curves(axes, panel)
        axes.grid(alpha=0.3)
    _write(figure, path)


def _draw_curves(axes: Axes, content: Chart) -> None:
    from matplotlib.ticker import MaxNLocator

    for name, style, ys in content.curves:
        axes.plot(content.xs, ys, style, label=name)
    axes.set(xlabel=content.x_label, ylabel=content.y_label, title=content.title)
    if content.percent:
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(0, 100)
    if all(float(x).is_integer() for x in content.xs):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
    axes.legend(fontsize=8, **(beside if len(content.curves) > CURVES else {}))


def _draw_bars(axes: Axes, content: Bars) -> None:
    """Each bar has its total on top."""
    totals = [0.0] * len(content.names)
    for name, colour, numbers in content.parts:
        bars = axes.bar(content.names, numbers, bottom=totals, color=colour, label=name)
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
    axes.bar_label(bars, [f"{total:,.0f}" for total in totals])
    axes.set(ylabel=content.y_label, title=content.title)
    axes.set_axisbelow(True)
    axes.legend(fontsize=8)


def _write(figure: Figure, path: Path) -> None:
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))
