"""A run: the folder that a training writes, and what is shown of it while it lasts.

runs/dqn-0/
    config.json         agent, configuration, versions
    metrics.csv         exact figures over the steps, and what else the trainer notes
    events.out...       the same, for TensorBoard; the trainer's own losses are in a second such file (DQN: in a folder DQN_1/)
    model.safetensors   the best checkpoint so far (model.json beside it holds its sha256)
    certificate.json    what is proven of it
    growth.png          wins, draws and losses over the steps, with the limits
    checkpoint/         all that is needed to go on, bit for bit
"""

from __future__ import annotations

import csv
import io
import shutil
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from tictactoe_env.certificate import FILE, certify, versions, write
from tictactoe_env.match import Result
from tictactoe_env.policy import TabularPolicy
from tictactoe_env.render import ansi
from training.evaluation import Figures, Save, judge
from training.files import (
    DamagedFileError,
    read_json,
    settle_folder,
    write_file,
    write_folder,
    write_json,
)
from training.values import ValuedTable

CHECKPOINT_SECONDS = 30  # between two checkpoints; a kill loses at most this much
PLAIN_SECONDS = 2  # between two lines where the output is no terminal
COLUMNS = (
    "steps",
    "seconds",
    *(f"{side}_{name}" for side in ("x", "o") for name in ("win", "draw", "loss", "illegal")),
    "unbeatable_x",
    "unbeatable_o",
    "optimal_x",
    "optimal_o",
)
PROVEN = COLUMNS[-4:]


