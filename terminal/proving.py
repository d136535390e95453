"""The progress of a proof, on one line of the terminal. Needs no rich."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tictactoe_env.printable import printable
from tictactoe_env.proof import Progress
from tictactoe_env.rules import Rules


@contextmanager
def shown(what: str, rules: Rules) -> Iterator[Progress]:
    """A function to be called after each ply of a proof; the line is cleared at the end.

    It writes to the error output, and nothing if that is not a terminal.
    """
    stream, width = sys.stderr, 0

    def show(side: str, plies: int, positions: int) -> None:
        nonlocal width
        if not stream.isatty():
            return
        where = f"ply {plies} of {rules.cells}, {positions:,} positions"
        text = f"proving {printable(what)} as {side}: {where}"
        stream.write(f"\r{text.ljust(width)}")
        stream.flush()
        width = max(width, len(text))

    try:
        yield show
    finally:
        if width:
            stream.write(f"\r{' ' * width}\r")
            stream.flush()
