"""Monte Carlo control: the value of a move is the mean result of the games in which it was made."""

from __future__ import annotations

import numpy as np

from tictactoe_env.exact import positions_of
from training.learner import Arrays
from training.options import BoardConfig, Count, Share, option
from training.selfplay import PoolLearner, TrainingPool, play_games
from training.values import ValuedTable

AGENT = "monte_carlo"
TITLE = "Monte Carlo player"
SMALL = (
    "--games 32 --judge-every 500 --steps 1500 --snapshot-every 300 --opponents random:0.5,self:0.5"
)


class Config(BoardConfig):
    """Everything that decides what is learned."""

    steps: Count = option(3_000_000, "Moves of the learner after which training ends.")
    opponents: str = option("minimax-slip=0.6", "Opponents, as name:weight,...")
    epsilon: Share = option(0.3, "Probability of a random legal move.")
    games: Count = option(512, "Games in a round.")
    snapshot_every: Count = option(50_000, "Moves between two snapshots, the opponents named self.")
    snapshots: Count = option(8, "Number of snapshots that are kept as opponents.", rare=True)
    judge_every: Count = option(50_000, "Moves of the learner between two exact evaluations.")


def begin(config: Config) -> MonteCarlo:
    """A learner that has made no step."""
    return MonteCarlo(config)


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player of a saved model: the legal moves with the highest mean result."""
    positions = positions_of(config.rules)
    values = np.where(positions.children >= 0, means(model["sums"], model["visits"]), -np.inf)
    return ValuedTable(config.rules, values[positions.unfinished])


def means(sums: np.ndarray, visits: np.ndarray) -> np.ndarray:
    """The mean result of each move: (N, cells), 0 for moves that were never made."""
    return sums / np.maximum(visits, 1)


class MonteCarlo(PoolLearner):
    """sums, visits: (N, cells), the sum and the number of the results of each move."""

    MODEL = ("sums", "visits")
    STATE = ("rng", "pool")

    def __init__(self, config: Config):
        self.config, self.positions = config, positions_of(config.rules)
        self.sums, self.visits = np.zeros((2, *self.positions.children.shape))
        self.rng = np.random.default_rng(config.seed)
        self.pool = TrainingPool(config.opponents, config.rules, config.snapshots, config.seed)

    def round(self) -> None:
        """Play games, half of them as X, and add their results to all moves made in them."""
        is_x = np.arange(self.config.games) % 2 == 0
        moves, result = play_games(self.choose, is_x, self.pool.opponents(), self.rng)
        for made in moves:
            np.add.at(self.sums, (made.rows, made.cells), result[made.games])
            np.add.at(self.visits, (made.rows, made.cells), 1)
            self.steps += len(made.games)

    def choose(self, rows: np.ndarray) -> np.ndarray:
        """Epsilon-greedy moves (B,) in these positions (B,)."""
        legal = self.positions.children[rows] >= 0
        best = np.where(legal, means(self.sums[rows], self.visits[rows]), -np.inf).argmax(axis=1)
        random = (legal * self.rng.random(legal.shape)).argmax(axis=1)
        return np.where(self.rng.random(len(rows)) < self.config.epsilon, random, best)

    def policy(self) -> ValuedTable:
        """The moves with the highest mean result."""
        return player(self.config, self.model())