class Run:
    """The report of a training: judges, shows, writes, and says when to stop. Use it as a context.

    until: "steps", "unbeatable" or "optimal". goal: the steps at which the trainer ends by itself, for the progress bar.
    preset: the name of the options that were taken together, if any. Where the configuration has a `side`, only that side counts.
    Ctrl-C asks the training to stop at the next judgement, where its state is saved; a second one ends it at once.
    """

    def __init__(
        self,
        folder: Path,
        agent: str,
        config: Any,
        until: str,
        console: Console | None = None,
        preset: str | None = None,
    ):
        self.folder, self.agent, self.config, self.until, self.preset = (
            folder,
            agent,
            config,
            until,
            preset,
        )
        self.side: str = getattr(config, "side", "both")
        self.console = console or Console()
        self.rows: list[dict[str, Any]] = []
        self.best: tuple[Figures, int, TabularPolicy] | None = None
        self.interrupted = False
        self.first_reached: dict[str, tuple[int, float]] = {}
        self._earlier_seconds = 0.0
        self._new = False

    @property
    def name(self) -> str:
        """The agent, and its preset if it has one."""
        return f"{self.agent}-{self.preset}" if self.preset else self.agent

    # --- the folder ----------------------------------------------------------------------------------------------

    @property
    def checkpoint(self) -> Path:
        """The folder to go on from."""
        return self.folder / "checkpoint"

    def start(self) -> None:
        """Create the folder; ValueError if it holds something already."""
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ValueError(
                f"{self.folder} is not an empty folder: give another --out, or go on with --resume {self.folder}"
            )
        self._new = True
        self._write_config()

    def _write_config(self) -> None:
        preset = {"preset": self.preset} if self.preset else {}
        write_json(
            self.folder / "config.json",
            {"agent": self.agent, **preset, "config": asdict(self.config), "versions": versions()},
        )

    def resume(self) -> None:
        """Read back what the run has reached up to its checkpoint. ValueError if there is nothing left to train, or files are damaged."""
        settle_folder(self.checkpoint)
        if not self.checkpoint.exists():
            raise FileNotFoundError(
                f"{self.folder} has no checkpoint to go on from: train anew with another --out"
            )
        try:
            steps = int(read_json(self.checkpoint / "progress.json")["steps"])
            with open(self.folder / "metrics.csv", encoding="utf-8", newline="") as file:
                self.rows = [
                    row for row in map(_parsed, csv.DictReader(file)) if row["steps"] <= steps
                ]
            for row in self.rows:
                self._note_first(_figures(row), row["steps"], row["seconds"])
            self._earlier_seconds = next(
                row["seconds"] for row in self.rows if row["steps"] == steps
            )
        except DamagedFileError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, StopIteration, csv.Error) as error:
            raise DamagedFileError(
                f"progress.json or metrics.csv of {self.folder} is damaged: {error!r}"
            ) from None
        if self.config.steps <= steps:
            raise ValueError(
                f"{self.folder} has trained {steps:,} steps already: give --steps more than that"
            )
        self._write_config()

    # --- the context -----------------------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        from torch.utils.tensorboard import SummaryWriter

        self._began = self._last_checkpoint = time.monotonic()
        self._last_line, self._last_tenth = (
            0.0,
            self._tenth(self.rows[-1]["steps"] if self.rows else 0),
        )
        self._board = SummaryWriter(str(self.folder))
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,}/{task.total:,} steps"),
            TimeElapsedColumn(),
            console=self.console,
        )
        self._task = self._bar.add_task(
            self.agent,
            total=self.config.steps,
            completed=self.rows[-1]["steps"] if self.rows else 0,
        )
        self._live = (
            Live(Group(self._bar, Text("")), console=self.console, refresh_per_second=8)
            if self.console.is_terminal
            else None
        )
        if self._live:
            self._live.start()
        with suppress(ValueError):  # outside the main thread signals cannot be caught
            self._old_handler = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if hasattr(self, "_old_handler"):
            signal.signal(signal.SIGINT, self._old_handler)
        if self._live:
            self._live.stop()
        self._board.close()
        if kind is not None and self._new and not self.rows:
            shutil.rmtree(self.folder)  # nothing was learned, so the name is free for the next try

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        self.console.print(
            "stopping at the next judgement, where the state is saved (Ctrl-C again ends at once)"
        )

    # --- the report --------------------------------------------------------------------------------------------------

    def __call__(
        self,
        steps: int,
        policy: TabularPolicy,
        save: Save,
        notes: Mapping[str, float] | None = None,
    ) -> bool:
        """Judge, note and show; True if the goal is reached or the user asked to stop."""
        if self.rows and steps == self.rows[-1]["steps"]:
            return self.interrupted  # a trainer that went on may judge again where it stopped
        figures = judge(policy)
        seconds = self._earlier_seconds + time.monotonic() - self._began
        self.rows.append(
            {
                **_row(steps, seconds, figures),
                **{name: float(value) for name, value in (notes or {}).items()},
            }
        )  # as read back
        self._note_first(figures, steps, seconds)
        if self.best is None or figures.rank(self.side) > self.best[0].rank(self.side):
            self.best = (figures, steps, policy)
            save(self.folder, False)
            if (
                self.folder / FILE
            ).exists():  # of a run that goes on: certificate and model stay of the same moment
                write(self._certificate(), self.folder / FILE)
        for name, value in self.rows[-1].items():
            if name != "steps":
                self._board.add_scalar(
                    f"{'exact' if name in COLUMNS else 'noted'}/{name}", float(value), steps
                )
        stop = figures.reached(self.until, self.side) or self.interrupted
        if (
            stop
            or time.monotonic() - self._last_checkpoint > CHECKPOINT_SECONDS
            or steps >= self.config.steps
        ):
            self._write_checkpoint(steps, save)
        try:
            self._show(steps, seconds, figures, policy, notes or {})
        except SystemExit:  # rich's answer where nobody reads on, such as `head`; it is quiet from now on, and the training is saved
            self.console.quiet = True
        return stop

    def _note_first(self, figures: Figures, steps: int, seconds: float) -> None:
        for goal in ("unbeatable", "optimal"):
            if figures.reached(goal, self.side):
                self.first_reached.setdefault(goal, (steps, seconds))

    def _write_checkpoint(self, steps: int, save: Save) -> None:
        def write(folder: Path) -> None:
            save(folder, True)
            write_json(folder / "progress.json", {"steps": steps})

        self._write_metrics()  # first: rows beyond the checkpoint do no harm, missing ones would
        write_folder(self.checkpoint, write)
        self._last_checkpoint = time.monotonic()

    def _write_metrics(self) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.rows[0]) if self.rows else COLUMNS)
        writer.writeheader()
        writer.writerows(self.rows)
        write_file(self.folder / "metrics.csv", lambda file: file.write(text.getvalue().encode()))

    def _show(
        self,
        steps: int,
        seconds: float,
        figures: Figures,
        policy: TabularPolicy,
        notes: Mapping[str, float],
    ) -> None:
        """How it stands: always where the output is a terminal, else every few seconds; a line stays at every tenth of the steps."""
        speed = steps / seconds if seconds > 0 else 0.0
        line = f"{speed:,.0f} steps/s   against random, exact:  {describe(figures)}"
        line += "".join(
            f"   {name.replace('_', ' ')} {_number(value)}" for name, value in notes.items()
        )
        is_tenth = self._tenth(steps) > self._last_tenth
        self._last_tenth = self._tenth(steps)
        grid = values_of_the_empty_board(policy)
        if self._live:
            self._bar.update(self._task, completed=steps)
            self._live.update(Group(self._bar, Text(line), Text(grid)))
        if is_tenth or (
            not self._live
            and (
                time.monotonic() - self._last_line > PLAIN_SECONDS
                or figures.reached(self.until, self.side)
            )
        ):
            self._last_line = time.monotonic()
            text = f"{steps:>10,} steps {seconds:6.1f} s   {line}" + (
                f"\n{grid}" if is_tenth and grid else ""
            )
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _tenth(self, steps: int) -> int:
        return 10 * steps // max(self.config.steps, 1)

    @property
    def best_player(self) -> TabularPolicy:
        """The best of those that were judged; ValueError if none was."""
        return self._best()[2]

    def _best(self) -> tuple[Figures, int, TabularPolicy]:
        if self.best is None:
            raise ValueError("nothing was judged yet: train for at least one judgement")
        return self.best

    # --- the end -------------------------------------------------------------------------------------------------------

    def finish(self) -> dict[str, Any]:
        """Write metrics, certificate and plot of the best checkpoint; the certificate."""
        from training.plots import growth

        content, policy = self._certificate(), self.best_player
        self._write_metrics()
        write(content, self.folder / FILE)
        growth(
            self.rows,
            policy.rules,
            self.folder / "growth.png",
            f"{self.name}, seed {self.config.seed}",
        )
        return content

    def _certificate(self) -> dict[str, Any]:
        """The certificate of the best checkpoint."""
        _, steps, policy = self._best()
        seconds = next(
            (row["seconds"] for row in self.rows if row["steps"] == steps), self.rows[-1]["seconds"]
        )
        return certify(
            policy,
            self.agent,
            seed=self.config.seed,
            config=asdict(self.config),
            training={
                **({"preset": self.preset} if self.preset else {}),
                "steps": max(
                    self.rows[-1]["steps"], steps
                ),  # the best may be of an attempt to go on that was killed
                **({"games": int(self.rows[-1]["games"])} if "games" in self.rows[-1] else {}),
                "seconds": round(self.rows[-1]["seconds"], 3),
                "best_at": {"steps": steps, "seconds": round(seconds, 3)},
                **{
                    f"first_{goal}": {"steps": at[0], "seconds": round(at[1], 3)}
                    for goal, at in self.first_reached.items()
                },
            },
        )

    def keep_best(self, policy: TabularPolicy) -> None:
        """Take over `policy`, which the folder's model plays, so that only something better replaces it."""
        self.best = (judge(policy), int(read_json(self.folder / "model.json")["steps"]), policy)


