"""MaskablePPO: a policy and a value network, trained on rollouts with masked moves.

Proximal policy optimization (Schulman et al. 2017, https://arxiv.org/abs/1707.06347) with invalid
actions masked (Huang and Ontañón 2020, https://arxiv.org/abs/2006.14171). This is sb3-contrib's
MaskablePPO with these differences:

- The policy reads the free cells from the board, and needs no mask.
- The network sees each board in canonical form, and cells that are images of each other share a
  logit.
- Advantages are not normalized and there is no discount by default. The entropy coefficient is
  therefore a temperature in units of the reward: moves whose values differ by less all keep some
  probability. It falls with the steps, and it is lower on fuller boards: an opening has to be
  explored for long, but its value depends on the moves that follow.
- A quarter of the games start from a random board (exploring starts), because a certificate
  examines every line of play, including those that good play avoids.
- Snapshots of the learner draw their moves by its probabilities. Those that always play the most
  probable move are so predictable that mistakes against them go unpunished.

docs/opponents.md says what is learned from which opponents.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.utils import FloatSchedule

from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.policy import one_hot
from tictactoe_env.rules import Rules
from training.board_network import Opening, network_options, planes_of
from training.canonical import CanonicalBoards
from training.learner import Arrays, BoardPlayer, State
from training.network_policy import LivePolicy, live_policy
from training.options import Count, Layers, NotNegative, Positive, Share, option
from training.sb3_learner import SB3Learner, environment, export_zip, policy_of
from training.search_space import Range
from training.selfplay import OPPONENTS
from training.task import LARGER_POOL, SNAPSHOTS, STARTS, TaskConfig
from training.torch_arrays import load_weights, weights_of

AGENT = "maskable_ppo"
TITLE = "PPO"
STORY = (
    "A neural network gives every move a probability. Moves that turned out better than "
    "expected are made more likely, the others less likely, in small steps."
)
GOAL = "optimal"
SMALL = (
    "--num-envs 64 --judge-every 1024 --hidden 32 --snapshot-every 512 "
    "--opponents minimax-slip=0.5:0.5,self:0.5 --batch-size 256"
)
# The logit of an illegal move, as in sb3-contrib. It is not -inf, because -inf * 0 is NaN.
TAKEN = -1e8


class Config(TaskConfig):
    """The options of a training, in environment steps; no schedule depends on `steps`."""

    opponents: str = option("minimax-slip=0.65:0.9,self:0.1", OPPONENTS, larger=LARGER_POOL)
    snapshot_every: Count = option(65_536, SNAPSHOTS, larger=24_576)
    exploring_starts: Share = option(0.25, STARTS, larger=0.1, rare=True)
    num_envs: Count = option(1_024, "Number of games played in parallel.", larger=256, rare=True)
    rollout_steps: Count = option(8, "Moves of each game before each update.", larger=32)
    batch_size: Count = option(2_048, "Number of moves in a minibatch.", larger=1_024)
    hidden: Layers = option((128, 128), "Units of the hidden layers.", larger=(256, 256))
    learning_rate: Positive = option(4e-3, "Adam's learning rate at the start.", larger=1e-3)
    entropy_half: Count = option(
        150_000, "Steps after which the entropy coefficient has halved.", larger=300_000
    )
    entropy: NotNegative = option(
        0.05, "Entropy coefficient at the start, in units of the reward.", rare=True
    )
    entropy_power: NotNegative = option(
        2.0,
        "Power of the share of free cells by which the entropy of a board counts.",
        larger=0.0,
        rare=True,
    )
    epochs: Count = option(6, "Passes over a rollout in an update.", larger=4, rare=True)
    learning_rate_half: Count = option(
        1_000_000, "Steps after which the learning rate has halved.", rare=True
    )
    gae_lambda: Share = option(
        0.9, "Lambda of generalized advantage estimation: 1 for whole games.", rare=True
    )
    clip_range: Positive = option(
        0.2, "Clipping range of the ratio of new and old probabilities.", rare=True
    )
    value_weight: Positive = option(0.5, "Weight of the value loss.", rare=True)
    max_grad_norm: Positive = option(0.5, "Largest norm of a gradient.", rare=True)


SEARCH = {
    "learning_rate": Range(5e-4, 1e-2, log=True),
    "entropy_half": Range(50_000, 1_000_000, log=True),
    "hidden": ("64,64", "128,128", "256,256"),
}


# --- the network ---------------------------------------------------------------------------------


class Outputs(NamedTuple):
    """The outputs of both networks for B boards, for the side whose marks are plane 0.

    log_probs: (B, cells), the log probabilities of the moves. values: (B, 1).
    """

    log_probs: torch.Tensor
    values: torch.Tensor


class BoardPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's policy on canonical boards. Its moves are cells of the board as it was given.

    noise: the CPU generator that draws the moves; None for torch's global generator.
    """

    noise: torch.Generator | None = None

    def __init__(
        self,
        *arguments: Any,
        rules: Rules,
        symmetry: bool,
        entropy_power: float,
        opening: str,
        **options: Any,
    ):
        super().__init__(*arguments, **options)
        self.canonical = CanonicalBoards(rules, symmetry)
        self.opening = Opening(opening, rules)
        self.entropy_power = entropy_power

    def outputs(self, obs: Any, action_masks: Any = None) -> Outputs:
        """The outputs of the networks for observations (B, 2, rows, cols).

        Cells that are occupied or masked (B, cells) have probability zero, and so have cells other
        than a prescribed opening.
        """
        planes = obs.float()
        boards, which, cells = self.canonical.distinct(planes)
        latent_policy, latent_value = self.mlp_extractor(self.features_extractor(boards))
        logits = self.action_net(latent_policy).index_select(0, which).gather(1, cells)
        values = self.value_net(latent_value).index_select(0, which)
        logits = logits.masked_fill(self.opening.drawn(planes)[:, None], 0.0)
        forbidden = self.opening.forbidden(planes)
        if action_masks is not None:
            masks = torch.as_tensor(action_masks, device=logits.device)
            forbidden = forbidden | ~masks.reshape(logits.shape).bool()
        return Outputs(logits.masked_fill(forbidden, TAKEN).log_softmax(dim=1), values)

    def forward(
        self, obs: Any, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Moves (B,), values (B, 1) and log probabilities of the moves (B,)."""
        log_probs, values = self.outputs(obs, action_masks)
        scores = log_probs
        if not deterministic:  # Gumbel-max: the argmax with noise is a sample
            noise = torch.empty(log_probs.shape).exponential_(generator=self.noise)
            # Drawn on the CPU, so that the noise is the same on all devices.
            scores = log_probs - noise.log().to(log_probs.device)
        actions = scores.argmax(dim=1)
        return actions, values, of_moves(log_probs, actions)

    def evaluate_actions(
        self, obs: Any, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Values (B, 1), log probabilities of the moves (B,) and entropies (B,).

        Each entropy is multiplied by a power of the share of free cells.
        """
        log_probs, values = self.outputs(obs, action_masks)
        free = 1 - obs.flatten(1).float().sum(dim=1) / log_probs.shape[1]
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)
        return values, of_moves(log_probs, actions), entropy * free**self.entropy_power

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableDistribution:
        """The distribution over the moves."""
        distribution: Any = self.action_dist
        log_probs = self.outputs(obs, action_masks).log_probs
        result: MaskableDistribution = distribution.proba_distribution(log_probs)
        return result

    def move_scores(self, planes: torch.Tensor) -> torch.Tensor:
        """Logits of the moves (B, cells), TAKEN for those that may not be made.

        planes: (B, 2, rows, cols). Equal boards are not looked for.
        """
        boards, _, cells = self.canonical.each(planes.float())
        latent = self.mlp_extractor.forward_actor(self.features_extractor(boards))
        logits = self.action_net(latent).gather(1, cells)
        return logits.masked_fill(self.opening.forbidden(planes), TAKEN)

    def predict_values(self, obs: Any) -> torch.Tensor:
        """Values (B, 1)."""
        return self.outputs(obs).values


