"""Faults planted in correct algorithms, and what exact losses, wins and samples notice of them.

    python -m benchmarks.planted_faults          # figures of docs/learning_test.md
    python -m benchmarks.planted_faults --only DQN --seeds 1 --correct 2

Real projects had these faults; see the page. They are planted in MaskablePPO of sb3-contrib and in
MaskableDQN by the libraries' own means, buffers and wrappers. All see the boards as they are, since
a network that sees one image of each board learns so well that some faults don't show. Each is
trained with the seeds 0, 1, ..., and judged as O against random play:

- by its exact losses: noticed above MARGIN times the worst correct training, in how many trainings;
- by its exact wins: noticed below the worst of the correct trainings;
- by a hundred games: the probability, in per cent, that more games are lost than a test allows
  that correct code fails once in a hundred times.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from cyclopts import run
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.vec_env import VecEnvWrapper

from tictactoe_env.exact.evaluation import Evaluation, evaluate
from tictactoe_env.sb3 import MaskableDQN, TicTacToeVecEnv
from tictactoe_env.sb3.maskable_buffers import MaskableReplayBuffer

MARGIN = 1.5  # of the limit of losses over the worst correct training
GAMES = 100  # of a test by samples
SMALL = {"net_arch": [128, 128]}


class NoLosses(VecEnvWrapper):
    """Games in which the loser's reward is lost."""

    def reset(self) -> Any:
        """The first observations."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """One step; rewards below 0 are 0."""
        observations, rewards, dones, infos = self.venv.step_wait()
        return observations, np.maximum(rewards, 0), dones, infos


class LateRewards(NoLosses):
    """Games that give each reward one step too late."""

    _rewards = 0.0

    def step_wait(self) -> Any:
        """One step, with the rewards of the last one."""
        observations, rewards, dones, infos = self.venv.step_wait()
        late = np.zeros_like(rewards) + self._rewards
        self._rewards = rewards
        return observations, late, dones, infos


class EndlessAdvantages(MaskableRolloutBuffer):
    """Lets generalized advantages run over the end of a game."""

    def compute_returns_and_advantage(self, last_values: Any, dones: Any) -> None:
        """As of one game that does not end."""
        self.episode_starts[:] = 0
        super().compute_returns_and_advantage(last_values, np.zeros_like(dones))


def with_samples(buffer: Any, name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A class of buffers that changes the tensor of this name in its samples."""

    class Changed(buffer):
        def _get_samples(self, *arguments: Any, **keywords: Any) -> Any:
            found = super()._get_samples(*arguments, **keywords)
            return found._replace(**{name: change(getattr(found, name))})

    return Changed


