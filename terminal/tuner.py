"""The search for good options in the terminal: a line for each trial, and a table of the best."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import optuna
from optuna.study import MaxTrialsCallback
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console

from terminal import report
from terminal.plain import plain
from terminal.trainer import warnings_on
<<<<<<< HEAD
from training import installed, interpreter
from training.files import write_csv
from training.goals import check_goal
from training.learner import Chart
=======
from training import interpreter
from training.goals import check_goal_of
>>>>>>> f16a085 (A search for options is Optuna's own study, pruner and storage, and a trial is a call)
from training.options import options_of
from training.search_space import text_of
from training.tuning import COUNTED, Search

FILE = "study.db"  # of Optuna, in SQLite
BEST = 10  # trials in the table
LEGEND = "1/2: one of two sides is unbeatable; %: wins minus losses against random"


def optimize(
    search: Search, trials: int, folder: Path, typed: Mapping[str, Any], console: Console
) -> int:
    """Search the options of an agent, and print the best ones with their command; the exit code.

    trials: how many there are in all, with those that the folder has already. typed: the options of
    the command line. 0: the goal was proven in all seeds of the best trial, or there was none; 1:
    it was not; 130: Ctrl-C. Raises ValueError for options that do not fit.
    """
    check_goal_of(search.config, search.until)
    search.page.begin(search.config)  # raises the errors of the options
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    searched = ", ".join(search.space)
    folder.mkdir(parents=True, exist_ok=True)
    study = search.study(folder / FILE)
    made = len(study.get_trials(states=COUNTED))
    report.say(f"{made} of {trials} trials are made: {folder}; searched: {searched}", console)
    callbacks = [MaxTrialsCallback(trials, COUNTED), lambda _, trial: say(trial, console)]
    try:
<<<<<<< HEAD
        import optuna

        from training import tuning
    except ModuleNotFoundError as error:
        if error.name not in ("optuna", "sqlalchemy"):
            raise
        raise ValueError(f"--optimize needs Optuna: {installed.command('optimize')}") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    task = tuning.Task(page, config, until, seeds, tuple(fixed))
    assert task.searched
    check_goal(config, until)
    page.begin(config)  # raises the errors of the command line before anything is written
    with warnings_on(console):
        search = tuning.Search(folder, task)
        report.say(heading(search, trials), console)
        with search:
            try:
                make_trials(search, trials, console)
            except KeyboardInterrupt:
                report.say("stopped; the same command goes on", console, "yellow")
                return 130
            return conclude(search, typed, console)
=======
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
    goal = f"until {search.until} or" if search.until != "steps" else "the best of"
    title = f"the best trials of {search.page.AGENT}, {goal} {search.config.steps:,} steps"
    report.say(f"\n{title}", console, "bold")
    first = search.config.seed
    headings = ["trial", *(f"seed {first + number}" for number in range(search.seeds)), "score"]
    rows = ([str(one.number), *one.user_attrs["results"], f"{one.value:.3f}"] for one in ranked)
    report.print_rows(headings, rows, console)
    report.say(LEGEND, console)
    best = ranked[0]
    report.say(f"train the best, trial {best.number}:", console)
    words = shlex.join(command(search, typed, best.user_attrs["options"]))
    console.print(plain(words, "bold"), highlight=False, soft_wrap=True)
    report.say(
        "its figures are those of the seeds that chose it: expect less of others, such as --seed "
        f"{search.config.seed + search.seeds}",
        console,
    )
    report.say(f"saved: {folder}", console)
    has_reached = not any("%" in text for text in best.user_attrs["results"])
    return 0 if search.until == "steps" or has_reached else 1
>>>>>>> f16a085 (A search for options is Optuna's own study, pruner and storage, and a trial is a call)


def say(trial: FrozenTrial, console: Console) -> None:
    """Print a trial that has ended as a line."""
    state = "" if trial.state == TrialState.COMPLETE else f"{trial.state.name.lower()}: "
    results = trial.user_attrs.get("failed") or "   ".join(trial.user_attrs["results"])
    options = shlex.join(spelled(trial.user_attrs["options"]))
    report.say(f"trial {trial.number:>3}  {state}{results}   {options}", console)


def spelled(options: Mapping[str, str]) -> list[str]:
    """Options as they are typed: --learning-rate 0.003."""
    words = ([f"--{name.replace('_', '-')}", text] for name, text in options.items())
    return [word for pair in words for word in pair]


def command(search: Search, typed: Mapping[str, Any], options: Mapping[str, str]) -> list[str]:
    """The command line that trains an agent with the options of a trial."""
    known = {option.name for option in options_of(search.page.Config)}
    words = [interpreter.python(), "train.py", search.page.AGENT]
    words += ["--until", search.until] * (search.until != "steps")
    words += ["--preset", typed.get("preset", "")] * ("preset" in typed)
    for name, value in typed.items():
        if name in known and isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{name.replace('_', '-')}")
        elif name in known:
            words += spelled({name: text_of(value)})
    return words + spelled(options)
<<<<<<< HEAD


def print_table(task: Task, ranked: Sequence[FrozenTrial], console: Console) -> None:
    """The best trials as a table: the result of each seed, their mean, and the score."""
    seeds = [task.config.seed + number for number in range(task.seeds)]
    report.say(f"\nthe best trials of {task.page.AGENT}, {goal_of(task)}", console, "bold")
    table = Table()
    means = ["mean"] if task.seeds > 1 and task.until != "steps" else []
    for name in ("trial", *(f"seed {seed}" for seed in seeds), *means, "score"):
        table.add_column(name, justify="right")
    states = [
        "failed" if "failed" in trial.user_attrs else trial.state.name.lower() for trial in ranked
    ]
    has_states = set(states) != {"complete"}
    if has_states:
        table.add_column("state")
    for trial, state in zip(ranked, states, strict=True):
        results = (results_of(trial) + [""] * task.seeds)[: task.seeds]
        score = trial.intermediate_values.get(trial.last_step or 0)
        table.add_row(
            str(place_of(trial)),
            *results,
            *([mean_of(trial)] if means else []),
            "" if score is None else f"{score:.3f}",
            *([state] if has_states else []),
        )
    console.print(table)
    if any("%" in result for trial in ranked for result in results_of(trial)):
        text = "1/2: one of two sides is unbeatable; %: wins minus losses against random"
        report.say(text if task.until == "steps" else f"{text}; short of the goal", console)
    trainings = [one for trial in ranked for one in trial.user_attrs.get("trainings", [])]
    if any((one["reached"] or 0) > task.config.steps for one in trainings):
        steps = f"{task.config.steps:,} steps"
        report.say(f"trainings end with a rollout: a goal proven after {steps} scores 1", console)


def write_files(search: Search, ranked: Sequence[FrozenTrial]) -> None:
    """Write trials.csv and history.png."""
    names = list(search.task.searched)
    first = search.task.config.seed
    seeds = [f"steps_of_seed_{first + number}" for number in range(search.task.seeds)]
    rows = [
        [place_of(trial), trial.state.name.lower(), *row_of(trial, names, len(seeds))]
        for trial in ranked
    ]
    write_csv(search.folder / "trials.csv", ["trial", "state", "score", *seeds, *names], rows)
    chart(history(search.task, ranked), search.folder / "history.png")


def row_of(trial: FrozenTrial, names: Sequence[str], seeds: int) -> list[Any]:
    """The score, the steps of each seed until the goal ("" if not reached), and the options."""
    score = trial.intermediate_values.get(trial.last_step or 0, "")
    trainings = trial.user_attrs.get("trainings", [])
    steps = ["" if one["reached"] is None else one["reached"] for one in trainings]
    options = trial.user_attrs["options"]
    return [score, *(steps + [""] * seeds)[:seeds], *(options[name] for name in names)]


def history(task: Task, trials: Sequence[FrozenTrial]) -> Chart:
    """The scores of the trials, and the best one so far."""
    ordered = sorted(trials, key=place_of)
    nan = float("nan")
    scores = [trial.intermediate_values.get(trial.last_step or 0, nan) for trial in ordered]
    is_pruned = [trial.state.name == "PRUNED" for trial in ordered]
    best, lowest = [], nan
    for score, pruned in zip(scores, is_pruned, strict=True):
        lowest = lowest if pruned or score >= lowest else score
        best.append(lowest)
    split = list(zip(scores, is_pruned, strict=True))
    return Chart(
        f"{task.page.AGENT}: {goal_of(task)}",
        "trial",
        "score, the lowest is the best",
        [place_of(trial) for trial in ordered],
        [
            ("finished", "C0o", [nan if pruned else score for score, pruned in split]),
            ("pruned", "C7x", [score if pruned else nan for score, pruned in split]),
            ("best so far", "C1-", best),
        ],
    )
=======
>>>>>>> f16a085 (A search for options is Optuna's own study, pruner and storage, and a trial is a call)
