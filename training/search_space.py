"""The search space of `train.py AGENT --optimize N`: the ranges of an agent's options.

A module may define `SEARCH`, beside its `Config`:

    SEARCH = {
        "learning_rate": Range(1e-4, 1e-2, log=True),
        "epochs": Range(2, 10),
        "hidden": ("64", "128,128", "256,256"),
    }

A tuple holds a few values, each as it is typed on the command line. Options that are not named keep
their values. The default of each option is within its range, since the first trial of a search has
the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, both included; whole ones if these are.

    log: whether the logarithm is searched evenly, as suits a learning rate.
    """

    low: float
    high: float
    log: bool = False


SearchSpace = Mapping[str, Range | tuple[str, ...]]


def text_of(value: object) -> str:
    """A value of an option as it is typed: 0.00123, 8 or "128,128"."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def holds(place: Range | tuple[str, ...], value: object) -> bool:
    """True if a value of an option is within its range."""
    if isinstance(place, tuple):
        return text_of(value) in place
    return isinstance(value, int | float) and place.low <= value <= place.high
