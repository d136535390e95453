"""The processes in which the server of the page does heavy work."""

import os
import sys
import time

import anyio
from text_cases import refuses

from apps.web.work import ASKING, BusyError, Processes, TooSlowError


def test_a_process_computes_and_one_that_dies_or_takes_too_long_is_replaced():
    async def test():
        processes = Processes(at_once=1, each=1)
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


def test_an_address_that_asks_for_much_leaves_a_place_to_others_who_take_what_it_has_found():
    async def test():
        processes = Processes(at_once=2, each=1, waiting=1)
        told = []

        async def ask(address, *asked, is_known=lambda: False):
            ASKING.set(address)
            told.append((address, await processes.run(*asked, is_known=is_known)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "greedy", time.sleep, 600)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(ask, "greedy", time.sleep, 600)
            await anyio.wait_all_tasks_blocked()
            with refuses("1 requests", error=BusyError):
                await ask("greedy", abs, -1)
            await ask("other", abs, -1)
            await ask("third", abs, -1, is_known=lambda: True)
            tasks.cancel_scope.cancel()
        assert told == [("other", 1), ("third", None)]

    anyio.run(test)
