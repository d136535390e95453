"""A study: one agent trained with many seeds, each in a run of its own, in one folder.

runs/dqn-study/
    seed-00/        the run of seed 0, and so on; seed-00.log is what its training printed
    study.csv       the facts of each seed
    study.md        a table over the seeds
    study.png       which share of the seeds can still be beaten, and their exploitability, over the
                    steps; study_curves.csv has the numbers
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tictactoe_env.exact.evaluation import winner
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.files import write_file
from tictactoe_env.rules import SIDES, Rules
from training.charts import Curve, compare
from training.files import write_csv
from training.metrics import results_of
from training.options import BoardConfig

GOALS = {
    "always_wins": "wins against everybody",  # what the side can reach that wins with best play
    "unbeatable": "proven unbeatable",
    "optimal": "proven optimal",
}
BOTH = "both"
UNITS = ("steps", "seconds")
PLACES = {"x": "as X", "o": "as O", BOTH: "both sides"}
RATES = {"win": "wins", "draw": "draws", "loss": "losses"}
MOST_SEEDS = 100_000  # of a study
Rows = Sequence[Mapping[str, Any]]


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds of a text such as "0-99" or "0-4,7", sorted. Raises ValueError for another text."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*)?", part)
        seeds = range(0)
        if match is not None:
            first = int(match[1])
            last = int(match[2] or first)
            seeds = range(first, last + 1)
        if not 0 < len(seeds) <= MOST_SEEDS:
            raise ValueError(f"expected seeds such as 0-99 or 0-4,7, got {text!r}")
        found.update(seeds)
    return tuple(sorted(found))


def goals_of(rules: Rules) -> tuple[str, ...]:
    """The goals that are counted on a board. What is optimal is known on up to 12 cells."""
    if winner(rules):
        return ("always_wins",)
    if rules.cells > TABULATED:
        return ("unbeatable",)
    return ("unbeatable", "optimal")


def facts(rows: Rows, config: BoardConfig, until: str) -> dict[str, Any]:
    """The outcome of a run: its steps and seconds, whether it reached its goal, and what follows.

    rows: of its metrics.csv. The rates are the best model's, against random play as each side that
    is learned. The steps of a goal are those after which it was first proven for a side, or for
    both, and None if it never was.
    """
    side = config.learned_side
    results = [results_of(dict(row), config.rules) for row in rows]
    best = max(results, key=lambda one: one.rank(side))
    found: dict[str, Any] = {name: rows[-1][name] for name in UNITS}
    found["reached"] = until == "steps" or any(one.reached(until, side) for one in results)
    places = list(PLACES) if side == BOTH else [side.lower()]
    for place in places:
        sides = "xo" if place == BOTH else place
        if place != BOTH:
            found |= {f"{rate}_{place}": getattr(getattr(best, place), rate) for rate in RATES}
        for goal in goals_of(config.rules):
            columns = [f"{goal}_{one}" for one in sides]
            if rows[0].keys() >= set(columns):
                reached = (row["steps"] for row in rows if all(row[name] for name in columns))
                found[f"{goal}_{place}_steps"] = next(reached, None)
    return found


def spread(values: Sequence[float], digits: int = 0, scale: float = 1) -> str:
    """The median, followed by the smallest and the largest value if these differ; "" of none."""
    if not values:
        return ""
    points = min(values), statistics.median(values), max(values)
    low, middle, high = (f"{scale * value:,.{digits}f}" for value in points)
    if low == high:
        return middle
    return f"{middle} ({low} to {high})"


def table(found: Rows, goals: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Headings and lines of a table over the facts of seeds, with a column for each side."""
    sides = [side for side in "xo" if f"win_{side}" in found[0]]
    places = list(sides)
    if len(sides) == 2:
        places.append(BOTH)

    def line(text: str, key: str, cell: Callable[[list[float]], str]) -> list[str]:
        """A cell for each place that has such a fact, from the seeds that have a value."""
        cells = []
        for name in map(key.format, places):
            known = [one[name] for one in found if one.get(name) is not None]
            cells.append(cell(known) if name in found[0] else "")
        return [text, *cells]

    lines = []
    for goal in goals:
        steps = f"{goal}_{{}}_steps"
        lines.append(line(GOALS[goal], steps, lambda known: f"{len(known)} of {len(found)}"))
        lines.append(line("- steps until then", steps, spread))
    for rate, text in RATES.items():
        per_cent = partial(spread, digits=2, scale=100)
        lines.append(line(f"{text} against random, %", f"{rate}_{{}}", per_cent))
    empty = [""] * (len(places) - 1)
    lines += [[f"{unit} in all", *empty, spread([one[unit] for one in found])] for unit in UNITS]
    return ["", *(PLACES[place] for place in places)], [one for one in lines if any(one[1:])]


def write_study(
    folder: Path, title: str, metrics: Mapping[int, Rows], config: BoardConfig, until: str
) -> tuple[list[str], list[list[str]]]:
    """Write study.csv, study.md and study.png, and return the headings and lines of the table.

    metrics: the rows of metrics.csv of each seed. config: that of any seed.
    """
    found = {seed: facts(rows, config, until) for seed, rows in metrics.items()}
    outcomes = list(found.values())
    lines = [[seed, *row.values()] for seed, row in found.items()]
    write_csv(folder / "study.csv", ["seed", *outcomes[0]], lines)
    headings, body = table(outcomes, goals_of(config.rules))
    write_table(folder / "study.md", title, headings, body)
    sides = [side for side in SIDES if f"win_{side.lower()}" in outcomes[0]]
    runs = list(metrics.values())
    curves = [Curve(f"as {side}", runs, side) for side in sides]
    if len(sides) == 2:
        curves.insert(0, Curve("as X and O", runs))
    compare(curves, folder / "study.png", title)
    return headings, body


def write_table(
    path: Path, title: str, headings: Sequence[str], lines: Sequence[Sequence[str]]
) -> None:
    """Write a table in Markdown, below its title."""
    page = [headings, ["---"] * len(headings), *lines]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in page)
    write_file(path, lambda file: file.write(f"{title}\n\n{text}\n".encode()))
