"""Specs that survive JSON: `env.spec.to_json()` for environments whose opponent is an object.

An opponent that is a policy or a model is written as a name where it has one, else as the table of
its moves (`table_json`), on boards of up to 12 cells. It plays on in a new environment as it was
frozen in this one. On larger boards other objects stay objects, which have no JSON form.
"""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from tictactoe_env.names import LEARNED, split_options
from tictactoe_env.policy import MinimaxPolicy, Policy, RandomPolicy, TabularPolicy
from tictactoe_env.pool import Pool
from tictactoe_env.search.alphabeta import SearchPolicy
from tictactoe_env.table_json import is_table, table_to_json

NAMED: dict[type, str] = {RandomPolicy: "random", MinimaxPolicy: "minimax", SearchPolicy: "search"}
# Arguments with which the best achievable reward stays the same.
SAME_THRESHOLD = {
    *("observation", "render_mode", "illegal", "autoreset_mode"),
    *("num_envs", "vectorization_mode"),
}


def json_spec(spec: EnvSpec | None, pool: Pool) -> EnvSpec | None:
    """A copy of the spec with JSON values for opponents, enums, paths and numbers of NumPy.

    pool: the opponents of the environment. The `reward_threshold` of an id is left out if the
    arguments change what is achievable.
    """
    if spec is None:
        return None
    found = copy.copy(spec)
    found.__post_init__()  # namespace, name and version as the id says them
    found.kwargs = _plain_parts(spec.kwargs)
    if isinstance(found.kwargs.get("rewards"), Mapping):
        found.kwargs["rewards"] = _plain_parts(found.kwargs["rewards"])
    if "opponent" in found.kwargs:
        found.kwargs["opponent"] = _opponent(found.kwargs["opponent"], pool)
    registered = gym.registry.get(spec.id)
    if registered is not None and _limits(found) != _limits(registered):
        found.reward_threshold = None
    return found


def _limits(spec: EnvSpec) -> dict[str, Any]:
    return {name: value for name, value in spec.kwargs.items() if name not in SAME_THRESHOLD}


def _plain_parts(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.generic):
        return value.item()
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _opponent(opponent: Any, pool: Pool) -> Any:
    frozen = iter(pool.fixed)
    if isinstance(opponent, Sequence) and not isinstance(opponent, str):
        return [[_member(_plain(one), frozen), _plain(weight)] for one, weight in opponent]
    return _member(opponent, frozen)


def _member(member: Any, frozen: Iterator[Policy]) -> Any:
    """The JSON value of one opponent; `frozen` gives the policies of the pool in the same order."""
    if isinstance(member, str) and split_options(member)[0] in LEARNED:
        return member  # what is made from the learner is not part of the spec
    policy = next(frozen, None)
    if isinstance(member, str) or is_table(member):
        return member
    if type(member) in NAMED:
        return _name(member)
    if not isinstance(policy, TabularPolicy):
        return member
    return copy.deepcopy(table_to_json(policy))


def _name(policy: Any) -> str:
    """The name that makes the same policy, such as "minimax-ties=first-slip=0.1"."""
    declared = inspect.signature(type(policy)).parameters.values()
    options = [
        f"-{option.name}={getattr(policy, option.name)}"
        for option in declared
        if option.default is not option.empty and getattr(policy, option.name) != option.default
    ]
    return NAMED[type(policy)] + "".join(options)
