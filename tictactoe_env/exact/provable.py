"""Policies of which something can be proven: asked again, they make the same moves.

A proof holds for the moves that were asked for. It says nothing of a player that draws random
numbers of its own, remembers earlier boards, or looks at its clock, because it may play otherwise
the next time. Such a player is refused. It can be proven if it gives the probabilities of its
moves: then the proof holds for every draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import Model, Policy, Probs, as_policy, checked_probs
from tictactoe_env.rules import Boards, Rules

GAMES = 100  # random games from which the positions are taken
_SAME = 1e-4  # probabilities this close are equal: networks compute float32 in the order of a batch
_FEW = 0.01  # share of positions in which rounding may turn the choice between equal moves


def provable(policy: Policy | Model, rules: Rules) -> Policy:
    """A policy that is a function of the board, on boards of up to 12 cells as a table.

    The positions of 100 random games are asked for again, in another order and in other batches.
    Raises ValueError if the answers are others, or if the policy says by `varies` that they may be.
    """
    policy = as_policy(policy, rules)
    reason = varies(policy)
    found = policy if reason or rules.cells > TABULATED else tabulate(policy, rules)
    if reason is None:
        boards = _random_positions(rules)
        reason = _difference(policy, boards, checked_probs(found.probs(boards), boards.shape))
    if reason:
        raise ValueError(
            f"this player is no function of the board, so nothing can be proven of it: {reason}; "
            "give it as a table of its moves, or sample its games (sampled_result, evaluate.py "
            "--battle N)"
        )
    return found


def varies(policy: Any) -> str | None:
    """Why a policy's moves may be others the next time: its attribute `varies`.

    "" if it is a function of the board by its code, and None if it does not say. A policy that is
    made of another one, `policy`, may vary for the reason of that.
    """
    stated = getattr(policy, "varies", None)
    if stated is not None:
        return str(stated)
    inner = getattr(policy, "policy", None)
    return None if inner is None else varies(inner) or None


def _difference(policy: Policy, boards: Boards, first: Probs) -> str:
    """Say how the policy answers otherwise than it did first, on boards (B, cells); "" if not."""
    order = np.arange(len(boards))[::-1]
    # The first board is asked for in both parts. An odd number of calls finds moves in turns.
    half = max(1, len(boards) // 3)
    parts = [np.append(order[:half], 0), order[half:], order[:1]]
    asked = np.concatenate(parts)

    def answers() -> Probs:
        shape = boards.shape[1]
        return np.concatenate(
            [checked_probs(policy.probs(boards[part]), (len(part), shape)) for part in parts]
        )

    again = answers()
    once_more = answers()
    for what, found, expected, few in (
        ("asked twice for the same boards", once_more, again, 0),
        ("asked in another order", again, first[asked], _FEW * len(asked)),
    ):
        changed = asked[np.abs(found - expected).max(axis=1) > _SAME]
        if len(changed) > few:
            count = len(np.unique(changed))
            return f"{what}, it gave other moves in {count:,} of its positions"
    return ""


def _random_positions(rules: Rules) -> Boards:
    """The unfinished positions (B, cells) of random games, the empty board first, each once."""
    rng = np.random.default_rng(0)
    order = rng.random((GAMES, rules.cells)).argsort(axis=1)  # in which the cells are marked
    boards = np.concatenate([rules.marked(order, moves) for moves in range(rules.cells)])
    boards = boards[~rules.is_over(*rules.to_bits(boards))]
    _, where = np.unique(boards, axis=0, return_index=True)
    return np.asarray(boards[np.sort(where)])
