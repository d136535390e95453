"""DQN: one network learns the value of every move, for both sides, by playing.

Deep Q-learning (Mnih et al. 2015, https://www.nature.com/articles/nature14236): a move is worth the expected reward of
the game that follows, and who knows that for every move plays the largest. Values have to be accurate, since on the empty
board the best opening is worth 0.960 and the next best 0.952 against the default opponent.
It is Stable-Baselines3's DQN, with these differences:

- Occupied cells have no value, in exploration, in the greedy choice and in the target; the mask is read off the observation.
- Double Q-learning (van Hasselt et al. 2016, https://arxiv.org/abs/1509.06461): the network chooses the next move, the
  target network values it.
- The network sees each board in one orientation of its symmetry class, and moves that are images of each other share a value.
- Many games at a time, one coin a game for exploration, one large batch a step; the loss is the squared error, since the
  mean is wanted and not the median. There is no discount.
- The target network is a running average of the network, and it is the average that plays: it is less noisy.

What is learned depends on the opponent, and so does what can be told apart. Against a uniformly random player the O that
wins most is beatable. A pool that draws a random or a perfect player for each *game* mends that, but the board does not
show who was drawn, so what a board is worth depends on how it came about, and exploration shifts the values. The main
opponent mixes for each *move*: a perfect player that makes a random move in 8 of 10 (`minimax-slip=0.8`). Then a board has
one value, whatever led to it; the frozen copies of itself that play the other games soon hardly lose and change little. By
backward induction, with a lost game at -2, the best answer to slips from 0.6 to 0.9 is unbeatable and reaches both limits
(191/192 as X, 866/945 as O); at -1 this holds for 0.6 and 0.7 only, and against purely random play it takes about -4.
Exploring starts show what the opponents never do: with a fifth of the games, frozen copies of itself alone (`self:1`) are teachers
enough (docs/BENCHMARKS.md), with `--exploring-starts 0` they are not.

The presets `duel-first`, `duel-second` and `duel-centre` are andrey-matveyev/go-sample-tictactoe
(https://github.com/andrey-matveyev/go-sample-tictactoe): a network of 9-27-9 units with tanh learns one side against
uniformly random play, as first, as second, or as first with the centre as its opening, with the replay, exploration,
discount, rewards and copies to the target network that it has there. What differs:

- There a move of the one game is followed by eight steps down the gradient of one sample each, at a learning rate of 0.0002.
  Here 256 games are played at a time, and their moves are followed by one step down the mean gradient of 8 * 256 samples, at
  8 * 256 times the rate of a sample: there are as many games, moves and samples. The rate of a sample falls from 0.0016 to
  0.0001; at 0.0002 the network comes less near to the best answer in as many games.
- The reward and the next board are those after the opponent's reply, so that losses are seen. Finished games are worth their
  reward and nothing beyond it. Occupied cells have no part in the maximum. O meets all nine openings.
- Boards share the values of their images (`--no-symmetry` to see the difference). Weights begin as torch's layers do.

They learn the best answer to random play at these rewards, which is unbeatable as X, but not as O.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.utils import LinearSchedule, polyak_update
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch.nn import functional

from tictactoe_env.errors import probability, unknown_name, whole_number
from tictactoe_env.notation import parse_cell
from tictactoe_env.observation import observe
from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training.evaluation import Report
from training.files import DamagedFileError, load_weights, read_tensors, write_tensors
from training.options import BoardConfig, Preset, check_unchanged, option, read_config
from training.sb3 import Grid, MoveBuffer, TicTacToeVecEnv, Turn
from training.selfplay import SelfPlay
from training.tally import Tally
from training.values import ValuedTable

SIDES = {"both": "random", "X": "X", "O": "O"}  # as the environment calls them
ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "silu": torch.nn.SiLU}
OUTPUTS = {"none": torch.nn.Identity, "tanh": torch.nn.Tanh}
ENCODINGS = {"planes": FlattenExtractor, "grid": Grid}
OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
LOWEST = torch.finfo(
    torch.float32
).min  # value of a forbidden move; not -inf, since -inf * 0 is nan


@dataclass(frozen=True)
class Config(BoardConfig):
    """Everything that decides what is learned. Schedules are in environment steps, so that a longer run begins as a shorter one."""

    steps: int = option(3_000_000, "Environment steps after which training ends, at least 1.")
    opponents: str = option(
        "minimax-slip=0.8:0.75,self:0.25",
        'Who is played, as name:weight,...; "self" stands for frozen copies of the learner.',
    )
    symmetry: bool = option(
        True, "Whether boards that are turned or mirrored images of each other share their values."
    )
    device: str = option("cpu", "Where the network lives: cpu or cuda.")
    threads: int = option(
        1, "Threads of torch, at least 1; for networks as small as these one is fastest."
    )
    judge_every: int = option(8_192, "Environment steps between two exact judgements, at least 1.")
    snapshot_every: int = option(
        16_384,
        "Environment steps between two frozen copies, at least 1; only where self is an opponent.",
    )
    snapshots: int = option(8, "Frozen copies that are kept as opponents, at least 1.")
    exploring_starts: float = option(
        0.2, "Share of the games, from 0 to 1, that start from a board drawn at random."
    )
    side: str = option(
        "both",
        "Which side is learned: both, X or O; the boards of exploring starts are of both all the same.",
    )
    opening: str = option(
        "", "The cell in which the learner has to open as X, such as b2; empty: the one it prefers."
    )
    early_draw: bool = option(
        False, "Whether a game ends as a draw as soon as no line is open to either side."
    )
    win_reward: float = option(1.0, "What a won game gives, a finite number.")
    draw_reward: float = option(0.0, "What a drawn game gives, a finite number.")
    loss_penalty: float = option(2.0, "What a lost game costs, at least 0.")
    discount: float = option(1.0, "What a reward is worth one move earlier, from 0 to 1.")
    num_envs: int = option(256, "Games played at a time, at least 1.")
    hidden: tuple[int, ...] = option((256, 256), "Units of the hidden layers, each at least 1.")
    activation: str = option("relu", "Activation of the hidden layers: relu, tanh or silu.")
    output: str = option(
        "none", "Activation of the values: none, or tanh, which keeps them between -1 and 1."
    )
    encoding: str = option(
        "planes",
        "What the network sees of a cell: planes (own marks, and the other's) or grid (1 own, -1 other, 0 free).",
    )
    optimizer: str = option("adam", "What makes the steps down the gradient: adam or sgd.")
    learning_rate: float = option(2e-3, "Learning rate at the start, above 0.")
    learning_rate_end: float = option(1e-4, "Learning rate from `anneal_steps` on, above 0.")
    epsilon: float = option(1.0, "Probability of a random legal move at the start, from 0 to 1.")
    epsilon_end: float = option(
        0.2,
        "Probability of a random legal move from `anneal_steps * epsilon_fraction` on, from 0 to 1.",
    )
    epsilon_fraction: float = option(
        0.2, "Part of `anneal_steps` in which exploration falls to its end, above 0 and at most 1."
    )
    epsilon_decay: float = option(
        0.0,
        "Exploration is multiplied by this at each step after `learning_starts`, from 0 to 1; 0: it falls linearly.",
    )
    anneal_steps: int = option(
        500_000,
        "Environment steps in which learning rate and exploration fall linearly, at least 1.",
    )
    buffer_size: int = option(500_000, "Moves that the replay buffer holds, at least num_envs.")
    learning_starts: int = option(
        2_048, "Environment steps of random play before the first update, at least 0."
    )
    batch_size: int = option(1_024, "Moves in the batch of an update, at least 1.")
    gradient_steps: int = option(1, "Updates after each step of all games, at least 1.")
    average: float = option(
        0.02,
        "How far the averaged network, which plays, moves towards the network at each update, above 0 and at most 1.",
    )
    target_every: int = option(
        0,
        "Steps between two copies of the network, which then plays itself, to the target network; 0: that is the average.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("learning_starts", "target_every"):
            whole_number(getattr(self, name), name, 0)
        for name in (
            "threads",
            "snapshot_every",
            "snapshots",
            "num_envs",
            "anneal_steps",
            "batch_size",
            "gradient_steps",
        ):
            whole_number(getattr(self, name), name, 1)
        whole_number(self.buffer_size, "buffer_size", self.num_envs)
        for name in ("exploring_starts", "epsilon", "epsilon_end", "epsilon_decay", "discount"):
            probability(getattr(self, name), name)
        for name, high in (
            ("learning_rate", np.inf),
            ("learning_rate_end", np.inf),
            ("epsilon_fraction", 1.0),
            ("average", 1.0),
        ):
            if not 0 < getattr(self, name) <= high or not np.isfinite(getattr(self, name)):
                raise ValueError(
                    f"{name} must be a number above 0{f' and at most {high:g}' if high < np.inf else ''}, got {getattr(self, name)!r}"
                )
        for name, low in (("loss_penalty", 0.0), ("win_reward", -np.inf), ("draw_reward", -np.inf)):
            if not np.isfinite(getattr(self, name)) or getattr(self, name) < low:
                raise ValueError(
                    f"{name} must be a finite number{f' of at least {low:g}' if low == 0 else ''}, got {getattr(self, name)!r}"
                )
        known: dict[str, Any] = {
            "side": SIDES,
            "activation": ACTIVATIONS,
            "output": OUTPUTS,
            "encoding": ENCODINGS,
            "optimizer": OPTIMIZERS,
        }
        for name, choices in known.items():
            if getattr(self, name) not in choices:
                raise unknown_name(name, getattr(self, name), choices)
        if self.opening:
            parse_cell(self.opening, self.rules)
            if self.side == "O":
                raise ValueError(
                    f"opening {self.opening!r} is for a learner that plays X: leave it out, or give another side than O"
                )
        for units in self.hidden:
            whole_number(units, "each of hidden", 1)
        _ = SelfPlay(self.opponents, self.rules)


DUEL_GAMES, SAMPLES_OF_A_MOVE = 256, 8
DUEL: dict[str, Any] = {
    "opponents": "random",
    "exploring_starts": 0.0,
    "early_draw": True,
    "win_reward": 0.999,
    "draw_reward": 0.001,
    "loss_penalty": 1.0,
    "discount": 0.75,
    "num_envs": DUEL_GAMES,
    "hidden": (27,),
    "activation": "tanh",
    "output": "tanh",
    "encoding": "grid",
    "optimizer": "sgd",
    "learning_rate": 0.0016 * SAMPLES_OF_A_MOVE * DUEL_GAMES,
    "learning_rate_end": 0.0001 * SAMPLES_OF_A_MOVE * DUEL_GAMES,
    "anneal_steps": 1_600_000,
    "epsilon": 1.0,
    "epsilon_end": 0.001,
    "epsilon_decay": 0.999996,
    "buffer_size": 50_000,
    "learning_starts": 1_000,
    "batch_size": SAMPLES_OF_A_MOVE * DUEL_GAMES,
    "target_every": 50_000,
}
PRESETS = {
    "duel-first": Preset(
        "andrey-matveyev/go-sample-tictactoe: X against random play, 500,000 games.",
        {**DUEL, "side": "X", "steps": 1_660_000},
    ),
    "duel-second": Preset(
        "andrey-matveyev/go-sample-tictactoe: O against random play, 500,000 games.",
        {**DUEL, "side": "O", "steps": 1_626_000},
    ),
    "duel-centre": Preset(
        "andrey-matveyev/go-sample-tictactoe: X, opening in the centre, against random play, 500,000 games.",
        {**DUEL, "side": "X", "opening": "b2", "steps": 1_654_000},
    ),
}


# --- the network ---------------------------------------------------------------------------------------------------


class BoardQNetwork(QNetwork):
    """Values of the moves (B, cells) of observations (B, 2, rows, cols); forbidden cells have the lowest float there is.

    Boards that are images of each other have images of the same values. Where a board is its own image, one cell speaks
    for all that are images of it: the empty board has three values, not nine. The network is asked once for each distinct
    board of a batch: there are 627 on 3x3, so a batch of thousands costs little more than one of hundreds.
    """

    def __init__(
        self,
        *arguments: Any,
        rules: Rules,
        symmetry: bool,
        opening: str,
        output: str,
        **keywords: Any,
    ):
        super().__init__(*arguments, **keywords)
        self.turn, self.opening = (
            Turn(rules, symmetry),
            parse_cell(opening, rules) if opening else None,
        )
        self.q_net.append(OUTPUTS[output]())

    def forward(self, obs: Any) -> torch.Tensor:
        """Values for the side whose marks are plane 0."""
        planes = obs.float()
        turned, which, speakers = self.turn.distinct(planes)
        return (
            super()
            .forward(turned)[which]
            .gather(1, speakers)
            .masked_fill(self.forbidden(planes), LOWEST)
        )

    def forbidden(self, planes: torch.Tensor) -> torch.Tensor:
        """Whether a cell is taken, or, on the empty board, not the one in which the learner has to open: (B, cells) bool."""
        taken = planes.flatten(2).sum(dim=1) > 0
        if self.opening is not None:
            empty = ~taken.any(dim=1)
            taken[empty] = True
            taken[empty, self.opening] = False
        return taken


class BoardDQNPolicy(DQNPolicy):
    """The network, and its running average, which plays if it is `averaged`."""

    def __init__(
        self,
        *arguments: Any,
        rules: Rules,
        symmetry: bool = True,
        opening: str = "",
        output: str = "none",
        averaged: bool = True,
        **keywords: Any,
    ):
        self.board: dict[str, Any] = {
            "rules": rules,
            "symmetry": symmetry,
            "opening": opening,
            "output": output,
        }
        self.averaged = averaged
        super().__init__(*arguments, **keywords)

    @property
    def player(self) -> BoardQNetwork:
        """The network that plays."""
        return self.q_net_target if self.averaged else self.q_net  # type: ignore[return-value]

    def make_q_net(self) -> BoardQNetwork:
        """A new network."""
        return BoardQNetwork(
            **self._update_features_extractor(self.net_args, features_extractor=None), **self.board
        ).to(self.device)

    def _predict(self, obs: Any, deterministic: bool = True) -> torch.Tensor:
        return self.player._predict(obs, deterministic=deterministic)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), **self.board, "averaged": self.averaged}


# --- the update ----------------------------------------------------------------------------------------------------


class BoardDQN(DQN):
    """SB3's DQN with masks, double Q-learning, and schedules over `anneal_steps` environment steps."""

    policy: BoardDQNPolicy
    anneal_steps, epsilon_decay, target_every = 1, 0.0, 0
    rng = np.random.default_rng(0)  # replaced for every training
    tally = Tally()  # likewise

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        self._current_progress_remaining = max(0.0, 1.0 - num_timesteps / self.anneal_steps)

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        assert isinstance(self._last_obs, np.ndarray)
        if self.num_timesteps < learning_starts:
            actions = self._random_moves(self._last_obs)
        else:
            actions, _ = self.predict(self._last_obs, deterministic=False)
        return actions, actions

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[Any], tuple[NDArray[Any], ...] | None]:
        """The move of the highest value, or, unless `deterministic`, a random legal move with the probability of exploration."""
        actions, state = self.policy.predict(observation, state, episode_start, deterministic=True)
        if not deterministic:
            explored = self._random_moves(np.asarray(observation)).reshape(np.shape(actions))
            actions = np.where(
                self.rng.random(np.shape(actions)) < self.exploration_rate, explored, actions
            )
        return actions, state

    def _random_moves(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        planes: Any = self.policy.obs_to_tensor(observations)[0]
        forbidden = self.policy.player.forbidden(planes).cpu().numpy()
        return np.where(forbidden, -1.0, self.rng.random(forbidden.shape)).argmax(axis=1)

    def _store_transition(
        self,
        replay_buffer: Any,
        buffer_action: Any,
        new_obs: Any,
        reward: Any,
        dones: Any,
        infos: Any,
    ) -> None:
        """Keep the moves of all games at once. The next board of a finished game is never used, so any will do."""
        replay_buffer.add(self._last_obs, new_obs, buffer_action, reward, dones, infos)
        self._last_obs = new_obs
        self.tally.add(info["outcome"] == "win" for info in infos if info)

    def _on_step(self) -> None:
        self._n_calls += 1
        self.explore()
        if self.target_every and self.num_timesteps % self.target_every < self.n_envs:
            self.q_net_target.load_state_dict(self.q_net.state_dict())

    def explore(self) -> None:
        """Set the probability of a random move to what the schedule says."""
        if self.epsilon_decay:
            decayed = self.exploration_initial_eps * self.epsilon_decay ** max(
                0, self.num_timesteps - self.learning_starts
            )
            self.exploration_rate = max(self.exploration_final_eps, decayed)
        else:
            self.exploration_rate = self.exploration_schedule(self._current_progress_remaining)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Some updates: q_tm1[a_tm1] towards r_t + q_target_t[argmax q_t]."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        for _ in range(gradient_steps):
            moves = self.replay_buffer.sample(batch_size)  # type: ignore[union-attr]
            with torch.no_grad():
                best = self.q_net(moves.next_observations).argmax(dim=1, keepdim=True)
                value_t = self.q_net_target(moves.next_observations).gather(1, best)
                target = moves.rewards + (1 - moves.dones) * self.gamma * value_t
            q_tm1 = self.q_net(moves.observations).gather(1, moves.actions)
            loss = functional.mse_loss(q_tm1, target)
            self.policy.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.q_net.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
            if not self.target_every:
                polyak_update(self.q_net.parameters(), self.q_net_target.parameters(), self.tau)
        self._n_updates += gradient_steps
        self.logger.record("train/loss", loss.item())
        self.logger.record("rollout/exploration_rate", self.exploration_rate)


def build(config: Config, logs: Path | None = None) -> BoardDQN:
    """The untrained model with its games."""
    rewards = {"win": config.win_reward, "draw": config.draw_reward, "loss": -config.loss_penalty}
    task = {
        **asdict(config.rules),
        "side": SIDES[config.side],
        "early_draw": config.early_draw,
        "rewards": rewards,
    }
    env = TicTacToeVecEnv(config.num_envs, config.exploring_starts, **task)
    env.seed(config.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = BoardDQN(
            BoardDQNPolicy,
            env,
            learning_rate=LinearSchedule(config.learning_rate, config.learning_rate_end, 1.0),
            buffer_size=config.buffer_size,
            learning_starts=config.learning_starts,
            batch_size=config.batch_size,
            tau=config.average,
            gamma=config.discount,
            train_freq=1,
            gradient_steps=config.gradient_steps,
            replay_buffer_class=MoveBuffer,
            replay_buffer_kwargs={"seed": config.seed},
            target_update_interval=config.num_envs,
            exploration_fraction=config.epsilon_fraction,
            exploration_initial_eps=config.epsilon,
            exploration_final_eps=config.epsilon_end,
            tensorboard_log=str(logs) if logs else None,
            policy_kwargs={
                "rules": config.rules,
                "symmetry": config.symmetry,
                "opening": config.opening,
                "output": config.output,
                "averaged": config.target_every == 0,
                "net_arch": list(config.hidden),
                "activation_fn": ACTIVATIONS[config.activation],
                "features_extractor_class": ENCODINGS[config.encoding],
                "optimizer_class": OPTIMIZERS[config.optimizer],
                "optimizer_kwargs": {"fused": True},
            },
            device=config.device,
        )
    model.anneal_steps, model.epsilon_decay, model.target_every = (
        config.anneal_steps,
        config.epsilon_decay,
        config.target_every,
    )
    model.rng, model.tally = np.random.default_rng(config.seed), Tally()
    return model


# --- the values as a table -------------------------------------------------------------------------------------------


def values_of(
    network: Callable[[torch.Tensor], torch.Tensor], rules: Rules, device: Any = "cpu"
) -> ValuedTable:
    """What a network says about every position."""
    boards = positions_of(rules).boards[positions_of(rules).unfinished]
    with torch.no_grad():
        values = network(torch.as_tensor(observe(boards, rules), device=device)).cpu().numpy()
    return ValuedTable(rules, np.where(values == LOWEST, -np.inf, values).astype(np.float32))


# --- training --------------------------------------------------------------------------------------------------------


class Trainer(BaseCallback):
    """Freezes copies, has the player judged, and stops, at fixed numbers of steps, always between an update and the next move."""

    def __init__(self, config: Config, report: Report, pool: SelfPlay):
        super().__init__()
        self.config, self.report, self.pool = config, report, pool
        self.judge_at, self.snapshot_at = config.judge_every, 0
        self.table: ValuedTable | None = None
        self.judged_at, self.stopped = -1, False

    def player(self) -> ValuedTable:
        """The network's moves as they are now."""
        return values_of(self.model.policy.player, self.config.rules, self.model.device)  # type: ignore[arg-type]

    def _on_rollout_start(self) -> None:
        steps = self.model.num_timesteps
        if self.pool.self_weight > 0 and steps >= self.snapshot_at:
            self.snapshot_at += self.config.snapshot_every
            self.pool.add(self.player())
            self.training_env.set_opponent(self.pool.pool())  # type: ignore[attr-defined]
        if steps >= self.judge_at:
            self.judge_at += self.config.judge_every
            self._judge()

    def _judge(self) -> None:
        self.judged_at, self.table = self.model.num_timesteps, self.player()
        model: Any = self.model
        notes = {**model.tally.notes(), "epsilon": model.exploration_rate}
        self.stopped = self.report(
            self.judged_at,
            self.table,
            lambda folder, everything=True: save(folder, self, everything),
            notes,
        )
        self.model.logger.dump(self.judged_at)

    def _on_step(self) -> bool:
        return not self.stopped

    def _on_training_end(self) -> None:
        if not self.stopped and self.judged_at != self.model.num_timesteps:
            self._judge()


def train(
    config: Config, report: Report, resume: Path | None = None, logs: Path | None = None
) -> ValuedTable:
    """Train, or go on from the folder `resume`; the table of the last judgement. `logs`: a folder for TensorBoard."""
    torch.set_num_threads(config.threads)
    trainer, model = (
        Trainer(
            config, report, SelfPlay(config.opponents, config.rules, config.snapshots, config.seed)
        ),
        build(config, logs),
    )
    model.env.set_opponent(trainer.pool.pool())  # type: ignore[union-attr]
    trainer.model = model
    if resume is not None:
        restore(resume, trainer)
    model.learn(
        config.steps - model.num_timesteps,
        trainer,
        log_interval=None,  # type: ignore[arg-type]
        reset_num_timesteps=resume is None,
    )
    return trainer.table or trainer.player()


# --- files -----------------------------------------------------------------------------------------------------------

AGENT = "dqn"
BUFFER = {
    "observations": np.int8,
    "next_observations": np.int8,
    "actions": np.int8,
    "rewards": np.float32,
    "dones": np.int8,
}  # as saved


def save(folder: Path, trainer: Trainer, everything: bool = True) -> None:
    """Write the player (model.safetensors) and, if `everything`, what else is needed to go on (state.safetensors)."""
    model: Any = trainer.model
    about = {"agent": AGENT, "config": asdict(trainer.config), "steps": model.num_timesteps}
    write_tensors(folder / "model.safetensors", model.policy.player.state_dict(), about)
    if not everything:
        return
    buffer, steps = model.replay_buffer, model.num_timesteps
    games = model.env.state_dict()
    games_rng = games.pop("generator")
    rows = buffer.buffer_size if buffer.full else buffer.pos
    optimizer = model.policy.optimizer.state_dict()["state"]
    state: dict[str, NDArray[Any] | torch.Tensor] = {
        **{f"network/{name}": tensor for name, tensor in model.q_net.state_dict().items()},
        **{f"average/{name}": tensor for name, tensor in model.q_net_target.state_dict().items()},
        **{
            f"optimizer/{i}/{name}": tensor
            for i, moments in optimizer.items()
            for name, tensor in moments.items()
        },
        **{
            f"buffer/{name}": getattr(buffer, name)[:rows].astype(kind)
            for name, kind in BUFFER.items()
        },
        **{f"games/{name}": array for name, array in games.items()},
        **{
            f"snapshot/{i}": snapshot.table.argmax(axis=1).astype(np.uint8)
            for i, snapshot in enumerate(trainer.pool.snapshots)
        },
    }
    counters = {
        "steps": steps,
        "calls": model._n_calls,
        "updates": model._n_updates,
        "position": buffer.pos,
        "full": buffer.full,
    }
    generators = {
        "games": games_rng,
        **{name: rng.bit_generator.state for name, rng in _generators(trainer).items()},
    }
    next_at = {"judge_at": trainer.judge_at, "snapshot_at": trainer.snapshot_at}
    tensors = {
        name: torch.as_tensor(np.ascontiguousarray(a)) if isinstance(a, np.ndarray) else a
        for name, a in state.items()
    }
    further = {
        "counters": counters,
        "tally": asdict(model.tally),
        "generators": generators,
        **next_at,
    }
    write_tensors(folder / "state.safetensors", tensors, {**about, **further})


def restore(folder: Path, trainer: Trainer) -> None:
    """Put a saved training back, bit for bit; DamagedFileError if its files do not fit together or with the configuration."""
    model: Any = trainer.model
    state, about = read_tensors(folder / "state.safetensors")
    _, player = read_tensors(folder / "model.safetensors")
    if player.get("steps") != about.get("steps"):
        raise DamagedFileError(
            f"{folder / 'model.safetensors'} and state.safetensors are not of the same moment: train again or use another copy"
        )
    check_unchanged(trainer.config, read_config(Config, about, AGENT, folder), folder)

    def part(prefix: str) -> dict[str, torch.Tensor]:
        return {
            name.removeprefix(prefix): tensor
            for name, tensor in state.items()
            if name.startswith(prefix)
        }

    load_weights(model.q_net_target, part("average/"), folder / "state.safetensors")
    load_weights(model.q_net, part("network/"), folder / "state.safetensors")
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in part("optimizer/").items():
        index, key = name.split("/")
        moments.setdefault(int(index), {})[key] = tensor
    groups = model.policy.optimizer.state_dict()["param_groups"]
    model.policy.optimizer.load_state_dict({"state": moments, "param_groups": groups})
    counters, generators, buffer = about["counters"], about["generators"], model.replay_buffer
    for name, tensor in part("buffer/").items():
        getattr(buffer, name)[: len(tensor)] = tensor.numpy()
    buffer.pos, buffer.full = counters["position"], counters["full"]
    model.num_timesteps, model._n_calls, model._n_updates = (
        counters["steps"],
        counters["calls"],
        counters["updates"],
    )
    model._update_current_progress_remaining(model.num_timesteps, 0)
    model.explore()
    model.tally = Tally(**about["tally"])
    rules, snapshots = trainer.config.rules, part("snapshot/")
    trainer.pool.snapshots = [
        TabularPolicy(rules, one_hot(snapshots[str(i)].numpy().astype(np.intp), rules.cells))
        for i in range(len(snapshots))
    ]
    trainer.judge_at, trainer.snapshot_at = about["judge_at"], about["snapshot_at"]
    model.env.set_opponent(trainer.pool.pool())
    games = {name: tensor.numpy() for name, tensor in part("games/").items()}
    model._last_obs = model.env.load_state_dict({**games, "generator": generators["games"]})
    for name, rng in _generators(trainer).items():
        rng.bit_generator.state = generators[name]


def load(folder: Path) -> ValuedTable:
    """The player of a saved run: its moves, and the values by which it chooses them."""
    model = load_model(folder)
    return values_of(model.policy.player, model.policy.board["rules"], model.device)


def load_model(folder: Path) -> BoardDQN:
    """The player of a saved run as an SB3 model; DamagedFileError if the files are damaged or of another agent."""
    tensors, about = read_tensors(folder / "model.safetensors")
    config = read_config(Config, about, AGENT, folder)
    model = build(replace(config, num_envs=1, device="cpu"))
    for network in (model.q_net, model.q_net_target):
        load_weights(network, tensors, folder / "model.safetensors")
    return model


def export_sb3(folder: Path, path: Path) -> None:
    """Write the player of a saved run as SB3's zip, for `BoardDQN.load` in a clone of this repository."""
    load_model(folder).save(path)


def _generators(trainer: Trainer) -> dict[str, np.random.Generator]:
    model: Any = trainer.model
    return {"exploration": model.rng, "buffer": model.replay_buffer.rng, "pool": trainer.pool.rng}
