"""The players to choose from: those that need no training, and every saved run. Needs no torch.

A player is identified by its name (`search-depth=4`) or by the place of its certificate
(`runs/dqn-0`). An id is looked up among the entries that were found. It is never used as a path, so
no id can reach a file that is not listed.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from apps.players.groups import group_of
from apps.players.pupil import (
    LEARNER,
    LEARNER_ABOUT,
    LEARNER_FOLDER,
    LEARNER_RULES,
    games_since,
    learned_text,
    learns,
    stamp_of_games,
    taken_of,
)
from apps.players.seat import Seat, learner_seat, named_seat, run_seat
from apps.players.summary import loses_by_illegal_moves, method_of, results_of
from apps.players.titles import title_of, title_of_run
from tictactoe_env.certificates.certificate import (
    certify,
    check_digest,
    read,
    read_bytes,
    verify,
)
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.runs import FOLDERS, certificates, newest_run, place_of
from tictactoe_env.certificates.stated import CertificateError, name_of
from tictactoe_env.errors import printable, unknown_name
from tictactoe_env.exact.positions import ENUMERABLE, TABULATED
from tictactoe_env.exact.proof import ProofLimitError
from tictactoe_env.games.game import MAX_NAME, Participant
from tictactoe_env.opponents import BUILT_IN as LISTED
from tictactoe_env.opponents import (
    EASY,
    LATEST,
    description,
    is_trained,
    known_names,
    make_opponent,
    named_player,
    registered_names,
)
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import MAX_BITS, Rules
from tictactoe_env.search.mcts import TreeSearchPolicy
from tictactoe_env.trained.packed import BOARD, certificate_of, facts_of, trained_names

BUILT_IN = {
    "random": LISTED["random"],
    EASY: "perfect play that makes 30 % of its moves at random",
    **LISTED,
    "search": "works out every game to its end",
    "search-depth=1": "takes a win and blocks yours, but does not see a fork",
    "search-depth=2": "thinks two moves ahead",
    "search-depth=4": "thinks four moves ahead",
    "mcts-playouts=50": "tries 50 games in its head before each move: plays well, with mistakes",
    "mcts-playouts=1000": "tries 1,000 games in its head before each move",
}
"""The listed players that need no training, with a sentence each."""
LARGEST = {"depth": 6, "seconds": 5, "playouts": 5_000, "milliseconds": 5_000}
"""The largest values in a name that is not listed, because a server computes the moves."""

MAX_TITLE = 120  # characters
QUICK_CELLS = 9  # of boards on which a certificate is verified when it is listed, in 20 ms


@dataclass(frozen=True)
class Entry:
    """A player that can be chosen, or a broken certificate.

    kind: "agent" (needs no training), "trained" (comes with the package) or "run" (a saved run);
    the last two have a certificate. about: a sentence, or why the certificate is broken. rules: the
    only board that the player plays on; None: any board of at most `max_cells`. path: of the
    certificate's file. sha256: of that file, or of the moves of a "trained" player. agent: the
    trained agent, or the name without options. unbeatable: what the certificate proves, of a run
    that was trained as one side for that side; None for a player without one, and until it is
    verified that it follows from the moves. verified: whether that is known; `about` says that
    what is not verified is a claim.
    side: the only side that a "trained" player or a run was trained to play; "" for both.
    title: what people call it, such as "Q-learner, seed 0"; never empty.
    learned: the games that a run has learned from since its training; None if it does not learn.
    taken: the last game of `learned.db` that its certificate covers.
    results: of a "trained" player, its wins against random moves and whether it can be beaten, in a
    sentence. method: what its preset does, in a sentence. Both are "" for others.
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
    verified: bool = False
    learned: int | None = field(default=None, compare=False)
    taken: int = 0
    title: str = ""
    side: str = ""
    results: str = ""
    method: str = ""

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", title_of(self.id))

    @property
    def name(self) -> str:
        """The last part of the id."""
        return self.id.rpartition("/")[2]

    @property
    def group(self) -> str:
        """The group in which a list shows it, a key of `groups.GROUPS`."""
        return group_of(self.id, self.kind, self.unbeatable)

    def plays(self, rules: Rules) -> bool:
        """Whether it plays on this board."""
        if self.broken:
            return False
        return rules == self.rules if self.rules else rules.cells <= self.max_cells

    @property
    def sentence(self) -> str:
        """`about`, and what it has learned."""
        return f"{self.about}; {learned_text(self.learned)}" if self.learned else self.about

    @property
    def boards(self) -> str:
        """The boards it plays on, in words."""
        if self.rules:
            return str(self.rules)
        is_any = self.max_cells >= MAX_BITS
        return "any board" if is_any else f"boards of up to {self.max_cells} cells"


