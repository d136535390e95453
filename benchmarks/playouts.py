"""How strong Monte-Carlo tree search is after how many playouts, exactly: `python -m benchmarks.playouts --out docs/playouts.png`.

Offline: one graph grown from the empty board, all its playouts together. Live: a graph for each position, so many
playouts a move. Each line of the table is the median over the seeds; "unbeatable" counts the seeds that no opponent can
beat on either side.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

from agents.mcts import Config, train
from tictactoe_env.match import best_achievable
from tictactoe_env.mcts import TreeSearchPolicy
from tictactoe_env.policy import TabularPolicy, tabulate
from tictactoe_env.rules import Rules
from training.evaluation import Figures, judge

OFFLINE = (
    100,
    200,
    400,
    800,
    1_200,
    1_600,
    2_000,
    2_400,
    2_800,
    3_200,
    3_600,
    4_000,
    8_000,
    16_000,
)
LIVE = (10, 25, 50, 100, 200, 400, 700, 1_000)
Points = dict[int, list[Figures]]  # playouts -> the figures of each seed


def offline(seeds: int, draws: float) -> Points:
    points: Points = {playouts: [] for playouts in OFFLINE}
    for seed in range(seeds):

        def report(steps: int, table: TabularPolicy, save: Any) -> bool:
            if steps in points:
                points[steps].append(judge(table))
            return False

        train(Config(seed=seed, draws=draws, steps=OFFLINE[-1], judge_every=100), report)
    return points


def live(seeds: int, draws: float) -> Points:
    rules = Rules()
    return {
        playouts: [
            judge(tabulate(TreeSearchPolicy(rules, playouts, draws=draws, seed=seed), rules))
            for seed in range(seeds)
        ]
        for playouts in LIVE
    }


def rate(figures: Figures, name: str) -> float:
    """A figure by its name, such as "x.win"."""
    side, _, result = name.partition(".")
    return float(getattr(getattr(figures, side), result))


def draw(found: dict[str, Points], seeds: int, path: Path) -> None:
    """One panel a search: wins against random as X and as O over the playouts, and the share of seeds that cannot be beaten."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    for number, (name, points) in enumerate(found.items()):
        axes = figure.add_subplot(2, 2, number + 1)
        for side, colour in (("X", "#0072b2"), ("O", "#d55e00")):
            every = {
                playouts: sorted(100 * rate(f, f"{side.lower()}.win") for f in figures)
                for playouts, figures in points.items()
            }
            axes.plot(
                list(every),
                [statistics.median(values) for values in every.values()],
                color=colour,
                label=f"wins as {side}, median",
            )
            axes.fill_between(
                list(every),
                [v[0] for v in every.values()],
                [v[-1] for v in every.values()],
                color=colour,
                alpha=0.2,
                linewidth=0,
            )
            limit = best_achievable(Rules())[side]
            if limit is not None:
                axes.axhline(100 * limit.win, color=colour, linestyle=":", linewidth=1)
        unbeatable = [
            100 * sum(f.unbeatable for f in figures) / len(figures) for figures in points.values()
        ]
        axes.plot(
            list(points),
            unbeatable,
            color="#009e73",
            linestyle="--",
            marker="o",
            markersize=3,
            label=f"unbeatable, of {seeds} seeds",
        )
        axes.set(
            title=name, xscale="log", xlabel="playouts", ylabel="per cent, exact", ylim=(-3, 103)
        )
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path, format="png", dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=None, metavar="FILE", help="draw a PNG too")
    given = parser.parse_args()
    found = {}
    for draws, words in ((0.5, "a draw is half a success"), (1.0, "a draw is a success")):
        found[f"offline, {words}"] = offline(given.seeds, draws)
        found[f"live, playouts a move, {words}"] = live(given.seeds, draws)
    for name, points in found.items():
        print(f"\n{name}, median of {given.seeds} seeds, against random, %\n")
        print(
            "| playouts | wins as X | wins as O | losses as X | losses as O | unbeatable |\n| --- | --- | --- | --- | --- | --- |"
        )
        for playouts, figures in points.items():
            medians = [
                100 * statistics.median(rate(f, name) for f in figures)
                for name in ("x.win", "o.win", "x.loss", "o.loss")
            ]
            print(
                f"| {playouts:,} | {' | '.join(f'{median:.2f}' for median in medians)} | {sum(f.unbeatable for f in figures)} of {len(figures)} |"
            )
    if given.out is not None:
        draw(found, given.seeds, given.out)


if __name__ == "__main__":
    main()
