"""The endpoints of the JSON interface.

The whole game travels with every request, so the server keeps nothing but finished games, and any
number of pages and servers may share a store. Nothing here imports torch: agents are tables or
search.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import Path, Query
from fastapi.responses import Response

from players.gallery import Entry, Gallery
from players.seat import TABLE_CELLS, Seat
from tictactoe_env.analysis import truth, turning_point, verdicts
from tictactoe_env.games import Game, Player
from tictactoe_env.notation import board_text, cell_text, replay
from tictactoe_env.positions import can_enumerate
from tictactoe_env.rules import Rules
from tictactoe_env.standing import Standing, standing
from tictactoe_env.store import LISTED, GameStore
from web import plain
from web.players import Players, Threads, solved
from web.refusals import Refusal, reply
from web.requests import (
    BOARDS,
    HUMAN,
    AnalysisAsked,
    FinishedAsked,
    GameAsked,
    GamesAsked,
    MoveAsked,
    Position,
)

AgentPath = Annotated[str, Path(examples=["minimax", "runs/dqn-0"])]
GamePath = Annotated[str, Path(json_schema_extra={"pattern": "^[1-9][0-9]{0,18}$"})]


class Api:
    """The endpoints, and what they share.

    Files are read and games are computed in two pools of threads, so that neither waits for the
    other.
    """

    def __init__(self, store: GameStore, gallery: Gallery):
        self.store, self.gallery, self.players = store, gallery, Players(gallery)
        self.files, self.slow = Threads(4, 64), Threads(4, 16)
        self.chance = np.random.default_rng()  # for moves without a seed; making one takes 9 us

    # --- agents -----------------------------------------------------------------------------------

    async def agents(self) -> Response:
        """Every agent that can be chosen, and the boards of the page and of the runs."""
        entries = await self.files.run(self.gallery.entries)
        of_runs = [entry.rules for entry in entries if entry.rules and not entry.broken]
        boards = [plain.board_json(rules) for rules in dict.fromkeys([*BOARDS, *of_runs])]
        return reply({"agents": [plain.entry_json(entry) for entry in entries], "boards": boards})

    async def agent(self, id: AgentPath) -> Response:
        """One agent with its certificate, or with the reason why there is none."""
        entry = self.entry(id)
        try:
            content = await self.slow.run(self.gallery.certificate, entry.id)
        except ValueError as error:
            about = plain.entry_json(self.entry(id))  # it may be known as broken only now
            return reply({**about, "certificate": None, "reason": str(error)[:500]})
        proven = {name: value for name, value in content.items() if name != "moves"}
        return reply({**plain.entry_json(entry), "certificate": proven, "reason": ""})

    def entry(self, id: str) -> Entry:
        """The agent of this id; refused with 404 if there is none."""
        try:
            return self.gallery.entry(id)
        except ValueError:
            text = f"unknown agent {id[:120]!r}: GET /api/agents lists them"
        raise Refusal(404, text)

    async def seat(self, id: str, rules: Rules) -> Seat:
        """The player of an agent on a board, made in a thread if it is new."""
        entry = self.entry(id)
        seat = self.players.ready(entry, rules)
        return await self.slow.run(self.players.make, entry, rules) if seat is None else seat

    # --- positions --------------------------------------------------------------------------------

    async def move(self, asked: MoveAsked) -> Response:
        """The move of an agent, and how the game stands after it."""
        game = game_of(asked)
        self.entry(asked.agent)
        if game.ended:
            text = board_text(game.board, game.rules)
            raise ValueError(f"the game is over on {text!r}: there is no move to make")
        seat = await self.seat(asked.agent, game.rules)
        rng = self.chance
        if asked.seed is not None:
            rng = np.random.default_rng((asked.seed, len(game.moves)))
        move = partial(seat.move, game.board, rng)
        cell = move() if seat.is_quick else await self.slow.run(move)
        after = standing([*game.moves, cell], game.rules)
        return reply(
            {
                "cell": cell,
                "name": cell_text(cell, game.rules),
                "illegal": after.ended == "illegal",
                **await self.insight(after, asked.thinker, asked.truth),
            }
        )

    async def analysis(self, asked: AnalysisAsked) -> Response:
        """How a game stands, what an agent thinks of each move, and what is true."""
        return reply(await self.insight(game_of(asked), asked.agent, asked.truth))

    async def insight(self, game: Standing, thinker: str | None, tell: bool) -> dict[str, Any]:
        """The standing; with a thinker its thoughts; if `tell`, the truth."""
        answer: dict[str, Any] = {"standing": plain.standing_json(game)}
        if thinker is not None:
            self.entry(thinker)
            answer["thoughts"] = None if game.ended else await self.thoughts(game, thinker)
        if tell:
            answer["truth"] = await self.truth(game)
        return answer

    async def thoughts(self, game: Standing, thinker: str) -> dict[str, Any]:
        """What an agent thinks of each cell."""
        seat = await self.seat(thinker, game.rules)
        think = partial(seat.thoughts, game.board)
        found = think() if seat.thinks_at_once else await self.slow.run(think)
        return plain.thoughts_json(found, seat.is_new(game.board))

    async def truth(self, game: Standing) -> dict[str, Any]:
        """What is true of a position and of each move, or why that is not known."""
        rules = game.rules
        if not can_enumerate(rules):
            reason = f"{rules} is too large to be solved"
            return {"position": None, "moves": None, "reason": reason}
        if rules.cells <= TABLE_CELLS:
            return plain.truth_json(truth(game.board, rules))
        return plain.truth_json(await self.slow.run(solved, rules, truth, game.board, rules))

    # --- games ------------------------------------------------------------------------------------

    async def games(self, asked: Annotated[GamesAsked, Query()]) -> Response:
        """Kept games, the newest first."""
        chosen: dict[str, Any] = asked.model_dump(include={"player", "result"})
        chosen["origin"] = asked.origin or LISTED
        found = await self.files.run(partial(self.store.list, asked.limit, asked.before, **chosen))
        count = await self.files.run(partial(self.store.count, **chosen))
        more = found[-1].id if len(found) == asked.limit else None
        return reply(
            {"games": [plain.game_json(game) for game in found], "count": count, "next": more}
        )

    async def keep(self, asked: GameAsked) -> Response:
        """Keep a finished game, with the names that are sent: who really moved is not checked."""
        x, o = (
            Player(HUMAN, HUMAN) if id == HUMAN else self.gallery.player(self.entry(id).id)
            for id in (asked.x, asked.o)
        )
        game = finished(asked, x=x, o=o, side=asked.side, seed=asked.seed)
        id = await self.files.run(self.store.add, game)
        return reply({"id": id, "address": f"/games/{id}"}, 201)

    async def game(self, id: GamePath) -> Response:
        """A kept game."""
        if not re.fullmatch("[1-9][0-9]{0,18}", id, re.ASCII):
            raise Refusal(404, f"unknown game {id[:80]!r}: the id of a game is a number")
        return reply(plain.game_json(await self.files.run(self.store.get, int(id))))

    async def verdicts(self, asked: FinishedAsked) -> Response:
        """What each move of a finished game was worth, and which one decided it."""
        game = finished(asked)
        if not can_enumerate(game.rules):
            reason = f"{game.rules} is too large to be solved"
            return reply({"verdicts": None, "turning_point": None, "reason": reason})
        found, sentence = await self.slow.run(
            solved, game.rules, lambda: (verdicts(game), turning_point(game))
        )
        judged = [plain.verdict_json(verdict) for verdict in found]
        return reply({"verdicts": judged, "turning_point": sentence, "reason": ""})


def game_of(asked: Position) -> Standing:
    """How the game of a request stands. Raises IllegalMoveError if a move is illegal."""
    game = standing(asked.moves, asked.board.rules)
    if game.illegal is not None:
        replay(asked.moves[: game.illegal + 1], game.rules)  # raises, and says what is wrong
    return game


def finished(asked: FinishedAsked, **about: Any) -> Game:
    """The finished game of a request. Raises ValueError for one that goes on."""
    return Game(
        moves=tuple(asked.moves),
        rules=asked.board.rules,
        origin="web",
        ended=asked.ended or "",
        result=asked.result or "",
        **about,
    )
