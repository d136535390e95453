"""A study in the terminal: a line for each seed that ends, and a table and a plot at the end."""

from __future__ import annotations

import shutil
import socket
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock
from rich.console import Console
from rich.table import Table

import agents
from terminal import report, trainer
from tictactoe_env.errors import printable
from training.cluster import results
from training.files import has_folder
from training.goals import check_goal, goal_text
from training.metrics import FILE as METRICS
from training.metrics import Row, read_metrics, results_of
from training.options import check_unchanged, read_config
from training.progress import proven
from training.run import CONFIG, read_config_file
from training.study import facts, goals_of, table, write_study

if TYPE_CHECKING:
    from training.options import BoardConfig


def train_run(
    folder: Path, agent: str, config: BoardConfig, preset: str | None, until: str
) -> tuple[list[Row], str]:
    """The task of a worker: train or continue a run; its metrics, and why it failed or "".

    What the training prints is in the file beside the folder that ends in .log. If another process
    has the run, such as a worker of a study that was killed, it waits for its end.
    """
    if not folder.parent.is_dir():
        host = socket.gethostname()
        return [], f"{host} has no {folder.parent}: give --out in a folder that all machines share"
    lock = FileLock(folder.with_name(f".{folder.name}.lock"))
    with open(f"{folder}.log", "a", encoding="utf-8") as log, lock:
        is_resumed = has_folder(folder / "checkpoint")
        if not is_resumed:
            shutil.rmtree(folder, ignore_errors=True)  # killed before its first checkpoint
        try:
            about = agents.page(agent), config, preset, Console(file=log)
            trainer.train(*about, folder=folder, until=until, is_resumed=is_resumed)
            return read_metrics(folder / METRICS), ""
        except Exception as error:
            traceback.print_exc(file=log)
            return [], f"{type(error).__name__}: {error} (see {log.name})"


def check_run(
    folder: Path, agent: str, config: BoardConfig, preset: str | None, until: str
) -> None:
    """Raise ValueError if a folder has a run that was begun with other options.

    Only the steps and the goal may change.
    """
    if not (folder / CONFIG).exists():
        return
    saved = read_config_file(folder)
    for name, now in (("agent", agent), ("preset", preset)):
        if saved.get(name) != now:
            raise ValueError(f"{folder} was trained with {name} {saved.get(name)}, not {now}")
    check_unchanged(config, read_config(type(config), saved["config"], folder / CONFIG), folder)


def check_folder(folder: Path) -> None:
    """Raise ValueError if a folder holds anything but a study."""
    known = (".", "seed-", "study.")
    others = sorted(path.name for path in folder.glob("*") if not path.name.startswith(known))
    if others or folder.is_file():
        what = f"holds {others[0]}" if others else "is a file"
        raise ValueError(f"{folder} {what}, so it is not the folder of a study: give another --out")


def train(
    folder: Path,
    name: str,
    seeds: Sequence[int],
    about: tuple[str, BoardConfig, str | None, str],
    console: Console,
    cluster: str | None,
    jobs: int | None,
) -> int:
    """Train the seeds of a study, or continue them, and print a table over them; the exit code.

    about: agent, configuration of any seed, preset and goal, as `train_run` takes them. 0: every
    seed has reached the goal, if there is one; 1: a seed failed or has not; 130: Ctrl-C. Raises
    ValueError if the folder holds something else, if the cluster cannot be used, and for a goal
    that cannot be reached.
    """
    agent, config, preset, until = about
    check_goal(config, until)
    place = folder.absolute()
    calls = [
        (place / f"seed-{seed:02d}", agent, replace(config, seed=seed), preset, until)
        for seed in seeds
    ]
    check_folder(folder)
    for call in calls:
        check_run(*call)
    folder.mkdir(parents=True, exist_ok=True)
    where = f"on {cluster}" if cluster else "on this machine"
    report.say(f"training {len(seeds)} seeds {where}: {folder}", console)
    metrics: dict[int, list[Row]] = {}
    errors: dict[int, str] = {}
    is_stopped = False
    try:
        with trainer.warnings_on(console):
            for number, (rows, error) in results(train_run, calls, cluster, jobs):
                seed = seeds[number]
                if error:
                    errors[seed] = text = f"failed: {printable(error)}"
                else:
                    metrics[seed], last = rows, rows[-1]
                    what = proven(results_of(last, config.rules)) or "nothing proven"
                    text = f"{what}, {last['steps']:,} steps, {last['seconds']:.1f} s"
                done = f"[{len(metrics) + len(errors)} of {len(seeds)}]"
                report.say(f"seed {seed}: {text}   {done}", console)
    except KeyboardInterrupt:
        is_stopped = True
    found = {seed: facts(metrics[seed], config, until) for seed in seeds if seed in metrics}
    if found:
        title = f"{name}, {len(found)} of {len(seeds)} seeds, until {until}"
        goals = goals_of(config.rules)
        write_study(folder, title, found, goals, [metrics[seed] for seed in found])
        print_table(title, *table(list(found.values()), goals), console)
        if goal := goal_text(until, config.rules):
            report.say(goal, console)
    for seed, text in errors.items():
        report.say(f"seed {seed} {text}", console, "red")
    report.say(f"saved: {folder}", console)
    missing = [seed for seed in seeds if seed not in found]
    missed = [seed for seed, one in found.items() if not one["reached"]]
    for what, some in (
        ("the same command continues", missing),
        (f"{until} was not reached by", missed),
    ):
        if some:
            print(f"train.py: {what} the seeds {', '.join(map(str, some))}", file=sys.stderr)
    return 130 if is_stopped else int(bool(missing or missed))


def print_table(
    title: str, headings: Sequence[str], lines: Sequence[Sequence[str]], console: Console
) -> None:
    """Print the table of a study."""
    report.say(f"\n{title}", console, "bold")
    grid = Table()
    for number, heading in enumerate(headings):
        grid.add_column(heading, justify="left" if number == 0 else "right")
    for line in lines:
        grid.add_row(*line)
    report.print_whole(grid, console)
    report.say(
        "median (smallest to largest) over the seeds; what is proven is exact, and so are all "
        "rates on boards of up to 12 cells",
        console,
    )
