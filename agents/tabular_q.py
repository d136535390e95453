"""Tabular Q-learning: a table holds the value of every move and learns from finished games.

Q-learning (Watkins and Dayan 1992); the table follows nestedsoftware/tictac. The value of a move is
the value of the position after it, for the side that moved; symmetric positions share it. The
learner's own moves are updated, from the last to the first: `value += rate * (target - value)`. The
last target is the reward. An earlier one is `discount` times the value of the best next own move,
with the same sign, because the opponent belongs to the environment. The rate falls with the number
of games as Even-Dar and Mansour (2003) propose.

The maximum of noisy values is too high. In double Q-learning (van Hasselt 2010) each game therefore
updates a random table: in targets this table picks the best next move, and the mean of the others
is its value. The learned best response to perfect play with 60 % random moves is unbeatable on 3x3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import NO_CHILD, positions_of
from tictactoe_env.policy import sample
from training.learner import Arrays
from training.options import BoardConfig, Count, Kept, Positive, Rewards, Share, option
from training.search_space import Range
from training.selfplay import OPPONENTS, Moves, PoolLearner, Rows, TrainingPool, play_games
from training.values import ValuedTable, reward_scale

AGENT = "tabular_q"
TITLE = "Q-learner"
STORY = "A table holds the expected result of every position. Each game corrects those it visits."
GOAL = "optimal"
SMALL = "--games 32 --judge-every 500 --steps 1500 --snapshot-every 300 --opponents random:1,self:1"
SEARCH = {
    "tables": Range(1, 4),
    "games": Range(64, 4_096, log=True),
    "learning_rate": Range(0.1, 1.0, log=True),
    "rate_power": Range(0.5, 1.0),
    "epsilon": Range(0.3, 1.0),
    "epsilon_end": Range(0.05, 0.6),
    "anneal_steps": Range(50_000, 2_000_000, log=True),
}


class Config(BoardConfig):
    """The options of a training run. A step is a move of the learner."""

    steps: Count = option(20_000_000, "Moves of the learner after which training ends.")
    judge_every: Count = option(
        20_000, "Moves of the learner between two exact evaluations.", rare=True
    )
    opponents: str = option("minimax-slip=0.6", OPPONENTS)
    rewards: Rewards = option((1.0, 0.0, -1.0), "Rewards of a win, a draw and a loss.")
    symmetry: bool = option(True, "Whether symmetric positions share a value.")
    tables: Kept = option(2, "Number of tables; with two or more, double Q-learning.")
    games: Count = option(1_024, "Number of games in a round.")
    learning_rate: Positive = option(1.0, "Step size of the first game that reaches a position.")
    rate_power: Share = option(0.85, "Power p: the n-th game has step size learning_rate * n**-p.")
    epsilon: Share = option(0.7, "Probability of a random legal move at the start.")
    epsilon_end: Share = option(0.3, "Lowest probability of a random legal move.")
    anneal_steps: Count = option(500_000, "Epsilon falls by 0.1 after each tenth of these moves.")
    snapshot_every: Count = option(50_000, "Moves between two snapshots, or turns of a rival.")
    discount: Share = option(1.0, "Discount factor for each move of the learner.", rare=True)
    snapshots: Kept = option(8, "Number of snapshots that are kept as opponents.", rare=True)
    snapshot_epsilon: Share = option(
        0.3, "Probability that a snapshot makes a random legal move.", rare=True
    )


def places_of(config: Config) -> Rows:
    """The row of the position after each move, in its symmetric form; N for illegal moves."""
    positions = positions_of(config.rules)
    shared = positions.canonical if config.symmetry else np.arange(len(positions))
    children = positions.children
    return np.where(children != NO_CHILD, shared[children], len(positions))


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player that makes the move with the highest mean value over the tables."""
    means = model["values"].mean(axis=0)
    with_illegal = np.append(means, -np.inf)
    places = places_of(config)[positions_of(config.rules).unfinished]
    worth = reward_scale(config.rewards, config.discount)
    return ValuedTable(config.rules, with_illegal[places], worth)


