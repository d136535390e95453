"""DQN: a network learns the value of every move from the moves in a replay buffer.

Deep Q-learning (Mnih et al. 2015, https://www.nature.com/articles/nature14236): the value of a move
is the expected reward at the end of the game, and the player makes the move of the highest value.
The values have to be accurate: against the default opponent the best opening on the empty board is
worth 0.960 and the next best 0.952. This is the `MaskableDQN` of tictactoe_env/sb3, which leaves
occupied cells out of exploration, of the greedy move and of the target. It uses double Q-learning
(van Hasselt et al. 2016, https://arxiv.org/abs/1509.06461): the network chooses the next move, and
the target network gives its value. The differences to it are:

- The mask is read from the board, so that a saved model plays by itself.
- The network sees each board in canonical form. Moves that are images of each other under a
  symmetry of the board share a value.
- Many games are played in parallel, and each step is followed by one update on a large batch. The
  loss is the squared error, because the value is a mean and not a median. There is no discount.
- The target network is a running average of the network. It is less noisy, so it is the one that
  plays.

What is learned depends on the opponents. The best response to uniformly random play can be beaten
as O. A pool that draws a random or a perfect player for each *game* avoids this, but the board does
not show which of them was drawn. The value of a board then depends on the moves before it, and
exploration shifts the values. The main opponent therefore mixes for each *move*: `minimax-slip=0.8`
plays a random legal move with probability 0.8 and perfectly otherwise. Against it the value of a
board depends on the board alone. The other games are played against snapshots of the learner, which
soon lose hardly any game and change little. By backward induction, with a reward of -2 for a loss,
the best response to slips from 0.6 to 0.9 is unbeatable and reaches the best achievable results on
both sides (191/192 wins as X, 866/945 as O). With a reward of -1 this holds for 0.6 and 0.7 only,
and against purely random play it needs about -4. Exploring starts show positions that do not occur
against these opponents. With a fifth of the games starting from such positions, self-play against
snapshots alone (`self:1`) is sufficient (docs/BENCHMARKS.md); with `--exploring-starts 0` it is
not.

The presets `duel-first`, `duel-second` and `duel-centre` follow go-sample-tictactoe
(https://github.com/andrey-matveyev/go-sample-tictactoe). There a network of 9-27-9 units with tanh
learns one side against uniformly random play: X, O, or X with the centre as its opening. Replay,
exploration, discount, rewards and the copies to the target network are the same here. The original
can also be changed to open at random, which is `--preset duel-first --opening random`. The
differences are:

- The original plays one game at a time. Each move is followed by eight gradient steps on one sample
  each, at a learning rate of 0.0002. Here 256 games are played in parallel, and their moves are
  followed by one step along the mean gradient of 8 * 256 samples, at 8 * 256 times the rate of one
  sample. The numbers of games, moves and samples are the same. The rate of one sample falls from
  0.0016 to 0.0001; at 0.0002 the network stays further from the best response after as many games.
- The reward and the next board are those after the opponent's reply, so that losses are seen. The
  target of the last move of a game is its reward alone. Occupied cells are left out of the maximum.
  As O the learner meets all nine openings.
- Boards share the values of their images (`--no-symmetry` shows the difference). The weights are
  initialised as torch initialises its layers.

The duels learn the best response to random play at these rewards. It is unbeatable as X, but not as
O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.utils import LinearSchedule, polyak_update
from stable_baselines3.dqn.policies import QNetwork
from torch.nn import functional

from tictactoe_env.exact.positions import TABULATED, positions_of
from tictactoe_env.observation import observe
from tictactoe_env.rules import Rules
from tictactoe_env.sb3 import MaskableDQN, MaskableDQNPolicy
from training.board_network import Opening, encoder_options
from training.canonical import CanonicalBoards
from training.learner import Arrays, BoardPlayer, State
from training.network_policy import LivePolicy, NetworkPolicy, joined, live_policy, parted
from training.options import Count, Layers, Natural, NotNegative, Positive, Share, option
from training.replay_buffer import MoveBuffer
from training.sb3_learner import SB3Learner, board_spaces, environment, write_zip
from training.search_space import Range
from training.task import OPPONENTS, SNAPSHOTS, TaskConfig
from training.torch_arrays import ACTIVATIONS, load_weights, weights_of
from training.values import ValuedTable, reward_scale

AGENT = "dqn"
TITLE = "Deep Q-network"
STORY = (
    "A neural network estimates the result of every move. After each game it compares what it "
    "expected with what happened, and corrects itself a little. It then plays the move of which "
    "it expects most."
)
GOAL = "optimal"
SMALL = (
    "--num-envs 64 --judge-every 1024 --hidden 32 --snapshot-every 512 --batch-size 64 "
    "--learning-starts 256 --opponents minimax-slip=0.5:0.5,self:0.5"
)
LOWEST = torch.finfo(torch.float32).min  # of an illegal move; not -inf, as -inf * 0 is NaN


@dataclass(frozen=True)
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
    "opponents": (
        "minimax-slip=0.8:0.75,self:0.25",
        "minimax-slip=0.6:0.75,self:0.25",
        "self:0.75,random:0.25",
    ),
    "num_envs": ("128", "256", "512"),
    "exploring_starts": Range(0.0, 0.5),
    "loss_penalty": Range(1.0, 3.0),
    "hidden": ("128,128", "256,256", "512,512"),
    "learning_rate": Range(2e-4, 1e-2, log=True),
    "epsilon_end": Range(0.05, 0.4),
    "batch_size": ("256", "512", "1024", "2048"),
}


# --- the network ---------------------------------------------------------------------------------


OUTPUTS = {"none": torch.nn.Identity, "tanh": torch.nn.Tanh}
OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}


class BoardQNetwork(QNetwork):
    """Values of the moves (B, cells) of observations (B, 2, rows, cols).

    Illegal moves have the value LOWEST: the values of a saved model are read from the board alone,
    and the option `opening` forbids more moves than the rules do. With symmetry, moves that are
    images of each other share a value: the empty board has three values, not nine. The network is
    evaluated once for each distinct canonical board of a batch. There are only 627 of them on 3x3,
    so a batch of thousands costs little more than one of hundreds.
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
    """The network and the target network.

    board: further arguments of `BoardQNetwork`. averaged: whether the target network is a running
    average. In that case it is the one that plays.
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


def table_of(network: BoardQNetwork, config: Config) -> ValuedTable:
    """The greedy policy of a network, with the values of the moves in all unfinished positions."""
    rules = config.rules
    boards = positions_of(rules).boards[positions_of(rules).unfinished]
    with torch.no_grad():
        planes = torch.as_tensor(observe(boards, rules, "planes"), device=network.device)
        values = network(planes).cpu().numpy()
    values = np.where(values == LOWEST, -np.inf, values).astype(np.float32)
    return config.opened(ValuedTable(rules, values, reward_scale(config.results, config.discount)))


def network_of(config: Config, model: Arrays) -> BoardQNetwork:
    """The network of a saved model, on the CPU."""
    with torch.random.fork_rng(devices=[]):
        policy = BoardDQNPolicy(
            *board_spaces(config.rules), lambda _: config.learning_rate, **policy_options(config)
        )
    load_weights(policy.player, parted(model, config.rules)[0])
    return policy.player


def live_policy_of(config: Config, weights: Arrays) -> LivePolicy:
    """The greedy policy of a saved network on a board without a table."""
    network = NetworkPolicy(
        config.rules,
        network_of(config, weights).move_scores,
        weights,
        opens_at_random=config.opens_at_random,
        refutations=parted(weights, config.rules)[1],
        worth=reward_scale(config.results, config.discount),
    )
    return live_policy(network, config.symmetry)


def player(config: Config, model: Arrays) -> ValuedTable | LivePolicy:
    """The player of a saved model, on the CPU whatever `config.device` is."""
    if config.rules.cells > TABULATED:
        return live_policy_of(config, model)
    return table_of(network_of(config, model), config)


# --- the update ----------------------------------------------------------------------------------


class BoardDQN(MaskableDQN):
    """`MaskableDQN` with masks from the boards and schedules over `anneal_steps`.

    target_every: steps between two copies of the network to the target network; 0 for a running
    average.
    """

    policy: BoardDQNPolicy

    def __init__(
        self,
        *arguments: Any,
        anneal_steps: int = 1,
        epsilon_decay: float = 0.0,
        target_every: int = 0,
        exploration_seed: int = 0,
        **options: Any,
    ):
        super().__init__(*arguments, **options)
        self.anneal_steps, self.epsilon_decay = anneal_steps, epsilon_decay
        self.target_every, self.rng = target_every, np.random.default_rng(exploration_seed)

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        self._current_progress_remaining = max(0.0, 1.0 - num_timesteps / self.anneal_steps)

    def legal(self, observations: Any) -> NDArray[np.bool_]:
        """Which moves may be made: (B, cells), also for one observation."""
        planes: Any = self.policy.obs_to_tensor(observations)[0]
        return ~self.policy.player.opening.forbidden(planes).cpu().numpy()

    def _current_masks(self) -> NDArray[np.bool_]:
        return self.legal(self._last_obs)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[NDArray[Any], tuple[NDArray[Any], ...] | None]:
        """The moves of the highest value if `deterministic`, else epsilon-greedy moves.

        Without `action_masks` the legal moves are read from the boards.
        """
        masks = self.legal(observation) if action_masks is None else action_masks
        return super().predict(observation, state, episode_start, deterministic, masks)

    def _exploration_rates(self, observation: Any) -> Any:
        planes: Any = self.policy.obs_to_tensor(observation)[0]
        drawn = self.policy.player.opening.drawn(planes).cpu().numpy()
        return np.where(drawn, 1.0, self.exploration_rate)

    def _store_transition(
        self,
        replay_buffer: Any,
        buffer_action: Any,
        new_obs: Any,
        reward: Any,
        dones: Any,
        infos: Any,
    ) -> None:
        # All games at once. The next board of a finished game is never used, so any board will do.
        replay_buffer.add(self._last_obs, new_obs, buffer_action, reward, dones, infos)
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
        for _ in range(gradient_steps):
            super().train(1, batch_size)
            if not self.target_every:
                polyak_update(self.q_net.parameters(), self.q_net_target.parameters(), self.tau)
        self.logger.record("rollout/exploration_rate", self.exploration_rate)

    def _loss(self, values: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return functional.mse_loss(values, target)


def build(config: Config) -> BoardDQN:
    """The untrained algorithm with its environment."""
    env = environment(config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return BoardDQN(
            BoardDQNPolicy,
            env,
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
            anneal_steps=config.anneal_steps,
            epsilon_decay=config.epsilon_decay,
            target_every=config.target_every,
            exploration_seed=config.seed,
        )


# --- the learner ---------------------------------------------------------------------------------


class DQNLearner(SB3Learner):
    """Both networks, the replay buffer and the generator of random moves."""

    algorithm: BoardDQN

    def __init__(self, config: Config):
        super().__init__(config, build, config.num_envs)

    def policy(self) -> BoardPlayer:
        """The greedy policy of the network that plays."""
        if self.config.rules.cells > TABULATED:
            return player(self.config, self.model())
        return table_of(self.algorithm.policy.player, self.config)

    def thawed(self, weights: Arrays) -> BoardPlayer:
        """The greedy policy of the network with these weights."""
        return player(self.config, weights)

    def notes(self) -> dict[str, float]:
        """Games, wins, draws, losses, epsilon, copies to the target network, value of the start.

        Q(start) is the value of the best first move, which a learner of O does not make.
        """
        config, found = self.config, {**super().notes(), "epsilon": self.algorithm.exploration_rate}
        if config.target_every:
            found["target updates"] = self.steps // config.target_every
        if config.side != "O":
            empty = torch.zeros(1, 2, config.rows, config.cols, device=self.algorithm.device)
            with torch.no_grad():
                found["Q(start)"] = float(self.algorithm.policy.player.move_scores(empty).max())
        return found

    def model(self) -> Arrays:
        """The weights of the network that plays, and the refuted moves."""
        return joined(weights_of(self.algorithm.policy.player), self.pool.refutations)

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
        algorithm: Any = self.algorithm
        load_weights(algorithm.policy.player, parted(model, self.config.rules)[0])
        load_weights(algorithm.policy.other, state["other"])
        super().restore(model, state)
        algorithm.replay_buffer.load_state_dict(state["buffer"])
        algorithm.rng = state["exploration"]
        algorithm.update_exploration()


begin = DQNLearner


def export_sb3(config: Config, model: Arrays, path: Path) -> None:
    """Write Stable-Baselines3's own zip, for `MaskableDQN.load` of `tictactoe_env.sb3`.

    It loads wherever `tictactoe_env[sb3]` is installed, by the same version of Python. In a clone
    of this repository `BoardDQN.load` continues its training.
    """
    algorithm = build(replace(config, device="cpu"))
    for network in (algorithm.q_net, algorithm.q_net_target):
        load_weights(network, parted(model, config.rules)[0])
    write_zip(algorithm, path)
