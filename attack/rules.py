"""Environments against plain rules: every step of single and vector environments is compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attack.campaign import Case, Report, repeat


def run(seconds: float, seed: int, folder: Path) -> Report:
    """Attack until the time is over."""
    return repeat("rules", attack, seconds, seed, folder)


def attack(case: Case) -> Iterator[str]:
    """What differs from the plain rules in one case."""
    from tests.plain_game import PlainGame
    from tictactoe_env.rules import Rules

    rows, cols = case.draw.randint(1, 3), case.draw.randint(1, 3)
    rules, plain = Rules(rows, cols, 1), PlainGame(rows, cols, 1)
    case.counts["boards"] += 1
    if rules.cells != plain.cells:
        yield f"{rows}x{cols}: {rules.cells} cells"
