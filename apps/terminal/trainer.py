"""Trainings with their progress in the terminal, and certificates and example games at the end."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.players.seat import run_seat
from apps.players.thoughts import OWN, thoughts
from apps.terminal import battle, charts, position, report
from apps.terminal.interpreter import command
from tictactoe_env.certificates.certificate import FILE as CERTIFICATE
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import TABULATED
from training.selfplay import RIVAL

if TYPE_CHECKING:
    from rich.console import Console

    from training.options import BoardConfig
    from training.rivals import RivalRun


def name_of(page: Any, preset: str | None) -> str:
    """The name of the agent, followed by that of the preset if there is one."""
    return f"{page.AGENT}-{preset}" if preset else str(page.AGENT)


def new_folder(name: str, seed: int, console: Console) -> Path:
    """runs/NAME-SEED, followed by the time if that or its rival's run exists, which is said."""
    folder = Path("runs") / f"{name}-{seed}"
    known = [one for one in (folder, rival_folder(folder)) if one.exists()]
    if not known:
        return folder
    new = folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}")
    text = (
        f"{known[0]} exists, so this run is written to {new}. The same seed and options give the "
        f"same agent again; --seed {seed + 1} trains another one"
    )
    if folder.exists():
        text += f", {command('train.py', '--resume', str(folder))} continues the first one"
    report.say(printable(text), console)
    return new


def rival_folder(folder: Path) -> Path:
    """The folder of the learner that is trained against that of a folder."""
    return folder.with_name(f"{folder.name}-{RIVAL}")


def refuse_export(page: Any, export_sb3: Path | None) -> None:
    """Raise ValueError if an export is asked of an agent that has none."""
    if export_sb3 and not hasattr(page, "export_sb3"):
        raise ValueError(
            f"{page.AGENT} does not use Stable-Baselines3, so there is nothing to export: "
            "leave --export-sb3 out"
        )


def export(page: Any, folder: Path, target: Path | None, console: Console) -> None:
    """Write the best model as Stable-Baselines3's own file, if a path is given."""
    from training import checkpoint

    if target:
        page.export_sb3(*checkpoint.load_model(page, folder), target)
        report.say(f"Stable-Baselines3's own file: {printable(target)}", console)


@contextmanager
def warnings_on(console: Console) -> Iterator[None]:
    """Print warnings as lines of the console."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: report.say(
            f"warning: {printable(message)}", console, "yellow"
        )
        yield


def ended_at_once(run: Any) -> int:
    """Say how to continue after a second Ctrl-C; the exit code. Raises if nothing was saved."""
    if not run.is_saved:
        raise KeyboardInterrupt
    hint = printable(command_to_go_on(run))
    print(f"train.py: ended at once; continue with: {hint}", file=sys.stderr)
    return 130


def command_to_go_on(run: Any) -> str:
    """The command that continues a run that was ended."""
    until = [] if run.until == "steps" else ["--until", run.until]
    return command("train.py", "--resume", str(run.folder), *until)


@contextmanager
def way_to_go_on(run: Any) -> Iterator[None]:
    """Add to an error of the disk how to go on."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # it is of our own, and says what to do
            raise
        way = "nothing was saved: make room there and train again, or give another --out"
        if run.is_saved:
            way = (
                "what was trained up to the last checkpoint is saved; when the disk can be written "
                f"again, continue with: {command_to_go_on(run)}"
            )
        raise OSError(f"{error}: {way}") from error


