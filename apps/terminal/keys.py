"""Single keys read from a terminal, without Enter."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# What terminals send for an arrow, in their two modes; and Windows, after \0 or \xe0.
NAMES = {"\x1b[D": "left", "\x1b[C": "right", "\x1bOD": "left", "\x1bOC": "right"}
WINDOWS = {"K": "left", "M": "right"}
END_OF_INPUT = ("", "\x04")  # Ctrl-D, which a terminal in this mode passes on as a key
Read = Callable[[float | None], str]


@contextmanager
def keys() -> Iterator[Read]:
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

    if not select.select([sys.stdin], [], [], seconds)[0]:
        return ""
    typed = os.read(sys.stdin.fileno(), 64).decode(errors="replace")
    key = NAMES.get(typed[-3:], typed[-1:])
    if key in END_OF_INPUT:
        raise EOFError
    return key


def _windows_key(seconds: float | None) -> str:
    import msvcrt

    end = time.monotonic() + (float("inf") if seconds is None else seconds)
    while not msvcrt.kbhit():  # type: ignore[attr-defined,unused-ignore]
        if time.monotonic() >= end:
            return ""
        time.sleep(0.02)
    key: str = msvcrt.getwch()  # type: ignore[attr-defined,unused-ignore]
    return WINDOWS.get(msvcrt.getwch(), "") if key in ("\0", "\xe0") else key  # type: ignore[attr-defined,unused-ignore]
