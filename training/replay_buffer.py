"""A replay buffer with its own random generator, which can be saved and restored."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.type_aliases import ReplayBufferSamples

from training.learner import State

# What is saved, and with which dtypes.
KEPT = {
    "observations": np.int8,
    "next_observations": np.int8,
    "actions": np.int8,
    "rewards": np.float32,
    "dones": np.int8,
}


class MoveBuffer(ReplayBuffer):
    """A replay buffer of boards as planes that samples with its own generator.

    Stable-Baselines3's own buffer samples with NumPy's global generator.
    """

    def __init__(self, *arguments: Any, seed: int = 0, **keywords: Any):
        super().__init__(*arguments, **{**keywords, "handle_timeout_termination": False})
        self.rng = np.random.default_rng(seed)

    def sample(self, batch_size: int, env: Any = None) -> ReplayBufferSamples:
        """A batch of moves, sampled with replacement."""
        rows = self.size()
        step, game = np.divmod(self.rng.integers(rows * self.n_envs, size=batch_size), self.n_envs)
        data = (
            self.observations[step, game],
            self.actions[step, game],
            self.next_observations[step, game],
            self.dones[step, game, None],
            self.rewards[step, game, None],
        )
        return ReplayBufferSamples(*map(self.to_torch, data))

    def state_dict(self) -> State:
        """The moves in the buffer, and the state of the generator."""
        moves = {
            name: getattr(self, name)[: self.size()].astype(kind) for name, kind in KEPT.items()
        }
        return {"moves": moves, "position": self.pos, "full": self.full, "rng": self.rng}

    def load_state_dict(self, state: State) -> None:
        """Continue from the `state_dict` of a buffer of the same size."""
        self.pos, self.full, self.rng = state["position"], state["full"], state["rng"]
        rows = self.size()
        for name in KEPT:
            getattr(self, name)[:rows] = state["moves"][name]
