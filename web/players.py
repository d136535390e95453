"""Players that are ready to move, made once for each board, and the threads that ask slow ones."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeVar

import anyio
from anyio import CapacityLimiter

from players.gallery import Entry, Gallery
from players.seat import Seat
from tictactoe_env.rules import Rules

Answer = TypeVar("Answer")

KEPT = 32  # players that are kept; a table of 3x4 takes 8 MB


class BusyError(Exception):
    """Too many requests of a kind at once."""


class Threads:
    """A pool of threads: at most `at_once` calls run, and at most `waiting` more wait."""

    def __init__(self, at_once: int, waiting: int):
        self.at_once, self.waiting = at_once, waiting
        self._limiter: CapacityLimiter | None = None

    async def run(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Run the function in a thread. Raises BusyError if too many calls wait already."""
        self._limiter = self._limiter or CapacityLimiter(self.at_once)
        if self._limiter.statistics().tasks_waiting >= self.waiting:
            raise BusyError(f"{self.waiting} requests are waiting already: try again in a second")
        return await anyio.to_thread.run_sync(partial(function, *arguments), limiter=self._limiter)


@lru_cache(maxsize=256)
def solving(rules: Rules) -> threading.Lock:
    """The lock for solving a board: two threads that solve 4x4 would take twice the memory."""
    return threading.Lock()


def solved(rules: Rules, function: Callable[..., Answer], *arguments: Any) -> Answer:
    """Call a function that may have to solve a board first: one call at a time for each board."""
    with solving(rules):
        return function(*arguments)


class Players:
    """The players of a gallery, each made when it is first asked for; the last ones are kept."""

    def __init__(self, gallery: Gallery):
        self.gallery = gallery
        self._seats: OrderedDict[tuple[Entry, Rules], Seat] = OrderedDict()
        self._lock = threading.Lock()

    def ready(self, entry: Entry, rules: Rules) -> Seat | None:
        """The player if it has been made before."""
        with self._lock:
            if (entry, rules) in self._seats:
                self._seats.move_to_end((entry, rules))
                return self._seats[entry, rules]
        return None

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
                        self._seats.popitem(last=False)
        return seat
