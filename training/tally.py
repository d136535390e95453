"""The share of games that a learner wins while it trains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

WINDOW = 1_000  # games


@dataclass
class Tally:
    """Wins in successive windows of 1,000 training games.

    games: all finished games. won: wins in the current window. last, best: wins in the last
    complete window, and in the best one; 0 before the first window is complete.
    """

    games: int = 0
    won: int = 0
    last: int = 0
    best: int = 0

    def add(self, infos: Iterable[Mapping[str, Any]]) -> None:
        """Count, in this order, the games that have ended: those whose info has an "outcome"."""
        for info in infos:
            if "outcome" not in info:
                continue
            self.games += 1
            self.won += info["outcome"] == "win"
            if self.games % WINDOW == 0:
                self.last, self.best, self.won = self.won, max(self.best, self.won), 0

    def notes(self) -> dict[str, float]:
        """The numbers to show and to write into metrics.csv."""
        return {
            "games": self.games,
            f"wins of the last {WINDOW}": self.last,
            "best window": self.best,
        }
