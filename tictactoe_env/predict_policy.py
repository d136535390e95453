"""Models of Stable-Baselines3 as policies. Neither it nor torch is imported here."""

from __future__ import annotations

import copy
import inspect
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env import model_env
from tictactoe_env.actions import legal_actions, on_cells
from tictactoe_env.observation import OBSERVATIONS, ImageBox, observation_space, observe
from tictactoe_env.rules import Boards, Rules
from tictactoe_env.symmetry import images

_MASKED_GAMES = 16  # of a model's environment whose masks are compared with the legal moves
_ALGORITHMS = ("stable_baselines3", "sb3_contrib", "tictactoe_env")  # whose models have a policy


class PredictPolicy:
    """The policy of a model with the `predict(observation)` of Stable-Baselines3.

    The shape of `model.observation_space` decides between the observations "flat", "planes" and
    "grid"; without one it is "flat". A model that was trained behind `FlattenObservation` is one of
    "flat", or of a flat grid (cells,). Masks are passed if `predict` takes `action_masks`. With
    gravity, a model with the action space `Discrete(cols)` moves by column.

    deterministic: whether the action of `predict(deterministic=True)` has probability 1. Otherwise
    the probabilities are those of the model's action distribution, which the policies of PPO, A2C
    and MaskablePPO have; a model without one, such as a DQN, plays its predicted action either way.
    _learned_on_images: True if the model learned with symmetric=True, as its observation space or
    its environment says. It must be asked about images: `as_policy` turns boards, and moves back.
    normalizer: the `VecNormalize` by which the observations go to the model; by default that of its
    environment, or none. A model that was trained behind one and is loaded without its environment
    plays otherwise than it did.
    While the model has an environment of this package, board and symmetry are those of it. Raises
    ValueError for a model of another board, for one that plays behind a wrapper that `model_env`
    does not know, and for one whose `predict` returns a state, as that of RecurrentPPO does: its
    moves depend on the moves before, so they are no policy.
    """

    def __init__(
        self, model: Any, rules: Rules, deterministic: bool = True, normalizer: Any = None
    ):
        self.model = model
        self.rules = rules
        self.deterministic = deterministic
        find = getattr(model, "get_vec_normalize_env", None)
        self.normalizer: Any = normalizer or (find() if callable(find) else None)
        space = getattr(model, "observation_space", None)
        self._learned_on_images = isinstance(space, ImageBox)
        env = model_env.env_of(model)
        if env is not None:
            model_env.check_env(env, rules)
            self._learned_on_images |= model_env.plays_on_images(env)
        shapes = {name: observation_space(rules, name).shape for name in OBSERVATIONS}
        self._shape = getattr(space, "shape", shapes["flat"])
        self._dtype = getattr(space, "dtype", np.float32)
        known = {shape: name for name, shape in shapes.items()} | {(rules.cells,): "grid"}
        actions = getattr(getattr(model, "action_space", None), "n", rules.cells)
        example = f"such as {_likely_board(self._shape, actions)}"
        if self._shape not in known:
            raise ValueError(
                f"the model's observations are {self._shape or space}, but {rules} gives "
                f"{shapes}: name its board, {example}, or say how it plays by a FunctionPolicy"
            )
        self.observation = known[self._shape]
        self.actions = "columns" if rules.gravity and actions == rules.cols else "cells"
        if self.actions == "cells" and actions != rules.cells:
            raise ValueError(
                f"the model has {actions} actions, but {rules} has {rules.cells}: name its board, "
                f"{example}"
            )
        self._predict(np.zeros((1, rules.cells), dtype=np.int8))  # raises if it returns a state
        has_begun = getattr(model, "_last_obs", None) is not None
        if env is not None and has_begun and _takes_masks(model.predict):
            self._check_masks(env)

    def __deepcopy__(self, memo: Any) -> PredictPolicy:
        """A copy that shares nothing with the model.

        Of a Stable-Baselines3 algorithm only its policy is copied, without environment and buffers.
        """
        network = _network(self.model)
        # An actor-critic policy keeps the tensors of its last action distribution, which cannot be
        # copied after a training step. A prediction replaces them by tensors without a gradient.
        self._predict(np.zeros((1, self.rules.cells), dtype=np.int8))
        normalizer = self.normalizer and _FrozenNormalizer(
            self.normalizer, np.zeros((1, *self._shape), self._dtype)
        )
        copied = copy.copy(self)
        given = {**vars(self), "model": network, "normalizer": normalizer}
        vars(copied).update(copy.deepcopy(given, memo))
        return copied

    def probs(self, boards: Boards) -> NDArray[np.float64]:
        """Probabilities (B, cells). ValueError if the model predicts no cell."""
        boards = np.asarray(boards, dtype=np.int8)
        network = _network(self.model)
        if not self.deterministic and callable(getattr(network, "get_distribution", None)):
            return self._distribution(network, boards)
        actions = self._predict(boards)
        if actions.size != len(boards):
            got = f"the shape {actions.shape} for {len(boards)} observations"
            raise ValueError(f"predict must return one action for each observation, got {got}")
        return on_cells(actions.ravel(), boards, self.rules, self.actions)

    def observations(self, boards: Boards) -> NDArray[Any]:
        """The observations that the model gets of these boards (B, cells), normalized: (B, ...)."""
        seen = observe(boards, self.rules, self.observation)
        seen = seen.reshape(len(boards), *self._shape).astype(self._dtype)
        return seen if self.normalizer is None else self.normalizer.normalize_obs(seen)

    def _check_masks(self, env: Any) -> None:
        """Raise ValueError unless the masks that some games give now are the legal moves."""
        some = range(min(_MASKED_GAMES, env.num_envs))
        if any(env.get_attr("closed", some)):
            return
        boards = np.stack(env.get_attr("board", some))
        if self._learned_on_images:
            boards, _ = images(boards, self.rules)
        legal = legal_actions(boards, self.rules, self.actions)
        wrong = (np.stack(env.env_method("action_masks", indices=some)) != legal).any(axis=1)
        if wrong.any():
            raise ValueError(
                f"a wrapper gives other masks than the legal moves on {boards[wrong][0].tolist()}: "
                "leave it out, or give a FunctionPolicy that plays by these masks"
            )

    def _predict(self, boards: Boards) -> NDArray[Any]:
        """The predicted actions. Raises ValueError if there is a state beside them."""
        masks = self._masks(self.model.predict, boards)
        actions, state = self.model.predict(self.observations(boards), deterministic=True, **masks)
        if state is not None:
            raise ValueError(
                f"{type(self.model).__name__}.predict returns a state, so it is no function of the "
                "board: use a model without memory, such as MaskablePPO"
            )
        return np.asarray(actions)

    def _masks(self, function: Any, boards: Boards) -> dict[str, NDArray[np.bool_]]:
        """The legal actions as an argument of a function, if it takes masks."""
        legal = legal_actions(boards, self.rules, self.actions)
        return {"action_masks": legal} if _takes_masks(function) else {}

    def _distribution(self, network: Any, boards: Boards) -> NDArray[np.float64]:
        """The probabilities that a network of Stable-Baselines3 gives its actions: (B, cells)."""
        network.set_training_mode(False)  # as `predict` does
        masks = self._masks(network.get_distribution, boards)
        tensor, _ = network.obs_to_tensor(self.observations(boards))
        found = network.get_distribution(tensor, **masks).distribution.probs
        return on_cells(found.detach().cpu().numpy(), boards, self.rules, self.actions)


