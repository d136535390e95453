"""The tables of docs/results.md, exact results of every agent: `python -m benchmarks.results`.

    python -m benchmarks.results                                  the agents of the package, all
                                                                  against all: seconds, no training
    python -m benchmarks.results --seeds 10 --jobs 2              also trains all with ten seeds
    python -m benchmarks.results --seeds 10 --only alphazero      trains one, writes its row only

It writes docs/cross_table.csv with its picture, and rows into the page. Runs in runs/results with
the same configuration are loaded; an option that a run does not know yet counts as its default.
All others are trained, as a study trains its seeds: in processes with one thread, and after a kill
from their checkpoints. Seconds are those of training, with exact evaluations but without imports.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, run

import agents
from apps.terminal.report import cross_table, exact_rates
from apps.terminal.study import train_run
from apps.terminal.study_table import spread
from tictactoe_env.certificates.certificate import FILE, read, table_of
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.stated import package_versions
from tictactoe_env.errors import printable
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.files import MANIFEST
from tictactoe_env.notation import SIDES
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import Rules
from tictactoe_env.trained import certificate_of, trained_names
from training.charts import heat_map
from training.cluster import results
from training.files import read_json, write_bytes, write_csv

ROOT = Path(__file__).parent.parent
RUNS = Path("runs") / "results"
PAGE = ROOT / "docs" / "results.md"
CROSS = ROOT / "docs" / "cross_table.csv"
NOT_TRAINED = "-"  # for this side


@dataclass(frozen=True)
class Setting:
    """A training: an agent, its preset, and the goal (train.py --until)."""

    agent: str
    preset: str | None = None
    until: str = "steps"

    @property
    def name(self) -> str:
        """The name of the agent, followed by that of the preset."""
        return f"{self.agent}-{self.preset}" if self.preset else self.agent

    @property
    def module(self) -> Any:
        """The module of the agent."""
        return agents.module(self.agent)

    def config(self, seed: int) -> Any:
        """The configuration of its training."""
        options = agents.presets(self.agent)[self.preset].options if self.preset else {}
        return self.module.Config(**{**options, "seed": seed})

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that it is trained to play."""
        return self.config(0).learned_sides

    def is_saved_in(self, folder: Path, seed: int) -> bool:
        """True if a finished run has this configuration; options that are new have their default.

        A new option's default is what was done before it existed. A run is finished when it has its
        manifest, which is written last.
        """
        is_finished = (folder / FILE).exists() and (folder / MANIFEST).exists()
        return is_finished and self.is_begun_in(folder, seed)

    def is_begun_in(self, folder: Path, seed: int) -> bool:
        """True if a run, finished or not, has this configuration, as `is_saved_in` says."""
        if not (folder / "config.json").exists():
            return False
        saved = read_json(folder / "config.json")["config"]
        default, wanted = (
            json.loads(json.dumps(dict(config)))
            for config in (self.module.Config(), self.config(seed))
        )
        return bool({**default, **saved} == wanted)

    @property
    def command(self) -> str:
        """The command line that trains it."""
        preset = f" --preset {self.preset}" if self.preset else ""
        until = "" if self.until == "steps" else f" --until {self.until}"
        return f"train.py {self.agent}{preset}{until}"


SETTINGS = (
    *(Setting(agent, until=agents.facts(agent).get("GOAL", "steps")) for agent in agents.TRAINABLE),
    *(
        Setting(agent, preset)
        for agent in agents.TRAINABLE
        for preset, known in agents.presets(agent).items()
        if "rows" not in known.options
    ),
)
"""Every agent, and every preset for 3x3."""
PACKAGED = tuple(setting for setting in SETTINGS if setting.name in trained_names())
"""The settings whose players come with the package; a new agent is not among them yet."""
READY = ("search", "mcts-playouts=1000", "minimax", "random")
"""Players that need no training."""


# --- training -----------------------------------------------------------------------------------


