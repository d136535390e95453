"""The results of the games that a learner plays while it trains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

WINDOW = 1_000  # games
# Columns of metrics.csv. They hold the results of the last complete window.
WINS, DRAWS, LOSSES = (f"{result}_in_{WINDOW}_games" for result in ("wins", "draws", "losses"))
MOST = f"most_wins_in_{WINDOW}_games"
WINDOW_COLUMNS = (WINS, DRAWS, LOSSES, MOST)


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

        infos: those of a `VecEnv`, which have a "terminal_observation" where a game ended.
        """
        for info in infos:
            if "terminal_observation" in info:
                self.games += 1
                self.now[1 - int(info["outcome"])] += 1
                if self.games % WINDOW == 0:
                    self.last, self.now = self.now, [0, 0, 0]
                    self.best = max(self.best, self.last[0])

    def notes(self) -> dict[str, float]:
        """The numbers to show and to write into metrics.csv."""
        return dict(
            zip(("games", *WINDOW_COLUMNS), (self.games, *self.last, self.best), strict=True)
        )
