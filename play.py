"""Play and replay games: a menu, or `--x human --o minimax`, `--replay 17`, `--list`, `--web`."""

from __future__ import annotations

import importlib
import math
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from apps.terminal.installed import explained

with explained("play.py"):
    from tictactoe_env.errors import printable
    from tictactoe_env.notation import SIDES
    from tictactoe_env.rules import Rules

if TYPE_CHECKING:
    from apps.terminal.command_line import CommandLine, Option

LISTED = 20  # games of --list
MAX_SEED = 2**32


def command_line() -> CommandLine:
    """The command line, with a sentence for each option."""
    from apps.players.seat import NAMES_TEXT
    from apps.terminal.command_line import CommandLine, Option

    web = Option("web", "serve the page for a browser instead", kind="flag", default=False)
    return CommandLine(
        "play.py",
        [*_game_options(), *_look_options(), web],
        usage="play.py [options]: a menu; with --x or --o a game",
        about="Play tic-tac-toe against people and agents, watch agents play, and replay saved "
        "games. Without arguments: a menu.",
        epilog=f"players:\n  human, human:NAME    a person at this keyboard\n{NAMES_TEXT}\n\n"
        "`play.py --web --help` lists the options of the page for a browser.",
    )


def _game_options() -> list[Option]:
    from apps.players.seat import KINDS
    from apps.terminal.command_line import Option
    from tictactoe_env.notation import parse_size
    from training.options import Count, Natural

    who = "(default: human if the other side is given)"
    board = "rows, columns, marks in a row (default: those of the first run that plays, or 3x3x3)"
    seed = "seed of the agents' moves; each further game adds 1 (default: a new one each time)"
    delay = "show each board for this long when agents play each other; run a replay by itself"
    values = (
        "show what each move is worth: own (the player's own values; meant by --values alone) or "
        "expected (its exact result against random moves); during a game `values` shows or hides it"
    )
    learn = (
        "whether a trie that plays learns from the games (default: it does; a table of the package "
        "does not)"
    )
    return [
        *(Option(side.lower(), f"who plays {side} {who}", metavar="PLAYER") for side in SIDES),
        Option("games", "games to play", Count, 1, metavar="N"),
        Option("delay", delay, _seconds, metavar="SECONDS"),
        Option("values", values, Literal[KINDS], kind="optional", metavar="own|expected"),
        Option("learn", learn, kind="switch"),
        Option("board", board, parse_size, metavar="4x4x3"),
        Option("seed", seed, Natural, metavar="N"),
    ]


def _look_options() -> list[Option]:
    from apps.terminal.command_line import Option
    from training.options import Count

    replay = "show a saved game move by move, controlled by keys; with --delay it runs by itself"
    shown = f"list the newest saved games, {LISTED} or N"
    result = "with --list: only games with this result"
    store = "file of the saved games (default: games.db in the user's data folder)"
    return [
        Option("replay", replay, Count, metavar="ID"),
        Option("list", shown, Count, kind="optional", metavar="N"),
        Option("player", "with --list: only games of this player", metavar="NAME"),
        Option("result", result, Literal[*SIDES, "draw"], metavar="X|O|draw"),
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


@explained("play.py")
def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
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
        print("\nleft; an unfinished game is not saved")
        return 130
    except (ValueError, OSError) as error:
        print(f"play.py: {printable(error)}", file=sys.stderr)
        return 1


def serve(arguments: list[str]) -> int:
    """Serve the page for a browser, with the same default store."""
    from apps.terminal import home

    if not any(argument.partition("=")[0] == "--store" for argument in arguments):
        arguments = [*arguments, "--store", str(home.default_store())]
    return importlib.import_module("apps.web.server").main(arguments)


def check(typed: Mapping[str, Any]) -> None:
    """Raises ValueError for options that cannot be combined."""
    looks = [name for name in ("list", "replay") if name in typed]
    options = ("x", "o", "board", "seed", "games", "values", "learn")
    plays = [name for name in options if name in typed]
    plays += ["delay"] * ("list" in typed and "delay" in typed)
    if len(looks) > 1 or (looks and plays):
        raise ValueError(
            f"--{looks[0]} only shows saved games: leave --{(looks[1:] + plays)[0]} out"
        )
    if "list" not in looks and ("player" in typed or "result" in typed):
        raise ValueError("--player and --result select games of --list: give --list too")
    if typed.get("games", 1) > 1 and "x" not in typed and "o" not in typed:
        raise ValueError("--games needs players: give --x or --o too")


def play(given: SimpleNamespace) -> int:
    """Show saved games, or play."""
    from rich.console import Console

    from apps.terminal import home
    from apps.terminal.talk import Talk

    if hasattr(sys.stdin, "reconfigure"):  # invalid bytes must not end the game
        sys.stdin.reconfigure(errors="replace")
    talk, path = Talk(Console()), given.store or home.default_store()
    if given.list is not None or given.replay is not None:
        return look(given, talk, path)
    return play_games(given, talk, path)


def look(given: SimpleNamespace, talk: Any, path: Path) -> int:
    """Show the list of saved games, or one of them."""
    from apps.terminal import replay
    from tictactoe_env.games.store import GameStore

    with GameStore(path, read_only=True) as store:
        if given.replay is not None:
            replay.watch(store.get(given.replay), talk, given.delay)
        else:
            limit = LISTED if given.list is True else given.list
            replay.print_list(store, talk, limit, given.player, given.result)
    return 0


def play_games(given: SimpleNamespace, talk: Any, path: Path) -> int:
    """Play the games of the options, or show the menu."""
    from apps.players.seat import OWN, board_of
    from apps.terminal import menu
    from apps.terminal.game import Table, seats_of
    from tictactoe_env.games.store import GameStore
    from tictactoe_env.games.table import PERSON

    specs = [PERSON if spec is None else spec for spec in (given.x, given.o)]
    values = OWN if given.values is True else given.values or ""
    rules = given.board or board_of(specs) or Rules()
    seed = secrets.randbelow(MAX_SEED) if given.seed is None else given.seed
    with GameStore(path) as store:
        if given.x is None and given.o is None:
            menu.Menu(rules, talk, store, seed, given.delay, values, given.learn).run()
        else:
            seats, delay = seats_of(specs, rules, talk), given.delay or 0.0
            shown = {"values": values, "delay": delay}
            table = Table(seats, rules, talk, store, **shown, learn=given.learn)
            table.play_all(given.games, seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
