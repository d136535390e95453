"""Goals of a training: which ones a board allows, and how large a proof may be."""

from __future__ import annotations

from typing import Any

from tictactoe_env.evaluation import best_play_x
from tictactoe_env.proof import TABLE_CELLS, Limit
from tictactoe_env.rules import Rules


def limit_of(config: Any) -> Limit | None:
    """The limit of a proof by the option `proof_positions`; None for an agent without it."""
    positions = getattr(config, "proof_positions", None)
    return None if positions is None else Limit(positions)


def check_goal(until: str, side: str, rules: Rules) -> None:
    """Raises ValueError for a goal that cannot be reached, or that nothing can prove."""
    if until == "optimal" and rules.cells > TABLE_CELLS:
        raise ValueError(
            "the best achievable results are computed on boards of at most "
            f"{TABLE_CELLS} cells, not on {rules}: give --until unbeatable"
        )
    if until != "steps" and side == "O" and best_play_x(rules) == 1:
        raise ValueError(
            f"no O can avoid losing on {rules}, where X wins with best play: leave --until "
            f"{until} out, or train another side"
        )


def goal_text(until: str, rules: Rules) -> str:
    """What the goal of a training means where X wins with best play; "" on other boards."""
    if until == "steps" or best_play_x(rules) != 1:
        return ""
    return (
        f"X wins with best play on {rules}: the goal is that X wins against everybody; O, which "
        "cannot avoid losing, does not count"
    )
