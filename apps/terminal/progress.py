"""The progress of a training: a live display on a terminal, plain lines elsewhere.

A run also gets an events file, which TensorBoard shows. It is written in this thread, with
TensorBoard's own records. A training does not need the file: if it cannot be written, the training
goes on without it.
"""

from __future__ import annotations

import math
import os
import socket
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter

from apps.terminal.report import say
from tictactoe_env.errors import printable
from tictactoe_env.exact.evaluation import Evaluation
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.verdict import verdict
from tictactoe_env.notation import cell_text, game_text
from tictactoe_env.render import ansi
from tictactoe_env.rules import game_state
from training.metrics import RESULTS

if TYPE_CHECKING:
    from training.learner import BoardPlayer
    from training.metrics import Row
    from training.run import Numbers, Run

LEGEND = "won/lost against random play, in %"
BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = "_.:-=+*#"
CURVE = 24  # evaluations that the curve of a side shows


class Display:
    """Shows the evaluations of a training, and writes them for TensorBoard.

    On a terminal a bar, the last evaluation, a curve of the losses and the learner's notes follow
    the training. A line is printed when something is proven that no earlier line has, at each tenth
    of the steps if the results are others, and at the end. Elsewhere the notes follow each line.
    side: that is learned, "X", "O" or "both". total: the steps at which training ends. done: the
    steps made before, in a resumed training.
    is_live: False where two displays share a terminal: their lines begin with the name.
    """

    def __init__(
        self,
        name: str,
        total: int,
        done: int,
        console: Console,
        is_live: bool = True,
        folder: Path | None = None,
        side: str = "both",
    ):
        self.console = console
        self.side = side
        self.total = max(total, 1)
        self._events = Events(folder) if folder else None
        self._prefix = "" if is_live else f"{printable(name)}: "
        self._tenth = 10 * done // self.total
        self._said = ""
        self._proven = {""}  # what lines have told
        self._losses: dict[str, list[float]] = {"X": [], "O": []}
        title = TextColumn("{task.description}", markup=False)
        count = TextColumn("{task.completed:,}/{task.total:,} steps")
        self._bar = Progress(title, BarColumn(None), count, TimeElapsedColumn(), console=console)
        self._task = self._bar.add_task(printable(name), total=total, completed=done)
        self._live: Live | None = None
        if console.is_interactive and is_live:
            self._live = Live(self._bar, console=console, refresh_per_second=8)
            self._live.start()

    def advance(self, steps: int) -> None:
        """Show the steps made, between two evaluations. Without a live display nothing is shown."""
        self._bar.update(self._task, completed=steps)

    def _below(self, text: str) -> None:
        """Show a text below the bar of a live display."""
        if self._live:
            self._live.update(Group(self._bar, Text(text)))

    def draw(
        self, steps: int, seconds: float, notes: Numbers, results: Evaluation, policy: BoardPlayer
    ) -> None:
        """Draw the results, the notes and the player on a live display."""
        self.advance(steps)
        if self._live:
            self._losses["X"].append(results.x.loss)
            self._losses["O"].append(results.o.loss)
            parts = [LEGEND, describe(results), self._curves(), notes_text(steps, seconds, notes)]
            self._below(
                "\n".join([*parts, first_moves(policy, self.side), lost_game(results, self.side)])
            )

    def show(
        self, row: Row, results: Evaluation, policy: BoardPlayer, scalars: Numbers | None = None
    ) -> None:
        """Show an evaluation, and write it for TensorBoard. row: its row of metrics.csv."""
        steps = row["steps"]
        seconds = row["seconds"]
        notes = {name: row[name] for name in row if name not in RESULTS}
        if self._events is not None:
            exact = {f"exact/{name}": row[name] for name in RESULTS[1:] if name in row}
            noted = {f"noted/{name}": value for name, value in notes.items()}
            self._events.add({**exact, **noted, **(scalars or {})}, steps)
        said = describe(results)
        told = notes_text(steps, seconds, notes)
        self.draw(steps, seconds, notes, results, policy)
        tenth = 10 * steps // self.total
        now_proven = proven(results)
        is_news = now_proven not in self._proven or (said != self._said and tenth > self._tenth)
        if is_news or steps >= self.total:
            if not self._said:
                self.say(f"{'steps':>10} {'seconds':>7}  {LEGEND}")
            self._proven.add(now_proven)
            self._said = said
            self.say(f"{steps:>10,} {seconds:>7.1f}  {said}")
            if not self._live:
                self.say(f"{told}\n{first_moves(policy, self.side)}".strip())
        self._tenth = tenth

    def _curves(self) -> str:
        """The lost games of each side, from the first evaluation that was shown to the last."""
        bars = ASCII_BARS if self.console.options.ascii_only else BARS
        curves = (f"{side} {curve(losses, bars)}" for side, losses in self._losses.items())
        return "  ".join(["lost games", *curves])

    def stop(self) -> None:
        """End the live display."""
        if self._live:
            self._live.stop()

    def prove(self, side: str, plies: int, positions: int) -> None:
        """Show how far a proof has come, on a live display; called after each ply of it."""
        self._below(f"proof as {side}: {positions:,} positions up to ply {plies}")

    def say(self, text: str) -> None:
        """Say something in a line."""
        say(f"{self._prefix}{text}", self.console)


