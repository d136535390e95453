"""MaskablePPO: a policy and a value, for both sides, improved a little after every batch of games.

Proximal policy optimization (Schulman et al. 2017, https://arxiv.org/abs/1707.06347) with invalid actions masked (Huang
and Ontañón 2020, https://arxiv.org/abs/2006.14171) is sb3-contrib's MaskablePPO as it is. What is ours:

- The policy reads the free cells off the board itself, so a taken cell has no probability even where no mask is handed in.
- The network sees each board in one orientation of its symmetry class, cells that are images of each other share a logit,
  and it is asked once for each distinct board of a batch: there are 627 on 3x3, so a batch of thousands costs little more
  than one of hundreds.
- Advantages are not normalized and there is no discount, so that the weight of the entropy is a temperature in units of
  the game's value (win 1, draw 0, loss -1): moves whose values differ by less stay in play. It falls with the steps, and
  it is lower the fuller the board is. Openings are near in value (0.899 in the corner, 0.893 in the centre, 0.880 on an
  edge against the default opponent) and have to be tried for long; but what they are worth depends on the moves that
  follow, and as long as these are soft the centre looks best. With the same weight on all boards the policy settled there.
- A quarter of the games start from a board drawn at random (exploring starts): a certificate asks about every line of
  play, those that good play avoids included.
- Frozen copies of the learner play as the learner does while it explores, by its probabilities. Copies that play their best
  moves only are so predictable that mistakes stay unpunished.

What is best depends on the opponent. Against random play alone the best O can be beaten. A pool that draws a random or a
perfect player for each *game* mends that, but the variance is large: which of the two it is decides the result, not the
move. The main opponent mixes for each *move*: a perfect player that makes a random move in 65 of 100 (`minimax-slip=0.65`).
By backward induction the best answer to it (and to slips of 0.6 to 0.75) is unbeatable and reaches both limits, 191/192 as
X and 866/945 as O.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, configure
from stable_baselines3.common.utils import FloatSchedule

from tictactoe_env.errors import probability, unknown_name, whole_number
from tictactoe_env.observation import observe
from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training.evaluation import Report
from training.files import DamagedFileError, load_weights, read_tensors, write_file, write_tensors
from training.options import BoardConfig, check_unchanged, option, read_config
from training.sb3 import TicTacToeVecEnv, Turn
from training.selfplay import SelfPlay
from training.tally import Tally

AGENT = "maskable_ppo"
ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "silu": torch.nn.SiLU}
TAKEN = (
    -1e8
)  # logit of a cell that cannot be chosen, as in sb3-contrib: not -inf, since -inf * 0 is nan
ORDERED = (
    "observations",
    "actions",
    "values",
    "log_probs",
    "advantages",
    "returns",
    "action_masks",
)  # what a rollout is shuffled by


@dataclass(frozen=True)
class Config(BoardConfig):
    """Everything that decides what is learned. Schedules are in environment steps, so that a longer run begins as a shorter one."""

    steps: int = option(
        3_000_000,
        "Environment steps after which training ends, at least 1; the batch under way is completed.",
    )
    opponents: str = option(
        "minimax-slip=0.65:0.9,self:0.1",
        'Who is played, as name:weight,...; "self" stands for frozen copies of the learner.',
    )
    symmetry: bool = option(
        True,
        "Whether boards that are turned or mirrored images of each other are one to the network.",
    )
    device: str = option("cpu", "Where the network lives: cpu or cuda.")
    threads: int = option(
        1, "Threads of torch, at least 1; for networks as small as these one is fastest."
    )
    judge_every: int = option(8_192, "Environment steps between two exact judgements, at least 1.")
    snapshot_every: int = option(
        65_536,
        "Environment steps between two frozen copies, at least 1; only where self is an opponent.",
    )
    snapshots: int = option(8, "Frozen copies that are kept as opponents, at least 1.")
    exploring_starts: float = option(
        0.25, "Share of the games, from 0 to 1, that start from a board drawn at random."
    )
    num_envs: int = option(1_024, "Games played at a time, at least 1.")
    rollout_steps: int = option(8, "Moves in each of these games between two updates, at least 1.")
    batch_size: int = option(2_048, "Moves in a minibatch, at least 1.")
    epochs: int = option(6, "How often an update goes through the moves of its batch, at least 1.")
    hidden: tuple[int, ...] = option(
        (128, 128),
        "Units of the hidden layers of the policy, and as many of the value, each at least 1.",
    )
    activation: str = option("relu", "Activation of the hidden layers: relu, tanh or silu.")
    learning_rate: float = option(4e-3, "Adam's learning rate at the start, above 0.")
    learning_rate_half: int = option(
        1_000_000, "Environment steps until the learning rate is half of what it was, at least 1."
    )
    entropy: float = option(
        0.05,
        "Weight of the policy's entropy at the start, on an empty board, in units of the game's value, at least 0.",
    )
    entropy_half: int = option(
        150_000,
        "Environment steps until the weight of the entropy is half of what it was, at least 1.",
    )
    entropy_power: float = option(
        2.0,
        "The weight of the entropy is multiplied by the share of free cells to this power, at least 0.",
    )
    gae_lambda: float = option(
        0.9, "How far advantages look beyond the estimated value of the next position, from 0 to 1."
    )
    clip_range: float = option(
        0.2, "How far an update may change the probability of a move, relative to it, above 0."
    )
    value_weight: float = option(0.5, "Weight of the value's squared error in the loss, above 0.")
    max_grad_norm: float = option(
        0.5, "Longest gradient, longer ones are shortened to it, above 0."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (
            "threads",
            "snapshot_every",
            "snapshots",
            "num_envs",
            "rollout_steps",
            "batch_size",
            "epochs",
        ):
            whole_number(getattr(self, name), name, 1)
        for name in ("learning_rate_half", "entropy_half"):
            whole_number(getattr(self, name), name, 1)
        for name in ("exploring_starts", "gae_lambda"):
            probability(getattr(self, name), name)
        for name in ("learning_rate", "clip_range", "value_weight", "max_grad_norm"):
            if not 0 < getattr(self, name) < np.inf:
                raise ValueError(
                    f"{name} must be a finite number above 0, got {getattr(self, name)!r}"
                )
        for name in ("entropy", "entropy_power"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(
                    f"{name} must be a finite number of at least 0, got {getattr(self, name)!r}"
                )
        if self.activation not in ACTIVATIONS:
            raise unknown_name("activation", self.activation, ACTIVATIONS)
        for units in self.hidden:
            whole_number(units, "each of hidden", 1)
        _ = SelfPlay(self.opponents, self.rules)


# --- the network -----------------------------------------------------------------------------------------------------


class BoardPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's policy over turned boards; its moves are cells of the board as the environment shows it."""

    def __init__(
        self, *arguments: Any, symmetry: bool = True, entropy_power: float = 0.0, **keywords: Any
    ):
        super().__init__(*arguments, **keywords)
        _, rows, cols = self.observation_space.shape  # type: ignore[misc]
        self.turn = Turn(Rules(rows, cols, 1), symmetry)
        self.board = {"symmetry": symmetry, "entropy_power": entropy_power}

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), **self.board}

    def log_probs_and_values(
        self, obs: Any, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log probabilities of the moves (B, cells) and values (B, 1) of observations (B, 2, rows, cols), for the side of plane 0.

        Cells that are taken, or that a mask (B, cells) forbids, have a probability of zero.
        """
        planes = obs.float()
        turned, which, speakers = self.turn.distinct(planes)
        latent_policy, latent_value = self.mlp_extractor(turned.flatten(1))
        logits = self.action_net(latent_policy).index_select(0, which).gather(1, speakers)
        forbidden = planes.flatten(2).sum(dim=1) > 0
        if action_masks is not None:
            forbidden = (
                forbidden
                | ~torch.as_tensor(action_masks, device=logits.device).reshape(logits.shape).bool()
            )
        return logits.masked_fill(forbidden, TAKEN).log_softmax(dim=1), self.value_net(
            latent_value
        ).index_select(0, which)

    def forward(
        self, obs: Any, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Moves (B,), values (B, 1), log probabilities of the moves (B,)."""
        log_probs, values = self.log_probs_and_values(obs, action_masks)
        drawn = log_probs
        if not deterministic:  # the largest of log probabilities with Gumbel noise is a draw (noise from the CPU: one stream on all devices)
            drawn = log_probs - torch.empty(log_probs.shape).exponential_().log().to(
                log_probs.device
            )
        actions = drawn.argmax(dim=1)
        return actions, values, log_probs.gather(1, actions[:, None]).squeeze(1)

    def evaluate_actions(
        self, obs: Any, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Values (B, 1), log probabilities of the moves (B,), and entropies (B,), weighted by the share of free cells."""
        log_probs, values = self.log_probs_and_values(obs, action_masks)
        free = 1 - obs.flatten(1).float().sum(dim=1) / log_probs.shape[1]
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)
        return (
            values,
            log_probs.gather(1, actions[:, None]).squeeze(1),
            entropy * free ** self.board["entropy_power"],
        )

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableDistribution:
        """The distribution of the moves."""
        distribution: Any = self.action_dist
        result: MaskableDistribution = distribution.proba_distribution(
            self.log_probs_and_values(obs, action_masks)[0]
        )
        return result

    def predict_values(self, obs: Any) -> torch.Tensor:
        """Values (B, 1)."""
        return self.log_probs_and_values(obs)[1]


def play(model: MaskablePPO, rules: Rules) -> tuple[TabularPolicy, TabularPolicy]:
    """What a model plays in all unfinished positions: its most probable moves, and the probabilities that it explores with."""
    boards = positions_of(rules).boards[positions_of(rules).unfinished]
    policy: Any = model.policy
    with torch.no_grad():
        log_probs = policy.log_probs_and_values(
            torch.as_tensor(observe(boards, rules), device=model.device)
        )[0].cpu()
    return TabularPolicy(
        rules, one_hot(log_probs.argmax(dim=1).numpy(), rules.cells)
    ), TabularPolicy(rules, log_probs.exp().numpy())


# --- the training ----------------------------------------------------------------------------------------------------


class Rollout(MaskableRolloutBuffer):
    """sb3-contrib's buffer with a generator of its own, where theirs shuffles by NumPy's global one."""

    def __init__(self, *arguments: Any, seed: int = 0, **keywords: Any):
        self.rng = np.random.default_rng(seed)
        super().__init__(*arguments, **keywords)

    def get(  # type: ignore[override]
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Minibatches, in a new order at each call."""
        if not self.generator_ready:
            for name in ORDERED:
                setattr(self, name, self.swap_and_flatten(getattr(self, name)))
            self.generator_ready = True
        order = self.rng.permutation(self.buffer_size * self.n_envs)
        size = batch_size or len(order)
        for start in range(0, len(order), size):
            yield self._get_samples(order[start : start + size])


class Schedule(BaseCallback):
    """Before each batch of moves: lets learning rate and entropy fall, and freezes a copy of the learner when it is time. Counts games."""

    def __init__(self, config: Config):
        super().__init__()
        self.config, self.snapshot_at = config, 0
        self.pool = SelfPlay(config.opponents, config.rules, config.snapshots, config.seed)
        self.tally = Tally()

    def _on_rollout_start(self) -> None:
        model, config, steps = self.model, self.config, self.model.num_timesteps
        model.ent_coef = config.entropy / (1 + steps / config.entropy_half)  # type: ignore[attr-defined]
        model.lr_schedule = FloatSchedule(
            config.learning_rate / (1 + steps / config.learning_rate_half)
        )
        if self.pool.self_weight > 0 and steps >= self.snapshot_at:
            self.snapshot_at += config.snapshot_every
            self.pool.add(play(model, config.rules)[1])  # type: ignore[arg-type]
            self.training_env.set_opponent(self.pool.pool())  # type: ignore[attr-defined]

    def _on_step(self) -> bool:
        self.tally.add(
            info["outcome"] == "win" for info in self.locals["infos"] if "outcome" in info
        )
        return True


def build(config: Config) -> MaskablePPO:
    """The untrained model with its games; the weights are drawn from torch's global generator after seeding it."""
    env = TicTacToeVecEnv(
        config.num_envs,
        exploring_starts=config.exploring_starts,
        rows=config.rows,
        cols=config.cols,
        k=config.k,
    )
    env.seed(config.seed)
    torch.manual_seed(config.seed)
    return MaskablePPO(
        BoardPolicy,
        env,
        learning_rate=config.learning_rate,
        n_steps=config.rollout_steps,
        batch_size=config.batch_size,
        n_epochs=config.epochs,
        gamma=1.0,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip_range,
        normalize_advantage=False,
        ent_coef=config.entropy,
        vf_coef=config.value_weight,
        max_grad_norm=config.max_grad_norm,
        rollout_buffer_class=Rollout,
        rollout_buffer_kwargs={"seed": config.seed},
        policy_kwargs={
            "symmetry": config.symmetry,
            "entropy_power": config.entropy_power,
            "net_arch": {"pi": list(config.hidden), "vf": list(config.hidden)},
            "activation_fn": ACTIVATIONS[config.activation],
        },
        device=config.device,
    )


def train(
    config: Config, report: Report, resume: Path | None = None, logs: Path | None = None
) -> TabularPolicy:
    """Train, or go on from the folder `resume`; the most probable moves at the end. `logs`: a folder for TensorBoard."""
    torch.set_num_threads(config.threads)
    with torch.random.fork_rng(devices=[]):
        model, schedule = build(config), Schedule(config)
        model.set_logger(configure(str(logs), ["tensorboard"]) if logs else Logger(None, []))
        model.env.set_opponent(schedule.pool.pool())  # type: ignore[union-attr]
        if resume is not None:
            restore(resume, config, model, schedule)
        table = play(model, config.rules)[0]
        while model.num_timesteps < config.steps:
            goal = min(
                (model.num_timesteps // config.judge_every + 1) * config.judge_every, config.steps
            )
            model.learn(
                goal - model.num_timesteps,
                schedule,
                log_interval=None,  # type: ignore[arg-type]
                reset_num_timesteps=False,
            )
            model.logger.dump(model.num_timesteps)
            table = play(model, config.rules)[0]
            notes = schedule.tally.notes()
            if report(
                model.num_timesteps,
                table,
                lambda folder, everything=True: save(folder, config, model, schedule, everything),
                notes,
            ):
                break
    return table


# --- files -----------------------------------------------------------------------------------------------------------


def save(
    folder: Path, config: Config, model: MaskablePPO, schedule: Schedule, everything: bool = True
) -> None:
    """Write the network (model.safetensors) and, if `everything`, what else is needed to go on (state.safetensors)."""
    about = {"agent": AGENT, "config": asdict(config), "steps": model.num_timesteps}
    write_tensors(folder / "model.safetensors", model.policy.state_dict(), about)
    if not everything:
        return
    env: Any = model.env
    buffer: Any = model.rollout_buffer
    games = env.state_dict()
    games_rng = games.pop("generator")
    moments = model.policy.optimizer.state_dict()["state"]
    state: dict[str, Any] = {
        **{
            f"optimizer/{i}/{name}": tensor
            for i, values in moments.items()
            for name, tensor in values.items()
        },
        **{f"games/{name}": torch.as_tensor(array) for name, array in games.items()},
        **{
            f"snapshot/{i}": torch.tensor(snapshot.table)
            for i, snapshot in enumerate(schedule.pool.snapshots)
        },
        "episode_starts": torch.as_tensor(model._last_episode_starts),
        "torch_generator": torch.get_rng_state(),
    }
    counters = {
        "updates": model._n_updates,
        "snapshot_at": schedule.snapshot_at,
        "tally": asdict(schedule.tally),
    }
    generators = {
        "games": games_rng,
        "order": buffer.rng.bit_generator.state,
        "pool": schedule.pool.rng.bit_generator.state,
    }
    write_tensors(
        folder / "state.safetensors",
        state,
        {**about, "counters": counters, "generators": generators},
    )


def restore(folder: Path, config: Config, model: MaskablePPO, schedule: Schedule) -> None:
    """Put a saved training back, bit for bit. ValueError if its configuration differs in more than `steps`."""
    check_unchanged(config, saved_config(folder), folder)
    load_network(folder, model)
    state, about = read_tensors(folder / "state.safetensors")

    def part(prefix: str) -> dict[str, torch.Tensor]:
        return {
            name.removeprefix(prefix): tensor
            for name, tensor in state.items()
            if name.startswith(prefix)
        }

    env: Any = model.env
    buffer: Any = model.rollout_buffer
    try:
        optimizer = model.policy.optimizer.state_dict()
        moments = part("optimizer/")
        optimizer["state"] = {
            i: {
                name.split("/")[1]: t for name, t in moments.items() if name.split("/")[0] == str(i)
            }
            for i in optimizer["param_groups"][0]["params"]
        }
        model.policy.optimizer.load_state_dict(optimizer)
        schedule.pool.snapshots = [
            TabularPolicy(config.rules, state[f"snapshot/{i}"].numpy())
            for i in range(len(part("snapshot/")))
        ]
        schedule.snapshot_at, model._n_updates, model.num_timesteps = (
            about["counters"]["snapshot_at"],
            about["counters"]["updates"],
            about["steps"],
        )
        schedule.tally = Tally(**about["counters"]["tally"])
        schedule.pool.rng.bit_generator.state = about["generators"]["pool"]
        buffer.rng.bit_generator.state = about["generators"]["order"]
        env.set_opponent(schedule.pool.pool())
        games = {name: tensor.numpy() for name, tensor in part("games/").items()}
        model._last_obs = env.load_state_dict({**games, "generator": about["generators"]["games"]})
        model._last_episode_starts = state["episode_starts"].numpy()
        torch.set_rng_state(state["torch_generator"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DamagedFileError(
            f"{folder / 'state.safetensors'} is not a saved training of this agent: {error!r}"
        ) from None


def saved_config(folder: Path) -> Config:
    """The configuration of a saved run."""
    return read_config(Config, read_tensors(folder / "model.safetensors")[1], AGENT, folder)


def load_network(folder: Path, model: MaskablePPO) -> None:
    """Put the weights of a saved run into a model."""
    path = folder / "model.safetensors"
    load_weights(model.policy, read_tensors(path)[0], path)


def load_model(folder: Path) -> tuple[Config, MaskablePPO]:
    """The configuration and the network of a saved run."""
    config = saved_config(folder)
    with torch.random.fork_rng(devices=[]):
        model = build(config)
    load_network(folder, model)
    return config, model


def load(folder: Path) -> TabularPolicy:
    """The most probable moves of a saved run. DamagedFileError if its files are damaged."""
    config, model = load_model(folder)
    return play(model, config.rules)[0]


def export_sb3(folder: Path, path: Path) -> None:
    """Write a saved run as Stable-Baselines3's own zip, which executes code when it is loaded: `MaskablePPO.load(path)`."""
    model: Any = load_model(folder)[1]
    write_file(path, model.save)
