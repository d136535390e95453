"""Models that Stable-Baselines3 or sb3-contrib saved, as players.

    model = SavedModel("model.zip")
    print(model)                       # model.zip: MaskablePPO, trained for 2,048 steps
    print(evaluate(model.policy()))

Reading such a file, or the statistics of a `VecNormalize`, executes the code in it.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
import re
import warnings
from contextlib import suppress
from dataclasses import fields, replace
from math import prod
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import sb3_contrib
import stable_baselines3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.vec_env import VecNormalize

from tictactoe_env.policy import Policy, as_policy
from tictactoe_env.predict_policy import PredictPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.sb3.maskable_dqn import MaskableDQN

NONE = "none"
_PLAYER = {"policy_class", "policy_kwargs", "observation_space", "action_space"}
# Only a training needs these, and they may be code of packages that are not installed here.
_SCHEDULES = {
    "learning_rate": 0.0,
    "lr_schedule": None,
    "exploration_schedule": None,
    "clip_range": 0.0,
    "clip_range_vf": None,
}


class SavedModel:
    """A model that an algorithm of Stable-Baselines3 or sb3-contrib, or a MaskableDQN, saved.

    path: the file. symmetric: whether it learned with symmetric=True, see `evaluate`; needed only
    where its observation space doesn't tell, as behind `FlattenObservation`. normalize: the file of
    the statistics of its `VecNormalize`, or "none"; by default they are found beside the model, as
    Stable-Baselines3, RL Zoo and `ExactEvaluation` save them. The algorithm that saved it is known
    by the policy and the arguments in the file.

    board: the board that `ExactEvaluation` or RL Zoo wrote beside the model, else None. by_column:
    True if the model chooses columns, so that pieces fall. statistics: the file by which its
    observations are normalized, or None.
    Raises ValueError for a file that cannot be read as it was saved, and for a model that learned
    from normalized observations if there are no statistics.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        symmetric: bool | None = None,
        normalize: str | os.PathLike[str] | None = None,
    ):
        self.path = Path(path)
        if not self.path.suffix and not self.path.exists():  # as Stable-Baselines3 does
            self.path = self.path.with_suffix(".zip")
        self.symmetric = symmetric
        self.model, last_observations = _read(self.path)
        self.board = _board_beside(self.path)
        # There are at most twice as many numbers in an observation as cells.
        size = prod(self.model.observation_space.shape or ())
        self.by_column = getattr(self.model.action_space, "n", size) < size // 2
        self.statistics: Path | None = None
        self.normalizer: VecNormalize | None = None
        if normalize != NONE:
            self._normalize(normalize, last_observations)

    def __str__(self) -> str:
        """The file, the algorithm and its steps, and the statistics by which it normalizes."""
        text = f"{self.path}: {type(self.model).__name__}"
        text += f", trained for {self.model.num_timesteps:,} steps"
        if self.statistics is not None:
            text += f", observations normalized by {self.statistics}"
        return text

    def fits(self, rules: Rules) -> bool:
        """True if its spaces are those of a board of so many rows and columns."""
        cells = rules.cells
        observations = (
            (cells,),
            (2 * cells,),
            (rules.rows, rules.cols),
            (2, rules.rows, rules.cols),
        )
        actions = rules.cols if self.by_column else cells
        is_alike = self.model.observation_space.shape in observations
        return is_alike and getattr(self.model.action_space, "n", None) == actions

    def policy(self, rules: Rules | None = None) -> Policy:
        """The player on a board, by default on its own one, or 3x3.

        Raises ValueError for a board that isn't its own, or doesn't fit the spaces of the model.
        """
        rules = rules or self.board or Rules()
        if self.by_column:
            rules = replace(rules, gravity=True)
        if self.board not in (None, rules):
            raise ValueError(f"{self.path} plays on {self.board}, not on {rules}")
        try:
            policy = PredictPolicy(self.model, rules, normalizer=self.normalizer)
            return as_policy(policy, rules, symmetric=self.symmetric)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None

    def _normalize(self, given: str | os.PathLike[str] | None, last: Any) -> None:
        """Normalize observations by the statistics that are given, or beside the model, if any.

        last: the last observations of the training, which show whether they were normalized; a
        model that was saved before its first step has none.
        """
        file = _statistics_beside(self.path) if given is None else Path(given)
        found = None if file is None else _statistics_in(file, self.model)
        if isinstance(last, np.ndarray):
            changed = last[~np.isin(last, (-1, 0, 1))]
            if found is None and changed.size:
                raise ValueError(
                    f"{self.path} learned from observations such as {changed[0]:.3g}, which "
                    "VecNormalize or another wrapper has changed: give the statistics of "
                    f"VecNormalize (--normalize FILE), or {NONE} to leave them out"
                )
            if given is not None and not changed.size:
                raise ValueError(
                    f"{self.path} learned from observations that were not normalized: leave {file} "
                    "out"
                )
            if not changed.size:
                found = None  # those beside it are of another model
        self.normalizer = found
        self.statistics = None if found is None else file


