"""A game in the terminal: `python -m tictactoe_env --opponent minimax --side O`.

Moves are read from the standard input, line by line, so a game can also be piped in. Nothing but
the package itself is needed.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from tictactoe_env.errors import one_of, printable, unknown_name, whole_number
from tictactoe_env.exact.positions import TABULATED, can_enumerate
from tictactoe_env.games.analysis import truth, turning_point
from tictactoe_env.games.game import Game, Player
from tictactoe_env.notation import cell_text, parse_cell
from tictactoe_env.opponents import EASY, EASY_BEYOND, easy_opponent, listed, make_opponent
from tictactoe_env.policy import Policy, sample
from tictactoe_env.render import ansi
from tictactoe_env.rules import SIDES, Boards, Rules, Standing, standing

PROGRAM = "python -m tictactoe_env"
HINT = "search-depth=2"  # gives the hints on boards that are too large to solve
COMMANDS = {
    "undo": "take your last move back",
    "hint": "show the best moves",
    "help": "show these commands",
    "quit": "leave the game",
}
SHORT = {"?": "help", "u": "undo", "h": "hint", "q": "quit"}
NUMBERS = {"rows": 1, "cols": 1, "k": 1, "seed": 0, "games": 1}  # options, and the least value
OPTIONS = [f"--{name}" for name in ("opponent", "side", *NUMBERS, "list", "help")]


class Left(Exception):
    """The person has left the game."""


class Match:
    """Games of a person against an opponent. `finished` holds the games that were played to an end.

    Prints to the standard output and reads lines of the standard input.
    """

    def __init__(self, name: str, opponent: Policy, rules: Rules, colour: bool):
        self.name, self.opponent, self.rules, self.colour = name, opponent, rules, colour
        self.finished: list[Game] = []
        # A terminal shows what is typed. Lines of a pipe or a file are printed here.
        self.is_echoed = not sys.stdin.isatty()

    def play(self, side: str, rng: np.random.Generator) -> None:
        """Play a game to its end. Raises Left if the person leaves it."""
        print(f"You are {side} against {self.name} on {self.rules}. X moves first.\n")
        cells: list[int] = []
        while not (now := standing(cells, self.rules)).ended:
            if now.mover == side:
                self._show(now)
                self._answer(cells, now.board, side)
            else:
                cells.append(int(sample(self.opponent.probs(now.board[None]), rng)[0]))
                print(f"{self.name} plays {cell_text(cells[-1], self.rules)}.\n")
        self._show(now)
        self._finish(cells, now, side)

    def _show(self, now: Standing) -> None:
        last = now.moves[-1] if now.moves else None
        print(ansi(now.board, self.rules, last=last, colour=self.colour) + "\n")

    def _finish(self, cells: Sequence[int], now: Standing, side: str) -> None:
        """Print the result and what decided it."""
        person, agent = Player("human", "you"), Player("agent", self.name)
        x, o = (person, agent) if side == "X" else (agent, person)
        game = Game(x=x, o=o, moves=tuple(cells), rules=self.rules, ended=now.ended, origin="human")
        self.finished.append(game)
        if game.ended == "illegal":
            print(f"{cell_text(cells[-1], self.rules)} is taken: the illegal move loses.")
        if game.result == "draw":
            print("A draw.")
        else:
            print("You win." if game.result == side else f"{self.name} wins.")
        if can_enumerate(self.rules):
            text = turning_point(game)
            print(f"{text[0].upper()}{text[1:]}.\n")
        else:
            print(f"{self.rules} is too large to say which move decided the game.\n")

    # --- what a person types ----------------------------------------------------------------------

    def _answer(self, cells: list[int], board: Boards, side: str) -> None:
        """Ask until there is a move or one is taken back; either changes `cells`."""
        last = cell_text(self.rules.cells - 1, self.rules)
        question = f"{side}, your move (such as {last} or {self.rules.cells}, ? for help): "
        while True:
            try:
                answer = self._understand(self._line(question), board)
            except ValueError as error:
                print(printable(error))
                continue
            if isinstance(answer, int):
                cells.append(answer)
                return
            if answer == "quit":
                raise Left
            if answer == "undo" and len(cells) >= 2:
                del cells[-2:]
                return
            print(self._reply(answer, board))

    def _line(self, question: str) -> str:
        """The next line; raises Left at the end of the input."""
        print(question, end="", flush=True)
        line = sys.stdin.readline()
        if self.is_echoed or not line:
            print("".join(letter for letter in line if letter.isprintable()))
        if not line:
            raise Left
        return line.strip()

    def _understand(self, text: str, board: Boards) -> int | str:
        """A command, or the cell of "b2" or "5". Raises ValueError for other text."""
        word = SHORT.get(text.lower(), text.lower())
        if word in COMMANDS:
            return word
        cells = self.rules.cells
        try:
            is_number = re.fullmatch("[0-9]{1,2}", text, re.ASCII) and 1 <= int(text) <= cells
            cell = int(text) - 1 if is_number else parse_cell(text, self.rules)
        except ValueError:
            raise ValueError(
                f"{text[:40]!r} is no move: type {self._moves()}, or {', '.join(COMMANDS)}"
            ) from None
        if board[cell] != 0:
            free = self._names(np.flatnonzero(board == 0).tolist(), " ")
            raise ValueError(f"{cell_text(cell, self.rules)} is taken; free are {free}")
        return cell

    def _reply(self, command: str, board: Boards) -> str:
        """The text that answers a command."""
        if command == "help":
            lines = (f"  {word:<5} {about}" for word, about in COMMANDS.items())
            return "\n".join([f"  a move: {self._moves()}, row by row", *lines])
        if command == "undo":
            return "You have no move to take back yet."
        if not can_enumerate(self.rules):
            probs = make_opponent(HINT, self.rules).probs(board[None])[0]
            found = self._names(np.flatnonzero(probs).tolist())
            return f"Hint: {found}, from a search of two moves; this board is too large to solve."
        if self.rules.cells > TABULATED:
            print(f"solving {self.rules} ...")
        position, moves = truth(board, self.rules)
        best = [cell for cell, worth in enumerate(moves) if worth == position]
        which = "every move" if len(best) == (board == 0).sum() else self._names(best)
        return f"Hint: {which} {position.text}."

    def _moves(self) -> str:
        last = cell_text(self.rules.cells - 1, self.rules)
        return f"a1 to {last}, or 1 to {self.rules.cells}"

    def _names(self, cells: Sequence[int], between: str = " or ") -> str:
        return between.join(cell_text(cell, self.rules) for cell in cells)


# --- the command line -----------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _options() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        description="Play tic-tac-toe, or an m,n,k-game, against an opponent of the package.",
        epilog="Moves are cells such as b2 (column b, row 2), or their numbers row by row from 1. "
        "NO_COLOR=1 switches colours off.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--opponent",
        metavar="NAME",
        help=f"see --list (default: {EASY}, an easy one; on boards too large to solve "
        f"{EASY_BEYOND})",
    )
    add("--side", default="X", help="your side: X, O or random (default: X)")
    for name, what in (
        ("rows", "rows of the board"),
        ("cols", "columns of the board"),
        ("k", "marks in a line that win"),
    ):
        add(f"--{name}", default="3", metavar="N", help=f"{what} (default: 3)")
    add("--seed", metavar="N", help="of the opponent's moves; the same seed, the same moves")
    add("--games", default="1", metavar="N", help="number of games (default: 1)")
    add("--list", action="store_true", help="list the opponents with their strength, and stop")
    return parser


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options. Raises ValueError for a wrong one, with the nearest name."""
    parser = _options()
    found, strange = parser.parse_known_args(arguments)
    if strange:
        if strange[0].startswith("-"):
            raise unknown_name("option", strange[0].partition("=")[0], OPTIONS)
        raise ValueError(f"unexpected {strange[0]!r}: every value follows its option, see --help")
    sides = {side.lower(): side for side in (*SIDES, "random")}
    found.side = sides.get(found.side.lower()) or one_of("side", found.side, tuple(sides.values()))
    for name, low in NUMBERS.items():
        if (text := getattr(found, name)) is not None:
            setattr(found, name, _number(text, f"--{name}", low))
    return found


