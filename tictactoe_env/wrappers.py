"""Wrappers that put the action mask into the observation, under names of choice.

Several libraries read masks from a dictionary observation. The names that they look for:

| library | arguments |
| --- | --- |
| PettingZoo | `observation="observation", mask="action_mask"` (the defaults) |
| TorchRL | `dtype="bool"`, with the names of the defaults |
| Tianshou | `observation="obs", mask="mask", dtype="bool"` |
| RLlib | `observation="observations", mask="action_mask", dtype="float32"` |

The wrappers work with every environment that has a `Discrete` action space and gives its mask as
`info["action_mask"]`; a single one may also give it by a method `action_masks()`.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import DTypeLike, NDArray

from tictactoe_env.errors import one_of

__all__ = ["MaskInObservation", "VectorMaskInObservation"]


class _MaskGiver:
    """The keys of the observation and the mask, and the mask of the last observation."""

    _masks: NDArray[Any] | None = None

    def _space(self, seen: Any, actions: Any, keys: tuple[str, str], dtype: str) -> gym.spaces.Dict:
        """The space of the dictionaries. Raises ValueError unless the actions are Discrete."""
        if not all(keys) or keys[0] == keys[1]:
            raise ValueError(f"observation and mask must be two names, got {keys}")
        if not isinstance(actions, gym.spaces.Discrete):
            raise ValueError(f"a mask needs the action space Discrete(n), got {actions}")
        self._keys = keys
        self._mask_space = gym.spaces.Box(0, 1, (int(actions.n),), np.dtype(dtype).type)
        return gym.spaces.Dict(self._joined(seen, self._mask_space))

    def _joined(self, observation: Any, mask: Any) -> dict[str, Any]:
        """A dictionary of the two, in the alphabetical order of Gymnasium's `Dict` spaces."""
        return dict(sorted(zip(self._keys, (observation, mask), strict=True)))

    def action_masks(self) -> NDArray[np.bool_]:
        """The mask of the last observation: (n,) bool, or (num_envs, n) of many games.

        sb3-contrib calls this method.
        """
        if self._masks is None:
            raise ResetNeeded("there is no mask before reset: call reset() first")
        return self._masks.astype(bool)


