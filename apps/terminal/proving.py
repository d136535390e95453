"""The progress of a proof: a line of the terminal, or now and then one of a file. Needs no rich."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tictactoe_env.errors import printable
from tictactoe_env.exact.proof import Progress
from tictactoe_env.rules import Rules

FILE_SECONDS = 10  # between two lines where the output is no terminal


@contextmanager
def shown(what: str, rules: Rules) -> Iterator[Progress]:
    """A function to be called after each ply of a proof; the line is cleared at the end.

    It writes to the error output. If that is no terminal, it writes a line after each FILE_SECONDS,
    so a proof that is quick leaves nothing in a log.
    """
    stream, width, said = sys.stderr, 0, time.monotonic()

    def show(side: str, plies: int, positions: int) -> None:
        nonlocal width, said
        where = f"ply {plies} of {rules.cells}, {positions:,} positions"
        text = f"proving {printable(what)} as {side}: {where}"
        if not stream.isatty():
            if time.monotonic() - said >= FILE_SECONDS:
                print(text, file=stream, flush=True)
                said = time.monotonic()
            return
        stream.write(f"\r{text.ljust(width)}")
        stream.flush()
        width = max(width, len(text))

    try:
        yield show
    finally:
        if width:
            stream.write(f"\r{' ' * width}\r")
            stream.flush()
