"""Output to a person, and questions that are repeated until the answer is valid."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live

from apps.terminal.plain import plain
from tictactoe_env.errors import printable

Answer = TypeVar("Answer")
Show = Callable[[RenderableType], None]


class Talk:
    """A console to write to and a stream of lines to read from (`sys.stdin` by default)."""

    def __init__(self, console: Console, source: TextIO | None = None):
        self.console, self.source = console, sys.stdin if source is None else source
        # A terminal echoes what is typed. Answers from a pipe or a file are printed here.
        self.is_echoed = not self.source.isatty()

    def say(self, text: RenderableType = "", style: str | None = None) -> None:
        """Print a text as `plain` does, or a picture. Lines are wrapped at a terminal only."""
        if isinstance(text, str):
            text = plain(text, style)
        self.console.print(text, highlight=False, soft_wrap=not self.console.is_terminal)

    def ask(self, question: str, understand: Callable[[str], Answer]) -> Answer:
        """The answer to a question, converted by `understand`.

        If that raises ValueError, its message is shown and the question is repeated. Raises
        EOFError at the end of the input.
        """
        while True:
            is_file = not self.console.is_terminal
            self.console.print(plain(question, "bold"), end=" ", soft_wrap=is_file)
            self.console.file.flush()
            line = self.source.readline()
            if self.is_echoed or not line:
                self.say("".join(letter for letter in line if letter.isprintable()))
            if not line:
                raise EOFError
            try:
                return understand(line.strip())
            except ValueError as error:
                self.say(printable(error), "red")

    @contextmanager
    def in_place(self) -> Iterator[Show]:
        """A function that shows each picture in place of the last one.

        If the output is not a terminal, the pictures are printed one below the other.
        """
        if not self.console.is_terminal:
            yield self.say
            return
        with Live(console=self.console, auto_refresh=False) as live:
            yield lambda picture: live.update(picture, refresh=True)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show a message while the block runs, at a terminal only."""
        if not self.console.is_terminal:
            yield
            return
        with self.console.status(plain(text)):
            yield


def one_of(*known: str, default: str | None = None) -> Callable[[str], str]:
    """A converter to one of these words; an empty answer is the default."""

    def understand(text: str) -> str:
        word = next(
            (word for word in known if word.lower() == text.lower()), default if not text else None
        )
        if word is None:
            raise ValueError(
                f"please answer {', '.join(known[:-1])} or {known[-1]}, got {text!r:.60}"
            )
        return word

    return understand


def number(
    low: int, high: int | None = None, default: int | None = None, also: str = ""
) -> Callable[[str], int]:
    """A converter to a whole number from `low` to `high`; an empty answer is the default.

    also: what else may be answered, for the error.
    """

    def understand(text: str) -> int:
        if not text and default is not None:
            return default
        is_number = text.isascii() and text.isdigit() and len(text) <= 18
        if not is_number or int(text) < low or (high is not None and int(text) > high):
            wanted = (
                f"a whole number of at least {low}"
                if high is None
                else f"{low} to {high}"
                if high > low
                else str(low)
            )
            raise ValueError(f"please answer {wanted}{also}, got {text!r:.60}")
        return int(text)

    return understand


def seconds(default: float) -> Callable[[str], float]:
    """A converter to seconds, at most an hour; an empty answer is the default."""

    def understand(text: str) -> float:
        try:
            found = float(text) if text else default
        except ValueError:
            found = -1.0
        if not 0 <= found <= 3600:
            raise ValueError(f"please answer seconds from 0 to 3600, such as 0.5, got {text!r:.60}")
        return found

    return understand
