"""The progress of a training: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from tictactoe_env.errors import printable
from tictactoe_env.exact.evaluation import Evaluation
from tictactoe_env.exact.match import Result
from tictactoe_env.render import ansi
from training.learner import BoardPlayer
from training.tally import MOST, WINDOW_COLUMNS, window_text

PLAIN_SECONDS = 2  # seconds between two lines where the output is not a terminal
PROOF_SECONDS = 5  # seconds of a proof before its progress is shown, and between two lines of it


class Display:
    """Shows the evaluations of a training.

    On a terminal a bar and a sentence follow the training. A row of a table is printed at every
    tenth of the steps, and when something is proven that no earlier row has; elsewhere also every
    two seconds, with the notes of a learner that counts its games. The heading of the table is
    printed with its first row; on a narrow console the rows are lines of text.
    total: the steps at which training ends. done: the steps made before, in a resumed training.
    is_live: False where two displays share a terminal: they print lines that begin with the name.
    """

    def __init__(self, name: str, total: int, done: int, console: Console, is_live: bool = True):
        self.console, self.total = console, total
        name = printable(name)
        self._prefix = "" if is_live else f"{name}: "
        self._has_table = not console.is_terminal or console.width >= WIDE
        self._is_headed = False
        self._tenth, self._last_line = tenth_of(done, total), 0.0
        self._proven: set[str] = {""}  # what rows have told
        self._proof_began = self._proof_line = 0.0
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None if console.width < WIDE else 40),
            TextColumn("{task.completed:,}/{task.total:,} steps"),
            TimeElapsedColumn(),
        )
        self._bar = Progress(*columns, console=console)
        self._task = self._bar.add_task(name, total=total, completed=done)
        self._live: Live | None = None
        if console.is_terminal and is_live:
            text = Text("Training until the first evaluation.", "dim")
            self._live = Live(Group(self._bar, text), console=console, refresh_per_second=8)
            self._live.start()

    def stop(self) -> None:
        """End the live display."""
        if self._live:
            self._live.stop()

    def show(
        self,
        steps: int,
        seconds: float,
        results: Evaluation,
        policy: BoardPlayer,
        notes: Mapping[str, float],
        is_last: bool,
    ) -> None:
        """Show an evaluation. On a closed pipe (`| head`), keep training silently."""
        try:
            self._show(steps, seconds, results, policy, notes, is_last)
        except SystemExit:  # raised by rich on a closed pipe
            self.console.quiet = True

    def advance(self, steps: int) -> None:
        """Show the steps made, between two evaluations. Without a live display nothing is shown."""
        if self._live:
            self._bar.update(self._task, completed=steps)

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
        try:
            if self._live:
                self._live.update(Group(self._bar, Text(text)))
            else:
                line = f"{self._prefix}{text}"
                self.console.print(line, highlight=False, markup=False, emoji=False)
        except SystemExit:  # raised by rich on a closed pipe
            self.console.quiet = True

    def _show(
        self,
        steps: int,
        seconds: float,
        results: Evaluation,
        policy: BoardPlayer,
        notes: Mapping[str, float],
        is_last: bool,
    ) -> None:
        tenth, now = tenth_of(steps, self.total), time.monotonic()
        is_tenth, self._tenth = tenth > self._tenth, tenth
        is_new = proven(results) not in self._proven
        values = values_of_the_empty_board(policy)
        if self._live:
            self._bar.update(self._task, completed=steps)
            about = Text(notes_text(steps, seconds, notes), "dim")
            self._live.update(Group(self._bar, Text(sentence(results)), about, Text(values)))
        is_time = not self._live and (now - self._last_line > PLAIN_SECONDS or is_last)
        if is_tenth or is_new or is_time:
            self._last_line = now
            self._proven.add(proven(results))
            self._print_row(steps, seconds, results)
            if not self._live and (is_last or MOST in notes):
                self._print(notes_text(steps, seconds, notes))
            if not self._live and is_last:
                self._print(values)

    def _print_row(self, steps: int, seconds: float, results: Evaluation) -> None:
        if self._prefix:
            time_made = f"{steps:>10,} steps {seconds:6.1f} s"
            self._print(f"{self._prefix}{time_made}   {describe(results)}")
            return
        if not self._has_table:
            sides = describe(results).replace("   O", "\n  O")
            self._print(f"{steps:,} steps, {seconds:.1f} s\n  {sides}")
            return
        if not self._is_headed:
            self._is_headed = True
            self._print("\n".join(HEADING))
        self._print(row_of(steps, seconds, results))

    def _print(self, text: str) -> None:
        if not text:
            return
        self.console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)


def tenth_of(steps: int, total: int) -> int:
    """How many tenths of a training are done: 0 to 10."""
    return 10 * steps // max(total, 1)


HEADING = (
    f"{'':20}{'as X against random, %':>23}{'as O against random, %':>25}",
    f"{'steps':>11}{'seconds':>9}" + f"{'won':>9}{'drawn':>7}{'lost':>7}" * 2 + "  proven",
)
"""The heading of the rows; results are exact, unless the last column says that they are sampled."""
WIDE = 79  # columns that a row needs


def row_of(steps: int, seconds: float, results: Evaluation) -> str:
    """An evaluation as a row of the table."""
    rates = "".join(
        f"{100 * side.win:>9.2f}{100 * side.draw:>7.2f}{100 * side.loss:>7.2f}"
        for side in (results.x, results.o)
    )
    return f"{steps:>11,}{seconds:>9.1f}{rates}  {proven(results)}".rstrip()


def proven(results: Evaluation) -> str:
    """What is proven of both sides, in few words; "" if nothing is."""
    sampled = [f"{' and '.join(results.sampled)} sampled"] if results.sampled else []
    words = {side: one.word for side, one in results.proven.items() if one.word}
    both = f"{'optimal' if results.optimal else 'unbeatable'}"
    one = ", ".join(f"{side} {word}" for side, word in words.items())
    text = both if len(words) == 2 and not results.always_wins_x else one
    return ", ".join(filter(None, [text, *sampled]))


def sentence(results: Evaluation) -> str:
    """An evaluation as two lines of text."""
    lines = []
    for side, found in (("X", results.x), ("O", results.o)):
        how = "sampled" if side in results.sampled else "exact"
        rates = f"{100 * found.win:.2f} % won, {100 * found.draw:.2f} % drawn, "
        text = f"as {side} against random: {rates}{100 * found.loss:.2f} % lost ({how})"
        lines.append("; ".join(filter(None, (text, _word(side, results)))))
    return "\n".join(lines) + ("; optimal" if results.optimal else "")


def _word(side: str, results: Evaluation) -> str:
    return results.proven[side].word if side in results.proven else ""


def notes_text(steps: int, seconds: float, notes: Mapping[str, float]) -> str:
    """The speed and the learner's notes as text; the games of a tally have a line of their own."""
    speed = f"{steps / seconds:,.0f} steps a second" if seconds > 0 else ""
    counted = window_text(notes) if MOST in notes else ""
    others = ((name, value) for name, value in notes.items() if name not in WINDOW_COLUMNS)
    told = (f"{name.replace('_', ' ')} {_number(value)}" for name, value in others)
    return "\n".join(filter(None, (", ".join(filter(None, (speed, *told))), counted)))


def describe(results: Evaluation) -> str:
    """Wins, draws and losses of both sides in per cent, and what is proven of them."""
    sides = (
        (side, percent(result), _word(side, results), _sampled(side, results))
        for side, result in (("X", results.x), ("O", results.o))
    )
    text = "   ".join(" ".join(filter(None, words)) for words in sides)
    return text + ("   optimal" if results.optimal else "")


def _sampled(side: str, results: Evaluation) -> str:
    return "(sampled)" if side in results.sampled else ""


def percent(result: Result) -> str:
    """Win, draw and loss in per cent, such as "98.96/1.04/0.00"."""
    return "/".join(f"{100 * rate:.2f}" for rate in (result.win, result.draw, result.loss))


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
