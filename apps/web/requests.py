"""What a client sends, as pydantic models: what is valid, and what is said if it is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from apps.players.boards import BOARDS
from tictactoe_env.errors import unknown_name
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.games.game import rules_of
from tictactoe_env.games.store import LARGEST
from tictactoe_env.rules import Rules

MAX_CELLS = max(rules.cells for rules in BOARDS)
MAX_SEED = 2**53  # JavaScript represents every whole number up to this one exactly
MAX_LISTED = 100  # games in one answer
HUMAN = "human"

Side = Literal["X", "O"]
Result = Literal["X", "O", "draw"]
Ending = Literal["", "line", "full", "early", "illegal", "resigned"]
ValueKind = Literal["own", "expected"]
Origin = Literal["human", "battle", "web", "training", "file"]
Size = Annotated[int, Field(ge=1, le=64)]
Cell = Annotated[int, Field(ge=0, le=MAX_CELLS - 1)]
SHOWN = 120  # characters of a value in an error
EXAMPLES = json.loads(Path(__file__).with_name("examples.json").read_text(encoding="utf-8"))


def shown(value: Any) -> str:
    """The beginning of a value, for an error."""
    try:
        return f"{value!r:.{SHOWN}}"
    except RecursionError:
        return "a value that is nested too deeply"


class Model(BaseModel):
    """Base of all models: no unknown fields; descriptions and an example in the JSON schema."""

    model_config = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_extra=lambda schema, model: schema.update(examples=[EXAMPLES[model.__name__]]),
    )


class Asked(Model):
    """Base of what a client sends: strict types, and one ValueError that says what to send."""

    model_config = ConfigDict(strict=True)

    WORD: ClassVar[str] = "field"  # what a name in this model is called in errors

    @model_validator(mode="wrap")
    @classmethod
    def explain(cls, content: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        """Validate; ValueError with the most helpful sentence if anything is wrong."""
        try:
            return handler(content)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        raise ValueError(cls.sentence(errors, content))

    @classmethod
    def sentence(cls, errors: list[ErrorDetails], content: Any) -> str:
        """The first error; unknown and missing fields come before values that do not fit."""
        required = [name for name, field in cls.model_fields.items() if field.is_required()]
        first = errors[0]
        if not first["loc"] and first["type"] != "value_error":
            return f"send an object with {', '.join(required)}, got {shown(content)}"
        if extra := [error["loc"][0] for error in errors if error["type"] == "extra_forbidden"]:
            return str(unknown_name(cls.WORD, str(extra[0])[:SHOWN], cls.model_fields))
        if missing := [str(error["loc"][0]) for error in errors if error["type"] == "missing"]:
            names = ", ".join(missing) + (" is" if len(missing) == 1 else " are")
            return f"{names} missing: send {', '.join(required)}"
        if first["type"] == "value_error":
            return str(first["ctx"]["error"])
        name = str(first["loc"][0])
        return expected(name, cls.model_json_schema()["properties"][name], first["input"])


def expected(name: str, schema: dict[str, Any], value: Any) -> str:
    """What a field takes (a whole number, a word, true or false), by its schema, and what came."""
    kind = next(one for one in schema.get("anyOf", [schema]) if one.get("type") != "null")
    words = [word for word in kind.get("enum", ()) if word]
    if words and isinstance(value, str):
        return str(unknown_name(name, value[:SHOWN], words))
    if words:
        what = f"one of {', '.join(words)}"
    elif kind["type"] == "integer":
        what = f"a whole number from {kind['minimum']} to {kind['maximum']}"
    else:
        what = "true or false"
    got = f"the bool {value}" if isinstance(value, bool) else shown(value)
    return f"{name} must be {what}, got {got}"


def _agent_id(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"an agent is named by its id, such as minimax, got {shown(value)}")
    return value  # may hold a lone surrogate: no agent has such an id, so the answer is 404


AgentId = Annotated[str, PlainValidator(_agent_id, json_schema_input_type=str)]


class Board(Asked):
    """A board: at most 12 cells, or one of those that GET /api/agents lists."""

    rows: Size
    cols: Size
    k: Size
    """Marks in a line that win."""

    @classmethod
    def sentence(cls, errors: Any, content: Any) -> str:
        """An example where fields are missing or unknown, or where this is no object."""
        kinds = {error["type"] for error in errors}
        if kinds & {"missing", "extra_forbidden", "model_type", "model_attributes_type"}:
            first, second = (f'{{"rows": 4, "cols": 4, "k": {k}}}' for k in (3, 4))
            return f"a board has marks in a row too: {first} or {second}, got {shown(content)}"
        return super().sentence(errors, content)

    @property
    def rules(self) -> Rules:
        """The rules of the game on this board."""
        return rules_of(self.rows, self.cols, self.k)

    @model_validator(mode="after")
    def is_offered(self) -> Board:
        """ValueError for a board on which the server plays no games."""
        if self.rules.cells > TABULATED and self.rules not in BOARDS:
            known = "; ".join(str(board) for board in BOARDS if board.cells > TABULATED)
            what = f"have at most {TABULATED} cells, or are {known}"
            raise ValueError(f"the boards of this page {what}; got {self.rules}")
        return self


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
        if "board" not in info.data:  # the error of the board is reported instead
            return []
        rules = info.data["board"].rules
        most = rules.cells + cls.ILLEGAL
        if not isinstance(moves, list):
            raise ValueError(f"moves is a list of cells, such as [4, 0, 8], got {shown(moves)}")
        if len(moves) > most:
            raise ValueError(
                f"{len(moves)} moves are too many: a game on {rules} has at most {most}"
            )
        for ply, cell in enumerate(moves, 1):
            if type(cell) is not int or not 0 <= cell < rules.cells:
                bounds = {"type": "integer", "minimum": 0, "maximum": rules.cells - 1}
                raise ValueError(expected(f"move {ply}", bounds, cell))
        return moves


class AnalysisAsked(Position):
    """A position, and what is asked about it."""

    agent: AgentId | None = None
    """The agent that is asked for its thoughts."""
    values: ValueKind = "own"
    """The values in its thoughts: its own, or its expected results against random moves."""
    truth: bool = False
    """Whether to answer what each move is worth with best play."""


class MoveAsked(Position):
    """A position, the agent that moves, and what is asked about the position after its move."""

    agent: AgentId
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    """With a seed the same game gets the same move."""
    thinker: AgentId | None = None
    """The agent that is asked for its thoughts on the position after the move."""
    values: ValueKind = "own"
    """The values in its thoughts: see `AnalysisAsked`."""
    truth: bool = False
    """Whether to answer what each move after this one is worth with best play."""


class FinishedAsked(Position):
    """A finished game."""

    ILLEGAL: ClassVar[int] = 1

    moves: Annotated[list[Cell], Field(max_length=MAX_CELLS + 1)]
    """The cells of all moves; after "illegal" the last one is taken already."""
    ended: Ending | None = None
    """Follows from the moves, unless it is "early", "illegal" or "resigned"."""
    result: Literal["X", "O", "draw", ""] | None = None
    """Follows from the moves, unless a side resigned."""


class GameAsked(FinishedAsked):
    """A finished game that is to be kept."""

    x: AgentId
    """Who played X: "human", or the id of an agent."""
    o: AgentId
    """Who played O."""
    side: Side | None = None
    """The side of the person, if there is one."""
    learn: bool = True
    """Whether players that can learn from this game do so."""
    seed: Annotated[int, Field(ge=0, le=LARGEST)] | None = None


def _digits(text: Any) -> Any:
    """A number of an address as int: digits only, no sign, no space."""
    return int(text) if re.fullmatch("[0-9]{1,19}", str(text), re.ASCII) else text


def _truth(text: Any) -> Any:
    """A yes or no of an address as bool."""
    return {"true": True, "false": False}.get(str(text), text)


class GamesAsked(Asked):
    """Which games are listed."""

    WORD: ClassVar[str] = "parameter"

    limit: Annotated[int, Field(ge=1, le=MAX_LISTED), BeforeValidator(_digits)] = 20
    before: Annotated[int, Field(ge=1, le=LARGEST), BeforeValidator(_digits)] | None = None
    """Only games with a smaller id: `next` of the page before."""
    player: str | None = None
    """The name of either player, letter by letter."""
    search: Annotated[str, Field(max_length=100)] | None = None
    """A part of the name or of the title of either player, in any case; "person" finds people."""
    people: Annotated[bool, BeforeValidator(_truth)] | None = None
    """True: only games in which a person played; false: only games between agents."""
    result: Result | None = None
    origin: Origin | None = None
    """If it is left out: all games except those of training."""
