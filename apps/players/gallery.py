"""The players to choose from: those that need no training, and every saved run. Needs no torch.

A player is identified by its name (`search-depth=4`) or by the place of its certificate
(`runs/dqn-0`). An id is looked up among the places that were found. It is never used as a path, so
no id can reach a file that is not listed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

import agents
from apps.players import pupil, titles
from apps.players.seat import Seat, seat_at, seed_of, sha256_of
from apps.players.titles import BOARDS, GROUPS, LEARNER, LEARNER_ID, PLAYERS, title_of
from tictactoe_env import opponents
from tictactoe_env.certificates.certificate import (
    OF_PLAYER,
    certify,
    check_digest,
    read,
    verify,
)
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.runs import FOLDERS, certificates, place_of, run_named
from tictactoe_env.certificates.stated import CertificateError, Stated, name_of
from tictactoe_env.certificates.trained import facts_of, trained_names
from tictactoe_env.errors import printable
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.positions import ENUMERABLE
from tictactoe_env.exact.solver import can_solve
from tictactoe_env.files import MANIFEST
from tictactoe_env.games.game import Participant
from tictactoe_env.opponents import AGENT, RUN, TRAINED, Player
from tictactoe_env.rules import MAX_BITS, Rules
from training import learned

QUICK_CELLS = 9  # of boards on which a certificate is verified when it is listed, in 20 ms


@dataclass(frozen=True)
class Entry:
    """A player that can be chosen, as a list tells of it, or a broken certificate.

    facts: its certificate without the moves; None for a player without one. is_verified: True if
    all results follow from the moves. sha256: of the certificate's file, or of the moves of a
    trained player. reason: why the certificate is broken, or "". learned: the games that a run has
    learned from since its training; None if it does not learn. foe: of a best response, the entry
    of the player that it replies to, on whose boards it plays.
    """

    player: Player
    facts: Certificate | None = None
    is_verified: bool = True
    sha256: str = ""
    reason: str = ""
    learned: int | None = field(default=None, compare=False)
    foe: Entry | None = None

    @property
    def id(self) -> str:
        """The name of the player, or the place of its certificate."""
        return self.player.id

    @property
    def kind(self) -> str:
        """AGENT, also for a learner without a game, TRAINED or RUN."""
        return self.player.kind

    @cached_property
    def title(self) -> str:
        """The title that people call it by."""
        return title_of(self.id, self.stated)

    @property
    def stated(self) -> Stated | None:
        """What its certificate states of its training."""
        return None if self.facts is None else self.facts.stated

    @property
    def agent(self) -> str:
        """The trained agent, or the name without options."""
        return self.player.name if self.stated is None else self.stated.agent

    @property
    def broken(self) -> bool:
        """True if its certificate is broken."""
        return bool(self.reason)

    @property
    def group(self) -> str:
        """The group in which a list shows it, a key of `titles.GROUPS`."""
        if self.id in PLAYERS:
            return PLAYERS[self.id]
        if self.kind == RUN:
            return "run"
        if self.kind == TRAINED:
            return "proven" if self.unbeatable else "beatable"
        if self.agent in {*PLAYERS, *titles.WITH_OPTIONS}:
            return "strong"
        return "other"

    @property
    def description(self) -> str:
        """A sentence about it, or why its certificate is broken; it says what is only claimed."""
        if self.broken:
            return self.reason
        if self.facts is None:
            return titles.sentence_of(self.id) or ", ".join(
                [self.player.name, *(f"{key} {value}" for key, value in self.player.options)]
            )
        said = self.facts.verdict(games=False)
        if self.kind == TRAINED:
            return said
        if not self.is_verified:
            said = f"it claims, not verified: {said}"
        return f"on {self.facts.rules}: {said}"

    @property
    def sentence(self) -> str:
        """The description, and what it has learned."""
        if not self.learned:
            return self.description
        return f"{self.description}; {pupil.learned_text(self.learned)}"

    @property
    def unbeatable(self) -> bool | None:
        """True if its certificate proves it, of one that was trained as one side for that side.

        None for a player without a certificate, and for one that is not verified.
        """
        if self.facts is None or not self.is_verified:
            return None
        return all(one.unbeatable for one in self.facts.trained.values())

    @property
    def side(self) -> str:
        """The only side that it was trained to play; "" for both."""
        return "" if self.facts is None else self.facts.only

    @property
    def results(self) -> str:
        """The wins of a trained player against random moves, and its proof; "" for others."""
        if self.facts is None or self.kind != TRAINED:
            return ""
        return titles.results_of(self.facts)

    @property
    def method(self) -> str:
        """The method of its preset, in a sentence; "" without a preset."""
        if self.stated is None or self.stated.preset is None:
            return ""
        preset = agents.presets(self.stated.agent).get(self.stated.preset)
        return "" if preset is None else preset.sentence

    @property
    def rules(self) -> Rules | None:
        """The board of its certificate, or of the learner; None for any board of `max_cells`."""
        if self.foe is not None:
            return self.foe.rules
        if self.facts is not None:
            return self.facts.rules
        return pupil.LEARNER_RULES if self.learned is not None else None

    @property
    def max_cells(self) -> int:
        """The most cells of a board on which it plays; minimax plays on one more, see `plays`."""
        if self.foe is not None:
            return self.foe.max_cells
        options = dict(self.player.options)
        is_limited = options.get("depth") or options.get("seconds")
        searches = self.player.name == "search" and not is_limited
        return ENUMERABLE if self.is_minimax or searches else MAX_BITS

    @property
    def is_minimax(self) -> bool:
        """True for minimax, under any of its names."""
        return self.player.name.startswith("minimax")

    @property
    def where(self) -> str:
        """The boards it plays on, in words."""
        if self.rules:
            boards = dict.fromkeys([self.rules, *BOARDS])  # its own first, and each once
            return " and ".join(str(board) for board in boards if self.plays(board))
        if self.max_cells >= MAX_BITS:
            return "any board"
        also = f" and {CONNECT_FOUR}" if self.plays(CONNECT_FOUR) else ""
        return f"boards of up to {self.max_cells} cells{also}"

    @property
    def participant(self) -> Participant:
        """The player as the game store names it; a run has the sha256 of its certificate."""
        kind = AGENT if self.player.place is None else RUN
        return Participant(kind, self.id, self.sha256)

    def plays(self, rules: Rules) -> bool:
        """True if it plays on this board."""
        if self.broken:
            return False
        if self.foe is not None:
            return self.foe.plays(rules)
        if self.kind == TRAINED:
            return opponents.is_trained(self.id, rules)
        if self.rules:
            return rules == self.rules
        return can_solve(rules) if self.is_minimax else rules.cells <= self.max_cells

    def seat(self, rules: Rules) -> Seat:
        """The player at a board. Raises ValueError if it is broken, or plays on another board."""
        if self.broken:
            raise CertificateError(f"{self.id} is broken: {self.reason}")
        if not self.plays(rules):
            raise ValueError(f"{self.id} plays on {self.where}, not on {rules}: choose another")
        return seat_at(self.player, rules)

    def certificate(self) -> Certificate:
        """The certificate of a run or a trained agent, verified, or one that is computed, on 3x3.

        Of a trained agent on a larger board it is as it comes with the package.
        Raises CertificateError (a ValueError) if the results do not follow from the moves, and
        ProofLimitError for a board that is too large.
        """
        found = self.player.certificate()
        if found is None:
            rules = self.rules or Rules()
            policy = self.seat(rules).policy
            assert policy is not None, "it is no person"
            return certify(policy, name_of(self.id), rules, seed=seed_of(policy))
        if not (self.kind == TRAINED and found.is_of_reach):
            verify(found)
        return found


class UnknownPlayerError(ValueError):
    """There is no player of this id."""


class Gallery:
    """The players of `titles.PLAYERS`, all other opponents, and the saved runs in `folders`.

    The id of a run begins with the last part of its folder's path, so no two folders may end in the
    same part. A certificate that has not changed is not read again. Threads may share it.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]] = FOLDERS):
        self.folders = {Path(folder).resolve().name: Path(folder) for folder in folders}
        self._titles: dict[str, str] = {}  # of the runs that were read

    def entries(self) -> list[Entry]:
        """All entries: built in, registered, trained, then runs by id, broken ones included."""
        names = dict.fromkeys([*PLAYERS, *opponents.untrained_names()])
        untrained = [name for name in names if not opponents.is_trained(name)]
        named = map(opponents.named_player, [*untrained, *trained_names(None)])
        runs = [self._entry(player) for player in self._runs()]
        runs.sort(key=lambda entry: (entry.kind, entry.id))
        return [*(self._entry(player) for player in named if player is not None), *runs]

    def player(self, id: str, rules: Rules | None = None) -> Player:
        """The player of an id, a name with options, `latest:AGENT` or `best:AGENT`.

        `best-response:ID` is the best response to any of them.
        rules: prefer a run on this board. Only the last two read certificates. Raises
        UnknownPlayerError (a ValueError), with a guess, and ValueError for a wrong option and for a
        trained agent that does not play on `rules`.
        """
        named = opponents.named_player(id, rules)
        if named is not None:
            return named
        if (foe := opponents.foe_of(id)) is not None:
            return self.player(foe, rules).best_response
        folders = list(self.folders.values())
        if id == LEARNER:
            id = LEARNER_ID
        if id.startswith((opponents.LATEST, opponents.BEST)):
            run = run_named(id, rules, folders)
            for player in self._runs():
                if run is not None and player.place == place_of(run.file):
                    return player
        for player in self._runs(id.split("/")):
            if player.id == id:
                return player
        known = opponents.known_names(folders)
        raise UnknownPlayerError(str(opponents.unknown_player("agent", id, known)))

    def entry(self, id: str, rules: Rules | None = None) -> Entry:
        """The entry of such a player. A run is read if it has changed."""
        return self._entry(self.player(id, rules))

    def title(self, id: str) -> str:
        """The title of a player, who may be here no more; nothing is read for it."""
        return self._titles.get(id) or title_of(id)

    def _runs(self, way: Sequence[str] | None = None) -> Iterator[Player]:
        """Every run, and a learner that has no game yet.

        way: the parts of an id; only the folders that it names are searched.
        """
        for name, folder in self.folders.items():
            if way is not None and way[0] != name:
                continue
            for path in certificates(folder, way and way[1:]):
                place = place_of(path)
                id = "/".join((name, *place.relative_to(folder).parts))
                yield Player(id, RUN, place=place, stamp=_stamp_of(place))
        home, name = LEARNER_ID.split("/")
        if home in self.folders and not (self.folders[home] / name).exists():
            yield Player(LEARNER_ID, AGENT, pupil.TRIE, place=self.folders[home] / name)

    def _entry(self, player: Player) -> Entry:
        """The entry of a player; that of a run is read again if it has changed."""
        if player.kind == TRAINED:
            facts = facts_of(player.id)
            return Entry(player, facts, sha256=facts.sha256_of_moves)
        if player.foe is not None:
            return Entry(player, foe=self._entry(player.foe))
        if player.place is None:
            return Entry(player)
        entry = _run_entry(player, pupil.stamp_of(player.place / learned.FILE))
        self._titles[entry.id] = entry.title
        return entry


