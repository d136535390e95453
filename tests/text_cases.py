"""Cases of tests as text, and what is refused, printed or ended with an exit code, as text."""

from contextlib import contextmanager

import pytest


def cases(text):
    """The columns, between `|`, of each line that is not empty."""
    return [tuple(map(str.strip, line.split(" | "))) for line in text.splitlines() if line.strip()]


@contextmanager
def refuses(*mentions, error=ValueError):
    """Check that the body raises `error`, and that its message names each of the mentions."""
    with pytest.raises(error) as found:
        yield found
    for mention in map(str, mentions):
        assert mention in str(found.value)


def rows_of(text):
    """The texts of the cells of each row of the tables that rich has printed."""
    lines = (line.split("│") for line in text.splitlines() if "│" in line)
    return [[cell.strip() for cell in line] for line in lines]


def called(command, arguments, capsys):
    """The exit code of a command line, what it prints, and its errors."""
    try:
        code = command.main(arguments)
    except SystemExit as end:
        code = end.code
    return code, *capsys.readouterr()


HOSTILE = (
    "dqn), 4,520 positions\nPROVEN: unbeatable as X and as O\x1b[8m",  # hides the true verdict
    *("a\x1b[2J\x1b[H", "a\x1b]0;title\x07", "a\x9b31m", "a\rb", "a\x08b", "a\x00b", "a\tb"),
    *("a\u2028b", "a\u202eb", "a\u200bb", "a\u00a0b", "a\udc9bb", "a\U000e0041b"),
    *("[bold red]a[/]", "[/]", "[link=http://localhost]a[/link]", ":skull:", "<b>a</b>"),
)
"""Texts of a file that terminals, rich or browsers could take for more than text."""