class UnknownPlayerError(ValueError):
    """There is no player of this id."""


class BrokenPlayerError(CertificateError):
    """The certificate of a player, or its model, is broken: of which player, and why."""

    def __init__(self, id: str, reason: str):
        super().__init__(id, reason)
        self.id, self.reason = id, reason

    def __str__(self) -> str:
        return f"{self.id} is broken: {self.reason}"


class Gallery:
    """The players of BUILT_IN and the saved runs in `folders`.

    The id of a run begins with the last part of its folder's path. Raises ValueError if two folders
    share that part. `entries` searches the folders again. So does `entry` for an unknown id, but it
    reads only the certificate of this id. A certificate that has not changed is not read again.
    Threads may share a gallery.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]] = FOLDERS):
        self.folders = [Path(folder) for folder in folders]
        if len({folder.name for folder in self.folders}) < len(self.folders):
            names = ", ".join(map(str, self.folders))
            raise ValueError(f"the folders of a gallery must have different names, got {names}")
        self.learner = next(
            (
                folder / LEARNER
                for folder in self.folders
                if folder.name == LEARNER_FOLDER.parent.name
            ),
            None,
        )
        self._lock = threading.RLock()
        self._known: dict[Path, tuple[tuple[int, int], Entry]] = {}
        self._entries: dict[str, Entry] = {}
        self._learned: dict[Path, tuple[object, int]] = {}

    def entries(self) -> list[Entry]:
        """All entries: built in, registered, trained, then runs by id, broken ones included."""
        return self.scan()[0]

    def scan(self, seconds: float = math.inf) -> tuple[list[Entry], int]:
        """`entries` as far as they are read, and the number of certificates that are not read yet.

        No further certificate is read once `seconds` have passed; the next scan goes on from there.
        Those that were read before and have not changed cost no time.
        """
        unread = self.unread()
        found = read_entries(unread, seconds)
        self.take(found)
        return self.listed(), len(unread) - len(found)

    def unread(self) -> list[Place]:
        """The certificates that were not read since they changed last."""
        return [place for place in self._places() if self._kept(place.path) is None]

    def take(self, found: Iterable[Found]) -> None:
        """Keep entries that `read_entries` has read, here or in another process."""
        with self._lock:
            for one in found:
                self._known[one.path] = (one.stamp, one.entry)
                self._entries[one.entry.id] = one.entry

    def listed(self) -> list[Entry]:
        """The entries of which nothing has to be read: see `entries`."""
        kept = [self._kept(place.path) for place in self._places()]
        runs = [self._with_learned(entry) for entry in kept if entry is not None]
        every = self._without_files() + sorted(runs, key=lambda entry: entry.id)
        self._entries = {entry.id: entry for entry in every}
        return every

    def entry(self, id: str, rules: Rules | None = None) -> Entry:
        """The entry of an id, a name with options, or `latest:AGENT` (its newest run).

        rules: prefer a run on this board. Raises ValueError for an unknown id, with a guess, and
        for options above LARGEST.
        """
        found = self.known(id) or self.found(id, rules)
        if found is None:
            error = unknown_name("agent", id, {*known_names(self.folders), *self._entries})
            raise UnknownPlayerError(str(error))
        return found

    def known(self, id: str) -> Entry | None:
        """The entry of an id or name for which no file has to be read, else None.

        A run is known once `entries` or `found` has found it. Raises ValueError as `entry` does.
        """
        if not self._entries:
            self._entries = {entry.id: entry for entry in self._without_files()}
        if id == LEARNER and self.learner is not None:
            id = LEARNER_FOLDER.as_posix()
        return self._entries.get(id) or _named_entry(id)

    def listed_before(self, id: str) -> Entry | None:
        """The entry of an id if it was found before; nothing is searched, read or computed."""
        return self._entries.get(id)

    def found(self, id: str, rules: Rules | None = None) -> Entry | None:
        """The entry of an id as its files are now, None if there is none; `rules` as in `entry`."""
        place = self.place(id, rules)
        if place is None:
            return next((one for one in self._without_files() if one.id == id), None)
        if self._kept(place.path) is None:
            self.take(read_entries([place]))
        return self.kept(place)

    def place(self, id: str, rules: Rules | None = None) -> Place | None:
        """Where the certificate of a run is, None if there is none.

        For `latest:AGENT` all certificates are read.
        """
        if id == LEARNER and self.learner is not None:
            id = LEARNER_FOLDER.as_posix()
        path = None
        if id.startswith(LATEST):
            run = newest_run(id.removeprefix(LATEST), rules, self.folders)
            path = None if run is None else run.file
        return next((one for one in self._places() if id == one.id or path == one.path), None)

    def kept(self, place: Place) -> Entry | None:
        """The entry of a certificate that has not changed since it was read, else None."""
        entry = self._kept(place.path)
        if entry is None:
            return None
        entry = self._with_learned(entry)
        with self._lock:
            self._entries[entry.id] = entry
        return entry

    def _without_files(self) -> list[Entry]:
        """The entries for which no folder is searched."""
        found = [replace(_built_in(id), about=about) for id, about in BUILT_IN.items()]
        found += [
            Entry(name, "agent", description(name), agent=name) for name in registered_names()
        ]
        names = sorted(trained_names(), key=lambda name: loses_by_illegal_moves(facts_of(name)))
        found += [_trained_entry(name) for name in names]
        if self.learner is not None and not self.learner.exists():
            found.append(self._new_learner(self.learner))
        return found

    def _places(self) -> Iterator[Place]:
        """Every certificate. Nothing is read but the names of files."""
        for folder in self.folders:
            name = folder.resolve().name
            for path in certificates(folder):
                place = place_of(path)
                yield Place("/".join((name, *place.relative_to(folder).parts)), path)

    def _new_learner(self, folder: Path) -> Entry:
        """The entry of a learner that has no game yet, and so no folder."""
        id, about = LEARNER_FOLDER.as_posix(), f"{LEARNER_ABOUT}; it has learned from no game yet"
        cells = LEARNER_RULES.cells
        return Entry(id, "agent", about, cells, LEARNER_RULES, agent="trie", learned=0)

    def learner_id(self, rules: Rules) -> str | None:
        """The id of the learner, once it has its first game and if it plays on this board."""
        has_game = self.learner is not None and self.learner.exists()
        return LEARNER_FOLDER.as_posix() if has_game and rules == LEARNER_RULES else None

    def seat(self, id: str, rules: Rules) -> Seat:
        """The seat of a player. Raises ValueError if it is unknown, broken, or of another board."""
        return self.seat_of(self.entry(id, rules), rules)

    def seat_of(self, entry: Entry, rules: Rules) -> Seat:
        """The seat of an entry, which may come from the gallery of another process. See `seat`."""
        if entry.broken:
            raise BrokenPlayerError(entry.id, entry.about)
        if not entry.plays(rules):
            raise ValueError(
                f"{entry.id} plays on {entry.boards}, not on {rules}: choose another player or "
                "board"
            )
        if entry.path is None and entry.learned is not None and self.learner is not None:
            return learner_seat(self.learner, rules, entry.id)
        if entry.path is None:
            return named_seat(entry.id, rules)
        try:
            return run_seat(place_of(entry.path), entry.id, rules)
        except (CertificateError, OSError) as error:
            raise self.mark_broken(entry, str(error)) from None

    def player(self, id: str) -> Participant:
        """The player as the game store names it; a run has the sha256 of its certificate."""
        entry = self.entry(id)
        is_run = entry.kind == "run" or entry.learned is not None
        return Participant("run" if is_run else "agent", entry.id, entry.sha256)

    def certificate(self, id: str, rules: Rules | None = None) -> Certificate:
        """The certificate of a player, verified or computed: see `tictactoe_env.certificates`.

        rules: the board of a player without training, at most 12 cells; 3x3 by default. Raises
        ValueError for an unknown player or another board, CertificateError if the results of a
        certificate do not follow from its moves, and ProofLimitError for one that is too large.
        """
        return self.certificate_of(self.entry(id), rules)

    def certificate_of(self, entry: Entry, rules: Rules | None = None) -> Certificate:
        """The certificate of an entry, which may come from another process. See `certificate`."""
        if entry.learned is not None and entry.path is None:
            policy = self.seat_of(entry, LEARNER_RULES).policy
            return certify(policy or RandomPolicy(), entry.agent)
        if entry.path is None:
            return _certified(entry.id, rules or Rules())
        try:
            certificate = read(entry.path)
            verify(certificate)
        except ProofLimitError:  # the certificate may be right: it is too large to be checked here
            raise
        except (ValueError, OSError) as error:
            raise self.mark_broken(entry, str(error)) from None
        self._mark_verified(entry, certificate)
        if rules is not None and rules != entry.rules:
            raise ValueError(f"{entry.id} plays on {entry.boards}, not on {rules}")
        return certificate

    def mark_broken(self, entry: Entry, reason: str) -> BrokenPlayerError:
        """List a player as broken. `entries` could not know: it does not read all moves."""
        assert entry.path is not None
        broken = _broken(entry.id, entry.path, reason)
        with self._lock:
            self._known[entry.path] = (_stamp(entry.path), broken)
            self._entries[entry.id] = broken
        return BrokenPlayerError(entry.id, reason)

    def _mark_verified(self, entry: Entry, certificate: Certificate) -> None:
        """Say of an entry what its certificate proves, instead of what it claims."""
        if entry.verified or entry.path is None or entry.path not in self._known:
            return
        with self._lock:
            stamp, known = self._known[entry.path]
            found = replace(known, **_proven(entry.id, certificate, is_verified=True))
            self._known[entry.path] = (stamp, found)
            self._entries[entry.id] = found

    # --- certificates -------------------------------------------------------------------------

    def _kept(self, path: Path) -> Entry | None:
        """The entry of a certificate that has not changed since it was read, else None."""
        with self._lock:
            stamp, entry = self._known.get(path, (None, None))
        return entry if entry is not None and stamp == _stamp(path) else None

    def _with_learned(self, entry: Entry) -> Entry:
        """The entry with the number of games that its run has learned from by now."""
        if entry.broken or entry.path is None or not learns(entry.path.parent, entry.agent):
            return entry
        folder = entry.path.parent
        stamp = (stamp_of_games(folder), entry.taken)
        with self._lock:
            known, count = self._learned.get(folder, (None, 0))
        if known != stamp:
            count = games_since(folder, entry.taken)
            with self._lock:
                self._learned[folder] = (stamp, count)
        return replace(entry, learned=count)


class Place(NamedTuple):
    """Where a certificate is, and the id of its entry."""

    id: str
    path: Path


class Found(NamedTuple):
    """The entry of a certificate. stamp: of the file when it was read."""

    path: Path
    stamp: tuple[int, int]
    entry: Entry


def read_entries(places: Iterable[Place], seconds: float = math.inf) -> list[Found]:
    """The entries of certificates, which are read. The first one is; others for `seconds`."""
    found, end = list[Found](), time.monotonic() + seconds
    for id, path in places:
        if found and time.monotonic() > end:
            break
        stamp = _stamp(path)  # before reading: what is changed meanwhile is read again
        try:
            entry = _run_entry(id, path)
        except (ValueError, OSError) as error:
            entry = _broken(id, path, str(error))
        found.append(Found(path, stamp, entry))
    return found


def _broken(id: str, path: Path, reason: str) -> Entry:
    """The entry of a player that cannot be used, and why."""
    return Entry(printable(id), "run", printable(reason)[:300], path=path, broken=True)


def _stamp(path: Path) -> tuple[int, int]:
    """Changes with the content of a file; (0, 0) if there is none."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


