"""The players that can be chosen: those built in, and every certificate below models/ and runs/. No torch is needed.

A player has an id: its name (`search-depth=4`), or where its certificate lies (`runs/dqn-0`). Ids are looked up in the list
of what was found and are never made into paths, so no id reaches a file that is not listed.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from players.named import make_player
from tictactoe_env.certificate import (
    FILE,
    MAX_CELLS,
    CertificateError,
    certify,
    check_digest,
    read,
    table_of,
    verify,
)
from tictactoe_env.errors import unknown_name
from tictactoe_env.games import MAX_NAME, Player
from tictactoe_env.policy import Policy, TabularPolicy, tabulate
from tictactoe_env.positions import MAX_CELLS as MAX_SOLVED
from tictactoe_env.rules import MAX_BITS, Rules

FOLDERS = ("models", "runs")
MAX_DEPTH = 5  # of folders in these; a run beside others in a folder of its own is 2 deep
MAX_FOUND = 500  # certificates that are looked at
BUILT_IN = {
    "random": ("makes any legal move, each equally likely", MAX_BITS),
    "minimax": ("plays perfectly, and draws lots among equal moves", MAX_SOLVED),
    "minimax-first": ("plays perfectly, and always takes the first of equal moves", MAX_SOLVED),
    "minimax-slip=0.1": ("plays perfectly, but every tenth move is any move", MAX_SOLVED),
    "search": ("alpha-beta search to the end of every game", MAX_SOLVED),
    "search-depth=1": (
        "wins and blocks where it can, but looks no further: falls for a fork",
        MAX_BITS,
    ),
    "search-depth=2": ("alpha-beta search that looks two moves ahead", MAX_BITS),
    "search-depth=4": ("alpha-beta search that looks four moves ahead", MAX_BITS),
    "mcts-playouts=50": (
        "Monte-Carlo tree search, 50 playouts a move: plays well, and errs",
        MAX_BITS,
    ),
    "mcts-playouts=1000": ("Monte-Carlo tree search, 1,000 playouts a move", MAX_BITS),
}
"""Players that need no training: a sentence, and the most cells of a board they play on."""
MODEL = "model.safetensors"
TELLING = ("tabular_q", "trie")
"""Agents whose saved runs say more than their moves, what they believe or what is new to them, and load without torch."""


@dataclass(frozen=True)
class Entry:
    """A player that can be chosen, or a certificate that is broken.

    kind: "agent" (built in) or "run" (from a certificate). about: a sentence, or why it is broken. rules: the only board it
    plays on; None for any of at most `max_cells`. path, sha256: of the file of its certificate. agent: what was trained.
    unbeatable: what the certificate states; None for a player that is built in.
    """

    id: str
    kind: str
    about: str
    max_cells: int = MAX_BITS
    rules: Rules | None = None
    path: Path | None = None
    sha256: str = ""
    agent: str = ""
    unbeatable: bool | None = None
    broken: bool = False

    @property
    def name(self) -> str:
        """The last part of the id."""
        return self.id.rpartition("/")[2]

    def plays(self, rules: Rules) -> bool:
        """Whether it plays on this board."""
        return not self.broken and (
            rules == self.rules if self.rules else rules.cells <= self.max_cells
        )

    @property
    def boards(self) -> str:
        """The boards it plays on, in words."""
        return (
            str(self.rules)
            if self.rules
            else "any board"
            if self.max_cells >= MAX_BITS
            else f"boards of up to {self.max_cells} cells"
        )


class Gallery:
    """The players built in and those of the certificates in `folders`; each of these is named by the last part of its path.

    The folders are looked through anew by `entries`, and where an id is unknown; a certificate that has not changed is not
    read again. Threads may share it.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]] = FOLDERS):
        self.folders = [Path(folder) for folder in folders]
        if len({folder.name for folder in self.folders}) < len(self.folders):
            raise ValueError(
                f"the folders of a gallery must have different names, got {', '.join(map(str, self.folders))}"
            )
        self._lock = threading.RLock()
        self._known: dict[Path, tuple[tuple[int, int], Entry]] = {}
        self._entries: dict[str, Entry] = {}

    def entries(self) -> list[Entry]:
        """Everybody: those built in, then the certificates by id, the broken ones too."""
        built_in = [
            Entry(id, "agent", about, max_cells, agent=id)
            for id, (about, max_cells) in BUILT_IN.items()
        ]
        found = [
            self._entry_of(folder, path)
            for folder in self.folders
            for path in _certificates(folder)
        ]
        every = built_in + sorted(found, key=lambda entry: entry.id)
        self._entries = {entry.id: entry for entry in every}
        return every

    def entry(self, id: str) -> Entry:
        """The player of this id; ValueError, with a guess, if there is none."""
        if id not in self._entries:
            self.entries()
        if id not in self._entries:
            raise unknown_name("agent", id, self._entries)
        return self._entries[id]

    def make(self, id: str, rules: Rules) -> Policy:
        """The policy of a player on a board. ValueError for an unknown one, a broken one, and one that does not play there."""
        entry = self.entry(id)
        if entry.broken:
            raise CertificateError(f"{id} is broken: {entry.about}")
        if not entry.plays(rules):
            raise ValueError(
                f"{id} plays on {entry.boards}, not on {rules}: choose another player or board"
            )
        return make_player(id, rules) if entry.path is None else self._table(entry)

    def mind(self, id: str, policy: Policy) -> Policy:
        """What a player that `make` made is to be asked for thoughts: more than its moves where it has more to say, see `mind_of`."""
        entry = self.entry(id)
        return (
            policy
            if entry.path is None or not isinstance(policy, TabularPolicy)
            else mind_of(
                entry.path.parent if entry.path.name == FILE else entry.path, entry.agent, policy
            )
        )

    def player(self, id: str) -> Player:
        """The player as the store of games names it: a run with the sha256 of its certificate."""
        entry = self.entry(id)
        return Player("agent" if entry.path is None else "run", id, entry.sha256)

    def certificate(self, id: str, rules: Rules | None = None) -> dict[str, Any]:
        """What is proven of a player, computed anew from its moves: see `tictactoe_env.certificate`.

        rules: the board, of at most 12 cells, for players that are built in; 3x3 by default. A run's certificate is verified.
        Raises ValueError for an unknown player or board, CertificateError for a certificate whose figures do not follow from its moves.
        """
        entry = self.entry(id)
        if entry.path is None:
            return _certified(id, rules or Rules())
        try:
            content = read(entry.path)
            verify(content)
        except (ValueError, OSError) as error:
            raise self._break(entry, error) from None
        if rules is not None and rules != entry.rules:
            raise ValueError(f"{id} plays on {entry.boards}, not on {rules}")
        return content

    # --- certificates --------------------------------------------------------------------------------------------------

    def _entry_of(self, folder: Path, path: Path) -> Entry:
        """What a certificate says of itself; it is read again only if it has changed."""
        place = path.parent if path.name == FILE else path
        id = "/".join((folder.resolve().name, *place.relative_to(folder).parts))
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            with self._lock:
                if path in self._known and self._known[path][0] == stamp:
                    return self._known[path][1]
            entry = _checked_entry(id, path)
        except (ValueError, OSError) as error:
            stamp, entry = (
                (0, 0) if isinstance(error, OSError) else stamp,
                _broken_entry(id, path, error),
            )
        with self._lock:
            self._known[path] = (stamp, entry)
        return entry

    def _table(self, entry: Entry) -> TabularPolicy:
        assert entry.path is not None
        try:
            content = read(entry.path)
            check_digest(content)
            return table_of(content)
        except (ValueError, OSError) as error:
            raise self._break(entry, error) from None

    def _break(self, entry: Entry, error: Exception) -> CertificateError:
        """List a certificate as broken from now on; what is only seen when all its moves are read is not seen by `entries`."""
        assert entry.path is not None
        broken = _broken_entry(entry.id, entry.path, error)
        with self._lock:
            self._known[entry.path] = (self._known[entry.path][0], broken)
            self._entries[entry.id] = broken
        return CertificateError(f"{entry.id} is broken: {error}")


