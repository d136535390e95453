"""What is computed for requests: in this process if it is cheap, in another one if it is heavy."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from apps.players.gallery import Entry, Gallery
from apps.players.pupil import teach
from apps.players.seat import TABLE_CELLS, Seat
from apps.web.judging import decisive
from tictactoe_env.certificates.certificate import FILE
from tictactoe_env.games.analysis import Truth, Verdict, turning_point, verdicts
from tictactoe_env.games.analysis import truth as truth_of
from tictactoe_env.games.game import Game
from tictactoe_env.opponents import named_player
from tictactoe_env.rules import Boards, Rules
from training.metrics import FILE as METRICS
from training.metrics import read_metrics

Answer = TypeVar("Answer")

KEPT = 32  # players in memory; a table of 3x4 takes 8 MB
MOST_STEPS = 400  # evaluations in the chart of a run
RATES = ("win", "draw", "loss")
NICENESS = 5  # of a process that has done heavy work: the server itself comes first
QUICK_PLAYOUTS = 100  # of a move of mcts: 3 ms on 3x3


def is_heavy(entry: Entry, rules: Rules, thinks: bool = False) -> bool:
    """Whether a move of this player on this board may take more than some 40 ms.

    That is: any player but `random` on more than 9 cells, where tables and solutions are large; and
    on fewer cells a search that is limited by time, or by more than QUICK_PLAYOUTS. thinks: its
    thoughts are asked for. Those of any search are heavy, and of `random` on more than 9 cells.
    """
    if is_large(rules):
        return thinks or entry.agent != "random"
    named = named_player(entry.id) if entry.kind == "agent" else None
    if named is None or named.name not in ("search", "mcts"):
        return False
    if thinks or {"seconds", "milliseconds"} & set(named.options):
        return True
    return named.name == "mcts" and named.options.get("playouts", np.inf) > QUICK_PLAYOUTS


def is_large(rules: Rules) -> bool:
    """Whether to solve this board takes more than some 40 ms."""
    return rules.cells > TABLE_CELLS


@lru_cache(maxsize=256)
def making(rules: Rules, id: str = "") -> threading.Lock:
    """The lock for making a player, or for solving a board: two threads would take twice the time.

    id: of a run, which needs no solved board; no other player waits for its files.
    """
    return threading.Lock()


class Work:
    """Computes what is asked of the players of a gallery. Threads may share it.

    Each player is made when it is first needed. The last KEPT ones are kept.
    """

    def __init__(self, gallery: Gallery):
        self.gallery = gallery
        self.rng = np.random.default_rng()  # for moves without a seed; to make one takes 9 us
        self._seats: dict[tuple[Entry, Rules], Seat] = {}  # the one used last stands last
        self._lock = threading.Lock()

    def ready(self, entry: Entry, rules: Rules) -> Seat | None:
        """The seat of a player, if it is kept."""
        with self._lock:
            seat = self._seats.pop((entry, rules), None)
            if seat is not None:
                self._seats[entry, rules] = seat
            return seat

    def seat(self, entry: Entry, rules: Rules) -> Seat:
        """The seat of a player. The first time may take seconds.

        Raises ValueError if it does not play on this board, or is broken.
        """
        seat = self.ready(entry, rules)
        if seat is not None:
            return seat
        with making(rules, entry.id if entry.path else ""):
            seat = self.ready(entry, rules)
            if seat is None:
                seat = self.gallery.seat_of(entry, rules)
                with self._lock:
                    self._seats[entry, rules] = seat
                    while len(self._seats) > KEPT:
                        del self._seats[next(iter(self._seats))]
        return seat

    def move(self, entry: Entry, rules: Rules, board: Boards, seed: tuple[int, int] | None) -> int:
        """The cell that a player marks on an unfinished board."""
        rng = self.rng if seed is None else np.random.default_rng(seed)
        return self.seat(entry, rules).move(board, rng)

    def thoughts(self, entry: Entry, rules: Rules, board: Boards, kind: str) -> dict[str, Any]:
        """The values of `apps.web.answers.Thoughts`."""
        seat = self.seat(entry, rules)
        return {**vars(seat.thoughts(board, kind)), "new": seat.is_new(board)}

    def truth(self, rules: Rules, board: Boards) -> Truth:
        """The exact worth of a position and of its moves."""
        with making(rules):
            return truth_of(board, rules)

    def verdicts(self, game: Game) -> tuple[list[Verdict], str, dict[str, Any] | None]:
        """What each move of a game was worth, and which one decided it."""
        with making(game.rules):
            judged = verdicts(game)
            return judged, turning_point(game), decisive(game, judged)

    def teach(self, entries: Sequence[Entry], game: Game) -> dict[str, str]:
        """Let players learn from a game. What became of it, by player."""
        seats = [self.seat(entry, game.rules) for entry in entries]
        return teach([seat.pupil for seat in seats if seat.pupil is not None], game)

    def certificate(self, entry: Entry) -> dict[str, Any]:
        """The certificate of a player, verified or computed, without its moves, and its verdict."""
        found = self.gallery.certificate_of(entry)
        content = {name: value for name, value in found.to_json().items() if name != "moves"}
        return {"certificate": content, "verdict": found.claim}

    def certificate_file(self, entry: Entry) -> bytes:
        """The whole certificate of an agent, verified or computed, as the text of a file."""
        return json.dumps(self.gallery.certificate_of(entry).to_json(), indent=1).encode()

    def growth(self, entry: Entry) -> list[dict[str, Any]]:
        """The values of `apps.web.answers.Step`, from the metrics of a run; none without a run.

        A long record is thinned to MOST_STEPS rows: see `_rows_of_chart`.
        """
        if entry.path is None or entry.path.name != FILE:
            return []
        try:
            rows = read_metrics(entry.path.with_name(METRICS))
        except FileNotFoundError:
            return []
        return [_step(rows[number]) for number in _rows_of_chart(rows)]


def _rows_of_chart(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """The numbers of at most MOST_STEPS rows, which show how a player grew.

    The first and the last one are among them, and those in which something is proven for the first
    time: unbeatable as X, as O and on both sides. Half of the others lie evenly, half closer to the
    beginning, where a player changes most.
    """
    if len(rows) <= MOST_STEPS:
        return list(range(len(rows)))
    proven = (("unbeatable_x",), ("unbeatable_o",), ("unbeatable_x", "unbeatable_o"))
    found = [
        next((n for n, row in enumerate(rows) if all(row[name] for name in names)), None)
        for names in proven
    ]
    firsts = {number for number in found if number is not None}
    half = (MOST_STEPS - len(proven)) // 2
    evenly = np.linspace(0, len(rows) - 1, half)
    early = np.geomspace(1, len(rows), half) - 1
    others = np.concatenate([evenly, early]).round().astype(int).tolist()
    return sorted(firsts.union(others))


def _step(row: dict[str, Any]) -> dict[str, Any]:
    """A row of metrics.csv; illegal moves are among the losses."""
    shares = {side: tuple(row[f"{side}_{name}"] for name in RATES) for side in "xo"}
    safe = {f"unbeatable_{side}": bool(row[f"unbeatable_{side}"]) for side in "xo"}
    is_sampled = any(row.get(f"sampled_{side}") for side in "xo")
    return {
        "steps": row["steps"],
        "seconds": row["seconds"],
        "sampled": is_sampled,
        **shares,
        **safe,
    }


@lru_cache(maxsize=1)
def _work_in(folders: tuple[Path, ...]) -> Work:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this one
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    return Work(Gallery(folders))


def in_process(folders: tuple[Path, ...], name: str, *arguments: Any) -> Any:
    """Call a method of Work in a process that does nothing else. `folders`: of the gallery."""
    method: Callable[..., Any] = getattr(_work_in(folders), name)
    return method(*arguments)
