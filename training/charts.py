"""Charts of runs, drawn with matplotlib and written as PNG or SVG files, with their numbers as CSV.

A chart is as wide as a page of the documentation, and its letters are read there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tictactoe_env.exact.evaluation import winner
from tictactoe_env.exact.optimality import best_achievable
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.files import write_file
from tictactoe_env.rules import SIDES, Rules
from training.files import write_csv
from training.learner import Table
from training.metrics import ALWAYS_WINS
from training.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind readers can tell apart, and four colours more.
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"),
    *("#882255", "#7f4f24", "#4b0082", "#ff00ff"),
)
WIDTH = 8  # inches
MOST_NAMES = 32  # beside a heat map
MOST_POINTS = 40  # of a curve whose points are marked
LEGEND_COLUMNS = 3
LONG_LABEL = 20  # letters; longer ones are below each other
TICKS = (0, 1, 5, 10, 20, 40, 60, 80, 100)  # per cent, where small ones matter
Rows = Sequence[Mapping[str, Any]]


def draw(run: Run) -> None:
    """Draw the charts that the learner of a run has, and growth.png, into the run's folder."""
    title = f"{run.name} on {run.config.rules}, seed {run.config.seed}"
    for name, columns in run.learner.CHARTS.items():
        rows = [[row[column] for column in columns] for row in run.record.rows]
        chart(Table(columns, rows, {title: columns[1:]}), run.folder / name)
    for name, table in run.learner.tables().items():
        if table.panels:
            chart(table, (run.folder / name).with_suffix(".png"))
    reached = {goal: time["steps"] for goal, time in run.record.first_reached.items()}
    sides = run.config.learned_sides
    growth(run.record.rows, run.config.rules, run.folder / "growth.png", title, reached, sides)


def growth(
    rows: Rows,
    rules: Rules,
    path: Path,
    title: str,
    reached: Mapping[str, int],
    sides: Sequence[str] = SIDES,
) -> None:
    """Draw the results of a run over its steps: wins, and below them losses and exploitability.

    rows: of its metrics.csv, which has the numbers. reached: the steps after which each goal was
    first reached; a line marks them. Dotted lines are the most wins of a player that never loses.
    """
    figure, (wins, losses) = _figure(2)
    steps = [row["steps"] / 1000 for row in rows]
    limits = best_achievable(rules) if rules.cells <= TABULATED else {}
    for side, colour in zip(sides, COLOURS, strict=False):
        place = f"as {side}"
        if winner(rules) not in ("", side):
            place += ", which must lose"
        for axes, what in ((wins, "win"), (losses, "loss")):
            rates = [100 * row[f"{side.lower()}_{what}"] for row in rows]
            label = f"{place}: {rates[-1]:.2f} %"
            axes.plot(steps, rates, color=colour, label=label, marker=_marker(rates))
        if limit := limits.get(side):
            wins.axhline(100 * limit.win, color=colour, linestyle=":", linewidth=1)
    exploited = EXPLOITABILITY.of(rows, sides)
    if np.isfinite(exploited).any():
        label = f"exploitability: {exploited[-1]:.2f} %"
        losses.plot(steps, exploited, color="black", label=label, marker=_marker(steps))
    for goal, at in reached.items():
        for axes in (wins, losses):
            axes.axvline(at / 1000, color="#999999", linewidth=1)
        wins.annotate(goal, (at / 1000, 1), rotation=90, va="bottom", ha="right", fontsize=8)
    is_sampled = any(row.get(f"sampled_{side.lower()}") for row in rows for side in sides)
    how = "sampled in part" if is_sampled else "exact"
    _label(wins, f"won against random play, %, {how}")
    wins.set_ylim(0, 102)
    _label(losses, f"lost against random play, %, {how}")
    _widen_small(losses)
    for axes in (wins, losses):
        axes.legend(loc="best", fontsize=8)
    figure.suptitle(title)
    write(figure, path)


class Curve(NamedTuple):
    """A line of `compare`: the metrics of some runs, and the sides that count."""

    label: str
    runs: Sequence[Rows]
    sides: Sequence[str] = SIDES


