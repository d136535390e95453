"""Check, export or import a store: `python -m tictactoe_env.games games.db --check`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tictactoe_env.errors import printable
from tictactoe_env.games.game import json_text
from tictactoe_env.games.store import GameStore, read_games


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, export or import the games of a store; returns the exit code."""
    parser = _Parser(
        "python -m tictactoe_env.games",
        description="Check, export or import the games of a store.",
        allow_abbrev=False,
    )
    parser.add_argument("file", type=Path, help="the SQLite file of the store")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true", help="check the file and replay every game")
    action.add_argument("--export", choices=("text", "json"), help="print all games, one a line")
    action.add_argument(
        "--import",
        dest="source",
        type=Path,
        metavar="FILE",
        help="add all games of a file, or none: text with one game a line, a JSON list or a store",
    )
    given = parser.parse_args(arguments)
    try:
        if given.source is not None:
            _import(given.file, given.source)
        else:
            _show(given.file, given.export)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # such as `| head`
    except (ValueError, OSError) as error:
        print(f"{parser.prog}: {printable(error)}", file=sys.stderr)
        return 1
    return 0


def _import(path: Path, source: Path) -> None:
    games = list(read_games(source))
    with GameStore(path) as store:
        ids = store.add_many(games)
    which = f", {ids[0]} to {ids[-1]}" if ids else ""
    print(f"{printable(path)}: {_counted(len(ids))} added{which}")


def _show(path: Path, form: str | None) -> None:
    """Print all games as "text" or "json"; with form None check them and print their number."""
    with GameStore(path, read_only=True) as store:
        if form is None:
            print(f"{printable(path)}: {_counted(store.check())}, none damaged")
        elif form == "json":
            sys.stdout.write(json_text(store))
        else:
            sys.stdout.writelines(f"{game.line()}\n" for game in store)


def _counted(games: int) -> str:
    return f"{games:,} {'game' if games == 1 else 'games'}"


if __name__ == "__main__":
    sys.exit(main())
