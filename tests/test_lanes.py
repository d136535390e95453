"""Where the server of the page computes: threads for cheap work, processes for heavy work."""

import os
import time

import anyio
from text_cases import refuses

from apps.players.gallery import Entry
from apps.web import api
from apps.web.lanes import BusyError, Processes, TooSlowError


def test_a_process_computes_and_one_that_dies_or_takes_too_long_is_replaced():
    async def test():
        lane = Processes(1, 1, seconds=60)
        first = await lane.run(os.getpid)
        with refuses("'x'"):
            await lane.run(int, "x")
        assert await lane.run(os.getpid) == first
        with refuses(error=BusyError):
            await lane.run(os._exit, 1)
        second = await lane.run(os.getpid)
        lane.seconds = 0.05
        with refuses("0.05 seconds", error=TooSlowError):
            await lane.run(time.sleep, 600)
        lane.seconds = 60
        assert len({first, second, await lane.run(os.getpid), os.getpid()}) == 4

    anyio.run(test)


def test_a_certificate_is_verified_once_however_many_ask_for_it(monkeypatch):
    monkeypatch.setattr(api, "PROOFS_KEPT", 1)
    proofs, calls = api.Proofs(), []

    async def test():
        release = anyio.Event()

        async def ask(digest):
            async def prove():
                calls.append(digest)
                await release.wait()
                return {"digest": digest}, ""

            entry = Entry("runs/0", "run", "", sha256=digest)
            assert await proofs.of(entry, prove) == ({"digest": digest}, "")

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask, "1")
            await anyio.wait_all_tasks_blocked()
            release.set()
        for digest in ("1", "2", "1"):  # the second takes the place of the first
            await ask(digest)
        assert calls == ["1", "2", "1"]

    anyio.run(test)
