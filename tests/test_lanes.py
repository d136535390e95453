"""Where the server of the page computes what: cheap work in threads, heavy work in processes."""

import os
import time
from unittest.mock import Mock

import anyio
import pytest

from players.gallery import BrokenPlayerError, Entry, Gallery
from tictactoe_env import register_opponent, unregister_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules
from web import api
from web.api import Proofs
from web.lanes import BusyError, Processes
from web.work import is_heavy

SQUARE, WIDE, LARGE = Rules(), Rules(3, 4, 3), Rules(5, 5, 4)


def test_a_process_computes_and_one_that_dies_or_takes_too_long_is_replaced():
    async def test():
        lane = Processes(1, 1, seconds=60)
        first = await lane.run(os.getpid)
        assert first != os.getpid()
        assert await lane.run(os.getpid) == first
        with pytest.raises(ValueError, match="invalid literal"):
            await lane.run(int, "x")
        assert await lane.run(os.getpid) == first
        with pytest.raises(BusyError, match="the process that computed this has ended"):
            await lane.run(os._exit, 1)
        second = await lane.run(os.getpid)
        lane.seconds = 0.05
        with pytest.raises(BusyError, match="this takes more than"):
            await lane.run(time.sleep, 600)
        lane.seconds = 60
        assert len({first, second, await lane.run(os.getpid), os.getpid()}) == 4

    anyio.run(test)


def test_the_error_about_a_broken_player_comes_whole_from_another_process():
    async def test():
        with pytest.raises(BrokenPlayerError, match="runs/a is broken: why") as caught:
            await Processes(1, 1, seconds=60).run(fail)
        assert (caught.value.id, caught.value.reason) == ("runs/a", "why")

    anyio.run(test)


def fail():
    raise BrokenPlayerError("runs/a", "why")


RUN, WIDE_RUN = Entry("runs/a", "run", "", rules=SQUARE), Entry("runs/b", "run", "", rules=WIDE)
WEIGHTS = [  # a player, a board; whether its moves and its thoughts are heavy
    ("random", SQUARE, False, False),
    ("random", LARGE, False, True),
    ("minimax", SQUARE, False, False),
    ("minimax-slip=0.1", WIDE, True, True),
    ("dqn", SQUARE, False, False),
    (RUN, SQUARE, False, False),
    (WIDE_RUN, WIDE, True, True),
    ("search", SQUARE, False, True),
    ("search-depth=1", LARGE, True, True),
    ("search-seconds=0.1", SQUARE, True, True),
    ("mcts-playouts=50", SQUARE, False, True),
    ("mcts-playouts=101", SQUARE, True, True),
    ("mcts-draws=1", SQUARE, True, True),
    ("mcts-milliseconds=1", SQUARE, True, True),
]


@pytest.mark.parametrize(("player", "rules", "moves", "thoughts"), WEIGHTS, ids=str)
def test_a_search_and_a_large_board_are_heavy(player, rules, moves, thoughts):
    entry = player if isinstance(player, Entry) else Gallery([]).entry(player)
    assert (is_heavy(entry, rules), is_heavy(entry, rules, thinks=True)) == (moves, thoughts)


def test_a_registered_opponent_stays_in_the_process_that_knows_it():
    register_opponent("mine", lambda rules: RandomPolicy(rules))
    try:
        entry = Gallery([]).entry("mine")
        assert not is_heavy(entry, LARGE, thinks=True)
    finally:
        unregister_opponent("mine")


def test_a_certificate_is_verified_once_however_many_ask_for_it(monkeypatch):
    monkeypatch.setattr(api, "PROOFS_KEPT", 2)
    entries = [Entry(f"runs/{number}", "run", "", sha256=str(number)) for number in range(3)]
    calls, proofs = [], Proofs()

    async def test():
        begun, release, answers = anyio.Event(), anyio.Event(), []

        async def prove(entry):
            calls.append(entry.id)
            begun.set()
            await release.wait()
            return {"agent": entry.id}, ""

        async def ask(entry):
            answers.append(await proofs.of(entry, lambda: prove(entry)))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask, entries[0])
            await begun.wait()
            await anyio.wait_all_tasks_blocked()
            release.set()
        assert answers == [({"agent": "runs/0"}, "")] * 5
        for number in (1, 0, 2, 0, 1):  # 2 are kept: 1 is the one that was asked for first
            await ask(entries[number])

    anyio.run(test)
    assert calls == ["runs/0", "runs/1", "runs/2", "runs/1"]


def test_a_verification_that_found_no_place_is_tried_again():
    proofs, entry = Proofs(), Entry("runs/0", "run", "", sha256="0")

    async def busy():
        raise BusyError("try again")

    async def done():
        return None, "it is too large"

    async def test():
        with pytest.raises(BusyError):
            await proofs.of(entry, busy)
        assert await proofs.of(entry, done) == (None, "it is too large")
        assert await proofs.of(entry, Mock()) == (None, "it is too large")

    anyio.run(test)
