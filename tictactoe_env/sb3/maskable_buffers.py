"""Replay buffers that store which actions were legal after each transition."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.common.vec_env import VecNormalize

Tensors = torch.Tensor | dict[str, torch.Tensor]


class MaskableReplayBufferSamples(NamedTuple):
    """A batch of transitions, with the legal actions (B, actions) bool at the next observations."""

    observations: Tensors
    actions: torch.Tensor
    next_observations: Tensors
    dones: torch.Tensor
    rewards: torch.Tensor
    next_action_masks: torch.Tensor


class MaskableReplayBuffer(ReplayBuffer):
    """A `ReplayBuffer` that also stores the action masks of the next observations.

    The arguments are those of `ReplayBuffer`. next_action_masks: (steps, environments, actions)
    bool. Call `add_masks` before each `add`.
    """

    def __init__(self, *arguments: Any, **keywords: Any):
        super().__init__(*arguments, **keywords)
        shape = (self.buffer_size, self.n_envs, self.action_space.n)  # type: ignore[attr-defined]
        self.next_action_masks: NDArray[np.bool_] = np.zeros(shape, dtype=np.bool_)

    def add_masks(self, next_action_masks: NDArray[np.bool_]) -> None:
        """Store the masks (environments, actions) of the transitions that `add` stores next."""
        self.next_action_masks[self.pos] = next_action_masks

    def _get_samples(  # type: ignore[override]
        self, batch_inds: NDArray[np.intp], env: VecNormalize | None = None
    ) -> MaskableReplayBufferSamples:
        # NumPy's global generator, as in `ReplayBuffer`.
        rows = batch_inds, np.random.randint(0, self.n_envs, size=len(batch_inds))  # noqa: NPY002
        not_timeouts = 1 - self.timeouts[rows]  # the episode goes on after these
        rewards = self._normalize_reward(self.rewards[rows][:, None], env)
        return MaskableReplayBufferSamples(
            self._tensors(self._normalize_obs(self._rows(self.observations, rows), env)),
            self.to_torch(self.actions[rows]),
            self._tensors(self._normalize_obs(self._next_rows(rows), env)),
            self.to_torch((self.dones[rows] * not_timeouts)[:, None]),
            self.to_torch(rewards),
            self.to_torch(self.next_action_masks[rows]),
        )

    def _next_rows(self, rows: tuple[Any, Any]) -> Any:
        if self.optimize_memory_usage:  # the next observation is that of the next transition
            return self._rows(self.observations, ((rows[0] + 1) % self.buffer_size, rows[1]))
        return self._rows(self.next_observations, rows)

    def _rows(self, kept: Any, rows: tuple[Any, Any]) -> Any:
        return kept[rows]

    def _tensors(self, observations: Any) -> Tensors:
        return self.to_torch(observations)


class MaskableDictReplayBuffer(MaskableReplayBuffer, DictReplayBuffer):  # type: ignore[misc]
    """`MaskableReplayBuffer` for dictionary observations."""

    def _rows(self, kept: Any, rows: tuple[Any, Any]) -> Any:
        return {key: array[rows] for key, array in kept.items()}

    def _tensors(self, observations: Any) -> Tensors:
        return {key: self.to_torch(array) for key, array in observations.items()}
