"""MaskablePPO: a policy and a value, for both sides, improved a little after every batch of games.

Proximal policy optimization (Schulman et al. 2017, https://arxiv.org/abs/1707.06347) with invalid
actions masked (Huang and Ontañón 2020, https://arxiv.org/abs/2006.14171): sb3-contrib's MaskablePPO
as it is, with a policy, schedules and opponents of our own:

- The policy reads the free cells off the board, so that an occupied cell has no probability even if
  no mask is given.
- The network sees each board in canonical form, and cells that are images of each other share a
  logit. It is evaluated once for each distinct board of a batch; there are 627 on 3x3, so a batch
  of thousands costs little more than one of hundreds.
- Advantages are not normalized and there is no discount. So the weight of the entropy is a
  temperature in units of the game's value (win 1, draw 0, loss -1): moves whose values differ by
  less all stay in play. The weight falls with the steps, and it is lower the fuller the board is.
  Openings are close in value (0.899 in the corner, 0.893 in the centre, 0.880 on an edge against
  the default opponent) and have to be tried for long. But their values depend on the moves that
  follow, and as long as these are soft the centre looks best. With the same weight on all boards
  the policy settled on the centre.
- A quarter of the games start from a board drawn at random (exploring starts), because a
  certificate examines every line of play, also those that good play avoids.
- Snapshots of the learner play as it does while it explores, by its probabilities. Snapshots that
  play their best moves only are so predictable that mistakes go unpunished.

What is best depends on the opponents. The best response to purely random play can be beaten as O. A
pool that draws a random or a perfect player for each *game* avoids that, but the variance is large:
the opponent that was drawn decides the result, not the move. So the main opponent mixes for each
*move*: it plays perfectly, but a random move in 65 of 100 (`minimax-slip=0.65`). By backward
induction the best response to it (and to slips from 0.6 to 0.75) is unbeatable and reaches the best
achievable results on both sides: 191/192 wins as X and 866/945 as O.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.utils import FloatSchedule

from tictactoe_env.observation import observe
from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training.canonical import CanonicalBoards
from training.learner import Arrays, State
from training.options import (
    BoardConfig,
    Count,
    Layers,
    NotNegative,
    Positive,
    Preset,
    Share,
    option,
)
from training.sb3 import TicTacToeVecEnv
from training.sb3_learner import SB3Learner, board_spaces, write_zip
from training.torch_arrays import ACTIVATIONS, Activation, load_weights, weights_of

AGENT = "maskable_ppo"
SHUFFLED = (
    "observations",
    "actions",
    "values",
    "log_probs",
    "advantages",
    "returns",
    "action_masks",
)
TAKEN = -1e8  # logit of an occupied cell, as in sb3-contrib; not -inf, since -inf * 0 is nan


@dataclass(frozen=True)
class Config(BoardConfig):
    """Everything that decides what is learned.

    Schedules are in environment steps, so that a longer run begins as a shorter one.
    """

    steps: Count = option(
        3_000_000, "Environment steps after which training ends; the current batch is completed."
    )
    opponents: str = option(
        "minimax-slip=0.65:0.9,self:0.1",
        'Opponents, as name:weight,...; "self" stands for frozen snapshots of the learner.',
    )
    symmetry: bool = option(
        True, "Whether boards that are equal under symmetry are one to the network."
    )
    device: Literal["cpu", "cuda"] = option("cpu", "Where the network is trained.")
    threads: Count = option(
        1, "Threads of torch; for networks as small as these one is the fastest."
    )
    judge_every: Count = option(8_192, "Environment steps between two exact evaluations.")
    snapshot_every: Count = option(
        65_536, "Environment steps between two snapshots; only where self is an opponent."
    )
    snapshots: Count = option(8, "Snapshots that are kept as opponents.")
    exploring_starts: Share = option(
        0.25, "Share of the games that start from a board drawn at random."
    )
    num_envs: Count = option(1_024, "Games played at a time.")
    rollout_steps: Count = option(8, "Moves in each of these games between two updates.")
    batch_size: Count = option(2_048, "Moves in a minibatch.")
    epochs: Count = option(6, "How often an update goes through the moves of its batch.")
    hidden: Layers = option(
        (128, 128), "Units of the hidden layers of the policy, and as many of the value."
    )
    activation: Activation = option("relu", "Activation of the hidden layers.")
    learning_rate: Positive = option(4e-3, "Adam's learning rate at the start.")
    learning_rate_half: Count = option(
        1_000_000, "Environment steps until the learning rate is half of what it was."
    )
    entropy: NotNegative = option(
        0.05,
        "Weight of the policy's entropy at the start, on an empty board, in units of the game's "
        "value.",
    )
    entropy_half: Count = option(
        150_000, "Environment steps until the weight of the entropy is half of what it was."
    )
    entropy_power: NotNegative = option(
        2.0, "The weight of the entropy is multiplied by the share of free cells to this power."
    )
    gae_lambda: Share = option(
        0.9, "How far advantages look beyond the estimated value of the next position."
    )
    clip_range: Positive = option(
        0.2, "How far an update may change the probability of a move, relative to it."
    )
    value_weight: Positive = option(0.5, "Weight of the value's squared error in the loss.")
    max_grad_norm: Positive = option(
        0.5, "Length of the longest gradient; longer ones are shortened to it."
    )


PRESETS: dict[str, Preset] = {}


# --- the network ---------------------------------------------------------------------------------


class BoardPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's policy on canonical boards; its moves are cells of the board as it is given.

    noise: the generator by which moves are drawn, on the CPU; None for torch's global one.
    """

    noise: torch.Generator | None = None

    def __init__(
        self, *arguments: Any, symmetry: bool = True, entropy_power: float = 0.0, **options: Any
    ):
        super().__init__(*arguments, **options)
        _, rows, cols = self.observation_space.shape  # type: ignore[misc]
        self.canonical = CanonicalBoards(Rules(rows, cols, 1), symmetry)
        self.board = {"symmetry": symmetry, "entropy_power": entropy_power}

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), **self.board}

    def log_probs_and_values(
        self, obs: Any, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log probabilities of the moves (B, cells), and values (B, 1), for the side of plane 0.

        obs: (B, 2, rows, cols). Cells that are occupied, or that a mask (B, cells) forbids, have a
        probability of zero.
        """
        planes = obs.float()
        boards, which, cells = self.canonical.distinct(planes)
        latent_policy, latent_value = self.mlp_extractor(boards.flatten(1))
        logits = self.action_net(latent_policy).index_select(0, which).gather(1, cells)
        values = self.value_net(latent_value).index_select(0, which)
        forbidden = planes.flatten(2).sum(dim=1) > 0
        if action_masks is not None:
            allowed = torch.as_tensor(action_masks, device=logits.device).reshape(logits.shape)
            forbidden = forbidden | ~allowed.bool()
        return logits.masked_fill(forbidden, TAKEN).log_softmax(dim=1), values

    def forward(
        self, obs: Any, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Moves (B,), values (B, 1), log probabilities of the moves (B,)."""
        log_probs, values = self.log_probs_and_values(obs, action_masks)
        scores = log_probs
        if not deterministic:  # the largest log probability with Gumbel noise is a draw
            noise = torch.empty(log_probs.shape).exponential_(generator=self.noise)
            scores = log_probs - noise.log().to(log_probs.device)  # one stream on all devices
        actions = scores.argmax(dim=1)
        return actions, values, log_probs.gather(1, actions[:, None]).squeeze(1)

    def evaluate_actions(
        self, obs: Any, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Values (B, 1), log probabilities of the moves (B,), and entropies (B,).

        The entropy is weighted by a power of the share of free cells.
        """
        log_probs, values = self.log_probs_and_values(obs, action_masks)
        free = 1 - obs.flatten(1).float().sum(dim=1) / log_probs.shape[1]
        entropy = -(log_probs.exp() * log_probs).sum(dim=1) * free ** self.board["entropy_power"]
        return values, log_probs.gather(1, actions[:, None]).squeeze(1), entropy

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableDistribution:
        """The distribution of the moves."""
        distribution: Any = self.action_dist
        log_probs, _ = self.log_probs_and_values(obs, action_masks)
        result: MaskableDistribution = distribution.proba_distribution(log_probs)
        return result

    def predict_values(self, obs: Any) -> torch.Tensor:
        """Values (B, 1)."""
        return self.log_probs_and_values(obs)[1]


def policy_options(config: Config) -> dict[str, Any]:
    """The arguments of `BoardPolicy`."""
    return {
        "symmetry": config.symmetry,
        "entropy_power": config.entropy_power,
        "net_arch": {"pi": list(config.hidden), "vf": list(config.hidden)},
        "activation_fn": ACTIVATIONS[config.activation],
    }


def tables_of(policy: BoardPolicy, rules: Rules) -> tuple[TabularPolicy, TabularPolicy]:
    """The most probable moves in all positions, and the probabilities by which moves are drawn."""
    boards = positions_of(rules).boards[positions_of(rules).unfinished]
    with torch.no_grad():
        planes = torch.as_tensor(observe(boards, rules), device=policy.device)
        log_probs = policy.log_probs_and_values(planes)[0].cpu()
    best = one_hot(log_probs.argmax(dim=1).numpy(), rules.cells)
    return TabularPolicy(rules, best), TabularPolicy(rules, log_probs.exp().numpy())


def player(config: Config, model: Arrays) -> TabularPolicy:
    """The player of a saved model, on the CPU whatever `config.device` says."""
    with torch.random.fork_rng(devices=[]):
        policy = BoardPolicy(
            *board_spaces(config.rules), lambda _: config.learning_rate, **policy_options(config)
        )
    load_weights(policy, model)
    return tables_of(policy, config.rules)[0]


# --- the learner ---------------------------------------------------------------------------------


class Rollout(MaskableRolloutBuffer):
    """sb3-contrib's buffer with its own generator; theirs shuffles by NumPy's global one."""

    def __init__(self, *arguments: Any, seed: int = 0, **options: Any):
        self.rng = np.random.default_rng(seed)
        super().__init__(*arguments, **options)

    def get(  # type: ignore[override]
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Minibatches, in a new order at each call."""
        if not self.generator_ready:
            for name in SHUFFLED:
                setattr(self, name, self.swap_and_flatten(getattr(self, name)))
            self.generator_ready = True
        order = self.rng.permutation(self.buffer_size * self.n_envs)
        size = batch_size or len(order)
        for start in range(0, len(order), size):
            yield self._get_samples(order[start : start + size])


def build(config: Config) -> MaskablePPO:
    """The untrained algorithm with its games."""
    env = TicTacToeVecEnv(config.num_envs, config.exploring_starts, **asdict(config.rules))
    env.seed(config.seed)
    noise = torch.Generator()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        algorithm = MaskablePPO(
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
            policy_kwargs=policy_options(config),
            device=config.device,
        )
        noise.set_state(torch.get_rng_state())  # goes on from where the weights were drawn
    algorithm.policy.noise = noise  # type: ignore[assignment]
    return algorithm


def begin(config: Config) -> PPOLearner:
    """A learner that has made no step."""
    torch.set_num_threads(config.threads)
    return PPOLearner(config, build, config.num_envs * config.rollout_steps)


class PPOLearner(SB3Learner):
    """The network, and the generators that draw its moves and shuffle its batches."""

    def snapshot(self) -> TabularPolicy:
        """The learner as it explores, by its probabilities."""
        return tables_of(self.algorithm.policy, self.config.rules)[1]

    def start_round(self, steps: int) -> None:
        """Let the learning rate and the weight of the entropy fall."""
        super().start_round(steps)
        config = self.config
        rate = config.learning_rate / (1 + steps / config.learning_rate_half)
        self.algorithm.lr_schedule = FloatSchedule(rate)
        self.algorithm.ent_coef = config.entropy / (1 + steps / config.entropy_half)

    def policy(self) -> TabularPolicy:
        """Its most probable moves."""
        return tables_of(self.algorithm.policy, self.config.rules)[0]

    def model(self) -> Arrays:
        """The weights of the network."""
        return weights_of(self.algorithm.policy)

    def state(self) -> State:
        """All else: the two generators, and what all learners of Stable-Baselines3 save."""
        algorithm = self.algorithm
        noise, order = algorithm.policy.noise.get_state(), algorithm.rollout_buffer.rng
        return {**super().state(), "noise": noise.numpy(), "order": order}

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        load_weights(self.algorithm.policy, model)
        super().restore(model, state)
        self.algorithm.policy.noise.set_state(torch.from_numpy(state["noise"]))
        self.algorithm.rollout_buffer.rng = state["order"]


def export_sb3(config: Config, model: Arrays, path: Path) -> None:
    """Write Stable-Baselines3's own file, for `MaskablePPO.load` in a clone of this repository."""
    algorithm = build(replace(config, device="cpu"))
    load_weights(algorithm.policy, model)
    write_zip(algorithm, path)
