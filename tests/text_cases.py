"""Cases of tests as text, and the check of an error by its text."""

import re

import pytest


def cases(text):
    """The columns, between `|`, of each line that is not empty."""
    return [tuple(map(str.strip, line.split(" | "))) for line in text.splitlines() if line.strip()]


def refuses(message, error=ValueError):
    """A context in which an error must be raised whose text holds `message`."""
    return pytest.raises(error, match=re.escape(message))
