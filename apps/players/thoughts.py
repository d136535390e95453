"""A player's probabilities and values of the moves on a board, as they are shown.

thoughts(policy, board, rules).values              # its own values of the moves, if it has any
thoughts(policy, board, rules, "expected").values  # its exact results against random moves
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import unknown_name
from tictactoe_env.exact.match import action_values
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.policy import Policy, RandomPolicy
from tictactoe_env.rules import SIDES, Boards, Rules, to_move
from training.values import MEANING

OWN, EXPECTED = "own", "expected"
KINDS = (OWN, EXPECTED)
MEANINGS = {
    OWN: MEANING,
    EXPECTED: "expected result, wins minus losses, if it plays on like this against random moves; "
    "exact, not its own belief",
    "": "it gives no values, only probabilities",
}


@dataclass(frozen=True)
class Thoughts:
    """A player's probabilities and values of the moves on one board, None on taken cells.

    probs: probabilities. illegal: the probability on taken cells.
    values: those of the side to move, or None if the player has no values; a free cell has None if
    the player does not know its value. kind: "own", "expected" or "". meaning: what the values are,
    in words. scale: the values of a sure loss and of a sure win. kinds: all that the player has.
    """

    probs: list[float | None]
    values: list[float | None] | None
    kind: str
    illegal: float = 0.0
    meaning: str = ""
    scale: tuple[float, float] = (-1.0, 1.0)
    kinds: tuple[str, ...] = ()


def thoughts(policy: Policy, board: Boards, rules: Rules, kind: str = OWN) -> Thoughts:
    """A player's probabilities and values on an unfinished board (cells,).

    kind: which values, if the player has both. "own": those of its method
    `q_values(boards) -> (B, cells)`; its attributes `meaning` and `scale`, if it has them, say what
    they are. "expected": the exact expected results against random moves, if the player is a
    TabularPolicy, such as that of a certificate, on a board of at most 12 cells. Raises ValueError
    for another kind.
    """
    if kind not in KINDS:
        raise unknown_name("kind of values", kind, KINDS)
    board = np.asarray(board)
    free, kinds = board == 0, kinds_of(policy, rules)
    kind = kind if kind in kinds else kinds[0] if kinds else ""
    probs, values = policy.probs(board[None])[0], None
    meaning, scale = MEANINGS[kind], (-1.0, 1.0)
    if kind == OWN:
        player: Any = policy
        values = player.q_values(board[None])[0]
        meaning = getattr(player, "meaning", meaning)
        scale = getattr(player, "scale", scale)
    elif kind == EXPECTED:
        side = SIDES[int(to_move(board) < 0)]
        values = action_values(side, policy, RandomPolicy(), rules, board)
    return Thoughts(
        _on(free, probs),
        None if values is None else _on(free, values),
        kind,
        float(probs[~free].sum()),
        meaning,
        scale,
        kinds,
    )


def kinds_of(policy: Policy, rules: Rules) -> tuple[str, ...]:
    """The kinds of values that a player has on a board: see `thoughts`."""
    is_table = isinstance(policy, TabularPolicy) and rules.cells <= TABULATED
    has = {OWN: callable(getattr(policy, "q_values", None)), EXPECTED: is_table}
    return tuple(kind for kind in KINDS if has[kind])


def _on(free: NDArray[np.bool_], numbers: NDArray[np.floating[Any]]) -> list[float | None]:
    """The finite numbers on free cells, None elsewhere."""
    shown = free & np.isfinite(numbers)
    return [
        float(number) if is_shown else None for number, is_shown in zip(numbers, shown, strict=True)
    ]
