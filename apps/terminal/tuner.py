"""The search for good options in the terminal: a line for each trial, and a table of the best."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import optuna
from optuna.study import MaxTrialsCallback
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console

from apps.terminal import report
from apps.terminal.command_line import spelled
from apps.terminal.interpreter import command
from apps.terminal.plain import plain
from apps.terminal.trainer import warnings_on
from training.goals import check_goal
from training.options import options_of
from training.search_space import text_of
from training.tuning import COUNTED, Search

FILE = "study.db"  # of Optuna, in SQLite
BEST = 10  # trials in the table
LEGEND = "1/2: one of two sides is unbeatable; %: wins minus losses against random"


def optimize(search: Search, trials: int, folder: Path, typed: Mapping[str, Any]) -> int:
    """Search the options of an agent, and print the best ones with their command; the exit code.

    trials: how many there are in all, with those that the folder has already. typed: the options of
    the command line. 0: the goal was proven in all seeds of the best trial, or there was none; 1:
    it was not; 130: Ctrl-C. Raises ValueError for options that do not fit.
    """
    console = Console()
    check_goal(search.config, search.until)
    search.page.begin(search.config)  # raises the errors of the options
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    searched = ", ".join(search.space)
    folder.mkdir(parents=True, exist_ok=True)
    study = search.study(folder / FILE)
    made = len(study.get_trials(states=COUNTED))
    report.say(f"{made} of {trials} trials are made: {folder}; searched: {searched}", console)
    callbacks = [MaxTrialsCallback(trials, COUNTED), lambda _, trial: say(trial, console)]
    try:
        with warnings_on(console):
            if made < trials:
                study.optimize(search, callbacks=callbacks)
    except KeyboardInterrupt:
        report.say("stopped; the same command goes on", console, "yellow")
        return 130
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    if not complete:
        raise ValueError("no trial could be trained: leave out the options that are given")
    ranked = sorted(complete, key=lambda trial: trial.value)[:BEST]
    report.say(f"\nthe best trials of {search.page.AGENT}", console, "bold")
    first = search.config.seed
    headings = ["trial", *(f"seed {first + number}" for number in range(search.seeds)), "score"]
    rows = ([str(one.number), *one.user_attrs["results"], f"{one.value:.3f}"] for one in ranked)
    report.print_table(headings, rows, console)
    report.say(LEGEND, console)
    best = ranked[0]
    report.say(f"train the best, trial {best.number}:", console)
    known = {"until", "preset", *options_of(search.page.Config)}
    options = {name: value for name, value in typed.items() if name in known}
    words = words_of({**options, **best.user_attrs["options"]})
    line = command("train.py", search.page.AGENT, *words)
    console.print(plain(line, "bold"), highlight=False, soft_wrap=True)
    report.say(
        "its figures are those of the seeds that chose it: expect less of others, such as --seed "
        f"{search.config.seed + search.seeds}",
        console,
    )
    has_reached = not any("%" in text for text in best.user_attrs["results"])
    return 0 if search.until == "steps" or has_reached else 1


def say(trial: FrozenTrial, console: Console) -> None:
    """Print a trial that has ended as a line."""
    state = "" if trial.state == TrialState.COMPLETE else f"{trial.state.name.lower()}: "
    results = trial.user_attrs.get("failed") or "   ".join(trial.user_attrs["results"])
    options = shlex.join(words_of(trial.user_attrs["options"]))
    report.say(f"trial {trial.number:>3}  {state}{results}   {options}", console)


def words_of(options: Mapping[str, Any]) -> Iterator[str]:
    """Options as they are typed: --learning-rate 0.003 --no-dueling."""
    for name, value in options.items():
        if isinstance(value, bool):
            yield spelled(name if value else f"no_{name}")
        else:
            yield from (spelled(name), text_of(value))
