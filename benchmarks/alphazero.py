"""The exact strength of AlphaZero while it learns, and what games would say of it.

    python -m benchmarks.alphazero --out docs/alphazero.svg

Each seed is a training on 3x3 with the default options. Every 256 games the network is evaluated
exactly, alone and with searches of 10 to 200 simulations. Of each player the tables hold

- how many seeds can be beaten on a side, which is the mean exploitability on that side: a player
  without chance loses to a best response always or never;
- the mean share of games it wins against random play, exact;
- the Elo rating over random play that a match of 100 games reports, 50 on each side: the median
  over the seeds. The results are drawn with their exact probabilities. A match with all points
  counts as 99.5 of 100.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import run

from agents import page
from tictactoe_env.exact.evaluation import Evaluation, evaluate
from training.charts import write

SIMULATIONS = (0, 10, 25, 50, 100, 200)
MATCH = 100  # games
ALPHAZERO: Any = page("alphazero")
Points = dict[tuple[int, int], list[Evaluation]]  # (games, simulations) -> the results of each seed


def trainings(seeds: int, games: int) -> Points:
    """The exact results of each seed, with each number of simulations, over the games."""
    points: Points = {}
    for seed in range(seeds):
        config = ALPHAZERO.Config(seed=seed)
        learner = ALPHAZERO.begin(config)
        while learner.steps <= games:
            for simulations in SIMULATIONS:
                player = ALPHAZERO.player(config.replace(simulations=simulations), learner.model())
                points.setdefault((learner.steps, simulations), []).append(evaluate(player))
            learner.advance(config.judge_every)
    return points


def beatable(results: list[Evaluation], side: str) -> float:
    """The mean exploitability on a side: what a best response wins there, from 0 to 1."""
    return statistics.mean(max(0.0, -one.best_responses[side].value) for one in results)


def wins(results: list[Evaluation]) -> float:
    """The mean share of games won against random play, in per cent."""
    return statistics.mean(50 * (one.x.win + one.o.win) for one in results)


def elo(results: list[Evaluation], draws: Sequence[int]) -> float:
    """The median Elo rating over random play by a match of each seed. draws: seeds of the draws."""
    rng = np.random.default_rng(draws)
    return statistics.median(rating(one, rng) for one in results)


def rating(results: Evaluation, rng: np.random.Generator) -> float:
    """The Elo rating over random play that a match reports."""
    points = 0.0
    for side in (results.x, results.o):
        won, drawn, _ = rng.multinomial(MATCH // 2, [side.win, side.draw, side.loss])
        points += won + drawn / 2
    score = min(max(points, 0.5), MATCH - 0.5) / MATCH
    return 400 * math.log10(score / (1 - score))


def print_table(points: Points, seeds: int) -> None:
    columns = ("can be beaten as X", "as O", "wins, %", "Elo by 100 games")
    print(f"| games | simulations | {' | '.join(columns)} |\n{'| --- ' * 6}|")
    for (games, simulations), results in points.items():
        sides = (f"{seeds * beatable(results, side):.0f} of {seeds}" for side in "XO")
        cells = (*sides, f"{wins(results):.2f}", f"{elo(results, (games, simulations)):+.0f}")
        print(f"| {games:,} | {simulations or 'network alone'} | {' | '.join(cells)} |")


def draw(points: Points, path: Path) -> None:
    """Panels over the games: exploitability on each side, wins against random play, and Elo."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    panels = {
        "can be beaten as X, share of the seeds, exact": lambda at: beatable(points[at], "X"),
        "can be beaten as O, share of the seeds, exact": lambda at: beatable(points[at], "O"),
        "wins against random play, %, exact": lambda at: wins(points[at]),
        f"Elo over random play by {MATCH} games, median": lambda at: elo(points[at], at),
    }
    games = sorted({games for games, _ in points})
    for number, (title, measure) in enumerate(panels.items()):
        axes = figure.add_subplot(2, 2, number + 1)
        for order, simulations in enumerate(SIMULATIONS):
            shown = [measure((steps, simulations)) for steps in games]
            label = f"{simulations} simulations" if simulations else "network alone"
            axes.plot(games, shown, color=f"C{order}", label=label)
        axes.set(title=title, xlabel="games of self-play")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=8)
    write(figure, path)


def main(*, seeds: int = 10, games: int = 2_560, out: Path | None = None) -> None:
    """Print the table of so many trainings of so many games. out: draw a PNG or an SVG."""
    points = trainings(seeds, games)
    print_table(points, seeds)
    if out is not None:
        draw(points, out)


if __name__ == "__main__":
    run(main)
