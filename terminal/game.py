"""Games at the terminal, with a person or an agent on each side, and the commands of a person."""

from __future__ import annotations

import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from players.seat import PERSON, Seat, seat_of
from terminal import home
from terminal.lesson import Lesson
from terminal.picture import STYLES, legend, number, picture, values_on_cells
from terminal.talk import Show, Talk
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import TABULATED, can_enumerate
from tictactoe_env.games.analysis import KINDS, OWN, Thoughts, Truth, truth, turning_point
from tictactoe_env.games.game import Game
from tictactoe_env.games.store import GameStore, StoreError
from tictactoe_env.notation import SIDES, cell_text, parse_cell
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import Boards, Rules, standing
from training.interpreter import command

COMMANDS = {
    "undo": "take your last move back",
    "hint": "show the best moves",
    "values": "show or hide what each move is worth: the other player's values and exact results; "
    "`values own` and `values expected` choose the player's values",
    "resign": "give up; the game is saved",
    "quit": "leave the game; it is not saved",
    "help": "show these commands",
}
SHORT = {"?": "help"} | {word[0]: word for word in COMMANDS if word != "help"}
HINT = "search-depth=2"  # gives the hints on boards that are too large to solve


class Table:
    """Plays games between two seats and saves them in a store.

    values: the kind of the players' values that is shown from the start, "own" or "expected"; ""
    shows none. delay: seconds for which each board of a game between agents is shown. learn:
    whether players that can learn do so; by default from games of a person only.
    """

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
        self.seats, self.rules, self.talk, self.store = seats, rules, talk, store
        self.values, self.kind, self.delay = bool(values), values or OWN, delay
        self.people = [side for side in SIDES if seats[side].is_person]
        self.played: list[Game] = []
        self.lesson = Lesson(seats, rules, bool(self.people), learn)

    def play_all(self, games: int, seed: int) -> None:
        """Play games, save them and print each result. Game i is sampled with `seed + i`."""
        for text in self.lesson.before():
            self.talk.say(text, "dim")
        for index in range(games):
            if games > 1:
                self.talk.say(f"game {index + 1} of {games}", "bold")
            game = self.play(seed + index)
            if game is None:
                self.talk.say("You left the game; it is not saved.")
                break
            self.played.append(game)
            self._finish(game)
        if len(self.played) > 1:
            won = Counter(game.result for game in self.played)
            counts = ", ".join(f"{self._who(side)} won {won[side]}" for side in SIDES)
            self.talk.say(f"\n{len(self.played)} games: {counts}, drawn {won['draw']}", "bold")

    # --- a game -------------------------------------------------------------------------------

    def play(self, seed: int) -> Game | None:
        """A finished game, with the agents' moves sampled by a seed; None if a person left it."""
        rng, cells = np.random.default_rng(seed), list[int]()
        self._solve(self.values)
        with self._screen() as show:
            while not (now := standing(cells, self.rules)).ended:
                assert now.mover is not None
                if now.mover not in self.people:
                    cells.append(self._move(now.mover, cells, now.board, rng, show))
                    continue
                show(self.view(cells))
                answer = self._answer(now.mover, now.board)
                if answer == "quit":
                    return None
                if answer == "resign":
                    return self._game(cells, seed, ended="resigned", result=_other(now.mover))
                if isinstance(answer, int):
                    cells.append(answer)
                elif answer == "undo":
                    self._take_back(cells)
            if now.ended != "illegal":
                show(self.view(cells))
        return self._game(cells, seed, ended=now.ended)

    def _game(self, cells: Sequence[int], seed: int, **end: Any) -> Game:
        """The game as it is saved."""
        return Game(
            x=self.seats["X"].player,
            o=self.seats["O"].player,
            moves=tuple(cells),
            rules=self.rules,
            seed=seed,
            origin="human" if self.people else "battle",
            side=self.people[0] if len(self.people) == 1 else None,
            **end,
        )

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

    def _move(
        self, side: str, cells: Sequence[int], board: Boards, rng: np.random.Generator, show: Show
    ) -> int:
        """The cell that an agent chooses."""
        seat = self.seats[side]
        is_new = seat.is_new(board)
        note = f"{self._who(side)} has never seen this position in training." if is_new else ""
        if not self.people:
            show(self.view(cells, note))
            time.sleep(self.delay)
        cell = seat.move(board, rng)
        if self.people:
            move = f"{self._who(side)} plays {cell_text(cell, self.rules)}."
            self.talk.say(f"{note} {move}" if note else move)
        return cell

    @contextmanager
    def _screen(self) -> Iterator[Show]:
        """Show boards one below the other if a person plays, else each in place of the last."""
        if self.people:
            yield self.talk.say
        else:
            with self.talk.in_place() as show:
                yield show

    # --- commands of a person -----------------------------------------------------------------

    def _answer(self, side: str, board: Boards) -> int | str:
        """The cell that a person chooses, or one of "undo", "resign", "quit", "values ..."."""
        last = cell_text(self.rules.cells - 1, self.rules)
        question = (
            f"{self._who(side)}, your move (such as {last} or {self.rules.cells}, ? for help):"
        )
        while True:
            answer = self.talk.ask(question, partial(self._understand, board))
            if answer == "help":
                self.talk.say(commands_text(self.talk.console))
            elif answer == "hint":
                self.talk.say(self._hint(board))
            elif isinstance(answer, str) and answer.partition(" ")[0] == "values":
                kind = answer.partition(" ")[2]
                self.values, self.kind = bool(kind) or not self.values, kind or self.kind
                self._solve(self.values)
                return answer
            else:
                return answer

    def _understand(self, board: Boards, text: str) -> int | str:
        """A command, or the cell of "b2" or "5". Raises ValueError for any other text."""
        word = SHORT.get(text.lower(), text.lower())
        if word in COMMANDS:
            return word
        first, *more = word.split() or [""]
        if SHORT.get(first, first) == "values":
            if len(more) > 1 or more[0] not in KINDS:
                raise ValueError(f"type values {' or values '.join(KINDS)}, got {text[:40]!r}")
            return f"values {more[0]}"
        cells = self.rules.cells
        try:
            is_number = text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= cells
            cell = int(text) - 1 if is_number else parse_cell(text, self.rules)
        except ValueError:
            last, commands = cell_text(cells - 1, self.rules), ", ".join(COMMANDS)
            raise ValueError(
                f"{text[:40]!r} is no move: type a1 to {last}, or 1 to {cells}, or {commands}"
            ) from None
        if board[cell] != 0:
            free = [cell_text(free, self.rules) for free in np.flatnonzero(board == 0).tolist()]
            raise ValueError(f"{cell_text(cell, self.rules)} is taken; free are {' '.join(free)}")
        return cell

    def _hint(self, board: Boards) -> str:
        self._solve(True)
        exact = self._truth(board)
        if exact is None:
            best = np.flatnonzero(make_opponent(HINT, self.rules).probs(board[None])[0]).tolist()
            return (
                f"Hint: {_any_of(best, self.rules)}, from a search of two moves; this board is too "
                "large to solve."
            )
        best = [cell for cell, worth in enumerate(exact.moves) if worth == exact.position]
        which = "every move" if len(best) == (board == 0).sum() else _any_of(best, self.rules)
        return f"Hint: {which} {exact.position.text}.{self._opinion(board)}"

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
        cells = _any_of(best, self.rules)
        return f" {seat.name} gives its highest value, {number(max(known))}, to {cells}."

    def _take_back(self, cells: list[int]) -> None:
        """Go back to the previous turn of a person."""
        plies = 1 if len(self.people) == 2 else 2
        if len(cells) < plies:
            self.talk.say("You have no move to take back yet.", "red")
        else:
            del cells[-plies:]

    # --- values -------------------------------------------------------------------------------

    def _thinker(self, board: Boards) -> Seat:
        """The seat whose values are shown: the side to move, or its opponent if a person moves."""
        side = SIDES[int((board != 0).sum()) % 2]
        return self.seats[_other(side) if self.seats[side].is_person else side]

    def _thoughts(self, board: Boards) -> Thoughts | None:
        seat = self._thinker(board)
        return None if seat.is_person else seat.thoughts(board, self.kind)

    def _truth(self, board: Boards) -> Truth | None:
        return truth(board, self.rules) if can_enumerate(self.rules) else None

    def _solve(self, is_needed: bool) -> None:
        """Solve the board and compute values ahead, with a message while that takes long."""
        if not is_needed:
            return
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

    def _finish(self, game: Game) -> None:
        """Save a game. Print how it ended, what decided it, and how to replay it."""
        if game.ended == "illegal":
            loser = _other(game.result)
            cell = cell_text(game.moves[-1], self.rules)
            self.talk.say(
                f"{self._who(loser)} marks {cell}, which is taken: an illegal move loses."
            )
        self.talk.say(result_text(game), "bold")
        try:
            number = self.store.add(game)
        except StoreError:
            self.talk.say(f"the game could not be saved; as a line of text it is: {game.line()}")
            raise
        for text in self.lesson.after(game):
            self.talk.say(text)
        self._solve(True)
        self.talk.say(what_decided(game))
        self.talk.say(
            f"saved as game {number}; to see it again: {replay_command(number, self.store)}", "dim"
        )

    def _who(self, side: str) -> str:
        return who(self.seats[side].name, side)


