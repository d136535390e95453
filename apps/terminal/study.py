"""Studies and variations in the terminal: a line for each seed that ends, at the end a table."""

from __future__ import annotations

import shutil
import socket
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock
from rich.console import Console

import agents
from apps.terminal import report, trainer
from apps.terminal.study_table import facts, write_study
from apps.terminal.variation import Variant, write_comparison
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

Call = tuple[Path, str, BoardConfig, str | None, str]


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
            run = Run(folder, agents.module(agent), config, until, preset)
            trainer.train(run, Console(file=log), is_resumed=is_resumed)
            return read_metrics(folder / METRICS), ""
        except Exception as error:
            traceback.print_exc(file=log)
            return [], f"{type(error).__name__}: {error} (see {log.name})"


def check_folder(folder: Path, runs: Sequence[Call]) -> None:
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
    variants: Sequence[Variant],
    seeds: Sequence[int],
    until: str,
    cluster: str | None,
    jobs: int | None,
) -> int:
    """Train all variants with all seeds, or continue them, and print a table; the exit code.

    A study is one variant, in which nothing is varied. 0: every seed has reached the goal, if there
    is one; 1: a seed failed or has not; 130: Ctrl-C. Raises ValueError if the folder holds
    something else, if the cluster cannot be used, and for a goal that cannot be reached.
    """
    console = Console()
    runs = [(variant, seed) for variant in variants for seed in seeds]
    calls = [call_of(folder, variant, seed, until) for variant, seed in runs]
    check_folder(folder, calls)
    is_new = not all((run / CONFIG).exists() for run, *_ in calls)
    for variant in variants:
        config = variant.experiment.config
        check_goal(config, until)
        learner = variant.experiment.module.begin(config)  # raises the errors of options
        if is_new:
            with trainer.warnings_on(console):
                learner.read_files()
    for place in {folder, *(folder / variant.folder for variant in variants)}:
        place.mkdir(parents=True, exist_ok=True)
        remove_temporary(place)
    where = f"on {cluster}" if cluster else "on this machine"
    report.say(f"training {len(runs)} seeds {where}: {folder}", console)
    metrics: dict[int, list[Row]] = {}
    is_stopped = False
    try:
        with trainer.warnings_on(console):
            ending = enumerate(results(train_run, calls, cluster, jobs), 1)
            for ended, (number, (rows, error)) in ending:
                variant, seed = runs[number]
                if error:
                    text = f"failed: {printable(error)}"
                else:
                    metrics[number] = rows
                    text = result_text(rows[-1], variant.experiment.config)
                said = f"{variant.label} seed {seed}: {text}".strip()
                report.say(f"{said}   [{ended} of {len(runs)}]", console)
    except KeyboardInterrupt:
        is_stopped = True
    trained = [(*runs[number], metrics[number]) for number in sorted(metrics)]
    found = [
        (variant, {seed: rows for one, seed, rows in trained if one is variant})
        for variant in variants
    ]
    write_tables(folder, name, found, len(seeds), until, console)
    report.say(f"saved: {folder}", console)
    missing = [run for number, run in enumerate(runs) if number not in metrics]
    missed = [
        (variant, seed)
        for variant, seed, rows in trained
        if not facts(rows, variant.experiment.config, until)["reached"]
    ]
    if missing:
        print(f"train.py: the same command continues {listed(missing)}", file=sys.stderr)
    if missed:
        print(f"train.py: not {until}: seeds {listed(missed)}", file=sys.stderr)
    if is_stopped:
        return 130
    return 1 if missing or missed else 0


def call_of(folder: Path, variant: Variant, seed: int, until: str) -> Call:
    """The arguments of `train_run` for a seed of a variant."""
    module, config, preset = variant.experiment
    run = folder.absolute() / variant.folder / f"seed-{seed:02d}"
    return run, module.AGENT, config.replace(seed=seed), preset, until


def listed(runs: Sequence[tuple[Variant, int]]) -> str:
    """The seeds of runs, by the variants if something is varied."""
    by_label: dict[str, list[str]] = {}
    for variant, seed in runs:
        by_label.setdefault(variant.label, []).append(str(seed))
    return "; ".join(f"{label} {', '.join(seeds)}".strip() for label, seeds in by_label.items())


def write_tables(
    folder: Path,
    name: str,
    found: Sequence[tuple[Variant, dict[int, list[Row]]]],
    seeds: int,
    until: str,
    console: Console,
) -> None:
    """Write the table and the picture of each study, and of their comparison; print the last.

    found: the metrics of the seeds of each variant that have ended. seeds: how many there are.
    """
    found = [(variant, runs) for variant, runs in found if runs]
    if not found:
        return
    for variant, runs in found:
        title = f"{name} {variant.label}".strip()
        title += f", {len(runs)} of {seeds} seeds, until {until}"
        config = variant.experiment.config
        headings, lines = write_study(folder / variant.folder, title, runs, config, until)
    options = len(variant.values)
    if options:
        title = f"{name}, {seeds} seeds, until {until}"
        headings, lines = write_comparison(folder, title, found, until)
    report.say(f"\n{title}", console, "bold")
    report.print_table(headings, lines, console, texts=max(1, options))
    report.say(meaning_of(config, until), console)


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
