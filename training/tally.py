"""The results of the games that a learner plays while it trains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

WINDOW = 1_000  # games
# Columns of metrics.csv. They hold the results of the last complete window.
WINS, DRAWS, LOSSES = (f"{result}_in_{WINDOW}_games" for result in ("wins", "draws", "losses"))
MOST = f"most_wins_in_{WINDOW}_games"


@dataclass
class Tally:
    """Wins, draws and losses in successive windows of 1,000 training games.

    games: all finished games. now, last: wins, draws and losses in the current window and in the
    last complete one. best: the wins in the best complete one.
    """

    games: int = 0
    best: int = 0
    now: list[int] = field(default_factory=lambda: [0, 0, 0])
    last: list[int] = field(default_factory=lambda: [0, 0, 0])

    def add(self, infos: Iterable[Mapping[str, Any]]) -> None:
        """Count, in this order, the games that have ended.

        infos: one of each game of a `VecEnv`, with a "terminal_observation" where it ended and an
        "outcome" of 1, 0 or -1 for the learner.
        """
        for info in infos:
            if "terminal_observation" in info:
                self.games += 1
                place = 1 - int(info["outcome"])  # 0 for a win, 1 for a draw, 2 for a loss
                self.now[place] += 1
                if self.games % WINDOW == 0:
                    self.last = self.now
                    self.now = [0, 0, 0]
                    wins, _, _ = self.last
                    self.best = max(self.best, wins)

    def notes(self) -> dict[str, float]:
        """The numbers to show and to write into metrics.csv."""
        wins, draws, losses = self.last
        return {"games": self.games, WINS: wins, DRAWS: draws, LOSSES: losses, MOST: self.best}
