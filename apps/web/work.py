"""Computations for requests: in a thread if they are cheap, in another process if they are heavy.

Python runs one thread of a process at a time, so a search in a thread would keep every other
request waiting. A process of its own cannot.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any
from weakref import WeakValueDictionary

import anyio
import numpy as np
from anyio import CancelScope, CapacityLimiter

from apps.players.gallery import Entry
from apps.players.rounds import played, players_of
from apps.players.seat import TABLE_CELLS, VALUES_FOLDER, Seat, Thoughts, seat_at
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.exact.accuracy import KINDS, Accuracy, GamesAccuracy, games_accuracy
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import Limit
from tictactoe_env.files import check_files
from tictactoe_env.games.analysis import GameValue, analyse, verdicts
from tictactoe_env.games.game import Game
from tictactoe_env.opponents import AGENT, TRAINED, Player
from tictactoe_env.rules import SIDES, Boards, Rules
from training.history import FILE as HISTORY
from training.metrics import FILE as METRICS
from training.metrics import GROWTH, RESULTS, read_metrics

if sys.platform == "linux":
    import resource

Json = dict[str, Any]
SHOWN = 40  # policies of a run
JUDGED = 20  # games of a kind by which moves are judged
KEPT = 32  # players in memory; a table of 3x4 takes 8 MB
NICENESS = 5  # of a process that does heavy work
MOST_MEMORY = 4 << 30  # bytes of such a process
EACH = 2  # calls of an address that run at once
AT_ONCE = max(EACH + 1, os.cpu_count() or 1)  # calls of all, so that no address has every place
ASKING = ContextVar("ASKING", default="")
"""The address of whose request this is."""


class BusyError(Exception):
    """Too many requests at once, or one that takes too long."""


class TooSlowError(BusyError):
    """A request that takes too long."""


class Processes:
    """At most `at_once` calls run, each in a process. A process starts when it is first needed.

    An address has at most `each` running and `waiting` more. A call may take `seconds`.
    """

    def __init__(
        self,
        at_once: int = AT_ONCE,
        each: int = EACH,
        waiting: int = 32,
        seconds: float = 60.0,
    ):
        self.each = each
        self.waiting = waiting
        self.seconds = seconds
        self._limiter = CapacityLimiter(at_once)
        self._of_address: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()
        self._calls: set[CancelScope] = set()

    def end(self) -> None:
        """End all calls with a BusyError, since the server ends."""
        for call in self._calls:
            call.cancel()

    async def run(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        is_known: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Call the function in a process; it, the arguments and the answer are pickled.

        is_known: asked when a place is free; if another request has found the answer meanwhile, the
        function is not called and None is returned.
        Raises BusyError if too many calls wait already or the process dies, for example for lack of
        memory; TooSlowError if the call takes too long, and ends the process.
        """
        with CancelScope() as call:
            self._calls.add(call)
            try:
                return await self._run(function, arguments, is_known)
            finally:
                self._calls.remove(call)
        raise BusyError("the server ends")

    async def _run(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        is_known: Callable[[], bool],
    ) -> Any:
        of_address = self._of_address.setdefault(ASKING.get(), CapacityLimiter(self.each))
        if of_address.statistics().tasks_waiting >= self.waiting:
            raise BusyError(f"{self.waiting} requests are waiting already: try again in a second")
        async with of_address, self._limiter:
            if is_known():
                return None
            alone = CapacityLimiter(1)  # the calls are limited here, not by anyio's own limiter
            try:
                with anyio.fail_after(self.seconds):
                    return await anyio.to_process.run_sync(
                        _in_process, function, *arguments, cancellable=True, limiter=alone
                    )
            except TimeoutError:
                raise TooSlowError(f"this takes more than {self.seconds:g} seconds") from None
            except anyio.BrokenWorkerProcess:
                raise BusyError("the process that computed this has ended: try again") from None
            except MemoryError:
                raise BusyError("this takes more memory than the server gives") from None


def _in_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of `Processes`, which is prepared before its first call."""
    settle()
    return function(*arguments)


@cache
def settle() -> None:
    """Once in a process: ignore Ctrl-C, since the server ends it; be nice to it; bound memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        os.nice(NICENESS)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def is_heavy(player: Player, rules: Rules) -> bool:
    """True if a move is made in a process: of a search of this package, or on a larger board.

    These may need more than some 40 ms. An added player is taken to be quick on 9 cells.
    """
    if player.foe is not None:
        return is_heavy(player.foe, rules)
    return is_large(rules) or (player.kind == AGENT and player.name in ("search", "mcts"))


