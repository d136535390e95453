"""What is computed for requests: in a thread if it is cheap, in another process if it is heavy.

Python runs one thread of a process at a time, so a search in a thread would keep every other
request waiting. A process of its own cannot.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import anyio
import numpy as np
from anyio import CapacityLimiter

from apps.players.gallery import Entry
from apps.players.seat import TABLE_CELLS, Seat, Thoughts
from tictactoe_env.games.analysis import truth, turning_point, verdicts
from tictactoe_env.games.game import Game
from tictactoe_env.opponents import named_player
from tictactoe_env.rules import Boards, Rules
from training.metrics import FILE as METRICS
from training.metrics import read_metrics

Json = dict[str, Any]
KEPT = 32  # players in memory; a table of 3x4 takes 8 MB
NICENESS = 5  # of a process that has done heavy work: the server itself comes first
QUICK_PLAYOUTS = 100  # of a move of mcts: 3 ms on 3x3


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
                        _in_process, function, *arguments, cancellable=True, limiter=alone
                    )
            except TimeoutError:
                raise TooSlowError(f"this takes more than {self.seconds:g} seconds") from None
            except anyio.BrokenWorkerProcess:
                raise BusyError("the process that computed this has ended: try again") from None


def _in_process(function: Callable[..., Any], *arguments: Any) -> Any:
    _settle()
    return function(*arguments)


@cache
def _settle() -> None:
    """Leave Ctrl-C to the server, which ends this process, and let the server come first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(NICENESS)


def is_heavy(entry: Entry, rules: Rules, thinks: bool = False) -> bool:
    """Whether a move of this player on this board may take more than some 40 ms.

    That is: any player but `random` on more than 9 cells, where tables and solutions are large; and
    on fewer cells a search that is limited by time, or by more than QUICK_PLAYOUTS. thinks: its
    thoughts are asked for. Those of any search are heavy, and of `random` on more than 9 cells.
    """
    if is_large(rules):
        return thinks or entry.id != "random"
    named = named_player(entry.id) if entry.kind == "agent" else None
    if named is None or named.name not in ("search", "mcts"):
        return False
    if thinks or {"seconds", "milliseconds"} & set(named.options):
        return True
    return named.name == "mcts" and named.options.get("playouts", np.inf) > QUICK_PLAYOUTS


def is_large(rules: Rules) -> bool:
    """Whether to solve this board takes more than some 40 ms."""
    return rules.cells > TABLE_CELLS


@lru_cache(maxsize=KEPT)
def seat(entry: Entry, rules: Rules) -> Seat:
    """The player at a board, made when it is first needed, which may take seconds.

    Raises ValueError if it does not play on this board, or is broken.
    """
    return entry.seat(rules)


def move(entry: Entry, rules: Rules, board: Boards, seed: Sequence[int] | None) -> int:
    """The cell that a player marks on an unfinished board."""
    return seat(entry, rules).move(board, np.random.default_rng(seed))


def thoughts(entry: Entry, rules: Rules, board: Boards, kind: str) -> Thoughts:
    """The values of `apps.web.answers.Thoughts`."""
    return seat(entry, rules).thoughts(board, kind)


def judged(game: Game) -> Json:
    """The values of `apps.web.answers.VerdictsAnswer`."""
    found, boards, decisive = verdicts(game), game.boards, None
    mistake = next((one for one in found if one.threw_away), None)
    if mistake is not None:
        ply, held, replies = mistake.ply, mistake.before.value, list[int]()
        kept = truth(boards[ply], game.rules).moves
        better = [cell for cell, one in enumerate(kept) if one and one.value == held]
        if ply + 1 < len(boards):
            position, moves = truth(boards[ply + 1], game.rules)
            replies = [cell for cell, one in enumerate(moves) if one == position]
        decisive = {"ply": ply, "better": better, "replies": replies}
    sentence = turning_point(game)
    return {"verdicts": found, "turning_point": sentence, "decisive": decisive, "reason": ""}


def proof(entry: Entry) -> Json:
    """The certificate of a player, verified or computed, without its moves, and its verdict."""
    found = entry.certificate()
    content = {name: value for name, value in found.to_json().items() if name != "moves"}
    return {"certificate": content, "verdict": found.claim, "reason": ""}


def certificate_file(entry: Entry) -> bytes:
    """The whole certificate of an agent, verified or computed, as the text of a file."""
    return json.dumps(entry.certificate().to_json(), indent=1).encode()


def growth(entry: Entry) -> list[Json]:
    """The values of `apps.web.answers.Step`, from the metrics of a run; none without a record."""
    path = entry.path and entry.path.with_name(METRICS)
    return [_step(row) for row in read_metrics(path)] if path and path.exists() else []


def _step(row: Json) -> Json:
    """A row of metrics.csv; illegal moves are among the losses."""
    shares = {
        side: tuple(row[f"{side}_{name}"] for name in ("win", "draw", "loss")) for side in "xo"
    }
    safe = {name: bool(row[name]) for name in ("unbeatable_x", "unbeatable_o")}
    is_sampled = any(row.get(f"sampled_{side}") for side in "xo")
    about = {"steps": row["steps"], "seconds": row["seconds"], "sampled": is_sampled}
    return {**about, **shares, **safe}
