"""Goals of a training: which ones a board allows, and how large a proof may be."""

from __future__ import annotations

from typing import Any

from tictactoe_env.exact.evaluation import winner
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import Limit


def limit_of(config: Any) -> Limit | None:
    """The limit of a proof by the option `proof_positions`; None for an agent without it."""
    positions = getattr(config, "proof_positions", None)
    return None if positions is None else Limit(positions)


def check_goal(config: Any, until: str) -> None:
    """Raises ValueError for a goal that a training cannot reach, or that nothing can prove."""
    rules = config.rules
    if until == "steps":
        return
    if until == "optimal" and rules.cells > TABULATED:
        raise ValueError(
            "the best achievable results are computed on boards of at most "
            f"{TABULATED} cells, not on {rules}: give --until unbeatable"
        )
    side = config.learned_side
    best = winner(rules)
    if best and side not in ("both", best):
        raise ValueError(
            f"no {side} can avoid losing on {rules}, where {best} wins with best play: "
            f"leave --until {until} out, or train another side"
        )