def _number(text: str, name: str, low: int) -> int:
    try:
        return whole_number(int(text), name, low)
    except ValueError:
        raise ValueError(f"{name} must be a whole number of at least {low}, got {text!r}") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Play. The exit code: 0, 2 for wrong arguments, 130 after Ctrl-C, 1 if nobody reads on."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # no byte and no letter stops a game
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    try:
        return _run(arguments)
    except Left:
        print("You left the game.")
        return 0
    except KeyboardInterrupt:
        print("\nYou left the game.")
        return 130
    except BrokenPipeError:  # as after `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(arguments: Sequence[str] | None) -> int:
    try:
        given = _parsed(arguments)
        if given.list:
            print(listed(), flush=True)
            return 0
        rules = Rules(given.rows, given.cols, given.k)
        name = given.opponent or easy_opponent(rules)
        match = Match(name, make_opponent(name, rules), rules, _has_colour())
    except ValueError as error:
        print(f"{PROGRAM}: {printable(error)}", file=sys.stderr)
        return 2
    if given.opponent is None:
        print("An easy opponent. --list shows all with their strength, --opponent takes one.")
    seed = secrets.randbits(32) if given.seed is None else given.seed
    _play_all(match, given.side, given.games, np.random.default_rng(seed))
    return 0


def _play_all(match: Match, side: str, games: int, rng: np.random.Generator) -> None:
    """Play all games and print the tally of more than one."""
    wins = 0
    for _ in range(games):
        own = SIDES[int(rng.integers(2))] if side == "random" else side
        match.play(own, rng)
        wins += match.finished[-1].result == own
    if games > 1:
        draws = Counter(game.result for game in match.finished)["draw"]
        print(f"{games} games: you won {wins}, lost {games - wins - draws}, drew {draws}.")


def _has_colour() -> bool:
    """Whether the output is a terminal that shall show colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return False
    if os.name == "nt":
        os.system("")  # switches the escape sequences of the Windows console on
    return True


if __name__ == "__main__":
    sys.exit(main())
