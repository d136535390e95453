"""The unproven part of a certificate: its agent, seed, configuration, training and versions.

No verifier can recompute these entries, but programs print them beside what is proven. So they must
be what they look like: names are short plain words, texts are printable, numbers are finite.
"""

from __future__ import annotations

import math
import platform
import re
import reprlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tictactoe_env.errors import printable

MAX_NAME = 100  # letters
MAX_TEXT = 100_000  # letters of a text in a configuration, such as a pool of opponents
_MAX_ENTRIES = 10_000  # of configuration, training and versions together, nested ones too
_MAX_DEPTH = 20  # of objects and lists in each other
_MAX_NUMBER = 2**128  # above all seeds of NumPy
_AMOUNTS = ("steps", "seconds", "games", "entries")  # of `training`, at any depth
_POINTS = ("best_at", "first_unbeatable", "first_optimal")  # {"steps": ..., "seconds": ...}
_PACKAGES = ["tictactoe-env", "numpy", "gymnasium", "stable-baselines3", "sb3-contrib", "torch"]
_NAME = (
    "letters, digits and _.:=+ -, at most 100, with single spaces between words and without "
    '"proven", which is for verdicts'
)


class CertificateError(ValueError):
    """A certificate that cannot be read, or whose results are not those of its moves."""


@dataclass(frozen=True)
class Stated:
    """The entries of a certificate that nobody can verify.

    agent: a name, see `is_name`. seed: a whole number from 0, or None. The other three are JSON
    objects. Their names, and the `preset` of a training, are names too; their texts are printable.

    Raises CertificateError, which names the entry, if one is not of this form.
    """

    agent: str
    seed: int | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check("agent", self.agent, is_name(self.agent), _NAME)
        is_seed = self.seed is None or (type(self.seed) is int and 0 <= self.seed < _MAX_NUMBER)
        _check("seed", self.seed, is_seed, "a whole number from 0 to 2**128 - 1, or null")
        entries = 0
        for group in ("config", "training", "versions"):
            content = getattr(self, group)
            _check(group, content, isinstance(content, Mapping), "an object")
            entries = _check_value(content, group, entries)
        _check("training.preset", self.preset, is_name(self.training.get("preset", "none")), _NAME)
        for name in _POINTS:
            point = self.training.get(name, {})
            _check(f"training.{name}", point, isinstance(point, Mapping), "an object")

    @classmethod
    def of(cls, agent: str, seed: int | None = None, **entries: Any) -> Stated:
        r"""The unproven part of a new certificate: config, versions and training, if given.

        versions: by default those of this process. What is not printable in the texts is written as
        \x1b and the like, so that a certificate can be read again whatever a folder is called.
        """
        entries = {"versions": package_versions(), **entries}
        return cls(agent, seed, **{name: _as_stated(value) for name, value in entries.items()})

    @property
    def preset(self) -> str | None:
        """The preset of the training, if it had one."""
        preset: str | None = self.training.get("preset")
        return preset

    @property
    def label(self) -> str:
        """The agent, and its preset: "dqn-quick"."""
        return self.agent if self.preset is None else f"{self.agent}-{self.preset}"


def is_name(value: Any) -> bool:
    """True if a value is plain words of at most 100 letters with one space between them.

    Without "proven", so that a name can't be taken for the verdict beside which it's printed.
    """
    words = "[A-Za-z0-9_.:=+-]+(?: [A-Za-z0-9_.:=+-]+)*"
    is_plain = isinstance(value, str) and len(value) <= MAX_NAME and re.fullmatch(words, value)
    return bool(is_plain) and "proven" not in value.lower()


def name_of(text: str) -> str:
    """A text as a name: the last 100 letters, with "_" for what a name may not hold."""
    plain = re.sub("(?i:proven)|[^A-Za-z0-9_.:=+ -]", "_", text)[-MAX_NAME:]
    return " ".join(plain.split()) or "_"


def is_number(value: Any) -> bool:
    """True if a value is a finite number that a float can hold, and no bool."""
    if isinstance(value, float):
        return math.isfinite(value)
    return type(value) is int and abs(value) < _MAX_NUMBER


def _as_stated(value: Any) -> Any:
    """A value of a configuration as it can be stated: lists, names, and printable texts."""
    if isinstance(value, Mapping):
        return {name_of(name): _as_stated(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_stated(part) for part in value]
    return printable(value) if isinstance(value, str) else value


def _check_value(value: Any, place: str, entries: int, depth: int = 0) -> int:
    """Count the entries up to the end of this value, after so many before it.

    depth: of the objects around the value. Raises CertificateError for what is no JSON value, or
    not of its form.
    """
    entries += 1
    most = f"one of at most {_MAX_ENTRIES:,} entries in objects {_MAX_DEPTH} deep"
    _check(place, value, entries <= _MAX_ENTRIES and depth <= _MAX_DEPTH, most)
    if isinstance(value, Mapping):
        for name, part in value.items():
            _check(f"a name in {place}", name, is_name(name), _NAME)
            if name in _AMOUNTS and place.partition(".")[0] == "training":
                is_amount = is_number(part) and part >= 0
                _check(f"{place}.{name}", part, is_amount, "a finite number of at least 0")
            entries = _check_value(part, f"{place}.{name}", entries, depth + 1)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            entries = _check_value(part, f"{place}[{number}]", entries, depth + 1)
    elif isinstance(value, str):
        is_text = len(value) <= MAX_TEXT and value.isprintable()
        _check(place, value, is_text, f"printable text of at most {MAX_TEXT:,} letters")
    elif value is not None and not isinstance(value, bool):
        _check(place, value, is_number(value), "a finite number, text, or another JSON value")
    return entries


def _check(place: str, value: Any, is_right: bool, expected: str) -> None:
    """Raises CertificateError unless a value is right; a repr shows escapes as \\x1b."""
    if not is_right:
        raise CertificateError(f"{place:.100} must be {expected}, got {reprlib.repr(value)}")


def package_versions() -> dict[str, str]:
    """The versions of Python and of the packages that this process has imported."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        module = sys.modules.get(package.replace("-", "_"))
        if module is not None:
            found[package] = str(module.__version__)  # of a clone the metadata may be older
    return found
