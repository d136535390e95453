"""Models of the answers: pydantic checks them, writes them as JSON, and describes them.

Most take their values from the attributes of the package's objects, whose names they share.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field

from apps.web.requests import Ending, Model, Origin, Result, Side, ValueKind


class Answer(Model):
    """Base of every answer."""

    model_config = ConfigDict(from_attributes=True, allow_inf_nan=False)


class BoardSize(Answer):
    """The size of a board, and how many marks in a line win."""

    rows: int
    cols: int
    k: int


class Standing(Answer):
    """How a game stands after its moves."""

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

    value: Annotated[int, Field(ge=-1, le=1)]
    plies: int
    """Moves of both sides until the game ends."""
    text: str


class Thoughts(Answer):
    """What an agent thinks of each cell; null on taken cells."""

    probs: list[float | None]
    values: list[float | None] | None
    """For the side to move; null on a free cell if the agent does not know the value."""
    kind: Literal["own", "expected", ""]
    """Its own values, its expected results against random moves, or no values."""
    meaning: str
    """What the values are, in words."""
    scale: tuple[float, float]
    """The values of a sure loss and of a sure win."""
    kinds: list[ValueKind]
    """The kinds of values that the agent has on this board."""
    illegal: float
    """The probability of a move on a taken cell."""
    new: bool
    """Whether the agent never met this position in training; false if it does not know."""


class Truth(Answer):
    """The exact values of a position and of its moves, or the reason why they are not known."""

    position: Worth | None
    moves: list[Worth | None] | None
    """By cell; null on taken cells."""
    reason: str


class AnalysisAnswer(Answer):
    """How a game stands, and what was asked for: fields that were not asked for are left out."""

    standing: Standing
    thoughts: Thoughts | None = None
    """Null if the game has ended."""
    truth: Truth | None = None


class MoveAnswer(AnalysisAnswer):
    """The move of an agent; everything else is about the position after it."""

    cell: int
    name: str
    illegal: bool
    """Whether the cell was taken already: then the agent has lost."""


class AgentSummary(Answer):
    """An agent. It plays on `board`, or on any board of at most `max_cells` cells."""

    id: str
    name: str
    title: str
    """What people call it, such as "Q-learner, seed 0"."""
    kind: Literal["agent", "trained", "run"]
    agent: str
    about: str
    unbeatable: bool | None
    """Of a trained agent: what is proven of it; null until its certificate is verified."""
    verified: bool
    """Whether what the certificate states follows from its moves; false until that is known."""
    side: Annotated[Side | None, BeforeValidator(lambda side: side or None)]
    """The only side that it was trained to play; null for both, and without training."""
    group: Literal["easy", "strong", "perfect", "proven", "beatable", "run", "other"]
    """The group of players in which a list shows it, see `apps.players.groups`."""
    results: str
    """Of a player of the package: its wins against random moves, and whether it can be beaten."""
    method: str
    """What its preset does, in a sentence; empty without a preset of this project."""
    learned: int | None
    """The games it has learned from since its training; null if it does not learn from games."""
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
    unread: int
    """Certificates that are not read yet, so that nobody waits for many: ask again for them."""


class AgentAnswer(AgentSummary):
    """An agent with its certificate, or the reason why there is none."""

    certificate: dict[str, Any] | None
    """What is proven of the agent, see `tictactoe_env.certificates`; without the moves."""
    reason: str
    verdict: str
    """What is proven, in words, such as "PROVEN on 3x3, 3 in a row: cannot be beaten"."""
    story: str
    """How such an agent learns, in plain sentences; empty for one that does not learn."""
    unit: str
    """What the steps of its training are, such as "moves" or "games"."""


class Step(Answer):
    """The results against random moves at one evaluation during a training, as shares of games."""

    steps: int
    seconds: float
    x: tuple[float, float, float]
    """Wins, draws and losses as X."""
    o: tuple[float, float, float]
    unbeatable_x: bool
    unbeatable_o: bool
    sampled: bool
    """Whether some of these results come from sampled games; else they are exact."""


class GrowthAnswer(Answer):
    """How a run got stronger; no steps for a player without a record of its training."""

    steps: list[Step]


class Verdict(Answer):
    """What a move was worth."""

    ply: int
    cell: int
    side: Side
    optimal: bool
    threw_away: bool
    """Whether this move decided the game."""
    text: str
    before: Worth
    after: Worth


class Decisive(Answer):
    """The move that decided a game, what would have been better, and what punishes it."""

    ply: int
    better: list[int]
    """The cells of the moves that kept what the side had."""
    replies: list[int]
    """The cells of the best replies: those that win soonest, else those that keep the draw."""


class VerdictsAnswer(Answer):
    """The verdict on every move, or the reason why there is none."""

    verdicts: list[Verdict] | None
    turning_point: str | None
    decisive: Decisive | None
    """Null if no move decided the game."""
    reason: str


class Kept(Answer):
    """A game that has been kept."""

    id: int
    address: str
    learned: dict[str, str]
    """What became of it for each player that learns, in words, by its name."""


class PlayerName(Answer):
    """Who played a side."""

    kind: Literal["human", "agent", "run", "unknown"]
    name: str
    title: str
    """What people call the player, such as "Perfect play"."""
    source: str
    """Of a run: the sha256 of its certificate."""


class GameAnswer(Answer):
    """A kept game."""

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

    games: list[GameAnswer]
    count: int
    """The number of all games that fit, on this page and others."""
    next: int | None
    """What to send as `before` for the next page; null on the last."""


class Refused(Answer):
    """Why a request is refused."""

    error: str