def values_of_the_empty_board(policy: TabularPolicy) -> str:
    """What a player by values says that each first move is worth, on the board; nothing for other players."""
    if not isinstance(policy, ValuedTable):
        return ""
    values = np.where(
        np.isfinite(policy.values[0]), policy.values[0], np.nan
    )  # the empty board is the first unfinished position
    return "Q of the empty board, as it believes\n" + ansi(
        np.zeros(policy.rules.cells, dtype=np.int8), policy.rules, values=values
    )


def describe(figures: Figures) -> str:
    """Wins, draws and losses of both sides in per cent, and what is proven."""
    sides = (("X", figures.x, figures.unbeatable_x), ("O", figures.o, figures.unbeatable_o))
    text = "   ".join(
        f"{side} {percent(result)}{' unbeatable' if safe else ''}" for side, result, safe in sides
    )
    return text + ("   at both limits" if figures.optimal else "")


def _number(value: float) -> str:
    """A count in full, anything else with four digits."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"


def percent(result: Result) -> str:
    """Win, draw and loss in per cent, such as "98.96/1.04/0.00"."""
    return "/".join(f"{100 * rate:.2f}" for rate in (result.win, result.draw, result.loss))


def _row(steps: int, seconds: float, figures: Figures) -> dict[str, Any]:
    rates = {
        f"{side}_{name}": getattr(result, name)
        for side, result in (("x", figures.x), ("o", figures.o))
        for name in ("win", "draw", "loss", "illegal")
    }
    return {
        "steps": steps,
        "seconds": round(seconds, 3),
        **rates,
        **{name: int(getattr(figures, name)) for name in PROVEN},
    }


def _parsed(row: dict[str, str]) -> dict[str, Any]:
    return {
        name: int(value) if name in ("steps", *PROVEN) else float(value)
        for name, value in row.items()
    }


def _figures(row: dict[str, Any]) -> Figures:
    x, o = (
        Result(*(row[f"{side}_{name}"] for name in ("win", "draw", "loss", "illegal")))
        for side in ("x", "o")
    )
    return Figures(x, o, *(bool(row[name]) for name in PROVEN))
