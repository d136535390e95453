"""Play and replay games: a menu, or `--x human --o minimax`, `--replay 17`, `--list`, `--web`."""

from __future__ import annotations

import importlib
import secrets
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

from apps.terminal.interpreter import explained

with explained("play.py", "play"):
    from cyclopts import Parameter
    from pydantic import Field
    from rich.console import Console

    from apps.players.program import SECONDS, Program
    from apps.players.seat import KINDS, NAMES_TEXT, OWN, board_of, with_foe
    from apps.terminal import menu
    from apps.terminal import replay as replays
    from apps.terminal.command_line import CommandLine, Gravity, OneOrNone, read_by
    from apps.terminal.game import TerminalSession, default_store, seats_of
    from apps.terminal.saved_models import Trust, read_models, text_of
    from apps.terminal.talk import Seconds, Talk
    from tictactoe_env.games.game import PERSON
    from tictactoe_env.games.store import GameStore
    from tictactoe_env.notation import parse_size
    from tictactoe_env.opponents import id_of
    from tictactoe_env.rules import Rules
    from training.options import Count, Natural

LISTED = 20  # games of --list
MAX_SEED = 2**32

Player = Annotated[str | None, read_by(id_of), Parameter(metavar="PLAYER")]
Delay = Annotated[
    Seconds | None,
    Parameter(
        metavar="SECONDS",
        help="show each board for so many seconds when agents play; run a replay by itself",
    ),
]
Board = Annotated[
    Rules | None,
    read_by(parse_size),
    Parameter(
        metavar="4x4x3",
        help="rows, columns, marks in a row (default: those of the first run that plays, or 3x3x3)",
    ),
]
Store = Annotated[
    Path | None,
    Parameter(
        metavar="FILE",
        help="file of the saved games (default: games.db in the user's data folder)",
    ),
]
Port = Annotated[int, Field(ge=0, le=65_535)]
Host = Annotated[str, Parameter(metavar="ADDRESS")]


@explained("play.py", "play")
def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    program, typed = LINE.parse(words)
    if hasattr(sys.stdin, "reconfigure"):  # invalid bytes must not end the game
        sys.stdin.reconfigure(errors="replace")
    try:
        program(*typed.args, **typed.kwargs)
    except EOFError:
        print("end of input")
    except KeyboardInterrupt:
        print("\nleft; an unfinished game is not saved")
        return 130
    except (ValueError, OSError) as error:
        print(f"play.py: {text_of(error, 'play.py', words)}", file=sys.stderr)
        return 1
    return 0


def play(
    *,
    x: Player = None,
    o: Player = None,
    program: str | None = None,
    seconds: Seconds | None = None,
    games: Count | None = None,
    delay: Delay = None,
    values: OneOrNone[Literal[KINDS]] | None = None,
    learn: Annotated[bool | None, Parameter(negative="--no-learn")] = None,
    board: Board = None,
    gravity: Gravity = False,
    seed: Natural | None = None,
    store: Store = None,
    trust: Trust = False,
) -> None:
    """Play the games of the options, or show the menu.

    Args:
        x: who plays X (default: human)
        o: who plays O (default: human)
        program: a program in any language plays O, or X where --o is given: it reads a position and
            answers with a cell, a line each
        seconds: its time for a move (default: 10)
        games: games to play (default: 1)
        values: show what each move is worth: own (the player's own values; meant by --values alone)
            or expected (its exact result against random moves)
        learn: whether a trie that plays learns from the games (default: yes)
        seed: seed of the agents' moves; each further game adds 1 (default: random)
    """
    if seconds is not None and program is None:
        LINE.error("--seconds is for --program: give that too")
    specs = with_foe([x or PERSON, o or PERSON])
    read_models(specs, trust=trust)
    rules = board_of(specs, board, gravity)
    if seed is None:
        seed = secrets.randbelow(MAX_SEED)
    kind = "" if values is None else next(iter(values), OWN)
    shown = {"values": kind, "learn": learn}
    talk = Talk(Console())
    with GameStore(store or default_store()) as saved, ExitStack() as running:
        if not (x or o or games or program):
            menu.Menu(rules, talk, saved, seed, train, delay, shown, trust).run()
            return
        if program and x and o:
            raise ValueError("--program takes the place of a player: leave --x or --o out")
        seats = seats_of(specs, rules, talk)
        if program:
            side = "X" if o else "O"
            asked = running.enter_context(Program(program, rules, seconds or SECONDS))
            seats[side] = asked.seat()
        session = TerminalSession(seats, rules, talk, saved, delay=delay or 0.0, **shown)
        session.play_all(games or 1, seed)


def watch(*, replay: Count, delay: Delay = None, store: Store = None) -> None:
    """Show a saved game.

    Args:
        replay: its number; keys control it
    """
    with GameStore(store or default_store(), read_only=True) as games:
        replays.watch(games.get(replay), Talk(Console()), delay)


def list_games(*, list: OneOrNone[Count], player: Player = None, store: Store = None) -> None:
    """List the newest saved games.

    Args:
        list: how many (default: 20)
        player: only games of this player
    """
    with GameStore(store or default_store(), read_only=True) as games:
        replays.print_list(games, Talk(Console()), next(iter(list), LISTED), player)


def serve(
    *,
    web: bool,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    board: Board = None,
    gravity: Gravity = False,
    store: Store = None,
) -> None:
    """Serve the page for a browser.

    Args:
        web: serve the page instead
        port: of the page; 0 is any free one
        host: address of this computer at which the page is served to the network; 0.0.0.0 is every
            IPv4 address, and :: every address
    """
    with explained("play.py", "web"):
        server = importlib.import_module("apps.web.server")
    rules = board_of([], board, gravity) if board or gravity else None
    server.serve(store or default_store(), port, rules, host)


LINE = CommandLine(
    "play.py",
    {"": play, "--replay": watch, "--list": list_games, "--web": serve},
    usage="play.py [options]: a menu; with --x or --o a game",
    description="Play tic-tac-toe against people and agents, watch agents play, and replay saved "
    "games. Without arguments: a menu.",
    epilog=f"players:\n  human, human:NAME  a person at this keyboard\n{NAMES_TEXT}",
)


def train(words: list[str]) -> int:
    """Train as `python train.py WORDS` does; the exit code."""
    return importlib.import_module("train").main(words)


if __name__ == "__main__":
    sys.exit(main())
