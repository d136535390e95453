"""What is answered, as pydantic models: the schemas in /openapi.json.

Answers are made as plain dicts (see `web.plain`) and are not validated again, which would cost
time; the tests hold every answer against its model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from web.requests import SQUARE, Ending, Origin, Result, Side
from web.sentences import example

WORTH: dict[str, Any] = {"value": 1, "plies": 3, "text": "wins in 3"}
AGENT: dict[str, Any] = {
    "id": "runs/dqn-0",
    "name": "dqn-0",
    "kind": "run",
    "agent": "dqn",
    "about": "dqn, seed 0, optimal",
    "unbeatable": True,
    "broken": False,
    "boards": "3x3, 3 in a row",
    "board": SQUARE,
    "max_cells": 9,
}
VERDICT: dict[str, Any] = {
    "ply": 1,
    "cell": 4,
    "side": "X",
    "optimal": True,
    "threw_away": False,
    "text": "keeps the draw",
    "before": {"value": 0, "plies": 9, "text": "draws"},
    "after": {"value": 0, "plies": 9, "text": "draws"},
}
GAME: dict[str, Any] = {
    "id": 17,
    "x": {"kind": "human", "name": "human", "source": ""},
    "o": {"kind": "agent", "name": "minimax", "source": ""},
    "board": SQUARE,
    "moves": "b2 a1",
    "cells": [4, 0],
    "line": [],
    "ended": "resigned",
    "result": "O",
    "origin": "web",
    "side": "X",
    "seed": None,
    "time": "2025-01-31T12:00:00+00:00",
}
STANDING: dict[str, Any] = {
    "board": "X../.O./...",
    "turn": "X",
    "ended": "",
    "result": None,
    "line": [],
}


class Answer(BaseModel):
    """Base of every answer."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class BoardSize(Answer):
    """A board that is played on, or that a kept game was played on."""

    model_config = example(SQUARE)

    rows: int
    cols: int
    k: int


class Standing(Answer):
    """How a game stands after its moves."""

    model_config = example(STANDING)

    board: str
    """The rows from the top, joined by "/"; "." is a free cell."""
    turn: Side | None
    """The side to move; null once the game has ended."""
    ended: Literal["", "line", "full", "illegal"]
    """How the game ended; empty while it goes on."""
    result: Result | None
    line: list[int]
    """The cells of the winning line."""


class Worth(Answer):
    """The exact value with best play of both sides, for the side to move."""

    model_config = example(WORTH)

    value: Annotated[int, Field(ge=-1, le=1)]
    plies: int
    """Moves of both sides until the game ends."""
    text: str


class Thoughts(Answer):
    """What an agent thinks of each cell; null on taken cells."""

    model_config = example(
        {
            "probs": [None, 0.2, 0.8],
            "values": [None, -0.1, 0.4],
            "kind": "own",
            "meaning": "what the player itself believes each move to be worth",
            "illegal": 0.0,
            "new": False,
        }
    )

    probs: list[float | None]
    values: list[float | None] | None
    """From -1 to 1, for the side to move."""
    kind: Literal["own", "expected", ""]
    meaning: str
    """What the values are, in words."""
    illegal: float
    """The probability that it plays on a taken cell."""
    new: bool
    """Whether the agent says that it has never met this position."""


class Truth(Answer):
    """What is exactly true of a position, or the reason why that is not known."""

    model_config = example({"position": None, "moves": None, "reason": "... is too large ..."})

    position: Worth | None
    moves: list[Worth | None] | None
    reason: str


class AnalysisAnswer(Answer):
    """How a game stands, and what was asked for: fields that were not asked for are left out."""

    model_config = example({"standing": STANDING})

    standing: Standing
    thoughts: Thoughts | None = None
    """Null if the game has ended."""
    truth: Truth | None = None


class MoveAnswer(AnalysisAnswer):
    """The move of an agent; everything else is about the position after it."""

    model_config = example({"cell": 4, "name": "b2", "illegal": False, "standing": STANDING})

    cell: int
    name: str
    illegal: bool
    """Whether the cell is taken: then the agent has lost."""


class AgentSummary(Answer):
    """An agent. It plays on `board`, or on any board of at most `max_cells` cells."""

    model_config = example(AGENT)

    id: str
    name: str
    kind: Literal["agent", "run"]
    agent: str
    about: str
    unbeatable: bool | None
    broken: bool
    boards: str
    board: BoardSize | None
    max_cells: int


class AgentsAnswer(Answer):
    """Every agent that can be chosen, and the boards to choose from."""

    model_config = example({"agents": [AGENT], "boards": [SQUARE]})

    agents: list[AgentSummary]
    boards: list[BoardSize]


class AgentAnswer(AgentSummary):
    """An agent with its certificate, or the reason why there is none."""

    model_config = example({**AGENT, "certificate": {"unbeatable": True}, "reason": ""})

    certificate: dict[str, Any] | None
    """What is proven of the agent, see `tictactoe_env.certificate`; without the moves."""
    reason: str


class Verdict(Answer):
    """What a move was worth."""

    model_config = example(VERDICT)

    ply: int
    cell: int
    side: Side
    optimal: bool
    threw_away: bool
    """Whether this move decided the game."""
    text: str
    before: Worth
    after: Worth


class VerdictsAnswer(Answer):
    """The verdict on every move, or the reason why there is none."""

    model_config = example(
        {
            "verdicts": [VERDICT],
            "turning_point": "O resigned a position that was a draw",
            "reason": "",
        }
    )

    verdicts: list[Verdict] | None
    turning_point: str | None
    reason: str


class Kept(Answer):
    """A game that has been kept."""

    model_config = example({"id": 17, "address": "/games/17"})

    id: int
    address: str


class PlayerName(Answer):
    """Who played a side."""

    model_config = example(GAME["o"])

    kind: Literal["human", "agent", "run", "unknown"]
    name: str
    source: str
    """Of a run: the sha256 of its certificate."""


class GameAnswer(Answer):
    """A kept game."""

    model_config = example(GAME)

    id: int
    x: PlayerName
    o: PlayerName
    board: BoardSize
    moves: str
    """The cells by name, such as "b2 a1 c3"."""
    cells: list[int]
    line: list[int]
    ended: Ending
    result: Result
    origin: Origin
    side: Side | None
    seed: int | None
    time: str


class GamesAnswer(Answer):
    """Kept games, the newest first."""

    model_config = example({"games": [GAME], "count": 1, "next": None})

    games: list[GameAnswer]
    count: int
    """Of all games that fit."""
    next: int | None
    """What to send as `before` for the next page; null on the last."""


class Refused(Answer):
    """Why a request is refused."""

    model_config = example({"error": "move 1 must be a whole number from 0 to 8, got 9"})

    error: str
