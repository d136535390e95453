"""The endpoints of the JSON interface.

Every request holds the whole game. The server keeps finished games only, so any number of pages and
servers may share a store. Nothing here imports torch: agents are tables or search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from typing import Annotated, Any

import segno
from anyio import from_thread
from fastapi import Path, Query
from fastapi.responses import Response

from apps.players.gallery import Entry, Gallery
from apps.players.pupil import teach
from apps.players.titles import BOARDS, GROUPS, LEARNER_ID, story_of, unit_of
from apps.web import requests, work
from apps.web.live import LiveTraining, is_installed
from apps.web.work import Json, Processes, TooSlowError, is_heavy, is_large
from tictactoe_env.exact.accuracy import GamesAccuracy
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.solver import reason_unknown
from tictactoe_env.games.game import LARGEST, PERSON, Game, Participant
from tictactoe_env.games.store import LISTED, GameStore
from tictactoe_env.notation import board_text
from tictactoe_env.opponents import easy_opponent
from tictactoe_env.rules import Rules

MOST_NAMES = 1_000  # of players that a search finds
MOST_KEPT = 1_000  # proofs of players
MOST_LETTERS = 1_000  # of a text that is drawn as a code
SUMMARY = (
    "id",
    "title",
    "kind",
    "group",
    "description",
    "method",
    "results",
    "where",
    "side",
    "unbeatable",
    "learned",
    "broken",
)
"""The attributes of an `Entry` that a list shows."""


class Picture(Response):
    """A drawing as an SVG file."""

    media_type = "image/svg+xml"


@dataclass(eq=False)
class Api:
    """The endpoints, and what they share.

    Each request has a thread; heavy work (see `apps.web.work.is_heavy`) is done in processes.
    further: boards to play on, besides those of the page. shared: the address of the page for other
    devices; "" if they cannot reach it.
    """

    store: GameStore
    gallery: Gallery
    processes: Processes
    further: Sequence[Rules]
    shared: str
    # By the sha256 of a certificate, or the id of a player.
    proofs: dict[str, Json] = field(default_factory=dict)
    accuracies: dict[str, dict[str, GamesAccuracy]] = field(default_factory=dict)
    live: LiveTraining = field(default_factory=LiveTraining)

    def run(
        self,
        heavy: bool,
        function: Callable[..., Any],
        *asked: Any,
        is_known: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Call a function, in a process if it is heavy, else in the thread of the request.

        is_known: see `Processes.run`.
        """
        if not heavy:
            return function(*asked)
        run = partial(self.processes.run, is_known=is_known)
        return from_thread.run(run, function, *asked)

    def end(self) -> None:
        """End all that is computed in processes."""
        self.processes.end()
        self.live.kill()

    # --- agents -----------------------------------------------------------------------------------

    def agents(self) -> Json:
        """Every agent that can be chosen, the boards of the page and of the runs, and `shared`."""
        entries = self.gallery.entries()
        boards = boards_of(entries, self.further)
        return {
            "agents": [summary(entry, boards) for entry in entries],
            "groups": groups(),
            **of_boards(boards),
            "shared": self.shared,
        }

    def agent(self, id: str) -> Json:
        """An agent with its certificate without the moves, or with the reason why there is none.

        Of a run also the exact evaluations during its training, as its metrics.csv has them, and
        who beats whom among the policies that it has kept.
        """
        entry = self.gallery.entry(id)
        key = entry.sha256 or entry.id
        found = self.proofs.get(key)
        if found is None:
            try:
                found = self.run(True, work.proven, entry, is_known=lambda: key in self.proofs)
            except (ValueError, TooSlowError) as error:
                found = {"certificate": None, "reason": str(error)[:500]}
            found = kept(self.proofs, key, found)
        return {**described(entry), **found}

    def accuracy(self, id: str) -> Json:
        """The accuracy of an agent's moves on 6x7 with gravity: see `exact.accuracy`.

        Each request plays games of one more kind, which takes seconds, until none is `left`.
        """
        entry = self.gallery.entry(id)
        known = kept(self.accuracies, entry.sha256 or entry.id, {})
        player = self.gallery.player(id, CONNECT_FOUR)
        before = dict(known)
        games = self.run(
            True, work.next_games, player, before, is_known=lambda: len(known) > len(before)
        )
        known.update(games or {})
        return work.accuracy(dict(known))

    def certificate(self, id: str) -> Response:
        """The whole certificate of an agent as a file, which `evaluate.py` verifies again."""
        entry = self.gallery.entry(id)
        found = self.run(True, entry.certificate)
        name = re.sub(r"[^A-Za-z0-9.=_-]+", "-", entry.id.removesuffix(".json")) + ".json"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(json.dumps(found.to_json(), indent=1), 200, headers, "application/json")

    def code(self, text: Annotated[str, Query(min_length=1, max_length=MOST_LETTERS)]) -> Picture:
        """A picture of a text as a QR code, which a phone reads."""
        picture = BytesIO()
        segno.make_qr(text).save(picture, kind="svg", omitsize=True)
        return Picture(picture.getvalue())

    # --- training ---------------------------------------------------------------------------------

    def trains(self) -> Json:
        """Whether a network can be trained here, while one watches."""
        return {"ppo": is_installed()}

    def train(self, asked: requests.TrainingAsked) -> Json:
        """How a network plays in its training: see `apps.web.live.answer`."""
        if not is_installed():
            raise ValueError('this needs Stable-Baselines3: pip install "tictactoe-env[sb3]"')
        return self.live.ask(asked.id, asked.instead_of, asked.seed, asked.question)

    # --- positions --------------------------------------------------------------------------------

    def move(self, asked: requests.MoveAsked) -> Json:
        """The cell that an agent marks."""
        game = asked.state
        player = self.gallery.player(asked.agent, game.rules)
        if game.ended:
            raise ValueError(f"the game is over on {board_text(game.board, game.rules)!r}")
        seed = None if asked.seed is None else (asked.seed, len(game.moves))
        heavy = is_heavy(player, game.rules)
        return {"cell": self.run(heavy, work.move, player, game.rules, game.board, seed)}

    def analysis(self, asked: requests.AnalysisAsked) -> Json:
        """The thoughts of an agent, null at the end of a game, and the truth.

        The truth is the worth of the position and of each move, null on taken cells: see `exact`.
        """
        game = asked.state
        rules = game.rules
        board = game.board
        answer: Json = {}
        if asked.agent is not None:
            player = self.gallery.player(asked.agent, rules)
            answer["thoughts"] = None
            if not game.ended:
                heavy = is_heavy(player, rules)
                found = self.run(heavy, work.thoughts, player, rules, board, asked.values)
                answer["thoughts"] = found
        if asked.truth:
            answer |= self.exact("truth", rules, work.worths, board, rules)
        return answer

    def verdicts(self, asked: requests.FinishedAsked) -> Json:
        """The verdict on each move of a finished game: see `exact`."""
        game = asked.game()
        return self.exact("verdicts", game.rules, work.judged, game)

    def exact(self, name: str, rules: Rules, function: Callable[..., Any], *asked: Any) -> Json:
        """What a function computes from exact values, or null and in "unknown" why they are not."""
        if reason := reason_unknown(rules):
            return {name: None, "unknown": reason}
        return {name: self.run(is_large(rules), function, *asked)}

    # --- games ------------------------------------------------------------------------------------

    def games(self, asked: Annotated[requests.GamesAsked, Query()]) -> Json:
        """Kept games, the newest first; the count of all; `before` for the next page, or null."""
        chosen: Json = {"people": asked.people, "result": asked.result, "origin": LISTED}
        if asked.search:
            chosen["player"] = self.names_with(asked.search)
        games = self.store.list(asked.limit, asked.before, **chosen)
        is_full = len(games) == asked.limit
        return {
            "games": [self.game_json(game) for game in games],
            "count": self.store.count(**chosen),
            "next": games[-1].id if is_full else None,
        }

    def names_with(self, search: str) -> list[str]:
        """The names of players in the store with a text in the name or in the title."""
        wanted = search.strip().casefold()
        found = [
            name
            for name in self.store.players()
            if wanted in f"{name}\n{self.gallery.title(name)}".casefold()
        ]
        return found[:MOST_NAMES]

    def game(self, id: Annotated[int, Path(ge=1, le=LARGEST)]) -> Json:
        """A kept game."""
        return self.game_json(self.store.get(id))

    def game_json(self, game: Game) -> Json:
        """A game as JSON values, with the titles of its players."""
        values: Json = {**game.as_json(), "cells": game.moves}
        for side, player in (("x", game.x), ("o", game.o)):
            has_name = player.kind == "human" and player.name != PERSON
            values[side]["title"] = player.name if has_name else self.gallery.title(player.name)
        return values

    def keep(self, asked: requests.GameAsked) -> Json:
        """Keep a finished game, with the names that are sent: who really moved is not checked.

        Returns its number, and what became of it for each player that learns.
        """
        ids = (asked.x, asked.o)
        agents = {id: self.gallery.entry(id) for id in ids if id != PERSON}
        person = Participant("human", PERSON)
        x, o = (agents[id].participant if id in agents else person for id in ids)
        game = asked.game(x=x, o=o, side=asked.side, seed=asked.seed)
        id = self.store.add(game)
        learned = self.learn(game, agents.values(), PERSON in ids) if asked.learn else {}
        return {"id": id, "learned": learned}

    def learn(self, game: Game, agents: Iterable[Entry], has_person: bool) -> dict[str, str]:
        """Let those agents that can learn do so from a kept game.

        The apprentice looks on at every game of a person, once it has its first one. Returns what
        became of it, by agent.
        """
        try:
            present = list(agents)
            if has_person:
                runs = [one for one in self.gallery.entries() if one.kind == "run"]
                present += [one for one in runs if one.id == LEARNER_ID]
            learners = [one for one in present if one.learned is not None]
            seats = [work.seat(one.player, game.rules) for one in learners if one.plays(game.rules)]
            return teach((seat.pupil for seat in seats if seat.pupil), game)
        except ValueError as error:  # the game itself is kept
            return {"learning": f"has failed: {error}"[:300]}