def _read(path: Path) -> tuple[BaseAlgorithm, Any]:
    """The model in a file, and its last observations, if the file has them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what cannot be read: it is missing then
            found, _, _ = load_from_zip_file(path, custom_objects=_SCHEDULES, device="cpu")
            data = found or {}
            if missing := _PLAYER - data.keys():
                raise ValueError(f"its {', '.join(sorted(missing))} cannot be read")
            kind = _algorithm_of(data)
            # buffer_size: a replay buffer is empty, but its memory would be taken.
            model = kind.load(path, device="cpu", custom_objects=_SCHEDULES, buffer_size=1)
    except Exception as error:  # the file may hold anything
        reason = error if isinstance(error, ValueError) else repr(error)
        text = " ".join(str(reason).split())
        raise ValueError(f"{path} cannot be read as a saved model: {text}") from error
    return model, data.get("_last_obs")


def _algorithm_of(data: Any) -> Any:
    """The algorithm that saved a model: the one that has the nearest policy to that of the model.

    Of several, such as PPO and A2C, it is the one of whose arguments the fewest are not in the
    file. Raises ValueError if there is none.
    """
    named = [
        getattr(package, name)
        for package in (stable_baselines3, sb3_contrib)
        for name in package.__all__
    ]
    algorithms = [MaskableDQN, *(one for one in named if hasattr(one, "policy_aliases"))]

    def missing(kind: Any) -> int:
        return len(inspect.signature(kind.__init__).parameters.keys() - data.keys())

    for policy in data["policy_class"].__mro__:
        found = [kind for kind in algorithms if policy in kind.policy_aliases.values()]
        if found:
            return min(found, key=missing)
    raise ValueError(
        f"no algorithm of Stable-Baselines3 has its policy, {data['policy_class'].__name__}: load "
        "it by its own class in Python, and take evaluate(model)"
    )


# --- the files beside a model ---------------------------------------------------------------------


def _zoo_folders(path: Path) -> list[Path]:
    """The folder in which RL Zoo keeps the settings of the training beside a model, if any."""
    return [settings.parent for settings in path.parent.glob("*/args.yml")]


def _board_beside(path: Path) -> Rules | None:
    """The board in the JSON file of `ExactEvaluation`, or in the settings of RL Zoo; else None."""
    file = path.with_suffix(".json")
    if file.exists():
        with suppress(ValueError, TypeError, KeyError):  # a file of somebody else
            return Rules(**json.loads(file.read_bytes())["board"])
    for folder in _zoo_folders(path):
        settings = "".join(file.read_text("utf-8") for file in sorted(folder.glob("*.yml")))
        env = re.search(r"^ *- - env\n +- (\S+)$", settings, re.M)
        if env and env[1] in gym.registry:
            names = "|".join(one.name for one in fields(Rules))
            given = re.findall(rf"^[ -]*({names}): (\w+)$", settings, re.M)
            changed = {name: json.loads(value) for name, value in given}
            return Rules.among({**gym.spec(env[1]).kwargs, **changed})
    return None


def _statistics_beside(path: Path) -> Path | None:
    """The file with the statistics of a model's VecNormalize, as they are saved beside models.

    A file whose name has all words of a model's name, as best_model_vecnormalize.pkl, is of this
    model; one such as vecnormalize.pkl is of all models of the folder. RL Zoo has it in a folder
    with its settings. Raises ValueError if there are several.
    """
    models = {file.name: _words(file) for file in sorted(path.parent.glob("*.zip"))}
    models[path.name] = _words(path)
    by_owner: dict[str, list[Path]] = {}
    for folder in (path.parent, *_zoo_folders(path)):
        for file in sorted(folder.glob("*.pkl")):
            if _names_statistics(file):
                named = [name for name, words in models.items() if words <= _words(file)]
                owner = max(named, key=lambda name: len(models[name]), default="")
                by_owner.setdefault(owner, []).append(file)
    found = by_owner.get(path.name) or by_owner.get("", [])
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise ValueError(f"{path}: give one of {names} (--normalize FILE), or {NONE}")
    return next(iter(found), None)


def _words(file: Path) -> set[str]:
    return {*re.split(r"[\W_]+", file.stem.lower())}


def _names_statistics(file: Path) -> bool:
    """True if a pickle names the class in its first bytes; nothing is executed."""
    with file.open("rb") as opened:
        return b"VecNormalize" in opened.read(200)


def _statistics_in(file: Path, model: BaseAlgorithm) -> VecNormalize | None:
    """The statistics in a file; None for a VecNormalize that leaves observations as they are.

    Raises ValueError if the file has none, or those of other observations than the model's.
    """
    try:
        found = pickle.loads(file.read_bytes())
    except Exception as error:
        raise ValueError(f"{file} has no statistics of VecNormalize: {error!r}") from error
    shape = model.observation_space.shape
    if not isinstance(found, VecNormalize) or found.observation_space.shape != shape:
        raise ValueError(f"{file} has no statistics of VecNormalize for observations {shape}")
    return found if found.norm_obs else None
