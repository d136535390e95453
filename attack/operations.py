"""The changes that a process makes to its files, counted, and a fault at one of them.

    Operations(folder, kill_at(17)).watch()      # SIGKILL before the 17th; a write is half done

A change is a file opened for writing, a write, a flush to the disk, a renaming, a removal, or a new
folder. `watch` cannot be undone, so it is called in a process of its own: a child, see children.py.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate")
GROWING = ("open", "write", "flush", "os.rename", "os.mkdir", "os.link", "os.symlink")
"""What a full disk refuses; it still lets files be removed."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

Fault = Callable[[int, str], bool]
"""Called before a change with its number, from 1, and its kind; may raise OSError. True: kill the
process, after half of the bytes if the change is a write."""


class Operations:
    """Counts the changes below a folder, each of which may meet a fault."""

    def __init__(self, folder: Path, fault: Fault):
        self.folder, self.fault, self.count = os.path.realpath(folder), fault, 0

    def watch(self) -> None:
        """Watch this process from here on."""
        sys.addaudithook(self._see)
        self._open, self._fsync = builtins.open, os.fsync
        builtins.open = io.open = self._opened
        os.fsync = self._flushed

    def meet(self, kind: str, half: Callable[[], Any] | None = None) -> None:
        """Count a change and let it meet its fault. half: does a part of it."""
        self.count += 1
        try:
            kills = self.fault(self.count, kind)
        except OSError:
            if half:
                half()
            raise
        if kills:
            if half:
                half()
            os.kill(os.getpid(), signal.SIGKILL)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & WRITING and self._is_below(path):
                self.meet("open")
        elif event in CHANGES and self._is_below(arguments[0]):
            self.meet(event)

    def _is_below(self, path: Any) -> bool:
        if isinstance(path, int) or path is None:
            return False
        text = os.fsdecode(path)
        # A name alone belongs to an open folder: shutil.rmtree removes files in this way.
        return os.path.abspath(text).startswith(self.folder) or os.sep not in text

    def _flushed(self, file: Any) -> None:
        self.meet("flush")
        self._fsync(file)

    def _opened(self, file: Any, mode: str = "r", buffering: int = -1, *more: Any, **named: Any):
        is_path = not isinstance(file, int)
        if not (set(mode) & set("wxa+") and "b" in mode and is_path and self._is_below(file)):
            return self._open(file, mode, buffering, *more, **named)
        raw = Watched(file, mode.replace("b", ""))
        raw.operations = self
        return raw if buffering == 0 else io.BufferedWriter(raw)


class Watched(io.FileIO):
    """A file whose writes are counted."""

    operations: Operations

    def write(self, data: Any) -> int:
        """Write, unless the change meets a fault."""
        part = bytes(data)
        self.operations.meet("write", lambda: io.FileIO.write(self, part[: len(part) // 2]))
        return super().write(part)


def nothing(number: int, kind: str) -> bool:
    """No fault."""
    return False


def kill_at(number: int) -> Fault:
    """Kill the process at the change with this number."""
    return lambda count, kind: count == number


def fail(code: int, first: int, is_lasting: bool) -> Fault:
    """An error of the disk at the first change from this one on that it concerns, or at all."""
    kinds = GROWING if code == errno.ENOSPC else None
    failed = []

    def fault(count: int, kind: str) -> bool:
        concerns = count >= first and (kinds is None or kind in kinds)
        if concerns and (is_lasting or not failed):
            failed.append(count)
            raise OSError(code, os.strerror(code))
        return False

    return fault
