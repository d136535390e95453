"""The boards that are offered to people: on the page, and in the menu of the terminal."""

from __future__ import annotations

from tictactoe_env.rules import Rules

BOARDS = (Rules(), Rules(3, 4, 3), Rules(4, 4, 4), Rules(5, 5, 4), Rules(6, 6, 4), Rules(7, 7, 5))
