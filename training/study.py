"""A study: one agent trained with many seeds, each in a run of its own, in one folder.

runs/dqn-study/
    study.json      what is trained, a summary, and a row for each seed
    study.csv       the rows, as a table
    study.md        the summary, as a table
    study.png       the share of seeds that are proven over the steps, and learning curves
    seed-00/        the run of seed 0, and so on; seed-00.log is what its training printed
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tictactoe_env.certificates.certificate import FILE as CERTIFICATE
from tictactoe_env.certificates.certificate import read
from tictactoe_env.certificates.content import SideResults, sides_of
from tictactoe_env.certificates.stated import package_versions
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.files import write_file
from tictactoe_env.rules import SIDES
from training.files import DamagedFileError, read_json, write_csv, write_json
from training.jobs import Job
from training.metrics import FILE as METRICS
from training.metrics import read_metrics
from training.options import BoardConfig
from training.plots import study_chart

FILE = "study.json"
GOALS = ("unbeatable", "optimal")
ALWAYS = "always_wins"  # what X can reach on boards that it wins with best play
TEXTS = {
    ALWAYS: "wins against everybody",
    "unbeatable": "proven unbeatable",
    "optimal": "proven optimal",
}
BOTH = "both"
MOST_SEEDS = 100_000  # of a study
Rows = Sequence[Mapping[str, Any]]


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds of a text such as "0-99" or "0-4,7", sorted. Raises ValueError for another text."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*)?", part)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f"expected seeds such as 0-99 or 0-4,7, got {text!r}")
        low, high = int(match[1]), int(match[2] or match[1])
        if high - low >= MOST_SEEDS:
            raise ValueError(f"expected at most {MOST_SEEDS:,} seeds, got {part.strip()!r}")
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def seeds_text(seeds: Sequence[int]) -> str:
    """The seeds as they are typed: "0-4,7"."""
    ranges: list[list[int]] = []
    for seed in seeds:
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


@dataclass
class Study:
    """What is trained, with which seeds, and where. config: of any seed.

    errors: why a seed failed, by seed.
    """

    folder: Path
    agent: str
    config: BoardConfig
    preset: str | None
    until: str
    seeds: tuple[int, ...]
    errors: dict[int, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the agent, followed by that of the preset if there is one."""
        return f"{self.agent}-{self.preset}" if self.preset else self.agent

    @property
    def goals(self) -> tuple[str, ...]:
        """What is counted. What is best achievable is known on boards of up to 12 cells."""
        return GOALS if self.config.rules.cells <= TABULATED else GOALS[:1]

    @property
    def definition(self) -> dict[str, Any]:
        """What must not change when a study continues, as JSON."""
        config = asdict(self.config)
        del config["seed"]
        about = {"agent": self.agent, "preset": self.preset, "until": self.until, "config": config}
        return dict(json.loads(json.dumps(about)))

    def check_folder(self) -> None:
        """Take over the seeds of the study in the folder, if there is one.

        Raises ValueError if that study was begun with other options, or if the folder holds
        something else.
        """
        path = self.folder / FILE
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file: give another --out")
        if not path.exists():
            others = [one.name for one in _content(self.folder) if not one.name.startswith(".")]
            if others:
                raise ValueError(
                    f"{self.folder} holds no study, but {sorted(others)[0]}: give another --out"
                )
            return
        saved = read_json(path)
        if not isinstance(saved, dict) or not isinstance(saved.get("config"), dict):
            raise DamagedFileError(f"{path} is not the file of a study: give another --out")
        changed = self._changes(saved)
        if changed:
            raise ValueError(
                f"{self.folder} was begun with another {'; '.join(changed)}: give the same "
                "options to continue it, or another --out"
            )
        self.seeds = tuple(sorted({*self.seeds, *map(int, saved.get("seeds", ()))}))

    def _changes(self, saved: Mapping[str, Any]) -> list[str]:
        """The options with another value than before: "--steps (500 before, now 1000)"."""
        now = self.definition
        was = {name: saved.get(name) for name in ("agent", "preset", "until")}
        default = json.loads(json.dumps(asdict(type(self.config)())))  # of options that are new
        before = {**was, **default, **saved["config"]}
        after = {**{name: now[name] for name in was}, **now["config"]}
        return [
            f"--{name.replace('_', '-')} ({before.get(name)} before, now {after.get(name)})"
            for name in dict.fromkeys([*after, *before])
            if name != "seed" and before.get(name) != after.get(name)
        ]

    def job(self, seed: int) -> Job:
        """The training of a seed."""
        digits = max(2, len(str(max(self.seeds))))
        named = self.folder / f"seed-{seed:0{digits}d}"
        known = [self.folder / f"seed-{seed:0{most}d}" for most in range(1, 11)]
        folder = next((one for one in known if one.exists()), named)  # of a time with fewer seeds
        config = json.loads(json.dumps(asdict(replace(self.config, seed=seed))))
        place = str(folder.absolute())
        return Job(f"seed {seed}", place, self.agent, config, self.until, self.preset)

    # --- results -----------------------------------------------------------------------------

    def row(self, seed: int) -> dict[str, Any]:
        """The facts of a seed: its state, and if it is finished its results and its steps."""
        job = self.job(seed)
        about: dict[str, Any] = {"seed": seed, "folder": job.path.name}
        if seed in self.errors:
            return {**about, "state": "failed", "error": self.errors[seed]}
        if not job.is_finished:
            saved = job.steps_saved
            return {**about, "state": "new" if saved < 0 else "begun", "steps": max(saved, 0)}
        metrics, sides = metrics_of(job.path), sides_of(job.config)
        found: Mapping[str, SideResults] = {}
        training: Mapping[str, Any] = metrics[-1]
        if (job.path / CERTIFICATE).exists():  # else nothing was proven of its model
            certificate = read(job.path)
            found, training = certificate.results, certificate.stated.training
        about |= {"state": "finished", "steps": int(training["steps"])}
        about |= {"seconds": training["seconds"], "reached": job.has_reached_its_goal}
        for side in sides:
            about |= _rates_of(found.get(side), metrics[-1], side)
            is_won = any(f"{ALWAYS}_{side.lower()}" in one for one in metrics)
            goals = (ALWAYS, *self.goals) if is_won else self.goals
            about |= _firsts(metrics, found, (side,), side.lower(), goals)
        return about | _firsts(metrics, found, sides, BOTH, self.goals)

    def rows(self) -> list[dict[str, Any]]:
        """The facts of every seed."""
        return [self.row(seed) for seed in self.seeds]

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write study.json and study.csv. rows: those of `rows`."""
        content = {
            **self.definition,
            "seeds": list(self.seeds),
            "versions": package_versions(),
            "summary": summary(rows),
            "runs": list(rows),
        }
        write_json(self.folder / FILE, content)
        names = list(dict.fromkeys(name for row in rows for name in row))
        table = [[_cell(row.get(name)) for name in names] for row in rows]
        write_csv(self.folder / "study.csv", names, table)

    def write_report(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write study.md and study.png, if any seed is finished."""
        headings, lines = summary_table(rows)
        table = [headings, ["---"] * len(headings), *lines]
        text = "\n".join(f"| {' | '.join(line)} |" for line in table)
        title = f"{self.name}, {len(self.seeds)} seeds ({seeds_text(self.seeds)})"
        page = f"{title}, until {self.until}\n\n{text}\n"
        write_file(self.folder / "study.md", lambda file: file.write(page.encode()))
        finished = [row for row in rows if row["state"] == "finished"]
        if finished:
            curves = [metrics_of(self.job(row["seed"]).path) for row in finished]
            sides = sides_of(self.definition["config"])
            study_chart(curves, self.folder / "study.png", title, sides)