def of_moves(log_probs: torch.Tensor, moves: torch.Tensor) -> torch.Tensor:
    """The log probabilities (B,) of these moves (B,), from those of all moves (B, cells)."""
    return log_probs.gather(1, moves[:, None]).squeeze(1)


def policy_options(config: Config) -> dict[str, Any]:
    """The arguments of `BoardPolicy`."""
    return {
        "rules": config.rules,
        "symmetry": config.symmetry,
        "entropy_power": config.entropy_power,
        "opening": config.opening,
        **network_options(config),
        "net_arch": {"pi": list(config.hidden), "vf": list(config.hidden)},
    }


def player(config: Config, model: Arrays, is_greedy: bool = True) -> TabularPolicy | LivePolicy:
    """The player of a saved model, on the CPU.

    is_greedy: whether it makes its most probable moves; otherwise it draws them.
    """
    rules = config.rules
    network = policy_of(BoardPolicy, config, **policy_options(config))
    load_weights(network, model)
    if rules.cells > TABULATED:
        return live_policy(config, model, network.move_scores, is_greedy)
    with torch.no_grad():
        log_probs = network.outputs(planes_of(rules)).log_probs
    if not is_greedy:
        return TabularPolicy(rules, log_probs.exp().numpy())
    best = one_hot(log_probs.argmax(dim=1).numpy(), rules.cells)
    return config.opened(TabularPolicy(rules, best))


