"""Play and replay games: a menu, or `--x human --o minimax`, `--replay 17`, `--list`, `--web`."""

from __future__ import annotations

import importlib
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from apps.terminal.installed import explained

with explained("play.py"):
    from rich.console import Console

    from apps.players.seat import KINDS, NAMES_TEXT, OWN, board_of
    from apps.terminal import menu, replay
    from apps.terminal.command_line import CommandLine, Option
    from apps.terminal.game import Table, default_store, seats_of
    from apps.terminal.talk import Talk, seconds
    from tictactoe_env.errors import printable
    from tictactoe_env.games.store import GameStore
    from tictactoe_env.games.table import PERSON
    from tictactoe_env.notation import SIDES, parse_size
    from tictactoe_env.rules import Rules
    from training.options import Count, Natural

LISTED = 20  # games of --list
MAX_SEED = 2**32
LINE = CommandLine(
    "play.py",
    [
        *(
            Option(
                side.lower(),
                f"who plays {side} (default: human if the other side is given)",
                metavar="PLAYER",
            )
            for side in SIDES
        ),
        Option("games", "games to play", Count, 1, metavar="N"),
        Option(
            "delay",
            "show each board for this long when agents play each other; run a replay by itself",
            seconds,
            metavar="SECONDS",
        ),
        Option(
            "values",
            "show what each move is worth: own (the player's own values; meant by --values alone) "
            "or expected (its exact result against random moves); during a game `values` shows or "
            "hides it",
            Literal[KINDS],
            kind="optional",
            metavar="own|expected",
        ),
        Option(
            "learn",
            "whether a trie that plays learns from the games (default: it does; a table of the "
            "package does not)",
            kind="switch",
        ),
        Option(
            "board",
            "rows, columns, marks in a row (default: those of the first run that plays, or 3x3x3)",
            parse_size,
            metavar="4x4x3",
        ),
        Option(
            "seed",
            "seed of the agents' moves; each further game adds 1 (default: a new one each time)",
            Natural,
            metavar="N",
        ),
        Option(
            "replay",
            "show a saved game move by move, controlled by keys; with --delay it runs by itself",
            Count,
            metavar="ID",
        ),
        Option(
            "list",
            f"list the newest saved games, {LISTED} or N",
            Count,
            kind="optional",
            metavar="N",
        ),
        Option("player", "with --list: only games of this player", metavar="NAME"),
        Option(
            "result",
            "with --list: only games with this result",
            Literal[*SIDES, "draw"],
            metavar="X|O|draw",
        ),
        Option(
            "store",
            "file of the saved games (default: games.db in the user's data folder)",
            Path,
            metavar="FILE",
        ),
        Option("web", "serve the page for a browser instead", kind="flag", default=False),
    ],
    usage="play.py [options]: a menu; with --x or --o a game",
    about="Play tic-tac-toe against people and agents, watch agents play, and replay saved games. "
    "Without arguments: a menu.",
    epilog=f"players:\n  human, human:NAME    a person at this keyboard\n{NAMES_TEXT}\n\n"
    "`play.py --web --help` lists the options of the page for a browser.",
)
LOOKS = {"list": ("player", "result", "store"), "replay": ("delay", "store")}
"""The options that only show saved games, each with those that go with it."""


@explained("play.py")
def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if "--web" in arguments:
            arguments = [argument for argument in arguments if argument != "--web"]
            if not any(argument.partition("=")[0] == "--store" for argument in arguments):
                arguments += ["--store", str(default_store())]
            return importlib.import_module("apps.web.server").main(arguments)
        typed = LINE.parse(arguments)
        check(typed)
        given = SimpleNamespace(**{**LINE.defaults, **typed})
        if hasattr(sys.stdin, "reconfigure"):  # invalid bytes must not end the game
            sys.stdin.reconfigure(errors="replace")
        looks = given.list is not None or given.replay is not None
        with GameStore(given.store or default_store(), read_only=looks) as store:
            (look if looks else play)(given, Talk(Console()), store)
    except EOFError:
        print("end of input")
    except KeyboardInterrupt:
        print("\nleft; an unfinished game is not saved")
        return 130
    except (ValueError, OSError) as error:
        print(f"play.py: {printable(error)}", file=sys.stderr)
        return 1
    return 0


def check(typed: Mapping[str, Any]) -> None:
    """Raises ValueError for options that cannot be combined."""
    for look, options in LOOKS.items():
        others = [name for name in typed if name not in (look, *options)]
        if look in typed and others:
            raise ValueError(f"--{look} only shows saved games: leave --{others[0]} out")
    if "list" not in typed and ("player" in typed or "result" in typed):
        raise ValueError("--player and --result select games of --list: give --list too")
    if typed.get("games", 1) > 1 and "x" not in typed and "o" not in typed:
        raise ValueError("--games needs players: give --x or --o too")


def look(given: SimpleNamespace, talk: Talk, store: GameStore) -> None:
    """Show the list of saved games, or one of them."""
    if given.replay is not None:
        replay.watch(store.get(given.replay), talk, given.delay)
    else:
        limit = LISTED if given.list is True else given.list
        replay.print_list(store, talk, limit, given.player, given.result)


def play(given: SimpleNamespace, talk: Talk, store: GameStore) -> None:
    """Play the games of the options, or show the menu."""
    specs = [PERSON if spec is None else spec for spec in (given.x, given.o)]
    rules = given.board or board_of(specs) or Rules()
    seed = secrets.randbelow(MAX_SEED) if given.seed is None else given.seed
    shown = {"values": OWN if given.values is True else given.values or "", "learn": given.learn}
    if given.x is None and given.o is None:
        menu.Menu(rules, talk, store, seed, train, given.delay, **shown).run()
    else:
        seats = seats_of(specs, rules, talk)
        table = Table(seats, rules, talk, store, delay=given.delay or 0.0, **shown)
        table.play_all(given.games, seed)


def train(words: list[str]) -> int:
    """Train as `python train.py WORDS` does; the exit code."""
    return importlib.import_module("train").main(words)


if __name__ == "__main__":
    sys.exit(main())
