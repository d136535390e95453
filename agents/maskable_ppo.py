"""MaskablePPO: a policy and a value, for both sides, improved a little after every batch of games.

Proximal policy optimization (Schulman et al. 2017, https://arxiv.org/abs/1707.06347) with invalid actions masked (Huang
and Ontañón 2020, https://arxiv.org/abs/2006.14171), as sb3-contrib has it. Around it:

- The policy reads the free cells off the board itself, so a taken cell has no probability even where no mask is handed in.
- Each board is turned into one orientation of its symmetry class, and the network is asked once for each board that
  occurs in a batch: on 3x3 there are 627 of them, so a batch of thousands costs no more than one of hundreds.
- Part of the games start from a board drawn at random (exploring starts), so that positions which good play avoids are
  practised as well: a certificate asks about every line.
- Advantages are not normalized and there is no discount. A weight of the entropy is then a temperature in units of the
  game's value, win 1, draw 0, loss -1: moves whose values differ by less stay in play. It falls as training goes on, as
  does the learning rate. The greedy policy is what is judged, the policy that explores is what is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, configure
from stable_baselines3.common.utils import FloatSchedule

from agents.files import DamagedFileError, read_tensors, write_file, write_tensors
from agents.sb3 import TicTacToeVecEnv, Turn, network_table
from agents.selfplay import SelfPlay
from agents.training import Report
from tictactoe_env.errors import probability, unknown_name, whole_number
from tictactoe_env.observation import observe
from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules

ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "silu": torch.nn.SiLU}


def option(default: Any, sentence: str) -> Any:
    """A field of `Config` with its sentence."""
    return field(default=default, metadata={"help": sentence})


@dataclass(frozen=True)
class Config:
    """Everything that decides what is learned. Schedules are in environment steps, so that a longer run begins as a shorter one."""

    seed: int = option(0, "Seed of the network, the games and the exploration, a whole number of at least 0.")
    steps: int = option(3_000_000, "Environment steps after which training ends, at least 1; the batch under way is completed.")
    opponents: str = option("random:0.7,minimax:0.15,self:0.15", 'Who is played, as name:weight,...; "self" stands for frozen copies of the learner.')
    symmetry: bool = option(True, "Whether boards that are turned or mirrored images of each other are one to the network.")
    rows: int = option(3, "Rows of the board, at least 1.")
    cols: int = option(3, "Columns of the board, at least 1.")
    k: int = option(3, "Marks in a line that win, at least 1.")
    device: str = option("cpu", "Where the network lives: cpu or cuda.")
    threads: int = option(1, "Threads of torch, at least 1; for networks as small as these one is fastest.")
    judge_every: int = option(8_192, "Environment steps between two exact judgements, at least 1.")
    snapshot_every: int = option(65_536, "Environment steps between two frozen copies, at least 1; only where self is an opponent.")
    snapshots: int = option(8, "Frozen copies that are kept as opponents, at least 1.")
    exploring_starts: float = option(0.25, "Share of the games, from 0 to 1, that start from a board drawn at random.")
    num_envs: int = option(1_024, "Games played at a time, at least 1.")
    rollout_steps: int = option(8, "Moves in each of these games between two updates, at least 1.")
    batch_size: int = option(4_096, "Moves in a minibatch, at least 1.")
    epochs: int = option(6, "How often an update goes through the moves of its batch, at least 1.")
    hidden: tuple[int, ...] = option((128, 128), "Units of the hidden layers of the policy, and as many of the value, each at least 1.")
    activation: str = option("relu", "Activation of the hidden layers: relu, tanh or silu.")
    learning_rate: float = option(4e-3, "Adam's learning rate at the start, above 0.")
    entropy: float = option(0.05, "Weight of the policy's entropy at the start, at least 0, in units of the game's value.")
    learning_rate_half: int = option(1_000_000, "Environment steps until the learning rate is half of what it was, at least 1.")
    entropy_half: int = option(60_000, "Environment steps until the weight of the entropy is half of what it was, at least 1.")
    opening_exploration: float = option(0.0, "x")
    entropy_power: float = option(0.0, "x")
    gae_lambda: float = option(0.9, "How far advantages look beyond the estimated value of the next position, from 0 to 1.")
    clip_range: float = option(0.2, "How far an update may change the probability of a move, relative to it, above 0.")
    value_weight: float = option(0.5, "Weight of the value's squared error in the loss, above 0.")
    max_grad_norm: float = option(0.5, "Longest gradient, longer ones are shortened to it, above 0.")

    def __post_init__(self) -> None:
        whole_number(self.seed, "seed", 0)
        for name in (
            "steps",
            "threads",
            "judge_every",
            "snapshot_every",
            "snapshots",
            "num_envs",
            "rollout_steps",
            "batch_size",
            "epochs",
            "learning_rate_half",
            "entropy_half",
        ):
            whole_number(getattr(self, name), name, 1)
        for name in ("exploring_starts", "gae_lambda"):
            probability(getattr(self, name), name)
        for name in ("learning_rate", "clip_range", "value_weight", "max_grad_norm"):
            if not 0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be a finite number above 0, got {getattr(self, name)!r}")
        if not 0 <= self.entropy < np.inf:
            raise ValueError(f"entropy must be a finite number of at least 0, got {self.entropy!r}")
        if self.activation not in ACTIVATIONS:
            raise unknown_name("activation", self.activation, ACTIVATIONS)
        for units in self.hidden:
            whole_number(units, "each of hidden", 1)
        _ = SelfPlay(self.opponents, self.rules)

    @property
    def rules(self) -> Rules:
        """The board."""
        return Rules(self.rows, self.cols, self.k)


# --- the network -----------------------------------------------------------------------------------------------------


class BoardPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's policy on boards in one orientation; its moves are cells of the board as the environment shows it."""

    def __init__(self, *arguments: Any, symmetry: bool = True, entropy_power: float = 0.0, **keywords: Any):
        super().__init__(*arguments, **keywords)
        _, rows, cols = self.observation_space.shape  # type: ignore[misc]
        self.symmetry = symmetry
        self.explored, self.entropy_power = None, entropy_power
        self.turn = Turn(Rules(rows, cols, 1), symmetry)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "symmetry": self.symmetry}

    def scores(self, obs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of the cells (B, cells), taken cells far below the others, and values (B, 1), of observations (B, 2, rows, cols)."""
        turned, cells, which = self._distinct(obs)
        latent_policy, latent_value = self.mlp_extractor(turned)
        logits = self._even(self.action_net(latent_policy), turned)[which].gather(1, cells.argsort(dim=1))
        return logits.masked_fill(obs.flatten(2).any(dim=1), -1e8), self.value_net(latent_value)[which]

    def _distinct(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The distinct turned boards (U, 2 * cells); the cell permutation (B, cells), and which of them it is (B,), of each board."""
        turned, cells = self.turn(obs.float())
        flat = turned.flatten(1)
        codes = flat @ self.turn.weights[:, 0]
        distinct, which = codes.unique(return_inverse=True)
        first = which.new_empty(len(distinct)).scatter_(0, which, torch.arange(len(which), device=which.device))
        return flat[first], cells, which

    def _even(self, logits: torch.Tensor, turned: torch.Tensor) -> torch.Tensor:
        """Logits (U, cells) with the mean in place of each where cells are images of each other on a symmetric board."""
        codes = turned @ self.turn.weights
        same = (codes == codes[:, :1]).to(logits.dtype)
        return (logits[:, self.turn.cells_of] * (same / same.sum(dim=1, keepdim=True))[:, :, None]).sum(dim=1)

    def forward(self, obs: Any, deterministic: bool = False, action_masks: Any = None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Moves (B,), values (B, 1) and log probabilities (B,)."""
        logits, values = self.scores(obs)
        log_probs = masked(logits, action_masks).log_softmax(dim=1)
        if deterministic:
            actions = log_probs.argmax(dim=1)
        else:  # the largest of the logarithms plus Gumbel noise is a draw from the distribution
            actions = (log_probs - torch.empty(log_probs.shape).exponential_().log().to(log_probs.device)).argmax(dim=1)
        if self.explored is not None:
            uniform = torch.rand(log_probs.shape).to(log_probs.device).masked_fill(log_probs < -1e3, -1)
            actions = torch.where(self.explored, uniform.argmax(dim=1), actions)
        return actions, values, log_probs.gather(1, actions[:, None]).squeeze(1)

    def evaluate_actions(self, obs: Any, actions: torch.Tensor, action_masks: Any = None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Values (B, 1), log probabilities (B,) of the moves, entropies (B,)."""
        logits, values = self.scores(obs)
        log_probs = masked(logits, action_masks).log_softmax(dim=1)
        return values, log_probs.gather(1, actions[:, None]).squeeze(1), -(log_probs.exp() * log_probs).sum(dim=1) * (1 - obs.flatten(1).sum(dim=1) / 9) ** self.entropy_power

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableDistribution:
        """The distribution of the moves."""
        return self.action_dist.proba_distribution(masked(self.scores(obs)[0], action_masks))  # type: ignore[no-any-return, attr-defined]

    def predict_values(self, obs: Any) -> torch.Tensor:
        """Values (B, 1)."""
        return self.scores(obs)[1]


def masked(logits: torch.Tensor, action_masks: Any) -> torch.Tensor:
    """Logits without the cells that a mask (B, cells) forbids beyond those that are taken."""
    if action_masks is None:
        return logits
    return logits.masked_fill(~torch.as_tensor(action_masks, device=logits.device).reshape(logits.shape).bool(), -1e8)


# --- the training ----------------------------------------------------------------------------------------------------


class Rollout(MaskableRolloutBuffer):
    """sb3-contrib's buffer with a generator of its own for the order of the moves."""

    def __init__(self, *arguments: Any, seed: int = 0, **keywords: Any):
        self.rng = np.random.default_rng(seed)
        super().__init__(*arguments, **keywords)

    def get(self, batch_size: int | None = None) -> Generator[MaskableRolloutBufferSamples, None, None]:  # type: ignore[override]
        """Minibatches, in a new order at each call."""
        if not self.generator_ready:
            for name in ("observations", "actions", "values", "log_probs", "advantages", "returns", "action_masks"):
                setattr(self, name, self.swap_and_flatten(getattr(self, name)))
            self.generator_ready = True
        order = self.rng.permutation(self.buffer_size * self.n_envs)
        for start in range(0, len(order), batch_size or len(order)):
            yield self._get_samples(order[start : start + (batch_size or len(order))])


class Schedule(BaseCallback):
    """Lets learning rate and entropy fall, and freezes copies of the learner, before each batch of moves."""

    def __init__(self, config: Config, pool: SelfPlay):
        super().__init__()
        self.config, self.pool, self.snapshot_at = config, pool, 0
        self.rng = np.random.default_rng(config.seed)

    def _on_rollout_start(self) -> None:
        model: Any = self.model
        steps, config = model.num_timesteps, self.config
        model.ent_coef = config.entropy / (1 + steps / config.entropy_half)
        model.lr_schedule = FloatSchedule(config.learning_rate / (1 + steps / config.learning_rate_half))
        if self.pool.self_weight > 0 and model.num_timesteps >= self.snapshot_at:
            self.snapshot_at += self.config.snapshot_every
            self.pool.add(player(model, self.config.rules)[1])
            model.env.set_opponent(self.pool.pool())

        self._explore(model._last_episode_starts)

    def _on_step(self) -> bool:
        self._explore(self.locals["dones"])
        return True

    def _explore(self, fresh):
        self.model.policy.explored = torch.as_tensor(fresh & (self.rng.random(len(fresh)) < self.config.opening_exploration))


def player(model: MaskablePPO, rules: Rules) -> tuple[TabularPolicy, TabularPolicy]:
    """What a model plays in all unfinished positions: its most probable moves, and the probabilities it explores with."""
    boards = positions_of(rules).boards[positions_of(rules).unfinished]
    policy: Any = model.policy
    with torch.no_grad():
        logits = policy.scores(torch.as_tensor(observe(boards, rules), device=model.device))[0].double().cpu()
    greedy = one_hot(logits.argmax(dim=1).numpy(), rules.cells)
    return TabularPolicy(rules, greedy), TabularPolicy(rules, logits.softmax(dim=1).numpy())


def greedy_table(model, rules):
    return player(model, rules)[0]


def build(config: Config) -> MaskablePPO:
    """The untrained model with its games."""
    env = TicTacToeVecEnv(config.num_envs, exploring_starts=config.exploring_starts, rows=config.rows, cols=config.cols, k=config.k)
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
            "symmetry": config.symmetry, "entropy_power": config.entropy_power,
            "net_arch": list_of_layers(config),
            "activation_fn": ACTIVATIONS[config.activation],
        },
        device=config.device,
    )


