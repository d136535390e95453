"""DQN: a network learns the value of every move from moves kept in a replay buffer.

Deep Q-learning (Mnih et al. 2015, https://www.nature.com/articles/nature14236): the value of a move
is the expected reward at the end if the best moves follow, against the same opponents. The player
makes the move with the highest value. By default three quarters of the games on small boards are
against perfect play with 80 % random moves (`minimax-slip=0.8`), a quarter against snapshots of the
player. The opponent is part of the environment: the next board is the one after its reply.
The algorithm is `tictactoe_env.sb3.MaskableDQN`: illegal moves are left out of exploration, greedy
moves and targets, and each game explores with probability epsilon on its own. It learns with

- Double Q-learning (van Hasselt et al. 2016, https://arxiv.org/abs/1509.06461): the maximum of
  noisy values is too high, so the network picks the next move and the target network values it.
- By default the target network is a running average of the network. It is less noisy, so it is the
  target network that plays.
- With `symmetry` the network sees one board for all its rotations and reflections.
- Epsilon and the learning rate depend on the steps made, not on their share of the training run.
- A step of many games is followed by one update on a large batch from a replay buffer with its own
  random generator. The loss is the squared error, not Huber's: a value is a mean and not a median.

agents/presets.toml says how the presets `duel-*` differ from the project go-sample-tictactoe.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.utils import FloatSchedule, LinearSchedule, polyak_update
from stable_baselines3.dqn.policies import QNetwork

from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.rules import Rules
from tictactoe_env.sb3 import (
    MaskableDQN,
    MaskableDQNPolicy,
    MaskableReplayBuffer,
    MaskableReplayBufferSamples,
)
from training.board_network import Opening, network_options, planes_of
from training.canonical import CanonicalBoards
from training.learner import Arrays, State, crossed
from training.network_policy import LivePolicy, live_policy
from training.options import Count, Layers, Natural, Positive, Rewards, Share, option
from training.sb3_learner import SB3Learner, environment, export_zip, policy_of
from training.search_space import Range
from training.selfplay import OPPONENTS
from training.task import LARGER_POOL, REWARDS, SNAPSHOTS, STARTS, TaskConfig
from training.torch_arrays import load_weights, weights_of
from training.values import ValuedTable, reward_scale

AGENT = "dqn"
TITLE = "Deep Q-network"
STORY = (
    "A neural network estimates the result of every move, compares it with what happened, and "
    "corrects itself a little. It plays the move from which it expects most."
)
GOAL = "optimal"
SMALL = (  # options for a quick test
    "--num-envs 64 --judge-every 1024 --hidden 32 --snapshot-every 512 --batch-size 64 "
    "--learning-starts 256 --opponents minimax-slip=0.5:0.5,self:0.5"
)


class Config(TaskConfig):
    """The options of a training run. Schedules count environment steps, whatever `steps` is."""

    opponents: str = option("minimax-slip=0.8:0.75,self:0.25", OPPONENTS, larger=LARGER_POOL)
    snapshot_every: Count = option(16_384, SNAPSHOTS, larger=24_576)
    exploring_starts: Share = option(0.2, STARTS, larger=0.1, rare=True)
    rewards: Rewards = option((1.0, 0.0, -2.0), REWARDS, rare=True)
    hidden: Layers = option((256, 256), "Units of the hidden layers.")
    learning_rate: Positive = option(2e-3, "Learning rate at the start.")
    epsilon_end: Share = option(0.2, "Lowest probability of a random legal move.")
    learning_starts: Natural = option(2_048, "Steps of random play before the first update.")
    batch_size: Count = option(1_024, "Number of moves in the batch of an update.")
    learning_rate_end: Positive = option(1e-4, "Learning rate at the end.", rare=True)
    anneal_steps: Count = option(
        500_000, "Steps in which the learning rate falls linearly to its end.", rare=True
    )
    epsilon: Share = option(1.0, "Probability of a random legal move at the start.", rare=True)
    epsilon_steps: Count = option(
        100_000, "Steps in which epsilon falls linearly to its end.", rare=True
    )
    epsilon_decay: Share = option(
        0.0,
        "Factor on epsilon at each step after --learning-starts, instead of --epsilon-steps; 0 "
        "for none.",
        rare=True,
    )
    tanh: bool = option(False, "Whether a tanh limits the values.", rare=True)
    optimizer: Literal["adam", "sgd"] = option(
        "adam", "Optimizer: Adam, or plain gradient descent.", rare=True
    )
    buffer_size: Count = option(500_000, "Number of moves in the replay buffer.", rare=True)
    average: Share = option(
        0.02,
        "Weight of the network in its running average, the target network, at each update.",
        rare=True,
    )
    target_every: Natural = option(
        0,
        "Steps between copies of the network to the target network, instead of --average; then "
        "the network plays. 0 for none.",
        rare=True,
    )


SEARCH = {
    "learning_rate": Range(2e-4, 1e-2, log=True),
    "batch_size": ("256", "512", "1024", "2048"),
    "epsilon_end": Range(0.05, 0.4),
}


# --- the network ---------------------------------------------------------------------------------


class BoardQNetwork(QNetwork):
    """Values (B, cells) of the moves on boards (B, 2, rows, cols), also of illegal moves."""

    def __init__(
        self, *arguments: Any, rules: Rules, symmetry: bool, opening: str, tanh: bool, **more: Any
    ):
        super().__init__(*arguments, **more)
        self.canonical = CanonicalBoards(rules, symmetry)
        self.opening = Opening(opening, rules)
        if tanh:
            self.q_net.append(torch.nn.Tanh())

    def forward(self, obs: Any, distinct: bool = True) -> torch.Tensor:
        """Values for the side whose marks are plane 0.

        distinct: whether to evaluate each distinct canonical board once, of which 3x3 has 627.
        """
        planes = obs.float()
        find = self.canonical.distinct if distinct else self.canonical.each
        # The canonical boards (U, ...), the one (B,) of each board, and the cells (B, cells) on it.
        boards, which, cells = find(planes)
        canonical_values = super().forward(boards)[which]
        return canonical_values.gather(1, cells)  # turned back to the boards as they are

    def move_scores(self, planes: torch.Tensor, distinct: bool = True) -> torch.Tensor:
        """The values, -inf for moves that may not be made."""
        return self(planes, distinct).masked_fill(self.opening.forbidden(planes), -torch.inf)

    def _predict(self, observation: Any, deterministic: bool = True) -> torch.Tensor:
        """The moves (B,) where no masks are given: they follow from the boards."""
        return self.move_scores(observation).argmax(dim=1)


class BoardDQNPolicy(MaskableDQNPolicy):
    """The network and the target network.

    board: further arguments of `BoardQNetwork`. averages: whether the target network is a running
    average of the network, and plays.
    """

    q_net: BoardQNetwork
    q_net_target: BoardQNetwork

    def __init__(self, *arguments: Any, board: dict[str, Any], averages: bool, **options: Any):
        self.board = board
        self.averages = averages
        super().__init__(*arguments, **options)

    @property
    def acting_network(self) -> BoardQNetwork:
        """The network that plays."""
        return self.q_net_target if self.averages else self.q_net

    def make_q_net(self) -> BoardQNetwork:
        """A new network, as in the base class but with the arguments `board`."""
        options = self._update_features_extractor(self.net_args, features_extractor=None)
        return BoardQNetwork(**options, **self.board).to(self.device)


OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}


def policy_options(config: Config) -> dict[str, Any]:
    """The arguments of `BoardDQNPolicy`."""
    board = {
        "rules": config.rules,
        "symmetry": config.symmetry,
        "opening": config.opening,
        "tanh": config.tanh,
    }
    return {
        "board": board,
        "averages": config.target_every == 0,
        "net_arch": list(config.hidden),
        **network_options(config),
        "optimizer_class": OPTIMIZERS[config.optimizer],
        "optimizer_kwargs": {"fused": True},
    }


def player(config: Config, model: Arrays) -> ValuedTable | LivePolicy:
    """The player of the move with the highest value, on the CPU whatever `config.device` is."""
    rules = config.rules
    worth = reward_scale(config.rewards, config.discount)
    network = policy_of(BoardDQNPolicy, config, **policy_options(config)).q_net
    load_weights(network, model)
    if rules.cells > TABULATED:
        return live_policy(config, model, partial(network.move_scores, distinct=False), worth=worth)
    with torch.no_grad():
        values = network.move_scores(planes_of(rules)).numpy()  # of all unfinished positions
    return config.opened(ValuedTable(rules, values, worth))


# --- the replay buffer ---------------------------------------------------------------------------


class MoveBuffer(MaskableReplayBuffer):
    """A replay buffer that samples with its own generator, and can be saved.

    Stable-Baselines3's own buffer samples with NumPy's global generator.
    """

    # The arrays of a saved buffer, with smaller dtypes than in memory.
    SAVED: ClassVar = {
        "observations": np.int8,
        "next_observations": np.int8,
        "actions": np.int8,
        "rewards": np.float32,
        "dones": np.int8,
    }

    def __init__(self, *arguments: Any, rules: Rules, seed: int = 0, **options: Any):
        super().__init__(*arguments, **options)
        self.rules = rules
        self.rng = np.random.default_rng(seed)

    def sample(self, batch_size: int, env: Any = None) -> MaskableReplayBufferSamples:  # type: ignore[override]
        """A batch of moves, sampled with replacement."""
        return self.transitions(self.rng.integers(self.size() * self.n_envs, size=batch_size))

    def state_dict(self) -> State:
        """The moves in the buffer, and the state of the generator."""
        moves = {
            name: getattr(self, name)[: self.size()].astype(dtype)
            for name, dtype in self.SAVED.items()
        }
        return {"moves": moves, "position": self.pos, "full": self.full, "rng": self.rng}

    def load_state_dict(self, state: State) -> None:
        """Continue from the `state_dict` of a buffer of the same size.

        The masks follow from the boards. After the end of a game they are not used.
        """
        self.pos = state["position"]
        self.full = state["full"]
        self.rng = state["rng"]
        for name in self.SAVED:
            getattr(self, name)[: self.size()] = state["moves"][name]
        planes = state["moves"]["next_observations"].reshape(-1, 2, self.rules.cells)
        legal = self.rules.legal_cells(planes[:, 0] - planes[:, 1])
        self.next_action_masks[: self.size()] = legal.reshape(-1, self.n_envs, self.rules.cells)


# --- the update ----------------------------------------------------------------------------------


class BoardDQN(MaskableDQN):
    """`MaskableDQN` with the squared error, and with a target network that may be an average."""

    policy: BoardDQNPolicy
    replay_buffer: MoveBuffer

    def explores(self, observation: Any, count: int) -> NDArray[np.bool_]:
        """True where a random move is made: (B,). `opening` may say so of the first one."""
        explores = super().explores(observation, count)
        if self.policy.q_net.opening.is_random:
            is_empty = ~observation.reshape(count, -1).any(axis=1)
            explores |= is_empty
        return explores

    def loss(self, values: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The mean squared error."""
        return torch.nn.functional.mse_loss(values, target)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Update the network, and then its average if that is the target network."""
        super().train(gradient_steps, batch_size)
        if self.policy.averages:
            polyak_update(self.q_net.parameters(), self.q_net_target.parameters(), self.tau)

    def _on_step(self) -> None:
        """Do nothing: `train` and `DQNLearner.start_round` set the target network and epsilon."""


def build(config: Config) -> BoardDQN:
    """The untrained algorithm with its environment."""
    with torch.random.fork_rng(devices=[]):  # leaves the global generator as it is
        torch.manual_seed(config.seed)
        algorithm = BoardDQN(
            BoardDQNPolicy,
            environment(config),
            learning_rate=config.learning_rate,
            buffer_size=config.buffer_size,
            learning_starts=config.learning_starts,
            batch_size=config.batch_size,
            tau=config.average,
            gamma=config.discount,
            train_freq=1,
            replay_buffer_class=MoveBuffer,
            # No game is cut off by a time limit.
            replay_buffer_kwargs={
                "rules": config.rules,
                "seed": config.seed,
                "handle_timeout_termination": False,
            },
            target_update_interval=config.num_envs,  # not used: see `_on_step`
            policy_kwargs=policy_options(config),
            device=config.device,
            double_q=True,
        )
    algorithm.rng = np.random.default_rng(config.seed)
    return algorithm


# --- the learner ---------------------------------------------------------------------------------


def epsilon_at(config: Config, steps: int) -> float:
    """The probability of a random move after some steps: it falls linearly, or by a factor."""
    if config.epsilon_decay == 0:
        ends = [config.epsilon, config.epsilon_end]
        return float(np.interp(steps, [0, config.epsilon_steps], ends))
    learned = max(0, steps - config.learning_starts)
    return max(config.epsilon_end, config.epsilon * config.epsilon_decay**learned)


class DQNLearner(SB3Learner):
    """Both networks, the replay buffer and the generator of random moves.

    network: the one that plays, which is the model. other: the one that does not play.
    """

    algorithm: BoardDQN

    def __init__(self, config: Config):
        super().__init__(config, build, player, round_steps=config.num_envs)
        algorithm = self.algorithm
        self.network = algorithm.policy.acting_network
        self.other = algorithm.q_net if algorithm.policy.averages else algorithm.q_net_target

    def start_round(self, steps: int) -> None:
        """Set epsilon and the learning rate, and copy the network to the target if that is due."""
        super().start_round(steps)
        config = self.config
        algorithm = self.algorithm
        algorithm.exploration_rate = epsilon_at(config, steps)
        after = steps + self.round_steps  # the update comes after this round's moves
        left = max(0.0, 1.0 - after / config.anneal_steps)  # share of the annealing: from 1 to 0
        rate_at = LinearSchedule(config.learning_rate, config.learning_rate_end, end_fraction=1.0)
        algorithm.lr_schedule = FloatSchedule(rate_at(left))  # constant until the next round
        if config.target_every and crossed(steps, after, config.target_every):
            algorithm.q_net_target.load_state_dict(algorithm.q_net.state_dict())

    def log_lines(self, since: int) -> list[str]:
        """A line for each copy of the network to the target network."""
        size = self.round_steps
        every = self.config.target_every
        rounds = range(since + size, self.steps + 1, size) if every else ()
        return [
            f"target network updated at step {step:,} (epsilon {epsilon_at(self.config, step):.4f})"
            for step in rounds
            if crossed(step - size, step, every)
        ]

    def notes(self) -> dict[str, float]:
        """The results of the games, epsilon, the updates of the target, the empty board's value."""
        found = {**super().notes(), "epsilon": epsilon_at(self.config, self.steps)}
        if self.config.target_every:
            steps_between = max(self.config.target_every, self.round_steps)
            found["target_updates"] = self.steps // steps_between
        if self.config.side != "O":  # O never moves on the empty board
            empty = torch.zeros(1, 2, self.config.rows, self.config.cols)
            values = self.network.move_scores(empty.to(self.algorithm.device))
            found["Q(start)"] = values.max().item()
        return found

    def state(self) -> State:
        """The other network, the replay buffer, the generator, and the state of `SB3Learner`."""
        return {
            **super().state(),
            "other": weights_of(self.other),
            "buffer": self.algorithm.replay_buffer.state_dict(),
            "exploration": self.algorithm.rng,
        }

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        super().restore(model, state)
        load_weights(self.other, state["other"])
        self.algorithm.replay_buffer.load_state_dict(state["buffer"])
        self.algorithm.rng = state["exploration"]


begin = DQNLearner
# For `MaskableDQN.load`. Both networks get the weights of the one that plays.
export_sb3 = partial(export_zip, build, ("q_net", "q_net_target"))
