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
from tictactoe_env.certificates.certificate import with_minimax
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.errors import printable
from tictactoe_env.exact.proof import Limit
from training import charts, checkpoint
from training.goals import limit_of
from training.selfplay import RIVAL

if TYPE_CHECKING:
    from training.learner import Learner
    from training.rivals import Rivals
    from training.run import Run

TOP = 10  # rows of a learner's table that are printed


def new_folder(name: str, seed: int) -> tuple[Path, str]:
    """runs/NAME-SEED, followed by the time if it or its rival's run exists, which is then said."""
    folder = Path("runs") / f"{name}-{seed}"
    for known in (folder, rival_folder(folder)):
        if known.exists():
            new = folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}")
            go_on = command("train.py", "--resume", str(known))
            text = f"{known} exists ({go_on} continues it), so this run of seed {seed} is {new}"
            return new, printable(text)
    return folder, ""


def rival_folder(folder: Path) -> Path:
    """The folder of the second learner, beside the first one's."""
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
    arguments = ["--resume", str(run.folder), *options]
    if run.until != "steps":
        arguments += ["--until", run.until]
    return printable(command("train.py", *arguments))


@contextmanager
def way_to_go_on(run: Run) -> Iterator[None]:
    """Add to an error of the disk how to go on."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # it is of our own, and says what to do
            raise
        first = "make room there" if error.errno == errno.ENOSPC else "solve that"
        way = "train again, or elsewhere: --out"
        if run.files.is_saved:
            way = f"continue with {to_go_on(run)}"
        raise OSError(f"{error}: {first}, and {way}") from error


@contextmanager
def held(runs: tuple[Run, ...], console: Console) -> Iterator[None]:
    """Hold the folders of runs, print warnings on the console, and explain errors of the disk."""
    with ExitStack() as stack:
        stack.enter_context(warnings_on(console))
        stack.enter_context(way_to_go_on(runs[0]))
        for run in runs:
            stack.enter_context(run.files.held())
        yield


def train(
    training: Run | Rivals,
    console: Console,
    *,
    is_resumed: bool = False,
    learn_from: str = "",
    export_sb3: Path | None = None,
    notice: str = "",
) -> int:
    """Train, write the run or those of two rivals, and print their certificates; the exit code.

    0: the goal was reached, by both if there are two, or there was none; 1: it was not reached;
    130: a second Ctrl-C ended the training at once. Raises KeyboardInterrupt if nothing was saved
    by then. learn_from: games that a resumed run learns, if it learns from games. notice: printed
    first, once nothing of the training is refused.
    """
    runs: tuple[Run, ...] = training.runs
    first = runs[0]
    check(runs, is_resumed=is_resumed, export_sb3=export_sb3)
    with held(runs, console):
        try:
            counts = begin(training, learn_from, is_resumed=is_resumed)
            for line in (notice, report.goal_text(first.until, first.config.rules), counts):
                if line:
                    report.say(line, console)
            advance(training, console)
        except KeyboardInterrupt:
            if not first.files.is_saved:
                raise
            print(f"train.py: ended at once; continue with: {to_go_on(first)}", file=sys.stderr)
            return 130
        finish(training, console)
    if export_sb3 is not None:
        export(first, export_sb3, console)
    return end(runs, console)


def check(runs: tuple[Run, ...], *, is_resumed: bool, export_sb3: Path | None) -> None:
    """Raise ValueError for a model that cannot be exported, and for a new run's folder in use."""
    module = runs[0].module
    if export_sb3 is not None and not hasattr(module, "export_sb3"):
        raise ValueError(f"{module.AGENT} is not of Stable-Baselines3: leave --export-sb3 out")
    if export_sb3 is not None and export_sb3.is_dir():
        raise ValueError(f"--export-sb3 must be a file, got the folder {export_sb3}")
    if not is_resumed:
        for run in runs:
            run.files.check_folder()


def begin(training: Run | Rivals, learn_from: str, *, is_resumed: bool) -> str:
    """Start the runs, or continue from their checkpoint and say how many games were learned."""
    if not is_resumed:
        for run in training.runs:
            run.start()
        return ""
    counts = training.resume(learn_from)
    learned = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    return learned and f"games of others: {learned}"


