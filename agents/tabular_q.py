"""Tabular Q-learning: a table holds the value of every move and learns from finished games.

Watkins and Dayan 1992, after the Q table of nestedsoftware/tictac. The value of a move is that of
the position after it, for the side that moved; symmetric positions share it. A round of games is
learned from the last moves back to the first. All its games move a value together, as far as they
would one by one; the step size falls as games^-0.85 (Even-Dar and Mansour 2003). With several
tables (double Q-learning, van Hasselt 2010) each game updates one, which chooses the next move; the
others value it. The values become those of a best response: to `minimax-slip=0.6` it is unbeatable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.policy import draw
from training.learner import Arrays
from training.options import BoardConfig, Count, Kept, Positive, Rewards, Share, option
from training.search_space import Range
from training.selfplay import OPPONENTS, Moves, PoolLearner, Rows, SelfPlay, play_games
from training.values import ValuedTable, reward_scale

AGENT = "tabular_q"
TITLE = "Q-learner"
STORY = "A table holds the expected result of every position. Each game corrects those on its way."
GOAL = "optimal"
SMALL = "--games 32 --judge-every 500 --steps 1500 --snapshot-every 300 --opponents random:1,self:1"
SEARCH = {
    **{"tables": Range(1, 4), "games": Range(64, 4_096, log=True), "epsilon": Range(0.3, 1.0)},
    **{"learning_rate": Range(0.1, 1.0, log=True), "rate_power": Range(0.5, 1.0)},
    **{"epsilon_end": Range(0.05, 0.6), "anneal_steps": Range(50_000, 2_000_000, log=True)},
}
Floats = NDArray[np.float64]


class Config(BoardConfig):
    """The options of a training. A step is a move of the learner."""

    steps: Count = option(20_000_000, "Moves of the learner after which training ends.")
    judge_every: Count = option(20_000, "Moves of the learner between two exact evaluations.")
    opponents: str = option("minimax-slip=0.6", OPPONENTS)
    rewards: Rewards = option((1.0, 0.0, -1.0), "Rewards of a win, a draw and a loss.")
    symmetry: bool = option(True, "Whether symmetric positions share their value.")
    tables: Kept = option(2, "Number of tables; with two or more, double Q-learning.")
    games: Count = option(1_024, "Number of games in a round.")
    learning_rate: Positive = option(1.0, "Step size of the first game that reaches a position.")
    rate_power: Share = option(0.85, "Power of the games by which the step size falls.")
    epsilon: Share = option(0.7, "Probability of a random legal move at the start.")
    epsilon_end: Share = option(0.3, "Lowest probability of a random legal move.")
    anneal_steps: Count = option(500_000, "Moves in which epsilon falls, by 0.1 in each tenth.")
    snapshot_every: Count = option(50_000, "Moves between two snapshots, or turns of a rival.")
    discount: Share = 1.0
    snapshots: Kept = 8
    snapshot_epsilon: Share = 0.3


def places_of(config: Config) -> Rows:
    """The column of the table with the value of each move: (N, cells), N for illegal moves."""
    positions = positions_of(config.rules)
    shared = positions.canonical if config.symmetry else np.arange(len(positions))
    return np.where(positions.children >= 0, shared[positions.children], len(positions))


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player of the moves that are best in the mean of the tables."""
    positions = positions_of(config.rules)
    values = model["values"]
    mean = np.append(values.mean(axis=0), -np.inf)[places_of(config)[positions.unfinished]]
    return ValuedTable(config.rules, mean, reward_scale(config.rewards, config.discount))


class TabularQ(PoolLearner):
    """values: (tables, N + 1), for the side that has just moved. games: (tables, N), of each."""

    STATE = ("values", "games", "played", "rng", "pool")

    def __init__(self, config: Config):
        self.config, self.positions = config, positions_of(config.rules)
        self.values = np.zeros((config.tables, len(self.positions) + 1))
        self.values[:, -1] = -np.inf  # of illegal moves
        self.games = np.zeros((config.tables, len(self.positions)))
        self.after, self.rng = places_of(config), np.random.default_rng(config.seed)
        kept = config.snapshots, config.seed, config.snapshot_epsilon
        self.pool, self.played = SelfPlay(config.opponents, config.rules, *kept), 0
        self.take_snapshot()

    def policy(self) -> ValuedTable:
        """The greedy policy of the mean of the tables."""
        return player(self.config, self.model())

    def notes(self) -> dict[str, float]:
        """Games played, epsilon, and the number of positions with a learned value."""
        entries = int(self.games.any(axis=0).sum())
        return {"games": self.played, "epsilon": self.epsilon, "entries": entries}

    def model(self) -> Arrays:
        """The tables."""
        return {"values": self.values[:, :-1]}

    @property
    def epsilon(self) -> float:
        """The current probability of a random legal move."""
        tenth = 10 * self.steps // self.config.anneal_steps
        return max(self.config.epsilon_end, self.config.epsilon - tenth * 0.1)

    def round(self) -> None:
        """Play a round of games to their ends and learn from them."""
        is_x, opponents = np.arange(self.config.games) % 2 == 0, self.pool.opponents()
        which = opponents.pool.draw(self.rng, len(is_x))
        mean, epsilon = self.values.mean(axis=0), self.epsilon

        def choose(rows: Rows) -> Rows:  # epsilon-greedy; ties are broken at random
            values = mean[self.after[rows]]
            best = values == values.max(axis=1, keepdims=True)
            cells = np.where(self.rng.random((len(rows), 1)) < epsilon, values > -np.inf, best)
            return draw(cells.cumsum(axis=1).T, self.rng.random(len(rows)))

        moves, results = play_games(choose, is_x, opponents, which, self.rng)
        self.learn(moves, results)
        self.played += len(is_x)
        self.steps += sum(len(made.games) for made in moves)

    def learn(self, moves: list[Moves], outcome: Rows) -> None:
        """Update the values from the last moves back to the first. outcome: (games,) 1, 0 or -1."""
        target = np.array(self.config.rewards)[1 - outcome]
        tables = self.rng.integers(self.config.tables, size=len(outcome))
        for games, rows, cells in reversed(moves):
            self.update(tables[games], self.after[rows, cells], target[games])
            target[games] = self.config.discount * self.best(tables[games], rows)

    def best(self, tables: Rows, rows: Rows) -> Floats:
        """The value (B,) of the best move in these positions (B,), by double Q-learning."""
        after = self.after[rows]
        values = self.values[tables[:, None], after]
        if len(self.values) == 1:
            return values.max(axis=1)
        best = after[np.arange(len(rows)), values.argmax(axis=1)]
        others = self.values[:, best].sum(axis=0) - self.values[tables, best]
        return others / (len(self.values) - 1)

    def update(self, tables: Rows, places: Rows, targets: Floats) -> None:
        """Move values (B,) towards the mean of their targets, as far as one by one would."""
        flat, shape = tables * len(self.positions) + places, self.games.shape
        met = np.bincount(flat, minlength=self.games.size).reshape(shape)
        sums = np.bincount(flat, targets, self.games.size).reshape(shape)
        at = np.nonzero(met)
        count = met[at]
        middle = self.games[at] + (1 + count) / 2  # the mean of the first and the last game
        self.games[at] += count
        rate = self.config.learning_rate * middle**-self.config.rate_power
        moved = 1 - (1 - np.minimum(rate, 1.0)) ** count
        self.values[at] += moved * (sums[at] / count - self.values[at])


begin = TabularQ
