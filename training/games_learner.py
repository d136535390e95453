"""A learner that also learns from the games of others, and how it remembers which these were."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar

from tictactoe_env.games.game import Game
from training.learned import AGAIN, FILE, games_in, since, teach, without_id
from training.learner import Learner


class GamesLearner(Learner):
    """A learner that also learns from finished games of others.

    A saved run of it learns from the games that people play with it. learned: what it has learned
    so far, one entry a file. played: the last game of `learned.db` among it.
    """

    STATE: ClassVar[tuple[str, ...]] = ("learned",)

    def __init__(self, config: Any):
        self.config = config
        self.learned: list[dict[str, Any]] = []
        self.played = 0

    @abstractmethod
    def learn(self, cells: Sequence[int]) -> None:
        """Learn from a finished game of legal moves."""

    def learn_first(self, path: str) -> None:
        """Learn the games of a file, if there is one and the training only begins.

        Raises FileNotFoundError, StoreError for a damaged store, and ValueError for a line that is
        not a game or a file without a game to learn from.
        """
        if not path or self.learned or self.steps:
            return
        counts = self._learn_file(path)
        left_out = ", ".join(f"{n:,} {why}" for why, n in counts.items() if why != "learned")
        if not counts["learned"]:
            raise ValueError(
                f"{path} holds no game to learn from: expected one that was played to its end on "
                f"{self.config.rules}, got {left_out or 'none at all'}"
            )
        if left_out:
            games = f"{counts['learned']:,} {'game' if counts['learned'] == 1 else 'games'}"
            warnings.warn(f"learned {games} of {path}, left out {left_out}", stacklevel=3)

    def _learn_file(self, path: str, known: Collection[Game] = ()) -> Counter[str]:
        """Learn the games of a file that are new. known: games that were learned in another way."""
        games, begin, record = games_in(Path(path), self.config.rules, self.learned)
        new = [game for game in games[begin:] if without_id(game) not in known]
        counts = teach(self.learn, new, self.config.rules)
        self._note(counts, **record)
        counts[AGAIN] += len(games) - len(new)
        return +counts

    def _note(self, counts: Counter[str], **entry: Any) -> None:
        if counts["learned"]:
            more = {**entry, "games": counts["learned"], "at": self.steps}
            self.learned = [*self.learned, more]

    def take_in(self, run: Path, file: str = "") -> Counter[str]:
        """Learn from the games played with a run since its training, then from those of a file.

        Returns the number of games "learned", and of games left out by reason. Raises ValueError or
        FileNotFoundError for a file that cannot be read.
        """
        games = since(run, self.played)
        counts = teach(self.learn, games, self.config.rules)
        if games:
            self.played = games[-1].id or 0
            self._note(counts, file=FILE, through=self.played)
        if file:
            counts += self._learn_file(file, {without_id(game) for game in since(run, 0)})
        return counts

    def about(self) -> dict[str, Any]:
        """The files it has learned from."""
        return {"learned": self.learned} if self.learned else {}