def train_all(
    settings: Sequence[Setting], seeds: int, jobs: int = 1
) -> dict[str, list[Certificate]]:
    """The certificates of all settings with all seeds, by name; those not there yet are trained.

    Raises ValueError if a training failed, after all others. A run with another configuration is
    removed.
    """
    wanted = [
        (setting, seed, RUNS / f"{setting.name}-{seed}")
        for seed in range(seeds)
        for setting in settings
    ]
    calls = []
    failed = []
    for setting, seed, folder in wanted:
        if not setting.is_saved_in(folder, seed):
            if not setting.is_begun_in(folder, seed):
                shutil.rmtree(folder, ignore_errors=True)
            asked = (setting.agent, setting.config(seed), setting.preset, setting.until)
            calls.append((folder.absolute(), *asked))
    RUNS.mkdir(parents=True, exist_ok=True)
    for number, (_, error) in results(train_run, calls, jobs=jobs):
        text = f"{calls[number][0].name}: {error or 'finished'}"
        print(printable(text), file=sys.stderr, flush=True)
        if error:
            failed.append(text)
    if failed:
        raise ValueError("; ".join(failed))
    found: dict[str, list[Certificate]] = {setting.name: [] for setting in settings}
    for setting, _, folder in wanted:
        found[setting.name].append(read(folder))
    return found


# --- tables -------------------------------------------------------------------------------------


def seeds_row(setting: Setting, contents: Sequence[Certificate]) -> list[str]:
    """The row of an agent over its seeds: proofs, when they were made, wins against random play."""
    trainings = [content.stated.training for content in contents]
    row = [setting.name]
    for goal in ("first_unbeatable", "first_optimal"):
        times = [training[goal]["seconds"] for training in trainings if goal in training]
        row += [f"{len(times)} of {len(trainings)}", spread(times, 1) if times else ""]
    for side in SIDES:
        wins = [100 * content.results[side].vs_random.win for content in contents]
        row.append(spread(wins, 2) if side in setting.sides else NOT_TRAINED)
    return row


def put(page: str, table: str, rows: Sequence[Sequence[str]]) -> str:
    """The page with these rows in a table, which stands below `<!-- table -->`.

    A row takes the place of the one with the same first cell; a new one comes last.
    """
    before, mark, after = page.partition(f"<!-- {table} -->\n\n")
    if not mark:
        raise ValueError(f"docs/results.md needs a table below <!-- {table} -->")
    text, end, rest = after.partition("\n\n")
    heading, ruler, *lines = text.splitlines()
    kept = {line.split(" | ")[0].removeprefix("| "): line for line in lines}
    kept |= {row[0]: f"| {' | '.join(row)} |" for row in rows}
    return before + mark + "\n".join([heading, ruler, *kept.values()]) + end + rest


# --- all against all ----------------------------------------------------------------------------


def draw_cross(found: Mapping[str, Mapping[str, Mapping[str, float]]], path: Path) -> None:
    """Draw all players as X against all as O; a star marks those who have not learned that side."""
    values = [[one["win"] - one["loss"] for one in row.values()] for row in found.values()]
    learned = {setting.name: setting.sides for setting in PACKAGED}
    as_x, as_o = (
        [name if side in learned.get(name, SIDES) else f"{name} *" for name in found]
        for side in SIDES
    )
    heat_map(values, as_x, as_o, path)


# --- the command ----------------------------------------------------------------------------------


def write_cross() -> None:
    """Write the exact results of the players of the package against each other, and a picture."""
    tables = {setting.name: table_of(certificate_of(setting.name)) for setting in PACKAGED}
    tables |= {name: tabulate(make_opponent(name, Rules()), Rules()) for name in READY}
    found = cross_table(tables, exact_rates)
    lines = [
        [x, o, *(f"{one[rate]:.6f}" for rate in ("win", "draw", "loss"))]
        for x, row in found.items()
        for o, one in row.items()
    ]
    write_csv(CROSS, ("x", "o", "x_wins", "draws", "o_wins"), lines)
    draw_cross(found, CROSS.with_suffix(".svg"))


def main(
    *,
    seeds: int = 0,
    jobs: int = 1,
    only: Annotated[list[str], Parameter(consume_multiple=True)] | None = None,
) -> None:
    """Write the tables of docs/results.md, and the cross table.

    seeds: train every agent and preset with so many seeds, from 0 on. jobs: trainings at a time.
    only: write only the rows of these agents and presets over the seeds.
    """
    os.chdir(ROOT)
    page = PAGE.read_text(encoding="utf-8")
    settings = [setting for setting in SETTINGS if not only or setting.name in only]
    if seeds:
        trained = train_all(settings, seeds, jobs)
        for setting in settings:
            row = seeds_row(setting, trained[setting.name])
            print(" | ".join(row))
            page = put(page, "presets" if setting.preset else "agents", [row])
    write_bytes(PAGE, page.encode())
    if not only:
        write_cross()
    print(f"{PAGE}, with {package_versions()}")


if __name__ == "__main__":
    run(main)
