"""How many of its games a learner wins while it trains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WINDOW = 1_000  # games


@dataclass
class Tally:
    """Wins in the windows of 1,000 games, one after the other, that end while a learner trains.

    games: all that have ended. won: of these in the window under way. last, best: wins of the window completed last, and of the best one; 0 before.
    """

    games: int = 0
    won: int = 0
    last: int = 0
    best: int = 0

    def add(self, wins: Iterable[bool]) -> None:
        """Count games that have ended, in their order."""
        for win in wins:
            self.games += 1
            self.won += win
            if self.games % WINDOW == 0:
                self.last, self.best, self.won = self.won, max(self.best, self.won), 0

    def notes(self) -> dict[str, float]:
        """What a report shows of it."""
        return {
            "games": self.games,
            f"wins of the last {WINDOW}": self.last,
            "best window": self.best,
        }