def compare(curves: Sequence[Curve], path: Path, title: str) -> None:
    """Draw for each curve which share of its runs can still be beaten, and their exploitability.

    Both are drawn over the steps, and exact. A run that has ended keeps its last value. The
    exploitability is the mean over the runs, from where all of them have been judged. Where it is
    not known, the losses against random play take its place. A file beside the picture, whose name
    ends in `_curves.csv`, has the numbers.
    """
    figure, (shares, losses) = _figure(2)
    steps = np.unique([row["steps"] for curve in curves for rows in curve.runs for row in rows])
    measure = _measure(curves)
    lines: list[list[Any]] = []
    widths = np.linspace(4, 1.5, len(curves))  # so that equal curves are all seen
    for curve, colour, width in zip(curves, _colours(len(curves)), widths, strict=True):
        proven = [_proven_by_then(rows, curve.sides, steps) for rows in curve.runs]
        share = 100 * (1 - np.mean(proven, axis=0))
        values = [_held(measure.of(rows, curve.sides), rows, steps) for rows in curve.runs]
        mean = np.mean(values, axis=0)
        style = {"color": colour, "linewidth": width}
        xs = np.append(0, steps / 1000)
        shares.step(xs, np.append(100, share), where="post", label=curve.label, **style)
        losses.plot(steps / 1000, mean, **style, marker=_marker(steps))
        lines += [[curve.label, *numbers] for numbers in zip(steps, share, mean, strict=True)]
    _label(shares, "seeds that can still be beaten, %")
    shares.set_ylim(-2, 102)
    _label(losses, f"{measure.words}, %, mean")
    _widen_small(losses)
    labels = [curve.label for curve in curves]
    columns = 1 if len(max(labels, key=len)) > LONG_LABEL else 4
    figure.set_figheight(figure.get_figheight() + 0.2 * len(labels) / columns)
    figure.legend(
        *shares.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=8
    )
    figure.suptitle(title)
    write(figure, path)
    names = ("curve", "steps", "can be beaten, %", f"{measure.words}, %")
    write_csv(path.with_name(f"{path.stem}_curves.csv"), names, lines)


class _Measure(NamedTuple):
    """What the second panel of `compare` shows: columns of metrics.csv, averaged over sides."""

    column: str  # followed by the side
    words: str

    def of(self, rows: Rows, sides: Sequence[str]) -> Any:
        """The mean over these sides in each row, in per cent; NaN where one is not known."""
        columns = [self.column.format(side.lower()) for side in sides]
        return 100 * np.mean([[row.get(name, np.nan) for row in rows] for name in columns], axis=0)


EXPLOITABILITY = _Measure("exploited_{}", "exploitability")
LOSSES = _Measure("{}_loss", "lost against random play")


def _measure(curves: Sequence[Curve]) -> _Measure:
    """The exploitability, if it is known at the end of some run; else losses to random play."""
    for curve in curves:
        for rows in curve.runs:
            if np.isfinite(EXPLOITABILITY.of(rows[-1:], curve.sides)).all():
                return EXPLOITABILITY
    return LOSSES


def _proven_by_then(rows: Rows, sides: Sequence[str], steps: Any) -> Any:
    """True for each number of steps if an evaluation up to there has proven all of these sides.

    Where a side wins with best play, it has to win against everybody, and the other does not count.
    """
    stated = {name for row in rows for name in row}
    columns = [ALWAYS_WINS[side] for side in sides if ALWAYS_WINS[side] in stated]
    if not columns:
        columns = [f"unbeatable_{side.lower()}" for side in sides]
    # On a large board a row has the column of the winner only where it has won every game.
    proven = np.all([[row.get(name) == 1 for row in rows] for name in columns], axis=0)
    proven_by_then = np.maximum.accumulate(proven)
    return _held(proven_by_then, rows, steps) == 1


def _held(values: Any, rows: Rows, steps: Any) -> Any:
    """Values of the rows at other steps: that of the last row before, NaN before the first row."""
    at = np.searchsorted([row["steps"] for row in rows], steps, side="right") - 1
    return np.where(at < 0, np.nan, np.asarray(values, float)[np.maximum(at, 0)])


def _colours(count: int) -> Any:
    """So many colours; of more than the palette has they are shades from dark to bright."""
    if count <= len(COLOURS):
        return COLOURS[:count]
    from matplotlib import colormaps

    return colormaps["viridis"](np.linspace(0, 0.95, count))


