"""Where the work of a request is done: in threads if it is cheap, in processes if it is heavy.

Python runs one thread of a process at a time, so a search in a thread would keep every other
request waiting. A process of its own cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import anyio
from anyio import CapacityLimiter

Answer = TypeVar("Answer")


class BusyError(Exception):
    """Too many requests of a kind at once, or one that takes too long."""


class Lane:
    """At most `at_once` calls run, and at most `waiting` more wait."""

    def __init__(self, at_once: int, waiting: int):
        self.waiting, self._limiter = waiting, CapacityLimiter(at_once)

    def check(self) -> None:
        """Raise BusyError if too many calls wait already."""
        if self._limiter.statistics().tasks_waiting >= self.waiting:
            raise BusyError(f"{self.waiting} requests are waiting already: try again in a second")


class Threads(Lane):
    """A pool of threads."""

    async def run(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Call the function in a thread. Raises BusyError if too many calls wait already."""
        self.check()
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self._limiter)


class Processes(Lane):
    """A pool of processes, each started when it is first needed. A call may take `seconds`."""

    def __init__(self, at_once: int, waiting: int, seconds: float):
        super().__init__(at_once, waiting)
        self.seconds = seconds

    async def run(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Call the function in a process; it, the arguments and the answer are pickled.

        Raises BusyError if too many calls wait already, and if the call takes too long or its
        process dies, for example for lack of memory; then the process is ended.
        """
        self.check()
        async with self._limiter:
            alone = CapacityLimiter(1)  # the calls are limited here, not by anyio's own limiter
            try:
                with anyio.fail_after(self.seconds):
                    return await anyio.to_process.run_sync(
                        function, *arguments, cancellable=True, limiter=alone
                    )
            except TimeoutError:
                raise BusyError(f"this takes more than {self.seconds:g} seconds here") from None
            except anyio.BrokenWorkerProcess:
                raise BusyError("the process that computed this has ended: try again") from None