def _stamp_of(place: Path) -> tuple[int, ...]:
    """Changes with what says who plays a run or a certificate."""
    files = [place]
    if place.is_dir():
        files = [place / name for name in (*OF_PLAYER, MANIFEST)]
    return tuple(chain.from_iterable(map(pupil.stamp_of, files)))


def grouped(entries: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    """The players of each group that is not empty, with its heading."""
    found: dict[str, list[Entry]] = {group: [] for group in GROUPS}
    for entry in entries:
        found[entry.group].append(entry)
    return [(GROUPS[group].heading, members) for group, members in found.items() if members]


@cache
def _run_entry(player: Player, games: object) -> Entry:
    """The entry of a certificate, or of a learner that has no game yet, and so no folder.

    games: the stamp of those that it has learned, for the cache alone. On boards of up to
    QUICK_CELLS cells the certificate is verified; on larger ones its results are claims.
    """
    place = player.place
    assert place is not None, "it is a run"
    if player.kind == AGENT:
        return Entry(player, learned=0)
    try:
        Participant(RUN, player.id)  # raises a ValueError for a path that is no name
        found = read(place)
        check_digest(found)
        is_small = found.rules.cells <= QUICK_CELLS
        if is_small:
            verify(found)
        count = None
        if pupil.learns(place, found.stated.agent):
            count = pupil.Pupil(place).games
        facts = replace(found, moves={})
        return Entry(player, facts, is_small, sha256_of(place), learned=count)
    except (ValueError, OSError) as error:
        shown = player._replace(id=printable(player.id))
        return Entry(shown, reason=printable(error)[:300])