def advance(training: Run | Rivals, console: Console) -> None:
    """Train up to the end, unless it was reached before, and show the progress."""
    if not training.is_at_its_end:
        with progress.shown(training.runs, console) as displays:
            training.train(*displays)


def export(run: Run, path: Path, console: Console) -> None:
    """Write the best model of a run as Stable-Baselines3's own file."""
    module = cast(Any, run.module)
    config, arrays = checkpoint.load_model(module, run.folder)
    module.export_sb3(config, arrays, path)
    report.say(f"Stable-Baselines3's own file: {printable(path)}", console)


def finish(training: Run | Rivals, console: Console) -> None:
    """Write the last files of the runs, and print how they play and what is proven.

    Of runs that were complete before, only their steps are printed.
    """
    runs: tuple[Run, ...] = training.runs
    if training.is_complete:
        for run in runs:
            text = f"complete: {run.folder} has trained {steps_of(run)}; --steps makes more"
            report.say(text, console)
        return
    certificates = []
    for run in runs:
        charts.draw(run)
        certificates.append(run.finish())
    show_play(runs, console)
    for run in runs:
        show_tables(run.learner, console)
    report.certificates([*map(with_minimax, filter(None, certificates))], console)
    for run, certificate in zip(runs, certificates, strict=True):
        show_verdict(run, certificate, console)
        report.say(f"saved: {printable(run.folder)}", console)


def show_play(runs: tuple[Run, ...], console: Console) -> None:
    """Show how the best models play: one in an example game, two in a table of their results."""
    if len(runs) == 1:
        (run,) = runs
        player = run.best_player
        battle.example_of(player, run.side, run.name, console)
        if values := progress.first_moves(player, run.side):
            report.say(values, console)
        return
    players = {run.name: run.best_player for run in runs}
    sides = {run.name: run.config.learned_sides for run in runs}
    table = report.cross_table(players, report.exact_rates, sides)
    report.print_cross_table(table, players, console)


def show_tables(learner: Learner, console: Console) -> None:
    """Print the first rows of the learner's tables that are meant to be read."""
    for table in learner.tables().values():
        if table.shown:
            report.say(f"\n{table.shown}", console, "bold")
            rows = [list(map(progress.entry_text, row)) for row in table.rows[:TOP]]
            report.print_table(table.names, rows, console)


def show_verdict(run: Run, certificate: Certificate | None, console: Console) -> None:
    """Print what is proven of the best model of a run, or that nothing is.

    It follows the long tables, since a person sees the end of what is printed.
    """
    if certificate is not None:
        report.say(f"\n{certificate.claim}", console, "bold")
        return
    limit = limit_of(run.config) or Limit()
    report.say(
        f"no certificate: the best model can meet more than {limit.positions:,} positions on each "
        "side that it learns; train longer, or raise --proof-positions",
        console,
        "bold",
    )


def end(runs: tuple[Run, ...], console: Console) -> int:
    """Print what can be done with the runs, and how to continue to a missed goal; the exit code.

    A run that is trained as one side has to reach the goal of this side. A run that is optimal is
    done whatever its goal is: more training cannot improve it.
    """
    until = runs[0].until
    folders = [str(run.folder) for run in runs]
    report.say(f"look: {command('evaluate.py', *folders)}", console)
    for run in runs:
        option = "--x" if run.side == "X" else "--o"
        report.say(f"play {run.name}: {command('play.py', option, str(run.folder))}", console)
    missed = [run for run in runs if not {until, "optimal"} & set(run.record.first_reached)]
    if not missed:
        return 0
    report.say(f"continue with: {to_go_on(runs[0], *more_steps(runs))}", console)
    if until == "steps":  # no goal
        return 0
    for run in missed:
        side = "" if run.side == "both" else f" as {run.side}"
        text = f"{until}{side} was not reached by {run.name} within {steps_of(run)}"
        report.say(text, console)
    return 1


def more_steps(runs: tuple[Run, ...]) -> list[str]:
    """The option that doubles the steps, if all runs have made theirs."""
    made = [run.record.last["steps"] for run in runs]
    if any(run.record.last["steps"] < run.config.steps for run in runs):
        return []
    return ["--steps", str(2 * max(made) or 1_000)]


def steps_of(run: Run) -> str:
    """The steps that a run has made, as text."""
    return f"{run.record.last['steps']:,} steps"
