"""The players to choose from: those that need no training, and every saved run. Needs no torch.

A player is identified by its name (`search-depth=4`) or by the place of its certificate
(`runs/dqn-0`). An id is looked up among the places that were found. It is never used as a path, so
no id can reach a file that is not listed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

import agents
from apps.players import about, pupil
from apps.players.about import BOARDS, LEARNER, LEARNER_ID, PLAYERS, title_of
from apps.players.seat import Seat, named_seat, run_seat
from tictactoe_env import opponents
from tictactoe_env.certificates.certificate import (
    FILE,
    certify,
    check_digest,
    read,
    read_bytes,
    verify,
)
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.runs import (
    FOLDERS,
    MAX_FOUND,
    certificates,
    newest_run,
    place_of,
)
from tictactoe_env.certificates.stated import CertificateError, name_of
from tictactoe_env.errors import printable, unknown_name
from tictactoe_env.exact.positions import ENUMERABLE
from tictactoe_env.games.game import MAX_NAME, Participant
from tictactoe_env.rules import MAX_BITS, Rules
from tictactoe_env.search.mcts import MCTSPolicy
from tictactoe_env.trained import packed
from training import learned

QUICK_CELLS = 9  # of boards on which a certificate is verified when it is listed, in 20 ms


@dataclass(frozen=True)
class Entry:
    """A player that can be chosen, or a broken certificate.

    kind: "agent" (needs no training), "trained" (comes with the package) or "run" (a saved run);
    the last two have a certificate. title: what people call it. about: a sentence, or why the
    certificate is broken. rules: the board of the certificate; None: any board of at most
    `max_cells`. path: of the certificate's file. sha256: of that file, or of the moves of a
    "trained" player. agent: the trained agent, or the name without options.
    unbeatable: proven by the certificate, of a run that was trained as one side for that side; None
    for a player without one, and until it is verified that it follows from the moves. `about` says
    that what is not verified is a claim.
    side: the only side that a "trained" player or a run was trained to play; "" for both.
    learned: the games that a run has learned from since its training; None if it does not learn.
    results: of a "trained" player, its wins against random moves and its proof, in a sentence.
    method: of its preset, in a sentence. Both are "" for others.
    """

    id: str
    kind: str
    title: str
    about: str
    max_cells: int = MAX_BITS
    rules: Rules | None = None
    path: Path | None = None
    sha256: str = ""
    agent: str = ""
    unbeatable: bool | None = None
    broken: bool = False
    learned: int | None = field(default=None, compare=False)
    side: str = ""
    results: str = ""
    method: str = ""

    @property
    def group(self) -> str:
        """The group in which a list shows it, a key of `about.GROUPS`."""
        if self.id in PLAYERS:
            return PLAYERS[self.id].group
        if self.kind == "run":
            return "run"
        if self.kind == "trained":
            return "proven" if self.unbeatable else "beatable"
        has_options = self.agent in {*PLAYERS, *about.WITH_OPTIONS}
        return "strong" if has_options else "other"

    @property
    def sentence(self) -> str:
        """`about`, and what it has learned."""
        if not self.learned:
            return self.about
        return f"{self.about}; {pupil.learned_text(self.learned)}"

    @property
    def where(self) -> str:
        """The boards it plays on, in words."""
        if self.rules:
            boards = dict.fromkeys([self.rules, *BOARDS])  # its own first, and each once
            return " and ".join(str(board) for board in boards if self.plays(board))
        if self.max_cells >= MAX_BITS:
            return "any board"
        return f"boards of up to {self.max_cells} cells"

    @property
    def participant(self) -> Participant:
        """The player as the game store names it; a run has the sha256 of its certificate."""
        kind = "run" if self.path else "agent"
        return Participant(kind, self.id, self.sha256)

    def plays(self, rules: Rules) -> bool:
        """True if it plays on this board."""
        if self.broken:
            return False
        if self.kind == "trained":
            return opponents.is_trained(self.id, rules)
        if self.rules:
            return rules == self.rules
        return rules.cells <= self.max_cells

    def seat(self, rules: Rules) -> Seat:
        """The player at a board. Raises ValueError if it is broken, or plays on another board."""
        if self.broken:
            raise CertificateError(f"{self.id} is broken: {self.about}")
        if not self.plays(rules):
            raise ValueError(f"{self.id} plays on {self.where}, not on {rules}: choose another")
        if self.path is None:
            return named_seat(self.id, rules)
        return run_seat(place_of(self.path), self.id, rules)

    def certificate(self) -> Certificate:
        """The certificate of a run or a trained agent, verified, or one that is computed, on 3x3.

        Raises CertificateError (a ValueError) if the results do not follow from the moves, and
        ProofLimitError for a board that is too large.
        """
        if self.path is not None and self.path.exists():
            found = read(self.path)
        elif self.kind == "trained":
            found = packed.certificate_of(self.id)
        else:
            rules = self.rules or Rules()
            policy = self.seat(rules).policy
            assert policy is not None, "it is no person"
            seed = policy.seed if isinstance(policy, MCTSPolicy) else None
            return certify(policy, name_of(self.id), rules, seed=seed)
        verify(found)
        return found


class UnknownPlayerError(ValueError):
    """There is no player of this id."""


class Gallery:
    """The players of `about.PLAYERS`, all other opponents, and the saved runs in `folders`.

    The id of a run begins with the last part of its folder's path, so no two folders may end in the
    same part. A certificate that has not changed is not read again. Threads may share it.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]] = FOLDERS):
        self.folders = {Path(folder).resolve().name: Path(folder) for folder in folders}
        self._titles: dict[str, str] = {}  # of the runs that were read

    def entries(self) -> list[Entry]:
        """All entries: built in, registered, trained, then runs by id, broken ones included."""
        names = dict.fromkeys([*PLAYERS, *opponents.untrained_names()])
        named = [_named_entry(name) for name in names if not opponents.is_trained(name)]
        untrained = [entry for entry in named if entry is not None]
        trained = [_trained_entry(name) for name in packed.trained_names()]
        runs = [self._run(id, path) for id, path in self._places()]
        runs.sort(key=lambda entry: (entry.kind, entry.id))
        return [*untrained, *trained, *runs]

    def entry(self, id: str, rules: Rules | None = None) -> Entry:
        """The entry of an id, a name with options, or `latest:AGENT` (its newest run).

        rules: prefer a run on this board. A run is read if it has changed. Raises
        UnknownPlayerError (a ValueError), with a guess, and ValueError for a wrong option.
        """
        if id == LEARNER:
            id = LEARNER_ID
        if opponents.is_trained(id):
            return _trained_entry(id)
        named = _named_entry(id)
        if named is not None:
            return named
        folders = list(self.folders.values())
        newest = None
        if id.startswith(opponents.LATEST):
            newest = newest_run(id.removeprefix(opponents.LATEST), rules, folders)
        for place, path in self._places():
            if id == place or (newest is not None and path == newest.file):
                return self._run(place, path)
        raise UnknownPlayerError(str(unknown_name("agent", id, opponents.known_names(folders))))

    def title(self, id: str) -> str:
        """The title of a player, who may be here no more; nothing is read for it."""
        return self._titles.get(id) or title_of(id)

    def _places(self) -> Iterator[tuple[str, Path]]:
        """The id and the path of every certificate, and of a learner that has no game yet."""
        for name, folder in self.folders.items():
            for path in certificates(folder):
                yield "/".join((name, *place_of(path).relative_to(folder).parts)), path
        home, name = LEARNER_ID.split("/")
        if home in self.folders and not (self.folders[home] / name).exists():
            yield LEARNER_ID, self.folders[home] / name / FILE

    def _run(self, id: str, path: Path) -> Entry:
        """The entry of a certificate, maybe broken. It is read again if it has changed."""
        games = path.with_name(learned.FILE)
        entry = _run_entry(id, path, (pupil.stamp_of(path), pupil.stamp_of(games)))
        self._titles[entry.id] = entry.title
        return entry


