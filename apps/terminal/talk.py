"""A person at the terminal: pictures in place, answers to questions, and single keys."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Literal

from pydantic import Field
from rich.console import Console, RenderableType
from rich.live import Live

from apps.terminal.report import say
from tictactoe_env import session
from training.options import typed

Seconds = Annotated[float, Field(ge=0, le=3600)]
Show = Callable[[RenderableType], None]

# What terminals send for an arrow, in their two modes; and Windows, after \0 or \xe0.
NAMES = {"\x1b[D": "left", "\x1b[C": "right", "\x1bOD": "left", "\x1bOC": "right"}
WINDOWS = {"K": "left", "M": "right"}
END_OF_INPUT = ("", "\x04")  # Ctrl-D, which a terminal in this mode passes on as a key


# --- output ---------------------------------------------------------------------------------------


class Talk(session.Talk):
    """Writes to a console of rich, and reads answers from the standard input."""

    def __init__(self, console: Console):
        self.console = console

    def say(self, text: RenderableType = "", style: str | None = None, end: str = "\n") -> None:
        """Print a text or a picture, see `report.say`."""
        say(text, self.console, style, end)

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


# --- answers --------------------------------------------------------------------------------------


def one_of(*known: str) -> Callable[[str], str]:
    """A converter to one of these words, in capitals or not."""
    words = {word.lower(): word for word in known}
    return lambda text: typed(Literal[known], words.get(text.lower(), text))


def number(low: int, high: int) -> Callable[[str], int]:
    """A converter to a whole number from `low` to `high`."""
    return partial(typed, Annotated[int, Field(ge=low, le=high)])


def numbered(
    names: Iterable[str], other: Callable[[str], str] | None = None
) -> Callable[[str], str]:
    """A converter to one of these names, from it or from its number.

    other: the converter of any other word; without it no other is understood.
    """
    known = list(names)
    places = {str(place): name for place, name in enumerate(known, 1)}

    def named(text: str) -> str:
        if text in known:
            return text
        if text in places:
            return places[text]
        if other is None or not text or text.isdecimal():
            raise ValueError(f"expected 1 to {len(known)}, or a name, got {text!r}")
        return other(text)

    return named


def seconds(text: str) -> float:
    """The seconds of a text, at most an hour; ValueError for any other text."""
    return float(typed(Seconds, text))


# --- keys -----------------------------------------------------------------------------------------


@contextmanager
def keys() -> Iterator[Callable[[float | None], str]]:
    """A function that reads the last key that was typed: a character, "left" or "right".

    It waits for so many seconds, or for ever, and returns "" without a key. Raises EOFError at the
    end of the input. The settings of the terminal are restored in the end.
    """
    if sys.platform == "win32":
        yield _windows_key
        return
    import termios
    import tty

    settings = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin, termios.TCSANOW)
    try:
        yield _key
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, settings)


def _key(seconds: float | None) -> str:
    import select

    readable, _, _ = select.select([sys.stdin], [], [], seconds)
    if not readable:
        return ""
    typed = os.read(sys.stdin.fileno(), 64).decode(errors="replace")
    key = NAMES.get(typed[-3:], typed[-1:])
    if key in END_OF_INPUT:
        raise EOFError
    return key


def _windows_key(seconds: float | None) -> str:
    import msvcrt

    end = float("inf")
    if seconds is not None:
        end = time.monotonic() + seconds
    while not msvcrt.kbhit():  # type: ignore[attr-defined,unused-ignore]
        if time.monotonic() >= end:
            return ""
        time.sleep(0.02)
    key: str = msvcrt.getwch()  # type: ignore[attr-defined,unused-ignore]
    if key not in ("\0", "\xe0"):
        return key
    name: str = msvcrt.getwch()  # type: ignore[attr-defined,unused-ignore]
    return WINDOWS.get(name, "")
