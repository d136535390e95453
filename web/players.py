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
from tictactoe_env.opponents import MinimaxPolicy
from tictactoe_env.policy import Policy, RandomPolicy, TabularPolicy, sample, tabulate
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

    mind: the policy that is asked for thoughts; None for the policy that moves.
    """

    def __init__(self, policy: Policy, rules: Rules, mind: Policy | None = None):
        self.policy, self.rules, self.mind, self._lock = policy, rules, mind, threading.Lock()
        self._chance = np.random.default_rng()  # for moves without a seed; making one takes 9 us
        self.is_quick = isinstance(policy, (TabularPolicy, RandomPolicy, MinimaxPolicy))

    def move(self, board: Boards, seed: tuple[int, int] | None) -> int:
        """A cell, drawn by its probabilities; taken, if the player makes an illegal move.

        seed: the same seed draws the same cell; None for chance.
        """
        with self._lock:
            chance = self._chance if seed is None else np.random.default_rng(seed)
            return int(sample(self.policy.probs(board[None]), chance)[0])

    def thoughts(self, board: Boards) -> Thoughts:
        """What it thinks of an unfinished board. On small boards its table is made first, once."""
        with self._lock:
            if self.mind is None:
                self.mind = (
                    tabulate(self.policy, self.rules)
                    if self.rules.cells <= TABLE_CELLS
                    else self.policy
                )
            return thoughts(self.mind, board, self.rules)

    def thinks_at_once(self) -> bool:
        """Whether `thoughts` takes milliseconds."""
        return self.rules.cells <= TABLE_CELLS and (self.is_quick or self.mind is not None)

    def is_new(self, board: Boards) -> bool:
        """Whether it says that it has never met this unfinished board."""
        ask = getattr(self.mind, "is_new", None)
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
                policy = self._policy(entry, rules)
                mind = None if entry.path is None else self.gallery.mind(entry.id, policy)
                seat = Seat(policy, rules, mind)
                with self._lock:
                    self._seats[entry, rules] = seat
                    while len(self._seats) > KEPT:
                        self._seats.popitem(last=False)
        return seat

    def _policy(self, entry: Entry, rules: Rules) -> Policy:
        policy = self.gallery.make(entry.id, rules)
        if isinstance(policy, MinimaxPolicy):
            if rules.cells <= QUICK_CELLS:
                return tabulate(policy, rules)
            policy.probs(np.zeros((1, rules.cells), dtype=np.int8))  # solves the board
        return policy