def mind_of(folder: Path, agent: Any, table: TabularPolicy) -> TabularPolicy:
    """What a saved run believes beside its moves `table`, if it is of TELLING; else the table.

    Raises DamagedFileError (a ValueError) for damaged files, ValueError if they are not those of the certificate beside them.
    """
    if agent not in TELLING or not (folder / MODEL).exists():
        return table
    mind: TabularPolicy = importlib.import_module(f"agents.{agent}").load(folder)
    if not np.array_equal(mind.table, table.table):
        raise ValueError(
            f"{folder / MODEL} moves otherwise than the certificate beside it: train the run again"
        )
    return mind


def _certificates(folder: Path) -> Iterator[Path]:
    """The certificate of every run below a folder, and every .json file in models/ itself; what lies below a run is its own."""
    found = 0
    for place, folders, files in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        names = (
            [FILE]
            if FILE in files
            else sorted(name for name in files if name.endswith(".json"))
            if depth == 0
            else []
        )
        folders[:] = (
            []
            if FILE in files or depth >= MAX_DEPTH
            else sorted(name for name in folders if not name.startswith("."))
        )
        for name in names:
            found += 1
            if found > MAX_FOUND:
                return
            yield Path(place, name)


def _checked_entry(id: str, path: Path) -> Entry:
    """The entry of a certificate; ValueError if it is broken. Whether its figures follow from its moves is left to `verify`."""
    if len(id) > MAX_NAME or not id.isprintable() or id != id.strip():
        raise ValueError(f"its path must be at most {MAX_NAME} printable characters")
    content = read(path)
    board, agent = content.get("board"), content.get("agent")
    if (
        not isinstance(board, Mapping)
        or set(board) != {"rows", "cols", "k"}
        or not isinstance(agent, str)
    ):
        raise CertificateError(f"{path} names no agent and no board")
    rules = Rules(**board)
    check_digest(content)
    seed = "" if content.get("seed") is None else f", seed {str(content['seed'])[:20]}"
    training = content.get("training")
    preset = (
        f"-{str(training['preset'])[:40]}"
        if isinstance(training, Mapping) and "preset" in training
        else ""
    )
    about = f"{agent[:MAX_NAME]}{preset}{seed}, {_strength(content)}"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Entry(
        id,
        "run",
        about,
        rules.cells,
        rules,
        path,
        digest,
        agent[:MAX_NAME],
        content.get("unbeatable") is True,
    )


def _strength(content: Mapping[str, Any]) -> str:
    if content.get("unbeatable") is True:
        return "optimal" if content.get("optimal") is True else "cannot be beaten"
    return "can be beaten"


def _broken_entry(id: str, path: Path, error: Exception) -> Entry:
    return Entry(id, "run", str(error)[:300], path=path, broken=True)


@lru_cache(maxsize=32)
def _certified(id: str, rules: Rules) -> dict[str, Any]:
    """The certificate of a player that is built in."""
    if rules.cells > MAX_CELLS:
        raise ValueError(
            f"nothing is proven on {rules}: a certificate is for boards of at most {MAX_CELLS} cells (3x4)"
        )
    return certify(tabulate(make_player(id, rules), rules), id, rules)
