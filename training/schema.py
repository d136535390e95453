"""What a saved value must look like, as data: one description, one check, before anything is built.

    layout = {"games": Array(np.float64, (2, 764), low=0), "played": Whole(), "rng": Random()}
    check(saved, layout, "state")  # ValueError: state/played must be a whole number ..., got -1

A layout is a dict (exactly these entries), a list (exactly these items), None, or one of the kinds
below. `like` makes the layout of a value: the same entries, dtypes and shapes.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

GENERATOR = "$generator"  # a saved NumPy generator is {"$generator": its state}
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
class Free:
    """The length of a dimension that is not known before: from `least` to `most`."""

    most: int
    least: int = 0

    def __str__(self) -> str:
        return f"{self.least} to {self.most}"


@dataclass(frozen=True)
class Array(Kind):
    """An array of this dtype and shape, finite, with all entries from `low` to `high`.

    sums: what each row must sum to, within 1e-9; None for anything.
    """

    dtype: Any
    shape: tuple[int | Free, ...]
    low: float | None = None
    high: float | None = None
    sums: float | None = None

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError for any other value."""
        if not isinstance(value, np.ndarray):
            raise _wrong(name, self.text, value)
        if value.dtype != self.dtype or not self._fits(value.shape):
            raise LayoutError(
                f"{name} must be {self.text}, got {value.dtype} of the shape {value.shape}"
            )
        if not value.size:
            return
        if not np.isfinite(value).all():
            raise LayoutError(f"{name} must be {self.text}, got NaN or infinity in it")
        low, high = value.min(), value.max()
        if (self.low is not None and low < self.low) or (
            self.high is not None and high > self.high
        ):
            raise LayoutError(f"{name} must be {self.text}, got {low} to {high}")
        if self.sums is not None and (np.abs(value.sum(axis=-1) - self.sums) > 1e-6).any():
            raise LayoutError(f"{name} must be {self.text}, got rows with other sums")

    def _fits(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == len(self.shape) and all(
            known.least <= length <= known.most if isinstance(known, Free) else length == known
            for length, known in zip(shape, self.shape, strict=True)
        )

    @property
    def text(self) -> str:
        """The layout in words."""
        shape = ", ".join(map(str, self.shape)) + "," * (len(self.shape) == 1)
        bounds = [f"at least {self.low:g}"] if self.low is not None else []
        bounds += [f"at most {self.high:g}"] if self.high is not None else []
        text = f"finite {np.dtype(self.dtype).name} of the shape ({shape})"
        text += f", {' and '.join(bounds)}" if bounds else ""
        return text + (f", with rows that sum to {self.sums:g}" if self.sums is not None else "")


@dataclass(frozen=True)
class Random(Kind):
    """The state of a NumPy generator, as `pack` saves it or bare: a generator is built from it."""

    is_bare: bool = False

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError for any other value."""
        if not self.is_bare:
            if not isinstance(value, dict) or set(value) != {GENERATOR}:
                raise _wrong(name, "the state of a random generator", value)
            value = value[GENERATOR]
        generator_of(value, name)


@dataclass(frozen=True)
class Many(Kind):
    """A list of at most `most` values of one layout."""

    item: Any
    most: int = 1_000_000

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError for any other value."""
        if not isinstance(value, list) or len(value) > self.most:
            raise _wrong(name, f"a list of at most {self.most:,} entries", value)
        for number, item in enumerate(value):
            check(item, self.item, f"{name}/{number}")


@dataclass(frozen=True)
class Either(Kind):
    """A value of one of these layouts."""

    layouts: tuple[Any, ...]

    def check(self, value: Any, name: str) -> None:
        """Raise LayoutError, with the reason of the last layout, for any other value."""
        for layout in self.layouts[:-1]:
            try:
                return check(value, layout, name)
            except LayoutError:
                continue
        check(value, self.layouts[-1], name)


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
    elif isinstance(layout, list):
        if not isinstance(value, list) or len(value) != len(layout):
            raise _wrong(name, f"a list of {len(layout)} entries", value)
        for number, pair in enumerate(zip(value, layout, strict=True)):
            check(*pair, f"{name}/{number}")
    elif value is not None:
        raise _wrong(name, "null", value)


def like(value: Any) -> Any:
    """The layout of a value: the same entries, dtypes and shapes; numbers of the same type."""
    if isinstance(value, np.ndarray):
        return Array(value.dtype, value.shape)
    if isinstance(value, np.random.Generator):
        return Random()
    if isinstance(value, np.generic):
        return like(value.item())
    if isinstance(value, Mapping):
        return {key: like(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [like(item) for item in value]
    kinds: dict[type, Any] = {bool: Flag(), int: Whole(), float: Number(), str: Text()}
    if value is None or type(value) in kinds:
        return None if value is None else kinds[type(value)]
    raise TypeError(f"a state has no {type(value).__name__}: see training.learner.State")


# --- generators ----------------------------------------------------------------------------------

PCG64 = {
    "bit_generator": Text(5, "PCG64"),
    "state": {"state": Whole(high=2**128 - 1), "inc": Whole(high=2**128 - 1)},
    "has_uint32": Whole(high=1),
    "uinteger": Whole(high=2**32 - 1),
}
"""The state of the generators that NumPy makes by default."""


def generator_of(state: Any, name: str = "generator") -> np.random.Generator:
    """The generator with a saved state. Raises LayoutError for another layout."""
    check(state, PCG64, name)
    generator = np.random.Generator(np.random.PCG64())
    generator.bit_generator.state = state
    return generator


def _wrong(name: str, expected: str, value: Any) -> LayoutError:
    found = (
        f"{value.dtype} of the shape {value.shape}"
        if isinstance(value, np.ndarray)
        else reprlib.repr(value)
    )
    return LayoutError(f"{name or 'the content'} must be {expected}, got {found:.100}")
