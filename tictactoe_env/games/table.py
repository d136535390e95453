"""Games at a terminal, in which people type their moves and a few commands.

A `Table` knows the rules of such a game; a program says how it prints, asks and moves:
`python -m tictactoe_env` with nothing but the package, `play.py` with colours, values and a store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import TABULATED, can_enumerate
from tictactoe_env.games.analysis import truth, turning_point
from tictactoe_env.games.game import Game, Participant
from tictactoe_env.notation import cell_text
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import SIDES, Boards, Rules, standing

PERSON = "human"  # the name of a person who gives none
_HINT = "search-depth=2"  # gives the hints on boards that are too large to solve


class Table(ABC):
    """Plays games. `played` holds those that were played to an end.

    players: who plays X and O. people: the sides whose moves are typed.
    """

    commands: ClassVar[Mapping[str, str]] = {
        "undo": "take your last move back",
        "hint": "show the best moves",
        "resign": "give up",
        "quit": "leave the game",
        "help": "show these commands",
    }

    def __init__(self, rules: Rules, players: Mapping[str, Participant], people: Sequence[str]):
        self.rules, self.players, self.people = rules, players, people
        self.played: list[Game] = []

    # --- of a program ---------------------------------------------------------------------------

    @abstractmethod
    def say(self, text: str, style: str | None = None) -> None:
        """Print a text; `style` is one of rich."""

    @abstractmethod
    def ask(self, question: str, understand: Callable[[str], str | int]) -> str | int:
        """The answer, converted by `understand`; its ValueError is shown, and asked again.

        Raises EOFError at the end of the input.
        """

    @abstractmethod
    def show(self, cells: Sequence[int]) -> None:
        """Show the board after some moves."""

    @abstractmethod
    def move(self, side: str, cells: Sequence[int], board: Boards, rng: np.random.Generator) -> int:
        """The cell that a player chooses who is no person."""

    def solve(self) -> None:
        """Solve the board, with a message if that takes long."""
        if self.rules.cells > TABULATED:
            self.say(f"solving {self.rules} ...")
        truth(np.zeros(self.rules.cells, np.int8), self.rules)

    # --- games ----------------------------------------------------------------------------------

    def play_all(self, games: int, seed: int) -> None:
        """Play games and print each result. Game i is sampled with `seed + i`."""
        for index in range(games):
            if games > 1:
                self.say(f"game {index + 1} of {games}", "bold")
            game = self.play(seed + index)
            if game is None:
                self.say("You left the game.")
                break
            self.played.append(game)
            self.finish(game)
        if len(self.played) > 1:
            won = Counter(game.result for game in self.played)
            counts = ", ".join(f"{self.who(side)} won {won[side]}" for side in SIDES)
            self.say(f"\n{len(self.played)} games: {counts}, drawn {won['draw']}", "bold")

    def play(self, seed: int) -> Game | None:
        """A finished game, with the players' moves sampled by a seed; None if a person left it."""
        rng, cells = np.random.default_rng(seed), list[int]()
        while not (now := standing(cells, self.rules)).ended:
            side = str(now.mover)
            if side not in self.people:
                cells.append(self.move(side, cells, now.board, rng))
                continue
            self.show(cells)
            answer = self.answer(side, now.board, len(cells))
            if answer == "quit":
                return None
            if answer == "resign":
                return self._game(cells, seed, "resigned", other(side))
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

    def finish(self, game: Game) -> None:
        """Print how a game ended, and what decided it."""
        self.say_result(game)
        if can_enumerate(self.rules):
            self.solve()
        self.say(what_decided(game))

    def say_result(self, game: Game) -> None:
        """Print how a game ended."""
        if game.ended == "illegal":
            loser, cell = self.who(other(game.result)), cell_text(game.moves[-1], self.rules)
            self.say(f"{loser} marks {cell}, which is taken: an illegal move loses.")
        self.say(result_text(game), "bold")

    def who(self, side: str) -> str:
        """The player of a side, such as "minimax (O)"."""
        return who(self.players[side].name, side)

    # --- what a person types --------------------------------------------------------------------

    def answer(self, side: str, board: Boards, plies: int) -> str | int:
        """The cell that a person chooses, or a command that changes the game or what is shown."""
        last, cells = cell_text(self.rules.cells - 1, self.rules), self.rules.cells
        question = f"{self.who(side)}, your move (such as {last} or {cells}, ? for help):"
        while True:
            answer = self.ask(question, lambda text: self.understand(text, board))
            if answer == "help":
                self.say(self._help())
            elif answer == "hint":
                self.say(self.hint(board))
            elif answer == "undo" and plies < self._plies_back:
                self.say("You have no move to take back yet.", "red")
            else:
                return answer

    def understand(self, text: str, board: Boards) -> str | int:
        """A command, or the cell of "b2" or "5". Raises ValueError for any other text."""
        word = self.word(text)
        if word in self.commands:
            return word
        names = self._names(range(self.rules.cells))
        cells = {said: cell for cell, name in enumerate(names) for said in (name, str(cell + 1))}
        if word not in cells:
            commands = ", ".join(self.commands)
            raise ValueError(f"{text[:40]!r} is no move: type {self._moves()}, or {commands}")
        if board[cells[word]] != 0:
            free = " ".join(self._names(np.flatnonzero(board == 0)))
            raise ValueError(f"{names[cells[word]]} is taken; free are {free}")
        return cells[word]

    def word(self, text: str) -> str:
        """The command for which a text is short: "?" is help, "u" undo; else the text."""
        short = {"?": "help"} | {word[0]: word for word in self.commands if word != "help"}
        return short.get(text.lower(), text.lower())

    def hint(self, board: Boards) -> str:
        """A sentence with the best moves."""
        if not can_enumerate(self.rules):
            best = np.flatnonzero(make_opponent(_HINT, self.rules).probs(board[None])[0])
            return (
                f"Hint: {self.any_of(best)}, from a search of two moves; this board is too large "
                "to solve."
            )
        self.solve()
        position, moves = truth(board, self.rules)
        best = np.flatnonzero([worth == position for worth in moves])
        which = "every move" if len(best) == (board == 0).sum() else self.any_of(best)
        return f"Hint: {which} {position.text}."

    def any_of(self, cells: Iterable[int]) -> str:
        """The names of cells, such as "a1, b2 or c3"."""
        *names, last = self._names(cells)
        return f"{', '.join(names)} or {last}" if names else last

    def _names(self, cells: Iterable[int]) -> list[str]:
        return [cell_text(int(cell), self.rules) for cell in cells]

    def _moves(self) -> str:
        last = cell_text(self.rules.cells - 1, self.rules)
        return f"a1 to {last}, or 1 to {self.rules.cells}"

    def _help(self) -> str:
        """What may be typed."""
        lines = {"a move": f"{self._moves()}, row by row", **self.commands}
        return "\n".join(f"  {word:<7} {text}" for word, text in lines.items())


def other(side: str) -> str:
    """The side of the opponent."""
    return SIDES[side == "X"]


def who(name: str, side: str) -> str:
    """A player with its side, such as "minimax (O)"; only the side for a person without a name."""
    return side if name == PERSON else f"{printable(name)} ({side})"


def result_text(game: Game) -> str:
    """How a game ended, in a sentence."""
    if game.result == "draw":
        return "A draw." if game.ended == "full" else "A draw: neither side could still win."
    names = {"X": who(game.x.name, "X"), "O": who(game.o.name, "O")}
    winner, loser = names[game.result], names[other(game.result)]
    return f"{loser} resigns: {winner} wins." if game.ended == "resigned" else f"{winner} wins."


def what_decided(game: Game) -> str:
    """What decided a game, in a sentence."""
    if not can_enumerate(game.rules):
        return f"{game.rules} is too large to evaluate exactly."
    text = turning_point(game)
    return f"{text[0].upper()}{text[1:]}."