class TabularQ(PoolLearner):
    """Tables of the values of positions, for the side that has just moved.

    values: (tables, N + 1); the last column is -inf and stands for illegal moves.
    games: (tables, N), the number of games in which each value was updated.
    after: (N, cells), the column of each move's value. played: the number of games.
    """

    STATE = ("values", "games", "played", "rng", "pool")

    def __init__(self, config: Config):
        self.config = config
        self.positions = positions_of(config.rules)
        self.after = places_of(config)
        self.values = np.zeros((config.tables, len(self.positions) + 1))
        self.values[:, -1] = -np.inf  # of illegal moves
        self.games = np.zeros((config.tables, len(self.positions)))
        self.played = 0
        self.rng = np.random.default_rng(config.seed)
        self.pool = TrainingPool(
            config.opponents,
            config.rules,
            size=config.snapshots,
            seed=config.seed,
            epsilon=config.snapshot_epsilon,
        )
        self.take_snapshot()

    def policy(self) -> ValuedTable:
        """The policy as it is now, without exploration."""
        return player(self.config, self.model())

    def notes(self) -> dict[str, float]:
        """Games played, epsilon, and the number of positions with a learned value."""
        entries = int(self.games.any(axis=0).sum())
        return {"games": self.played, "epsilon": self.epsilon, "entries": entries}

    def model(self) -> Arrays:
        """The tables, without the column of illegal moves."""
        return {"values": self.values[:, :-1]}

    @property
    def epsilon(self) -> float:
        """The current probability of a random legal move."""
        config = self.config
        tenths = 10 * self.steps // config.anneal_steps  # that are over
        return max(config.epsilon_end, config.epsilon - tenths * 0.1)

    def round(self) -> None:
        """Play a round of games to their ends and learn from them."""
        is_x = np.arange(self.config.games) % 2 == 0

        def choose(rows: Rows) -> Rows:  # epsilon-greedy by the mean of the tables
            values = self.values.mean(axis=0)[self.after[rows]]
            is_best = values == values.max(axis=1, keepdims=True)
            explores = self.rng.random((len(rows), 1)) < self.epsilon
            allowed = np.where(explores, values > -np.inf, is_best)
            return sample(allowed.astype(np.float64), self.rng)  # ties at random

        moves, results = play_games(choose, is_x, self.pool.opponents(), self.rng)
        self.learn(moves, results)
        self.played += len(is_x)
        self.steps += sum(len(made.games) for made in moves)

    def learn(self, moves: list[Moves], outcome: Rows) -> None:
        """Update the values, from the last own moves back to the first. outcome: (G,) 1, 0, -1."""
        place = 1 - outcome  # 0, 1 or 2, as in `rewards`
        target = np.array(self.config.rewards)[place]
        # The table that each game updates.
        table = self.rng.integers(self.config.tables, size=len(outcome))
        for games, rows, cells in reversed(moves):
            self.update(table[games], self.after[rows, cells], target[games])
            # The target of the learner's previous move in these games.
            target[games] = self.config.discount * self.best(table[games], rows)

    def best(self, table: Rows, rows: Rows) -> NDArray[np.float64]:
        """The value (B,) of the best move at `rows` (B,): `table` picks it, the others value it."""
        after = self.after[rows]
        values = self.values[table[:, None], after]
        if len(self.values) == 1:
            return values.max(axis=1)
        chosen = after[np.arange(len(rows)), values.argmax(axis=1)]
        others = self.values[:, chosen].sum(axis=0) - self.values[table, chosen]
        return others / (len(self.values) - 1)

    def update(self, table: Rows, places: Rows, targets: NDArray[np.float64]) -> None:
        """Move each value about as far as its targets (B,) would move it one after another."""
        pairs = table * len(self.positions) + places
        entries, which, count = np.unique(pairs, return_inverse=True, return_counts=True)
        at = np.divmod(entries, len(self.positions))  # table and place
        mean = np.bincount(which, targets) / count
        number = self.games[at] + (1 + count) / 2  # of the middle one of these games
        rate = self.config.learning_rate * number**-self.config.rate_power
        rate = np.minimum(rate, 1.0)
        way = 1 - (1 - rate) ** count  # of `count` steps to the mean
        self.values[at] += way * (mean - self.values[at])
        self.games[at] += count


begin = TabularQ
