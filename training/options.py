"""The configuration of an agent: what every agent's has, a sentence for each option, presets, and how it is read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from tictactoe_env.errors import whole_number
from tictactoe_env.rules import Rules
from training.files import DamagedFileError


def option(default: Any, sentence: str) -> Any:
    """A field of a configuration with the sentence that explains it on the command line."""
    return field(default=default, metadata={"help": sentence})


@dataclass(frozen=True)
class BoardConfig:
    """What every agent's configuration has. An agent's own class follows, and gives `steps` and others its own default and sentence."""

    STEP: ClassVar[str] = "moves"  # what a step is, in the plural
    FEWEST_STEPS: ClassVar[int] = 1

    seed: int = option(0, "Seed of everything that is random, a whole number of at least 0.")
    steps: int = option(1_000_000, "Environment steps after which training ends, at least 1.")
    judge_every: int = option(10_000, "Environment steps between two exact judgements, at least 1.")
    rows: int = option(3, "Rows of the board, at least 1.")
    cols: int = option(3, "Columns of the board, at least 1.")
    k: int = option(3, "Marks in a line that win, at least 1.")

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("steps", self.FEWEST_STEPS), ("judge_every", 1)):
            whole_number(getattr(self, name), name, least)
        _ = self.rules

    @property
    def rules(self) -> Rules:
        """The board."""
        return Rules(self.rows, self.cols, self.k)


@dataclass(frozen=True)
class Preset:
    """Options that belong together, under one name.

    weak: whether it reproduces a weakness on purpose, such as that of the system an agent comes from.
    """

    sentence: str
    options: Mapping[str, Any]
    weak: bool = False


Config = TypeVar("Config", bound=BoardConfig)


def read_config(kind: type[Config], about: Mapping[str, Any], agent: str, folder: Path) -> Config:
    """The configuration that was written beside a saved model; DamagedFileError if it is another agent's, or none."""
    saved = about.get("config")
    if about.get("agent") != agent or not isinstance(saved, dict):
        raise DamagedFileError(f"{folder} holds no run of {agent}, but of {about.get('agent')!r}")
    unknown = set(saved) - {known.name for known in fields(kind)}
    if unknown:
        raise DamagedFileError(
            f"{folder} was written by another version: {', '.join(sorted(unknown))} are unknown to this one"
        )
    try:
        options: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in saved.items()
        }
        return kind(**options)
    except (TypeError, ValueError) as error:
        raise DamagedFileError(f"the configuration in {folder} is damaged: {error}") from None


def check_unchanged(config: BoardConfig, saved: BoardConfig, folder: Path) -> None:
    """Raises ValueError if a training would go on with another configuration; only `steps` may differ."""
    before = asdict(saved)
    changed = [
        name for name, value in asdict(config).items() if value != before[name] and name != "steps"
    ]
    if changed:
        raise ValueError(
            f"{folder} was trained with another {', '.join(changed)}: go on with the same configuration, only steps may differ"
        )
