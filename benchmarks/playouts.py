"""Exact strength of Monte-Carlo tree search by its number of playouts.

    python -m benchmarks.playouts --out docs/playouts.png
    python -m benchmarks.playouts --playout descent --seeds 1

Offline is one graph that grows by playouts from the empty board. Live is TreeSearchPolicy: a new
search with this many playouts at every move. Each row holds medians over the seeds. "unbeatable"
counts the seeds that no opponent can beat on either side. A descent uses no random numbers, so one
seed says everything about it.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any, Literal

from cyclopts import run

from agents import mcts
from tictactoe_env.exact.evaluation import Evaluation, evaluate
from tictactoe_env.exact.match import best_achievable
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.rules import Rules
from tictactoe_env.search.mcts import TreeSearchPolicy

OFFLINE = (
    *(100, 200, 400, 800, 1_200, 1_600, 2_000, 2_400),
    *(2_800, 3_200, 3_600, 4_000, 8_000, 16_000),
)
LIVE = (10, 25, 50, 100, 200, 400, 700, 1_000)
COLUMNS = {
    "wins as X": "x.win",
    "wins as O": "o.win",
    "losses as X": "x.loss",
    "losses as O": "o.loss",
}
Playout = Literal["rollout", "descent"]
Points = dict[int, list[Evaluation]]  # playouts -> the exact results of each seed


def offline(seeds: int, draws: float, playout: Playout) -> Points:
    points: Points = {playouts: [] for playouts in OFFLINE}
    for seed in range(seeds):
        learner = mcts.begin(mcts.Config(seed=seed, draws=draws, playout=playout))
        for playouts in OFFLINE:
            learner.advance(playouts - learner.steps)
            points[playouts].append(evaluate(learner.policy()))
    return points


def live(seeds: int, draws: float, playout: Playout) -> Points:
    rules = Rules()

    def result(playouts: int, seed: int) -> Evaluation:
        player = TreeSearchPolicy(rules, playouts, draws=draws, seed=seed, playout=playout)
        return evaluate(tabulate(player, rules))

    return {playouts: [result(playouts, seed) for seed in range(seeds)] for playouts in LIVE}


def percents(results: list[Evaluation], name: str) -> list[float]:
    """One of the exact results, such as "x.win", of each seed, in per cent, sorted."""
    side, _, rate = name.partition(".")
    return sorted(100 * float(getattr(getattr(result, side), rate)) for result in results)


def draw(found: dict[str, Points], path: Path) -> None:
    """A panel for each search: wins against random as X and as O, and the unbeatable seeds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    for number, (name, points) in enumerate(found.items()):
        draw_panel(figure.add_subplot(2, 2, number + 1), name, points)
    figure.savefig(path, format="png", dpi=100)


def draw_panel(axes: Any, title: str, points: Points) -> None:
    playouts, seeds = list(points), len(next(iter(points.values())))
    for side, colour in (("X", "#0072b2"), ("O", "#d55e00")):
        every = [percents(results, f"{side.lower()}.win") for results in points.values()]
        medians, low, high = zip(
            *((statistics.median(wins), wins[0], wins[-1]) for wins in every), strict=True
        )
        axes.plot(playouts, medians, color=colour, label=f"wins as {side}, median")
        axes.fill_between(playouts, low, high, color=colour, alpha=0.2, linewidth=0)
        best = best_achievable(Rules())[side]
        if best is not None:
            axes.axhline(100 * best.win, color=colour, linestyle=":", linewidth=1)
    unbeatable = [100 * sum(r.unbeatable for r in results) / seeds for results in points.values()]
    label = f"unbeatable, of {seeds} seeds"
    axes.plot(playouts, unbeatable, "o--", color="#009e73", markersize=3, label=label)
    axes.set(title=title, xscale="log", xlabel="playouts", ylabel="per cent, exact", ylim=(-3, 103))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def print_table(name: str, points: Points, seeds: int) -> None:
    runs = f"median of {seeds} seeds" if seeds > 1 else "one run"
    print(f"\n{name}, {runs}, against random, %\n")
    print(f"| playouts | {' | '.join(COLUMNS)} | unbeatable |\n{'| --- ' * 6}|")
    for playouts, results in points.items():
        medians = [statistics.median(percents(results, name)) for name in COLUMNS.values()]
        unbeatable = sum(result.unbeatable for result in results)
        cells = (f"{playouts:,}", *(f"{m:.2f}" for m in medians), f"{unbeatable} of {seeds}")
        print(f"| {' | '.join(cells)} |")


def main(*, seeds: int = 10, playout: Playout = "rollout", out: Path | None = None) -> None:
    """Print the tables. seeds: trainings or searches for each row. out: draw a PNG too."""
    found, by = {}, " by descent" if playout == "descent" else ""
    for draws, words in ((0.5, "a draw is half a success"), (1.0, "a draw is a success")):
        found[f"offline{by}, {words}"] = offline(seeds, draws, playout)
        found[f"live{by}, playouts a move, {words}"] = live(seeds, draws, playout)
    for name, points in found.items():
        print_table(name, points, seeds)
    if out is not None:
        draw(found, out)


if __name__ == "__main__":
    run(main)
