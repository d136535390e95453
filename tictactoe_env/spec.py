"""Specifications of environments, whose JSON names players where it can."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from enum import Enum
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from tictactoe_env.errors import printable
from tictactoe_env.opponents import text_of

# Arguments with which the best achievable reward stays the same.
_SAME_THRESHOLD = {
    "observation",
    "symmetric",
    "render_mode",
    "illegal",
    "autoreset_mode",
    "num_envs",
    "vectorization_mode",
}


class ObjectSpec(EnvSpec):
    """The spec of an environment with arguments that are objects, which JSON can only describe."""

    def to_json(self) -> str:
        """The spec with a description of each object in its place.

        A warning says that Gymnasium cannot make the environment again from this text.
        """
        objects: list[str] = []

        def described(value: object) -> str:
            objects.append(printable(f"the object {value!r:.200}"))
            return objects[-1]

        kwargs = json.loads(json.dumps(self.kwargs, default=described))
        gym.logger.warn(
            "the environment cannot be made again from the JSON of its spec, which only describes "
            f"{' and '.join(objects)}; give an opponent by name: see register_opponent"
        )
        return EnvSpec.to_json(replace(self, kwargs=kwargs))


def plain_spec(spec: EnvSpec) -> EnvSpec:
    """A copy of the spec with JSON values for enums, paths, numbers of NumPy, and named players.

    If it still has arguments that are other objects, it is an `ObjectSpec`. The `reward_threshold`
    of an id is left out if the arguments change what is achievable.
    """
    kwargs = _plain(spec.kwargs)
    try:
        json.dumps(kwargs)
        kind = EnvSpec
    except TypeError:
        kind = ObjectSpec
    given = {field.name: getattr(spec, field.name) for field in fields(spec) if field.init}
    found = kind(**{**given, "kwargs": kwargs})
    registered = gym.registry.get(spec.id)
    if registered is not None and _decisive(found) != _decisive(registered):
        found.reward_threshold = None
    return found


def _decisive(spec: EnvSpec) -> dict[str, Any]:
    """The arguments on which the best achievable reward depends."""
    return {name: value for name, value in spec.kwargs.items() if name not in _SAME_THRESHOLD}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return text_of(value) or value
