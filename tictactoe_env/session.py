"""Games at a terminal, in which people type their moves and a few commands.

`python -m tictactoe_env` plays them with nothing but the package; `play.py` adds colours, values of
the moves, and a store.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from tictactoe_env.errors import printable
from tictactoe_env.exact.solver import reason_unknown
from tictactoe_env.games.analysis import analyse, turning_point
from tictactoe_env.games.game import PERSON, Game, Participant
from tictactoe_env.notation import (
    cell_text,
    cells_by_name,
    columns_by_name,
    game_text,
    landings,
)
from tictactoe_env.opponents import make_opponent, title_of
from tictactoe_env.policy import Policy, sample
from tictactoe_env.render import ansi
from tictactoe_env.rules import SIDES, Boards, Rules, game_state, other_side

_NAMES = "The cell a1 is at the top left: a letter is a column, a number is a row."
_HINT = "search-depth=2"  # gives the hints where the best moves are not known
_Answer = TypeVar("_Answer")


class Talk:
    """Prints texts, and reads answers from the standard input, a line each."""

    def say(self, text: Any = "", style: str | None = None, end: str = "\n") -> None:
        """Print a text letter by letter; `style` is one of rich, which is left out here."""
        print(printable(text, lines=True), end=end, flush=True)

    def ask(
        self, question: str, understand: Callable[[str], _Answer], default: str = ""
    ) -> _Answer:
        """The answer to a question, converted by `understand`; no answer means the default.

        A ValueError of `understand` is shown, and the question is asked again. Raises EOFError at
        the end of the input.
        """
        if default:
            question = f"{question} [{default}]"
        while True:
            self.say(question, "bold", end=" ")
            line = sys.stdin.readline()
            if not line or not sys.stdin.isatty():  # a terminal shows what is typed
                self.say("".join(filter(str.isprintable, line)))
            if not line:
                raise EOFError
            try:
                return understand(line.strip() or default)
            except ValueError as error:
                self.say(printable(error), "red")


class GameSession:
    """Plays games between people and policies.

    players: who plays X and O. policies: of the sides that no person plays. talk: prints and asks.
    title: what people call a player that has this name.
    """

    title: Callable[[str], str] = staticmethod(title_of)

    commands: ClassVar[Mapping[str, str]] = {
        "undo": "take your last move back",
        "hint": "show the best moves",
        "resign": "give up",
        "quit": "leave the game",
        "help": "show these commands",
    }

    def __init__(
        self,
        rules: Rules,
        players: Mapping[str, Participant],
        policies: Mapping[str, Policy],
        talk: Talk,
    ):
        self.rules = rules
        self.players = players
        self.policies = policies
        self.talk = talk
        self.people = [side for side in SIDES if side not in policies]

    def play_all(self, games: int, seed: int) -> None:
        """Play games and print each result. Game i is sampled with `seed + i`."""
        results: list[str] = []
        if self.people:
            self.talk.say(_NAMES, "dim")
        for index in range(games):
            if games > 1:
                self.talk.say(f"game {index + 1} of {games}", "bold")
            game = self.play(seed + index)
            if game is None:
                self.talk.say("You left the game.")
                break
            results.append(game.result)
            self.finish(game)
        if len(results) > 1:
            won = Counter(results)
            counts = ", ".join(f"{self.who(side)} won {won[side]}" for side in SIDES)
            self.talk.say(f"\n{len(results)} games: {counts}, drawn {won['draw']}", "bold")

    def play(self, seed: int) -> Game | None:
        """A finished game, with the players' moves sampled by a seed; None if a person left it."""
        rng = np.random.default_rng(seed)
        cells: list[int] = []
        while not (now := game_state(cells, self.rules)).ended:
            side = str(now.mover)
            if side in self.policies:
                cells.append(self.move(side, cells, now.board, rng))
                continue
            self.show(cells)
            answer = self.answer(side, now.board, len(cells))
            if answer == "quit":
                return None
            if answer == "resign":
                return self._game(cells, seed, "resigned", other_side(side))
            if isinstance(answer, int):
                cells.append(answer)
            elif answer == "undo":
                del cells[-self._plies_back :]
        if now.ended != "illegal":
            self.show(cells)
        return self._game(cells, seed, now.ended)

    def _game(self, cells: Sequence[int], seed: int, ended: str, result: str = "") -> Game:
        return Game(
            x=self.players["X"],
            o=self.players["O"],
            moves=tuple(cells),
            rules=self.rules,
            seed=seed,
            origin="human" if self.people else "battle",
            side=self.people[0] if len(self.people) == 1 else None,
            ended=ended,
            result=result,
        )

    @property
    def _plies_back(self) -> int:
        """The plies from a turn of a person to the one before."""
        return 1 if len(self.people) == 2 else 2

    def show(self, cells: Sequence[int]) -> None:
        """Show the board after some moves."""
        board = game_state(cells, self.rules).board
        last = cells[-1] if cells else None
        print("\n" + ansi(board, self.rules, last=last, colour=_has_colour()) + "\n")

    def move(self, side: str, cells: Sequence[int], board: Boards, rng: np.random.Generator) -> int:
        """The cell that a policy chooses, which is said."""
        cell = int(sample(self.policies[side].probs(board[None]), rng)[0])
        self.talk.say(f"{self.who(side)} plays {cell_text(cell, self.rules)}.")
        return cell

    def finish(self, game: Game) -> None:
        """Print how a game ended, and what decided it."""
        self.talk.say(result_text(game, self.title), "bold")
        self.talk.say(what_decided(game))

    def who(self, side: str) -> str:
        """The player of a side, such as "Easy opponent (O)"."""
        return who(called(self.players[side], self.title), side)

    # --- what a person types --------------------------------------------------------------------

    def answer(self, side: str, board: Boards, plies: int) -> str | int:
        """The cell that a person chooses, or a command that changes the game or what is shown."""
        last = cell_text(self.rules.cells - 1, self.rules)
        number = self.rules.cells
        if self.rules.gravity:
            last = last[:-1]  # its column
            number = self.rules.cols
        question = f"{self.who(side)}, your move (such as {last} or {number}, ? for help):"
        while True:
            answer = self.talk.ask(question, lambda text: self._understand(text, board))
            if answer == "help":
                order = "from the left" if self.rules.gravity else "row by row"
                lines = {"a move": f"{self._moves}, {order}", **self.commands}
                width = max(map(len, lines))
                self.talk.say("\n".join(f"  {word:<{width}}  {lines[word]}" for word in lines))
            elif answer == "hint":
                self.talk.say(self.hint(board))
            elif answer == "undo" and plies < self._plies_back:
                self.talk.say("You have no move to take back yet.", "red")
            else:
                return answer

    def _understand(self, text: str, board: Boards) -> str | int:
        """A command or its first letter, or the cell of "b2" or "5"; ValueError for other texts.

        Where pieces fall, "b" and "5" are columns, and a command of this letter is typed whole.
        """
        numbers = {str(cell + 1): cell for cell in range(self.rules.cells)}
        cells = cells_by_name(self.rules) | (landings(board, self.rules) or numbers)
        firsts = {word[0]: word for word in reversed([*self.commands]) if word[0] not in cells}
        word = ({"?": "help"} | firsts).get(text.lower(), text.lower())
        if word in self.commands:
            return word
        if word not in cells:
            commands = ", ".join(self.commands)
            raise ValueError(f"{text[:40]!r} is no move: type {self._moves}, or {commands}")
        cell = cells[word]
        legal = self.rules.legal_cells(board)
        if not legal[cell]:
            known = game_text(np.flatnonzero(legal).tolist(), self.rules)
            what = "taken" if board[cell] else "not legal"
            raise ValueError(f"{cell_text(cell, self.rules)} is {what}; legal are {known}")
        return cell

    def hint(self, board: Boards) -> str:
        """A sentence with the best moves."""
        if reason := reason_unknown(self.rules):
            best = np.flatnonzero(make_opponent(_HINT, self.rules).probs(board[None])[0])
            return f"Hint: {self.any_of(best)}, from a search of two moves; {reason}."
        position, moves = analyse(board, self.rules)
        best = np.flatnonzero([worth == position for worth in moves])
        is_any = len(best) == np.count_nonzero(self.rules.legal_cells(board))
        which = "every move" if is_any else self.any_of(best)
        return f"Hint: {which} {position.text}."

    def any_of(self, cells: Iterable[int]) -> str:
        """The names of cells, such as "a1, b2 or c3"."""
        *names, last = [cell_text(cell, self.rules) for cell in cells]
        return f"{', '.join(names)} or {last}" if names else last

    @property
    def _moves(self) -> str:
        if self.rules.gravity:
            letters = [*columns_by_name(self.rules)]
            return f"a column, {letters[0]} to {letters[-1]} or 1 to {self.rules.cols}"
        return f"a1 to {cell_text(self.rules.cells - 1, self.rules)}, or 1 to {self.rules.cells}"


