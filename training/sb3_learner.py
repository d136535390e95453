"""The common part of learners with an algorithm of Stable-Baselines3.

An agent derives its learner from `SB3Learner`, and adds the network, the update, and what else has
to be saved.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import cloudpickle  # type: ignore[import-untyped]  # Stable-Baselines3 requires it
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from tictactoe_env.files import write_file
from tictactoe_env.observation import observation_space
from tictactoe_env.sb3 import TicTacToeVecEnv
from training.board_network import Opening
from training.learner import Arrays, BoardPlayer, Learner, State, crossed
from training.selfplay import TrainingPool
from training.tally import DRAWS, LOSSES, WINS, Tally
from training.task import TaskConfig
from training.torch_arrays import load_moments, load_weights, moments_of, use_torch, weights_of


class SB3Learner(Learner):
    """A learner that trains an algorithm of Stable-Baselines3 in a `TicTacToeVecEnv`.

    build: makes the algorithm from the configuration. player: the function of the module that makes
    the player of a saved model. round_steps: environment steps of a rollout, from one update of the
    algorithm to the next.
    """

    CHARTS: ClassVar = {"windows.png": ("steps", WINS, DRAWS, LOSSES)}

    def __init__(
        self,
        config: Any,
        build: Callable[[Any], Any],
        player: Callable[[Any, Arrays], BoardPlayer],
        round_steps: int,
    ):
        use_torch(config.device, config.threads)
        self.config = config
        self.player = player
        self.round_steps = round_steps
        self.pool = TrainingPool(
            config.opponents,
            config.rules,
            config.snapshots,
            config.seed,
            snapshot_from=self.snapshot_from,
            sides=config.learned_sides,
            proof_positions=config.proof_positions,
            answers=config.counterexamples > 0,
        )
        self.pool.policy_from = self.policy_from
        self.tally = Tally()
        self.algorithm = build(config)
        self.algorithm.set_logger(Logger(None, []))
        self.algorithm.env.set_opponent(self.pool.pool())
        self.network = self.algorithm.policy  # whose weights are the model
        self.callback = Rounds(self)

    def set_rival(self, rival: Learner) -> None:
        """Say who the rival is, which makes its snapshots from weights."""
        self.pool.rival_from = rival.snapshot_from

    def add_rival(self, snapshot: BoardPlayer) -> None:
        """Add a snapshot of another learner to the opponents."""
        self.pool.add_rival(snapshot)
        self.algorithm.env.set_opponent(self.pool.pool())

    def policy_from(self, weights: Arrays) -> BoardPlayer:
        """The greedy policy of the network with these weights."""
        return self.player(self.config, weights)

    def snapshot_from(self, weights: Arrays) -> BoardPlayer:
        """The snapshot with these weights."""
        return self.policy_from(weights)

    def policy(self) -> BoardPlayer:
        """The greedy policy of the network."""
        return self.policy_from(self.model())

    def start_round(self, steps: int) -> None:
        """Add a snapshot to the opponents if one is due; called at the start of each rollout."""
        is_due = steps == 0 or crossed(steps - self.round_steps, steps, self.config.snapshot_every)
        if is_due and self.pool.takes_snapshots:
            self.pool.add(self.snapshot(), self.policy())
            self.algorithm.env.set_opponent(self.pool.pool())
            if self.pool.response is not None:
                found = self.pool.response.counterexamples
                self.algorithm.env.games.add_counterexamples(found)

    def advance(self, most: int) -> None:
        """Play and learn until `most` further steps are made."""
        self.algorithm.learn(most, self.callback, log_interval=None, reset_num_timesteps=False)
        self.steps = self.algorithm.num_timesteps

    def notes(self) -> dict[str, float]:
        """The number of games, and the results in windows of 1,000 games: see `Tally`.

        If snapshots are answered by a best response also the number of counterexamples, -1 where
        the proof was beyond the limit.
        """
        found = self.tally.notes()
        if self.pool.answers:
            response = self.pool.response
            found["counterexamples"] = -1 if response is None else len(response.counterexamples)
        return found

    def scalars(self) -> dict[str, float]:
        """The values that the algorithm has logged for TensorBoard since the last call."""
        logger = self.algorithm.logger
        found = {
            name: float(value)
            for name, value in logger.name_to_value.items()
            if "tensorboard" not in logger.name_to_excluded[name]
        }
        logger.dump()  # the logger has no outputs: this only clears it
        return found

    def model(self) -> Arrays:
        """The weights of the network."""
        return weights_of(self.network)

    def state(self) -> State:
        """The optimizer's moments, the games, the opponents and the tally."""
        return {
            "optimizer": moments_of(self.algorithm.policy.optimizer),
            "games": self.algorithm.env.games.state_dict(),
            "pool": self.pool.state(),
            "tally": asdict(self.tally),
        }

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        algorithm = self.algorithm
        load_weights(self.network, model)
        load_moments(algorithm.policy.optimizer, state["optimizer"])
        self.pool.restore(state["pool"])
        self.tally = Tally(**state["tally"])
        algorithm.env.set_opponent(self.pool.pool())
        algorithm.num_timesteps = self.steps
        # Unless these two private attributes are set, `learn` resets the environment.
        observations, _ = algorithm.env.games.load_state_dict(state["games"])
        algorithm._last_obs = observations  # noqa: SLF001
        algorithm._last_episode_starts = np.zeros(algorithm.n_envs, dtype=bool)  # noqa: SLF001


