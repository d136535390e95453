"""Policies of which something can be proven: asked again, they make the same moves.

A proof holds for the moves that were asked for. It says nothing of a player that draws random
numbers of its own, remembers earlier boards, or looks at its clock, because it may play otherwise
the next time. Such a player is refused. It can be proven if it gives the probabilities of its
moves: then the proof holds for every draw.

A policy may say by its attribute `varies` what it is:

    varies = ""          a function of the board. It is believed, and asked for each position once
    varies = "a reason"  it may play otherwise the next time, for this reason. It is refused
    no `varies`, None    not known. It is asked again

So a player that takes its time can be proven for what it answered: see `text.TextPolicy`, which
keeps its answers. Where it is not known, a policy is asked again for what it was asked in a proof:
on boards of up to 12 cells for each position, on larger ones for a tenth of them. Answers are the
same if the same moves are possible, however unlikely they are, and if they are as likely within
1e-4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.actions import checked_probs
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import (
    CanonicalPolicy,
    Model,
    Policy,
    Probs,
    as_policy,
    keeps,
    plays_symmetrically,
    stated,
)
from tictactoe_env.rules import Boards, Rules

GAMES = 100  # random games from which the positions are taken
ALONE = 8  # positions that are asked for again in a call of their own
_MORE_ALONE = 64  # as many, if one of these is answered otherwise
_SHARE_ALONE = 30  # of so many positions that are asked for alone one may be rounded
_SHARE = 10  # on large boards one position of so many is asked for again
_LEAST = 64  # positions of a call that are asked for again, if it has as many
_SAME = 1e-4  # probabilities this close are equal: networks compute float32 in the order of a batch
_FEW = 0.01  # share of positions in which rounding may turn the choice between equal moves


def provable(policy: Policy | Model, rules: Rules, symmetric: bool | None = None) -> Policy:
    """A policy that is a function of the board, on boards of up to 12 cells as a table.

    For the table it is asked again for all positions, on larger boards for those of 100 random
    games. Raises ValueError if the answers are others, or if the policy says by `varies` that they
    may be. symmetric: see `evaluation.evaluate`.
    """
    policy = as_policy(policy, rules, symmetric=symmetric)
    _refuse(reason_to_vary(policy))
    is_small = rules.cells <= TABULATED
    if is_believed(policy):
        return tabulate(policy, rules) if is_small else policy
    asked = _Asked(policy)
    if is_small:
        found: Policy = tabulate(asked, rules)
    else:
        asked.probs(random_positions(rules, GAMES))
        found = policy
    asked.check()
    return found


@contextmanager
def to_be_met(
    policy: Policy | Model, rules: Rules, symmetric: bool | None = None
) -> Iterator[Policy]:
    """A policy for proofs of what it can meet, which is asked for that again at the end.

    On boards of up to 12 cells it is asked again for each position that it was asked for. On larger
    ones it is asked beforehand, see `provable`, and again for a tenth of the positions. Raises
    ValueError if the answers are others, or if the policy says by `varies` that they may be.
    symmetric: see `evaluation.evaluate`.
    """
    is_small = rules.cells <= TABULATED
    if is_small:
        policy = as_policy(policy, rules, symmetric=symmetric)
        _refuse(reason_to_vary(policy))
    else:
        policy = provable(policy, rules, symmetric)
    if is_believed(policy):
        yield policy
        return
    share = 1 if is_small else _SHARE
    if keeps(policy, CanonicalPolicy):  # remains one, so that symmetric positions are one
        asked = _Asked(policy.policy, share)
        yield CanonicalPolicy(asked, rules)
    else:
        asked = _Asked(policy, share)
        yield asked
    asked.check()


def reason_to_vary(policy: Any) -> str:
    """Why a policy's moves may be others the next time, as it says by `varies`; "" if it doesn't.

    A policy that says nothing, but is made of another one, `policy`, may vary for the same reason.
    """
    said = stated(policy, "varies")
    if said is not None:
        return str(said)
    inner = getattr(policy, "policy", None)
    return "" if inner is None else reason_to_vary(inner)


def is_believed(policy: Any) -> bool:
    """True if a policy says by `varies = ""` that it is a function of the board."""
    return bool(stated(policy, "varies") == "")


class _Asked:
    """A policy that remembers its answers, so that it can be asked for them again.

    share: of so many boards one is remembered, but at least 64 of each call; 1 for all boards.
    """

    def __init__(self, policy: Policy, share: int = 1):
        self.policy = policy
        self.share = share
        self._boards: list[Boards] = []
        self._answers: list[Probs] = []

    @property
    def plays_symmetrically(self) -> bool:
        """Whether the policy does."""
        return plays_symmetrically(self.policy)

    def probs(self, boards: Boards) -> Probs:
        """The answers of the policy: (B, cells). They are checked and kept."""
        answers = _answers(self.policy, boards)
        some = _spread(len(boards), max(_LEAST, len(boards) // self.share))
        self._boards.append(boards[some])
        self._answers.append(answers[some])
        return answers

    def check(self) -> None:
        """Raise ValueError if the policy answers otherwise than it did.

        It is asked for the empty board too, because many players vary in their first move only.
        """
        calls = self._boards
        if not calls:
            return
        first = np.concatenate(self._answers)
        if calls[0][0].any():
            empty = np.zeros_like(calls[0][:1])
            calls = [empty, *calls]
            first = np.concatenate([_answers(self.policy, empty), first])
        _refuse(_difference(self.policy, calls, first, is_whole=self.share == 1))


def _spread(count: int, most: int) -> NDArray[np.intp]:
    """At most so many of the numbers below `count`, evenly spread, the first one included."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.intp)


