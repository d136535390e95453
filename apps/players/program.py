"""A program in any language as a player: it reads a position and answers with a cell, a line each.

    with Program("./bot --fast", rules, seconds=10) as program:
        print(evaluate(program.player()))

A position is the board and the side to move, such as "X.O/.X./... O". The program is started once.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from apps.players.seat import Seat
from tictactoe_env.errors import printable
from tictactoe_env.games.game import MAX_NAME, Participant
from tictactoe_env.notation import board_text, named_cell
from tictactoe_env.rules import Boards, Rules, side_to_move
from tictactoe_env.text import TextPolicy

SECONDS = 10.0  # for a move
_LINE = 4_096  # bytes of a line that are read
_WAITING = 100  # lines that wait to be read; a program that says more has to wait


class Program:
    """A program that is asked for its moves: the `ask` of a TextPolicy.

    command: its words, as in a shell, but no shell runs it. seconds: the time that it has for a
    move. Raises ValueError if it cannot be started, and where it ends, gives no answer in time, or
    answers with something that names no cell; it is stopped then.
    """

    def __init__(self, command: str, rules: Rules, seconds: float = SECONDS):
        self.command, self.rules, self.seconds = command, rules, seconds
        pipe = subprocess.PIPE
        try:
            words = shlex.split(command, posix=os.name == "posix")
            self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe)
        except (OSError, IndexError, ValueError) as error:
            raise ValueError(f"the program {command!r} cannot be started: {error}") from None
        self._input: Any = self._process.stdin
        self._output: Any = self._process.stdout
        self._lines: Queue[bytes] = Queue(_WAITING)
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        with suppress(OSError):  # what it did not read is lost
            self._input.close()

    def seat(self) -> Seat:
        """The program at a side of the board."""
        name = printable(self.command)[:MAX_NAME].strip()
        return Seat(Participant("agent", name), self.rules, self.player())

    def player(self, file: Path | None = None) -> TextPolicy:
        """The player whose moves the program makes; file: see `TextPolicy`."""
        return TextPolicy(self, self.rules, prompt=self.line, file=file, batch=1)

    def line(self, board: Boards) -> str:
        """The line that the program reads for a board (cells,)."""
        return f"{board_text(board, self.rules)} {side_to_move(board)}"

    def __call__(self, positions: Sequence[str]) -> list[str]:
        """The answers to some positions, each a line."""
        return [self._answer(position) for position in positions]

    def _answer(self, position: str) -> str:
        is_early = not self._lines.empty()
        with suppress(OSError):  # it has ended, and so have its lines
            self._input.write(f"{position}\n".encode())
            self._input.flush()
        try:
            line = self._lines.get(timeout=self.seconds)
        except Empty:
            raise self._wrong(position, f"nothing within {self.seconds:g} seconds") from None
        if not line:
            with suppress(subprocess.TimeoutExpired):  # it has only closed its output
                self._process.wait(1)
            code = self._process.returncode
            raise self._wrong(position, f"the end of the program, exit code {code}")
        answer = line.decode(errors="replace").strip()
        if is_early:
            raise self._wrong(position, f"{answer[:80]!r} before it was asked")
        if named_cell(answer, self.rules) is None:
            raise self._wrong(position, repr(answer[:80]))
        return answer

    def _read(self) -> None:
        """Put the lines of the program where they are waited for, b"" at their end."""
        with self._output as lines:
            while line := lines.readline(_LINE):
                self._lines.put(line)
        self._lines.put(b"")

    def _wrong(self, position: str, got: str) -> ValueError:
        """The error for a program that did not answer as it should; it is stopped."""
        self._process.kill()
        expected = f'must answer "{position}" with a line that names a cell, such as b2'
        return ValueError(f"the program {self.command!r} {expected}: got {got}")
