"""Saved runs that learn from the games that people play, such as those of a trie. Needs no torch.

A run with a model learns; a certificate without one does not, and neither does a table of the
package. Model and certificate stay those of the training. The games are kept in `learned.db` in the
run's folder, see `training.learned`. Programs that have loaded the run share this file: each takes
in what another one has added.

`LEARNER` is a run that anybody can play with from the first minute. It knows nothing before its
first game, and its folder is made when that game is finished.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import agents
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.files import sync_folder
from tictactoe_env.games.game import Game
from tictactoe_env.games.store import GameStore
from tictactoe_env.rules import Rules
from training import learned

TRIE = "trie"  # the agent of LEARNER
LEARNER = "learner"  # its name, and that of its folder in runs/
LEARNER_FOLDER = Path("runs") / LEARNER
LEARNER_ABOUT = "a trie that learns from your games"
LEARNER_RULES = Rules()
LEARNER_OPTIONS = {"steps": 0, "untried": "draw"}
MODEL = "model.safetensors"


class Pupil:
    """A player that learns: the model of a run, and the games of its `learned.db`.

    Threads may share it. model: the saved model if it was loaded already. The folder of a new
    learner does not exist yet.
    """

    def __init__(self, folder: Path, model: Any = None):
        self.folder = folder
        self._lock, self._stamp = threading.RLock(), stamp_of_games(folder)
        if model is None:
            model = agents.load(folder) if folder.exists() else _untrained()
        self._model: Any = model
        self._trained = self._model.played  # the last game that the saved model holds
        self.games = 0
        self._take_in()

    @property
    def name(self) -> str:
        """The last two parts of its folder, such as runs/learner."""
        return "/".join(self.folder.parts[-2:])

    @property
    def rules(self) -> Rules:
        """The board."""
        return self._model.rules

    def policy(self) -> TabularPolicy:
        """What it plays now, after the games that any program has added."""
        if stamp_of_games(self.folder) != self._stamp:
            with self._lock:
                self._take_in()
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
            self._take_in()

    def _take_in(self) -> None:
        """Learn the games that are in the file and not in the model yet."""
        self._stamp = stamp_of_games(self.folder)  # before reading: what comes later is read again
        games = learned.since(self.folder, self._model.played)
        if games:
            self._model = self._model.after_games(games, games[-1].id)
        self.games = self._model.played - self._trained

    @property
    def text(self) -> str:
        """What it has learned, in words."""
        return learned_text(self.games)


def learned_text(games: int) -> str:
    """How many games a run has learned from, and of what its certificate is."""
    if games == 0:
        return "learned from no game since its training"
    counted = f"{games:,} {'game' if games == 1 else 'games'}"
    return f"learned from {counted} since its training; its certificate is of the training"


def learns(folder: Path, agent: str) -> bool:
    """Whether a saved run learns from games: a run of such an agent that has its model."""
    return bool(agents.facts(agent).get("LEARNS_FROM_PEOPLE")) and os.path.lexists(folder / MODEL)


def taken_of(training: Mapping[str, Any]) -> int:
    """The last game of `learned.db` in a model, by the `training` of its certificate."""
    try:
        records = training.get("learned", [])
        return max((int(record.get("through", 0)) for record in records), default=0)
    except (TypeError, ValueError, AttributeError):
        return 0  # another program wrote it


def stamp_of_games(folder: Path) -> tuple[int, int]:
    """Changes when a run has learned another game, and maybe at other times."""
    try:
        status = (folder / learned.FILE).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def games_since(folder: Path, taken: int) -> int:
    """The number of games that a run has learned after this one."""
    try:
        return len(learned.since(folder, taken))
    except (ValueError, OSError):
        return 0  # a damaged file is reported when the run is loaded


def teach(pupils: Iterable[Pupil], game: Game) -> dict[str, str]:
    """Let players learn from a finished game. What became of it in words, by folder."""
    told: dict[str, str] = {}
    for pupil in {pupil.folder.resolve(): pupil for pupil in pupils}.values():
        reason = learned.reason_against(game, pupil.rules)
        if reason is not None:
            told[pupil.name] = f"learns nothing from this game: {reason}"
            continue
        try:
            pupil.learn(game)
            games = f"{pupil.games:,} {'game' if pupil.games == 1 else 'games'}"
            told[pupil.name] = f"has learned from {games} since its training"
        except (ValueError, OSError) as error:
            told[pupil.name] = f"cannot keep what it learns: {error}"
    return told


def make_learner(folder: Path) -> None:
    """Write the run of a learner without a game: all of it, or nothing if there is one already."""
    from training.run import Run  # slow to import: it shows the progress of trainings too

    new = folder.with_name(f".{folder.name}.{os.getpid()}.{threading.get_ident()}.new")
    page: Any = agents.page(TRIE)
    try:
        Run(new, page, page.Config(**LEARNER_OPTIONS)).write_untrained()
        os.rename(new, folder)
        sync_folder(folder.parent)
    except OSError:
        if not (folder / MODEL).exists():
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _untrained() -> Any:
    page: Any = agents.page(TRIE)
    return page.begin(page.Config(**LEARNER_OPTIONS)).policy()