class _FrozenNormalizer:
    """The values to which a normalizer now maps -1, 0 and 1 in each entry of an observation.

    The normalizer treats each entry on its own, as `VecNormalize` does, of which a copy cannot be
    copied again. zeros: observations (1, ...) of zeros.
    """

    def __init__(self, normalizer: Any, zeros: NDArray[Any]):
        self._below, self._zero, self._above = (
            normalizer.normalize_obs(zeros + zeros.dtype.type(value)) for value in (-1, 0, 1)
        )

    def normalize_obs(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The normalized observations (B, ...)."""
        above = np.where(observations > 0, self._above, self._zero)
        return np.where(observations < 0, self._below, above)


def _likely_board(shape: tuple[int, ...] | None, actions: int) -> str:
    """How to name the board of a model of these observations and actions, as an error shows it."""
    rows = cols = 4  # an example, where nothing tells
    if shape and len(shape) > 1:
        rows, cols = shape[-2:]
    elif shape and actions in (shape[0], shape[0] // 2):  # cells
        rows = max(one for one in range(1, isqrt(actions) + 1) if actions % one == 0)
        cols = actions // rows
    elif shape and actions <= shape[0] // 2:
        rows, cols = shape[0] // 2 // actions, actions
    k = min(rows, cols, 4)
    law, option = (", gravity=True", " --gravity") if actions == cols else ("", "")
    return f"evaluate(model, Rules({rows}, {cols}, {k}{law})) or --board {rows}x{cols}x{k}{option}"


def _network(model: Any) -> Any:
    """The policy by which an algorithm of Stable-Baselines3 predicts; other models themselves."""
    owner = next((one for one in type(model).__mro__ if "predict" in vars(one)), object)
    is_own = owner.__module__.partition(".")[0] not in _ALGORITHMS
    if is_own or "predict" in getattr(model, "__dict__", {}):
        return model
    policy = getattr(model, "policy", None)
    return policy if callable(getattr(policy, "predict", None)) else model


def _takes_masks(function: Any) -> bool:
    return "action_masks" in inspect.signature(function).parameters
