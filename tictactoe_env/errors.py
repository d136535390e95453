"""Checks of arguments; their errors tell what was expected, what was given and what to do.

Text that may come from anybody's file goes through `printable` before it is shown: escape codes
could hide the lines that a program prints, line breaks could add lines that look like its own, and
marks of direction could reverse the order of the letters.
"""

from __future__ import annotations

import difflib
import math
import operator
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    import argparse

NEAR = 0.77  # the share of equal letters from which a name may have been meant
SHORT = 20  # names that an error lists
OTHERWISE = ("size", "board", "board_size", "shape", "width", "height", "m", "n")
"""Names by which other programs call the sizes of a board."""


def unknown_name(
    what: str, name: object, known: Iterable[str], where: str = "", meant: str = ""
) -> ValueError:
    """The error for an unknown name: it suggests a known name if one is near, and lists all.

    where: how to see them, in place of a long list. meant: what is suggested in place of a near
    name.
    """
    return ValueError(f"unknown {what} {name!r}{_known(str(name), known, where, meant)}")


def _known(name: str, known: Iterable[str], where: str = "", meant: str = "") -> str:
    """The end of an error about an unknown name: a near one, and all of them."""
    known = sorted(known)
    near = nearest(name, known)
    if near and not meant:
        meant = repr(near)
    guess = f"; did you mean {meant}?" if meant else ""
    listed = f"known: {', '.join(known) or 'none'}"
    if where and len(known) > SHORT:
        listed = where
    return f"{guess} ({listed})"


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that may have been meant by a name; "" if none is near.

    Such a name has nearly the same letters, in capitals or not, or is one of the words of the other
    ("ppo" and "maskable_ppo"), or is written by the first letters of its words ("lr" and
    "learning_rate").
    """
    wanted = name.lower().strip("-")

    def likeness(spelling: str) -> float:
        spelling = spelling.lower().strip("-")
        words = _words(spelling)
        is_word = wanted in words or spelling in _words(wanted)
        is_short = len(words) > 1 and wanted == "".join(word[0] for word in words)
        alike = difflib.SequenceMatcher(None, wanted, spelling).ratio()
        return max(alike, NEAR) if is_word or is_short else alike

    found = max(known, key=likeness, default="")
    return found if likeness(found) >= NEAR else ""


def _words(name: str) -> list[str]:
    """The words of a name such as "maskable_ppo" or "learning-rate"."""
    return [word for word in re.split("[-_]", name) if word]


def check_arguments(function: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise TypeError for the first name that is no keyword argument of a function.

    For a function that hands on what it is given, so that Python would name another one. The words
    are those of Python: libraries look for them, and then leave out what they have added.
    """
    for name in given:
        if name not in known:
            meant = "rows, cols and k" if name in OTHERWISE and "rows" in known else ""
            rest = _known(name, known, meant=meant)
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{rest}")


def one_of(what: str, value: Any, choices: Collection[str]) -> str:
    """`value` if it is one of the choices; else ValueError, which suggests the nearest one."""
    if not isinstance(value, str) or value not in choices:
        raise unknown_name(what, value, choices)
    return value


def checked_seed(seed: Any) -> int | None:
    """`seed` as an int of at least 0, or None; ValueError otherwise."""
    return None if seed is None else whole_number(seed, "seed, if it is not None,", 0)


def whole_number(value: Any, what: str, low: int, high: int | None = None) -> int:
    """`value` as a Python int in [low, high]; ValueError for all else, bools and floats too."""
    number = _index(value)
    if number is not None and number >= low and (high is None or number <= high):
        return number
    bound = f"of at least {low}" if high is None else f"from {low} to {high}"
    got = " ".join(repr(value).split())  # that of an array has several lines
    raise ValueError(f"{what} must be a whole number {bound}, got {got}")


def _index(value: Any) -> int | None:
    """A whole number as a Python int; None for all else, bools and floats too."""
    if isinstance(value, (bool, np.bool_)) or hasattr(value, "mask"):
        return None  # a masked array would give what is under the mask
    try:
        return operator.index(value)
    except TypeError:
        return None


def probability(value: Any, what: str) -> float:
    """`value` as a float in [0, 1]; ValueError for all else, NaN and bools too."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{what} must be a probability from 0 to 1, got {value!r}")
    return float(value)


def not_negative(value: Any, what: str) -> float:
    """`value` as a finite float of at least 0; ValueError for all else, NaN and bools too."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ValueError(f"{what} must be a finite number of at least 0, got {value!r}")
    return float(value)


def printable(text: object, lines: bool = False) -> str:
    r"""`str(text)` with an escape such as \x1b, \n or \u202e for each letter that is not printable.

    A letter is printable as `str.isprintable` defines it. So control characters, line breaks, marks
    of direction, and the lone surrogates of a file name that is not UTF-8 are not.
    lines: line breaks stay, because the text has lines of its own.
    """
    found = str(text)
    if lines:
        return "\n".join(map(printable, found.split("\n")))
    others = [letter for letter in set(found) if not letter.isprintable()]
    escapes = {ord(letter): letter.encode("unicode_escape").decode() for letter in others}
    return found.translate(escapes)


def in_one_line(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """A parser of a command line that says its errors in one line, without its usage."""

    def error(message: str) -> NoReturn:
        parser.exit(2, f"{parser.prog}: {message}\n")

    parser.error = error  # type: ignore[method-assign]
    return parser


def run_program(main: Callable[[], int]) -> NoReturn:
    """End with the exit code of `main`, or with 0 if nobody reads on, such as after `| head`."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
