"""Models of the answers: pydantic checks them, writes them as JSON, and describes them.

Most take their values from the attributes of the package's objects, whose names they share.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from apps.players.seat import Thoughts
from apps.web.requests import Ending, Origin, Result, Side


class Answer(BaseModel):
    """Base of every answer."""

    model_config = ConfigDict(extra="forbid", from_attributes=True, allow_inf_nan=False)


class BoardSize(Answer):
    """The size of a board, and how many marks in a line win."""

    rows: int
    cols: int
    k: int


class Standing(Answer):
    """How a game stands after its moves.

    board: the rows from the top, joined by "/"; "." is a free cell. turn: null once the game has
    ended. line: the cells of the winning line.
    """

    board: str
    turn: Side | None
    ended: Literal["", "line", "full", "illegal"]
    result: Result | None
    line: list[int]


class Worth(Answer):
    """The exact value with best play of both sides, for the side to move.

    plies: moves of both sides until the game ends.
    """

    value: Annotated[int, Field(ge=-1, le=1)]
    plies: int
    text: str


class Truth(Answer):
    """The exact values of a position and of its moves by cell, or why they are not known."""

    position: Worth | None
    moves: list[Worth | None] | None
    reason: str


class AnalysisAnswer(Answer):
    """How a game stands, and what was asked for: fields that were not asked for are left out.

    thoughts: null if the game has ended.
    """

    standing: Standing
    thoughts: Thoughts | None = None
    truth: Truth | None = None


class MoveAnswer(Answer):
    """The move of an agent, and how the game stands after it."""

    cell: int
    standing: Standing


class AgentSummary(Answer):
    """An agent. It plays on `board`, or on any board of at most `max_cells` cells.

    title: what people call it, such as "Q-learner, seed 0". group: where a list shows it.
    unbeatable: of a trained agent, what is proven of it; null until its certificate is verified.
    side: the only side that it was trained to play; null for both, and without training.
    results, method: of a player of the package, its strength, and what its preset does, in a
    sentence. learned: the games it has learned from since its training; null if it does not learn.
    """

    id: str
    title: str
    kind: Literal["agent", "trained", "run"]
    about: str
    unbeatable: bool | None
    side: Annotated[Side | None, BeforeValidator(lambda side: side or None)]
    group: str
    results: str
    method: str
    learned: int | None
    broken: bool
    boards: str
    board: BoardSize | None = Field(validation_alias=AliasChoices("board", "rules"))
    max_cells: int


class Group(Answer):
    """A group of players, as a list shows it."""

    id: str
    heading: str
    about: str


class AgentsAnswer(Answer):
    """Every agent that can be chosen, the groups of a list, and the boards to choose from."""

    agents: list[AgentSummary]
    groups: list[Group]
    boards: list[BoardSize]


class AgentAnswer(AgentSummary):
    """An agent with its certificate without the moves, or the reason why there is none.

    verdict: what is proven, in words. story: how such an agent learns, in plain sentences; empty
    for one that does not. unit: what the steps of its training are, such as "moves" or "games".
    """

    certificate: dict[str, Any] | None
    reason: str
    verdict: str
    story: str
    unit: str


Shares = tuple[float, float, float]


class Step(Answer):
    """The results against random moves at one evaluation during a training.

    x, o: wins, draws and losses as shares of games. sampled: whether some of these results come
    from sampled games; else they are exact.
    """

    steps: int
    seconds: float
    x: Shares
    o: Shares
    unbeatable_x: bool
    unbeatable_o: bool
    sampled: bool


class GrowthAnswer(Answer):
    """How a run got stronger; no steps for a player without a record of its training."""

    steps: list[Step]


class Verdict(Answer):
    """What a move was worth. threw_away: whether this move decided the game."""

    ply: int
    cell: int
    side: Side
    optimal: bool
    threw_away: bool
    text: str
    before: Worth
    after: Worth


class Decisive(Answer):
    """The move that decided a game.

    better: the cells of the moves that kept what the side had. replies: the cells of the best
    replies: those that win soonest, else those that keep the draw.
    """

    ply: int
    better: list[int]
    replies: list[int]


class VerdictsAnswer(Answer):
    """The verdict on every move, or the reason why there is none.

    decisive: null if no move decided the game.
    """

    verdicts: list[Verdict] | None
    turning_point: str | None
    decisive: Decisive | None
    reason: str


class Kept(Answer):
    """A game that has been kept. learned: what became of it for each player that learns."""

    id: int
    learned: dict[str, str]


class PlayerName(Answer):
    """Who played a side. source: of a run, the sha256 of its certificate."""

    kind: Literal["human", "agent", "run", "unknown"]
    name: str
    title: str
    source: str


class GameAnswer(Answer):
    """A kept game. moves: the cells by name, such as "b2 a1 c3"."""

    id: int
    x: PlayerName
    o: PlayerName
    board: BoardSize
    moves: str
    cells: list[int]
    line: list[int]
    ended: Ending
    result: Result
    origin: Origin
    side: Side | None
    seed: int | None
    time: str


class GamesAnswer(Answer):
    """Kept games, the newest first.

    count: of all games that fit, on this page and others. next: what to send as `before` for the
    next page; null on the last.
    """

    games: list[GameAnswer]
    count: int
    next: int | None


class Refused(Answer):
    """Why a request is refused."""

    error: str
