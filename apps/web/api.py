"""The endpoints of the JSON interface.

Every request holds the whole game. The server keeps finished games only, so any number of pages and
servers may share a store. Nothing here imports torch: agents are tables or search.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from anyio.to_thread import run_sync as in_thread
from fastapi import Path, Query
from fastapi.responses import Response

from apps.players.about import GROUPS, LEARNER_ID, story_of, unit_of
from apps.players.gallery import Entry, Gallery
from apps.players.pupil import LEARNER_RULES, teach
from apps.web import requests, work
from apps.web.answers import AgentSummary
from apps.web.requests import BOARDS, HUMAN
from apps.web.work import Json, Processes, TooSlowError, is_heavy, is_large
from tictactoe_env.exact.positions import can_enumerate
from tictactoe_env.games.analysis import truth
from tictactoe_env.games.game import Game, Participant
from tictactoe_env.games.store import LARGEST, LISTED, GameStore
from tictactoe_env.notation import board_text
from tictactoe_env.rules import Rules, Standing, standing

MOST_NAMES = 1_000  # of players that a search finds


class Api:
    """The endpoints, and what they share. `apps.web.answers` has a model for each answer.

    Cheap work is done in threads, and heavy work (see `apps.web.work.is_heavy`) in processes.
    """

    def __init__(self, store: GameStore, gallery: Gallery, processes: Processes):
        self.store, self.gallery, self.processes = store, gallery, processes
        self.proofs: dict[str, Json] = {}  # by the sha256 of a certificate, or the id of a player

    async def run(self, heavy: bool, function: Callable[..., Any], *asked: Any) -> Any:
        """Call a function, in a process if it is heavy, else in a thread."""
        return await (self.processes.run if heavy else in_thread)(function, *asked)

    async def entry(self, id: str) -> Entry:
        """The agent of this id. Raises ValueError if there is none."""
        return await in_thread(self.gallery.entry, id)

    # --- agents -----------------------------------------------------------------------------------

    def agents(self) -> Json:
        """Every agent that can be chosen, and the boards of the page and of the runs."""
        entries = self.gallery.entries()
        of_runs = [entry.rules for entry in entries if entry.rules and not entry.broken]
        boards = list(dict.fromkeys([*BOARDS, *of_runs]))
        return {"agents": entries, "groups": groups(), "boards": boards}

    async def agent(self, id: str) -> Json:
        """One agent with its certificate, or with the reason why there is none."""
        entry = await self.entry(id)
        key = entry.sha256 or entry.id
        if key not in self.proofs:
            try:
                self.proofs[key] = await self.processes.run(work.proof, entry)
            except (ValueError, TooSlowError) as error:
                self.proofs[key] = {"certificate": None, "reason": str(error)[:500]}
        return described(entry, self.proofs[key])

    async def certificate(self, id: str) -> Response:
        """The whole certificate of an agent as a file, which `evaluate.py` verifies again."""
        entry = await self.entry(id)
        content = await self.processes.run(work.certificate_file, entry)
        name = re.sub(r"[^A-Za-z0-9.=_-]+", "-", entry.id.removesuffix(".json")) + ".json"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, 200, headers, "application/json")

    def growth(self, id: str) -> Json:
        """How a run got stronger during its training."""
        return {"steps": work.growth(self.gallery.entry(id))}

    # --- positions --------------------------------------------------------------------------------

    async def move(self, asked: requests.MoveAsked) -> Json:
        """The move of an agent, and how the game stands after it."""
        game, entry = asked.standing, await self.entry(asked.agent)
        if game.ended:
            raise ValueError(f"the game is over on {board_text(game.board, game.rules)!r}")
        seed = None if asked.seed is None else (asked.seed, len(game.moves))
        heavy = is_heavy(entry, game.rules)
        cell = await self.run(heavy, work.move, entry, game.rules, game.board, seed)
        return {"cell": cell, "standing": standing_json(standing([*game.moves, cell], game.rules))}

    async def analysis(self, asked: requests.AnalysisAsked) -> Json:
        """How a game stands, what an agent thinks of each move, and what is true."""
        game = asked.standing
        rules, board = game.rules, game.board
        answer: Json = {"standing": standing_json(game)}
        if asked.agent is not None:
            entry = await self.entry(asked.agent)
            heavy = is_heavy(entry, rules, thinks=True)
            answer["thoughts"] = None
            if not game.ended:
                question = (entry, rules, board, asked.values)
                answer["thoughts"] = await self.run(heavy, work.thoughts, *question)
        if asked.truth and can_enumerate(rules):
            found = await self.run(is_large(rules), truth, board, rules)
            answer["truth"] = {**found._asdict(), "reason": ""}
        elif asked.truth:
            answer["truth"] = {"position": None, "moves": None, "reason": too_large(rules)}
        return answer

    async def verdicts(self, asked: requests.FinishedAsked) -> Json:
        """What each move of a finished game was worth, and which one decided it."""
        game = asked.game()
        if not can_enumerate(game.rules):
            none = dict.fromkeys(("verdicts", "turning_point", "decisive"))
            return {**none, "reason": too_large(game.rules)}
        found: Json = await self.run(is_large(game.rules), work.judged, game)
        return found

    # --- games ------------------------------------------------------------------------------------

    def games(self, asked: Annotated[requests.GamesAsked, Query()]) -> Json:
        """Kept games, the newest first."""
        chosen: Json = {"people": asked.people, "result": asked.result, "origin": LISTED}
        if asked.search:
            wanted, names = asked.search.strip().casefold(), self.store.players()
            found = [
                one for one in names if wanted in f"{one}\n{self.gallery.title(one)}".casefold()
            ]
            chosen["player"] = found[:MOST_NAMES]
        games = self.store.list(asked.limit, asked.before, **chosen)
        following = games[-1].id if len(games) == asked.limit else None
        shown = [self.game_json(game) for game in games]
        return {"games": shown, "count": self.store.count(**chosen), "next": following}

    def game(self, id: Annotated[int, Path(ge=1, le=LARGEST)]) -> Json:
        """A kept game."""
        return self.game_json(self.store.get(id))

    def game_json(self, game: Game) -> Json:
        """The values of `apps.web.answers.GameAnswer`."""
        line = standing(game.moves, game.rules).line
        values: Json = {**game.as_json(), "cells": game.moves, "line": line}
        for side, player in (("x", game.x), ("o", game.o)):
            is_named = player.kind == HUMAN and player.name != HUMAN
            values[side]["title"] = player.name if is_named else self.gallery.title(player.name)
        return values

    def keep(self, asked: requests.GameAsked) -> Json:
        """Keep a finished game, with the names that are sent: who really moved is not checked."""
        entries = {id: self.gallery.entry(id) for id in (asked.x, asked.o) if id != HUMAN}
        x, o = (
            entries[id].participant if id in entries else Participant(HUMAN, HUMAN)
            for id in (asked.x, asked.o)
        )
        game = asked.game(x=x, o=o, side=asked.side, seed=asked.seed)
        id = self.store.add(game)
        learned = self.learn(game, list(entries.values())) if asked.learn else {}
        return {"id": id, "learned": learned}

    def learn(self, game: Game, players: list[Entry]) -> dict[str, str]:
        """Let the players that can learn from a kept game do so; what became of it, by player."""
        home, rules = self.gallery.learner, game.rules
        with_person = HUMAN in (game.x.kind, game.o.kind) and rules == LEARNER_RULES
        try:
            if with_person and home is not None and home.exists():
                players = [*players, self.gallery.entry(LEARNER_ID)]
            able = [one for one in players if one.learned is not None and one.plays(rules)]
            pupils = [work.seat(entry, rules).pupil for entry in able]
            return teach(filter(None, pupils), game)
        except ValueError as error:  # the game itself is kept
            return {"learning": f"has failed: {error}"[:300]}


def groups() -> list[Json]:
    """The values of `apps.web.answers.Group`."""
    return [{"id": id, "heading": group[0], "about": group[1]} for id, group in GROUPS.items()]


def described(entry: Entry, proven: Json) -> Json:
    """The values of `apps.web.answers.AgentAnswer`. proven: its certificate, reason and verdict."""
    story = story_of(entry.agent) if entry.kind != "agent" else ""
    about = {"verdict": "", **proven, "story": story, "unit": unit_of(entry.agent)}
    return {**AgentSummary.model_validate(entry).model_dump(), **about}


def standing_json(game: Standing) -> Json:
    """The values of `apps.web.answers.Standing`."""
    result = game.winner or ("draw" if game.ended else None)
    values = {"board": board_text(game.board, game.rules), "turn": game.mover, "ended": game.ended}
    return {**values, "result": result, "line": game.line}


def too_large(rules: Rules) -> str:
    """The reason why nothing is known of a position."""
    return f"{rules} is too large to be solved"
