"""DQN policies whose greedy action is a legal one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.dqn.policies import CnnPolicy, DQNPolicy, MultiInputPolicy, QNetwork


def checked_masks(action_masks: ArrayLike, count: int, actions: int) -> NDArray[np.bool_]:
    """Action masks as an array (count, actions) bool. One mask may be given as (actions,).

    Raises ValueError for any other shape, and if there is no legal action in a row.
    """
    masks = np.asarray(action_masks, dtype=np.bool_)
    if masks.shape != (count, actions) and (count, masks.shape) != (1, (actions,)):
        raise ValueError(f"action masks must have the shape {(count, actions)}, got {masks.shape}")
    masks = masks.reshape(count, actions)
    if not masks.any(axis=1).all():
        row = int(masks.any(axis=1).argmin())
        raise ValueError(f"action masks must allow an action, but row {row} allows none")
    return masks


def masked(values: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """The values (B, actions) with minus infinity for the illegal actions."""
    return values.masked_fill(~masks, -torch.inf)


class MaskableDQNPolicy(DQNPolicy):
    """A `DQNPolicy` whose `predict` takes `action_masks`. It takes the arguments of `DQNPolicy`.

    It is the policy "MlpPolicy" of `MaskableDQN`.
    """

    @property
    def acting_network(self) -> QNetwork:
        """The network whose values choose the actions. A subclass may return `q_net_target`."""
        return self.q_net

    def _predict(self, obs: Any, deterministic: bool = True) -> torch.Tensor:
        return self.acting_network._predict(obs, deterministic)  # noqa: SLF001

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[Any] | None = None,
        deterministic: bool = False,
        action_masks: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], tuple[NDArray[Any], ...] | None]:
        """The legal action of the highest value, for one observation or a batch, and `state`.

        action_masks: (actions,) or (B, actions), True or 1 for legal actions. Without it all
        actions are legal. state and episode_start are not used: the policy has no memory.
        deterministic: not used, since a DQN has no action distribution.
        Raises ValueError for masks of another shape, or for a mask without a legal action.
        """
        if action_masks is None:
            return super().predict(observation, state, episode_start, deterministic)
        self.set_training_mode(False)
        tensor, is_batch = self.obs_to_tensor(observation)
        with torch.no_grad():
            values = self.acting_network(tensor)
            masks = torch.as_tensor(checked_masks(action_masks, *values.shape), device=self.device)
            actions = masked(values, masks).argmax(dim=1).cpu().numpy()
        if not is_batch:
            actions = actions.squeeze(axis=0)
        return actions, state


class MaskableCnnPolicy(MaskableDQNPolicy, CnnPolicy):
    """The policy for images. It takes the arguments of the `CnnPolicy` of `DQN`."""


class MaskableMultiInputPolicy(MaskableDQNPolicy, MultiInputPolicy):
    """The policy for dictionary observations. It takes the arguments of `MultiInputPolicy`."""
