"""What a saved value must look like, as data: one description, one check, before anything is built.

    check(saved, {"steps": Whole()}, "progress")  # ValueError: progress/steps must be a whole ...

A layout is a dict (exactly these entries), None, or one of the kinds below.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LARGEST = 1 << 53  # of a whole number, unless a layout says another one


class LayoutError(ValueError):
    """A saved value is not what its layout says. The message names the entry."""


class Kind:
    """What one saved value must be."""

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError, which names the entry, for any other value."""
        raise NotImplementedError


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number from `low` to `high`; no bool."""

    low: int = 0
    high: int = LARGEST

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError for any other value."""
        if type(value) is not int or not self.low <= value <= self.high:
            raise _wrong(name, f"a whole number from {self.low} to {self.high}", value)


@dataclass(frozen=True)
class Number(Kind):
    """A number from `low` to `high`. is_finite: False allows NaN and infinity too."""

    low: float = -math.inf
    high: float = math.inf
    is_finite: bool = True

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError for any other value."""
        is_number = isinstance(value, float) or (type(value) is int and abs(value) <= LARGEST)
        if is_number and not (math.isfinite(value) or self.is_finite):
            return
        if not is_number or not math.isfinite(value) or not self.low <= value <= self.high:
            raise _wrong(name, f"a finite number from {self.low:g} to {self.high:g}", value)


@dataclass(frozen=True)
class Text(Kind):
    """Printable text of at most `most` letters that matches `pattern` as a whole."""

    most: int = 1_000
    pattern: str = ".*"

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError for any other value."""
        is_text = isinstance(value, str) and len(value) <= self.most and value.isprintable()
        if not is_text or not re.fullmatch(self.pattern, value):
            like_it = "" if self.pattern == ".*" else f" that matches {self.pattern}"
            raise _wrong(name, f"text of at most {self.most:,} letters{like_it}", value)


@dataclass(frozen=True)
class Flag(Kind):
    """True or False."""

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError for any other value."""
        if not isinstance(value, bool):
            raise _wrong(name, "true or false", value)


@dataclass(frozen=True)
class Entries(Kind):
    """An object with the entries `needed`, and maybe some of the entries `optional`."""

    needed: Mapping[str, Any]
    optional: Mapping[str, Any] = field(default_factory=dict)

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError for any other value."""
        if not isinstance(value, dict):
            raise _wrong(name, "an object", value)
        missing = [key for key in self.needed if key not in value]
        unknown = [key for key in value if key not in self.needed and key not in self.optional]
        if missing or unknown:
            what = (
                f"lacks {missing[0]!r}" if missing else f"has the unknown entry {unknown[0]!r:.60}"
            )
            known = ", ".join([*self.needed, *self.optional]) or "none"
            raise LayoutError(f"{name or 'the content'} {what} (its entries: {known})")
        for key, item in value.items():
            layout = self.needed[key] if key in self.needed else self.optional[key]
            check(item, layout, f"{name}/{key}" if name else key)


@dataclass(frozen=True)
class Named(Kind):
    """An object with at most `most` entries of any names, all of one layout."""

    item: Any
    most: int = 10_000

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError for any other value."""
        if not isinstance(value, dict) or len(value) > self.most:
            raise _wrong(name, f"an object of at most {self.most:,} entries", value)
        for key, item in value.items():
            Text().check(key, f"a name in {name}")
            check(item, self.item, f"{name}/{key}")


class Anything(Kind):
    """Any object. It is checked by whoever reads it."""

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError for anything but an object."""
        if not isinstance(value, dict):
            raise _wrong(name, "an object", value)


def check(value: Any, layout: Any, name: str = "") -> None:
    """Raise LayoutError, which names the entry, if a value is not what a layout says."""
    if isinstance(layout, Kind):
        layout.check(value, name)
    elif isinstance(layout, Mapping):
        Entries(layout).check(value, name)
    elif value is not None:
        raise _wrong(name, "null", value)


def _wrong(name: str, expected: str, value: Any) -> LayoutError:
    found = reprlib.repr(value)
    return LayoutError(f"{name or 'the content'} must be {expected}, got {found:.100}")