class Events:
    """Writes numbers over the steps of a training into an events file in a folder.

    The first error of the disk is told as a warning, and nothing is written from there on.
    """

    def __init__(self, folder: Path):
        self._has_failed = False
        name = f"events.out.tfevents.{time.time():010.0f}.{socket.gethostname()}.{os.getpid()}"
        self.path = folder / f"{name}.{time.monotonic_ns()}"
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))

    def add(self, numbers: Mapping[str, float], steps: int) -> None:
        """Add numbers by name."""
        event = Event(wall_time=time.time(), step=steps)
        for name, number in numbers.items():
            event.summary.value.add(tag=name, simple_value=number)
        self._write(event)

    def _write(self, event: Any) -> None:
        if self._has_failed:
            return
        try:
            with open(self.path, "ab") as file:
                RecordWriter(file).write(event.SerializeToString())
        except OSError as error:
            self._has_failed = True
            text = (
                f"{self.path}, which TensorBoard shows, cannot be written: {error}; the training "
                "goes on without it"
            )
            warnings.warn(printable(text), stacklevel=3)


@contextmanager
def shown(runs: Sequence[Run], console: Console) -> Iterator[list[Display]]:
    """The displays of runs that are trained now; if there are two, neither is live."""
    is_live = len(runs) == 1
    displays = [
        Display(
            run.name, run.config.steps, run.learner.steps, console, is_live, run.folder, run.side
        )
        for run in runs
    ]
    try:
        yield displays
    finally:
        for display in displays:
            display.stop()


def proven(results: Evaluation) -> str:
    """A few words on what is proven of the sides; "" if each can be beaten."""
    words = []
    if any(side.word for side in results.proven.values()):
        words.append(verdict(results.proven, games=False).partition(", and")[0])
    words += [f"{side} sampled" for side in results.sampled]
    return ", ".join(words)


def describe(results: Evaluation) -> str:
    """Wins and losses of both sides in per cent, and what is proven of them."""
    sides = (
        f"{side} {100 * found.win:.2f}/{100 * found.loss:.2f}"
        for side, found in (("X", results.x), ("O", results.o))
    )
    return "  ".join([*sides, proven(results)]).rstrip()


def curve(shares: Sequence[float], bars: str = BARS) -> str:
    """A line of bars for a share over time; a bar that is one step lower stands for the half.

    The highest bar is the largest share. The lowest one is 0, and nothing else. Of a long time
    CURVE of the shares are shown.
    """
    places = np.linspace(0, len(shares) - 1, min(len(shares), CURVE)).round().astype(int)
    largest = max(shares)
    line = ""
    for share in np.array(shares)[places]:
        height = 0
        if share > 0:
            halvings = round(math.log2(largest / share))
            height = max(len(bars) - 1 - halvings, 1)
        line += bars[height]
    return line


def notes_text(steps: int, seconds: float, notes: Numbers) -> str:
    """The speed and the learner's notes as text."""
    numbers: dict[str, float] = {}
    if seconds > 0:
        numbers["steps a second"] = steps // seconds
    numbers |= notes
    texts = []
    for name, number in numbers.items():
        words = name.replace("_", " ")
        texts.append(f"{words} {entry_text(number)}")
    return ", ".join(texts)


def first_moves(policy: Any, side: str) -> str:
    """The values of the first moves, drawn on the board, if a player chooses its moves by them.

    side: "X", "O" or "both". For O they are the values after the opening of X that leaves O least.
    """
    if not getattr(policy, "moves_by_values", False):
        return ""
    rules = policy.rules
    boards = np.zeros((1, rules.cells), dtype=np.int8)
    if side == "O":
        openings = rules.legal_cells(boards[0])
        boards = np.eye(rules.cells, dtype=np.int8)[openings]
    values = policy.q_values(boards)
    values = np.where(np.isfinite(values), values, np.nan)
    which = int(np.nanmax(values, axis=1).argmin())
    # Four decimals: those of a corner and of an edge may be close.
    drawn = ansi(boards[which], rules, values=values[which], decimals=4)
    after = ""
    if side == "O":
        opening = cell_text(int(boards[which].argmax()), rules)
        after = f" after {opening}, X's best opening by them"
    return f"\nown values of the first moves{after} ({policy.meaning})\n{drawn}"


def lost_game(results: Evaluation, learned: str) -> str:
    """A shortest game that the player loses, with its last board; or that nobody can beat it.

    learned: the side that counts, "X", "O" or "both". "" on boards of more than 12 cells.
    """
    rules = results.rules
    if rules.cells > TABULATED:
        return ""
    for side, response in results.best_responses.items():
        if response.losing_line and learned in (side, "both"):
            game = game_state(response.losing_line, rules)
            last = game.moves[-1] if game.moves else None  # the first one may be illegal
            drawn = ansi(game.board, rules, last=last)
            cells = game_text(response.losing_line, rules)
            return f"\nthis game beats it as {side}: {cells}\n{drawn}"
    return "\nnobody can beat it" + ("" if learned == "both" else f" as {learned}")


def entry_text(value: float | str) -> str:
    """A text as it is, a whole number in full, any other number with four significant digits."""
    if isinstance(value, str):
        return value
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.4g}"