def list_of_layers(config: Config) -> dict[str, list[int]]:
    """Layers of the policy and of the value, which share nothing."""
    return {"pi": list(config.hidden), "vf": list(config.hidden)}


def train(config: Config, report: Report, resume: Path | None = None, logs: Path | None = None) -> TabularPolicy:
    """Train, or go on from the folder `resume`; the table of the last judgement. `logs`: a folder for TensorBoard."""
    torch.set_num_threads(config.threads)
    with torch.random.fork_rng(devices=[]):
        model, schedule = build(config), Schedule(config, SelfPlay(config.opponents, config.rules, config.snapshots, config.seed))
        model.set_logger(configure(str(logs), ["tensorboard"]) if logs else Logger(None, []))
        model.env.set_opponent(schedule.pool.pool())  # type: ignore[union-attr]
        if resume is not None:
            restore(resume, config, model, schedule)
        table = greedy_table(model, config.rules)
        while model.num_timesteps < config.steps:
            goal = min((model.num_timesteps // config.judge_every + 1) * config.judge_every, config.steps)
            model.learn(goal - model.num_timesteps, schedule, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]
            model.logger.dump(model.num_timesteps)
            table = greedy_table(model, config.rules)
            if report(model.num_timesteps, table, lambda folder, everything=True: save(folder, config, model, schedule, everything)):
                break
    return table


# --- files -----------------------------------------------------------------------------------------------------------

AGENT = "maskable_ppo"


def save(folder: Path, config: Config, model: MaskablePPO, schedule: Schedule, everything: bool = True) -> None:
    """Write the network (model.safetensors) and, if `everything`, what else is needed to go on (state.safetensors)."""
    about = {"agent": AGENT, "config": asdict(config), "steps": model.num_timesteps}
    write_tensors(folder / "model.safetensors", model.policy.state_dict(), about)
    if not everything:
        return
    env: Any = model.env
    buffer: Any = model.rollout_buffer
    games, games_rng = env.under_way()
    moments = model.policy.optimizer.state_dict()["state"]
    state: dict[str, Any] = {
        **{f"optimizer/{i}/{name}": tensor for i, values in moments.items() for name, tensor in values.items()},
        **{f"games/{name}": torch.as_tensor(array) for name, array in games.items()},
        **{f"snapshot/{i}": torch.tensor(snapshot.table) for i, snapshot in enumerate(schedule.pool.snapshots)},
        "episode_starts": torch.as_tensor(model._last_episode_starts),
        "torch_generator": torch.get_rng_state(),
    }
    counters = {"updates": model._n_updates, "snapshot_at": schedule.snapshot_at}
    generators = {"games": games_rng, "order": buffer.rng.bit_generator.state, "pool": schedule.pool.rng.bit_generator.state}
    write_tensors(folder / "state.safetensors", state, {**about, "counters": counters, "generators": generators})


def restore(folder: Path, config: Config, model: MaskablePPO, schedule: Schedule) -> None:
    """Put a saved training back, bit for bit. ValueError if its configuration differs in more than `steps`."""
    saved = read_config(folder)
    changed = [name for name, value in asdict(config).items() if value != getattr(saved, name) and name != "steps"]
    if changed:
        raise ValueError(f"{folder} was trained with another {', '.join(changed)}: go on with the same configuration, only steps may differ")
    load_network(folder, model)
    state, about = read_tensors(folder / "state.safetensors")

    def part(prefix: str) -> dict[str, torch.Tensor]:
        return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}

    env: Any = model.env
    buffer: Any = model.rollout_buffer
    try:
        optimizer = model.policy.optimizer.state_dict()
        moments = part("optimizer/")
        optimizer["state"] = {
            i: {name.split("/")[1]: t for name, t in moments.items() if name.split("/")[0] == str(i)} for i in optimizer["param_groups"][0]["params"]
        }
        model.policy.optimizer.load_state_dict(optimizer)
        schedule.pool.snapshots = [TabularPolicy(config.rules, state[f"snapshot/{i}"].numpy()) for i in range(len(part("snapshot/")))]
        schedule.snapshot_at, model._n_updates, model.num_timesteps = about["counters"]["snapshot_at"], about["counters"]["updates"], about["steps"]
        schedule.pool.rng.bit_generator.state = about["generators"]["pool"]
        buffer.rng.bit_generator.state = about["generators"]["order"]
        env.set_opponent(schedule.pool.pool())
        model._last_obs = env.go_on({name: tensor.numpy() for name, tensor in part("games/").items()}, about["generators"]["games"])
        model._last_episode_starts = state["episode_starts"].numpy()
        torch.set_rng_state(state["torch_generator"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DamagedFileError(f"{folder / 'state.safetensors'} is not a saved training of this agent: {error!r}") from None


def read_config(folder: Path) -> Config:
    """The configuration of a saved run."""
    _, about = read_tensors(folder / "model.safetensors")
    if about.get("agent") != AGENT:
        raise ValueError(f"{folder} holds a run of {about.get('agent')!r}, not of {AGENT!r}")
    try:
        return Config(**{name: tuple(value) if isinstance(value, list) else value for name, value in about["config"].items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedFileError(f"{folder / 'model.json'} holds no configuration of this agent: {error!r}") from None


def load_network(folder: Path, model: MaskablePPO) -> None:
    """Put the weights of a saved run into a model."""
    tensors, _ = read_tensors(folder / "model.safetensors")
    try:
        model.policy.load_state_dict(tensors)
    except RuntimeError as error:
        raise DamagedFileError(f"{folder / 'model.safetensors'} does not fit its configuration: {error}") from None


def load_model(folder: Path) -> tuple[Config, MaskablePPO]:
    """The configuration and the network of a saved run."""
    config = read_config(folder)
    with torch.random.fork_rng(devices=[]):
        model = build(config)
    load_network(folder, model)
    return config, model


def load(folder: Path) -> TabularPolicy:
    """The most probable moves of a saved run. DamagedFileError if its files are damaged."""
    config, model = load_model(folder)
    return greedy_table(model, config.rules)


def export_sb3(folder: Path, path: Path) -> None:
    """Write a saved run as Stable-Baselines3's own zip, which executes code when it is loaded: `MaskablePPO.load(path)`."""
    write_file(path, load_model(folder)[1].save)
