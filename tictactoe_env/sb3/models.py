"""Questions of the callbacks to an environment, and frozen copies of a model."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle  # type: ignore[import-untyped]  # Stable-Baselines3 requires it
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.policy import CanonicalPolicy, Policy, RandomPolicy, keeps
from tictactoe_env.pool import snapshot
from tictactoe_env.predict_policy import PredictPolicy
from tictactoe_env.rules import SIDES, Boards, Rules
from tictactoe_env.symmetry import images


def attributes(env: VecEnv, name: str) -> list[Any] | None:
    """An attribute of each game behind all wrappers; None if a game has no such attribute."""
    return env.get_attr(name) if env.has_attr(name) else None


def rules_of(env: VecEnv) -> Rules:
    """The board that an environment plays. ValueError if there is none, or if there are several."""
    boards = set(attributes(env, "rules") or [])
    if len(boards) != 1:
        got = " and ".join(sorted(map(str, boards))) or "none"
        raise ValueError(f"environments of tictactoe_env must play on one board, got {got}")
    return boards.pop()


def side_of(env: VecEnv) -> str:
    """The side that the learner plays in all games: "X", "O", or "both"."""
    sides = {side for found in attributes(env, "sides") or [SIDES] for side in found}
    return sides.pop() if len(sides) == 1 else "both"


def check_observations(policy: Policy, env: VecEnv, seen: Any) -> None:
    """Raises ValueError unless the policy's observations are those that the environment gives.

    seen: the observations that the model gets now. Nothing is compared where it cannot be: for a
    policy that is not a `PredictPolicy`, and in environments without boards.
    """
    boards = attributes(env, "board")
    asked = policy.policy if keeps(policy, CanonicalPolicy) else policy
    if seen is None or boards is None or not keeps(asked, PredictPolicy):
        return
    shown = np.stack(boards)
    if asked is not policy:
        shown, _ = images(shown, asked.rules)
    expected = asked.observations(shown)
    if np.shape(seen) == expected.shape and np.allclose(seen, expected, atol=1e-5):
        return
    raise ValueError(
        f"a wrapper changes the observations: on the board {boards[0].tolist()} the model gets "
        f"{np.asarray(seen)[:1].tolist()}, expected {expected[:1].tolist()}; leave it out, or give "
        "policy=, a function that makes a policy from the model"
    )


def frozen(policy: Policy, rules: Rules, deterministic: bool) -> Policy:
    """A snapshot of a policy that can be sent to other processes.

    On boards of up to 12 cells it is a table. On larger ones it is a copy of the network on the
    CPU, whose weights travel as bytes: tensors that torch shares between processes would be lost.
    """
    return _sendable(snapshot(policy, rules, deterministic), rules)


def _sendable(copy: Policy, rules: Rules) -> Policy:
    if keeps(copy, TabularPolicy) or keeps(copy, RandomPolicy):
        return copy
    if keeps(copy, CanonicalPolicy):  # remains one, so that proofs count symmetric positions once
        return CanonicalPolicy(_sendable(copy.policy, rules), rules)
    if isinstance(copy, PredictPolicy) and isinstance(copy.model, torch.nn.Module):
        copy.model.to("cpu")
    return _FrozenPolicy(copy, rules)


class _FrozenPolicy:
    """A policy that does not change any more, so that a copy of it is the policy itself."""

    def __init__(self, policy: Policy, rules: Rules):
        self.policy = policy
        self.rules = rules

    def probs(self, boards: Boards) -> NDArray[np.floating[Any]]:
        """Probabilities (B, cells)."""
        with torch.no_grad():
            return self.policy.probs(boards)

    def __deepcopy__(self, memo: Any) -> _FrozenPolicy:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (cloudpickle.dumps((self.policy, self.rules)),)


def _unpacked(packed: bytes) -> _FrozenPolicy:
    return _FrozenPolicy(*pickle.loads(packed))
