"""Processes for heavy work.

Python runs one thread of a process at a time, so a search in a thread would keep every other
request waiting. A process of its own cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from anyio import CapacityLimiter


class BusyError(Exception):
    """Too many requests at once, or one that takes too long."""


class TooSlowError(BusyError):
    """A request that takes too long."""


class Processes:
    """At most `at_once` calls run, each in a process, and at most `waiting` more wait.

    A call may take `seconds`. A process starts when it is first needed.
    """

    def __init__(self, at_once: int = 2, waiting: int = 32, seconds: float = 60.0):
        self.waiting, self.seconds = waiting, seconds
        self._limiter = CapacityLimiter(at_once)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the function in a process; it, the arguments and the answer are pickled.

        Raises BusyError if too many calls wait already or the process dies, for example for lack of
        memory; TooSlowError if the call takes too long, and ends the process.
        """
        if self._limiter.statistics().tasks_waiting >= self.waiting:
            raise BusyError(f"{self.waiting} requests are waiting already: try again in a second")
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