def all_the_mean(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same shape, filled with the mean."""
    return torch.full_like(tensor, tensor.mean().item())


LostProbabilities = with_samples(MaskableRolloutBuffer, "old_log_prob", all_the_mean)
UnmaskedUpdate = with_samples(MaskableRolloutBuffer, "action_masks", torch.ones_like)
UnmaskedTarget = with_samples(MaskableReplayBuffer, "next_action_masks", torch.ones_like)
EndlessTarget = with_samples(MaskableReplayBuffer, "dones", torch.zeros_like)


class Library(NamedTuple):
    """A correct training, and the faults to plant in it, each as keywords of `train`.

    games: played at a time. steps, options: of the algorithm.
    """

    algorithm: Any
    games: int
    steps: int
    options: dict[str, Any]
    faults: dict[str, dict[str, Any]]

    def train(
        self,
        seed: int,
        steps: int | None = None,
        wrapper: Callable[[Any], Any] | None = None,
        **changes: Any,
    ) -> Evaluation:
        """Train, and evaluate. wrapper, changes: the faults."""
        games: Any = TicTacToeVecEnv(self.games, opponent="minimax-slip=0.3", exploring_starts=0.5)
        if wrapper is not None:
            games = wrapper(games)
        options = {**self.options, "policy_kwargs": SMALL, "seed": seed, **changes}
        model = self.algorithm("MlpPolicy", games, **options)
        return evaluate(model.learn(steps or self.steps).policy)  # wrappers change rewards only


PPO_OPTIONS = {
    "n_steps": 16, "batch_size": 1024, "learning_rate": 1e-3, "gamma": 1.0, "ent_coef": 0.01,
}  # fmt: skip
DQN_OPTIONS = {
    "learning_starts": 2_000, "learning_rate": 1e-3, "batch_size": 1024, "gamma": 1.0,
    "buffer_size": 100_000, "train_freq": 1, "target_update_interval": 2_000,
    "exploration_fraction": 0.3, "exploration_final_eps": 0.1,
}  # fmt: skip
PPO_FAULTS: dict[str, dict[str, Any]] = {
    "old log-probabilities lost": {"rollout_buffer_class": LostProbabilities},
    "mask not applied in the update": {"rollout_buffer_class": UnmaskedUpdate},
    "advantages run over the end of a game": {"rollout_buffer_class": EndlessAdvantages},
    "the loser's reward lost": {"wrapper": NoLosses},
    "rewards one step late": {"wrapper": LateRewards},
}
DQN_FAULTS: dict[str, dict[str, Any]] = {
    "mask not applied in the target": {"replay_buffer_class": UnmaskedTarget},
    "targets run over the end of a game": {"replay_buffer_class": EndlessTarget},
    "target network never updated": {"target_update_interval": 10**9},
    "the loser's reward lost": {"wrapper": NoLosses},
    "rewards one step late": {"wrapper": LateRewards},
}
LIBRARIES = {
    "MaskablePPO": Library(MaskablePPO, 256, 98_304, PPO_OPTIONS, PPO_FAULTS),
    "DQN": Library(MaskableDQN, 64, 60_000, DQN_OPTIONS, DQN_FAULTS),
}


def more_losses(allowed: int, share: float) -> float:
    """The probability that of GAMES games more than `allowed` are lost, each with this one."""
    terms = range(allowed + 1)
    fewer = (math.comb(GAMES, n) * share**n * (1 - share) ** (GAMES - n) for n in terms)
    return max(0.0, 1 - sum(fewer))


def allowed_losses(correct: list[Evaluation]) -> int:
    """The fewest losses that a test by GAMES games must allow; see above."""

    def fails(allowed: int) -> float:
        return statistics.mean(more_losses(allowed, found.o.loss) for found in correct)

    return next(allowed for allowed in range(GAMES) if fails(allowed) < 0.01)


def main(seeds: int = 5, correct: int = 20, only: str | None = None) -> None:
    """Train, and print the tables.

    Parameters
    ----------
    seeds
        Trainings with each fault.
    correct
        Trainings without one.
    only
        One of the algorithms: MaskablePPO or DQN.
    """
    torch.set_num_threads(1)
    for name in LIBRARIES if only is None else [only]:
        library = LIBRARIES[name]
        begun = time.process_time()
        good = [library.train(seed) for seed in range(correct)]
        seconds = (time.process_time() - begun) / correct
        limit = MARGIN * max(found.o.loss for found in good)
        fewest, allowed = min(found.o.win for found in good), allowed_losses(good)
        print(f"\n{name}: {seconds:.1f} processor seconds each; limits of")
        print(f"{100 * limit:.2f} % losses, {100 * fewest:.2f} % wins, {allowed} losses in {GAMES}")
        print("| fault | loses, % | wins, % | by losses | by wins | by 100 games, % |")
        print("| --- | --- | --- | --- | --- | --- |")
        print(row("none", good, limit, fewest, allowed), flush=True)
        for fault, changes in library.faults.items():
            found = [library.train(seed, **changes) for seed in range(seeds)]
            print(row(fault, found, limit, fewest, allowed), flush=True)


def row(fault: str, found: list[Evaluation], limit: float, fewest: float, allowed: int) -> str:
    """A row of the table: smallest and largest, and what is noticed by each measure."""
    losses = [one.o.loss for one in found]
    wins = [one.o.win for one in found]
    spans = [f"{100 * min(some):.2f}-{100 * max(some):.2f}" for some in (losses, wins)]
    by_losses = f"{sum(loss > limit for loss in losses)}/{len(found)}"
    by_wins = f"{sum(win < fewest for win in wins)}/{len(found)}"
    by_games = statistics.mean(more_losses(allowed, loss) for loss in losses)
    return f"| {' | '.join([fault, *spans, by_losses, by_wins, f'{100 * by_games:.0f}'])} |"


if __name__ == "__main__":
    run(main)
