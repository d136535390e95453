"""A study in the terminal: a line for each seed that ends, and a table and a plot at the end."""

from __future__ import annotations

import shutil
import socket
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock
from rich.console import Console

import agents
from apps.terminal import report, trainer
from apps.terminal.study_table import facts, write_study
from tictactoe_env.errors import printable
from tictactoe_env.exact.verdict import verdict
from training.cluster import results
from training.files import has_folder, remove_temporary
from training.goals import check_goal
from training.metrics import FILE as METRICS
from training.metrics import Row, read_metrics, results_of
from training.options import BoardConfig, check_unchanged, read_config
from training.run import Run
from training.run_files import CONFIG, read_config_file


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
            run = Run(folder, agents.page(agent), config, until, preset)
            trainer.train(run, Console(file=log), is_resumed=is_resumed)
            return read_metrics(folder / METRICS), ""
        except Exception as error:
            traceback.print_exc(file=log)
            return [], f"{type(error).__name__}: {error} (see {log.name})"


def check_folder(folder: Path, runs: Sequence[tuple[Path, str, BoardConfig, Any, Any]]) -> None:
    """Raise ValueError if a folder is a run, or has runs that were begun with other options.

    Only the steps and the goal may change.
    """
    if (folder / CONFIG).exists():
        raise ValueError(f"{folder} is a run, not a study: give another --out")
    for run, agent, config, *_ in runs:
        if (run / CONFIG).exists():
            saved = read_config_file(run)
            if saved["agent"] != agent:
                raise ValueError(f"{run} is a run of {saved['agent']}, not of {agent}")
            check_unchanged(config, read_config(type(config), saved["config"], run / CONFIG), run)


def train(
    folder: Path,
    name: str,
    seeds: Sequence[int],
    about: tuple[str, BoardConfig, str | None, str],
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
    console = Console()
    check_goal(config, until)
    calls = [
        (folder.absolute() / f"seed-{seed:02d}", agent, config.replace(seed=seed), preset, until)
        for seed in seeds
    ]
    check_folder(folder, calls)
    folder.mkdir(parents=True, exist_ok=True)
    remove_temporary(folder)
    where = f"on {cluster}" if cluster else "on this machine"
    report.say(f"training {len(seeds)} seeds {where}: {folder}", console)
    metrics: dict[int, list[Row]] = {}
    is_stopped = False
    try:
        with trainer.warnings_on(console):
            ending = enumerate(results(train_run, calls, cluster, jobs), 1)
            for ended, (number, (rows, error)) in ending:
                seed = seeds[number]
                if error:
                    text = f"failed: {printable(error)}"
                else:
                    metrics[seed] = rows
                    text = result_text(rows[-1], config)
                report.say(f"seed {seed}: {text}   [{ended} of {len(seeds)}]", console)
    except KeyboardInterrupt:
        is_stopped = True
    found = {seed: facts(metrics[seed], config, until) for seed in sorted(metrics)}
    if found:
        title = f"{name}, {len(found)} of {len(seeds)} seeds, until {until}"
        rows_of_seeds = [metrics[seed] for seed in found]
        headings, lines = write_study(folder, title, found, config.rules, rows_of_seeds)
        report.say(f"\n{title}", console, "bold")
        report.print_table(headings, lines, console)
        report.say(meaning_of(config, until), console)
    report.say(f"saved: {folder}", console)
    missing = [str(seed) for seed in seeds if seed not in found]
    missed = [str(seed) for seed, one in found.items() if not one["reached"]]
    if missing:
        print(f"train.py: the same command continues {', '.join(missing)}", file=sys.stderr)
    if missed:
        print(f"train.py: not {until}: seeds {', '.join(missed)}", file=sys.stderr)
    if is_stopped:
        return 130
    return 1 if missing or missed else 0


def meaning_of(config: BoardConfig, until: str) -> str:
    """A sentence on what the table of a study shows, and on a goal that needs one."""
    meaning = "median (smallest to largest) over the seeds"
    goal = report.goal_text(until, config.rules)
    if goal:
        meaning += f"; {goal}"
    return meaning


def result_text(last: Row, config: BoardConfig) -> str:
    """The outcome of a training in words. last: the last row of its metrics."""
    what = verdict(results_of(last, config.rules).proven, games=False)
    return f"{what}, {last['steps']:,} steps, {last['seconds']:.1f} s"
