"""Check, export or import a store: `python -m tictactoe_env.games games.db --check`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tictactoe_env.errors import in_one_line, printable, run_program
from tictactoe_env.games.game import json_text
from tictactoe_env.games.store import GameStore, read_games
from tictactoe_env.notation import parse_size


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, export or import the games of a store.

    The exit code: 0, 1 if games cannot be read or all are left out, 2 for wrong arguments.
    """
    parser = argparse.ArgumentParser(
        "python -m tictactoe_env.games",
        description="Check, export or import the games of a store.",
        epilog="A game to import is b2 a1 c1 b1 a3, 51327, ddcceef or JSON, for example; "
        "docs/play.md has all forms.",
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
        help="add all games of a file, or none: text with one game a line, JSON or a store",
    )
    option = parser.add_argument_group("options of --import").add_argument
    option("--board", metavar="6x7x4", help="of games that name none (default: 3x3x3)")
    option("--gravity", action="store_true", default=None, help="pieces fall on this board")
    option("--numbers-from", type=int, choices=(0, 1), help="the first number of moves as numbers")
    option("--keep-rest", action="store_true", default=None, help="leave out what is no game")
    given = in_one_line(parser).parse_args(arguments)
    reading = (given.board, given.gravity, given.numbers_from, given.keep_rest)
    if given.source is None and any(value is not None for value in reading):
        parser.error("--board, --gravity, --numbers-from and --keep-rest need --import")
    try:
        if given.source is not None:
            return _import(given, parser.prog)
        with GameStore(given.file, read_only=True) as store:
            if given.export == "json":
                sys.stdout.write(json_text(store))
            elif given.export == "text":
                sys.stdout.writelines(f"{game.line()}\n" for game in store)
            else:
                print(f"{printable(given.file)}: none of {store.check():,} games is damaged")
    except BrokenPipeError:
        raise
    except (ValueError, OSError) as error:
        print(f"{parser.prog}: {printable(error)}", file=sys.stderr)
        return 1
    return 0


def _import(given: argparse.Namespace, program: str) -> int:
    """Add the games of a file to a store. The exit code is 1 if all of them are left out."""
    rules = parse_size(given.board or "3x3x3")
    rules = replace(rules, gravity=given.gravity or rules.gravity)
    left_out: list[ValueError] = []
    on_error = left_out.append if given.keep_rest else None
    games = list(read_games(given.source, rules, given.numbers_from, on_error))
    for error in left_out:
        print(f"{program}: left out {printable(error)}", file=sys.stderr)
    with GameStore(given.file) as store:
        added = len(store.add_many(games))
    rest = f", {len(left_out):,} left out" if left_out else ""
    noun = "game" if added == 1 else "games"
    print(f"{printable(given.file)}: {added:,} {noun} added{rest}")
    return 1 if left_out and not games else 0


if __name__ == "__main__":
    run_program(main)