def kept(known: dict[str, dict[str, Any]], key: str, found: dict[str, Any]) -> dict[str, Any]:
    """What is kept by this key, and what was found from now on if that is nothing.

    Of more than MOST_KEPT the oldest one is forgotten.
    """
    found = known.setdefault(key, found)
    if len(known) > MOST_KEPT:
        known.pop(next(iter(known)), None)
    return found


def groups() -> list[Json]:
    """The groups of a list of players."""
    return [
        {"id": id, "heading": group.heading, "description": group.description}
        for id, group in GROUPS.items()
    ]


def boards_of(entries: Iterable[Entry], further: Iterable[Rules] = ()) -> list[Rules]:
    """The boards of the page, then further boards, and those of some players."""
    own = [entry.rules for entry in entries if entry.rules and not entry.broken]
    return list(dict.fromkeys([*BOARDS, *further, *own]))


def of_boards(boards: Sequence[Rules]) -> Json:
    """The boards, and for each the easy opponent, and why its truth is unknown, "" if it is not."""
    return {
        "boards": [board.to_json() for board in boards],
        "easy": [easy_opponent(board) for board in boards],
        "unknown": [reason_unknown(board) for board in boards],
    }


def summary(entry: Entry, boards: Iterable[Rules]) -> Json:
    """A player as a list shows it. Of these boards it has those on which it plays."""
    values = {name: getattr(entry, name) for name in SUMMARY}
    return {**values, "boards": [board.to_json() for board in boards if entry.plays(board)]}


def described(entry: Entry) -> Json:
    """A player as its page shows it, without its proof."""
    story = "" if entry.kind == "agent" else story_of(entry.agent)
    return {**summary(entry, boards_of([entry])), "story": story, "unit": unit_of(entry.agent)}
