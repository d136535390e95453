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

    It takes the arguments of `ReplayBuffer`. Call `add_masks` before each `add`. The masks are
    kept behind the actions, as further entries of these, so that they are sampled with them.
    """

    def __init__(self, *arguments: Any, **keywords: Any):
        super().__init__(*arguments, **keywords)
        count = int(self.action_space.n)  # type: ignore[attr-defined]
        self.action_dim += count
        shape = (self.buffer_size, self.n_envs, self.action_dim)
        self.actions = np.zeros(shape, dtype=np.min_scalar_type(count))

    @property
    def next_action_masks(self) -> NDArray[np.bool_]:
        """The masks: (steps, environments, actions)."""
        return self.actions[..., 1:].astype(np.bool_)

    def add_masks(self, next_action_masks: NDArray[np.bool_]) -> None:
        """Take the masks (environments, actions) of the transitions that `add` stores next."""
        self._masks = next_action_masks

    def add(self, obs: Any, next_obs: Any, action: Any, *others: Any) -> None:
        """Store a transition of each environment, with the masks."""
        super().add(obs, next_obs, np.column_stack([action, self._masks]), *others)

    def _get_samples(  # type: ignore[override]
        self, batch_inds: Any, env: Any = None
    ) -> MaskableReplayBufferSamples:
        found: Any = super()._get_samples(batch_inds, env)
        actions = found.actions[:, :1]
        masks = found.actions[:, 1:].bool()
        return MaskableReplayBufferSamples(
            found.observations, actions, found.next_observations, found.dones, found.rewards, masks
        )


class MaskableDictReplayBuffer(MaskableReplayBuffer, DictReplayBuffer):  # type: ignore[misc]
    """`MaskableReplayBuffer` for dictionary observations."""
