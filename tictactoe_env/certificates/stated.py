"""What a certificate states without a proof: its agent, seed, configuration, training and versions.

No verifier can recompute these entries, but programs print them beside what is proven. So they must
be what they look like: names are short printable words, numbers are finite.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from typing import Any

from tictactoe_env.errors import printable

MAX_WORDS = 100  # letters of a name
MAX_TEXT = 100_000  # letters of a text in a configuration, such as a pool of opponents
MAX_ENTRIES = 10_000  # of configuration, training and versions together, nested ones too
MAX_DEPTH = 20  # of objects and lists in each other
MAX_SEED = 2**128  # above all seeds of NumPy
GROUPS = ("config", "training", "versions")
NUMBERS = ("steps", "seconds", "games", "entries")  # of `training`, at any depth
POINTS = ("best_at", "first_unbeatable", "first_optimal")  # {"steps": ..., "seconds": ...}


class StatedError(ValueError):
    """An entry that is not of its form."""


def check_stated(content: Mapping[str, Any]) -> None:
    """Raises StatedError, which names the entry, unless all stated entries are of their form.

    agent: words, as `is_words` defines them. seed: a whole number from 0, or null. The other three
    are objects of JSON values; their names, and the name `preset` of a training, are words, and
    their texts are printable. Entries that are absent are not missed.
    """
    if "agent" in content and not is_words(content["agent"]):
        raise _wrong("agent", content["agent"], _WORDS)
    seed = content.get("seed")
    if seed is not None and not (type(seed) is int and 0 <= seed < MAX_SEED):
        raise _wrong("seed", seed, "a whole number of at least 0, below 2**128, or null")
    left = [MAX_ENTRIES]
    for group in GROUPS:
        if group in content:
            if not isinstance(content[group], Mapping):
                raise _wrong(group, content[group], "an object")
            _check(content[group], group, left)
    training = content.get("training", {})
    if not is_words(training.get("preset", "preset")):
        raise _wrong("training.preset", training["preset"], _WORDS)
    for point in POINTS:
        if not isinstance(training.get(point, {}), Mapping):
            raise _wrong(f"training.{point}", training[point], "an object of steps and seconds")
    _check_numbers(training, "training")


def printable_texts(value: Any) -> Any:
    """JSON values with each of their texts, and names, as `printable` shows it."""
    if isinstance(value, Mapping):
        return {printable(name): printable_texts(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(printable_texts, value))
    return printable(value) if isinstance(value, str) else value


def is_words(value: Any) -> bool:
    """Whether a value is text of at most 100 printable letters: words with one space between."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_WORDS
        and value.isprintable()
        and value == " ".join(value.split())
    )


_WORDS = f"short printable words, at most {MAX_WORDS} letters with single spaces between the words"


def _check(value: Any, place: str, left: list[int], depth: int = 0) -> None:
    """Raises StatedError for what is no JSON value, or text that is not printable.

    left: the number of entries that may still come. depth: of the objects around the value.
    """
    left[0] -= 1
    if left[0] < 0 or depth > MAX_DEPTH:
        most = f"one of at most {MAX_ENTRIES:,} entries in objects {MAX_DEPTH} deep"
        raise _wrong(place[:MAX_WORDS], value, most)
    if isinstance(value, Mapping):
        for name, part in value.items():
            if not is_words(name):
                raise _wrong(f"a name in {place}", name, _WORDS)
            _check(part, f"{place}.{name}", left, depth + 1)
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            _check(part, f"{place}[{number}]", left, depth + 1)
    elif isinstance(value, str):
        if len(value) > MAX_TEXT or not value.isprintable():
            raise _wrong(place, value, f"printable text of at most {MAX_TEXT:,} letters")
    elif value is not None and not isinstance(value, bool) and not _is_number(value):
        raise _wrong(place, value, "a finite number, text, true, false, null, a list or an object")


def _check_numbers(value: Any, place: str) -> None:
    """Raises StatedError unless the numbers of a training, at any depth, are at least 0."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            if name in NUMBERS and not (_is_number(part) and part >= 0):
                raise _wrong(f"{place}.{name}", part, "a finite number of at least 0")
            _check_numbers(part, f"{place}.{name}")


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < MAX_SEED


def _wrong(place: str, value: Any, expected: str) -> StatedError:
    # A repr shows what is not printable as \x1b and the like.
    return StatedError(f"{place} must be {expected}, got {reprlib.repr(value)}")