# --- the learner ---------------------------------------------------------------------------------


class Rollout(MaskableRolloutBuffer):
    """sb3-contrib's rollout buffer with its own generator instead of NumPy's global one."""

    STORED = (  # its arrays, (steps, games, ...) while games are played
        "observations",
        "actions",
        "values",
        "log_probs",
        "advantages",
        "returns",
        "action_masks",
    )

    def __init__(self, *arguments: Any, seed: int = 0, **options: Any):
        self.rng = np.random.default_rng(seed)
        super().__init__(*arguments, **options)

    def get(  # type: ignore[override]
        self, batch_size: int
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Minibatches of all moves, in a new order at each call."""
        if not self.generator_ready:
            for name in self.STORED:
                setattr(self, name, self.swap_and_flatten(getattr(self, name)))
            self.generator_ready = True
        order = self.rng.permutation(self.buffer_size * self.n_envs)
        for start in range(0, len(order), batch_size):
            yield self._get_samples(order[start : start + batch_size])


def build(config: Config) -> MaskablePPO:
    """The untrained algorithm with its environment."""
    env = environment(config)
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
            gamma=config.discount,
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
        noise.set_state(torch.get_rng_state())  # continues after the initial weights
    algorithm.policy.noise = noise  # type: ignore[assignment]
    return algorithm


class PPOLearner(SB3Learner):
    """The networks, and the generators that draw the moves and shuffle the rollouts."""

    def __init__(self, config: Config):
        super().__init__(config, build, player, config.num_envs * config.rollout_steps)

    def snapshot(self) -> BoardPlayer:
        """The stochastic policy, by which the learner explores."""
        return self.snapshot_from(weights_of(self.network))

    def snapshot_from(self, weights: Arrays) -> BoardPlayer:
        """The stochastic policy of these weights."""
        return player(self.config, weights, is_greedy=False)

    def start_round(self, steps: int) -> None:
        """Take a snapshot if one is due, and set learning rate and entropy coefficient.

        Both fall as 1 / (1 + steps / half), each with a half of its own.
        """
        super().start_round(steps)
        config = self.config
        rate = config.learning_rate / (1 + steps / config.learning_rate_half)
        self.algorithm.lr_schedule = FloatSchedule(rate)
        self.algorithm.ent_coef = config.entropy / (1 + steps / config.entropy_half)

    def state(self) -> State:
        """The two generators, and the state of `SB3Learner`."""
        return {
            **super().state(),
            "noise": self.algorithm.policy.noise.get_state().numpy(),
            "order": self.algorithm.rollout_buffer.rng,
        }

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        super().restore(model, state)
        self.algorithm.policy.noise.set_state(torch.from_numpy(state["noise"]))
        self.algorithm.rollout_buffer.rng = state["order"]


begin = PPOLearner
export_sb3 = partial(export_zip, build, ("policy",))  # for `MaskablePPO.load` of sb3-contrib
