"""Play and replay games: a menu, or `--x human --o minimax`, `--replay 17`, `--list`, `--web`."""

from __future__ import annotations

import importlib
import secrets
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Literal

from apps.terminal.interpreter import explained

with explained("play.py", "play"):
    from pydantic import Field
    from rich.console import Console

    from apps.players.program import SECONDS, Program
    from apps.players.seat import KINDS, NAMES_TEXT, OWN, board_of
    from apps.players.titles import id_of
    from apps.terminal import menu, replay
    from apps.terminal.command_line import CommandLine, Option
    from apps.terminal.game import TerminalSession, default_store, seats_of
    from apps.terminal.talk import Talk, seconds
    from tictactoe_env.errors import printable
    from tictactoe_env.games.game import PERSON
    from tictactoe_env.games.store import GameStore
    from tictactoe_env.notation import SIDES, parse_size
    from training.options import Count, Natural

LISTED = 20  # games of --list
IN_TERMINAL = ("x", "o", "program", "games", "seed", "values", "learn")
PLAYING = (*IN_TERMINAL, "board", "gravity")
MAX_SEED = 2**32
Port = Annotated[int, Field(ge=0, le=65_535)]
OPTIONS = [
    *(
        Option(side.lower(), f"who plays {side} (default: human)", id_of, metavar="PLAYER")
        for side in SIDES
    ),
    Option(
        "program",
        "a program in any language plays O, or X where --o is given: it reads a position and "
        "answers with a cell, a line each",
        metavar="COMMAND",
    ),
    Option("seconds", "its time for a move", seconds, SECONDS, metavar="N", needs="program"),
    Option("games", "games to play (default: 1)", Count),
    Option(
        "delay",
        "show each board for so many seconds when agents play; run a replay by itself",
        seconds,
        metavar="SECONDS",
    ),
    Option(
        "values",
        "show what each move is worth: own (the player's own values; meant by --values alone) or "
        "expected (its exact result against random moves)",
        Literal[KINDS],
        kind="optional",
    ),
    Option(
        "learn", "whether a trie that plays learns from the games (default: yes)", kind="switch"
    ),
    Option(
        "board",
        "rows, columns, marks in a row (default: those of the first run that plays, or 3x3x3)",
        parse_size,
        metavar="4x4x3",
    ),
    Option("gravity", "pieces fall, as in Connect Four", kind="flag", default=False),
    Option(
        "seed", "seed of the agents' moves; each further game adds 1 (default: random)", Natural
    ),
    Option("replay", "show a saved game, controlled by keys", Count, metavar="ID", without=PLAYING),
    Option(
        "list",
        f"list the newest saved games, {LISTED} or so many",
        Count,
        kind="optional",
        without=(*PLAYING, "delay", "replay"),
    ),
    Option("player", "only games of this player", metavar="NAME", needs="list"),
    Option(
        "store",
        "file of the saved games (default: games.db in the user's data folder)",
        Path,
        metavar="FILE",
    ),
    Option(
        "web",
        "serve the page for a browser instead",
        kind="flag",
        default=False,
        without=(*IN_TERMINAL, "delay", "replay", "list"),
    ),
    Option("port", "of the page; 0 is any free one", Port, 8000, metavar="N", needs="web"),
]
LINE = CommandLine(
    "play.py",
    OPTIONS,
    usage="play.py [options]: a menu; with --x or --o a game",
    about="Play tic-tac-toe against people and agents, watch agents play, and replay saved games. "
    "Without arguments: a menu.",
    epilog=f"players:\n  human, human:NAME  a person at this keyboard\n{NAMES_TEXT}",
)


@explained("play.py", "play")
def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    try:
        given = LINE.values(arguments)
        if given.web:
            with explained("play.py", "web"):
                serve = importlib.import_module("apps.web.server").serve
            board = None
            if given.board or given.gravity:
                board = board_of([], given.board, given.gravity)
            serve(given.store or default_store(), given.port, board)
            return 0
        if hasattr(sys.stdin, "reconfigure"):  # invalid bytes must not end the game
            sys.stdin.reconfigure(errors="replace")
        looks = given.list or given.replay
        talk = Talk(Console())
        with GameStore(given.store or default_store(), read_only=bool(looks)) as store:
            if given.replay:
                replay.watch(store.get(given.replay), talk, given.delay)
            elif given.list:
                limit = LISTED if given.list is True else given.list
                replay.print_list(store, talk, limit, given.player)
            else:
                play(given, talk, store)
    except EOFError:
        print("end of input")
    except KeyboardInterrupt:
        print("\nleft; an unfinished game is not saved")
        return 130
    except (ValueError, OSError) as error:
        print(f"play.py: {printable(error)}", file=sys.stderr)
        return 1
    return 0


def play(given: SimpleNamespace, talk: Talk, store: GameStore) -> None:
    """Play the games of the options, or show the menu."""
    specs = [given.x or PERSON, given.o or PERSON]
    rules = board_of(specs, given.board, given.gravity)
    seed = secrets.randbelow(MAX_SEED) if given.seed is None else given.seed
    shown = {"values": OWN if given.values is True else given.values or "", "learn": given.learn}
    if not (given.x or given.o or given.games or given.program):
        menu.Menu(rules, talk, store, seed, train, given.delay, **shown).run()
        return
    if given.program and given.x and given.o:
        raise ValueError("--program takes the place of a player: leave --x or --o out")
    with ExitStack() as running:
        seats = seats_of(specs, rules, talk)
        if given.program:
            program = running.enter_context(Program(given.program, rules, given.seconds))
            seats["X" if given.o else "O"] = program.seat()
        session = TerminalSession(seats, rules, talk, store, delay=given.delay or 0.0, **shown)
        session.play_all(given.games or 1, seed)


def train(words: list[str]) -> int:
    """Train as `python train.py WORDS` does; the exit code."""
    return importlib.import_module("train").main(words)


if __name__ == "__main__":
    sys.exit(main())
