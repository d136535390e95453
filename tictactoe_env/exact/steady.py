"""Whether a player is a function of the board: asked again, it makes the same moves.

    table = steady_table(model, Rules())       # as `tabulate`, or ValueError
    check_steady(model, Rules(4, 4, 4))        # for boards whose positions are not tabulated

A proof holds for the moves that were asked for. It says nothing of a player that draws random
numbers of its own, remembers earlier boards, or looks at its clock, because it may play otherwise
the next time. Such a player is refused. It can be proven if it gives the probabilities of its
moves: then the proof holds for every draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.policy import Model, Policy, Probs, RandomPolicy, as_policy, checked_probs
from tictactoe_env.rules import Boards, Rules, to_move

FIRST, ASKED = 100, 1_000  # positions that are asked again: the first ones, and all of them
GAMES = 100  # random games from which the positions of larger boards are taken
SAME = 1e-4  # probabilities this close are equal: networks compute float32 in the order of a batch
FEW = 0.01  # share of positions in which rounding may turn the choice between equal moves


def steady_table(policy: Policy | Model, rules: Rules) -> TabularPolicy:
    """`tabulate`, for a policy that is a function of the board.

    1,000 positions are asked for again, in another order and in other batches. Raises ValueError if
    the answers are others, or if the policy says by `varies` that they may be.
    """
    policy = as_policy(policy, rules)
    is_known = _is_known(policy)
    table = tabulate(policy, rules)
    if is_known:
        return table
    positions = positions_of(rules)
    chosen = np.unique(
        np.concatenate(
            [
                np.arange(min(FIRST, len(table.table))),
                np.linspace(0, len(table.table) - 1, ASKED - FIRST).astype(np.intp),
            ]
        )
    )
    boards = rules.to_boards(*positions.bits(positions.unfinished[chosen]))
    _compare(policy, boards, table.table[chosen])
    return table


def check_steady(policy: Policy | Model, rules: Rules) -> None:
    """Raises ValueError unless a policy is a function of the board, on a board of any size.

    The positions of 100 random games are asked for twice, in another order and other batches.
    """
    policy = as_policy(policy, rules)
    if not _is_known(policy):
        boards = _random_positions(rules)
        _compare(policy, boards, checked_probs(policy.probs(boards), boards.shape))


KNOWN = (TabularPolicy, RandomPolicy, MinimaxPolicy)
"""Policies that are functions of the board by their code."""


def varies(policy: Any) -> str | None:
    """Why a policy's moves may be others the next time: its attribute `varies`.

    "" if it is a function of the board by its code, and None if it does not say. A policy that is
    made of others, as `policy` or `policies`, may vary for the reason of any of these.
    """
    stated = getattr(policy, "varies", None)
    if stated is not None:
        return str(stated)
    others = [getattr(policy, "policy", None), *getattr(policy, "policies", ())]
    return next((found for found in map(varies, filter(None, others)) if found), None)


def _is_known(policy: Policy) -> bool:
    """Whether a policy is a function of the board by its code. ValueError if it says it is none."""
    reason = varies(policy)
    if reason:
        raise _refusal(reason)
    return reason == "" or isinstance(policy, KNOWN)


def _refusal(reason: str) -> ValueError:
    return ValueError(
        f"this player is no function of the board, so nothing can be proven of it: {reason}; give "
        "it as probabilities (B, cells) that depend on the board alone, as a table of its moves "
        "(tictactoe_env.policy.tabulate), or sample its games "
        "(tictactoe_env.exact.match.sampled_result; evaluate.py --battle N)"
    )


def _compare(policy: Policy, boards: Boards, first: Probs) -> None:
    """Raises ValueError unless the policy answers as it did first, on boards (B, cells)."""
    order = np.arange(len(boards))[::-1]
    # The first board is asked for in both parts. An odd number of calls finds moves in turns.
    half = max(1, len(boards) // 3)
    parts = [np.append(order[:half], 0), order[half:], order[:1]]
    again, once_more = (_answers(policy, boards, parts) for _ in range(2))
    asked = np.concatenate(parts)
    if _differ(again, once_more).any():
        text = _positions(asked[_differ(again, once_more)])
        raise _refusal(f"asked twice for the same boards, it gave other moves in {text}")
    changed = _differ(first[asked], again)
    if changed.sum() > FEW * len(asked) or (changed.any() and len(asked) < 1 / FEW):
        text = _positions(asked[changed])
        raise _refusal(f"asked in another order, it gave other moves in {text}")


def _answers(policy: Policy, boards: Boards, parts: list[NDArray[np.intp]]) -> Probs:
    return np.concatenate(
        [checked_probs(policy.probs(boards[part]), boards[part].shape) for part in parts]
    )


def _differ(probs: Probs, others: Probs) -> NDArray[np.bool_]:
    return np.asarray(np.abs(probs - others).max(axis=1) > SAME)


def _positions(rows: NDArray[np.intp]) -> str:
    count = len(np.unique(rows))
    return f"{count:,} position{'s' * (count > 1)}"


def _random_positions(rules: Rules) -> Boards:
    """The unfinished positions (B, cells) of random games, the empty board first, each once."""
    rng = np.random.default_rng(0)
    boards = np.zeros((GAMES, rules.cells), dtype=np.int8)
    found = []
    for _ in range(rules.cells):
        found.append(boards.copy())
        free = np.where(boards == 0, rng.random(boards.shape), -1.0)
        marks = to_move(boards)
        boards[np.arange(len(boards)), free.argmax(axis=1)] = marks
        x, o = rules.to_bits(boards)
        boards = boards[~(rules.has_line(x) | rules.has_line(o))]
        if len(boards) == 0:
            break
    every = np.concatenate(found)
    _, where = np.unique(every, axis=0, return_index=True)
    return np.asarray(every[np.sort(where)])
