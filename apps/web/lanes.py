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


class TooSlowError(BusyError):
    """A request that takes too long."""


class Lane:
    """At most `at_once` calls run, and at most `waiting` more wait.

    pause: seconds after which a call that finds no place is refused. A client that asks again at
    once thus takes no time from the others.
    """

    def __init__(self, at_once: int, waiting: int, pause: float = 1.0):
        self.waiting, self.pause, self._limiter = waiting, pause, CapacityLimiter(at_once)

    @property
    def is_full(self) -> bool:
        """Whether the next call would find no place."""
        return self._limiter.statistics().tasks_waiting >= self.waiting

    async def admit(self) -> None:
        """Return if there is a place, now or after the pause. Raises BusyError if there is none."""
        if self.is_full:
            await anyio.sleep(self.pause)
        if self.is_full:
            raise BusyError(f"{self.waiting} requests are waiting already: try again in a second")


class Threads(Lane):
    """A pool of threads."""

    async def run(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Call the function in a thread. Raises BusyError if too many calls wait already."""
        await self.admit()
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self._limiter)


class Processes(Lane):
    """A pool of processes, each started when it is first needed. A call may take `seconds`."""

    def __init__(self, at_once: int, waiting: int, seconds: float, pause: float = 1.0):
        super().__init__(at_once, waiting, pause)
        self.seconds = seconds

    async def run(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Call the function in a process; it, the arguments and the answer are pickled.

        Raises BusyError if too many calls wait already or the process dies, for example for lack of
        memory; TooSlowError if the call takes too long, and ends the process.
        """
        await self.admit()
        async with self._limiter:
            alone = CapacityLimiter(1)  # the calls are limited here, not by anyio's own limiter
            try:
                with anyio.fail_after(self.seconds):
                    return await anyio.to_process.run_sync(
                        function, *arguments, cancellable=True, limiter=alone
                    )
            except TimeoutError:
                raise TooSlowError(f"this takes more than {self.seconds:g} seconds") from None
            except anyio.BrokenWorkerProcess:
                raise BusyError("the process that computed this has ended: try again") from None
