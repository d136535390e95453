"""The search for good options in the terminal: a line for each trial, and a table of the best."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.table import Table

from terminal import report
from terminal.plain import plain
from terminal.trainer import warnings_on
from training import installed, interpreter
from training.files import write_csv
from training.goals import check_goal
from training.learner import Chart
from training.options import options_of
from training.plots import chart
from training.search_space import text_of

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial, Trial
    from rich.console import Console

    from training.options import BoardConfig
    from training.tuning import Search, Task, Training

BEST = 10  # trials in the table
SEEDS = 3  # of a trial
POLL_SECONDS = 1  # seconds between two looks at the trials of other processes
NOT_SEARCHED = {
    "rival": "two learners",
    "resume": "a run",
    "export_sb3": "a model",
    "seeds": "a study",
}


def optimize(
    page: Any,
    config: BoardConfig,
    console: Console,
    *,
    trials: int,
    seeds: int,
    typed: Mapping[str, Any],
    fixed: Sequence[str],
    folder: Path,
    until: str = "steps",
) -> int:
    """Search the options of an agent, and print the best ones with their command; the exit code.

    trials: how many there are in all, with those that the folder has already. typed: the options of
    the command line. fixed: the options of the configuration that are not searched.

    0: the goal `until` was proven in all seeds of the best trial, or there was none; 1: it was not;
    130: Ctrl-C. Raises ValueError if Optuna is not installed, and for options that do not fit.
    """
    for name, what in NOT_SEARCHED.items():
        if name in typed:
            raise ValueError(f"--optimize is not for {what}: leave --{name.replace('_', '-')} out")
    try:
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


def heading(search: Search, trials: int) -> str:
    """What is searched, and how many trials there are already."""
    task = search.task
    goal = goal_of(task)
    text = f"{task.page.AGENT} on {task.config.rules}, {goal}, {seeds_text(task)} in each trial"
    searched = ", ".join(task.searched)
    done = len(search.finished)
    before = f"{search.folder} has {done} of {trials} trials\n" if done else ""
    return f"{text}\nsearched: {searched}\n{before}".strip()


def goal_of(task: Task) -> str:
    """The goal and the steps of a trial, in words. The steps are those before its last rollout."""
    steps = f"{task.config.steps:,} steps"
    if task.until == "steps":
        return f"the best exact results of {steps}"
    side = getattr(task.config, "side", "both")
    return f"until {task.until}{'' if side == 'both' else f' as {side}'} or {steps}"


def seeds_text(task: Task) -> str:
    """The seeds of a trial, in words."""
    first, last = task.config.seed, task.config.seed + task.seeds - 1
    return f"seed {first}" if first == last else f"seeds {first} to {last}"


def make_trials(search: Search, trials: int, console: Console) -> None:
    """Make trials until there are as many as asked for, and wait for those of other processes."""
    is_told = False
    while True:
        trial = search.claim(trials)
        if trial is not None:
            make_one(search, trial, console)
            continue
        others = [place_of(other) for other in search.running()]
        if not others:
            return
        if not is_told:
            numbers = ", ".join(map(str, sorted(others)))
            report.say(f"waiting for trial {numbers} of another process", console)
            is_told = True
        time.sleep(POLL_SECONDS)


def make_one(search: Search, trial: Trial, console: Console) -> None:
    """Make a trial that was claimed, and print it as a line."""
    with console.status(f"trial {place_of(trial)}") as status:

        def show(trainings: Sequence[Training]) -> None:
            steps = ", ".join(f"{training.learner.steps:,}" for training in trainings)
            status.update(f"trial {place_of(trial)}: {steps} steps")

        ended = search.train(trial, show)
    number, options = f"trial {place_of(ended):>3}", spelled(ended.user_attrs["options"])
    report.say(f"{number}  {outcome(ended)}   {shlex.join(options)}", console)


def place_of(trial: FrozenTrial | Trial) -> int:
    """The number of a trial."""
    return int(trial.user_attrs.get("place", -1))


def spelled(options: Mapping[str, str]) -> list[str]:
    """Options as they are typed: --learning-rate 0.003."""
    words = ([f"--{name.replace('_', '-')}", text] for name, text in options.items())
    return [word for pair in words for word in pair]


# --- the results ----------------------------------------------------------------------------------


def outcome(trial: FrozenTrial) -> str:
    """The result of a trial in words: "24,576  32,768 steps", or what the best models lack."""
    if "failed" in trial.user_attrs:
        return f"failed: {trial.user_attrs['failed']}"
    text = "   ".join(results_of(trial))
    return f"pruned: {text}" if trial.state.name == "PRUNED" else text


def results_of(trial: FrozenTrial) -> list[str]:
    """The result of each seed: the steps until the goal, or the figures of the best model."""
    return [
        f"{one['reached']:,}"
        if one["reached"] is not None
        else f"{one['unbeatable_sides']}/{one['sides']}, {100 * one['value']:.1f} %"
        for one in trial.user_attrs.get("trainings", [])
    ]


def mean_of(trial: FrozenTrial) -> str:
    """The mean of the steps of all seeds until the goal; "" if a seed has not reached it."""
    steps = [training["reached"] for training in trial.user_attrs.get("trainings", [])]
    return f"{fmean(steps):,.0f}" if steps and None not in steps else ""


def conclude(search: Search, typed: Mapping[str, Any], console: Console) -> int:
    """Print the best trials, and the command line of the best; the exit code of `optimize`."""
    task, ranked = search.task, search.ranked()
    write_files(search, ranked)
    print_table(task, ranked[:BEST], console)
    best = ranked[0]
    if place_of(best) == 0:
        report.say("no trial is better than the first, with the agent's own options", console)
    options = best.user_attrs["options"] if place_of(best) else {}
    words = command(task, typed, options)
    report.say(f"train the best, trial {place_of(best)}:", console)
    console.print(plain(shlex.join(words), "bold"), highlight=False, soft_wrap=True)
    report.say(
        "its figures are those of the seeds that chose it: expect less of others, such as --seed "
        f"{task.config.seed + task.seeds}",
        console,
    )
    report.say(f"saved: {search.folder}", console)
    reached = [training["reached"] for training in best.user_attrs.get("trainings", [])]
    return 0 if task.until == "steps" or (reached and None not in reached) else 1


def command(task: Task, typed: Mapping[str, Any], options: Mapping[str, str]) -> list[str]:
    """The command line that trains an agent with the options of a trial."""
    known = {option.name: option for option in options_of(task.page.Config)}
    words = [interpreter.python(), "train.py", task.page.AGENT]
    if task.until != "steps":
        words += ["--until", task.until]
    if "preset" in typed:
        words += ["--preset", typed["preset"]]
    for name, value in typed.items():
        if name in known and isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{name.replace('_', '-')}")
        elif name in known:
            words += spelled({name: text_of(known[name], value)})
    return words + spelled(options)


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
