"""The endpoints of the JSON interface.

Every request holds the whole game. The server keeps finished games only, so any number of pages and
servers may share a store. Nothing here imports torch: agents are tables or search.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import Path, Query

from players.gallery import Entry, Gallery, UnknownPlayerError
from players.pupil import teach
from players.seat import TABLE_CELLS, Seat
from tictactoe_env.analysis import truth, turning_point, verdicts
from tictactoe_env.games import Game, Player
from tictactoe_env.notation import board_text, cell_text, replay
from tictactoe_env.positions import can_enumerate
from tictactoe_env.rules import Rules
from tictactoe_env.standing import Standing, standing
from tictactoe_env.store import LISTED, GameStore
from web import requests
from web.answers import AgentSummary
from web.players import BusyError, Players, Threads, solved
from web.refusals import Refusal

Json = dict[str, Any]
AgentPath = Annotated[str, Path(examples=["minimax", "runs/dqn-0"])]
GamePath = Annotated[str, Path(json_schema_extra={"pattern": "^[1-9][0-9]{0,18}$"})]


class Api:
    """The endpoints, and what they share. `web.answers` has a model for each answer.

    Files are read and moves are computed in two pools of threads: neither waits for the other.
    """

    def __init__(self, store: GameStore, gallery: Gallery):
        self.store, self.gallery, self.players = store, gallery, Players(gallery)
        self.files, self.slow = Threads(4, 64), Threads(4, 16)
        self.rng = np.random.default_rng()  # for moves without a seed; to make one takes 9 us

    async def agents(self) -> Json:
        """Every agent that can be chosen, and the boards of the page and of the runs."""
        entries = await self.files.run(self.gallery.entries)
        of_runs = [entry.rules for entry in entries if entry.rules and not entry.broken]
        return {"agents": entries, "boards": list(dict.fromkeys([*requests.BOARDS, *of_runs]))}

    async def agent(self, id: AgentPath) -> Json:
        """One agent with its certificate, or with the reason why there is none."""
        proven, reason = None, ""
        await self.files.run(self.gallery.entries)  # how many games it has learned may have changed
        try:
            content = await self.slow.run(self.gallery.certificate, self.entry(id).id)
            proven = {name: value for name, value in content.items() if name != "moves"}
        except ValueError as error:
            reason = str(error)[:500]
        summary = dict(AgentSummary.model_validate(self.entry(id)))  # by now known as broken, if so
        return {**summary, "certificate": proven, "reason": reason}

    def entry(self, id: str) -> Entry:
        """The agent of this id; refused with 404 if there is none, 400 for a wrong option of it."""
        try:
            return self.gallery.entry(id)
        except UnknownPlayerError:
            text = f"unknown agent {id[:120]!r}: GET /api/agents lists them"
            raise Refusal(404, text) from None
        except ValueError as error:
            raise Refusal(400, str(error)) from None

    async def seat(self, id: str, rules: Rules) -> Seat:
        """The seat of an agent on a board, made in a thread if it is new."""
        entry = self.entry(id)
        seat = self.players.ready(entry, rules)
        return await self.slow.run(self.players.make, entry, rules) if seat is None else seat

    async def move(self, asked: requests.MoveAsked) -> Json:
        """The move of an agent, and how the game stands after it."""
        game = game_of(asked)
        self.entry(asked.agent)
        if game.ended:
            text = board_text(game.board, game.rules)
            raise ValueError(f"the game is over on {text!r}: there is no move to make")
        seat, rng = await self.seat(asked.agent, game.rules), self.rng
        if asked.seed is not None:
            rng = np.random.default_rng((asked.seed, len(game.moves)))
        move = partial(seat.move, game.board, rng)
        cell = move() if seat.is_quick else await self.slow.run(move)
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
            self.entry(thinker)
            answer["thoughts"] = None if game.ended else await self.thoughts(game, thinker, values)
        if with_truth:
            answer["truth"] = await self.truth(game)
        return answer

    async def thoughts(self, game: Standing, thinker: str, values: str) -> Json:
        """What an agent thinks of each cell."""
        seat = await self.seat(thinker, game.rules)
        think = partial(seat.thoughts, game.board, values)
        found = think() if seat.thinks_at_once else await self.slow.run(think)
        return {**vars(found), "new": seat.is_new(game.board)}

    async def truth(self, game: Standing) -> Json:
        """The exact values of a position and of each move, or why they are not known."""
        rules = game.rules
        if not can_enumerate(rules):
            return {"position": None, "moves": None, "reason": f"{rules} is too large to be solved"}
        solve, is_quick = partial(truth, game.board, rules), rules.cells <= TABLE_CELLS
        found = solve() if is_quick else await self.slow.run(solved, rules, solve)
        return {**found._asdict(), "reason": ""}

    async def games(self, asked: Annotated[requests.GamesAsked, Query()]) -> Json:
        """Kept games, the newest first."""
        chosen: Json = asked.model_dump(include={"player", "result"})
        chosen["origin"] = asked.origin or LISTED
        found = await self.files.run(partial(self.store.list, asked.limit, asked.before, **chosen))
        count = await self.files.run(partial(self.store.count, **chosen))
        following = found[-1].id if len(found) == asked.limit else None
        return {"games": [game_json(game) for game in found], "count": count, "next": following}

    async def keep(self, asked: requests.GameAsked) -> Json:
        """Keep a finished game, with the names that are sent: who really moved is not checked."""
        x, o = (
            Player(requests.HUMAN, requests.HUMAN)
            if id == requests.HUMAN
            else self.gallery.player(self.entry(id).id)
            for id in (asked.x, asked.o)
        )
        game = finished(asked, x=x, o=o, side=asked.side, seed=asked.seed)
        id = await self.files.run(self.store.add, game)
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
            entries = [self.entry(id) for id in dict.fromkeys([*ids, *filter(None, [learner])])]
            able = [one for one in entries if one.learned is not None and one.plays(game.rules)]
            seats = [await self.seat(entry.id, game.rules) for entry in able]
            pupils = [seat.pupil for seat in seats if seat.pupil is not None]
            return await self.slow.run(teach, pupils, game)
        except (ValueError, BusyError) as error:  # the game itself is kept
            return {"learning": f"has failed: {error}"[:300]}

    async def game(self, id: GamePath) -> Json:
        """A kept game."""
        if not re.fullmatch("[1-9][0-9]{0,18}", id, re.ASCII):
            raise Refusal(404, f"unknown game {id[:80]!r}: the id of a game is a number")
        return game_json(await self.files.run(self.store.get, int(id)))

    async def verdicts(self, asked: requests.FinishedAsked) -> Json:
        """What each move of a finished game was worth, and which one decided it."""
        game = finished(asked)
        if not can_enumerate(game.rules):
            reason = f"{game.rules} is too large to be solved"
            return {"verdicts": None, "turning_point": None, "reason": reason}
        judged, decisive = await self.slow.run(
            solved, game.rules, lambda: (verdicts(game), turning_point(game))
        )
        return {"verdicts": judged, "turning_point": decisive, "reason": ""}


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
    """The values of `web.answers.Standing`."""
    result = game.winner or ("draw" if game.ended else None)
    values = {"board": board_text(game.board, game.rules), "turn": game.mover, "ended": game.ended}
    return {**values, "result": result, "line": game.line}


def game_json(game: Game) -> Json:
    """The values of `web.answers.GameAnswer`."""
    line = standing(game.moves, game.rules).line
    return {**game.as_json(), "cells": game.moves, "line": line}
