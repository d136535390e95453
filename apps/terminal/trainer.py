"""Trainings with their progress in the terminal, and certificates and example games at the end."""

from __future__ import annotations

import errno
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console

from apps.terminal import battle, progress, report
from apps.terminal.interpreter import command
from tictactoe_env.certificates.certificate import FILE as CERTIFICATE
from tictactoe_env.errors import printable
from tictactoe_env.exact.proof import Limit
from tictactoe_env.rules import SIDES
from training import charts, checkpoint
from training.goals import limit_of
from training.selfplay import RIVAL

if TYPE_CHECKING:
    from training.rivals import Rivals
    from training.run import Run


def new_folder(name: str, seed: int, console: Console) -> Path:
    """runs/NAME-SEED, followed by the time if that or its rival's run exists, which is said."""
    folder = Path("runs") / f"{name}-{seed}"
    known = [one for one in (folder, rival_folder(folder)) if one.exists()]
    if not known:
        return folder
    new = folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}")
    go_on = command("train.py", "--resume", str(known[0]))
    text = f"{known[0]} exists ({go_on} continues it), so this run of seed {seed} is {new}"
    report.say(printable(text), console)
    return new


def rival_folder(folder: Path) -> Path:
    """The folder of the learner that is trained against that of a folder."""
    return folder.with_name(f"{folder.name}-{RIVAL}")


@contextmanager
def warnings_on(console: Console) -> Iterator[None]:
    """Print warnings as lines of the console."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: report.say(
            f"warning: {printable(message)}", console, "yellow"
        )
        yield


def to_go_on(run: Run, *options: str) -> str:
    """The command that continues a run."""
    until = [] if run.until == "steps" else ["--until", run.until]
    return printable(command("train.py", "--resume", str(run.folder), *options, *until))


@contextmanager
def way_to_go_on(run: Run) -> Iterator[None]:
    """Add to an error of the disk how to go on."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # it is of our own, and says what to do
            raise
        first = "make room there" if error.errno == errno.ENOSPC else "solve that"
        way = (
            f"continue with {to_go_on(run)}" if run.is_saved else "train again, or elsewhere: --out"
        )
        raise OSError(f"{error}: {first}, and {way}") from error


def train(
    training: Run | Rivals,
    console: Console,
    *,
    is_resumed: bool = False,
    learn_from: str = "",
    export_sb3: Path | None = None,
) -> int:
    """Train, write the run or those of two rivals, and print their certificates; the exit code.

    0: the goal was reached, by both if there are two, or there was none; 1: it was not reached;
    130: a second Ctrl-C ended the training at once. Raises KeyboardInterrupt if nothing was saved
    by then. learn_from: games that a resumed run takes in, if it learns from games.
    """
    runs: tuple[Run, ...] = training.runs
    first, page = runs[0], cast(Any, runs[0].page)
    if export_sb3 and not hasattr(page, "export_sb3"):
        raise ValueError(f"{page.AGENT} is not of Stable-Baselines3: leave --export-sb3 out")
    if goal := report.goal_text(first.until, first.config.rules):
        report.say(goal, console)
    if not is_resumed:
        for run in runs:
            run.check_folder()
    with ExitStack() as held:
        held.enter_context(warnings_on(console))
        held.enter_context(way_to_go_on(first))
        for run in runs:
            held.enter_context(run.held())
        try:
            if is_resumed:
                counts = training.resume(learn_from).items()
                if counts:
                    learned = ", ".join(f"{count:,} {what}" for what, count in counts)
                    report.say(f"games of others: {learned}", console)
            else:
                for run in runs:
                    run.start()
            if not training.is_at_its_end:
                with progress.shown(runs, console) as displays:
                    training.train(*displays)
        except KeyboardInterrupt:
            if not first.is_saved:
                raise
            print(f"train.py: ended at once; continue with: {to_go_on(first)}", file=sys.stderr)
            return 130
        if training.is_complete:
            for run in runs:
                steps = f"{run.rows[-1]['steps']:,} steps"
                text = f"complete: {run.folder} has trained {steps}; --steps makes more"
                report.say(text, console)
        else:
            finish(runs, console)
    if export_sb3:
        page.export_sb3(*checkpoint.load_model(page, first.folder), export_sb3)
        report.say(f"Stable-Baselines3's own file: {printable(export_sb3)}", console)
    return end(runs, console)


def finish(runs: tuple[Run, ...], console: Console) -> None:
    """Write the files of runs that have ended, and show how they play and what is proven."""
    certificates = []
    for run in runs:
        charts.draw(run)
        certificates.append(run.finish())
    if len(runs) == 1:
        battle.example_of(runs[0].best_player, runs[0].side, runs[0].name, console)
        values = progress.first_moves(runs[0].best_player)
        if values and runs[0].side != "O":
            report.say(values, console)
    else:
        players = {run.name: run.best_player for run in runs}
        sides = {run.name: SIDES if run.side == "both" else run.side for run in runs}
        table = report.cross_table(players, report.exact_rates, sides)
        report.print_cross_table(table, console)
    for run, certificate in zip(runs, certificates, strict=True):
        if certificate is None:
            most = f"more than {(limit_of(run.config) or Limit()).positions:,} positions"
            text = f"no certificate: the best model can meet {most} on each side that it learns"
            report.say(f"{text}; train longer, or raise --proof-positions", console, "bold")
        else:
            report.say(f"\n{certificate.claim}", console, "bold")
            report.certificate(certificate, console)
        report.say(f"saved: {printable(run.folder)}", console)


def end(runs: tuple[Run, ...], console: Console) -> int:
    """Print what can be done with the runs, and how to continue to a missed goal; the exit code.

    The goal of a run that is trained as one side is that of its side. A run that is optimal is
    done whatever its goal is: more training cannot improve it.
    """
    until = runs[0].until
    report.say(f"look: {command('evaluate.py', *(str(run.folder) for run in runs))}", console)
    for run in runs:
        if (run.folder / CERTIFICATE).exists():
            line = command("play.py", "--x" if run.side == "X" else "--o", str(run.folder))
            report.say(f"play {run.name}: {line}", console)
    missed = [run for run in runs if not {until, "optimal"} & set(run.first_reached)]
    if missed:
        made = [run.rows[-1]["steps"] for run in runs]
        has_made = all(run.config.steps <= steps for run, steps in zip(runs, made, strict=True))
        more = ["--steps", str(2 * max(made) or 1_000)] if has_made else []
        report.say(f"continue with: {to_go_on(runs[0], *more)}", console)
    for run in missed if until != "steps" else ():
        steps = f"{run.rows[-1]['steps']:,} steps"
        side = "" if run.side == "both" else f" as {run.side}"
        report.say(f"{until}{side} was not reached by {run.name} within {steps}", console)
    return int(bool(missed) and until != "steps")
