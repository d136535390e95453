"""The progress of a training: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
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
from tictactoe_env.errors import printable
from tictactoe_env.exact.evaluation import Evaluation
from tictactoe_env.render import ansi
from training.metrics import RESULTS
from training.tally import DRAWS, LOSSES, MOST, WINDOW, WINDOW_COLUMNS, WINS

if TYPE_CHECKING:
    from training.learner import BoardPlayer
    from training.metrics import Row
    from training.run import Numbers, Run

PLAIN_SECONDS = 2  # seconds between two lines where the output is not a terminal
PROOF_SECONDS = 5  # seconds of a proof before its progress is shown, and between two lines of it
WIDE = 79  # columns that a row of the table needs
HEADING = (
    f"{'':20}{'as X against random, %':>23}{'as O against random, %':>25}\n"
    f"{'steps':>11}{'seconds':>9}" + f"{'won':>9}{'drawn':>7}{'lost':>7}" * 2 + "  proven\n"
)
"""The heading of the rows; results are exact, unless the last column says that they are sampled."""


class Display:
    """Shows the evaluations of a training.

    On a terminal a bar and the last evaluation follow the training. A row of a table is printed
    when something is proven that no earlier row has, and at every tenth of the steps if it says
    something new; elsewhere also every two seconds, with the notes of a learner that counts its
    games, and at the end. On a narrow console the rows are lines of text.
    total: the steps at which training ends. done: the steps made before, in a resumed training.
    is_live: False where two displays share a terminal: they print lines that begin with the name.
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
        name = printable(name)
        self._prefix = "" if is_live else f"{name}: "
        is_wide = not console.is_terminal or console.width >= WIDE
        self._heading = HEADING if is_wide and is_live else ""
        self._has_table = bool(self._heading)
        self._tenth, self._last_line = 10 * done // self.total, 0.0
        self._proven = {""}  # what rows have told
        self._news: tuple[str, str, bool] | None = None  # of the last row
        self._left: list[str] = []  # lines of the last evaluation that were not printed
        self._proof_began = self._proof_line = 0.0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=40 if is_wide else None),
            TextColumn("{task.completed:,}/{task.total:,} steps"),
            TimeElapsedColumn(),
            console=console,
        )
        self._task = self._bar.add_task(name, total=total, completed=done)
        self._live: Live | None = None
        if console.is_terminal and is_live:
            self._live = Live(self._bar, console=console, refresh_per_second=8)
            self._live.start()

    def advance(self, steps: int) -> None:
        """Show the steps made, between two evaluations. Without a live display nothing is shown."""
        self._bar.update(self._task, completed=steps)

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
        told, values = notes_text(steps, seconds, notes), values_of_the_empty_board(policy)
        self.advance(steps)
        if self._live:
            found = Text(f"won/drawn/lost against random, %: {describe(results)}")
            self._live.update(Group(self._bar, found, Text(told, "dim"), Text(values)))
        text, now = self._row(steps, seconds, results), time.monotonic()
        counted = window_text(notes) if MOST in notes else ""
        tenth = 10 * steps // self.total
        news = describe(results), counted, steps >= self.total  # the end is news too
        is_time = not self._live and now - self._last_line > PLAIN_SECONDS
        is_proof = proven(results) not in self._proven
        self._left = [] if self._live else [text, told, values]
        if is_proof or (news != self._news and (is_time or tenth > self._tenth)):
            self._last_line, self._news = now, news
            self._proven.add(proven(results))
            self._print(text)
            self._heading = ""
            self._left[:1] = []
            if not self._live and MOST in notes:
                self._print(self._left.pop(0))
        self._tenth = tenth

    def stop(self) -> None:
        """End the live display; without one, print what is left of the last evaluation."""
        if self._live:
            self._live.stop()
        for text in self._left:
            self._print(text)
        self._left = []

    def prove(self, side: str, plies: int, positions: int) -> None:
        """Show how far a proof has come, if it takes long; called after each ply of it."""
        now = time.monotonic()
        if plies == 1:
            self._proof_began = self._proof_line = now
        if now - self._proof_line < PROOF_SECONDS:
            return
        self._proof_line = now
        seconds = now - self._proof_began
        text = f"proof as {side}: {positions:,} positions up to ply {plies}, {seconds:.0f} s"
        if self._live:
            self._live.update(Group(self._bar, Text(text)))
        else:
            self._print(f"{self._prefix}{text}")

    def say(self, text: str) -> None:
        """Say something in a line."""
        self.console.print(text, soft_wrap=not self.console.is_terminal)

    def _row(self, steps: int, seconds: float, results: Evaluation) -> str:
        """An evaluation as a row of the table, or as text where there is none."""
        if not self._has_table:
            return f"{self._prefix}{steps:,} steps, {seconds:.1f} s   {describe(results)}"
        rates = "".join(
            f"{100 * side.win:>9.2f}{100 * side.draw:>7.2f}{100 * side.loss:>7.2f}"
            for side in (results.x, results.o)
        )
        return f"{self._heading}{steps:>11,}{seconds:>9.1f}{rates}  {proven(results)}".rstrip()

    def _print(self, text: str) -> None:
        if text:
            self.console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)


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
    """What is proven of both sides, in few words; "" if nothing is."""
    words = [f"{side} {one.word}" for side, one in results.proven.items() if one.word]
    if len(words) == 2 and not results.always_wins_x:
        words = ["optimal" if results.optimal else "unbeatable"]
    return ", ".join([*words, *(f"{side} sampled" for side in results.sampled)])


def describe(results: Evaluation) -> str:
    """Wins, draws and losses of both sides in per cent, and what is proven of them."""
    sides = (
        f"{side} {100 * found.win:.2f}/{100 * found.draw:.2f}/{100 * found.loss:.2f}"
        for side, found in (("X", results.x), ("O", results.o))
    )
    return "   ".join([*sides, proven(results)]).rstrip()


def notes_text(steps: int, seconds: float, notes: Numbers) -> str:
    """The speed and the learner's notes as text; the games of a tally have a line of their own."""
    speed = [f"{steps / seconds:,.0f} steps a second"] if seconds > 0 else []
    others = ((name, value) for name, value in notes.items() if name not in WINDOW_COLUMNS)
    told = ", ".join([*speed, *(f"{name.replace('_', ' ')} {_number(n)}" for name, n in others)])
    counted = window_text(notes) if MOST in notes else ""
    return "\n".join(filter(None, (told, counted)))


def window_text(notes: Numbers) -> str:
    """The numbers of `Tally.notes` as text; "" before the first window is complete."""
    last = int(notes["games"]) // WINDOW * WINDOW
    if last == 0:
        return ""
    counts = f"{notes[WINS]:.0f} won, {notes[DRAWS]:.0f} drawn, {notes[LOSSES]:.0f} lost"
    which = f"training games {last - WINDOW + 1:,} to {last:,}"
    return f"{which}: {counts} (best {WINDOW:,} games: {notes[MOST]:.0f} won)"


def values_of_the_empty_board(policy: Any) -> str:
    """The values of the first moves, drawn on the board; "" for players that have none.

    Only the values by which a player chooses its moves are shown.
    """
    if not getattr(policy, "moves_by_values", False):
        return ""
    board = np.zeros(policy.rules.cells, dtype=np.int8)
    first = policy.q_values(board[None])[0]
    drawn = ansi(board, policy.rules, values=np.where(np.isfinite(first), first, np.nan))
    return f"the agent's Q values of the empty board\n{drawn}"


def _number(value: float) -> str:
    """A whole number in full, any other number with four significant digits."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"