def commands_text(console: Console) -> str:
    """The commands of a person with their sentences; wrapped at a terminal."""
    width = console.width - 1 if console.is_terminal else 1_000
    return "\n".join(
        textwrap.fill(f"  {word:<7} {text}", width, subsequent_indent=" " * 10)
        for word, text in COMMANDS.items()
    )


def seats_of(specs: Sequence[str], rules: Rules, talk: Talk) -> dict[str, Seat]:
    """The seats of X and O. Raises ValueError for an unknown player or one of another board."""
    with talk.waiting("loading the players"):
        return {side: seat_of(spec, rules) for side, spec in zip(SIDES, specs, strict=True)}


def who(name: str, side: str) -> str:
    """A player with its side, such as "minimax (O)"; only the side for a person without a name."""
    return side if name == PERSON else f"{printable(name)} ({side})"


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


def result_text(game: Game) -> str:
    """How a game ended, in a sentence."""
    if game.result == "draw":
        return "A draw." if game.ended == "full" else "A draw: neither side could still win."
    names = {side: who(player.name, side) for side, player in (("X", game.x), ("O", game.o))}
    winner, loser = names[game.result], names[_other(game.result)]
    return f"{loser} resigns: {winner} wins." if game.ended == "resigned" else f"{winner} wins."


def what_decided(game: Game) -> str:
    """What decided a game, in a sentence."""
    if not can_enumerate(game.rules):
        return f"{game.rules} is too large to evaluate exactly."
    text = turning_point(game)
    return f"{text[0].upper()}{text[1:]}."


def replay_command(number: int | None, store: GameStore) -> str:
    """The command that shows a game again."""
    return command("play.py", "--replay", str(number), *home.options(store.path))


def _other(side: str) -> str:
    return SIDES[side == "X"]


def _any_of(cells: Sequence[int], rules: Rules) -> str:
    names = [cell_text(cell, rules) for cell in cells]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