class Rounds(BaseCallback):
    """Calls the learner at the start of each rollout, and counts the games that have ended."""

    def __init__(self, learner: SB3Learner):
        super().__init__()
        self.learner = learner

    def _on_rollout_start(self) -> None:
        self.learner.start_round(self.model.num_timesteps)

    def _on_step(self) -> bool:
        self.learner.tally.add(self.locals["infos"])
        return True


class TaskEnv(TicTacToeVecEnv):
    """The games of a task. On the empty board its masks allow no other move than its opening."""

    def __init__(self, opening: Opening, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.opening = opening

    def action_masks(self) -> NDArray[np.bool_]:
        """The moves that the learner may make: (num_envs, cells) bool."""
        masks = super().action_masks()
        if self.opening.cell is not None:
            is_empty = ~self.games.boards.any(axis=1)
            masks[is_empty] = False
            masks[is_empty, self.opening.cell] = True
        return masks


def environment(config: TaskConfig) -> TaskEnv:
    """The games of a task, seeded."""
    win, draw, loss = config.rewards
    env = TaskEnv(
        Opening(config.opening, config.rules),
        config.num_envs,
        config.exploring_starts,
        config.counterexamples,
        **config.rules.to_json(),
        side="random" if config.side == "both" else config.side,
        early_draw=config.early_draw,
        rewards={"win": win, "draw": draw, "loss": loss},
        observation="planes",
    )
    env.seed(config.seed)
    return env


def policy_of(kind: Any, config: Any, **options: Any) -> Any:
    """A policy of this class with random weights, on the CPU. The global generator stays."""
    observations = observation_space(config.rules, "planes")
    actions = spaces.Discrete(config.rules.cells)
    with torch.random.fork_rng(devices=[]):
        return kind(observations, actions, lambda _: config.learning_rate, **options)


def export_zip(
    build: Callable[[Any], Any], networks: Sequence[str], config: Any, model: Arrays, path: Path
) -> None:
    """Write Stable-Baselines3's own zip. Unlike ours, it executes code when it is loaded.

    networks: which attributes of the algorithm get the weights of the model. The classes of this
    repository are in the zip as code, so it loads where only `tictactoe_env[sb3]` is installed, by
    the Python version that wrote it (3.11 by 3.11).
    """
    algorithm = build(config.replace(device="cpu"))
    for name in networks:
        load_weights(getattr(algorithm, name), model)
    modules = type(algorithm.policy).__module__.partition(".")[0]
    packages = [sys.modules[modules], sys.modules["training"]]
    for package in packages:
        cloudpickle.register_pickle_by_value(package)
    try:
        write_file(path, algorithm.save)
    finally:
        for package in packages:
            cloudpickle.unregister_pickle_by_value(package)
