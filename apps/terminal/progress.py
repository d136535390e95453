"""The progress of a training: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from apps.terminal.events import Events
from apps.terminal.report import say
from tictactoe_env.errors import printable
from tictactoe_env.exact.evaluation import Evaluation
from tictactoe_env.exact.verdict import verdict
from tictactoe_env.render import ansi
from training.metrics import RESULTS

if TYPE_CHECKING:
    from training.learner import BoardPlayer
    from training.metrics import Row
    from training.run import Numbers, Run

LEGEND = "won/drawn/lost against random play, in %"


class Display:
    """Shows the evaluations of a training, and writes them for TensorBoard.

    On a terminal a bar, the last evaluation and the learner's notes follow the training. A line is
    printed when something is proven that no earlier line has, at each tenth of the steps if the
    results are others, and at the end. Elsewhere the notes follow each line.
    total: the steps at which training ends. done: the steps made before, in a resumed training.
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
    ):
        self.console, self.total = console, max(total, 1)
        self._events = Events(folder) if folder else None
        self._prefix = "" if is_live else f"{printable(name)}: "
        self._tenth, self._said = 10 * done // self.total, ""
        self._proven = {""}  # what lines have told
        title = TextColumn("{task.description}", markup=False)
        count = TextColumn("{task.completed:,}/{task.total:,} steps")
        self._bar = Progress(title, BarColumn(None), count, TimeElapsedColumn(), console=console)
        self._task = self._bar.add_task(printable(name), total=total, completed=done)
        self._live: Live | None = None
        if console.is_terminal and is_live:
            self._live = Live(self._bar, console=console, refresh_per_second=8)
            self._live.start()

    def advance(self, steps: int) -> None:
        """Show the steps made, between two evaluations. Without a live display nothing is shown."""
        self._bar.update(self._task, completed=steps)

    def _below(self, text: str) -> None:
        """Show a text below the bar of a live display."""
        if self._live:
            self._live.update(Group(self._bar, Text(text)))

    def show(
        self,
        row: Row,
        results: Evaluation,
        policy: BoardPlayer,
        scalars: Numbers | None = None,
    ) -> None:
        """Show an evaluation, and write it for TensorBoard. row: that of metrics.csv."""
        steps, seconds = row["steps"], row["seconds"]
        notes = {name: row[name] for name in row if name not in RESULTS}
        if self._events is not None:
            exact = {f"exact/{name}": row[name] for name in RESULTS[1:] if name in row}
            noted = {f"noted/{name}": value for name, value in notes.items()}
            self._events.add({**exact, **noted, **(scalars or {})}, steps)
        said, told = describe(results), notes_text(steps, seconds, notes)
        self.advance(steps)
        self._below(f"{LEGEND}: {said}\n{told}\n{first_moves(policy) if self._live else ''}")
        tenth, now_proven = 10 * steps // self.total, proven(results)
        is_news = now_proven not in self._proven or (said != self._said and tenth > self._tenth)
        if is_news or steps >= self.total:
            if not self._said:
                self.say(LEGEND)
            self._proven.add(now_proven)
            self._said = said
            self.say(f"{steps:>10,} steps {seconds:>7.1f} s  {said}")
            if told and not self._live:
                self.say(told)
        self._tenth = tenth

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


@contextmanager
def shown(runs: Sequence[Run], console: Console) -> Iterator[list[Display]]:
    """The displays of runs that are trained now; those of two are not live."""
    is_live = len(runs) == 1
    displays = [
        Display(run.name, run.config.steps, run.learner.steps, console, is_live, run.folder)
        for run in runs
    ]
    try:
        yield displays
    finally:
        for display in displays:
            display.stop()


def proven(results: Evaluation) -> str:
    """A few words on what is proven of the sides; "" if each can be beaten."""
    is_safe = any(side.word for side in results.proven.values())
    words = [verdict(results.proven, games=False)] if is_safe else []
    return ", ".join([*words, *(f"{side} sampled" for side in results.sampled)])


def describe(results: Evaluation) -> str:
    """Wins, draws and losses of both sides in per cent, and what is proven of them."""
    sides = (
        f"{side} {100 * found.win:.2f}/{100 * found.draw:.2f}/{100 * found.loss:.2f}"
        for side, found in (("X", results.x), ("O", results.o))
    )
    return "  ".join([*sides, proven(results)]).rstrip()


def notes_text(steps: int, seconds: float, notes: Numbers) -> str:
    """The speed and the learner's notes as text."""
    speed = {"steps a second": steps // seconds} if seconds > 0 else {}
    numbers = {**speed, **notes}
    return ", ".join(f"{name.replace('_', ' ')} {_number(n)}" for name, n in numbers.items())


def first_moves(policy: Any) -> str:
    """The values of the first moves, drawn on the board, if a player chooses its moves by them."""
    if not getattr(policy, "moves_by_values", False):
        return ""
    board = np.zeros(policy.rules.cells, dtype=np.int8)
    first = policy.q_values(board[None])[0]
    drawn = ansi(board, policy.rules, values=np.where(np.isfinite(first), first, np.nan))
    return f"\nown values of the first moves ({policy.meaning})\n{drawn}"


def _number(value: float) -> str:
    """A whole number in full, any other number with four significant digits."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"
