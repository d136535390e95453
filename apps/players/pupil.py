"""Saved runs that learn from the games that people play, such as a trie. Needs no torch.

A run with a model learns; a certificate without one does not, and neither does a table of the
package. The model and the certificate of the training are not changed: the games are kept beside
them in `learned.db`, see `training.learned`. Programs that have loaded the run share this file:
each learns what another one has added.

`LEARNER` is a run that anybody can play with from the first minute. It knows nothing before its
first game, and its folder is made when that game is finished.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import agents
from apps.players.titles import LEARNER_ID
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.files import sync_folder
from tictactoe_env.games.game import Game
from tictactoe_env.games.store import GameStore
from tictactoe_env.rules import Rules
from training import learned
from training.checkpoint import MODEL

TRIE = "trie"  # the agent of the learner
LEARNER_FOLDER = Path(LEARNER_ID)
LEARNER_RULES = Rules()


class Pupil:
    """A player that learns: the model of a run, and the games of its `learned.db`.

    Threads may share it. The folder of a new learner does not exist yet. games: how many it has
    learned since its training.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._lock = threading.Lock()
        if folder.exists():
            self._model: Any = agents.load(folder)
        else:
            self._model = _beginner().policy()
        self.rules = self._model.rules
        self._trained = self._model.played  # the last game that the saved model holds
        self._learn_new_games()

    @property
    def name(self) -> str:
        """The last two parts of its folder, such as runs/learner."""
        return "/".join(self.folder.parts[-2:])

    @property
    def text(self) -> str:
        """The number of games that it has learned from, in words."""
        return learned_text(self.games)

    def policy(self) -> TabularPolicy:
        """Its moves now, after the games that any program has added."""
        with self._lock:
            if stamp_of(self.folder / learned.FILE) != self._stamp:
                self._learn_new_games()
            return self._model

    def learn(self, game: Game) -> None:
        """Learn from a finished game. When this returns, the game is on the disk.

        Raises StoreError or OSError if it cannot be kept; then nothing is learned from it.
        """
        with self._lock:
            if not self.folder.exists():
                make_learner(self.folder)
            with GameStore(self.folder / learned.FILE) as store:
                store.add(game)
            self._learn_new_games()

    def _learn_new_games(self) -> None:
        """Learn the games that are in the file and not in the model yet."""
        self._stamp = stamp_of(self.folder / learned.FILE)  # what comes later is read again
        games = learned.since(self.folder, self._model.played)
        if games:
            self._model = self._model.after_games(games, games[-1].id)
        self.games = self._model.played - self._trained


def learned_text(games: int) -> str:
    """A number of games that a run has learned from, in words."""
    counted = {0: "no game", 1: "1 game"}.get(games, f"{games:,} games")
    return f"learned from {counted} played here"


def learns(folder: Path, agent: str) -> bool:
    """True if a saved run learns from games: it is of such an agent, and has its model."""
    return bool(agents.facts(agent).get("LEARNS_FROM_PEOPLE")) and os.path.lexists(folder / MODEL)


def stamp_of(file: Path) -> tuple[int, int]:
    """Changes with the content of a file; (0, 0) if there is none."""
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def teach(pupils: Iterable[Pupil], game: Game) -> dict[str, str]:
    """Let players learn from a finished game. Returns what became of it in words, by folder."""
    told: dict[str, str] = {}
    by_folder = {pupil.folder.resolve(): pupil for pupil in pupils}  # one may play both sides
    for pupil in by_folder.values():
        reason = learned.reason_against(game, pupil.rules)
        if reason is not None:
            told[pupil.name] = f"learns nothing from this game: {reason}"
            continue
        try:
            pupil.learn(game)
            told[pupil.name] = f"has {pupil.text}"
        except (ValueError, OSError) as error:
            told[pupil.name] = f"cannot keep what it learns: {error}"
    return told


def make_learner(folder: Path) -> None:
    """Write the run of a learner without a game: all of it, or nothing if there is one already."""
    from training.run import Run  # slow to import: it shows the progress of trainings too

    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".", dir=folder.parent) as place:
        new = Path(place, folder.name)
        Run(new, agents.module(TRIE), _beginner().config).write_untrained()
        with suppress(OSError):  # another program has made it meanwhile
            os.rename(new, folder)
    sync_folder(folder.parent)


def _beginner() -> Any:
    """The learner of a trie that has seen no game."""
    module: Any = agents.module(TRIE)
    return module.begin(module.Config(steps=0, untried="draw"))