def _built_in(id: str) -> Entry:
    entry = _named_entry(id)
    assert entry is not None, "it is a name of the package"
    return replace(entry, agent=id)


def _named_entry(id: str) -> Entry | None:
    """The entry of a name with options that is not listed; None for any other text."""
    named = named_player(id)
    if named is None:
        return None
    for key, largest in LARGEST.items() if named.name in ("search", "mcts") else ():
        if named.options.get(key, 0) > largest:
            raise ValueError(f"{key} of {named.name} must be at most {largest} here, got {id!r}")
    is_limited = bool(named.options.get("depth") or named.options.get("seconds"))
    anywhere = named.name in ("random", "mcts", *registered_names()) or is_limited
    options = ", ".join(f"{key}={value}" for key, value in named.options.items())
    about = f"{named.name} with {options}" if options else named.name
    return Entry(id, "agent", about, MAX_BITS if anywhere else ENUMERABLE, agent=named.name)


def _trained_entry(name: str) -> Entry:
    """The entry of a trained agent of the package."""
    facts = facts_of(name)
    return Entry(
        name,
        "trained",
        facts.verdict(games=False),
        BOARD.cells,
        BOARD,
        sha256=facts.sha256_of_moves,
        agent=facts.stated.agent,
        unbeatable=all(one.unbeatable for one in facts.trained.values()),
        side=facts.only,
        verified=True,  # it is part of the package
        results=results_of(facts),
        method=method_of(facts.stated.agent, facts.stated.preset),
    )