def train(
    page: Any,
    config: BoardConfig,
    preset: str | None,
    console: Console,
    *,
    folder: Path,
    until: str = "steps",
    is_resumed: bool = False,
    learn_from: str = "",
    export_sb3: Path | None = None,
) -> int:
    """Train, write the run into a folder, and print its certificate; the exit code.

    0: the goal `until` was reached, or there was none; 1: it was not reached; 130: a second Ctrl-C
    ended the training at once. Raises KeyboardInterrupt if nothing was saved by then. learn_from:
    games that a resumed run takes in, if it learns from games.
    """
    from apps.terminal import progress
    from training.goals import goal_text
    from training.run import Run

    refuse_export(page, export_sb3)
    with warnings_on(console):
        run = Run(folder, page, config, until, preset)
    if goal := goal_text(until, config.rules):
        report.say(goal, console)
    if not is_resumed:
        run.check_folder()
    with warnings_on(console), way_to_go_on(run), run.held():
        try:
            if is_resumed:
                counts = run.resume(learn_from)
                if counts:
                    report.say(learned_text(counts), console)
            else:
                run.start()
            if not run.is_at_its_end:
                with progress.shown(run, page.AGENT, console) as display:
                    run.train(display)
        except KeyboardInterrupt:
            return ended_at_once(run)
        if not run.is_complete:
            charts.draw(run)
            certificate = run.finish()
            battle.example_of(run.best_player, run.side, run.name, console)
            print_values(run, console)
            print_certificate(run, certificate, console)
    export(page, folder, export_sb3, console)
    look = f"look: {command('evaluate.py', str(folder))}"
    said = complete_text(run) if run.is_complete else f"saved: {folder}"
    report.say(printable(f"{said}   {look}"), console)
    if (folder / CERTIFICATE).exists():
        report.say(printable(ways_on(folder, run.side)), console)
    return verdict(run, until, lambda text: report.say(text, console))


def complete_text(run: Any) -> str:
    """What to say of a run of which nothing is left to do."""
    goal = f" and has reached its goal, {run.until}" if run.until in run.first_reached else ""
    return (
        f"complete: {run.folder} has trained {run.rows[-1]['steps']:,} steps{goal}, and nothing of "
        "it is missing; give --steps more than that to train on"
    )


def ways_on(folder: Path, side: str) -> str:
    """How to check the certificate of a run, and to play against it as the side that it learned."""
    seat = "--x" if side == "X" else "--o"
    check = command("evaluate.py", "--verify", str(folder))
    return f"check: {check}   play: {command('play.py', seat, str(folder))}"


def print_certificate(run: Any, found: Certificate | None, console: Console) -> None:
    """Print the certificate of a run that is finished, or why it has none."""
    if found is not None:
        report.certificate(found, console)
        return
    positions = f"{run.config.proof_positions:,}"
    text = (
        f"no certificate: the best model can meet more than {positions} positions on each side "
        "that it learns; train longer, or raise --proof-positions"
    )
    report.say(text, console, "bold")


def print_values(run: Any, console: Console) -> None:
    """Print the best model's own values of the first moves, if it chooses a move by them."""
    rules = run.config.rules
    if run.side == "O":
        return
    empty = np.zeros(rules.cells, np.int8)
    if rules.cells > TABULATED:
        if run.best_player.moves_by_values:
            position.print_first_moves(thoughts(run.best_player, empty, rules), rules, console)
        return
    seat = run_seat(run.folder, run.name, rules)
    if OWN not in seat.kinds:
        return
    found = seat.thoughts(empty)
    known = [-np.inf if value is None else value for value in found.values or ()]
    if known and known[int(np.argmax(np.array(found.probs, dtype=float)))] == max(known):
        position.print_first_moves(found, rules, console)


def learned_text(counts: Mapping[str, int]) -> str:
    """The games that a resumed run has taken in, and those left out."""
    reasons = [f"{count:,} {reason}" for reason, count in counts.items() if reason != "learned"]
    learned = counts.get("learned", 0)
    text = f"took in {learned:,} {'game' if learned == 1 else 'games'}"
    return f"{text}, left out {', '.join(reasons)}" if reasons else text


def is_done(run: Any, until: str) -> bool:
    """Whether a run has reached its goal, or is optimal: more training cannot improve it."""
    return until in run.first_reached or "optimal" in run.first_reached


