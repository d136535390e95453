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

import numpy as np

from tictactoe_env.errors import in_one_line, printable, whole_number
from tictactoe_env.games.game import Game, Participant
from tictactoe_env.games.table import PERSON, Table, other
from tictactoe_env.notation import cell_text
from tictactoe_env.opponents import EASY, EASY_BEYOND, easy_opponent, make_opponent
from tictactoe_env.policy import Policy, sample
from tictactoe_env.render import ansi
from tictactoe_env.rules import SIDES, Boards, Rules, standing

_PROGRAM = "python -m tictactoe_env"
_OPPONENTS = f"{_PROGRAM}.opponents"  # lists them with their strength


class Match(Table):
    """Games of a person, who plays `side`, against an opponent on the standard input and output."""

    def __init__(self, name: str, opponent: Policy, rules: Rules, side: str):
        players = {side: Participant("human", PERSON), other(side): Participant("agent", name)}
        super().__init__(rules, players, [side])
        self.name, self.opponent, self.colour = name, opponent, _has_colour()
        # A terminal shows what is typed. Lines of a pipe or a file are printed here.
        self.is_echoed = not sys.stdin.isatty()

    def play(self, seed: int) -> Game | None:
        """Play a game to its end; None if a person left it."""
        self.say(f"You are {self.people[0]} against {self.name} on {self.rules}. X moves first.\n")
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


def _has_colour() -> bool:
    """Whether the output is a terminal that should show colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return False
    if os.name == "nt":
        os.system("")  # switches the escape sequences of the Windows console on
    return True


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Play tic-tac-toe, or an m,n,k-game, against an opponent of the package.",
        epilog="Moves are cells such as b2 (column b, row 2), or their numbers row by row from 1. "
        "NO_COLOR=1 switches colours off.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    easy = f"{EASY}, an easy one; on boards too large to solve {EASY_BEYOND}"
    add("--opponent", metavar="NAME", help=f"of {_OPPONENTS} (default: {easy})")
    add("--side", default="X", type=str.upper, choices=SIDES, help="your side (default: X)")
    for name, default, what in (
        ("rows", 3, "rows of the board (default: 3)"),
        ("cols", 3, "columns of the board (default: 3)"),
        ("k", 3, "marks in a line that win (default: 3)"),
        ("seed", None, "of the opponent's moves; the same seed, the same moves"),
        ("games", 1, "number of games (default: 1)"),
    ):
        add(f"--{name}", default=default, type=int, metavar="N", help=what)
    return in_one_line(parser).parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play. The exit code: 0, 2 for wrong arguments, 130 after Ctrl-C."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # no byte and no letter stops a game
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    given = _parsed(arguments)
    try:
        rules, games = Rules(given.rows, given.cols, given.k), whole_number(given.games, "games", 1)
        seed = secrets.randbits(32) if given.seed is None else whole_number(given.seed, "seed", 0)
        name = given.opponent or easy_opponent(rules)
        match = Match(name, make_opponent(name, rules), rules, given.side)
    except ValueError as error:
        print(f"{_PROGRAM}: {printable(error)}", file=sys.stderr)
        return 2
    if given.opponent is None:
        print(f"An easy opponent; {_OPPONENTS} lists others for --opponent.")
    try:
        match.play_all(games, seed)
    except (EOFError, KeyboardInterrupt) as end:
        print("\nYou left the game.")
        return 130 if isinstance(end, KeyboardInterrupt) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
