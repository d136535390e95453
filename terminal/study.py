"""A study in the terminal: a line for each seed that ends, and a table and a plot at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from terminal import report
from tictactoe_env.errors import printable
from tictactoe_env.exact.verdict import Proven, verdict
from tictactoe_env.rules import SIDES
from training.cluster import Lost, Workers, connect, outcomes, stopping
from training.files import locked
from training.goals import check_goal_of, goal_text
from training.jobs import FAILED, FINISHED, STOPPED, Job, Outcome, Owner
from training.study import ALWAYS, GOALS, Study, seeds_text, summary_table

if TYPE_CHECKING:
    from rich.console import Console

PROGRAM = "terminal.job"  # trains a seed, in a process of its own


def train(study: Study, console: Console, cluster: str | None, jobs: int | None) -> int:
    """Train the seeds of a study that are not finished, and print its table; the exit code.

    0: every seed is finished and has reached the goal `until`, if there is one; 1: a seed failed or
    has not; 130: Ctrl-C stopped the study. Raises ValueError if the folder holds something else, if
    the cluster cannot be used, and for a goal that cannot be reached.
    """
    asked = study.seeds
    check_goal_of(study.config, study.until)
    with locked(study.folder):
        study.check_folder()
        wanted = [study.job(seed) for seed in asked]
        left = [job for job in wanted if not job.is_finished]
        study.write(study.rows())
        done = len(wanted) - len(left)
        if done:
            report.say(f"{done} of {len(wanted)} seeds are finished already", console)
        is_stopped = False
        if left:
            with connect(cluster, jobs) as workers:
                is_stopped = _train(study, left, console, workers)
        rows = study.rows()
        study.write(rows)
        study.write_report(rows)
    print_study(study, rows, console)
    return _verdict(study, asked, rows, is_stopped)


def _train(study: Study, jobs: Sequence[Job], console: Console, workers: Workers) -> bool:
    """Train the runs, with a line for each that ends; whether Ctrl-C stopped the study."""
    number = f"{len(jobs)} seed{'s' * (len(jobs) != 1)}"
    text = f"training {number} {workers.place}, {workers.jobs} at a time: {study.folder}"
    report.say(text, console)
    seeds = {job.name: int(job.name.split()[1]) for job in jobs}
    owner, ended = Owner.begin(study.folder, workers.is_local, PROGRAM), 0
    with stopping(owner) as stops:
        for found in outcomes(jobs, owner, workers):
            if isinstance(found, Lost):
                if not stops:
                    text = f"a worker was lost ({found.error}): its seeds continue"
                    report.say(text, console, "yellow")
                continue
            seed = seeds[found.job.name]
            if found.state == FAILED:
                study.errors[seed] = found.error
            if found.state != STOPPED:
                ended += 1
                report.say(f"{_line(study, seed, found)}   [{ended} of {len(jobs)}]", console)
    return bool(stops)


def _line(study: Study, seed: int, found: Outcome) -> str:
    """What came of a seed, in one line."""
    if found.state == FAILED:
        return f"seed {seed}: FAILED: {found.error} (see {found.job.log})"
    row = study.row(seed)
    assert found.state == FINISHED
    sides = {
        side: Proven(
            unbeatable=bool(row.get(f"unbeatable_{side.lower()}")),
            optimal=bool(row.get(f"optimal_{side.lower()}")),
            always_wins=bool(row.get(f"{ALWAYS}_{side.lower()}")),
        )
        for side in SIDES
    }
    text = verdict({side: proven for side, proven in sides.items() if proven.word})
    return f"seed {seed}: {text}, {row['steps']:,} steps, {row['seconds']:.1f} s"


def print_study(study: Study, rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print the table of a study, and what is not finished."""
    from rich.table import Table

    states = [row["state"] for row in rows]
    title = f"{study.name}, seeds {seeds_text(study.seeds)}, until {study.until}"
    finished = states.count("finished")
    report.say(f"\n{title}: {finished} of {len(rows)} finished", console, "bold")
    headings, lines = summary_table(rows)
    if lines:
        table = Table()
        for number, heading in enumerate(headings):
            table.add_column(heading, justify="left" if number == 0 else "right")
        for line in lines:
            table.add_row(*line)
        report.print_whole(table, console)
        is_small = study.goals == GOALS
        how = "exact" if is_small else "exact where a side is proven, sampled elsewhere"
        report.say(f"median (smallest to largest) over the seeds; rates are {how}", console)
        is_won = any(f"{ALWAYS}_x" in row for row in rows)
        if is_won and (goal := goal_text(study.until, study.config.rules)):
            report.say(goal, console)
    for seed, error in study.errors.items():
        report.say(f"seed {seed} failed: {printable(error)}", console, "red")
    report.say(f"saved: {study.folder} (study.md, study.png, study.csv, study.json)", console)


def _verdict(
    study: Study, asked: Sequence[int], rows: Sequence[Mapping[str, Any]], is_stopped: bool
) -> int:
    """Say what is missing; the exit code."""
    mine = [row for row in rows if row["seed"] in asked]
    missing = [row["seed"] for row in mine if row["state"] != "finished"]
    if missing:
        print(
            f"train.py: {len(missing)} of {len(mine)} seeds are not finished "
            f"({seeds_text(missing)}): the same command continues them",
            file=sys.stderr,
        )
        return 130 if is_stopped else 1
    missed = [row["seed"] for row in mine if not row["reached"]]
    if missed:
        text = f"train.py: {study.until} was not reached by the seeds {seeds_text(missed)}"
        print(text, file=sys.stderr)
    return 1 if missed else 0
