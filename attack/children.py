"""Forked children: what they do to themselves ends with them.

A child costs a few milliseconds where a new Python process with torch costs seconds. Nothing with
threads may run in the parent before: the forked child would have their locks and not the threads.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CRASHED = 70  # the exit code of an exception that nothing caught, as EX_SOFTWARE


@dataclass(frozen=True)
class Ended:
    """How a child ended. code: its exit code, or minus the signal. memory: bytes it needed."""

    code: int
    text: str
    seconds: float
    cpu_seconds: float
    memory: int
    is_late: bool = False

    @property
    def last(self) -> str:
        """The end of what it printed."""
        return self.text[-2_000:]

    @property
    def crashed(self) -> bool:
        """Whether it ended by an exception or by a signal other than SIGKILL."""
        is_signal = self.code < 0 and self.code != -signal.SIGKILL
        return self.code == CRASHED or is_signal or "Traceback (most recent" in self.text


def child(action: Callable[[], Any], output: Path, seconds: float = 300.0) -> Ended:
    """Call an action in a forked child, which is killed after so many seconds.

    action: its result is the exit code; None is 0. output: the file that takes what it prints.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    before, began = _resident(), time.monotonic()
    number = os.fork()
    if number == 0:
        _act(action, output)
    status, used, is_late = _wait(number, began + seconds)
    return Ended(
        code=os.waitstatus_to_exitcode(status),
        text=output.read_text("utf-8", "replace") if output.exists() else "",
        seconds=time.monotonic() - began,
        cpu_seconds=used.ru_utime + used.ru_stime,
        memory=max(0, used.ru_maxrss * 1024 - before),
        is_late=is_late,
    )


def _act(action: Callable[[], Any], output: Path) -> None:
    """What the child does; it never returns."""
    code = CRASHED
    try:
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        # As in a new process, whatever stands in their place here.
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", errors="backslashreplace", closefd=False)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = int(action() or 0)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # told by the exit code and by what is printed
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _wait(number: int, end: float) -> tuple[int, resource.struct_rusage, bool]:
    is_late, pause = False, 0.001
    while True:
        found, status, used = os.wait4(number, os.WNOHANG)
        if found:
            return status, used, is_late
        if time.monotonic() > end and not is_late:
            os.kill(number, signal.SIGKILL)
            is_late = True
        time.sleep(pause)
        pause = min(0.05, 1.2 * pause)


def _resident() -> int:
    """Bytes of memory that this process has now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
