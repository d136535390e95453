"""DQN: a network learns the value of every move from the moves in a replay buffer.

Deep Q-learning (Mnih et al. 2015, https://www.nature.com/articles/nature14236): the value of a move
is the expected reward at the end of the game, and the player makes the move of the highest value.
This is the `MaskableDQN` of tictactoe_env/sb3, which leaves occupied cells out of exploration, of
the greedy move and of the target, with double Q-learning (van Hasselt et al. 2016,
https://arxiv.org/abs/1509.06461): the network chooses the next move, and the target network gives
its value. The differences to it are:

- The mask is read from the board, so that a saved model plays by itself.
- The network sees each board in canonical form. Moves that are images of each other under a
  symmetry of the board share a value.
- Many games are played in parallel, and each step is followed by one update on a large batch. The
  loss is the squared error, because the value is a mean and not a median. There is no discount.
- The target network is a running average of the network. It is less noisy, so it plays.

docs/agents.md says what is learned from which opponents, and how the presets `duel-first`,
`duel-second` and `duel-centre` differ from go-sample-tictactoe, which they follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.utils import LinearSchedule, polyak_update
from stable_baselines3.dqn.policies import QNetwork
from torch.nn import functional

from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.rules import Rules
from tictactoe_env.sb3 import MaskableDQN, MaskableDQNPolicy
from training.board_network import Opening, encoder_options, planes_of
from training.canonical import CanonicalBoards
from training.learner import Arrays, State
from training.network_policy import LivePolicy, live_policy, parted
from training.options import Count, Layers, Natural, NotNegative, Positive, Share, option
from training.replay_buffer import MoveBuffer
from training.sb3_learner import SB3Learner, environment, policy_of, write_zip
from training.search_space import Range
from training.selfplay import OPPONENTS
from training.task import SNAPSHOTS, TaskConfig
from training.torch_arrays import ACTIVATIONS, load_weights, weights_of
from training.values import ValuedTable, reward_scale

AGENT = "dqn"
TITLE = "Deep Q-network"
STORY = (
    "A neural network estimates the result of every move, compares it with what happened, and "
    "corrects itself a little. It plays the move of which it expects most."
)
GOAL = "optimal"
SMALL = (
    "--num-envs 64 --judge-every 1024 --hidden 32 --snapshot-every 512 --batch-size 64 "
    "--learning-starts 256 --opponents minimax-slip=0.5:0.5,self:0.5"
)
LOWEST = torch.finfo(torch.float32).min  # of an illegal move; not -inf, as -inf * 0 is NaN


class Config(TaskConfig):
    """The options of a training, in environment steps; no schedule depends on `steps`."""

    opponents: str = option(
        "minimax-slip=0.8:0.75,self:0.25",
        OPPONENTS,
        larger="best-response:0.5,self:0.45,random:0.05",
    )
    snapshot_every: Count = option(16_384, SNAPSHOTS, larger=24_576)
    exploring_starts: Share = option(
        0.2, "Share of the games that start from a random board.", larger=0.1
    )
    loss_penalty: NotNegative = option(2.0, "Penalty of a loss; its reward is minus this number.")
    hidden: Layers = option((256, 256), "Units of the hidden layers.")
    learning_rate: Positive = option(2e-3, "Learning rate at the start.")
    epsilon_end: Share = option(0.2, "Lowest probability of a random legal move.")
    anneal_steps: Count = option(500_000, "Steps in which the learning rate falls linearly.")
    learning_starts: Natural = option(2_048, "Steps of random play before the first update.")
    batch_size: Count = option(1_024, "Number of moves in the batch of an update.")
    learning_rate_end: Positive = 1e-4
    epsilon: Share = 1.0  # at the start
    epsilon_fraction: Share = 0.2  # of `anneal_steps`, in which epsilon falls linearly
    epsilon_decay: Share = 0.0  # or the factor on it at each step after `learning_starts`
    output: Literal["none", "tanh"] = "none"
    optimizer: Literal["adam", "sgd"] = "adam"
    buffer_size: Count = 500_000
    average: Share = 0.02  # weight of the network in the running average, which plays
    target_every: Natural = 0  # or steps between two copies of the network, which plays itself


SEARCH = {
    "learning_rate": Range(2e-4, 1e-2, log=True),
    "batch_size": ("256", "512", "1024", "2048"),
    "epsilon_end": Range(0.05, 0.4),
}


# --- the network ---------------------------------------------------------------------------------


OUTPUTS = {"none": torch.nn.Identity, "tanh": torch.nn.Tanh}
OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}


class BoardQNetwork(QNetwork):
    """Values of the moves (B, cells) of observations (B, 2, rows, cols), LOWEST for illegal ones.

    Moves that the option `opening` forbids are illegal too. The network is evaluated once for each
    distinct canonical board of a batch. There are only 627 of them on 3x3.
    """

    def __init__(
        self, *arguments: Any, rules: Rules, symmetry: bool, opening: str, output: str, **more: Any
    ):
        super().__init__(*arguments, **more)
        self.canonical = CanonicalBoards(rules, symmetry)
        self.opening = Opening(opening, rules)
        self.q_net.append(OUTPUTS[output]())

    def forward(self, obs: Any) -> torch.Tensor:
        """Values for the side whose marks are plane 0."""
        planes = obs.float()
        boards, which, cells = self.canonical.distinct(planes)
        values = super().forward(boards)[which].gather(1, cells)
        return values.masked_fill(self.opening.forbidden(planes), LOWEST)

    def move_scores(self, planes: torch.Tensor) -> torch.Tensor:
        """The same values of planes (B, 2, rows, cols); equal boards are not looked for."""
        boards, cells = self.canonical.each(planes.float())
        values = super().forward(boards).gather(1, cells)
        return values.masked_fill(self.opening.forbidden(planes), LOWEST)


class BoardDQNPolicy(MaskableDQNPolicy):
    """The network and the target network, which plays if it is a running average (`averaged`).

    board: further arguments of `BoardQNetwork`.
    """

    def __init__(
        self, *arguments: Any, board: Mapping[str, Any], averaged: bool = True, **options: Any
    ):
        self.board, self.averaged = board, averaged
        super().__init__(*arguments, **options)

    @property
    def player(self) -> BoardQNetwork:
        """The network that plays."""
        return self.q_net_target if self.averaged else self.q_net  # type: ignore[return-value]

    @property
    def other(self) -> BoardQNetwork:
        """The network that does not play; it is needed to continue a training."""
        return self.q_net if self.averaged else self.q_net_target  # type: ignore[return-value]

    def make_q_net(self) -> BoardQNetwork:
        """A new network."""
        options = self._update_features_extractor(self.net_args, features_extractor=None)
        return BoardQNetwork(**options, **self.board).to(self.device)

    def action_values(self, observations: Any) -> torch.Tensor:
        """Values of the moves (B, cells) by the network that plays."""
        return self.player(observations)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        own = {"board": self.board, "averaged": self.averaged}
        return {**super()._get_constructor_parameters(), **own}


def policy_options(config: Config) -> dict[str, Any]:
    """The arguments of `BoardDQNPolicy`."""
    names = ("rules", "symmetry", "opening", "output")
    return {
        "board": {name: getattr(config, name) for name in names},
        "averaged": config.target_every == 0,
        "net_arch": list(config.hidden),
        "activation_fn": ACTIVATIONS[config.activation],
        **encoder_options(config.encoding, config.rules),
        "optimizer_class": OPTIMIZERS[config.optimizer],
        "optimizer_kwargs": {"fused": True},
    }


def player(config: Config, model: Arrays) -> ValuedTable | LivePolicy:
    """The player of a saved model, on the CPU whatever `config.device` is."""
    rules, worth = config.rules, reward_scale(config.results, config.discount)
    network = policy_of(BoardDQNPolicy, config, **policy_options(config)).player
    load_weights(network, parted(model, rules)[0])
    if rules.cells > TABULATED:
        return live_policy(config, model, network.move_scores, worth=worth)
    with torch.no_grad():
        values = network(planes_of(rules)).numpy()
    values = np.where(values == LOWEST, -np.inf, values).astype(np.float32)
    return config.opened(ValuedTable(rules, values, worth))


# --- the update ----------------------------------------------------------------------------------


class BoardDQN(MaskableDQN):
    """`MaskableDQN` with masks from the boards and schedules over `anneal_steps`.

    target_every: steps between two copies of the network to the target network; 0 for a running
    average.
    """

    policy: BoardDQNPolicy
    anneal_steps: int = 1
    epsilon_decay: float = 0.0
    target_every: int = 0

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        self._current_progress_remaining = max(0.0, 1.0 - num_timesteps / self.anneal_steps)

    def legal(self, observations: Any) -> NDArray[np.bool_]:
        """Which moves may be made: (B, cells), also for one observation."""
        planes: Any = self.policy.obs_to_tensor(observations)[0]
        return ~self.policy.player.opening.forbidden(planes).cpu().numpy()

    def _current_masks(self) -> NDArray[np.bool_]:
        return self.legal(self._last_obs)

    def predict(self, observation: Any, *arguments: Any, **keywords: Any) -> Any:
        """The moves of the highest value if `deterministic`, else epsilon-greedy legal moves."""
        if keywords.get("action_masks") is None:
            keywords["action_masks"] = self.legal(observation)
        return super().predict(observation, *arguments, **keywords)

    def _exploration_rates(self, observation: Any) -> Any:
        planes: Any = self.policy.obs_to_tensor(observation)[0]
        drawn = self.policy.player.opening.drawn(planes).cpu().numpy()
        return np.where(drawn, 1.0, self.exploration_rate)

    def _store_transition(
        self, replay_buffer: Any, action: Any, new_obs: Any, reward: Any, dones: Any, infos: Any
    ) -> None:
        # All games at once. The next board of a finished game is never used, so any board will do.
        replay_buffer.add(self._last_obs, new_obs, action, reward, dones, infos)
        self._last_obs = new_obs
        self._last_action_masks = self._current_masks()

    def _on_step(self) -> None:
        self.update_exploration()
        if self.target_every and self.num_timesteps % self.target_every < self.n_envs:
            self.q_net_target.load_state_dict(self.q_net.state_dict())

    def update_exploration(self) -> None:
        """Set the probability of a random move by the schedule."""
        self._update_current_progress_remaining(self.num_timesteps, self._total_timesteps)
        rate = self.exploration_schedule(self._current_progress_remaining)
        if self.epsilon_decay:
            steps = max(0, self.num_timesteps - self.learning_starts)
            decayed = self.exploration_initial_eps * self.epsilon_decay**steps
            rate = max(self.exploration_final_eps, decayed)
        self.exploration_rate = rate

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Make updates of q_tm1[a_tm1] towards r_t + discount * q_target_t[argmax q_t]."""
        super().train(gradient_steps, batch_size)
        if not self.target_every:
            polyak_update(self.q_net.parameters(), self.q_net_target.parameters(), self.tau)
        self.logger.record("rollout/exploration_rate", self.exploration_rate)

    def _loss(self, values: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return functional.mse_loss(values, target)


def build(config: Config) -> BoardDQN:
    """The untrained algorithm with its environment."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        algorithm = BoardDQN(
            BoardDQNPolicy,
            environment(config),
            learning_rate=LinearSchedule(config.learning_rate, config.learning_rate_end, 1.0),
            buffer_size=config.buffer_size,
            learning_starts=config.learning_starts,
            batch_size=config.batch_size,
            tau=config.average,
            gamma=config.discount,
            train_freq=1,
            replay_buffer_class=MoveBuffer,
            replay_buffer_kwargs={"seed": config.seed},
            target_update_interval=config.num_envs,
            exploration_fraction=config.epsilon_fraction,
            exploration_initial_eps=config.epsilon,
            exploration_final_eps=config.epsilon_end,
            double_q=True,
            policy_kwargs=policy_options(config),
            device=config.device,
        )
    algorithm.rng = np.random.default_rng(config.seed)
    algorithm.anneal_steps, algorithm.epsilon_decay = config.anneal_steps, config.epsilon_decay
    algorithm.target_every = config.target_every
    return algorithm


# --- the learner ---------------------------------------------------------------------------------


class DQNLearner(SB3Learner):
    """Both networks, the replay buffer and the generator of random moves."""

    algorithm: BoardDQN

    def __init__(self, config: Config):
        super().__init__(config, build, player, config.num_envs)

    @property
    def network(self) -> BoardQNetwork:
        """The network that plays."""
        return self.algorithm.policy.player

    def notes(self) -> dict[str, float]:
        """The results of the games, epsilon, copies to the target network, value of the start."""
        config, found = self.config, {**super().notes(), "epsilon": self.algorithm.exploration_rate}
        if config.target_every:
            found["target updates"] = self.steps // config.target_every
        if config.side != "O":
            empty = torch.zeros(1, 2, config.rows, config.cols, device=self.algorithm.device)
            with torch.no_grad():
                found["Q(start)"] = float(self.network.move_scores(empty).max())
        return found

    def state(self) -> State:
        """The other network, the replay buffer, the generator, and the state of `SB3Learner`."""
        algorithm: Any = self.algorithm
        return {
            **super().state(),
            "other": weights_of(algorithm.policy.other),
            "buffer": algorithm.replay_buffer.state_dict(),
            "exploration": algorithm.rng,
        }

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        super().restore(model, state)
        algorithm: Any = self.algorithm
        load_weights(algorithm.policy.other, state["other"])
        algorithm.replay_buffer.load_state_dict(state["buffer"])
        algorithm.rng = state["exploration"]
        algorithm.update_exploration()


begin = DQNLearner


def export_sb3(config: Config, model: Arrays, path: Path) -> None:
    """Write Stable-Baselines3's own zip, for `MaskableDQN.load` of `tictactoe_env.sb3`.

    In a clone of this repository `BoardDQN.load` continues its training.
    """
    algorithm = build(config.but(device="cpu"))
    for network in (algorithm.q_net, algorithm.q_net_target):
        load_weights(network, parted(model, config.rules)[0])
    write_zip(algorithm, path)
