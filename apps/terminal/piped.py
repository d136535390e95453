"""A console that goes on when nobody reads its output any more, such as in `| head`."""

from __future__ import annotations

from contextlib import suppress

from rich.console import Console


class PipedConsole(Console):
    """Falls silent on a closed pipe, so that files are still written."""

    def on_broken_pipe(self) -> None:
        """Print nothing from here on. rich would end the program."""
        with suppress(SystemExit):
            super().on_broken_pipe()
