"""What `train.py AGENT --optimize N` searches: the ranges of an agent's options.

A page may define `SEARCH`, beside its `Config`:

    SEARCH = {
        "learning_rate": Range(1e-4, 1e-2, log=True),
        "epochs": Range(2, 10),
        "hidden": Choice("64", "128,128", "256,256"),
    }

Options that are not named keep their values. The default of each option is within its range, since
the first trial of a search has the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from training.options import Option

DIGITS = 3  # significant digits of a number that is searched


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, both included; whole ones if the option is whole.

    log: whether the logarithm is searched evenly, as suits a learning rate.
    """

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True, init=False)
class Choice:
    """One of a few values, each as it is typed on the command line."""

    texts: tuple[str, ...]

    def __init__(self, *texts: str):
        object.__setattr__(self, "texts", texts)


SearchSpace = Mapping[str, Range | Choice]


def is_whole(known: Option) -> bool:
    """Whether the values of an option are whole numbers."""
    return known.metavar == "INT"


def text_of(known: Option, value: object, digits: int | None = None) -> str:
    """A value of an option as it is typed: 0.00123, 8 or "128,128".

    digits: the significant digits of a number that is not whole; None for the exact number.
    """
    if isinstance(value, float) and digits is not None and not is_whole(known):
        return f"{value:.{digits}g}"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def holds(place: Range | Choice, known: Option, value: object) -> bool:
    """Whether a value of an option is within its range."""
    if isinstance(place, Choice):
        return text_of(known, value) in place.texts
    return isinstance(value, int | float) and place.low <= value <= place.high