def verdict(run: Any, until: str, say: Callable[[str], None]) -> int:
    """Print how to continue if the goal was not reached; the exit code.

    The goal of a run that is trained as one side is that of its side.
    """
    if is_done(run, until):
        return 0
    steps = run.rows[-1]["steps"]
    words = ["train.py", "--resume", str(run.folder)]
    if steps >= run.config.steps:  # a round may end beyond the steps that were asked for
        words += ["--steps", str(2 * steps or 1_000)]
    if until != "steps":
        words += ["--until", until]
    say(printable(f"continue with: {command(*words)}"))
    if until == "steps":
        return 0
    goal = until if run.side == "both" else f"{until} as {run.side}"
    say(f"{goal} was not reached within {steps:,} steps")
    return 1


# --- two learners --------------------------------------------------------------------------------


def train_rivals(
    entries: tuple[Any, Any],
    console: Console,
    *,
    folder: Path,
    until: str = "steps",
    is_resumed: bool = False,
    export_sb3: Path | None = None,
) -> int:
    """Train two learners against each other; the exit code, as that of `train`.

    entries: page, configuration, preset and name of each. The runs are FOLDER and FOLDER-rival.
    """
    from apps.terminal import progress
    from training.rivals import Rivals

    page = entries[0].page
    refuse_export(page, export_sb3)
    with warnings_on(console):
        runs = rival_runs(entries, folder, until)
    rivals, new = Rivals(*runs), () if is_resumed else runs
    for run in new:
        run.check_folder()
    with warnings_on(console), way_to_go_on(runs[0]), runs[0].held(), runs[1].held():
        try:
            if is_resumed:
                rivals.resume()
            for run in new:
                run.start()
            first, second = (progress.shown(run, run.label, console, False) for run in runs)
            with first as one, second as other:
                rivals.train(one, other)
        except KeyboardInterrupt:
            return ended_at_once(runs[0])
        if rivals.is_complete:
            for run in runs:
                report.say(printable(complete_text(run)), console)
        else:
            for run in runs:
                charts.draw(run)
                print_certificate(run, run.finish(), console)
            battle.of_rivals({run.label: (run.best_player, run.side) for run in runs}, console)
    export(page, folder, export_sb3, console)
    folders = [str(run.folder) for run in runs]
    look = command("evaluate.py", *folders)
    if not rivals.is_complete:
        report.say(printable(f"saved: {' and '.join(folders)}   look: {look}"), console)
    return verdict_on_rivals(runs, until, lambda text: report.say(text, console))


def rival_runs(entries: tuple[Any, Any], folder: Path, until: str) -> tuple[RivalRun, RivalRun]:
    """The runs of two learners, in FOLDER and FOLDER-rival."""
    from training.rivals import RivalRun

    folders = folder, rival_folder(folder)
    names = [entry.name for entry in entries]
    relations = {"rival": folders[1].name}, {"rival_of": folder.name}
    first, second = (
        RivalRun(
            folders[number],
            entry.page,
            entry.config,
            until,
            entry.preset,
            related=relations[number],
            checkpoint=folder / "checkpoint" / ("rival" if number else ""),
        )
        for number, entry in enumerate(entries)
    )
    first.label = names[0]
    second.label = names[1] if names[0] != names[1] else f"{names[1]} ({RIVAL})"
    return first, second


def verdict_on_rivals(
    runs: tuple[RivalRun, RivalRun], until: str, say: Callable[[str], None]
) -> int:
    """Print how to continue if a goal was not reached by both; the exit code."""
    missed = [run for run in runs if not is_done(run, until)]
    if not missed:
        return 0
    words = ["train.py", "--resume", str(runs[0].folder)]
    steps = max(run.rows[-1]["steps"] for run in runs)
    if all(run.rows[-1]["steps"] >= run.config.steps for run in runs):
        words += ["--steps", str(2 * steps)]
    words += ["--until", until] * (until != "steps")
    say(printable(f"continue with: {command(*words)}"))
    if until == "steps":
        return 0
    for run in missed:
        steps = run.rows[-1]["steps"]
        say(f"{until} was not reached by {printable(run.label)} within {steps:,} steps")
    return 1
