"""Play, watch and replay: `python play.py` is a menu; `python play.py --x human --o minimax`, `--replay 17`, `--list`, `--web`."""

from __future__ import annotations

import argparse
import importlib
import math
import re
import secrets
import sys
from pathlib import Path
from typing import Any

from players.seat import NAMES_TEXT
from tictactoe_env.notation import SIDES
from tictactoe_env.rules import Rules
from training.command_line import Parser

LISTED = 20  # games of --list
MAX_SEED = 2**32


def parser() -> Parser:
    """The options, each with a sentence."""
    parser = Parser(
        prog="play.py",
        usage="play.py [options]: a menu; with --x or --o a game",
        description="Play tic-tac-toe against people and agents, watch agents play, look at old games. Without arguments: a menu.",
        epilog=f"players:\n  human, human:NAME    a person at this keyboard\n{NAMES_TEXT}\n\n"
        "In the browser: --web; `play.py --web --help` lists what goes with it.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for side in SIDES:
        parser.add_argument(
            f"--{side.lower()}",
            metavar="PLAYER",
            help=f"who plays {side} (default: human, if the other side is given)",
        )
    parser.add_argument(
        "--games", type=_whole(1), default=1, metavar="N", help="games to play (default: 1)"
    )
    parser.add_argument(
        "--delay",
        type=_seconds,
        metavar="SECONDS",
        help="to look at each board of agents that play each other, or of a replay, which then runs",
    )
    parser.add_argument(
        "--values",
        action="store_true",
        help="show on the board what each move is worth; in a game `values` switches it",
    )
    parser.add_argument(
        "--board",
        type=_board,
        metavar="4x4",
        help="rows and columns (default: those of a run that plays, or 3x3)",
    )
    parser.add_argument(
        "--k", type=_whole(1), metavar="K", help="marks in a line that win (default: 3)"
    )
    parser.add_argument(
        "--seed",
        type=_whole(0),
        metavar="N",
        help="seed of the players' moves; each further game has the next (default: another one each time)",
    )
    parser.add_argument(
        "--replay",
        type=_whole(1),
        metavar="ID",
        help="look at a game again, move by move, by keys; with --delay it runs by itself",
    )
    parser.add_argument(
        "--list",
        type=_whole(1),
        nargs="?",
        const=LISTED,
        metavar="N",
        help=f"the newest games (default: {LISTED})",
    )
    parser.add_argument("--player", metavar="NAME", help="with --list: games of this player only")
    parser.add_argument(
        "--result", choices=(*SIDES, "draw"), help="with --list: games with this result only"
    )
    parser.add_argument(
        "--store",
        type=Path,
        metavar="FILE",
        help="where games are kept (default: in the user's folder for data)",
    )
    parser.add_argument("--web", action="store_true", help="serve the page for the browser instead")
    return parser


def _whole(low: int) -> Any:
    def parse(text: str) -> int:
        if not re.fullmatch("[0-9]{1,15}", text) or int(text) < low:
            raise argparse.ArgumentTypeError(
                f"expected a whole number of at least {low}, got {text!r}"
            )
        return int(text)

    return parse


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found <= 3600:
        raise argparse.ArgumentTypeError(
            f"expected seconds from 0 to 3600, such as 0.5, got {text!r}"
        )
    return found


def _board(text: str) -> tuple[int, int]:
    found = re.fullmatch("([0-9]{1,2})x([0-9]{1,2})", text.lower())
    if not found:
        raise argparse.ArgumentTypeError(f"expected rows and columns such as 4x4, got {text!r}")
    return int(found[1]), int(found[2])


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments say; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if "--web" in arguments:
            return serve([argument for argument in arguments if argument != "--web"])
        given = parser().parse_args(arguments)
        check(given)
        return play(given)
    except EOFError:
        print("end of input")
        return 0
    except KeyboardInterrupt:
        print("\nleft; a game that was not finished is not kept")
        return 130
    except ImportError as error:
        if (error.name or "").split(".")[0] not in (
            "rich",
            "platformdirs",
            "safetensors",
            "starlette",
            "uvicorn",
        ):
            raise
        print(
            f'play.py: {error.name} is not installed: pip install -e ".[{"web" if "--web" in arguments else "play"}]"',
            file=sys.stderr,
        )
        return 1
    except (ValueError, OSError) as error:
        print(f"play.py: {error}", file=sys.stderr)
        return 1


def serve(arguments: list[str]) -> int:
    """The page for the browser, with the same store."""
    from terminal import home

    if not any(argument.partition("=")[0] == "--store" for argument in arguments):
        arguments = [*arguments, "--store", str(home.default_store())]
    return importlib.import_module("web.server").main(arguments)


def check(given: argparse.Namespace) -> None:
    """Raises ValueError for options that do not go together."""
    looks = [name for name in ("list", "replay") if getattr(given, name) is not None]
    plays = [
        name
        for name in ("x", "o", "board", "k", "seed", "games", "values")
        if getattr(given, name) != parser().get_default(name)
    ]
    if len(looks) > 1 or (looks and plays):
        raise ValueError(
            f"--{looks[0]} shows old games and does nothing else: leave --{(looks[1:] + plays)[0]} out"
        )
    if "list" not in looks and (given.player is not None or given.result is not None):
        raise ValueError("--player and --result choose among the games of --list: give it too")
    if given.games > 1 and given.x is None and given.o is None:
        raise ValueError("--games needs players: give --x and --o too")


def play(given: argparse.Namespace) -> int:
    """Do what was asked for, with the store open."""
    from rich.console import Console

    from players.seat import PERSON, board_of
    from terminal import home, menu, replay
    from terminal.game import Table, seats_of
    from terminal.talk import Talk
    from tictactoe_env.games import GameStore

    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(
            errors="replace"
        )  # what is no text is no move, and is asked for again
    talk, path = Talk(Console()), given.store or home.default_store()
    if given.list is not None or given.replay is not None:
        with GameStore(path, read_only=True) as store:
            if given.list is not None:
                replay.print_list(store, talk, given.list, given.player, given.result)
            else:
                replay.watch(store.get(given.replay), talk, given.delay)
        return 0
    specs = [PERSON if spec is None else spec for spec in (given.x, given.o)]
    rules = (
        Rules()
        if given.board is None and given.k is None
        else Rules(*(given.board or (3, 3)), 3 if given.k is None else given.k)
    )
    if given.board is None and given.k is None:
        rules = board_of(specs) or rules
    seed = secrets.randbelow(MAX_SEED) if given.seed is None else given.seed
    with GameStore(path) as store:
        if given.x is None and given.o is None:
            menu.Menu(rules, talk, store, seed, given.delay, given.values).run()
        else:
            Table(
                seats_of(specs, rules, talk),
                rules,
                talk,
                store,
                values=given.values,
                delay=given.delay or 0.0,
            ).play_all(given.games, seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
