"""A training with its progress in the terminal, its certificate and an example game at the end."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from terminal import battle, report

if TYPE_CHECKING:
    from rich.console import Console

    from training.options import BoardConfig


def name_of(page: Any, preset: str | None) -> str:
    """The name of the agent, followed by that of the preset if there is one."""
    return f"{page.AGENT}-{preset}" if preset else str(page.AGENT)


def new_folder(name: str, seed: int) -> Path:
    """runs/NAME-SEED, followed by the time if that exists."""
    folder = Path("runs") / f"{name}-{seed}"
    if not folder.exists():
        return folder
    return folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}")


def train(
    page: Any,
    config: BoardConfig,
    preset: str | None,
    console: Console,
    *,
    folder: Path,
    until: str = "steps",
    is_resumed: bool = False,
    export_sb3: Path | None = None,
) -> int:
    """Train, write the run into a folder, and print its certificate; the exit code.

    0: the goal `until` was reached, or there was none; 1: it was not reached; 130: a second Ctrl-C
    ended the training at once. Raises KeyboardInterrupt if nothing was saved by then.
    """
    from training import checkpoint
    from training.learner import drive
    from training.run import Run

    if export_sb3 and not hasattr(page, "export_sb3"):
        raise ValueError(
            f"{page.AGENT} does not use Stable-Baselines3, so there is nothing to export: "
            "leave --export-sb3 out"
        )
    run = Run(folder, page, config, until, console, preset)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: report.say(
            f"warning: {message}", console, "yellow"
        )
        learner = page.begin(config)
        if is_resumed:
            run.resume(learner)
        else:
            run.start()
        try:
            with run:
                drive(learner, config, run.evaluate)
        except KeyboardInterrupt:
            if not run.checkpoint.exists():
                raise
            hint = shlex.join(["python", "train.py", "--resume", str(folder)])
            print(f"train.py: ended at once; continue with: {hint}", file=sys.stderr)
            return 130
    report.certificate(run.finish(), console)
    battle.example_of(run.best_player, run.side, run.name, console)
    if export_sb3:
        page.export_sb3(*checkpoint.load_model(page, folder), export_sb3)
        report.say(f"Stable-Baselines3's own file: {export_sb3}", console)
    report.say(
        f"saved: {folder}   look: {shlex.join(['python', 'evaluate.py', str(folder)])}", console
    )
    return verdict(run, until, lambda text: report.say(text, console))


def verdict(run: Any, until: str, say: Callable[[str], None]) -> int:
    """Print how to continue if the goal was not reached; the exit code.

    The goal of a run that is trained as one side is that of its side.
    """
    if until in run.first_reached:
        return 0
    steps = run.rows[-1]["steps"]
    command = ["python", "train.py", "--resume", str(run.folder)]
    if steps >= run.config.steps:  # a round may end beyond the steps that were asked for
        command += ["--steps", str(2 * steps or 1_000)]
    if until != "steps":
        command += ["--until", until]
    say(f"continue with: {shlex.join(command)}")
    if until == "steps":
        return 0
    goal = until if run.side == "both" else f"{until} as {run.side}"
    say(f"{goal} was not reached within {steps:,} steps")
    return 1
