"""Vary one thing, or several: an agent trained with each value and many seeds, in one table.

    python train.py dqn --vary discount=0.75,0.9,0.99 --seeds 0-9 --until unbeatable

runs/dqn-vary/
    discount=0.75/      the study of this value, and so on; of two options a folder for each pair
    vary.csv            the facts of each run
    vary.md             a table with a line for each value
    vary.png            which share of the seeds can still be beaten, and their exploitability, over
                        the steps; vary_curves.csv has the numbers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from apps.terminal.experiments import Experiment, experiment_of
from apps.terminal.study_table import BOTH, GOALS, Rows, facts, goals_of, spread, write_table
from tictactoe_env.errors import unknown_name
from tictactoe_env.notation import parse_size
from tictactoe_env.rules import SIDES
from training.charts import Curve, compare
from training.files import write_csv
from training.options import options_of, typed


class Variant(NamedTuple):
    """One combination of values. label: such as "discount=0.9", "" if nothing is varied."""

    values: Mapping[str, str]
    experiment: Experiment

    @property
    def label(self) -> str:
        """The options with their values, as they were typed."""
        return " ".join(f"{name}={value}" for name, value in self.values.items())

    @property
    def folder(self) -> Path:
        """Its folder within that of the whole: one level for each option."""
        parts = (f"{name}={quote(value, safe=',+')}" for name, value in self.values.items())
        return Path(*parts)


def parse_varied(text: str) -> tuple[str, tuple[str, ...]]:
    """The option and the values of a text such as "discount=0.75,0.9".

    Values that have commas themselves are separated by semicolons: "hidden=64;128,128". Raises
    ValueError for another text, and for a value that is given twice.
    """
    name, _, listed = text.partition("=")
    separator = ";" if ";" in listed else ","
    values = tuple(value.strip() for value in listed.split(separator))
    if not name or not all(values):
        raise ValueError(f"expected OPTION=VALUE,VALUE, such as discount=0.75,0.9, got {text!r}")
    if len({*values}) < len(values):
        raise ValueError(f"expected each value of {name} once, got {text!r}")
    return name.strip().lstrip("-").replace("-", "_"), values


def variants_of(
    module: Any, chosen: Mapping[str, Any], varied: Sequence[tuple[str, Sequence[str]]]
) -> list[Variant]:
    """All combinations of the values of varied options, beside the options that were typed.

    Any option of the agent can be varied, and its board and preset; if nothing is, there is one
    variant without values. Raises ValueError for another option, for one that is given twice, and
    for a value that the agent refuses.
    """
    names = [name for name, _ in varied]
    variants = []
    for texts in product(*(values for _, values in varied)):
        values = dict(zip(names, texts, strict=True))
        options = dict(chosen)
        for name, text in values.items():
            read = _options_of_value(module, name, text)
            if twice := read.keys() & options.keys():
                raise ValueError(f"{', '.join(twice)} is given besides --vary {name}: leave it out")
            options |= read
        if len(values) < len(names):
            raise ValueError(f"each option is varied once, got {', '.join(names)}")
        variants.append(Variant(values, experiment_of(module, options)))
    return variants


def _options_of_value(module: Any, name: str, text: str) -> dict[str, Any]:
    """The options that a value of a varied option stands for: three if it is a board."""
    if name == "board":
        return parse_size(text).to_json()
    if name == "preset":
        return {name: text}
    fields = options_of(module.Config)
    if name not in fields or name == "seed":
        known = {"board", "preset", *fields} - {"seed"}
        where = f"train.py {module.AGENT} --help-all lists them"
        raise unknown_name(f"option of {module.AGENT} to vary", name, known, where)
    try:
        return {name: typed(fields[name].rebuild_annotation(), text)}
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def write_comparison(
    folder: Path, title: str, found: Sequence[tuple[Variant, Mapping[int, Rows]]], until: str
) -> tuple[list[str], list[list[str]]]:
    """Write vary.csv, vary.md and vary.png, and return headings and lines of the table.

    found: each variant with the metrics of its seeds, at least one.
    """
    runs = []
    table = []
    curves = []
    for variant, metrics in found:
        config = variant.experiment.config
        outcomes = {seed: facts(rows, config, until) for seed, rows in metrics.items()}
        runs += [{**variant.values, "seed": seed, **one} for seed, one in outcomes.items()]
        goals = [goal for goal in goals_of(config.rules) if goal != "optimal" or until == goal]
        table.append({**variant.values, **_summary([*outcomes.values()], goals)})
        curves.append(Curve(variant.label, [*metrics.values()], config.learned_sides))
    write_csv(folder / "vary.csv", *_columns(runs))
    headings, lines = _columns(table)
    write_table(folder / "vary.md", title, headings, lines)
    compare(curves, folder / "vary.png", title)
    return headings, lines


def _summary(outcomes: Rows, goals: Sequence[str]) -> dict[str, str]:
    """The cells of a variant: how many seeds were proven, after how many steps, wins and losses."""
    cells = {}
    for goal in goals:
        keys = [f"{goal}_{place}_steps" for place in (BOTH, "x", "o")]
        key = next(key for key in keys if key in outcomes[0])
        steps = [one[key] for one in outcomes if one[key] is not None]
        cells[GOALS[goal]] = f"{len(steps)} of {len(outcomes)}"
        cells[f"{goal.replace('_', ' ')} after steps"] = spread(steps)
    for side in SIDES:
        for rate, word in (("win", "won"), ("loss", "lost")):
            key = f"{rate}_{side.lower()}"
            if key in outcomes[0]:
                shares = [one[key] for one in outcomes]
                cells[f"{word} as {side}, %"] = spread(shares, digits=2, scale=100)
    return cells


def _columns(rows: Rows) -> tuple[list[str], list[list[Any]]]:
    """The headings of rows by name, and the lines; what a row lacks is empty."""
    headings = list(dict.fromkeys(name for row in rows for name in row))
    return headings, [[row.get(name, "") for name in headings] for row in rows]
