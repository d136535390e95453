"""Snapshots: frozen copies of a player, which play on as it was while the player goes on learning.

env.add_snapshot(model)                      # into the opponent "self" of an environment
frozen = snapshot(model, Rules(4, 4, 4))     # a policy for anything else
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from tictactoe_env.errors import one_of, whole_number
from tictactoe_env.exact.canonical import CanonicalPolicy
from tictactoe_env.policy import (
    GreedyPolicy,
    Policy,
    PredictPolicy,
    RandomPolicy,
    TabularPolicy,
    as_policy,
    tabulate,
)
from tictactoe_env.rules import Rules, checked_rules

# Cells of a board on which a policy is tabulated: 3x4 has a table of 79,563 rows.
MAX_TABLE_CELLS = 12
REPLACE = ("mixed", "oldest", "random")


def snapshot(player: Any, rules: Rules, deterministic: bool = False) -> Policy:
    """A frozen copy of a player: what `player` learns later does not change how the copy plays.

    On boards of up to 12 cells the copy is a table of all positions (`TabularPolicy`), on larger
    ones a deep copy; of a Stable-Baselines3 model only the policy is copied.

    player: an object with `probs(boards)`, or with Stable-Baselines3's `predict`. deterministic:
    whether the copy always plays the most probable move, of equal ones the lowest cell. Otherwise
    it plays by the probabilities; of a Stable-Baselines3 model by those of its actions, if it has
    them, as PPO, A2C and MaskablePPO have. A DQN plays its best action either way. On larger boards
    the copy of a CanonicalPolicy is one too, so that proofs of it remain small.
    Raises ValueError for an object that is not a player or cannot be copied.
    """
    policy = as_policy(player, checked_rules(rules), deterministic)
    if deterministic:
        policy = _greedy(policy)
    if type(policy) is RandomPolicy or isinstance(policy, TabularPolicy):
        return policy
    if rules.cells <= MAX_TABLE_CELLS:
        return tabulate(policy, rules)
    try:
        return _copied(policy)
    except Exception as error:
        raise ValueError(
            f"this player cannot be copied ({error!r}), and on {rules} a snapshot is a copy: give "
            "one that copy.deepcopy accepts"
        ) from error


def _greedy(policy: Policy) -> Policy:
    """The most probable moves of a policy; on canonical boards, if it plays by these."""
    if isinstance(policy, PredictPolicy) and policy.deterministic:
        return policy
    if type(policy) is CanonicalPolicy:
        return CanonicalPolicy(_greedy(policy.policy), policy.rules)
    return GreedyPolicy(policy)


def _copied(policy: Policy) -> Policy:
    """A deep copy; of the models inside only their policies are copied."""
    if isinstance(policy, PredictPolicy):
        return policy.copied()
    if type(policy) is CanonicalPolicy:
        return CanonicalPolicy(_copied(policy.policy), policy.rules)
    if type(policy) is GreedyPolicy:
        return GreedyPolicy(_copied(policy.policy))
    return copy.deepcopy(policy)


def place_of_next(count: int, keep: int, replace: str, rng: np.random.Generator) -> int | None:
    """The snapshot that the next one replaces, 0 for the oldest; None as long as there is room.

    replace: "oldest"; "random", each equally likely; or "mixed", which is the oldest with
    probability 1/2 and otherwise any one, so that snapshots of many ages remain.
    """
    if count < keep:
        return None
    if replace == "oldest" or (replace == "mixed" and rng.random() < 0.5):
        return 0
    return int(rng.integers(count))


def check_keeping(keep: Any, replace: Any) -> None:
    """Raises ValueError unless `keep` is at least 1 and `replace` is in REPLACE."""
    whole_number(keep, "keep, the number of snapshots,", 1)
    one_of("way to replace a snapshot", replace, REPLACE)
