"""DQN with invalid action masking, for any environment with an `action_masks()` method."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray
from sb3_contrib.common.maskable.utils import is_masking_supported
from stable_baselines3 import DQN
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import GymEnv
from torch.nn import functional

from tictactoe_env.sb3.maskable_buffers import MaskableDictReplayBuffer, MaskableReplayBuffer
from tictactoe_env.sb3.maskable_policies import (
    MaskableCnnPolicy,
    MaskableDQNPolicy,
    MaskableMultiInputPolicy,
    checked_masks,
    masked,
)


class MaskableDQN(DQN):
    """Deep Q-Network (DQN) with invalid action masking.

    The environment says which actions are legal by a method `action_masks()`, which returns
    (actions,) bool, as MaskablePPO of sb3-contrib expects. Illegal actions are left out

    - of exploration, also before `learning_starts`: a random action is a random legal action;
    - of the greedy choice;
    - of the target: the value of the next observation is the highest value of an action that is
      legal there. The replay buffer stores the masks of the next observations, so the masks need
      not follow from the observations.

    Everything else is as in `DQN`, except that each environment draws by itself whether it
    explores. (There it is drawn once for all environments.) `MaskableEvalCallback`,
    `evaluate_policy`, `get_action_masks` and `ActionMasker` of sb3-contrib work with this model.

    DQN: Mnih et al. 2015, https://www.nature.com/articles/nature14236.
    Double Q-learning: van Hasselt et al. 2016, https://arxiv.org/abs/1509.06461.
    Invalid action masking: Huang and Ontañón 2020, https://arxiv.org/abs/2006.14171, for policy
    gradients.

    Truncated episodes: the value of the last observation is estimated with the mask in
    `info["action_mask"]` of the last step, since a vector environment resets the game at once. If
    it is not there, `learn` raises ValueError: put it there in `step`, or treat truncation as
    termination with `replay_buffer_kwargs={"handle_timeout_termination": False}`. The mask of a
    terminated episode is not needed.

    Not supported: n-step returns and `HerReplayBuffer`.

    A subclass may override `explores`, which says where a random action is taken, `loss`, and
    `acting_network` of the policy. `rng`, the generator of the random actions, may be replaced.

    It takes the arguments of `DQN`, except for:

    :param policy: "MlpPolicy", "CnnPolicy", "MultiInputPolicy" (for dictionary observations), or a
        subclass of `MaskableDQNPolicy`
    :param learning_starts: Steps of random legal actions before learning starts
    :param replay_buffer_class: A subclass of `MaskableReplayBuffer`; by default it fits the
        observations
    :param optimize_memory_usage: Store each observation once. It needs
        `replay_buffer_kwargs={"handle_timeout_termination": False}`, and no dictionary
        observations.
    :param double_q: Double Q-learning: the network chooses the next action among the legal ones,
        and the target network gives its value. By default the target network does both, as in
        `DQN`.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": MaskableDQNPolicy,
        "CnnPolicy": MaskableCnnPolicy,
        "MultiInputPolicy": MaskableMultiInputPolicy,
    }
    policy: MaskableDQNPolicy
    action_space: spaces.Discrete

    def __init__(
        self,
        policy: str | type[MaskableDQNPolicy],
        env: GymEnv | str,
        *arguments: Any,
        double_q: bool = False,
        **keywords: Any,
    ):
        if keywords.get("n_steps", 1) != 1:
            raise ValueError(f"n_steps must be 1, got {keywords['n_steps']}")
        self.double_q = double_q
        self.rng = np.random.default_rng()  # draws the random actions; seeded with all others
        self._last_action_masks: NDArray[np.bool_] | None = None
        super().__init__(policy, env, *arguments, **keywords)

    def _setup_model(self) -> None:
        if self.replay_buffer_class is None:
            is_dict = isinstance(self.observation_space, spaces.Dict)
            self.replay_buffer_class = MaskableDictReplayBuffer if is_dict else MaskableReplayBuffer
        super()._setup_model()

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seed all random generators, also that of the random actions; nothing for None."""
        super().set_random_seed(seed)
        if seed is not None:
            self.rng = np.random.default_rng(seed)

    def _setup_learn(self, *arguments: Any, **keywords: Any) -> Any:
        if self.env is not None and not is_masking_supported(self.env):
            raise ValueError(
                "the environment has no action_masks(): wrap it with ActionMasker of sb3-contrib"
            )
        ready = super()._setup_learn(*arguments, **keywords)
        self._last_action_masks = self._current_masks()
        return ready

    def _current_masks(self) -> NDArray[np.bool_]:
        """The action masks of the environments as they are now: (environments, actions)."""
        assert self.env is not None  # _setup_learn
        masks = self.env.env_method("action_masks")
        return checked_masks(masks, self.n_envs, int(self.action_space.n))

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        masks = self._last_action_masks
        assert masks is not None  # _setup_learn
        assert self._last_obs is not None
        if self.num_timesteps < learning_starts:
            actions = self.random_actions(masks)
        else:
            actions, _ = self.predict(self._last_obs, deterministic=False, action_masks=masks)
        return actions, actions

    def random_actions(self, action_masks: NDArray[np.bool_]) -> NDArray[np.int64]:
        """A legal action for each row of masks (B, actions), each equally likely: (B,)."""
        return np.where(action_masks, self.rng.random(action_masks.shape), -1.0).argmax(axis=1)

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[Any] | None = None,
        deterministic: bool = False,
        action_masks: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], tuple[NDArray[Any], ...] | None]:
        """The legal action of the highest value if `deterministic`, else an epsilon-greedy one.

        observation: one observation, or a batch of B. action_masks: (actions,) or (B, actions),
        True or 1 for legal actions; without it all actions are legal. state and episode_start are
        not used: the model has no memory. But an evaluation that gives episode_start and no masks,
        as Stable-Baselines3's own do, is warned. Returns the actions, () or (B,), and `state`.
        Raises ValueError for masks of another shape, or for a mask without a legal action.
        """
        if action_masks is None and episode_start is not None:
            warnings.warn(
                "a MaskableDQN is evaluated without action masks, so illegal moves count: take "
                "evaluate_policy or MaskableEvalCallback of sb3_contrib.common.maskable, or "
                "tictactoe_env.evaluate, which is exact",
                stacklevel=2,
            )
        actions, state = self.policy.predict(
            observation, state, episode_start, deterministic=True, action_masks=action_masks
        )
        if not deterministic:
            shape = (np.size(actions), int(self.action_space.n))
            masks = np.ones(shape) if action_masks is None else np.reshape(action_masks, shape)
            explored = self.random_actions(masks.astype(np.bool_))
            explores = self.explores(observation, len(explored))
            actions = np.where(explores, explored, actions.ravel()).reshape(actions.shape)
        return actions, state

    def explores(self, observation: Any, count: int) -> NDArray[np.bool_]:
        """True where a random action is taken, for each of `count` observations: (count,).

        Each explores with the probability `exploration_rate`.
        """
        return self.rng.random(count) < self.exploration_rate

    def _store_transition(
        self, replay_buffer: Any, action: Any, new_obs: Any, reward: Any, dones: Any, infos: Any
    ) -> None:
        masks = self._current_masks()  # of the new episode where one has ended
        next_masks = masks.copy()
        if replay_buffer.handle_timeout_termination:
            for index in np.flatnonzero(dones):
                if infos[index].get("TimeLimit.truncated", False):
                    next_masks[index] = self._last_mask(infos[index])
        replay_buffer.add_masks(next_masks)
        super()._store_transition(replay_buffer, action, new_obs, reward, dones, infos)
        self._last_action_masks = masks

    def _last_mask(self, info: dict[str, Any]) -> NDArray[np.bool_]:
        """The mask at the last observation of a truncated episode."""
        if "action_mask" not in info:
            raise ValueError(
                'an episode was truncated without info["action_mask"]: let step put it there, or '
                'give replay_buffer_kwargs={"handle_timeout_termination": False}'
            )
        return checked_masks(info["action_mask"], 1, int(self.action_space.n))[0]

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Make updates on batches of the replay buffer."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        losses = []
        for _ in range(gradient_steps):
            replay_data: Any = self.replay_buffer.sample(  # type: ignore[union-attr]
                batch_size, env=self._vec_normalize_env
            )
            target = self._target(replay_data)
            values = self.q_net(replay_data.observations).gather(1, replay_data.actions.long())
            loss = self.loss(values, target)
            losses.append(loss.item())
            self.policy.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.q_net.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", float(np.mean(losses)))

    def loss(self, values: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Huber's loss of values (B, 1), as in `DQN`."""
        return functional.smooth_l1_loss(values, target)

    def _target(self, replay_data: Any) -> torch.Tensor:
        """Reward plus the discounted value of the best legal next action: (B, 1)."""
        with torch.no_grad():
            next_values = self.q_net_target(replay_data.next_observations)
            choice = self.q_net(replay_data.next_observations) if self.double_q else next_values
            best = masked(choice, replay_data.next_action_masks).argmax(dim=1, keepdim=True)
            next_value = next_values.gather(1, best)
            return replay_data.rewards + (1 - replay_data.dones) * self.gamma * next_value
