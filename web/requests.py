"""What a client sends, as pydantic models: what is valid, and the schemas in /openapi.json."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tictactoe_env.certificate import MAX_CELLS as MAX_PROVEN
from tictactoe_env.rules import Rules
from tictactoe_env.store import LARGEST
from web.sentences import Asked, example, expected, shown

BOARDS = (Rules(), Rules(3, 4, 3), Rules(4, 4, 4), Rules(5, 5, 4), Rules(6, 6, 4), Rules(7, 7, 5))
MAX_CELLS = max(rules.cells for rules in BOARDS)
MAX_SEED = 2**53  # the largest whole number up to which JavaScript has all
MAX_LISTED = 100  # games in one answer
HUMAN = "human"

SQUARE = {"rows": 3, "cols": 3, "k": 3}

Side = Literal["X", "O"]
Result = Literal["X", "O", "draw"]
Ending = Literal["", "line", "full", "early", "illegal", "resigned"]
Origin = Literal["human", "battle", "web", "training", "file"]
Size = Annotated[int, Field(ge=1, le=64)]
Cell = Annotated[int, Field(ge=0, le=MAX_CELLS - 1)]


def _agent_id(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"an agent is named by its id, such as minimax, got {shown(value)}")
    return value  # half a surrogate pair too: it is the id of nobody, and answered with 404


AgentId = Annotated[str, PlainValidator(_agent_id, json_schema_input_type=str)]


class Board(Asked):
    """A board: at most 12 cells, or one of those that GET /api/agents lists."""

    model_config = example(SQUARE)

    rows: Size
    cols: Size
    k: Size
    """Marks in a line that win."""

    @classmethod
    def sentence(cls, errors: Any, content: Any) -> str:
        """Every error of structure is answered with an example."""
        if any(error["type"] in ("missing", "extra_forbidden") for error in errors) or not (
            errors[0]["loc"] or errors[0]["type"] == "value_error"
        ):
            return f'a board is written as {{"rows": 3, "cols": 3, "k": 3}}, got {shown(content)}'
        return super().sentence(errors, content)

    @property
    def rules(self) -> Rules:
        """The rules of the game on this board."""
        return _rules(self.rows, self.cols, self.k)

    @model_validator(mode="after")
    def is_offered(self) -> Board:
        """ValueError for a board that no game can be played on here."""
        if self.rules.cells > MAX_PROVEN and self.rules not in BOARDS:
            known = "; ".join(str(board) for board in BOARDS if board.cells > MAX_PROVEN)
            raise ValueError(
                f"the boards of this page have at most {MAX_PROVEN} cells, or are {known}; "
                f"got {self.rules}"
            )
        return self


@lru_cache(maxsize=64)
def _rules(rows: int, cols: int, k: int) -> Rules:
    return Rules(rows, cols, k)  # an instance keeps its bitboards


class Position(Asked):
    """A board, and the moves on it."""

    ILLEGAL: ClassVar[int] = 0  # moves on a taken cell that may stand at the end

    board: Board
    moves: Annotated[list[Cell], Field(max_length=MAX_CELLS)]
    """The cells of all moves from the first on, X's first. Cells count from 0, row by row."""

    @field_validator("moves", mode="before")
    @classmethod
    def are_on_the_board(cls, moves: Any, info: ValidationInfo) -> Any:
        """ValueError, with the bounds of this board, unless `moves` are cells."""
        if "board" not in info.data:  # its error is told first
            return []
        rules = info.data["board"].rules
        if not isinstance(moves, list):
            raise ValueError(f"moves is a list of cells, such as [4, 0, 8], got {shown(moves)}")
        if len(moves) > rules.cells + cls.ILLEGAL:
            raise ValueError(
                f"{len(moves)} moves are too many: a game on {rules} has at most "
                f"{rules.cells + cls.ILLEGAL}"
            )
        for ply, cell in enumerate(moves, 1):
            if type(cell) is not int or not 0 <= cell < rules.cells:
                bounds = {"type": "integer", "minimum": 0, "maximum": rules.cells - 1}
                raise ValueError(expected(f"move {ply}", bounds, cell))
        return moves


class AnalysisAsked(Position):
    """A position, and what to say of it."""

    model_config = example({"board": SQUARE, "moves": [0], "agent": "minimax", "truth": True})

    agent: AgentId | None = None
    """The agent that is asked for its thoughts."""
    truth: bool = False
    """Whether to answer what each move is worth with best play."""


class MoveAsked(Position):
    """A position, the agent that moves, and what to say of the position after its move."""

    model_config = example({"board": SQUARE, "moves": [0], "agent": "minimax", "seed": 7})

    agent: AgentId
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    """With a seed the same game gets the same move."""
    thinker: AgentId | None = None
    """The agent that is asked for its thoughts on the position after the move."""
    truth: bool = False
    """Whether to answer what each move after this one is worth with best play."""


class FinishedAsked(Position):
    """A finished game."""

    model_config = example({"board": SQUARE, "moves": [0, 3, 1, 4, 2]})

    ILLEGAL: ClassVar[int] = 1

    moves: Annotated[list[Cell], Field(max_length=MAX_CELLS + 1)]
    """The cells of all moves; after "illegal" the last one is taken already."""
    ended: Ending | None = None
    """Follows from the moves, unless it is "early", "illegal" or "resigned"."""
    result: Literal["X", "O", "draw", ""] | None = None
    """Follows from the moves, unless a side resigned."""


class GameAsked(FinishedAsked):
    """A finished game that is kept."""

    model_config = example(
        {"board": SQUARE, "moves": [0, 3, 1, 4, 2], "x": "human", "o": "minimax", "side": "X"}
    )

    x: AgentId
    """Who played X: "human", or the id of an agent."""
    o: AgentId
    """Who played O."""
    side: Side | None = None
    """The side of the person, if there is one."""
    seed: Annotated[int, Field(ge=0, le=LARGEST)] | None = None


def _digits(text: Any) -> Any:
    """A number of an address as int: digits only, no sign, no space."""
    return int(text) if re.fullmatch("[0-9]{1,19}", str(text), re.ASCII) else text


class GamesAsked(Asked):
    """Which games are listed."""

    model_config = example({"limit": 20, "before": 100, "player": "minimax", "result": "draw"})

    WORD: ClassVar[str] = "parameter"

    limit: Annotated[int, Field(ge=1, le=MAX_LISTED), BeforeValidator(_digits)] = 20
    before: Annotated[int, Field(ge=1, le=LARGEST), BeforeValidator(_digits)] | None = None
    """Only games with a smaller id: `next` of the page before."""
    player: str | None = None
    """The name of either player."""
    result: Result | None = None
    origin: Origin | None = None
    """All but games of training, if it is left out."""
