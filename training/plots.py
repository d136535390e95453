"""Pictures of runs, drawn with matplotlib into PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tictactoe_env.match import best_achievable
from tictactoe_env.rules import Rules
from training.files import write_file

COLOURS = {
    "win": "#0072b2",
    "draw": "#999999",
    "loss": "#d55e00",
}  # Okabe and Ito's, told apart by the colour-blind


def growth(rows: Sequence[dict[str, Any]], rules: Rules, path: Path, title: str) -> None:
    """Wins, draws and losses against random over the steps, one panel a side, with the limit of wins as a line."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    steps = [row["steps"] / 1000 for row in rows]
    for number, side in enumerate("xo"):
        axes = figure.add_subplot(1, 2, number + 1)
        for name, colour in COLOURS.items():
            axes.plot(
                steps,
                [100 * row[f"{side}_{name}"] for row in rows],
                color=colour,
                label=f"{name} {100 * rows[-1][f'{side}_{name}']:.2f} %",
            )
        limit = best_achievable(rules)[side.upper()]
        if limit is not None:
            axes.axhline(
                100 * limit.win,
                color="black",
                linestyle=":",
                linewidth=1,
                label=f"most wins without a loss {100 * limit.win:.2f} %",
            )
        safe = [row["steps"] / 1000 for row in rows if row[f"unbeatable_{side}"]]
        if safe:
            axes.axvline(
                safe[0],
                color="#009e73",
                linestyle="--",
                linewidth=1,
                label=f"unbeatable first at {1000 * safe[0]:,.0f} steps",
            )
        axes.set(
            xlabel="steps, thousands",
            ylabel="per cent of games against random, exact",
            title=f"as {side.upper()}",
            ylim=(-2, 102),
        )
        axes.legend(loc="center right", fontsize=8)
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))


def heat_map(results: Mapping[str, Mapping[str, Mapping[str, float]]], path: Path) -> None:
    """Everyone as X (rows) against everyone as O (columns), as `show.cross_table` gives it: wins minus losses of X in per cent."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = list(results)
    values = [[100 * (results[x][o]["win"] - results[x][o]["loss"]) for o in names] for x in names]
    size = 3.0 + 0.62 * len(names)
    figure = Figure(figsize=(size + 1.2, size), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="RdBu", vmin=-100, vmax=100)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="as O", ylabel="as X", title="X's wins minus losses, per cent of games, exact")
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            colour = "white" if abs(value) > 60 else "black"
            axes.text(
                column, row, f"{round(value)}", ha="center", va="center", color=colour, fontsize=8
            )
    figure.colorbar(image, ax=axes, shrink=0.7, label="blue: X wins, red: O wins")
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))


def lines(
    path: Path,
    title: str,
    labels: tuple[str, str],
    xs: Sequence[float],
    curves: Sequence[tuple[str, str, Sequence[float]]],
) -> None:
    """Curves over the same numbers `xs`: (name, matplotlib's format such as "C0-", numbers)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, style, ys in curves:
        axes.plot(xs, ys, style, label=name)
    axes.set(xlabel=labels[0], ylabel=labels[1], title=title)
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))
