"""The results of the games that a learner plays while it trains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training.learner import Chart

WINDOW = 1_000  # games
# Columns of metrics.csv. They hold the results of the last complete window.
WINS, DRAWS, LOSSES = (f"{result}_in_{WINDOW}_games" for result in ("wins", "draws", "losses"))
MOST = f"most_wins_in_{WINDOW}_games"
WINDOW_COLUMNS = (WINS, DRAWS, LOSSES, MOST)
# The curves of windows.png: column of metrics.csv, name, colour.
CURVES = ((WINS, "wins", "#0072b2"), (DRAWS, "draws", "#999999"), (LOSSES, "losses", "#d55e00"))


@dataclass
class Tally:
    """Wins, draws and losses in successive windows of 1,000 training games.

    games: all finished games. won, drawn: those of the current window. last, last_drawn, last_lost:
    wins, draws and losses in the last complete window. best: the wins in the best one. All of these
    are 0 before the first window is complete.
    """

    games: int = 0
    won: int = 0
    last: int = 0
    best: int = 0
    drawn: int = 0
    last_drawn: int = 0
    last_lost: int = 0

    def add(self, infos: Iterable[Mapping[str, Any]]) -> None:
        """Count, in this order, the games that have ended.

        infos: those of a `VecEnv`, which have a "terminal_observation" where a game ended.
        """
        for info in infos:
            if "terminal_observation" not in info:
                continue
            self.games += 1
            self.won += int(info["outcome"] > 0)
            self.drawn += int(info["outcome"] == 0)
            if self.games % WINDOW == 0:
                self.last, self.last_drawn = self.won, self.drawn
                self.last_lost = WINDOW - self.won - self.drawn
                self.best = max(self.best, self.won)
                self.won = self.drawn = 0

    def notes(self) -> dict[str, float]:
        """The numbers to show and to write into metrics.csv."""
        return {
            "games": self.games,
            WINS: self.last,
            DRAWS: self.last_drawn,
            LOSSES: self.last_lost,
            MOST: self.best,
        }


def window_text(notes: Mapping[str, float]) -> str:
    """The numbers of `Tally.notes` as text; "" before the first window is complete."""
    last = int(notes["games"]) // WINDOW * WINDOW
    if last == 0:
        return ""
    counts = f"{notes[WINS]:.0f} won, {notes[DRAWS]:.0f} drawn, {notes[LOSSES]:.0f} lost"
    which = f"training games {last - WINDOW + 1:,} to {last:,}"
    return f"{which}: {counts} (best {WINDOW:,} games: {notes[MOST]:.0f} won)"


def windows_chart(rows: Sequence[Mapping[str, float]], title: str) -> Chart:
    """Wins, draws and losses per 1,000 training games. rows: those of metrics.csv."""
    curves = [
        (f"{name} {rows[-1][column]:.0f}", colour, [row[column] for row in rows])
        for column, name, colour in CURVES
    ]
    steps = [row["steps"] / 1000 for row in rows]
    return Chart(title, "steps, thousands", f"training games of {WINDOW:,}", steps, curves)
