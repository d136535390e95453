"""Trainings with their progress in the terminal, and certificates and example games at the end."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.players.seat import OWN, Seat, run_seat
from apps.terminal import battle, charts, position, report
from apps.terminal.interpreter import command
from tictactoe_env.certificates.certificate import FILE as CERTIFICATE
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.games.game import Participant
from training.selfplay import RIVAL

if TYPE_CHECKING:
    from rich.console import Console

    from training.rivals import Rivals
    from training.run import Run


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
    from apps.terminal import progress

    runs: tuple[Run, ...] = training.runs
    first = runs[0]
    refuse_export(first.page, export_sb3)
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
                counts = training.resume(learn_from)
                if counts:
                    report.say(learned_text(counts), console)
            else:
                for run in runs:
                    run.start()
            if not training.is_at_its_end:
                with progress.shown(runs, console) as displays:
                    training.train(*displays)
        except KeyboardInterrupt:
            return ended_at_once(first)
        if not training.is_complete:
            finish(runs, console)
    export(first.page, first.folder, export_sb3, console)
    folders = [str(run.folder) for run in runs]
    said = [complete_text(run) for run in runs]
    if not training.is_complete:
        said = [f"saved: {' and '.join(folders)}"]
    said[-1] += f"   look: {command('evaluate.py', *folders)}"
    said += [ways_on(run) for run in runs if (run.folder / CERTIFICATE).exists()]
    for text in said:
        report.say(printable(text), console)
    return verdict(runs, lambda text: report.say(text, console))


def finish(runs: tuple[Run, ...], console: Console) -> None:
    """Write the files of runs that have ended, and show how they play and what is proven."""
    certificates = []
    for run in runs:
        charts.draw(run)
        certificates.append(run.finish())
    if len(runs) == 1:
        battle.example_of(runs[0].best_player, runs[0].side, runs[0].name, console)
        print_values(runs[0], console)
    else:
        battle.of_rivals({run.name: (run.best_player, run.side) for run in runs}, console)
    for run, certificate in zip(runs, certificates, strict=True):
        print_certificate(run, certificate, console)


def complete_text(run: Any) -> str:
    """What to say of a run of which nothing is left to do."""
    goal = f" and has reached its goal, {run.until}" if run.until in run.first_reached else ""
    return (
        f"complete: {run.folder} has trained {run.rows[-1]['steps']:,} steps{goal}, and nothing of "
        "it is missing; give --steps more than that to train on"
    )


def ways_on(run: Run) -> str:
    """How to check the certificate of a run, and to play against it as the side that it learned."""
    seat, folder = "--x" if run.side == "X" else "--o", str(run.folder)
    check = command("evaluate.py", "--verify", folder)
    return f"check: {check}   play: {command('play.py', seat, folder)}"


def print_certificate(run: Any, found: Certificate | None, console: Console) -> None:
    """Print the certificate of a run that is finished, or why it has none."""
    if found is not None:
        report.say(f"\n{found.claim}", console, "bold")
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
            seat = Seat(Participant("run", run.name), rules, run.best_player)
            position.print_first_moves(seat.thoughts(empty), rules, console)
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


def verdict(runs: tuple[Run, ...], say: Callable[[str], None]) -> int:
    """Print how to continue if a goal was not reached; the exit code.

    The goal of a run that is trained as one side is that of its side. A run that is optimal is
    done whatever its goal is: more training cannot improve it.
    """
    until, folder = runs[0].until, runs[0].folder
    missed = [run for run in runs if not {until, "optimal"} & set(run.first_reached)]
    if not missed:
        return 0
    words, made = ["train.py", "--resume", str(folder)], [run.rows[-1]["steps"] for run in runs]
    if all(steps >= run.config.steps for run, steps in zip(runs, made, strict=True)):
        words += ["--steps", str(2 * max(made) or 1_000)]
    words += ["--until", until] * (until != "steps")
    say(printable(f"continue with: {command(*words)}"))
    if until == "steps":
        return 0
    for run in missed:
        goal = until if run.side == "both" else f"{until} as {run.side}"
        steps = f"{run.rows[-1]['steps']:,} steps"
        say(f"{goal} was not reached by {printable(run.name)} within {steps}")
    return 1
