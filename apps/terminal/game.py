"""Games of people and agents at the terminal, with values of the moves, saved in a store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
from rich.text import Text

from apps.players.seat import KINDS, OWN, Seat, Thoughts, seat_of
from apps.terminal import home
from apps.terminal.interpreter import command
from apps.terminal.lesson import Lesson
from apps.terminal.picture import STYLES, legend, number, picture, values_on_cells
from apps.terminal.talk import Show, Talk
from tictactoe_env.exact.positions import TABULATED, can_enumerate
from tictactoe_env.games import table
from tictactoe_env.games.analysis import Truth, truth
from tictactoe_env.games.game import Game
from tictactoe_env.games.store import GameStore, StoreError
from tictactoe_env.games.table import PERSON, other, what_decided, who
from tictactoe_env.notation import SIDES, cell_text
from tictactoe_env.rules import Boards, Rules, standing


class Table(table.Table):
    """Plays games between two seats and saves them in a store.

    values: the kind of the players' values that is shown from the start, "own" or "expected"; ""
    shows none. delay: seconds for which each board of a game between agents is shown. learn:
    whether players that can learn do so; by default from games of a person only.
    """

    commands: ClassVar[Mapping[str, str]] = {
        **table.Table.commands,
        "values": "show or hide what each move is worth: the other player's values and exact "
        "results; `values own` and `values expected` choose the player's values",
        "resign": "give up; the game is saved",
        "quit": "leave the game; it is not saved",
    }

    def __init__(
        self,
        seats: Mapping[str, Seat],
        rules: Rules,
        talk: Talk,
        store: GameStore,
        *,
        values: str = "",
        delay: float = 0.0,
        learn: bool | None = None,
    ):
        people = [side for side in SIDES if seats[side].is_person]
        super().__init__(rules, {side: seat.player for side, seat in seats.items()}, people)
        self.seats, self.talk, self.store, self.delay = seats, talk, store, delay
        self.values, self.kind = bool(values), values or OWN
        self.lesson = Lesson(seats, rules, bool(people), learn)
        self._show: Show = talk.say

    def play_all(self, games: int, seed: int) -> None:
        """Play games, save them and print each result. Game i is sampled with `seed + i`."""
        for text in self.lesson.before():
            self.say(text, "dim")
        super().play_all(games, seed)

    def play(self, seed: int) -> Game | None:
        """Play a game to its end; None if a person left it."""
        if self.values:
            self.solve()
        with self._screen() as self._show:
            return super().play(seed)

    @contextmanager
    def _screen(self) -> Iterator[Show]:
        """Show boards one below the other if a person plays, else each in place of the last."""
        if self.people:
            yield self.talk.say
        else:
            with self.talk.in_place() as show:
                yield show

    def say(self, text: str, style: str | None = None) -> None:
        """Print a text."""
        self.talk.say(text, style)

    def ask(self, question: str, understand: Callable[[str], str | int]) -> str | int:
        """The answer to a question, which is repeated until it is understood."""
        return self.talk.ask(question, understand)

    def show(self, cells: Sequence[int], note: str = "") -> None:
        """Show the board after some moves."""
        self._show(self.view(cells, note))

    def view(self, cells: Sequence[int], note: str = "") -> Text:
        """The board after some moves, with values if they are switched on."""
        now = standing(cells, self.rules)
        board, values = now.board, self.values and not now.ended
        own = self._thoughts(board) if values else None
        exact = self._truth(board) if values else None
        about = values_on_cells(self.rules, own, exact) if values else None
        found = Text()
        if not self.people:
            found = versus(self.seats["X"].name, self.seats["O"].name).append("\n")
        last = cells[-1] if cells else None
        found.append(picture(board, self.rules, self.talk.console, last, about))
        if values:
            found.append("\n" + legend(self._thinker(board).name, own, exact, self.rules), "dim")
        return found.append(f"\n{note}" if note else "")

    def move(self, side: str, cells: Sequence[int], board: Boards, rng: np.random.Generator) -> int:
        """The cell that a player chooses who is no person."""
        seat = self.seats[side]
        is_new = seat.is_new(board)
        note = f"{self.who(side)} has never seen this position in training." if is_new else ""
        if not self.people:
            self.show(cells, note)
            time.sleep(self.delay)
        cell = seat.move(board, rng)
        if self.people:
            move = f"{self.who(side)} plays {cell_text(cell, self.rules)}."
            self.say(f"{note} {move}" if note else move)
        return cell

    # --- commands of a person -----------------------------------------------------------------

    def answer(self, side: str, board: Boards, plies: int) -> str | int:
        """The cell that a person chooses, or a command; those for values are followed."""
        answer = super().answer(side, board, plies)
        if isinstance(answer, str) and answer.startswith("values"):
            _, _, kind = answer.partition(" ")
            self.values, self.kind = bool(kind) or not self.values, kind or self.kind
            if self.values:
                self.solve()
        return answer

    def understand(self, text: str, board: Boards) -> str | int:
        """A command, or the cell of "b2" or "5"."""
        first, *more = text.lower().split() or [""]
        if more and self.word(first) == "values":
            if len(more) > 1 or more[0] not in KINDS:
                raise ValueError(f"type values {' or values '.join(KINDS)}, got {text[:40]!r}")
            return f"values {more[0]}"
        return super().understand(text, board)

    def hint(self, board: Boards) -> str:
        """A sentence with the best moves, and with those that the other player prefers."""
        found = super().hint(board)
        return f"{found}{self._opinion(board)}" if can_enumerate(self.rules) else found

    def _opinion(self, board: Boards) -> str:
        """A sentence on the moves to which the agent that plays gives the highest value."""
        seat = self._thinker(board)
        if seat.is_person or OWN not in seat.kinds:
            return ""
        values = seat.thoughts(board).values or []
        known = [value for value in values if value is not None]
        if not known or min(known) == max(known):
            return ""  # equal values prefer no move
        best = [cell for cell, value in enumerate(values) if value == max(known)]
        return (
            f" {seat.name} gives its highest value, {number(max(known))}, to {self.any_of(best)}."
        )

    # --- values -------------------------------------------------------------------------------

    def _thinker(self, board: Boards) -> Seat:
        """The seat whose values are shown: the side to move, or its opponent if a person moves."""
        side = SIDES[int((board != 0).sum()) % 2]
        return self.seats[other(side) if self.seats[side].is_person else side]

    def _thoughts(self, board: Boards) -> Thoughts | None:
        seat = self._thinker(board)
        return None if seat.is_person else seat.thoughts(board, self.kind)

    def _truth(self, board: Boards) -> Truth | None:
        return truth(board, self.rules) if can_enumerate(self.rules) else None

    def solve(self) -> None:
        """Solve the board and compute values ahead, with a message while that takes long."""
        empty = np.zeros(self.rules.cells, dtype=np.int8)
        if self.rules.cells > TABULATED and can_enumerate(self.rules):
            with self.talk.waiting(f"solving {self.rules}"):
                truth(empty, self.rules)
        seats = [seat for seat in self.seats.values() if not seat.is_person]
        if self.values and not all(seat.thinks_at_once for seat in seats):
            with self.talk.waiting("computing values"):
                for seat in seats:
                    seat.thoughts(empty, self.kind)

    # --- the end ------------------------------------------------------------------------------

    def finish(self, game: Game) -> None:
        """Save a game. Print how it ended, what decided it, and how to replay it."""
        self.say_result(game)
        try:
            number = self.store.add(game)
        except StoreError:
            self.say(f"the game could not be saved; as a line of text it is: {game.line()}")
            raise
        for text in self.lesson.after(game):
            self.say(text)
        self.solve()
        self.say(what_decided(game))
        self.say(
            f"saved as game {number}; to see it again: {replay_command(number, self.store)}", "dim"
        )


def seats_of(specs: Sequence[str], rules: Rules, talk: Talk) -> dict[str, Seat]:
    """The seats of X and O. Raises ValueError for an unknown player or one of another board."""
    with talk.waiting("loading the players"):
        return {side: seat_of(spec, rules) for side, spec in zip(SIDES, specs, strict=True)}


def versus(x_name: str, o_name: str) -> Text:
    """Both players, such as "Ann (X) against minimax (O)".

    One person without a name is "you"; of two, only the sides are said.
    """
    names = (x_name, o_name)
    is_one = names.count(PERSON) == 1
    x, o = ("you" if is_one and name == PERSON else name for name in names)
    return (
        Text().append(who(x, "X"), STYLES["X"]).append(" against ").append(who(o, "O"), STYLES["O"])
    )


def replay_command(number: int | None, store: GameStore) -> str:
    """The command that shows a game again."""
    return command("play.py", "--replay", str(number), *home.options(store.path))
