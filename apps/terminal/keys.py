"""Single keys read from a terminal, without Enter."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import TextIO

ESCAPES = {
    "[D": "left",
    "[C": "right",
    "[A": "up",
    "[B": "down",
    "[H": "home",
    "[F": "end",
    "OD": "left",
    "OC": "right",
    "OH": "home",
    "OF": "end",
}
ESCAPES |= {"[1~": "home", "[4~": "end"}
# The character after \0 or \xe0 on Windows.
WINDOWS = {"K": "left", "M": "right", "H": "up", "P": "down", "G": "home", "O": "end"}
PARTS = {"\x1b"} | {"\x1b" + code[:end] for code in ESCAPES for end in range(1, len(code))}
PAUSE = 0.1  # seconds to wait for the rest of an escape sequence, enough for a slow connection
# A Ctrl-C that arrives just before a wait does not interrupt it, so no wait is longer than this.
WAKING = 0.2  # seconds
END_OF_INPUT = "\x04"  # Ctrl-D, which a terminal in this mode passes on as a key


class Keys:
    """Reads the keys of a terminal, as a context that restores the terminal's settings."""

    def __init__(self, source: TextIO):
        self.source, self.waiting = source, ""

    def __enter__(self) -> Keys:
        if sys.platform != "win32":
            import termios
            import tty

            self.settings = termios.tcgetattr(self.source)
            tty.setcbreak(self.source, termios.TCSANOW)
        return self

    def __exit__(self, *_: object) -> None:
        if sys.platform != "win32":
            import termios

            termios.tcsetattr(self.source, termios.TCSANOW, self.settings)

    def read(self, seconds: float | None) -> str:
        """The next key: a character, a name such as "left" or "end", or "escape".

        Returns "" after `seconds` without a key. Raises EOFError at the end of the input.
        """
        key = self._windows_key(seconds) if sys.platform == "win32" else self._key(seconds)
        if key == END_OF_INPUT:
            raise EOFError
        return key

    def _key(self, seconds: float | None) -> str:
        if not self.waiting and not self._more(seconds):
            return ""
        while self.waiting in PARTS and self._more(PAUSE):
            pass
        if self.waiting[0] != "\x1b":
            key, self.waiting = self.waiting[0], self.waiting[1:]
            return key
        code = next((code for code in ESCAPES if self.waiting[1:].startswith(code)), None)
        self.waiting = "" if code is None else self.waiting[1 + len(code) :]
        return "escape" if code is None else ESCAPES[code]

    def _more(self, seconds: float | None) -> bool:
        """Whether input came within `seconds`. Raises EOFError at the end of the input."""
        import select

        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while not select.select(
            [self.source], [], [], max(0.0, min(WAKING, deadline - time.monotonic()))
        )[0]:
            if time.monotonic() >= deadline:
                return False
        data = os.read(self.source.fileno(), 64)
        if not data:
            raise EOFError
        self.waiting += data.decode(errors="replace")
        return True

    def _windows_key(self, seconds: float | None) -> str:
        import msvcrt

        deadline = None if seconds is None else time.monotonic() + seconds
        while not msvcrt.kbhit():  # type: ignore[attr-defined,unused-ignore]
            if deadline is not None and time.monotonic() >= deadline:
                return ""
            time.sleep(0.02)
        key: str = msvcrt.getwch()  # type: ignore[attr-defined,unused-ignore]
        return WINDOWS.get(msvcrt.getwch(), "escape") if key in ("\0", "\xe0") else key  # type: ignore[attr-defined,unused-ignore]
