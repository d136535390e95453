"""The environment of a model of Stable-Baselines3: its board, and the wrappers around it.

A model is judged as it plays in its environment, which it has until it is loaded without one. A
wrapper that is not known here may turn boards or moves on their way, so that the model alone is
another player: it is refused by name. Known are the wrappers of `_KNOWN`, and classes derived from
them or from the bases of wrappers which pass observations, actions and masks by inherited methods.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tictactoe_env.rules import Rules

# These leave observations, actions and masks as they are; or they change shape or dtype, which the
# model's own space tells; or they normalize, which the model's VecNormalize repeats.
_KNOWN = {
    "gymnasium": (
        "Env Wrapper RewardWrapper OrderEnforcing PassiveEnvChecker TimeLimit Autoreset "
        "RecordEpisodeStatistics RecordVideo RenderCollection HumanRendering AddWhiteNoise "
        "ObstructView TransformReward ClipReward NormalizeReward "
        "FlattenObservation ReshapeObservation DtypeObservation"
    ),
    "stable_baselines3": (
        "VecEnv DummyVecEnv SubprocVecEnv VecEnvWrapper Monitor VecMonitor VecNormalize "
        "VecCheckNan VecVideoRecorder"
    ),
    "sb3_contrib": "ActionMasker",
    "tictactoe_env": "TicTacToeEnv TicTacToeVectorEnv TicTacToeVecEnv",
}
# The methods of environments of Gymnasium and of Stable-Baselines3 that pass them on.
_PASSING = {"reset", "step", "observation", "action", "action_masks"}
_PASSING |= {"step_async", "step_wait", "env_method", "normalize_obs", "_normalize_obs"}
_PASSING |= {"_save_obs", "_obs_from_buf"}


def env_of(model: Any) -> Any:
    """The `VecEnv` of a model if its games are of this package, else None.

    Raises ValueError for one whose processes have ended.
    """
    find = getattr(model, "get_env", None)
    if isinstance(model, type) or not callable(find):
        return None
    env: Any = find()
    if not hasattr(env, "has_attr"):
        return None
    try:
        return env if env.has_attr("_changed_by") else None
    except (OSError, EOFError) as error:
        raise ValueError(
            "the environment of the model is closed, so how it plays there is not known: evaluate "
            "the model before, set another environment, or give model.policy"
        ) from error


def stated_rules(player: Any) -> set[Rules]:
    """The board of a player with `rules`, or those of the environment of a model; often none."""
    own = getattr(player, "rules", None)
    if isinstance(own, Rules):
        return {own}
    env = env_of(player)
    return set() if env is None else _boards(env)


def _boards(env: Any) -> set[Rules]:
    first, *others = env.get_attr("rules")
    return {first, *(one for one in others if one is not first)}  # hashing hundreds takes time


def plays_on_images(env: Any) -> bool:
    """True if an environment shows images of boards. ValueError if only some of its games do."""
    shown = set(env.get_attr("symmetric"))
    if len(shown) > 1:
        raise ValueError("symmetric must be alike in all games of a model's environment")
    return shown.pop()


def check_env(env: Any, rules: Rules) -> None:
    """Raise ValueError unless a model of this environment plays alike on `rules` alone."""
    boards = _boards(env)
    if rules not in boards:
        learned = " and ".join(sorted(map(str, boards)))
        raise ValueError(f"this player plays on {learned}, not on {rules}")
    name = _foreign(env)
    if name:
        raise ValueError(
            f"{name} may change observations, actions or masks, so the model alone is another "
            "player: give a FunctionPolicy that does the same, to callbacks by policy=, or "
            "model.policy if it changes none of them"
        )


def _foreign(env: Any) -> str:
    """The first layer that is not known, from the outside, in words; "" if all are."""
    normalizes = False
    layer = env
    while layer is not None:
        if changed_by(layer):
            return changed_by(layer)
        if hasattr(type(layer), "normalize_obs"):
            if normalizes:
                return f"a second {type(layer).__name__}"
            normalizes = True
        layer = getattr(layer, "venv", None)
    # Gymnasium writes a stack as <Outer<Inner<Env>>>: each name is asked for where the game is.
    for game, is_changed in enumerate(env.env_is_wrapped(_Changed())):
        if is_changed:
            names = re.findall(r"\w+", env.env_method("__str__", indices=[game])[0])
            found = (name for name in names if env.env_is_wrapped(_Changed(name), [game])[0])
            return next(found, "a wrapper")
    return next(filter(None, env.get_attr("_changed_by")), "")


@dataclass(frozen=True)
class _Changed:
    """Stands for a class in `isinstance`: layers that are not known, of this name if one is given.

    `VecEnv.env_is_wrapped` takes it to where the games are, which may be another process.
    """

    name: str = ""

    def __instancecheck__(self, wrapper: Any) -> bool:
        found = changed_by(wrapper)
        return bool(found) and self.name in ("", found)


def changed_by(layer: Any) -> str:
    """The name of a layer's class if that may change what passes through it, else ""."""
    kind: type = type(layer)
    is_patched = not _PASSING.isdisjoint(vars(layer))
    return kind.__name__ if is_patched or not _is_known(kind) else ""


@lru_cache(maxsize=256)
def _is_known(kind: type) -> bool:
    """True if a class is known, or if known ones define all methods by which it passes on."""
    if _is_listed(kind):
        return True
    owners = (
        next((base for base in kind.__mro__ if name in vars(base)), None) for name in _PASSING
    )
    return all(owner is None or _is_listed(owner) for owner in owners)


def _is_listed(kind: type) -> bool:
    package = kind.__module__.partition(".")[0]
    return kind.__name__ in _KNOWN.get(package, "").split()
