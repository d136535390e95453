r"""Text that may come from anybody's file, as it can be shown on a terminal, in a log or on a page.

    printable("dqn\x1b[8m\nPROVEN")      # "dqn\\x1b[8m\\nPROVEN": letters that do nothing

Escape codes could hide or overwrite the lines that a program prints after them, line breaks could
add lines that look like its own, and marks of direction could reverse the order of the letters.
"""

from __future__ import annotations


def printable(text: object, lines: bool = False) -> str:
    r"""`str(text)` with an escape such as \x1b, \n or \u202e for each letter that is not printable.

    A letter is printable as `str.isprintable` defines it. So control characters, line breaks, marks
    of direction, and the lone surrogates of a file name that is not UTF-8 are not.
    lines: line breaks stay, because the text has lines of its own.
    """
    found = str(text)
    if found.isprintable():
        return found
    return "".join(
        letter
        if letter.isprintable() or (lines and letter == "\n")
        else letter.encode("unicode_escape").decode()
        for letter in found
    )
