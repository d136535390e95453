"""Single keys read from a terminal, without Enter."""

from __future__ import annotations

import os
import re
import sys
import time

# What terminals send for a key: [C or OC, and what follows \0 or \xe0 on Windows.
NAMES = {"D": "left", "C": "right", "H": "home", "F": "end", "1~": "home", "4~": "end"}
WINDOWS = {"K": "left", "M": "right", "G": "home", "O": "end"}
KEY = re.compile(r"\x1b[O\[][0-9]*[A-Za-z~]|.", re.DOTALL)
END_OF_INPUT = "\x04"  # Ctrl-D, which a terminal in this mode passes on as a key


class Keys:
    """Reads the keys of the terminal, as a context that restores its settings."""

    def __init__(self) -> None:
        self.waiting: list[str] = []

    def __enter__(self) -> Keys:
        if sys.platform != "win32":
            import termios
            import tty

            self.settings = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin, termios.TCSANOW)
        return self

    def __exit__(self, *_: object) -> None:
        if sys.platform != "win32":
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSANOW, self.settings)

    def read(self, seconds: float | None) -> str:
        """The next key: a character, or a name such as "left" or "end".

        Returns "" after `seconds` without a key. Raises EOFError at the end of the input.
        """
        key = self._windows_key(seconds) if sys.platform == "win32" else self._key(seconds)
        if key == END_OF_INPUT:
            raise EOFError
        return key

    def _key(self, seconds: float | None) -> str:
        import select

        if not self.waiting:
            if not select.select([sys.stdin], [], [], seconds)[0]:
                return ""
            typed = os.read(sys.stdin.fileno(), 64).decode(errors="replace")
            self.waiting = KEY.findall(typed) or [END_OF_INPUT]
        key = self.waiting.pop(0)
        return NAMES.get(key[2:], key)

    def _windows_key(self, seconds: float | None) -> str:
        import msvcrt

        end = None if seconds is None else time.monotonic() + seconds
        while not msvcrt.kbhit():  # type: ignore[attr-defined,unused-ignore]
            if end is not None and time.monotonic() >= end:
                return ""
            time.sleep(0.02)
        key: str = msvcrt.getwch()  # type: ignore[attr-defined,unused-ignore]
        return WINDOWS.get(msvcrt.getwch(), "") if key in ("\0", "\xe0") else key  # type: ignore[attr-defined,unused-ignore]
