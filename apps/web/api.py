"""The endpoints of the JSON interface.

Every request holds the whole game. The server keeps finished games only, so any number of pages and
servers may share a store. Nothing here imports torch: agents are tables or search.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any

import anyio
from anyio.to_thread import run_sync as in_thread
from fastapi import Path, Query
from fastapi.responses import Response

from apps.players.boards import BOARDS
from apps.players.gallery import BrokenPlayerError, Entry, Gallery
from apps.players.groups import ABOUT, GROUPS
from apps.players.titles import story_of, title_of, unit_of
from apps.web import requests
from apps.web.answers import AgentSummary
from apps.web.processes import BusyError, Processes, TooSlowError
from apps.web.refusals import Refusal
from apps.web.work import Work, in_process, is_heavy, is_large
from tictactoe_env.exact.positions import can_enumerate
from tictactoe_env.games.analysis import truth
from tictactoe_env.games.game import Game, Participant
from tictactoe_env.games.store import LISTED, GameStore
from tictactoe_env.notation import board_text, cell_text, replay
from tictactoe_env.rules import Standing, standing

SCAN_SECONDS = 0.1  # of one request, for certificates that were not read before
MOST_NAMES = 1_000  # of players that a search finds
Json = dict[str, Any]
AgentPath = Annotated[str, Path(examples=["minimax", "runs/dqn-0"])]
GamePath = Annotated[str, Path(json_schema_extra={"pattern": "^[1-9][0-9]{0,18}$"})]


class Api:
    """The endpoints, and what they share. `apps.web.answers` has a model for each answer.

    What is looked up in a table is answered at once, other cheap work is done in threads, and heavy
    work (see `apps.web.work.is_heavy`) in processes.
    """

    def __init__(self, store: GameStore, gallery: Gallery, processes: Processes | None = None):
        self.store, self.gallery, self.work = store, gallery, Work(gallery)
        self.processes = processes or Processes()
        self.proofs: dict[str, Json] = {}  # by the sha256 of a certificate, or the id of a player
        self._proving = anyio.Lock()

    async def agents(self) -> Json:
        """Every agent that can be chosen, and the boards of the page and of the runs.

        Certificates are read for SCAN_SECONDS; `unread` of them are left for the next request.
        """
        entries, unread = await in_thread(self.gallery.scan, SCAN_SECONDS)
        of_runs = [entry.rules for entry in entries if entry.rules and not entry.broken]
        boards = list(dict.fromkeys([*BOARDS, *of_runs]))
        return {"agents": entries, "groups": groups(), "boards": boards, "unread": unread}

    async def agent(self, id: AgentPath) -> Json:
        """One agent with its certificate, or with the reason why there is none."""
        entry = await self.entry(id, anew=True)  # its files may have changed
        if entry.broken:
            proven = {"certificate": None, "reason": f"{entry.id} is broken: {entry.about}"}
        else:
            proven = await self.proven(entry)
        return described(await self.entry(entry.id), proven)  # maybe broken now

    async def proven(self, entry: Entry) -> Json:
        """What `prove` answers, or has answered for the same certificate before."""
        key = entry.sha256 or entry.id
        if key not in self.proofs:
            async with self._proving:
                if key not in self.proofs:  # nor proven for another request meanwhile
                    self.proofs[key] = await self.prove(entry)
        return self.proofs[key]

    async def prove(self, entry: Entry) -> Json:
        """The verified certificate of an agent without the moves, or why there is none."""
        try:
            found = await self.compute(True, entry, "certificate", entry)
            return {**found, "reason": ""}
        except (ValueError, TooSlowError) as error:
            return {"certificate": None, "reason": str(error)[:500]}

    async def compute(self, heavy: bool, entry: Entry, what: str, *asked: Any) -> Any:
        """Call a method of Work about an agent. An agent that proves to be broken is remembered."""
        try:
            return await self.run(heavy, what, *asked)
        except BrokenPlayerError as error:
            raise self.gallery.mark_broken(entry, error.reason) from None

    async def run(self, heavy: bool, what: str, *asked: Any) -> Any:
        """Call a method of Work, in a process if it is heavy, else in a thread."""
        if heavy:
            return await self.processes.run(in_process, tuple(self.gallery.folders), what, *asked)
        return await in_thread(getattr(self.work, what), *asked)

    async def entry(self, id: str, anew: bool = False) -> Entry:
        """The agent of this id; refused with 404 if there is none.

        anew: see whether its files have changed. Raises ValueError for a wrong option of it.
        """
        found = None if anew else self.gallery.known(id)
        found = found or await in_thread(self.gallery.found, id) or self.gallery.known(id)
        if found is None:
            raise Refusal(404, f"unknown agent {id[:120]!r}: GET /api/agents lists them")
        return found

    async def certificate(self, id: AgentPath) -> Response:
        """The whole certificate of an agent as a file, which `evaluate.py` verifies again."""
        entry = await self.entry(id, anew=True)
        content = await self.compute(True, entry, "certificate_file", entry)
        name = re.sub(r"[^A-Za-z0-9.=_-]+", "-", entry.id.removesuffix(".json")) + ".json"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, 200, headers, "application/json")

    async def growth(self, id: AgentPath) -> Json:
        """How a run got stronger during its training."""
        entry = await self.entry(id)
        return {"steps": await self.run(False, "growth", entry)}

    async def move(self, asked: requests.MoveAsked) -> Json:
        """The move of an agent, and how the game stands after it."""
        game, entry = game_of(asked), await self.entry(asked.agent)
        if game.ended:
            text = board_text(game.board, game.rules)
            raise ValueError(f"the game is over on {text!r}: there is no move to make")
        seed = None if asked.seed is None else (asked.seed, len(game.moves))
        question = (entry, game.rules, game.board, seed)
        seat = self.work.ready(entry, game.rules)
        if seat is not None and seat.is_quick:
            cell = self.work.move(*question)
        else:
            cell = await self.compute(is_heavy(entry, game.rules), entry, "move", *question)
        after = standing([*game.moves, cell], game.rules)
        name, illegal = cell_text(cell, game.rules), after.ended == "illegal"
        insight = await self.insight(after, asked.thinker, asked.values, asked.truth)
        return {"cell": cell, "name": name, "illegal": illegal, **insight}

    async def analysis(self, asked: requests.AnalysisAsked) -> Json:
        """How a game stands, what an agent thinks of each move, and what is true."""
        return await self.insight(game_of(asked), asked.agent, asked.values, asked.truth)

    async def insight(
        self, game: Standing, thinker: str | None, values: str, with_truth: bool
    ) -> Json:
        """The standing; with a thinker its thoughts; if `with_truth`, the exact values.

        values: the kind of values in the thoughts, "own" or "expected".
        """
        answer: Json = {"standing": standing_json(game)}
        if thinker is not None:
            entry = await self.entry(thinker)
            answer["thoughts"] = None if game.ended else await self.thoughts(game, entry, values)
        if with_truth:
            answer["truth"] = await self.truth(game)
        return answer

    async def thoughts(self, game: Standing, entry: Entry, values: str) -> Json:
        """What an agent thinks of each cell."""
        question = (entry, game.rules, game.board, values)
        seat = self.work.ready(entry, game.rules)
        if seat is not None and seat.thinks_at_once:
            return self.work.thoughts(*question)
        heavy = is_heavy(entry, game.rules, thinks=True)
        found: Json = await self.compute(heavy, entry, "thoughts", *question)
        return found

    async def truth(self, game: Standing) -> Json:
        """The exact values of a position and of each move, or why they are not known."""
        rules = game.rules
        if not can_enumerate(rules):
            return {"position": None, "moves": None, "reason": f"{rules} is too large to be solved"}
        if is_large(rules):
            found = await self.run(True, "truth", rules, game.board)
        else:
            found = truth(game.board, rules)
        return {**found._asdict(), "reason": ""}

    async def games(self, asked: Annotated[requests.GamesAsked, Query()]) -> Json:
        """Kept games, the newest first."""
        chosen: Json = asked.model_dump(include={"player", "people", "result"})
        chosen["origin"] = asked.origin or LISTED
        if asked.search and asked.player is None:
            chosen["player"] = await in_thread(self.named_like, asked.search)
        found = await in_thread(partial(self.store.list, asked.limit, asked.before, **chosen))
        count = await in_thread(partial(self.store.count, **chosen))
        following = found[-1].id if len(found) == asked.limit else None
        games = [self.game_json(game) for game in found]
        return {"games": games, "count": count, "next": following}

    def named_like(self, text: str) -> list[str]:
        """The names of players in the store that a search finds by their name or title."""
        wanted = text.strip().casefold()
        names = self.store.players()
        return [
            name
            for name in names
            if wanted in name.casefold() or wanted in self.title(name).lower()
        ][:MOST_NAMES]

    def title(self, name: str) -> str:
        """What people call a player of a kept game, who may be here no more."""
        entry = self.gallery.listed_before(name)
        return entry.title if entry is not None else title_of(name)

    def game_json(self, game: Game) -> Json:
        """The values of `apps.web.answers.GameAnswer`."""
        line = standing(game.moves, game.rules).line
        values: Json = {**game.as_json(), "cells": game.moves, "line": line}
        for side, player in (("x", game.x), ("o", game.o)):
            is_named = player.kind == "human" and player.name != requests.HUMAN
            values[side]["title"] = player.name if is_named else self.title(player.name)
        return values

    async def keep(self, asked: requests.GameAsked) -> Json:
        """Keep a finished game, with the names that are sent: who really moved is not checked."""
        x, o = [
            Participant(requests.HUMAN, requests.HUMAN)
            if id == requests.HUMAN
            else self.gallery.player((await self.entry(id)).id)
            for id in (asked.x, asked.o)
        ]
        game = finished(asked, x=x, o=o, side=asked.side, seed=asked.seed)
        id = await in_thread(self.store.add, game)
        learned = await self.learn(game, asked)
        return {"id": id, "address": f"/games/{id}", "learned": learned}

    async def learn(self, game: Game, asked: requests.GameAsked) -> Json:
        """Let the players that can learn from a kept game do so; what became of it, by player."""
        has_person = requests.HUMAN in (asked.x, asked.o)
        if not asked.learn:
            return {}
        ids = [id for id in (asked.x, asked.o) if id != requests.HUMAN]
        learner = self.gallery.learner_id(game.rules) if has_person else None
        try:
            ids = list(dict.fromkeys([*ids, *filter(None, [learner])]))
            entries = [await self.entry(id) for id in ids]
            able = [one for one in entries if one.learned is not None and one.plays(game.rules)]
            found: Json = await self.run(is_large(game.rules), "teach", able, game) if able else {}
            return found
        except (ValueError, BusyError) as error:  # the game itself is kept
            return {"learning": f"has failed: {error}"[:300]}

    async def game(self, id: GamePath) -> Json:
        """A kept game."""
        if not re.fullmatch("[1-9][0-9]{0,18}", id, re.ASCII):
            raise Refusal(404, f"unknown game {id[:80]!r}: the id of a game is a number")
        return self.game_json(await in_thread(self.store.get, int(id)))

    async def verdicts(self, asked: requests.FinishedAsked) -> Json:
        """What each move of a finished game was worth, and which one decided it."""
        game = finished(asked)
        if not can_enumerate(game.rules):
            reason = f"{game.rules} is too large to be solved"
            none = dict.fromkeys(("verdicts", "turning_point", "decisive"))
            return {**none, "reason": reason}
        judged, sentence, decisive = await self.run(is_large(game.rules), "verdicts", game)
        found = {"verdicts": judged, "turning_point": sentence, "decisive": decisive}
        return {**found, "reason": ""}


def groups() -> list[Json]:
    """The values of `apps.web.answers.Group`."""
    return [{"id": id, "heading": heading, "about": ABOUT[id]} for id, heading in GROUPS.items()]


def described(entry: Entry, proven: Json) -> Json:
    """The values of `apps.web.answers.AgentAnswer`. proven: its certificate, reason and verdict."""
    story = story_of(entry.agent) if entry.kind != "agent" else ""
    about = {"story": story, "unit": unit_of(entry.agent)}
    return {**AgentSummary.model_validate(entry).model_dump(), "verdict": "", **proven, **about}


def game_of(asked: requests.Position) -> Standing:
    """How the game of a request stands. Raises IllegalMoveError if a move is illegal."""
    game = standing(asked.moves, asked.board.rules)
    if game.illegal is not None:
        replay(asked.moves[: game.illegal + 1], game.rules)  # raises, and says what is wrong
    return game


def finished(asked: requests.FinishedAsked, **about: Any) -> Game:
    """The finished game of a request. Raises ValueError for one that goes on."""
    about |= {"ended": asked.ended or "", "result": asked.result or ""}
    return Game(moves=tuple(asked.moves), rules=asked.board.rules, origin="web", **about)


def standing_json(game: Standing) -> Json:
    """The values of `apps.web.answers.Standing`."""
    result = game.winner or ("draw" if game.ended else None)
    values = {"board": board_text(game.board, game.rules), "turn": game.mover, "ended": game.ended}
    return {**values, "result": result, "line": game.line}
