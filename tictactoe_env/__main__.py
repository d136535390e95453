"""A game in the terminal: `python -m tictactoe_env --opponent minimax --side O`.

Moves are read from the standard input, line by line, so a game can also be piped in. Nothing but
the package itself is needed.
"""

from __future__ import annotations

import argparse
import io
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from tictactoe_env.errors import printable, whole_number
from tictactoe_env.games.game import Game, Player
from tictactoe_env.games.table import PERSON, Table, other
from tictactoe_env.notation import cell_text
from tictactoe_env.opponents import EASY, EASY_BEYOND, easy_opponent, listed, make_opponent
from tictactoe_env.policy import Policy, sample
from tictactoe_env.render import ansi
from tictactoe_env.rules import SIDES, Boards, Rules, standing

PROGRAM = "python -m tictactoe_env"


class Match(Table):
    """Games of a person against an opponent, on the standard input and output.

    side: "X", "O" or "random", drawn for each game.
    """

    def __init__(self, name: str, opponent: Policy, rules: Rules, side: str, colour: bool):
        super().__init__(rules, {}, [])
        self.name, self.opponent, self.side, self.colour = name, opponent, side, colour
        # A terminal shows what is typed. Lines of a pipe or a file are printed here.
        self.is_echoed = not sys.stdin.isatty()

    def play(self, seed: int) -> Game | None:
        """Play a game to its end; None if a person left it."""
        side = self.side
        if side == "random":
            side = SIDES[int(np.random.default_rng([seed, 1]).integers(2))]
        self.people = [side]
        self.players = {side: Player("human", PERSON), other(side): Player("agent", self.name)}
        self.say(f"You are {side} against {self.name} on {self.rules}. X moves first.\n")
        return super().play(seed)

    def say(self, text: str, style: str | None = None) -> None:
        """Print a text."""
        print(printable(text, lines=True))

    def ask(self, question: str, understand: Callable[[str], str | int]) -> str | int:
        """The answer to a question, which is repeated until it is understood."""
        while True:
            print(question, end=" ", flush=True)
            line = sys.stdin.readline()
            if self.is_echoed or not line:
                print("".join(letter for letter in line if letter.isprintable()))
            if not line:
                raise EOFError
            try:
                return understand(line.strip())
            except ValueError as error:
                self.say(str(error))

    def show(self, cells: Sequence[int]) -> None:
        """Show the board after some moves."""
        board, last = standing(cells, self.rules).board, cells[-1] if cells else None
        print(ansi(board, self.rules, last=last, colour=self.colour) + "\n")

    def move(self, side: str, cells: Sequence[int], board: Boards, rng: np.random.Generator) -> int:
        """The cell that a player chooses who is no person."""
        cell = int(sample(self.opponent.probs(board[None]), rng)[0])
        self.say(f"{self.name} plays {cell_text(cell, self.rules)}.\n")
        return cell

    def tally(self) -> str:
        """How many of the games the person won."""
        won = sum(game.result == game.side for game in self.played)
        drew = sum(game.result == "draw" for game in self.played)
        return f"you won {won}, lost {len(self.played) - won - drew}, drew {drew}."


# --- the command line -----------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog=PROGRAM,
        description="Play tic-tac-toe, or an m,n,k-game, against an opponent of the package.",
        epilog="Moves are cells such as b2 (column b, row 2), or their numbers row by row from 1. "
        "NO_COLOR=1 switches colours off.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    easy = f"(default: {EASY}, an easy one; on boards too large to solve {EASY_BEYOND})"
    add("--opponent", metavar="NAME", help=f"see --list {easy}")
    side = "your side: X, O or random (default: X)"
    add("--side", default="X", type=_side, choices=(*SIDES, "random"), help=side)
    for name, default, what in (
        ("rows", 3, "rows of the board (default: 3)"),
        ("cols", 3, "columns of the board (default: 3)"),
        ("k", 3, "marks in a line that win (default: 3)"),
        ("seed", None, "of the opponent's moves; the same seed, the same moves"),
        ("games", 1, "number of games (default: 1)"),
    ):
        add(f"--{name}", default=default, type=int, metavar="N", help=what)
    add("--list", action="store_true", help="list the opponents with their strength, and stop")
    return parser.parse_args(arguments)


def _side(text: str) -> str:
    return text.upper() if len(text) == 1 else text.lower()


def main(arguments: Sequence[str] | None = None) -> int:
    """Play. The exit code: 0, 2 for wrong arguments, 130 after Ctrl-C, 1 if nobody reads on."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # no byte and no letter stops a game
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    try:
        return _run(arguments)
    except EOFError:
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
        rules, games = Rules(given.rows, given.cols, given.k), whole_number(given.games, "games", 1)
        seed = secrets.randbits(32) if given.seed is None else whole_number(given.seed, "seed", 0)
        name = given.opponent or easy_opponent(rules)
        match = Match(name, make_opponent(name, rules), rules, given.side, _has_colour())
    except ValueError as error:
        print(f"{PROGRAM}: {printable(error)}", file=sys.stderr)
        return 2
    if given.opponent is None:
        print("An easy opponent. --list shows all with their strength, --opponent takes one.")
    match.play_all(games, seed)
    return 0


def _has_colour() -> bool:
    """Whether the output is a terminal that should show colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return False
    if os.name == "nt":
        os.system("")  # switches the escape sequences of the Windows console on
    return True


if __name__ == "__main__":
    sys.exit(main())