def _has_colour() -> bool:
    """True if the output is a terminal that should show colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return False
    if os.name == "nt":
        os.system("")  # switches the escape sequences of the Windows console on
    return True


def called(player: Participant, title: Callable[[str], str] = title_of) -> str:
    """The name of a person, or the title of another player."""
    return player.name if player.kind == "human" else title(player.name)


def who(name: str, side: str) -> str:
    """A player with its side, such as "Ann (O)"; only the side for a person without a name."""
    if name == PERSON:
        return side
    return f"{printable(name)} ({side})"


def result_text(game: Game, title: Callable[[str], str] = title_of) -> str:
    """The end of a game, in a sentence or two."""
    if game.ended == "full":
        return "A draw."
    if game.result == "draw":
        return "A draw: neither side could still win."
    names = {"X": who(called(game.x, title), "X"), "O": who(called(game.o, title), "O")}
    winner = names[game.result]
    loser = names[other_side(game.result)]
    if game.ended == "illegal":
        *before, last = game.moves
        what = "taken" if last in before else "not legal"
        cell = cell_text(last, game.rules)
        return f"{loser} marks {cell}, which is {what}: an illegal move loses. {winner} wins."
    if game.ended == "resigned":
        return f"{loser} resigns: {winner} wins."
    return f"{winner} wins."


def what_decided(game: Game) -> str:
    """A sentence that says what decided a game."""
    if reason := reason_unknown(game.rules):
        return f"{reason}."
    text = turning_point(game)
    return f"{text[0].upper()}{text[1:]}."
