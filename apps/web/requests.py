"""Requests of a client, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from apps.web.live import Question
from tictactoe_env.games.game import LARGEST, Game, rules_of
from tictactoe_env.notation import replay
from tictactoe_env.rules import MAX_BITS, GameState, Rules, game_state

MAX_SEED = 2**53  # JavaScript represents every whole number up to this one exactly

Size = Annotated[int, Field(ge=1, le=MAX_BITS)]
Cell = Annotated[int, Field(ge=0, lt=MAX_BITS)]


class Asked(BaseModel):
    """Base of all requests: strict types, and no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Board(Asked):
    """The size of a board, how many marks in a line win, and whether pieces fall."""

    rows: Size
    cols: Size
    k: Size
    gravity: bool = False

    @property
    def rules(self) -> Rules:
        """The rules of the game on this board. Raises ValueError for one that there is not."""
        return rules_of(**self.model_dump())


class Position(Asked):
    """A board, and the cells of all moves on it, X's first. Cells count from 0, row by row."""

    board: Board
    moves: Annotated[list[Cell], Field(max_length=MAX_BITS)]

    @property
    def state(self) -> GameState:
        """The game after these moves. Raises IllegalMoveError if a move is illegal."""
        found = game_state(self.moves, self.board.rules)
        if found.illegal is not None:
            replay(self.moves, found.rules)  # raises, and says what is wrong
        return found


class AnalysisAsked(Position):
    """A position, and what is asked about it.

    agent: asked for its thoughts, with its own values or its expected results against random moves.
    truth: asks for the worth of each move with best play.
    """

    agent: str | None = None
    values: Literal["own", "expected"] = "own"
    truth: bool = False


class MoveAsked(Position):
    """A position, and the agent that moves. With a seed the same game gets the same move."""

    agent: str
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None


class TrainingAsked(Asked):
    """A training of a network on 3x3, and a position in which it is looked at.

    id: any number, by which it is asked for again. instead_of: the id of an earlier training of the
    same page, which ends for this one. further: lets it train by one more update.
    """

    id: Annotated[int, Field(ge=0, le=MAX_SEED)]
    instead_of: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    further: bool = False
    moves: Annotated[list[Cell], Field(max_length=MAX_BITS)] = []

    @property
    def question(self) -> Question:
        """What the training is asked. Raises IllegalMoveError if a move is illegal."""
        replay(self.moves, Rules())
        return Question(self.further, self.moves)


class FinishedAsked(Position):
    """A finished game. After "illegal" the cell of the last move is taken already.

    ended, result: they follow from the moves, unless it is "early", "illegal" or "resigned".
    """

    ended: Literal["", "line", "full", "early", "illegal", "resigned"] = ""
    result: Literal["X", "O", "draw", ""] = ""

    def game(self, **fields: Any) -> Game:
        """The game. Raises ValueError for one that goes on."""
        return Game(
            moves=tuple(self.moves),
            rules=self.board.rules,
            ended=self.ended,
            result=self.result,
            origin="web",
            **fields,
        )


class GameAsked(FinishedAsked):
    """A finished game that is to be kept.

    x, o: who played, "human" or the id of an agent. side: the person's, if one person played.
    learn: lets the players that can learn from this game do so.
    """

    x: str
    o: str
    side: Literal["X", "O"] | None = None
    learn: bool = True
    seed: Annotated[int, Field(ge=0, le=LARGEST)] | None = None


class GamesAsked(BaseModel):
    """The games to list.

    before: only games with a smaller id, `next` of the page before. search: a part of the name or
    of the title of either player, in any case; "person" finds people. people: true for games in
    which a person played, false for games between agents.
    """

    model_config = ConfigDict(extra="forbid")

    limit: Annotated[int, Field(ge=1, le=100)] = 20
    before: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    search: Annotated[str, Field(max_length=100)] | None = None
    people: bool | None = None
    result: Literal["X", "O", "draw"] | None = None
