"""Cases of tests as text, the check of an error by its text, and the rows of a printed table."""

import re

import pytest


def cases(text):
    """The columns, between `|`, of each line that is not empty."""
    return [tuple(map(str.strip, line.split(" | "))) for line in text.splitlines() if line.strip()]


def refuses(message, error=ValueError):
    """A context in which an error must be raised whose text holds `message`."""
    return pytest.raises(error, match=re.escape(message))


def rows_of(text):
    """The texts of the cells of each row of the tables that rich has printed."""
    lines = (line.split("│")[1:-1] for line in text.splitlines() if line.startswith("│"))
    return [[cell.strip() for cell in line] for line in lines]
