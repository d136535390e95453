"""The options of an agent. Each option states its default, sentence and bound once, as data.

    class Config(BoardConfig):
        epsilon: Share = option(0.2, "Probability of a random legal move.")

The bound is part of the type (`Share` is a float from 0 to 1), and pydantic checks it. `--help`,
the errors and the tests read it from the type. `Config.check` checks what concerns several options.
Each field is an option with a sentence and a flag of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.files import DamagedFileError
from tictactoe_env.rules import SIDES, Rules

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]  # NumPy and torch take no larger ones
Natural = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Size = Annotated[int, Field(ge=1, le=1_000_000_000)]
Kept = Annotated[int, Field(ge=1, le=10_000)]  # snapshots and the like
Units = Annotated[int, Field(ge=0, le=1_000_000)]  # of a layer; 0 for none
Threads = Annotated[int, Field(ge=1, le=256)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
LayerSize = Annotated[int, Field(ge=1, le=1_000_000)]
Rewards = tuple[Finite, Finite, Finite]
Layers = Annotated[tuple[LayerSize, ...], Field(max_length=100)]
Shares = Annotated[tuple[Share, ...], Field(min_length=1)]


class OptionError(ValueError):
    """The value of an option is out of bounds or of the wrong type."""


def option(
    default: Any, sentence: str, larger: Any = None, falling: Any = None, rare: bool = False
) -> Any:
    """A field of a configuration, with the sentence that explains it in `--help`.

    larger: the default on boards of more than 12 cells, if it is another one. falling: the default
    on such boards with gravity, if it is another one again. rare: whether it is changed so seldom
    that only `--help-all` shows it.
    """
    extra = {"larger": larger, "falling": falling, "rare": rare}
    return Field(default, description=sentence, json_schema_extra=extra)


class BoardConfig(BaseModel):
    """The options that every agent has.

    The configuration of an agent is a subclass. It adds options, and may give these ones another
    default and another sentence. Raises OptionError for a value out of bounds, ValueError for
    options that contradict each other, and for a board beyond the agent's limit.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    CELLS: ClassVar[int] = TABULATED  # of the largest board: all positions are in a table
    # By option another one, and its value wherever the first is typed.
    IMPLIES: ClassVar[Mapping[str, tuple[str, Any]]] = {}

    seed: Seed = option(0, "Seed of everything that is random.")
    steps: Count = option(1_000_000, "Steps after which training ends.")
    judge_every: Count = option(10_000, "Steps between two exact evaluations.", rare=True)
    rows: Count = option(3, "Rows of the board.", rare=True)
    cols: Count = option(3, "Columns of the board.", rare=True)
    k: Count = option(3, "Marks in a line that win.", rare=True)
    gravity: bool = option(False, "Pieces fall to the lowest free cell, as in Connect Four.")

    def __init__(self, **options: Any):
        # JSON and TOML have no tuples.
        options = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in options.items()
        }
        try:
            super().__init__(**options)
            Rules.among(options)  # refuses a size that does not say how many win
            if self.rules.cells > TABULATED:
                defaults = larger_defaults(type(self), self.gravity)
                super().__init__(**{**defaults, **options})
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            field = options_of(type(self)).get(name)
            expected = expected_of(field.rebuild_annotation()) if field else "no such option"
            raise OptionError(f"{name}: expected {expected}, got {first['input']!r}") from None
        if self.rules.cells > self.CELLS:
            raise ValueError(
                f"this agent learns boards of at most {self.CELLS} cells, {self.rows}x{self.cols} "
                f"has {self.rules.cells}: take a smaller board, or an agent that asks a network, "
                "such as maskable_ppo"
            )
        self.check()

    def check(self) -> None:
        """Raise ValueError for options that contradict each other. Reads no file."""

    def replace(self, **options: Any) -> Self:
        """The configuration with other values of these options."""
        return type(self)(**{**dict(self), **options})

    def saved(self) -> dict[str, Any]:
        """The options as a file has them: of fields that make the board a variant only these.

        So what was saved before such a field existed is saved alike.
        """
        plain = Rules.further_fields()
        return {name: value for name, value in self if name not in plain or value != plain[name]}

    @property
    def rules(self) -> Rules:
        """The board."""
        return Rules.among(dict(self))

    @property
    def learned_side(self) -> str:
        """The side that counts in evaluations: "X", "O" or "both", by the option `side` if any."""
        return getattr(self, "side", "both")

    @property
    def learned_sides(self) -> tuple[str, ...]:
        """The sides of `learned_side`: ("X",), ("O",) or both."""
        return SIDES if self.learned_side == "both" else (self.learned_side,)