class MaskInObservation(_MaskGiver, gym.Wrapper, RecordConstructorArgs):
    """An environment whose observations are dictionaries with the observation and the mask.

    ## Observation space
    `Dict`, for an environment with the actions `Discrete(n)`:

    | key | space | meaning |
    | --- | --- | --- |
    | `observation` | that of `env` | the observation of `env` |
    | `mask` | `Box(0, 1, (n,), dtype)` | 1 for legal actions; entry i stands for `start + i` |

    The mask is `info["action_mask"]`, or `action_masks()` of `env` if `info` has none. It is a
    fresh array. `info`, rewards and actions stay as they are.

    ## Arguments
    - `env`: an environment with a `Discrete` action space.
    - `observation`, `mask` (`"observation"`, `"action_mask"`): the two keys.
    - `dtype` (`"int8"`): `"int8"`, `"bool"` or `"float32"`, the dtype of the mask.

    `env.spec.to_json()` records the wrapper, and `gym.make` restores it.

    ## Errors
    `ValueError` for wrong arguments, for an action space other than `Discrete`, and if a reset or
    step gives no mask, or one of a wrong shape.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        observation: str = "observation",
        mask: str = "action_mask",
        dtype: DTypeLike = "int8",
    ):
        dtype = _dtype_name(dtype)
        RecordConstructorArgs.__init__(self, observation=observation, mask=mask, dtype=dtype)
        gym.Wrapper.__init__(self, env)
        keys = (observation, mask)
        self.observation_space = self._space(env.observation_space, env.action_space, keys, dtype)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset `env`: a dictionary of the observation and the mask, and the info of `env`."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._with_mask(observation, info), info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Step `env`; its observation comes in a dictionary with the mask."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._with_mask(observation, info), reward, terminated, truncated, info

    def _with_mask(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        mask = info.get("action_mask")
        if mask is None:
            if not self.env.has_wrapper_attr("action_masks"):
                raise ValueError(f'{self.env} gives no info["action_mask"] and no action_masks()')
            mask = self.env.get_wrapper_attr("action_masks")()
        self._masks = _converted(mask, self._mask_space)
        return self._joined(observation, self._masks.copy())


class VectorMaskInObservation(_MaskGiver, VectorWrapper):
    """`MaskInObservation` for a vector environment, in all three autoreset modes.

    Observations are dictionaries with `observation`, the observations of `env`, and `mask`,
    `(num_envs, n)`. The spaces are `Dict`, with the keys and arguments of `MaskInObservation`. The
    masks come from `infos["action_mask"]`.

    With `AutoresetMode.SAME_STEP`, `infos["final_obs"]` is an object array `(num_envs,)`: the last
    observation of each finished game with its mask, as a dictionary, and None for the other games.
    Gymnasium's own vector environments report dictionary observations in this form. The masks of
    finished games come from `infos["final_info"]`. TorchRL 0.14 cannot read dictionary observations
    in this form: use `AutoresetMode.DISABLED` there.

    ## Errors
    `ValueError` as in `MaskInObservation`, and for environments that give masks by `action_masks()`
    only. Wrap these one by one:
    `gym.make_vec(id, n, vectorization_mode="sync", wrappers=[MaskInObservation])`.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        observation: str = "observation",
        mask: str = "action_mask",
        dtype: DTypeLike = "int8",
    ):
        super().__init__(env)
        seen = env.single_observation_space
        keys = (observation, mask)
        self.single_observation_space = self._space(
            seen, env.single_action_space, keys, _dtype_name(dtype)
        )
        self._masks_space = batch_space(self._mask_space, env.num_envs)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset `env`; games outside `options["reset_mask"]` keep their masks."""
        started = (options or {}).get("reset_mask")
        started = np.ones(self.num_envs, bool) if started is None else np.array(started)
        observations, infos = self.env.reset(seed=seed, options=options)
        self._masks = self._read_masks(infos, started)
        return self._joined(observations, self._masks.copy()), infos

    def step(self, actions: Any) -> tuple[dict[str, Any], Any, Any, Any, dict[str, Any]]:
        """Step `env`; its observations come in a dictionary with the masks."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        self._masks = self._read_masks(infos, np.ones(self.num_envs, bool))
        if "final_obs" in infos:
            infos = {**infos, "final_obs": self._final_observations(infos)}
        observations = self._joined(observations, self._masks.copy())
        return observations, rewards, terminations, truncations, infos

    @property
    def autoreset_mode(self) -> AutoresetMode | None:
        """The `AutoresetMode` of `env`, None if it does not say. TorchRL reads this attribute."""
        return self.env.metadata.get("autoreset_mode")

    def _read_masks(self, infos: dict[str, Any], started: NDArray[np.bool_]) -> NDArray[Any]:
        """The masks of all games; a game outside `started` keeps the mask that it had."""
        given = infos.get("_action_mask", started & ("action_mask" in infos))
        if (started & ~given).any():
            games = np.flatnonzero(started & ~given).tolist()
            raise ValueError(f'the games {games} give no masks: expected infos["action_mask"]')
        masks = _converted(infos["action_mask"], self._masks_space)
        if self._masks is not None and not given.all():  # a reset of some games
            masks[~given] = self._masks[~given]
        return masks

    def _final_observations(self, infos: dict[str, Any]) -> NDArray[np.object_]:
        """The last observations of finished games as dictionaries, None for the others."""
        masks = _converted(infos["final_info"]["action_mask"], self._masks_space)
        finals = np.full(self.num_envs, None, dtype=object)
        for game in np.flatnonzero(infos["_final_obs"]).tolist():
            finals[game] = self._joined(infos["final_obs"][game], masks[game])
        return finals


def _dtype_name(dtype: DTypeLike) -> str:
    """The name of the mask's dtype; ValueError unless it is a known one."""
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    return one_of("dtype of a mask", name, ("int8", "bool", "float32"))


def _converted(mask: Any, space: gym.Space[Any]) -> NDArray[Any]:
    """The mask as a fresh array of this space; ValueError if its shape is another."""
    array = np.asarray(mask)
    if array.shape != space.shape:
        raise ValueError(f"the action mask must have the shape {space.shape}, got {array.shape}")
    return array.astype(bool).astype(space.dtype)
