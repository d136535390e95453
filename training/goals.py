"""Goals of a training: which ones a board allows, and how large a proof may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from tictactoe_env.exact.evaluation import best_play_x
from tictactoe_env.exact.match import best_openings
from tictactoe_env.exact.positions import TABULATED, can_enumerate
from tictactoe_env.exact.proof import Limit
from tictactoe_env.games.analysis import truth
from tictactoe_env.notation import cell_text, parse_cell
from training.task import RANDOM


def limit_of(config: Any) -> Limit | None:
    """The limit of a proof by the option `proof_positions`; None for an agent without it."""
    positions = getattr(config, "proof_positions", None)
    return None if positions is None else Limit(positions)


def check_goal(config: Any, until: str) -> None:
    """Raises ValueError for a goal that a training cannot reach, or that nothing can prove."""
    rules, opening = config.rules, getattr(config, "opening", "")
    if until == "steps":
        return
    if until == "optimal" and rules.cells > TABULATED:
        raise ValueError(
            "the best achievable results are computed on boards of at most "
            f"{TABULATED} cells, not on {rules}: give --until unbeatable"
        )
    if getattr(config, "side", "both") == "O" and best_play_x(rules) == 1:
        raise ValueError(
            f"no O can avoid losing on {rules}, where X wins with best play: leave --until "
            f"{until} out, or train another side"
        )
    if not opening or not can_enumerate(rules):
        return
    if until == "optimal":
        good = best_openings(rules)
    else:
        moves = truth(np.zeros(rules.cells, np.int8), rules).moves
        best = best_play_x(rules)
        good = [cell for cell, move in enumerate(moves) if move and move.value == best]
    cells = range(rules.cells) if opening == RANDOM else [parse_cell(opening, rules)]
    if set(cells) - set(good):
        names = ", ".join(cell_text(cell, rules) for cell in good)
        raise ValueError(
            f"--until {until} can be reached on {rules} only after opening in {names}, not with "
            f"--opening {opening}: leave one of the two options out"
        )
