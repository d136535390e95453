"""The verdict on a player, in words: what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Proven(NamedTuple):
    """The verdict on a player as one side.

    unbeatable, optimal, always_wins: see `certificates.SideResults`. losing_line: the cells of the
    shortest game that it loses, by name; None without one, or if it is not known.
    """

    unbeatable: bool
    optimal: bool = False
    always_wins: bool = False
    losing_line: Sequence[str] | None = None

    @property
    def word(self) -> str:
        """The proof in a word or two, such as "unbeatable"; "" for a player that can be beaten."""
        if self.always_wins:
            return "wins against everybody"
        return "unbeatable" if self.unbeatable else ""


def verdict(sides: Mapping[str, Proven], games: bool = True) -> str:
    """Say whether a player can be beaten, such as "can be beaten as O (a1 b2 b1 a3 c1)".

    sides: those of which something is proven. games: name the shortest games that it loses. Where
    one side wins against everybody, the other is not judged by its losses.
    """
    if not sides:
        return "not proven"
    for side, other in ("XO", "OX"):
        if side in sides and sides[side].always_wins:
            words = f"wins against everybody as {side}"
            if other in sides:
                words += f", and {other} cannot avoid losing"
            return words
    beaten = []
    for side, one in sides.items():
        if not one.word:
            words = f"as {side}"
            if games and one.losing_line:
                words += f" ({' '.join(one.losing_line)})"
            beaten.append(words)
    if beaten:
        return f"can be beaten {' and '.join(beaten)}"
    words = "cannot be beaten"
    if len(sides) == 1:
        words += f" as {next(iter(sides))}"
    if all(one.optimal for one in sides.values()):
        words += ", optimal"
    return words