def _run_entry(id: str, path: Path) -> Entry:
    """The entry of a certificate. Raises ValueError if it is broken.

    On boards of up to QUICK_CELLS cells the certificate is verified; on larger ones what it states
    is a claim until somebody asks for it.
    """
    if len(id) > MAX_NAME or not id.isprintable() or id != id.strip():
        raise ValueError(f"its path must be at most {MAX_NAME} printable characters")
    certificate = read(path)
    check_digest(certificate)
    rules, stated = certificate.rules, certificate.stated
    is_quick = rules.cells <= QUICK_CELLS
    if is_quick:
        verify(certificate)
    is_learner = id == LEARNER_FOLDER.as_posix()
    title = title_of(id) if is_learner else title_of_run(stated.agent, stated.preset, stated.seed)
    return Entry(
        id,
        "run",
        max_cells=rules.cells,
        rules=rules,
        path=path,
        sha256=hashlib.sha256(read_bytes(path)).hexdigest(),
        agent=stated.agent,
        taken=taken_of(stated.training),
        title=title[:MAX_TITLE],
        side=certificate.only,
        method=method_of(stated.agent, stated.preset),
        **_proven(id, certificate, is_quick),
    )


def _proven(id: str, certificate: Certificate, is_verified: bool) -> dict[str, Any]:
    """The fields of an entry that say what its certificate proves, or claims."""
    stated = certificate.stated
    about = stated.label if stated.seed is None else f"{stated.label}, seed {stated.seed}"
    if id == LEARNER_FOLDER.as_posix():
        about = LEARNER_ABOUT
    claims = "" if is_verified else "it claims, not verified: "
    is_safe = all(one.unbeatable for one in certificate.trained.values())
    return {
        "about": f"{about} on {certificate.rules}: {claims}{certificate.verdict(games=False)}",
        "unbeatable": is_safe if is_verified else None,
        "verified": is_verified,
    }


@lru_cache(maxsize=32)
def _certified(id: str, rules: Rules) -> Certificate:
    """The certificate of a player without training."""
    if rules.cells > TABULATED:
        raise ValueError(
            f"nothing is proven of {id} on {rules} here, only of saved runs and on boards of at "
            f"most {TABULATED} cells (3x4); python evaluate.py proves it by the positions that it "
            "can meet"
        )
    if is_trained(id, rules):
        certificate = certificate_of(id)
        verify(certificate)
        return certificate
    policy = make_opponent(id, rules)
    seed = policy.seed if isinstance(policy, TreeSearchPolicy) else None
    return certify(policy, name_of(id), rules, seed=seed)