@dataclass(frozen=True)
class Preset:
    """Options that belong together, under one name.

    weak: whether it reproduces a weakness on purpose, such as that of the original system.
    """

    sentence: str
    options: Mapping[str, Any]
    weak: bool = False


def options_of(kind: type[BoardConfig]) -> dict[str, FieldInfo]:
    """The options of a configuration class by name, in the order of its fields."""
    return dict(kind.model_fields)


def is_rare(field: FieldInfo) -> bool:
    """True if an option is shown by `--help-all` only."""
    return bool(_extra(field).get("rare"))


def larger_defaults(kind: type[BoardConfig], gravity: bool = False) -> dict[str, Any]:
    """The defaults that are others on boards of more than 12 cells, by name."""
    found = {name: larger_default(field, gravity) for name, field in kind.model_fields.items()}
    return {name: default for name, default in found.items() if default is not None}


def larger_default(field: FieldInfo, gravity: bool = False) -> Any:
    """The default of an option on boards of more than 12 cells; None if it is the usual one."""
    extra = _extra(field)
    if gravity and extra.get("falling") is not None:
        return extra["falling"]
    return extra.get("larger")


def _extra(field: FieldInfo) -> Mapping[str, Any]:
    """What `option` has noted of a field."""
    extra = field.json_schema_extra
    return extra if isinstance(extra, dict) else {}


Config = TypeVar("Config", bound=BoardConfig)


def read_config(kind: type[Config], saved: Any, source: Path) -> Config:
    """The configuration that a file of a run holds.

    saved: the parsed JSON. Raises DamagedFileError if it is not a configuration of this class.
    """
    try:
        return kind(**saved)
    except (TypeError, ValueError) as error:
        raise DamagedFileError(
            f"the configuration in {source} is damaged, or of another version: {error}"
        ) from None


def check_unchanged(config: BoardConfig, saved: BoardConfig, folder: Path) -> None:
    """Raise ValueError if the configuration of a resumed training differs in more than `steps`."""
    before = dict(saved)
    changed = [name for name, value in config if value != before[name] and name != "steps"]
    if changed:
        raise ValueError(
            f"{folder} was trained with another {', '.join(changed)}: "
            "continue with the same configuration; only steps may differ"
        )


def typed(kind: Any, text: str) -> Any:
    """The value of a text from the command line, in a type with its bound.

    Values of a tuple are separated by commas. Raises ValueError with what was expected and came.
    """
    value: str | list[str] = text
    if adapter(kind).json_schema().get("type") == "array":
        value = [part.strip() for part in text.split(",") if part.strip()]
    try:
        return adapter(kind).validate_python(value)
    except ValidationError:
        raise ValueError(f"expected {expected_of(kind)}, got {text!r}") from None


def expected_of(kind: Any) -> str:
    """The values of a type in words, such as "a whole number, 1 to 9", or "X or O"."""
    items = schema_of_items(kind)
    if "enum" in items:
        *others, last = items["enum"]
        words = f"{', '.join(others)} or {last}"
    else:
        words = ", ".join(filter(None, (_WORDS.get(items["type"], "a text"), bounds_of(kind))))
    schema = adapter(kind).json_schema()
    if schema.get("type") != "array":
        return words
    count = f"{len(schema['prefixItems'])} " if "prefixItems" in schema else ""
    return f"{count}values with commas between them, each {words}"


_WORDS = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}


def bounds_of(kind: Any) -> str:
    """The bounds of a number of this type in words, such as "0 to 1" or "1 or more"; "" without."""
    schema = schema_of_items(kind)
    low = schema.get("minimum")
    high = schema.get("maximum")
    above = schema.get("exclusiveMinimum")
    if above is not None:
        return f"above {above:g}"
    if high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"{low} or more"
    return ""


def schema_of_items(kind: Any) -> dict[str, Any]:
    """The JSON schema of a type; of a tuple that of its items; without `None`."""
    schema = adapter(kind).json_schema()
    schema, *_ = schema.get("anyOf", [schema])
    if "items" in schema:
        return dict(schema["items"])
    return dict(schema.get("prefixItems", [schema])[0])


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """The check of the values of a type with its bound, and its JSON schema."""
    return TypeAdapter(kind)
