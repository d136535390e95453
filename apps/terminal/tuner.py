"""The search for good options in the terminal: Optuna tells each trial, and the best is printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState
from rich.console import Console

from apps.terminal.command_line import spelled
from apps.terminal.interpreter import command
from apps.terminal.trainer import warnings_on
from tictactoe_env.errors import printable
from training.goals import check_goal
from training.options import options_of
from training.search_space import text_of
from training.tuning import COUNTED, Search

FILE = "study.db"  # of Optuna, in SQLite


def optimize(search: Search, trials: int, folder: Path, typed: Mapping[str, Any]) -> int:
    """Search the options of an agent, and print the command of the best trial; the exit code.

    trials: how many there are in all, with those that the folder has already. typed: the options of
    the command line. 0: the goal was proven in all seeds of the best trial, or there was none; 1:
    it was not; 130: Ctrl-C. Raises ValueError for options that do not fit.
    """
    check_goal(search.config, search.until)
    with warnings_on(Console()):
        search.module.begin(search.config).read_files()  # raises the errors of the options
    searched = ", ".join(search.space)
    folder.mkdir(parents=True, exist_ok=True)
    study = search.study(folder / FILE)
    made = len(study.get_trials(states=COUNTED))
    print(f"{made} of {trials} trials are made: {printable(folder)}; searched: {searched}")
    try:
        if made < trials:
            study.optimize(search, callbacks=[MaxTrialsCallback(trials, COUNTED)])
    except KeyboardInterrupt:
        print("stopped; the same command goes on")
        return 130
    if not study.get_trials(states=(TrialState.COMPLETE,)):
        raise ValueError("no trial could be trained: leave out the options that are given")
    best = study.best_trial
    first = search.config.seed
    scores = best.user_attrs["scores"]  # of each seed; above 1 where the goal was not proven
    texts = ", ".join(f"{score:.3f}" for score in scores)
    print(
        f"the best trial is {best.number}, with scores {texts} from seed {first} on; to train it:"
    )
    known = {"until", "preset", *options_of(search.module.Config)}
    options = {name: value for name, value in typed.items() if name in known}
    words = words_of({**options, **best.user_attrs["options"]})
    print(printable(command("train.py", search.module.AGENT, *words)))
    print(f"these seeds chose it: expect less of others, such as --seed {first + search.seeds}")
    return int(search.until != "steps" and max(scores) > 1)


def words_of(options: Mapping[str, Any]) -> Iterator[str]:
    """Options as they are typed: --learning-rate 0.003 --no-dueling."""
    for name, value in options.items():
        if isinstance(value, bool):
            word = name if value else f"no_{name}"
            yield spelled(word)
        else:
            yield from (spelled(name), text_of(value))