def chart(table: Table, path: Path) -> None:
    """Draw the panels of a table: columns as curves or bars over the first one."""
    name_of_first = table.names[0]
    columns = dict(zip(table.names, zip(*table.rows, strict=True), strict=True))
    xs = columns[name_of_first]
    figure, all_axes = _figure(len(table.panels))
    most = max(map(len, table.panels.values()))
    figure.set_figheight(figure.get_figheight() + 0.2 * -(-most // LEGEND_COLUMNS))
    for axes, (title, names) in zip(all_axes, table.panels.items(), strict=True):
        drawn = {name.replace("_", " "): columns[name] for name in names}
        if table.bars:
            _bars(axes, xs, drawn)
        else:
            _curves(axes, xs, drawn)
        axes.set(xlabel=name_of_first)
        axes.set_title(title, fontsize=10)
        axes.grid(alpha=0.3)
        below = (0.5, -0.15)
        axes.legend(loc="upper center", bbox_to_anchor=below, ncols=LEGEND_COLUMNS, fontsize=8)
    write(figure, path)


def _curves(axes: Axes, xs: Sequence[int], columns: Mapping[str, Sequence[float]]) -> None:
    """Draw columns over whole numbers."""
    marker = _marker(xs, MOST_POINTS)
    for (label, ys), colour in zip(columns.items(), _colours(len(columns)), strict=True):
        axes.plot(xs, ys, marker=marker, label=label, color=colour)
    axes.locator_params(axis="x", integer=True, min_n_ticks=1)


def _bars(axes: Axes, names: Sequence[str], columns: Mapping[str, Sequence[float]]) -> None:
    """Draw the bars of columns side by side at each name, with their heights above them."""
    width = 0.8 / len(columns)
    for number, (label, heights) in enumerate(columns.items()):
        places = np.arange(len(names)) + number * width
        bars = axes.bar(places, heights, width, label=label, color=COLOURS[number])
        axes.bar_label(bars, fmt="{:.4g}", fontsize=8)
    middle = 0.4 - width / 2
    axes.set_xticks(np.arange(len(names)) + middle, names)


def heat_map(values: ArrayLike, as_x: Sequence[str], as_o: Sequence[str], path: Path) -> None:
    """Draw X's mean results (P, Q): blue where X wins more, red where O does.

    as_x, as_o: the names of the players, on the sides that they play; of many some are written.
    """
    figure, (axes,) = _figure(1)
    figure.set_figheight(WIDTH * 0.8)
    image = axes.imshow(100 * np.asarray(values), cmap="RdBu", vmin=-100, vmax=100, aspect="auto")
    for axis, names in ((axes.yaxis, as_x), (axes.xaxis, as_o)):
        shown = range(0, len(names), -(-len(names) // MOST_NAMES))
        axis.set_ticks(list(shown), [names[number] for number in shown], fontsize=8)
    axes.tick_params(axis="x", rotation=90)
    axes.set(xlabel="as O", ylabel="as X")
    figure.colorbar(image, ax=axes, shrink=0.7, label="wins of X minus wins of O, %")
    write(figure, path)


def _marker(points: Any, most: int = 1) -> str:
    """The marker of a curve: a dot if it has so few points; one alone has no line."""
    return "." if len(points) <= most else ""


def _label(axes: Axes, title: str) -> None:
    """Label a panel of per cent over steps."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("steps, thousands")
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)


def _widen_small(axes: Axes) -> None:
    """Scale per cent by their roots, so that 1 % can be told from 0."""
    axes.set_yscale("function", functions=(lambda ys: np.sqrt(np.maximum(ys, 0)), np.square))
    highest = max(1, *(np.nanmax(line.get_ydata()) for line in axes.get_lines()))
    ticks = [tick for tick in TICKS if tick <= highest]
    axes.set_yticks(ticks, map(str, ticks))
    axes.set_ylim(0, highest)


def _figure(panels: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def write(figure: Figure, path: Path) -> None:
    """Write a figure of matplotlib as PNG or SVG, by the ending; the same bytes each time."""
    from matplotlib import rc_context

    options: dict[str, Any] = {"dpi": 130, "pil_kwargs": {"optimize": True}}
    if path.suffix == ".svg":
        options = {"metadata": {"Date": None}}
    with rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}):
        write_file(path, lambda file: figure.savefig(file, format=path.suffix[1:], **options))
