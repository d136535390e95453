"""Replay buffers that store which actions were legal after each transition."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer

_Tensors = torch.Tensor | dict[str, torch.Tensor]


class MaskableReplayBufferSamples(NamedTuple):
    """A batch of transitions, with the legal actions (B, actions) bool at the next observations."""

    observations: _Tensors
    actions: torch.Tensor
    next_observations: _Tensors
    dones: torch.Tensor
    rewards: torch.Tensor
    next_action_masks: torch.Tensor


class MaskableReplayBuffer(ReplayBuffer):
    """A `ReplayBuffer` that also stores the action masks of the next observations.

    It takes the arguments of `ReplayBuffer`. Call `add_masks` before each `add`. A subclass that
    draws transitions in another way overrides `sample`, and returns `transitions` of them.
    next_action_masks: the masks (steps, environments, actions) bool.
    """

    def __init__(self, *arguments: Any, **keywords: Any):
        super().__init__(*arguments, **keywords)
        count = int(self.action_space.n)  # type: ignore[attr-defined]
        self.next_action_masks = np.zeros((self.buffer_size, self.n_envs, count), dtype=np.bool_)

    def add_masks(self, next_action_masks: NDArray[np.bool_]) -> None:
        """Store the masks (environments, actions) of the transitions that `add` stores next."""
        self.next_action_masks[self.pos] = next_action_masks

    def transitions(
        self, indices: NDArray[np.intp], normalizer: Any = None
    ) -> MaskableReplayBufferSamples:
        """The transitions with these indices (B,): step * environments + environment.

        normalizer: the `VecNormalize` by which observations and rewards are normalized, if any.
        """
        if self.optimize_memory_usage:  # each observation is stored once
            following = (indices + self.n_envs) % (self.buffer_size * self.n_envs)
            next_observations = self._seen(self.observations, following, normalizer)
        else:
            next_observations = self._seen(self.next_observations, indices, normalizer)
        ends = _rows(self.dones, indices) * (1 - _rows(self.timeouts, indices))
        rewards = self._normalize_reward(_rows(self.rewards, indices), normalizer)
        return MaskableReplayBufferSamples(
            observations=self._seen(self.observations, indices, normalizer),
            actions=self.to_torch(_rows(self.actions, indices), copy=False),
            next_observations=next_observations,
            dones=self.to_torch(ends[:, None], copy=False),
            rewards=self.to_torch(rewards[:, None], copy=False),
            next_action_masks=self.to_torch(_rows(self.next_action_masks, indices), copy=False),
        )

    def _seen(self, stored: Any, indices: NDArray[np.intp], normalizer: Any) -> Any:
        """Stored observations as tensors (B, ...)."""
        normalized: Any = self._normalize_obs(_rows(stored, indices), normalizer)
        return self.to_torch(normalized, copy=False)

    def _get_samples(  # type: ignore[override]
        self, batch_inds: NDArray[np.intp], env: Any = None
    ) -> MaskableReplayBufferSamples:
        # By the global generator, as `ReplayBuffer` does.
        envs = np.random.randint(self.n_envs, size=len(batch_inds))  # noqa: NPY002
        return self.transitions(batch_inds * self.n_envs + envs, env)


class MaskableDictReplayBuffer(MaskableReplayBuffer, DictReplayBuffer):  # type: ignore[misc]
    """`MaskableReplayBuffer` for dictionary observations."""

    def _seen(self, stored: Any, indices: NDArray[np.intp], normalizer: Any) -> Any:
        found = {key: _rows(observations, indices) for key, observations in stored.items()}
        normalized: Any = self._normalize_obs(found, normalizer)
        return {
            key: self.to_torch(observations, copy=False) for key, observations in normalized.items()
        }


def _rows(stored: NDArray[Any], indices: NDArray[np.intp]) -> NDArray[Any]:
    """The rows (B, ...) of an array (steps, environments, ...)."""
    return stored.reshape(-1, *stored.shape[2:]).take(indices, axis=0)