def grouped(entries: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    """The players of each group that is not empty, with its heading."""
    found: dict[str, list[Entry]] = {group: [] for group in about.GROUPS}
    for entry in entries:
        found[entry.group].append(entry)
    headings = {group: heading for group, (heading, _) in about.GROUPS.items()}
    return [(headings[group], members) for group, members in found.items() if members]


def _named_entry(id: str) -> Entry | None:
    """The entry of a player that is made by its name and options; None for any other text."""
    named = opponents.named_player(id)
    if named is None:
        return None
    name = named.name
    options = named.options
    sentence = about.sentence_of(id)
    if not sentence:
        settings = [f"{key} {value}" for key, value in options.items()]
        sentence = ", ".join([name, *settings])
    is_limited = options.get("depth") or options.get("seconds")
    solves = name.startswith("minimax") or (name == "search" and not is_limited)
    most = ENUMERABLE if solves else MAX_BITS
    return Entry(id, "agent", title_of(id), sentence, most, agent=name)


@cache
def _trained_entry(name: str) -> Entry:
    """The entry of a trained agent of the package."""
    facts = packed.facts_of(name)
    entry = _proven_entry(name, "trained", facts)
    return replace(entry, sha256=facts.sha256_of_moves, results=about.results_of(facts))


@lru_cache(maxsize=2 * MAX_FOUND)
def _run_entry(id: str, path: Path, stamps: object) -> Entry:
    """The entry of a certificate, or of a learner that has no game yet, and so no folder.

    stamps: of the files that it is read from. On boards of up to QUICK_CELLS cells the certificate
    is verified; on larger ones its results are claims.
    """
    if id == LEARNER_ID and not path.parent.exists():
        return _beginner_entry(path)
    try:
        if len(id) > MAX_NAME or not id.isprintable() or id != id.strip():
            raise ValueError(f"its path must be at most {MAX_NAME} printable characters")
        found = read(path)
        check_digest(found)
        entry = _proven_entry(id, "run", found)
        if found.rules.cells <= QUICK_CELLS:
            verify(found)
        else:
            claim = f"it claims, not verified: {entry.about}"
            entry = replace(entry, about=claim, unbeatable=None)
        games = None
        if pupil.learns(path.parent, entry.agent):
            games = pupil.Pupil(path.parent).games
        return replace(
            entry,
            about=f"on {found.rules}: {entry.about}",
            path=path,
            sha256=hashlib.sha256(read_bytes(path)).hexdigest(),
            learned=games,
        )
    except (ValueError, OSError) as error:
        shown = printable(id)
        reason = printable(error)[:300]
        return Entry(shown, "run", title_of(shown), reason, path=path, broken=True)


def _beginner_entry(path: Path) -> Entry:
    """The entry of the learner before its first game. path: of its certificate to be."""
    return Entry(
        LEARNER_ID,
        "agent",
        PLAYERS[LEARNER_ID].title,
        PLAYERS[LEARNER_ID].about,
        rules=pupil.LEARNER_RULES,
        path=path,
        agent=pupil.TRIE,
        learned=0,
    )


def _proven_entry(id: str, kind: str, found: Certificate) -> Entry:
    """The entry of a player with a certificate, all of whose results are proven."""
    stated = found.stated
    preset = agents.presets(stated.agent).get(stated.preset or "")
    return Entry(
        id,
        kind,
        title_of(id, stated),
        found.verdict(games=False),
        rules=found.rules,
        agent=stated.agent,
        unbeatable=all(one.unbeatable for one in found.trained.values()),
        side=found.only,
        method=preset.sentence if preset else "",
    )
