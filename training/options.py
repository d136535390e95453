"""The options of an agent. Each option states its default, sentence and bound once, as data.

    @dataclass(frozen=True)
    class Config(BoardConfig):
        epsilon: Share = option(0.2, "Probability of a random legal move.")

The bound is part of the type (`Share` is a float from 0 to 1), and pydantic checks it. `--help`,
the errors and the tests read it from the type. `Config.check` checks what concerns several options.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.rules import Rules
from training.files import DamagedFileError

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

LARGEST = 2**63 - 1  # of any whole number: NumPy and torch take no larger seeds


class OptionError(ValueError):
    """The value of an option is out of bounds or of the wrong type."""


def option(default: Any, sentence: str, larger: Any = None) -> Any:
    """A field of a configuration, with the sentence that explains it in `--help`.

    larger: the default of `train.py` on boards of more than 12 cells, if it is another one.
    """
    if larger is not None:
        text = ",".join(map(str, larger)) if isinstance(larger, tuple) else larger
        sentence += f" On boards of more than {TABULATED} cells the default is {text}."
    return field(default=default, metadata={"sentence": sentence, "larger": larger})


@dataclass(frozen=True)
class Option:
    """One option of a configuration class.

    kind: the type with its bound, such as `Annotated[int, Field(ge=1)]`. larger: the default on
    boards of more than 12 cells; None if it is the same.
    """

    name: str
    kind: Any
    default: Any
    sentence: str = ""
    larger: Any = None

    def checked(self, value: Any) -> Any:
        """The value in the option's type. Raises OptionError for another type or out of bounds."""
        if type(value) is int and value > LARGEST:
            raise OptionError(f"{self.name} must be at most {LARGEST}, got a larger number")
        try:
            return _adapter(self.kind).validate_python(value)
        except ValidationError as error:
            raise OptionError(f"{self.name}: {error.errors()[0]['msg']}, got {value!r}") from None


def typed(kind: Any, text: str) -> Any:
    """The value of a text from the command line, in a type with its bound.

    Values of a tuple are separated by commas. Raises ValueError with what was expected and came.
    """
    is_list = schema_of(kind).get("type") == "array"
    value = [part.strip() for part in text.split(",") if part.strip()] if is_list else text
    try:
        return _adapter(kind, strict=False).validate_python(value)
    except ValidationError as error:
        raise ValueError(f"{error.errors()[0]['msg']}, got {text!r}") from None


@dataclass(frozen=True)
class BoardConfig:
    """The options that every agent has.

    The configuration of an agent is a subclass. It adds options, and may give these ones another
    default and another sentence. Raises OptionError for a value out of bounds, ValueError for
    options that contradict each other, and for a board beyond the agent's limit.
    """

    CELLS: ClassVar[int] = TABULATED  # of the largest board: all positions are in a table

    seed: Natural = option(0, "Seed of everything that is random.")
    steps: Count = option(1_000_000, "Steps after which training ends.")
    judge_every: Count = option(10_000, "Steps between two exact evaluations.")
    rows: Count = option(3, "Rows of the board.")
    cols: Count = option(3, "Columns of the board.")
    k: Count = option(3, "Marks in a line that win.")

    def __post_init__(self) -> None:
        for known in fields_of(type(self)):
            object.__setattr__(self, known.name, known.checked(getattr(self, known.name)))
        if self.rules.cells > self.CELLS:
            raise ValueError(
                f"this agent learns boards of at most {self.CELLS} cells, {self.rows}x{self.cols} "
                f"has {self.rules.cells}: take a smaller board, or an agent that asks a network, "
                "such as maskable_ppo"
            )
        self.check()

    def check(self) -> None:
        """Raise ValueError for options that contradict each other. Reads no file."""

    @property
    def rules(self) -> Rules:
        """The board."""
        return Rules(self.rows, self.cols, self.k)


@dataclass(frozen=True)
class Preset:
    """Options that belong together, under one name.

    weak: whether it reproduces a weakness on purpose, such as that of the original system.
    """

    sentence: str
    options: Mapping[str, Any]
    weak: bool = False


def options_of(kind: type[BoardConfig]) -> tuple[Option, ...]:
    """The options of a configuration class, in the order of its fields."""
    return tuple(known for known in fields_of(kind) if known.sentence)


def fields_of(kind: type[BoardConfig]) -> tuple[Option, ...]:
    """All fields of a configuration class: its options, and constants that only presets change.

    A constant is a plain field, `discount: Share = 1.0`. It has a bound but no sentence.
    """
    if "__dataclass_fields__" not in vars(kind):
        raise TypeError(f"write @dataclass(frozen=True) above {kind.__module__}.{kind.__name__}")
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple(
        Option(field.name, hints[field.name], field.default, **field.metadata)
        for field in dataclasses.fields(kind)
    )


def board_defaults(kind: type[BoardConfig], given: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults that are others on the board of these options: see `option`."""
    known = options_of(kind)
    size = {one.name: given.get(one.name, one.default) for one in known}
    if size["rows"] * size["cols"] <= TABULATED:
        return {}
    return {one.name: one.larger for one in known if one.larger is not None}


Config = TypeVar("Config", bound=BoardConfig)


def read_config(kind: type[Config], saved: Any, source: Path) -> Config:
    """The configuration that a file of a run holds.

    saved: the parsed JSON. Raises DamagedFileError if it is not a configuration of this class.
    """
    if not isinstance(saved, dict):
        raise DamagedFileError(
            f"{source} holds no configuration: expected an object, got {saved!r:.80}"
        )
    known = {entry.name for entry in fields_of(kind)}
    unknown = sorted(set(saved) - known)
    if unknown:
        raise DamagedFileError(
            f"{source} was written by another version: this one does not know the options "
            f"{printable(', '.join(unknown))}; train again, or use that version"
        )
    lists = {
        name: tuple(value) if isinstance(value, list) else value for name, value in saved.items()
    }
    try:
        make: Any = kind
        config: Config = make(**lists)
        return config
    except (TypeError, ValueError) as error:
        raise DamagedFileError(f"the configuration in {source} is damaged: {error}") from None


def check_unchanged(config: BoardConfig, saved: BoardConfig, folder: Path) -> None:
    """Raise ValueError if the configuration of a resumed training differs in more than `steps`."""
    before = dataclasses.asdict(saved)
    changed = [
        name
        for name, value in dataclasses.asdict(config).items()
        if value != before[name] and name != "steps"
    ]
    if changed:
        raise ValueError(
            f"{folder} was trained with another {', '.join(changed)}: "
            "continue with the same configuration; only steps may differ"
        )


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON schema of a type, which has its bounds as data."""
    return _adapter(kind).json_schema()


@cache
def _adapter(kind: Any, strict: bool = True) -> TypeAdapter[Any]:
    return TypeAdapter(kind, config=ConfigDict(strict=strict))
