"""The boards that are offered to people: on the page, and in the menu of the terminal."""

from __future__ import annotations

from tictactoe_env.rules import Rules

BOARDS = (Rules(), Rules(3, 4, 3), Rules(4, 4, 4), Rules(5, 5, 4), Rules(6, 6, 4), Rules(7, 7, 5))


def usual_length(rows: int, cols: int) -> int:
    """The marks in a row on a board of this size: those of BOARDS, and 3 at most on any other."""
    known = {(rules.rows, rules.cols): rules.k for rules in BOARDS}
    return known.get((rows, cols), min(3, max(rows, cols)))
