"""Output to a person with rich, and converters of their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Literal

from pydantic import Field
from rich.console import Console, RenderableType
from rich.live import Live

from apps.terminal.report import say
from tictactoe_env.games import session
from training.options import typed

Show = Callable[[RenderableType], None]


class Talk(session.Talk):
    """Writes to a console of rich, and reads answers from the standard input."""

    def __init__(self, console: Console):
        self.console = console

    def say(self, text: RenderableType = "", style: str | None = None, end: str = "\n") -> None:
        """Print a text or a picture, see `report.say`."""
        say(text, self.console, style, end)

    @property
    def is_terminal(self) -> bool:
        """True if a person sees the output at once."""
        return self.console.is_terminal

    @contextmanager
    def in_place(self) -> Iterator[Show]:
        """A function that shows each picture in place of the last one.

        If the output is not a terminal, the pictures are printed one below the other.
        """
        if not self.is_terminal:
            yield self.say
            return
        with Live(console=self.console, auto_refresh=False) as live:
            yield lambda picture: live.update(picture, refresh=True)


def one_of(*known: str) -> Callable[[str], str]:
    """A converter to one of these words, in capitals or not."""
    words = {word.lower(): word for word in known}
    return lambda text: typed(Literal[known], words.get(text.lower(), text))


def number(low: int, high: int) -> Callable[[str], int]:
    """A converter to a whole number from `low` to `high`."""
    return partial(typed, Annotated[int, Field(ge=low, le=high)])


def numbered(names: Iterable[str]) -> Callable[[str], str]:
    """A converter to one of these names, from it or from its number."""
    known = [*names]
    return lambda text: text if text in known else known[number(1, len(known))(text) - 1]


def seconds(text: str) -> float:
    """The seconds of a text, at most an hour; ValueError for any other text."""
    return float(typed(Annotated[float, Field(ge=0, le=3600)], text))
