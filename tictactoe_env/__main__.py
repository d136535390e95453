"""A game in the terminal: `python -m tictactoe_env --opponent minimax --side O`.

Moves are read from the standard input, line by line, so a game can also be piped in. Nothing but
the package itself is needed.
"""

from __future__ import annotations

import argparse
import io
import secrets
import sys
from collections.abc import Sequence

from tictactoe_env.certificates.trained import home_of, trained_names
from tictactoe_env.errors import in_one_line, printable, run_program, whole_number
from tictactoe_env.games.game import PERSON, Participant
from tictactoe_env.notation import parse_size
from tictactoe_env.opponents import (
    EASY,
    EASY_BEYOND,
    EASY_FALLING,
    easy_opponent,
    id_of,
    make_opponent,
    title_of,
)
from tictactoe_env.rules import SIDES, Rules, other_side
from tictactoe_env.session import GameSession, Talk

_PROGRAM = "python -m tictactoe_env"
_OPPONENTS = f"{_PROGRAM}.opponents"  # lists them with their strength


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
    easy += f"; where marks fall {EASY_FALLING}"
    size = "rows, columns and marks in a row (default: 3x3x3, or the board of a trained opponent)"
    seed = "of the opponent's moves; the same seed, the same moves"
    add("--opponent", metavar="NAME", help=f"of {_OPPONENTS} (default: {easy})")
    add("--side", default="X", type=str.upper, choices=SIDES, help="your side (default: X)")
    add("--board", metavar="4x4x3", help=size)
    add("--seed", type=int, metavar="N", help=seed)
    add("--games", default=1, type=int, metavar="N", help="number of games (default: 1)")
    return in_one_line(parser).parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play. The exit code: 0, 2 for wrong arguments, 130 after Ctrl-C."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # no byte and no letter stops a game
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    given = _parsed(arguments)
    try:
        agent = id_of(given.opponent or "")
        home = home_of(agent) if agent in trained_names(None) else Rules()
        rules = parse_size(given.board) if given.board else home
        games = whole_number(given.games, "games", 1)
        seed = secrets.randbits(32) if given.seed is None else whole_number(given.seed, "seed", 0)
        name = agent or easy_opponent(rules)
        side = other_side(given.side)
        players = {given.side: Participant("human", PERSON), side: Participant("agent", name)}
        session = GameSession(rules, players, {side: make_opponent(name, rules)}, Talk())
    except ValueError as error:
        print(f"{_PROGRAM}: {printable(error)}", file=sys.stderr)
        return 2
    known = name if title_of(name) == name else f"{title_of(name)} ({name})"
    print(f"You are {given.side} against {printable(known)} on {rules}. X moves first.")
    if given.opponent is None:
        print(f"Other opponents: --opponent NAME, as {_OPPONENTS} lists them.")
    try:
        session.play_all(games, seed)
    except (EOFError, KeyboardInterrupt) as end:
        print("\nYou left the game.")
        return 130 if isinstance(end, KeyboardInterrupt) else 0
    return 0


if __name__ == "__main__":
    run_program(main)
