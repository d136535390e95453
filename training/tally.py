"""How many of its games a learner wins while it trains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

WINDOW = 1_000  # games


@dataclass
class Tally:
    """Wins in successive windows of 1,000 games, counted while a learner trains.

    games: all games that have ended. won: wins in the current window. last, best: wins in the
    window completed last, and in the best window; 0 before the first is complete.
    """

    games: int = 0
    won: int = 0
    last: int = 0
    best: int = 0

    def add(self, infos: Iterable[Mapping[str, Any]]) -> None:
        """Count the games that have ended, in their order: those whose info has an outcome."""
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
