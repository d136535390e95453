"""A program in any language as a player: it reads a position and answers with a move, a line each.

    with Program("./bot --fast", rules, seconds=10) as program, program.asked() as player:
        print(evaluate(player))

A position is the board and the side to move, such as "X.O/.X./... O". The program is started once.
One line too many would shift all later answers to other positions. So nothing may come before the
first question, after the first answer, and at the end; and a player that is to be proven asks its
first position again from time to time.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import comb
from pathlib import Path
from queue import Empty, Queue
from tempfile import NamedTemporaryFile
from time import monotonic
from typing import Any, NoReturn

from apps.players.seat import Seat
from tictactoe_env.certificates.certificate import certify_reach, policy_in
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.stated import Stated, name_of
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import BoardReach, Limit, Progress
from tictactoe_env.games.game import MAX_NAME, Participant
from tictactoe_env.notation import board_text, named_cell
from tictactoe_env.policy import Policy
from tictactoe_env.rules import SIDES, Boards, Rules, side_to_move
from tictactoe_env.text import TextPolicy

SECONDS = 10.0  # for a move
QUIET = 0.2  # seconds in which nothing may come, and as many as the slowest answer took
SHARE = 20  # a check takes at most one part in so many of the time of the answers
_LINE = 4_096  # bytes of a line that are read
_WAITING = 100  # lines that wait to be read; a program that says more has to wait
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_MORE = "one line for each position, and all else to stderr"


class Program:
    """A program that is asked for its moves: the `ask` of a TextPolicy.

    command: its words, as in a shell, but no shell runs it. seconds: the time that it has for a
    move. Raises ValueError if it cannot be started, and where it ends, gives no answer in time,
    answers with something that names no cell, or says more than it is asked; it is stopped then,
    with all that it has started.
    """

    def __init__(self, command: str, rules: Rules, seconds: float = SECONDS):
        self.command, self.rules, self.seconds = command, rules, seconds
        self.spent = 0.0  # seconds of all answers
        self._slowest = 0.0  # answer after the first one, which may contain the start; in seconds
        self._asked = 0
        self._is_silent = False
        pipe = subprocess.PIPE
        try:
            words = shlex.split(command, posix=os.name == "posix")
            if not words:
                raise ValueError("it must be a command such as ./bot")
            self.name = " ".join(word.rpartition("/")[2] for word in words)  # without folders
            self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, start_new_session=True)
        except (OSError, ValueError) as error:
            raise ValueError(f"the program {command!r} cannot be started: {error}") from None
        self._input: Any = self._process.stdin
        self._output: Any = self._process.stdout
        self._lines: Queue[bytes] = Queue(_WAITING)
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Program:
        self._caught = []
        for number in _ENDING:
            with suppress(ValueError):  # this is not the main thread
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, _end)
                    self._caught.append(number)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None and self._asked and not self._is_silent:
                self.check_silence()
        finally:
            self._stop()
            self._process.wait()
            with suppress(OSError):  # what it did not read is lost
                self._input.close()
            for number in self._caught:
                signal.signal(number, signal.SIG_DFL)

    def seat(self) -> Seat:
        """The program at a side of the board."""
        name = printable(self.command)[:MAX_NAME].strip()
        policy = TextPolicy(self, self.rules, prompt=self.line, batch=1)
        return Seat(Participant("agent", name), self.rules, policy)

    @contextmanager
    def asked(self, file: Path | None = None, reason: str = "") -> Iterator[CheckedPlayer]:
        """The player whose moves the program makes, for a proof; it is checked in the end.

        file: of its answers, see `TextPolicy`; by default a new one, which is removed in the end,
        but remains after an error, which names it. reason: see `CheckedPlayer`.
        """
        kept = file or _new_file()
        player = CheckedPlayer(self, kept, reason)
        try:
            yield player
            player.check()
        except (ValueError, KeyboardInterrupt) as error:
            player.forget_unchecked()
            if player.answers:
                counted = f"its answers so far ({len(player.answers):,}) are kept"
                text = f"{error}; {counted}, --answers {kept} goes on from there"
                raise type(error)(text) from None
            if file is None:
                kept.unlink()
            raise
        if file is None:
            kept.unlink()

    def line(self, board: Boards) -> str:
        """The line that the program reads for a board (cells,)."""
        return f"{board_text(board, self.rules)} {side_to_move(board)}"

    def __call__(self, positions: Sequence[str]) -> list[str]:
        """The answers to some positions, each a line."""
        return [self._answer(position) for position in positions]

    def check_silence(self) -> None:
        """Wait whether the program says more than it was asked; ValueError if it does."""
        with suppress(Empty):
            if line := self._lines.get(timeout=QUIET + self._slowest):
                when = f"after answer {self._asked:,}" if self._asked else "before it was asked"
                got = f"{line.decode(errors='replace').strip()[:80]!r} {when}"
                raise self.wrong(f"must write {_MORE}", got)
            self._lines.put(line)  # the end, for the next answer
        self._is_silent = True

    def _answer(self, position: str) -> str:
        if not self._asked or not self._lines.empty():
            self.check_silence()
        self._is_silent = False
        started = monotonic()
        with suppress(OSError):  # it has ended, and so have its lines
            self._input.write(f"{position}\n".encode())
            self._input.flush()
        what = "column, such as d" if self.rules.gravity else "cell, such as b2"
        expected = f'must answer "{position}" with a line that names a {what}'
        try:
            line = self._lines.get(timeout=self.seconds)
        except Empty:
            got = f"nothing within {self.seconds:g} seconds; it must flush each line"
            raise self.wrong(expected, got) from None
        if not line:
            with suppress(subprocess.TimeoutExpired):  # it has only closed its output
                self._process.wait(1)
            code = self._process.returncode
            raise self.wrong(expected, f"the end of the program, exit code {code}")
        answer = line.decode(errors="replace").strip()
        if named_cell(answer, self.rules) is None:
            raise self.wrong(expected, repr(answer[:80]))
        took = monotonic() - started
        self.spent += took
        self._asked += 1
        if self._asked == 1:
            self.check_silence()
        else:
            self._slowest = max(self._slowest, took)
        return answer

    def _read(self) -> None:
        """Put the lines of the program where they are waited for, b"" at their end."""
        with self._output as lines:
            while line := lines.readline(_LINE):
                self._lines.put(line)
        self._lines.put(b"")

    def _stop(self) -> None:
        """End the program and, where there are groups of processes, what it has started."""
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

    def wrong(self, expected: str, got: str) -> ValueError:
        """The error for a program that did not answer as it should; it is stopped."""
        self._stop()
        return ValueError(f"the program {self.command!r} {expected}: got {got}")


class CheckedPlayer(TextPolicy):
    """The player of a program, whose answers are kept once they are known to be its answers.

    They are checked after the first one, from time to time, and by `check`, which is to be called
    at the end: the first position is asked again, and must get the same answer, and then nothing
    more may come. If something is wrong, no answer since the last check is kept.

    reason: why no proof of it is tried; "" if one is.
    """

    varies = ""  # said again, because `keep` is overridden: see `policy.stated`

    def __init__(self, program: Program, file: Path | None, reason: str = ""):
        super().__init__(program, program.rules, prompt=program.line, file=file, batch=1)
        self.program = program
        self.reason = reason
        self._first: tuple[str, str] | None = None  # position and answer
        self._unchecked: dict[str, str] = {}
        self._next = 0.0  # seconds of answers after which they are checked again

    def keep(self, answers: Mapping[str, str]) -> None:
        """Keep answers as soon as they are checked."""
        self._unchecked |= answers
        self._first = self._first or next(iter(answers.items()))
        if self.program.spent >= self._next:
            self.check()

    def check(self) -> None:
        """Check the answers since the last check; ValueError if they cannot be believed."""
        if self._first is None or not self._unchecked:
            return
        started = monotonic()
        position, answer = self._first
        (again,) = self.program([position])
        if again != answer:
            expected = f'must answer "{position}" with {answer[:80]!r} again, and write {_MORE}'
            raise self.program.wrong(expected, repr(again[:80]))
        self.program.check_silence()
        super().keep(self._unchecked)
        self._unchecked = {}
        self._next = self.program.spent + SHARE * (monotonic() - started)

    @property
    def forecast(self) -> str:
        """The number of questions of its proof, as far as it is known before it begins."""
        text = f"a proof asks at most {most_questions(self.rules):,} questions"
        known = len(self.answers)
        return f"{text}, {known:,} answers are known already" if known else text

    def certified(self, limit: Limit, progress: Progress) -> tuple[Policy, Certificate]:
        """Its moves, and their certificate, from the positions that it can meet.

        Raises ProofLimitError beyond the limit, which boards of up to 12 cells do not have.
        """
        if self.rules.cells <= TABULATED:
            limit = Limit()
        reaches = {
            side: BoardReach({side: self}, side, self.rules, limit, progress) for side in SIDES
        }
        self.check()
        found = certify_reach(reaches, Stated.of(name_of(self.program.name)))
        return policy_in(found, limit), found

    def basis(self, certificate: Certificate) -> str:
        """A sentence that says for which answers its certificate holds."""
        asked = sum(one.decisions for one in certificate.results.values())
        counted = f"{asked:,} positions, of which {self.illegal:,} name a cell that is not free"
        return (
            f"what is proven holds for its answers to {counted}; none but the first was asked twice"
        )

    def forget_unchecked(self) -> None:
        """Forget the answers since the last check."""
        for prompt in self._unchecked:
            del self.answers[prompt]
        self._unchecked = {}


def most_questions(rules: Rules) -> int:
    """An upper bound of the questions of a proof: the positions in which a player has to move.

    It makes one move in each position, as X and as O. Every reply counts, as if all games went on
    until the board is full, and led to different positions; but no more positions of a ply than
    there are ways to place its marks.
    """
    most = 0
    for first in (0, 1):  # the ply of its first move, as X and as O
        met = 1
        for ply in range(first, rules.cells, 2):
            if ply:
                replies = rules.cells - ply + 1
                met *= min(replies, rules.cols) if rules.gravity else replies
            met = min(met, comb(rules.cells, ply) * comb(ply, ply // 2))
            most += met
    return most


def reason_to_sample(rules: Rules) -> str:
    """Why no proof of a program is tried on a board, if no limit is given; "" if one is."""
    most = most_questions(rules)
    if rules.cells <= TABULATED or most <= Limit().positions:
        return ""
    return f"a proof may ask up to {most:,} questions; --max-positions N tries one"


def _new_file() -> Path:
    """An empty file for the answers of a program, in the folder for temporary files."""
    with NamedTemporaryFile(prefix="answers-", suffix=".jsonl", delete=False) as file:
        return Path(file.name)


def _end(number: int, frame: object) -> NoReturn:
    """End with the exit code of a signal, and close on the way what is open."""
    sys.exit(128 + number)