def is_large(rules: Rules) -> bool:
    """True for more than 9 cells: to solve such a board may take more than some 40 ms."""
    return rules.cells > TABLE_CELLS


@lru_cache(maxsize=KEPT)
def seat(player: Player, rules: Rules) -> Seat:
    """The player at a board, made when it is first needed, which may take seconds.

    Raises ValueError if it does not play on this board, or if its moves are damaged. The results
    that its certificate states are not looked at: lists tell whether these are broken.
    """
    return seat_at(player, rules)


def move(player: Player, rules: Rules, board: Boards, seed: Sequence[int] | None) -> int:
    """The cell that a player marks on an unfinished board."""
    return seat(player, rules).move(board, np.random.default_rng(seed))


def thoughts(player: Player, rules: Rules, board: Boards, kind: str) -> Thoughts:
    """The probabilities and values of a player on an unfinished board."""
    return seat(player, rules).thoughts(board, kind)


def next_games(player: Player, known: dict[str, GamesAccuracy]) -> dict[str, GamesAccuracy]:
    """The accuracy of a player on 6x7 in games of the first kind that is not known; {} if all are.

    It is by the name of the kind.
    """
    policy = seat(player, CONNECT_FOUR).policy
    assert policy is not None, "it is no person"
    left = [kind for kind in KINDS if kind not in known]
    return {kind: games_accuracy(kind, policy, CONNECT_FOUR, JUDGED) for kind in left[:1]}


def accuracy(known: dict[str, GamesAccuracy]) -> Json:
    """What is known of the accuracy of a player on 6x7, by the kind of its games."""
    return {
        "verdict": Accuracy(CONNECT_FOUR, known).verdict,
        "tables": [
            {"title": f"{kind}: {one.text}", "rows": one.rows} for kind, one in known.items()
        ],
        "left": len(KINDS) - len(known),
    }


def proven(entry: Entry) -> Json:
    """The proof of a player, the results during its training, and who beats whom of its policies.

    Raises ValueError as `Entry.certificate` does.
    """
    return {**proof(entry.certificate()), "steps": growth(entry), "history": history(entry)}


def proof(found: Certificate) -> Json:
    """A certificate without its moves, and its verdict in words."""
    content = {name: value for name, value in found.to_json().items() if name != "moves"}
    return {"certificate": content, "verdict": found.claim, "reason": ""}


def worths(board: Boards, rules: Rules) -> Json:
    """The exact worth of a position, and of each move or None."""
    position, moves = analyse(board, rules)
    return {
        "position": worded(position),
        "moves": [None if worth is None else worded(worth) for worth in moves],
    }


def judged(game: Game) -> list[Json]:
    """The verdict on each move, and the cells of the best moves in its place."""
    found = []
    for board, verdict in zip(game.boards, verdicts(game), strict=False):
        position, moves = analyse(board, game.rules)
        found.append(
            {
                **vars(verdict),
                "before": worded(verdict.before),
                "after": worded(verdict.after),
                "best": [cell for cell, worth in enumerate(moves) if worth == position],
                "text": verdict.text,
                "optimal": verdict.optimal,
            }
        )
    return found


def worded(worth: GameValue) -> Json:
    """A worth as JSON values, with its words."""
    return {**worth._asdict(), "text": worth.text}


def growth(entry: Entry) -> list[Json]:
    """The results in the metrics of a run; none without a record of its training.

    Of an agent of the package, some of its losses and proofs: see `benchmarks.trained`.
    """
    if entry.kind == TRAINED:
        record = VALUES_FOLDER / f"{entry.id}.csv"
        return read_metrics(record, GROWTH) if record.exists() else []
    place = entry.player.place
    if place is None or not (place / METRICS).exists():
        return []
    check_files(place, [METRICS])
    rows = read_metrics(place / METRICS)
    return [{name: row[name] for name in RESULTS if name in row} for row in rows]


def history(entry: Entry) -> Json | None:
    """The exact results of a run's kept policies against each other; None if there are none.

    "steps" of at most SHOWN of them, taken evenly; "x", the mean result of each as X (rows) against
    each as O; "said", what follows. None on boards of more than 12 cells too, and of a run that has
    learned one side.
    """
    place = entry.player.place
    if place is None or not (place / HISTORY).exists():
        return None
    rules = entry.certificate().rules
    if rules.cells > TABULATED:
        return None
    players = players_of({entry.id: str(place)}, rules, SHOWN)
    if any(player.sides != SIDES for player in players):
        return None
    rounds = played(players, rules, Limit())
    return {
        "steps": [player.steps for player in players],
        "x": rounds.x.round(3).tolist(),
        "said": rounds.sentences,
    }
