"""Players that are ready to move, made once for each board, and the threads that ask slow ones."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeVar

import anyio
import numpy as np
from anyio import CapacityLimiter

from players.gallery import Entry, Gallery
from tictactoe_env.analysis import Thoughts, thoughts
from tictactoe_env.policy import (
    MinimaxPolicy,
    Policy,
    RandomPolicy,
    TabularPolicy,
    sample,
    tabulate,
)
from tictactoe_env.rules import Boards, Rules

Answer = TypeVar("Answer")

TABLE_CELLS = 9  # of the largest board on which thoughts come from a table: a second at most
QUICK_CELLS = 12  # of the largest board on which perfect play is a table
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


class Seat:
    """A player on a board. Searches keep their tables, so one thread at a time asks them.

    model: the policy that is asked for thoughts; None for the policy that moves.
    """

    def __init__(self, policy: Policy, rules: Rules, model: Policy | None = None):
        self.policy, self.rules = policy, rules
        self._model, self._lock = model, threading.Lock()

    @property
    def is_quick(self) -> bool:
        """Whether a move takes milliseconds: it is read off a table."""
        return isinstance(self.policy, (TabularPolicy, RandomPolicy, MinimaxPolicy))

    @property
    def thinks_at_once(self) -> bool:
        """Whether `thoughts` takes milliseconds."""
        return self.rules.cells <= TABLE_CELLS and (self.is_quick or self._model is not None)

    def move(self, board: Boards, rng: np.random.Generator) -> int:
        """A cell, drawn by the policy's probabilities; it may be taken."""
        with self._lock:
            probs = self.policy.probs(board[None])
        return int(sample(probs, rng)[0])

    def thoughts(self, board: Boards) -> Thoughts:
        """What it thinks of an unfinished board. On small boards its table is made first, once."""
        with self._lock:
            if self._model is None:
                small = self.rules.cells <= TABLE_CELLS
                self._model = tabulate(self.policy, self.rules) if small else self.policy
            return thoughts(self._model, board, self.rules)

    def is_new(self, board: Boards) -> bool:
        """Whether its model says that training never met this unfinished board."""
        ask = getattr(self._model, "is_new", None)
        return ask is not None and bool(ask(board[None])[0])


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
                seat = self._seat(entry, rules)
                with self._lock:
                    self._seats[entry, rules] = seat
                    while len(self._seats) > KEPT:
                        self._seats.popitem(last=False)
        return seat

    def _seat(self, entry: Entry, rules: Rules) -> Seat:
        policy = self.gallery.make(entry.id, rules)
        if isinstance(policy, MinimaxPolicy):
            if rules.cells <= QUICK_CELLS:
                policy = tabulate(policy, rules)
            else:
                policy.probs(np.zeros((1, rules.cells), dtype=np.int8))  # solves the board
        model = None if entry.path is None else self.gallery.mind(entry.id, policy)
        return Seat(policy, rules, model)