def _content(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


def _cell(value: Any) -> Any:
    return "" if value is None else int(value) if isinstance(value, bool) else value


def metrics_of(folder: Path) -> list[dict[str, float]]:
    """The rows of a run's metrics.csv; entries that are empty are left out."""
    return read_metrics(folder / METRICS)


def _rates_of(
    found: SideResults | None, last: Mapping[str, float], side: str
) -> dict[str, float | None]:
    """The rates of a side against random play: those of the certificate, or of the last row."""
    rates, name = {} if found is None else vars(found.vs_random), side.lower()
    kinds = ("win", "draw", "loss", "illegal")
    return {f"{rate}_{name}": rates.get(rate, last.get(f"{name}_{rate}")) for rate in kinds}


def _firsts(
    metrics: Rows,
    results: Mapping[str, SideResults],
    sides: Sequence[str],
    name: str,
    goals: Sequence[str],
) -> dict[str, Any]:
    """Whether goals are proven on all these sides, and after how many steps and seconds first."""
    found: dict[str, Any] = {}
    for goal in goals:
        columns = [f"{goal}_{side.lower()}" for side in sides]
        is_proven = all(side in results and getattr(results[side], goal) for side in sides)
        first = next((row for row in metrics if all(row.get(one) for one in columns)), None)
        point = first if is_proven and first else {}
        found |= {
            f"{goal}_{name}": is_proven,
            f"{goal}_{name}_steps": None if not point else int(point["steps"]),
            f"{goal}_{name}_seconds": point.get("seconds"),
        }
    return found


# --- a summary -----------------------------------------------------------------------------------


def spread(values: Sequence[float], digits: int) -> str:
    """The median, followed by the smallest and the largest value if these differ."""
    form = f".{digits}f" if digits else ",.0f"
    low, middle, high = (
        f"{value:{form}}" for value in (min(values), statistics.median(values), max(values))
    )
    return middle if low == high else f"{middle} ({low} to {high})"


def summary(rows: Rows) -> dict[str, Any]:
    """Of the finished seeds: how many are proven, and [smallest, median, largest] of numbers.

    Its keys are "seeds", the states, "steps", "seconds", and for each side and "both" the goals
    with the numbers until then, and the rates against random play.
    """
    finished = [row for row in rows if row["state"] == "finished"]
    states = ("finished", "failed", "begun", "new")
    found: dict[str, Any] = {"seeds": len(rows)}
    found |= {state: sum(row["state"] == state for row in rows) for state in states}
    found |= {name: three_of(finished, name) for name in ("steps", "seconds")}
    for name in (*map(str.lower, SIDES), BOTH):
        for goal in TEXTS:
            key = f"{goal}_{name}"
            if any(key in row for row in finished):
                found[key] = sum(bool(row[key]) for row in finished)
                for unit in ("steps", "seconds"):
                    found[f"{key}_{unit}"] = three_of(finished, f"{key}_{unit}")
        for rate in ("win", "draw", "loss", "illegal"):
            if any(f"{rate}_{name}" in row for row in finished):
                found[f"{rate}_{name}"] = three_of(finished, f"{rate}_{name}")
    return found


def three_of(rows: Rows, name: str) -> list[float] | None:
    """[smallest, median, largest] of a number of these rows, None if none of them has it."""
    values = values_of(rows, name)
    return [min(values), statistics.median(values), max(values)] if values else None


def values_of(rows: Rows, name: str) -> list[float]:
    """A number of the rows that have it."""
    return [row[name] for row in rows if row.get(name) is not None]


def summary_table(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The headings and lines of the table of a study: a column for each side and for both.

    Where X wins with best play, it counts the seeds that win against everybody as X.
    """
    finished = [row for row in rows if row["state"] == "finished"]
    known = [name for name in ("x", "o") if any(f"unbeatable_{name}" in row for row in finished)]
    columns = [*known, *([BOTH] if len(known) == 2 else [])]
    headings = ["", *("both sides" if at == BOTH else f"as {at.upper()}" for at in columns)]

    def line(text: str, key: str, digits: int, scale: float = 1) -> list[str]:
        values = [[scale * one for one in values_of(finished, key.format(at))] for at in columns]
        return [text, *(spread(one, digits) if one else "" for one in values)]

    def count(key: str) -> str:
        reached = values_of(finished, key)
        return f"{sum(map(bool, reached))} of {len(finished)}" if reached else ""

    lines = []
    for goal in (ALWAYS,) if any(f"{ALWAYS}_x" in row for row in finished) else GOALS:
        lines.append([TEXTS[goal], *(count(f"{goal}_{at}") for at in columns)])
        lines.append(line("- steps until then", f"{goal}_{{}}_steps", 0))
        lines.append(line("- seconds until then", f"{goal}_{{}}_seconds", 1))
    for rate, text in (("win", "wins"), ("draw", "draws"), ("loss", "losses")):
        lines.append(line(f"{text} against random, %", f"{rate}_{{}}", 2, 100))
    for unit, digits in (("steps", 0), ("seconds", 1)):
        total = [spread(values_of(finished, unit), digits)] if finished else []
        lines.append([f"{unit} in all", *[""] * (len(columns) - 1), *total])
    return headings, [cells for cells in lines if columns and any(cells[1:])]
