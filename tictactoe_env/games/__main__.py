"""Check, export or import a store: `python -m tictactoe_env.games games.db --check`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tictactoe_env.errors import in_one_line, printable
from tictactoe_env.games.game import json_text
from tictactoe_env.games.store import GameStore, read_games


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, export or import the games of a store; returns the exit code."""
    parser = argparse.ArgumentParser(
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
    given = in_one_line(parser).parse_args(arguments)
    try:
        games = [] if given.source is None else list(read_games(given.source))
        with GameStore(given.file, read_only=given.source is None) as store:
            if given.export == "json":
                sys.stdout.write(json_text(store))
            elif given.export == "text":
                sys.stdout.writelines(f"{game.line()}\n" for game in store)
            elif given.check:
                print(f"{printable(given.file)}: none of {store.check():,} games is damaged")
            else:
                print(f"{printable(given.file)}: {len(store.add_many(games)):,} games added")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # such as `| head`
    except (ValueError, OSError) as error:
        print(f"{parser.prog}: {printable(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
