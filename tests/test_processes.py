"""The processes in which the server of the page does heavy work."""

import os
import sys
import time

import anyio
from text_cases import refuses

from apps.web.work import BusyError, Processes, TooSlowError


def test_a_process_computes_and_one_that_dies_or_takes_too_long_is_replaced():
    async def test():
        processes = Processes(at_once=1)
        first = await processes.run(os.getpid)
        with refuses("'x'"):
            await processes.run(int, "x")
        assert await processes.run(os.getpid) == first
        with refuses(error=BusyError):
            await processes.run(os._exit, 1)
        second = await processes.run(os.getpid)
        if sys.platform == "linux":
            with refuses("memory", error=BusyError):
                await processes.run(bytes, 5 << 30)
        processes.seconds = 0.05
        with refuses("0.05 seconds", error=TooSlowError):
            await processes.run(time.sleep, 600)
        processes.seconds = 60
        assert len({first, second, await processes.run(os.getpid), os.getpid()}) == 4

    anyio.run(test)
