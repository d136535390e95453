"""Policies of which something can be proven: asked again, they make the same moves.

A proof holds for the moves that were asked for. It says nothing of a player that draws random
numbers of its own, remembers earlier boards, or looks at its clock, because it may play otherwise
the next time. Such a player is refused. It can be proven if it gives the probabilities of its
moves: then the proof holds for every draw.

A policy that says `varies = ""` is believed, and asked for each position once. So a player that
takes its time can be proven for what it answered: see `text.TextPolicy`, which keeps its answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import Model, Policy, Probs, as_policy, checked_probs
from tictactoe_env.rules import Boards, Rules

GAMES = 100  # random games from which the positions are taken
AGAIN = 50  # positions of a reach that are asked for again
_SAME = 1e-4  # probabilities this close are equal: networks compute float32 in the order of a batch
_FEW = 0.01  # share of positions in which rounding may turn the choice between equal moves


def provable(policy: Policy | Model, rules: Rules, symmetric: bool | None = None) -> Policy:
    """A policy that is a function of the board, on boards of up to 12 cells as a table.

    The positions of 100 random games are asked for again, in another order and in other batches.
    Raises ValueError if the answers are others, or if the policy says by `varies` that they may be.
    symmetric: see `evaluation.evaluate`.
    """
    policy = as_policy(policy, rules, symmetric=symmetric)
    reason = varies(policy)
    found = policy if reason or rules.cells > TABULATED else tabulate(policy, rules)
    if reason is None:
        boards = _random_positions(rules)
        reason = _difference(policy, boards, _answers(found, boards))
    _refuse(reason)
    return found


def to_be_met(policy: Policy | Model, rules: Rules, symmetric: bool | None = None) -> Policy:
    """A policy for a proof of what it can meet: see `proof.reach_of`.

    On boards of more than 12 cells it is `provable`. On smaller ones nothing is asked here:
    `reach_of` asks again for some of the positions that the policy has met. Raises ValueError if
    the policy says by `varies` that its moves may be others. symmetric: see `evaluation.evaluate`.
    """
    if rules.cells > TABULATED:
        return provable(policy, rules, symmetric)
    policy = as_policy(policy, rules, symmetric=symmetric)
    _refuse(varies(policy))
    return policy


class Asked:
    """A policy that remembers its answers, so that `check` can ask for some of them again."""

    def __init__(self, policy: Policy):
        self.policy = policy
        self._boards: list[Boards] = []
        self._answers: list[Probs] = []

    def probs(self, boards: Boards) -> Probs:
        """The answers of the policy: (B, cells). They are checked and kept."""
        self._boards.append(boards)
        self._answers.append(_answers(self.policy, boards))
        return self._answers[-1]

    def check(self) -> None:
        """Raise ValueError if the policy answers otherwise than it did.

        It is asked for at most AGAIN of its positions, evenly spread, and for the empty board,
        because many players vary in their first move only.
        """
        if not self._boards:
            return
        boards, answers = np.concatenate(self._boards), np.concatenate(self._answers)
        some = np.linspace(0, len(boards) - 1, min(AGAIN, len(boards))).astype(np.intp)
        boards, answers = boards[some], answers[some]
        if boards[0].any():
            empty = np.zeros_like(boards[:1])
            boards = np.concatenate([empty, boards])
            answers = np.concatenate([_answers(self.policy, empty), answers])
        _refuse(_difference(self.policy, boards, answers))


def _refuse(reason: str | None) -> None:
    """Raise ValueError if there is a reason why nothing can be proven."""
    if reason:
        raise ValueError(
            f"this player is no function of the board, so nothing can be proven of it: {reason}; "
            "give it as a table of its moves, or sample its games (sampled_result, evaluate.py "
            "--battle N)"
        )


def _answers(policy: Policy, boards: Boards) -> Probs:
    """What a policy answers for boards (B, cells), checked."""
    return checked_probs(policy.probs(boards), boards.shape, may_be_none=True)


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
        return np.concatenate([_answers(policy, boards[part]) for part in parts])

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
