"""The reading of command lines: one-line errors, and a guess at what a misspelt option was meant to be."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from tictactoe_env.errors import unknown_name


class Parser(argparse.ArgumentParser):
    """An argument parser that guesses what a misspelt option was meant to be, and takes options by their whole name only."""

    def __init__(self, **settings: Any):
        super().__init__(**settings, allow_abbrev=False)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The options and arguments; exit code 2 if there are others."""
        known, rest = self.parse_known_args(args, namespace)
        if rest:
            options = [option for action in self._actions for option in action.option_strings]
            self.error(
                str(unknown_name("option", rest[0].partition("=")[0], options))
                if rest[0].startswith("-")
                else f"unexpected argument {rest[0]!r}"
            )
        return known

    def error(self, message: str) -> NoReturn:
        """End with the message on one line and exit code 2."""
        self.exit(2, f"{self.prog}: {message}\n")
