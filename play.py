"""Play, watch and replay: a menu, or `--x human --o minimax`, `--replay 17`, `--list`, `--web`."""

from __future__ import annotations

import importlib
import math
import re
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tictactoe_env.notation import SIDES
from tictactoe_env.rules import Rules

if TYPE_CHECKING:
    from training.command_line import CommandLine, Option

LISTED = 20  # games of --list
MAX_SEED = 2**32
PACKAGES = ("cyclopts", "rich", "platformdirs", "safetensors", "starlette", "fastapi", "uvicorn")
"""What the extras [play] and [web] install."""


def command_line() -> CommandLine:
    """The options, each with a sentence."""
    from players.seat import NAMES_TEXT
    from training.command_line import CommandLine, Option

    web = Option("web", "serve the page for the browser instead", kind="flag", default=False)
    return CommandLine(
        "play.py",
        [*_game_options(), *_look_options(), web],
        usage="play.py [options]: a menu; with --x or --o a game",
        about="Play tic-tac-toe against people and agents, watch agents play, look at old games. "
        "Without arguments: a menu.",
        epilog=f"players:\n  human, human:NAME    a person at this keyboard\n{NAMES_TEXT}\n\n"
        "In the browser: --web; `play.py --web --help` lists what goes with it.",
    )


def _game_options() -> list[Option]:
    from training.command_line import Option, whole

    who = "(default: human, if the other side is given)"
    board = "rows and columns (default: those of a run that plays, or 3x3)"
    seed = "seed of the players' moves; each further game has the next (default: another each time)"
    delay = "to look at each board of agents that play each other, or of a replay, which then runs"
    values = "show on the board what each move is worth; in a game `values` switches it"
    return [
        *(Option(side.lower(), f"who plays {side} {who}", metavar="PLAYER") for side in SIDES),
        Option("games", "games to play", whole(1), 1, metavar="N"),
        Option("delay", f"{delay} by itself", _seconds, metavar="SECONDS"),
        Option("values", values, kind="flag", default=False),
        Option("board", board, _board, metavar="4x4"),
        Option("k", "marks in a line that win (default: 3)", whole(1), metavar="K"),
        Option("seed", seed, whole(0), metavar="N"),
    ]


def _look_options() -> list[Option]:
    from training.command_line import Option, one_of, whole

    replay = "look at a game again, move by move, by keys; with --delay it runs by itself"
    result = "with --list: games with this result only"
    store = "where games are kept (default: in the user's folder for data)"
    return [
        Option("replay", replay, whole(1), metavar="ID"),
        Option("list", f"the newest games, {LISTED} or N", whole(1), kind="optional", metavar="N"),
        Option("player", "with --list: games of this player only", metavar="NAME"),
        Option("result", result, one_of(*SIDES, "draw"), metavar="X|O|draw"),
        Option("store", store, Path, metavar="FILE"),
    ]


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found <= 3600:
        raise ValueError(f"expected seconds from 0 to 3600, such as 0.5, got {text!r}")
    return found


def _board(text: str) -> tuple[int, int]:
    found = re.fullmatch("([0-9]{1,2})x([0-9]{1,2})", text.lower())
    if not found:
        raise ValueError(f"expected rows and columns such as 4x4, got {text!r}")
    return int(found[1]), int(found[2])


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments say; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if "--web" in arguments:
            return serve([argument for argument in arguments if argument != "--web"])
        line = command_line()
        typed = line.parse(arguments)
        check(typed)
        return play(SimpleNamespace(**{**line.defaults, **typed}))
    except EOFError:
        print("end of input")
        return 0
    except KeyboardInterrupt:
        print("\nleft; a game that was not finished is not kept")
        return 130
    except ImportError as error:
        if (error.name or "").split(".")[0] not in PACKAGES:
            raise
        extra = "web" if "--web" in arguments else "play"
        print(
            f'play.py: {error.name} is not installed: pip install -e ".[{extra}]"',
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


def check(typed: Mapping[str, Any]) -> None:
    """Raises ValueError for options that do not go together."""
    looks = [name for name in ("list", "replay") if name in typed]
    plays = [name for name in ("x", "o", "board", "k", "seed", "games", "values") if name in typed]
    if len(looks) > 1 or (looks and plays):
        raise ValueError(
            f"--{looks[0]} shows old games and does nothing else: "
            f"leave --{(looks[1:] + plays)[0]} out"
        )
    if "list" not in looks and ("player" in typed or "result" in typed):
        raise ValueError("--player and --result choose among the games of --list: give it too")
    if typed.get("games", 1) > 1 and "x" not in typed and "o" not in typed:
        raise ValueError("--games needs players: give --x and --o too")


def play(given: SimpleNamespace) -> int:
    """Do what was asked for, with the store open."""
    from rich.console import Console

    from terminal import home
    from terminal.talk import Talk

    if hasattr(sys.stdin, "reconfigure"):  # bytes that are no text are asked for again
        sys.stdin.reconfigure(errors="replace")
    talk, path = Talk(Console()), given.store or home.default_store()
    if given.list is not None or given.replay is not None:
        return look(given, talk, path)
    return play_games(given, talk, path)


def look(given: SimpleNamespace, talk: Any, path: Path) -> int:
    """The list of old games, or one of them."""
    from terminal import replay
    from tictactoe_env.store import GameStore

    with GameStore(path, read_only=True) as store:
        if given.replay is not None:
            replay.watch(store.get(given.replay), talk, given.delay)
        else:
            limit = LISTED if given.list is True else given.list
            replay.print_list(store, talk, limit, given.player, given.result)
    return 0


def play_games(given: SimpleNamespace, talk: Any, path: Path) -> int:
    """The games that were asked for, or the menu."""
    from players.seat import PERSON, board_of
    from terminal import menu
    from terminal.game import Table, seats_of
    from tictactoe_env.store import GameStore

    specs = [PERSON if spec is None else spec for spec in (given.x, given.o)]
    if given.board is None and given.k is None:
        rules = board_of(specs) or Rules()
    else:
        rules = Rules(*(given.board or (3, 3)), given.k or 3)
    seed = secrets.randbelow(MAX_SEED) if given.seed is None else given.seed
    with GameStore(path) as store:
        if given.x is None and given.o is None:
            menu.Menu(rules, talk, store, seed, given.delay, given.values).run()
        else:
            seats, delay = seats_of(specs, rules, talk), given.delay or 0.0
            table = Table(seats, rules, talk, store, values=given.values, delay=delay)
            table.play_all(given.games, seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