def _refuse(reason: str) -> None:
    """Raise ValueError if there is a reason why nothing can be proven."""
    if reason:
        raise ValueError(
            f"this player is no function of the board, so nothing can be proven of it: {reason}; "
            "give it as a table of its moves, or sample its games (sampled_result, evaluate.py "
            "--battle N)"
        )


def _answers(policy: Policy, boards: Boards) -> Probs:
    """What a policy answers for boards (B, cells), checked."""
    given = boards.copy()
    answers = checked_probs(policy.probs(given), boards.shape, may_be_none=True)
    if not np.array_equal(given, boards):
        _refuse("it changes the boards that it is given, so let it copy them")
    return answers


def _difference(policy: Policy, calls: Sequence[Boards], first: Probs, is_whole: bool) -> str:
    """Say how the policy answers otherwise than it did first; "" if it doesn't.

    It is asked for all boards in another order, in other batches, and for some of them alone. What
    is answered otherwise may be rounding. It is if the policy repeats both answers, and does so in
    few positions.

    calls: the boards (B, cells) that it was asked for. first: (N, cells), what it answered.
    is_whole: whether it was asked for no other boards in these calls, so they can be repeated.
    """
    boards = np.concatenate(calls)
    order = np.arange(len(boards))[::-1]
    third = max(1, len(boards) // 3)
    # The first board is asked for in several calls, and the number of calls is odd: that finds
    # moves in turns.
    parts = [np.append(order[:third], 0), order[third:], order[-1:]]
    in_parts = np.concatenate(parts)
    alone = _spread(len(boards), ALONE)
    if _differ(_asked(policy, [*boards[alone][:, None]]), first[alone]).any():
        alone = _spread(len(boards), _MORE_ALONE)
    others = [boards[rows] for rows in (*parts, *alone[:, None])]

    again = _asked(policy, others)
    asked = np.concatenate([in_parts, alone])
    is_other = _differ(again, first[asked])
    if not is_other.any():
        return ""
    changed = _differ(_asked(policy, others), again)
    if not changed.any() and is_whole:
        changed = _differ(_asked(policy, calls), first)
    if changed.any():
        return _changed("asked twice for the same boards", changed.sum())
    in_order = len(np.unique(in_parts[is_other[: len(in_parts)]]))
    if in_order > max(1, _FEW * len(boards)):
        return _changed("asked in another order", in_order)
    by_one = is_other[len(in_parts) :].sum()
    most = max(1, len(alone) // _SHARE_ALONE)
    return _changed("asked for single boards", by_one) if by_one > most else ""


def _asked(policy: Policy, calls: Sequence[Boards]) -> Probs:
    """The answers of a policy to some calls, as one array."""
    return np.concatenate([_answers(policy, boards) for boards in calls])


def _differ(found: Probs, expected: Probs) -> NDArray[np.bool_]:
    """True where other moves are possible (B,), or equally possible ones are otherwise likely."""
    is_other = (np.abs(found - expected) > _SAME) | ((found > 0) != (expected > 0))
    return np.asarray(is_other.any(axis=1))


def _changed(how: str, count: int) -> str:
    """The reason that a policy gave other moves in so many positions, with the usual causes."""
    return (
        f"{how}, it gave other moves in {count:,} of its positions; usual causes are a network "
        "without .eval(), exploration that is left on, and moves that depend on other boards of a "
        "batch"
    )


def random_positions(rules: Rules, games: int, seed: int = 0) -> Boards:
    """The unfinished positions (B, cells) of random games, the empty board first, each once."""
    rng = np.random.default_rng(seed)
    order = rng.random((games, rules.cells)).argsort(axis=1)  # in which the cells are marked
    boards = np.concatenate([rules.marked(order, moves) for moves in range(rules.cells)])
    boards = boards[~rules.is_over(*rules.to_bits(boards))]
    _, where = np.unique(boards, axis=0, return_index=True)
    return np.asarray(boards[np.sort(where)])
