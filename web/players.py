"""Players that are ready to move, each made once for a board, and pools of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import anyio
from anyio import CapacityLimiter

from players.gallery import Entry, Gallery
from players.seat import Seat
from tictactoe_env.rules import Rules

Answer = TypeVar("Answer")

KEPT = 32  # players in memory; a table of 3x4 takes 8 MB


class BusyError(Exception):
    """Too many requests of a kind at once."""


class Threads:
    """A pool of threads: at most `at_once` calls run, and at most `waiting` more wait."""

    def __init__(self, at_once: int, waiting: int):
        self.waiting, self._limiter = waiting, CapacityLimiter(at_once)

    async def run(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Run the function in a thread. Raises BusyError if too many calls wait already."""
        if self._limiter.statistics().tasks_waiting >= self.waiting:
            raise BusyError(f"{self.waiting} requests are waiting already: try again in a second")
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self._limiter)


@lru_cache(maxsize=256)
def solving(rules: Rules) -> threading.Lock:
    """The lock for solving a board: two threads that solve 4x4 would take twice the time."""
    return threading.Lock()


def solved(rules: Rules, function: Callable[[], Answer]) -> Answer:
    """Call a function that may have to solve a board first: one call at a time for each board."""
    with solving(rules):
        return function()


class Players:
    """The players of a gallery, each made when it is first needed. The last KEPT ones are kept."""

    def __init__(self, gallery: Gallery):
        self.gallery = gallery
        self._seats: dict[tuple[Entry, Rules], Seat] = {}  # the one used last stands last
        self._lock = threading.Lock()

    def ready(self, entry: Entry, rules: Rules) -> Seat | None:
        """The player, if it is kept."""
        with self._lock:
            seat = self._seats.pop((entry, rules), None)
            if seat is not None:
                self._seats[entry, rules] = seat
            return seat

    def make(self, entry: Entry, rules: Rules) -> Seat:
        """The player. The first time may take seconds.

        Raises ValueError if it does not play on this board, or is broken.
        """
        with solving(rules):
            seat = self.ready(entry, rules)
            if seat is None:
                seat = self.gallery.seat(entry.id, rules)
                with self._lock:
                    self._seats[entry, rules] = seat
                    while len(self._seats) > KEPT:
                        del self._seats[next(iter(self._seats))]
        return seat
