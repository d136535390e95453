"""Learning from the games of others: games played with a saved run, and files of games.

The games played with a run are in `learned.db` in its folder. It is a game store, so a game
that was added is on the disk, and several programs may add games at the same time. The model and
the certificate of the run stay those of its training. The model that plays is the trained one with
these games added. With `train.py --resume` the saved model learns them too, and notes the number of
the last one; no game is ever removed from the file.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tictactoe_env.games.game import Game
from tictactoe_env.games.store import GameStore, read_games
from tictactoe_env.rules import Rules
from training.learner import Learner

FILE = "learned.db"
LEFT_OUT = {  # games that were not played to their end
    "early": "drawn early",
    "illegal": "ended by an illegal move",
    "resigned": "resigned",
}
AGAIN = "learned before"


def reason_against(game: Game, rules: Rules) -> str | None:
    """Why nothing is learned from a game: it has no end, or is on another board; else None."""
    if game.rules != rules:
        return "on another board"
    return LEFT_OUT.get(game.ended)


def since(folder: Path, number: int) -> Sequence[Game]:
    """The games after a number, oldest first. StoreError if the file is damaged."""
    if not os.path.lexists(folder / FILE):
        return []
    # Only a store that is open for writing waits for another process that is creating the file.
    with GameStore(folder / FILE, read_only=not os.access(folder, os.W_OK)) as store:
        newest = store.list(1)
        count = (newest[0].id or 0) - number if newest else 0
        newest_first = store.list(max(0, count))
        return newest_first[::-1]


def teach(
    learn: Callable[[Sequence[int]], None], games: Iterable[Game], rules: Rules
) -> Counter[str]:
    """Let a player learn games; the number of games "learned", and of those left out by reason."""
    counts: Counter[str] = Counter()
    for game in games:
        reason = reason_against(game, rules)
        if reason is None:
            learn(game.moves)
        counts[reason or "learned"] += 1
    return counts


class GamesOfFile(NamedTuple):
    """The games of a file, how many at its beginning were learned before, and its record."""

    games: list[Game]
    known: int
    record: dict[str, Any]


def games_in(path: Path, rules: Rules, records: Collection[Mapping[str, Any]] = ()) -> GamesOfFile:
    """Read the games of a file.

    records: of the files that were learned from. A file is known by its content, not by its name. A
    game store that has grown since is read from where it ended then.
    """
    try:
        games = list(read_games(path, rules))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"learn_from must be a game store or a text file, there is no file {path}"
        ) from None
    ends = {(record.get("read"), record.get("sha256")) for record in records}
    known = 0
    digest = hashlib.sha256()
    for number, game in enumerate(games, 1):
        digest.update(f"{game.text} {game.result} {game.ended} {game.rules}\n".encode())
        if (number, digest.hexdigest()) in ends:
            known = number
    record = {"file": str(path), "read": len(games), "sha256": digest.hexdigest()}
    return GamesOfFile(games, known, record)


class GamesLearner(Learner):
    """A learner that also learns from finished games of others.

    A saved run of it learns from the games that people play with it. learned: the files that it has
    learned so far, one entry for each. trie: `trie.learn` takes the moves of a finished game.
    """

    STATE: ClassVar[tuple[str, ...]] = ("learned",)
    trie: Any

    def __init__(self, config: Any):
        self.config = config
        self.learned: list[dict[str, Any]] = []

    @property
    def played(self) -> int:
        """The last game of `learned.db` that it has learned from."""
        return max((entry.get("through", 0) for entry in self.learned), default=0)

    def learn_first(self, path: str) -> None:
        """Learn the games of a file, if there is one and the training only begins.

        Raises FileNotFoundError, StoreError for a damaged store, and ValueError for a line that is
        not a game or a file without a game to learn from.
        """
        if not path or self.learned or self.steps:
            return
        counts = self._learn_file(path)
        learned = counts.pop("learned", 0)
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        if not learned:
            raise ValueError(
                f"{path} holds no game to learn from: expected one that was played to its end on "
                f"{self.config.rules}, got {left_out or 'none at all'}"
            )
        if left_out:
            games = "1 game" if learned == 1 else f"{learned:,} games"
            warnings.warn(f"learned {games} of {path}, left out {left_out}", stacklevel=3)

    def _learn_file(self, path: str, known: Collection[Game] = ()) -> Counter[str]:
        """Learn the games of a file that are new. known: games that were learned in another way."""
        found = games_in(Path(path), self.config.rules, self.learned)
        later = found.games[found.known :]
        new = [game for game in later if replace(game, id=None) not in known]
        counts = teach(self.trie.learn, new, self.config.rules)
        self._note(counts, **found.record)
        counts[AGAIN] += len(found.games) - len(new)
        return +counts  # without reasons that no game has

    def _note(self, counts: Counter[str], **entry: Any) -> None:
        if counts["learned"]:
            more = {**entry, "games": counts["learned"], "at": self.steps}
            self.learned = [*self.learned, more]

    def learn_games(self, run: Path, file: str = "") -> Counter[str]:
        """Learn the games played with a run since its training, then those of a file.

        Returns the number of games "learned", and of games left out by reason. Raises ValueError or
        FileNotFoundError for a file that cannot be read.
        """
        games = since(run, self.played)
        counts = teach(self.trie.learn, games, self.config.rules)
        if games:
            self._note(counts, file=FILE, through=games[-1].id)
        if file:
            counts += self._learn_file(file, {replace(game, id=None) for game in since(run, 0)})
        return counts

    def training_entries(self) -> dict[str, Any]:
        """The files it has learned from."""
        return {"learned": self.learned} if self.learned else {}
