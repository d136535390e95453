"""What players learn from the games at a table, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apps.players.pupil import LEARNER_FOLDER, LEARNER_RULES, Pupil, teach
from apps.players.seat import Seat
from tictactoe_env.games.game import Game
from tictactoe_env.rules import Rules


class Lesson:
    """The players that learn from the games of two seats.

    They are those at the table that can. The learner in runs/learner, once it has its first game,
    learns from every game of a person on its board. learn: whether they learn; None: they do.
    """

    def __init__(
        self, seats: Mapping[str, Seat], rules: Rules, with_person: bool, learn: bool | None
    ):
        self.at_table = [seat.pupil for seat in seats.values() if seat.pupil is not None]
        self.is_on, self.is_wished = learn is not False, learn is True
        self.pupils: list[Pupil] = self.at_table if self.is_on else []
        folders = {pupil.folder.resolve() for pupil in self.at_table}
        may_join = self.is_on and with_person and rules == LEARNER_RULES
        if may_join and LEARNER_FOLDER.exists() and LEARNER_FOLDER.resolve() not in folders:
            self.pupils = [*self.at_table, Pupil(LEARNER_FOLDER)]

    def before(self) -> Iterator[str]:
        """For each player at the table that can learn: what it has learned, and whether it will."""
        if self.is_wished and not self.pupils:
            yield (
                "Nobody here learns: a trie that was trained on this computer does (latest:trie), "
                "and learner does; a table of the package does not."
            )
        for pupil in {pupil.folder: pupil for pupil in self.at_table}.values():
            rest = "" if self.is_on else " It does not learn from these games."
            yield f"{pupil.name} has {pupil.text}.{rest}"

    def after(self, game: Game) -> Iterator[str]:
        """Let them learn from a finished game, and say so."""
        for name, text in teach(self.pupils, game).items():
            yield f"{name} {text}."
