"""The groups in which lists show players: those to begin with first, then the strong ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from apps.players.pupil import LEARNER_FOLDER
from tictactoe_env.opponents import EASY, EASY_BEYOND, registered_names

if TYPE_CHECKING:
    from apps.players.gallery import Entry

GROUPS: Mapping[str, str] = {
    "easy": "Easy to beat",
    "strong": "Strong, without training",
    "perfect": "Perfect play",
    "proven": "Trained, proven unbeatable",
    "beatable": "Trained, can be beaten",
    "run": "Your training runs",
    "other": "Added by other packages",
}
"""The groups in the order of a list, with their headings."""
ABOUT: Mapping[str, str] = {
    "easy": "They make mistakes. Begin here.",
    "strong": "They calculate, and seldom make a mistake.",
    "perfect": "They calculate every game to its end. Nobody can beat them.",
    "proven": "They have learned to play, and come with the program. No line of play beats them.",
    "beatable": "Trained, but somebody can beat them: find out how.",
    "run": "Trained on this computer: make train trains one.",
    "other": "They belong to other packages on this computer.",
}
"""What the players of a group are, in a sentence or two."""
EASY_PLAYERS = ("random", EASY, EASY_BEYOND, LEARNER_FOLDER.as_posix())
PERFECT_PLAYERS = ("minimax", "minimax-first", "search")


def group_of(id: str, kind: str, unbeatable: bool | None) -> str:
    """The group of a player, a key of GROUPS, by the fields of its `gallery.Entry`."""
    if id in EASY_PLAYERS:
        return "easy"
    if kind == "run":
        return "run"
    if kind == "trained":
        return "proven" if unbeatable else "beatable"
    if id in PERFECT_PLAYERS:
        return "perfect"
    return "other" if id in registered_names() else "strong"


def grouped(entries: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    """The players of each group that is not empty, with its heading."""
    found: dict[str, list[Entry]] = {group: [] for group in GROUPS}
    for entry in entries:
        found[entry.group].append(entry)
    return [(GROUPS[group], members) for group, members in found.items() if members]
