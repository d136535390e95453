"""Text of anybody's file as rich prints it: letter by letter, without markup, emoji or escapes."""

from __future__ import annotations

from rich.text import Text

from tictactoe_env.errors import printable


def plain(text: object, style: str | None = None) -> Text:
    r"""A text that is printed as it is; what is not printable is shown as \x1b and the like.

    Line breaks stay. A text from a file that is part of a longer one goes through `printable`
    first, so that it cannot add lines of its own.
    """
    return Text(printable(text, lines=True), style or "")
