"""A replay buffer with its own random generator, which can be saved and restored."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.buffers import ReplayBuffer

from tictactoe_env.sb3 import MaskableReplayBufferSamples
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
    """A replay buffer of boards as planes, for `MaskableDQN`, that samples with its own generator.

    Stable-Baselines3's own buffer samples with NumPy's global generator. The masks are not stored:
    the legal moves are the free cells of the next board.
    """

    def __init__(self, *arguments: Any, seed: int = 0, **keywords: Any):
        super().__init__(*arguments, **{**keywords, "handle_timeout_termination": False})
        self.rng = np.random.default_rng(seed)

    def add_masks(self, next_action_masks: Any) -> None:
        """Nothing: the boards have the masks."""

    def sample(  # type: ignore[override]
        self, batch_size: int, env: Any = None
    ) -> MaskableReplayBufferSamples:
        """A batch of moves, sampled with replacement."""
        rows = self.size()
        step, game = np.divmod(self.rng.integers(rows * self.n_envs, size=batch_size), self.n_envs)
        following = self.next_observations[step, game]
        data = (
            self.observations[step, game],
            self.actions[step, game],
            following,
            self.dones[step, game, None],
            self.rewards[step, game, None],
            ~following.any(axis=1).reshape(batch_size, -1),
        )
        return MaskableReplayBufferSamples(*map(self.to_torch, data))

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
