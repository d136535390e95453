"""Tabular Q-learning: a table holds the value of every move and learns from finished games.

Watkins and Dayan 1992 (https://link.springer.com/article/10.1007/BF00992698), after the Q table of
nestedsoftware/tictac
(https://nestedsoftware.com/2019/07/25/tic-tac-toe-with-tabular-q-learning-1kdn.139811.html). The
value of a move is the value of the position after it, for the side that moved. The table therefore
holds one value for each position. Moves that lead to the same position share it, and so do
positions that are equal under symmetry. On 3x3 the table has at most 764 entries with symmetry and
5,477 without it; each evaluation shows how many were learned so far.

- A round is a batch of games, half of them as X and half as O. All are played to their ends with
  the same table. The update then goes from the last move of each game back to the first, so a
  result reaches the first move at once.
- All games of a round that reached a position update its value together. They move it by as much as
  they would one after the other: by 1 - (1 - rate)^games towards the mean of their targets.
- The step size of a position falls with the number of games that reached it, as games^-0.85. This
  power converges fastest according to Even-Dar and Mansour 2003
  (https://www.jmlr.org/papers/v5/evendar03a.html). `rate_power=0` keeps it constant.
- With several tables (double Q-learning, van Hasselt 2010,
  https://papers.nips.cc/paper/3964-double-q-learning) each game updates one of them. That table
  chooses the next move, and the mean of the others gives its value. The player uses the mean of all
  tables.

The values converge to the best response to the opponents. The best response to uniformly random
play wins more often than any player that never loses, and can be beaten as O. The opponent
`minimax-slip=0.6` plays a random legal move with probability 0.6, decided anew at each move, and
perfectly otherwise. Against it every value depends on the position alone, and the best response is
unbeatable and reaches the best achievable results as X and as O. nestedsoftware/tictac rewards a
draw as much as a win, so its player never loses and seldom wins. `--preset tictac` is that
training, but for both sides at once and in small batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tictactoe_env.errors import unknown_name
from tictactoe_env.exact.positions import Positions, positions_of
from training.checkpoint import take
from training.learner import Arrays, BoardPlayer, Learner, State, crossed
from training.options import (
    BoardConfig,
    Count,
    Finite,
    Kept,
    PositiveShare,
    Share,
    option,
)
from training.search_space import Range
from training.selfplay import Moves, SelfPlay, play_games
from training.values import ValuedTable, reward_scale

AGENT = "tabular_q"
TITLE = "Q-learner"
STORY = (
    "A table holds a number for every position: the result to expect from there. It starts "
    "empty. After each game the numbers of the positions on the way move towards the result."
)
GOAL = "optimal"
SMALL = (
    "--games 32 --judge-every 500 --steps 1500 --snapshot-every 300 --snapshots 3 --opponents "
    "random:0.5,self:0.5 --turns cycled"
)
REWARDS = {
    "win-loss": (1.0, 0.0, -1.0),
    "not-losing": (1.0, 1.0, 0.0),
    "winning": (1.0, 0.0, 0.0),
}
TENTHS = 10  # parts of `anneal_steps`; epsilon falls at the end of each

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Config(BoardConfig):
    """The options of a training. A step is a move of the learner.

    Schedules do not depend on `steps`, so a longer training begins exactly as a shorter one does.
    """

    PLAYS = ("tables", "symmetry")

    steps: Count = option(
        20_000_000,
        "Moves of the learner after which training ends, at the end of a round.",
    )
    opponents: str = option(
        "minimax-slip=0.6",
        'Opponents, as name:weight,...; "self" means snapshots of the learner, "rival" those of '
        "--rival.",
    )
    turns: Literal["drawn", "cycled"] = option(
        "drawn",
        "Choice of the opponent of a game: drawn by the weights, or cycled one after the other.",
    )
    rewards: str = option(
        "win-loss",
        "Rewards of a win, a draw and a loss: win-loss (1,0,-1), not-losing (1,1,0), winning "
        "(1,0,0), or three numbers.",
    )
    symmetry: bool = option(
        True, "Whether positions that are equal under symmetry share their value."
    )
    tables: Kept = option(2, "Number of tables; with two or more, double Q-learning.")
    games: Annotated[int, Field(ge=2, le=10_000_000)] = option(1_024, "Number of games in a round.")
    learning_rate: PositiveShare = option(
        1.0, "Step size of the first game that reaches a position."
    )
    rate_power: Share = option(
        0.85,
        "Power of the number of games by which the step size of a position falls: 0 for a "
        "constant step size, 1 for the plain mean.",
    )
    discount: Share = option(1.0, "Discount factor for each move of the learner.")
    initial: Finite = option(0.0, "Initial value of a position.")
    epsilon: Share = option(0.7, "Probability of a random legal move at the start.")
    epsilon_drop: Share = option(0.1, "Decrease of epsilon after each tenth of --anneal-steps.")
    epsilon_end: Share = option(0.3, "Lowest probability of a random legal move.")
    anneal_steps: Count = option(500_000, "Length of the epsilon schedule in moves of the learner.")
    judge_every: Count = option(20_000, "Moves of the learner between two exact evaluations.")
    snapshot_every: Count = option(
        50_000,
        "Moves of the learner between two snapshots; used only if self is an opponent, and as "
        "the length of a turn against a rival.",
    )
    snapshots: Kept = option(8, "Number of snapshots that are kept as opponents.")
    snapshot_epsilon: Share = option(0.3, "Probability of a random legal move of a snapshot.")

    def check(self) -> None:
        """Raises ValueError for unknown rewards."""
        parse_rewards(self.rewards)


SEARCH = {
    "opponents": (
        "minimax-slip=0.6",
        "minimax-slip=0.4",
        "random:0.5,self:0.5",
        "self:0.75,random:0.25",
    ),
    "tables": Range(1, 4),
    "games": Range(64, 4_096, log=True),
    "learning_rate": Range(0.1, 1.0, log=True),
    "rate_power": Range(0.5, 1.0),
    "epsilon": Range(0.3, 1.0),
    "epsilon_end": Range(0.05, 0.6),
    "anneal_steps": Range(50_000, 2_000_000, log=True),
}


def parse_rewards(text: str) -> tuple[float, float, float]:
    """The rewards of a win, a draw and a loss, from a name in REWARDS or text such as "1,0.5,0".

    Raises ValueError for anything else.
    """
    if text in REWARDS:
        return REWARDS[text]
    if "," not in text:
        raise unknown_name("rewards", text, REWARDS)
    try:
        win, draw, loss = (float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(
            f"rewards must be one of {', '.join(REWARDS)}, or three numbers such as "
            f'"1,0,-1" for win, draw and loss, got {text!r}'
        ) from None
    if not np.isfinite([win, draw, loss]).all():
        raise ValueError(f"rewards must be finite numbers, got {text!r}")
    return win, draw, loss


# --- the table ------------------------------------------------------------------------------------


def places_of(positions: Positions, symmetry: bool) -> Rows:
    """The column of the table with the value of each move: (N, cells), N for illegal moves."""
    children = positions.children
    shared = positions.canonical if symmetry else np.arange(len(positions))
    return np.where(children >= 0, shared[children], len(positions))


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player of a saved model."""
    positions = positions_of(config.rules)
    values = take(model, "values", (config.tables, len(positions)), np.float64)
    return table_of(config, positions, values)


def table_of(config: Config, positions: Positions, values: Floats) -> ValuedTable:
    """The player of the moves that are best in the mean of the tables (tables, N)."""
    mean = np.append(values.mean(axis=0), -np.inf)
    places = places_of(positions, config.symmetry)[positions.unfinished]
    worth = reward_scale(parse_rewards(config.rewards), config.discount)
    return ValuedTable(config.rules, mean[places], worth)


def begin(config: Config) -> TabularQ:
    """A new learner. Raises ValueError for an unknown opponent."""
    return TabularQ(config)


class TabularQ(Learner):
    """The tables, and the number of games that each value was learned from.

    values: (tables, N + 1), the value of each position for the side that has just moved. The last
    column is -inf, for illegal moves. games: (tables, N).
    """

    def __init__(self, config: Config):
        self.config, self.positions = config, positions_of(config.rules)
        self.values = np.full((config.tables, len(self.positions) + 1), config.initial)
        self.values[:, -1] = -np.inf
        self.games = np.zeros((config.tables, len(self.positions)))
        self.after = places_of(self.positions, config.symmetry)
        self.pool = SelfPlay(
            config.opponents, config.rules, config.snapshots, config.seed, config.snapshot_epsilon
        )
        self.rng = np.random.default_rng(config.seed)
        self.played = 0
        self.rewards = np.array(parse_rewards(config.rewards))
        self._take_snapshot()

    def _take_snapshot(self) -> None:
        if self.pool.takes_snapshots:
            self.pool.add(self.policy())

    @property
    def epsilon(self) -> float:
        """The current probability of a random legal move."""
        config = self.config
        tenth = TENTHS * self.steps // config.anneal_steps
        return max(config.epsilon_end, config.epsilon - tenth * config.epsilon_drop)

    # --- the learner ------------------------------------------------------------------------------

    def advance(self, most: int) -> None:
        """Play rounds until `most` further moves are made."""
        goal = self.steps + most
        while self.steps < goal:
            before = self.steps
            self.round()
            if self.pool.takes_snapshots and crossed(
                before, self.steps, self.config.snapshot_every
            ):
                self._take_snapshot()

    def policy(self) -> ValuedTable:
        """The greedy policy of the mean of the tables."""
        return table_of(self.config, self.positions, self.values[:, :-1])

    def meet(self, rival: BoardPlayer) -> None:
        """Add a snapshot of another learner to the opponents."""
        self.pool.add_rival(rival)

    def notes(self) -> dict[str, float]:
        """Games played, epsilon, and the entries of the table: positions with a learned value."""
        entries = int(self.games.any(axis=0).sum())
        return {"games": self.played, "epsilon": self.epsilon, "entries": entries}

    def model(self) -> Arrays:
        """The tables."""
        return {"values": self.values[:, :-1]}

    def state(self) -> State:
        """The number of games behind each value, the snapshots and the generators."""
        pool = self.pool.state()
        return {"games": self.games, "played": self.played, "rng": self.rng, "pool": pool}

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        shape = self.games.shape
        self.values[:, :-1] = take(model, "values", shape, np.float64)
        self.games = take(state, "games", shape, np.float64)
        self.played, self.rng = state["played"], state["rng"]
        self.pool.restore(state["pool"])

    # --- a round ----------------------------------------------------------------------------------

    def round(self) -> None:
        """Play a round of games to their ends and learn from them."""
        config = self.config
        games = np.arange(config.games)
        is_x = games % 2 == 0
        opponents = self.pool.opponents(config.turns)
        which = opponents.choose(self.played // 2 + games // 2, self.rng)
        mean, epsilon = self.values.mean(axis=0), self.epsilon
        moves, ends = play_games(
            lambda rows: self._choose(rows, mean, epsilon), is_x, opponents, which, self.rng
        )
        self.learn(moves, ends, is_x)
        self.played += config.games
        self.steps += sum(len(made.games) for made in moves)

    def _choose(self, rows: Rows, mean: Floats, epsilon: float) -> Rows:
        """Epsilon-greedy moves (B,); ties are broken at random."""
        values = mean[self.after[rows]]
        legal = values > -np.inf
        best = values == values.max(axis=1, keepdims=True)
        explores = self.rng.random(len(rows)) < epsilon
        return pick(np.where(explores[:, None], legal, best), self.rng)

    def learn(self, moves: list[Moves], ends: Rows, is_x: NDArray[np.bool_]) -> None:
        """Update the values from the last move of each game back to the first.

        The target of the last move is the reward, that of any other move is the best next value.
        ends: (games,) the last position of each game. is_x: (games,) whether the learner is X.
        """
        config = self.config
        outcome = self.positions.outcome_x[ends] * np.where(is_x, 1, -1)
        target = self.rewards[1 - outcome]
        updated = np.zeros(config.games, dtype=np.intp)
        if config.tables > 1:
            updated = self.rng.integers(config.tables, size=config.games)
        for own, rows, cells in reversed(moves):
            tables = updated[own]
            self.update(tables, self.after[rows, cells], target[own])
            target[own] = config.discount * self.best(tables, rows)

    def best(self, tables: Rows, rows: Rows) -> Floats:
        """The value (B,) of the best move in these positions (B,), by double Q-learning.

        The table of each game chooses the move, and the mean of the other tables gives its value. A
        single table gives the value itself.
        """
        after = self.after[rows]
        values = self.values[tables[:, None], after]
        if len(self.values) == 1:
            return values.max(axis=1)
        best = after[np.arange(len(rows)), values.argmax(axis=1)]
        others = self.values[:, best].sum(axis=0) - self.values[tables, best]
        return others / (len(self.values) - 1)

    def update(self, tables: Rows, places: Rows, targets: Floats) -> None:
        """Move values towards the mean of their targets, as far as the games would one by one.

        tables, places: (B,) the rows and columns of `values`. targets: (B,).
        """
        flat, shape = tables * len(self.positions) + places, self.games.shape
        met = np.bincount(flat, minlength=self.games.size).reshape(shape)
        sums = np.bincount(flat, targets, self.games.size).reshape(shape)
        table, place = np.nonzero(met)
        count, before = met[table, place], self.games[table, place]
        self.games[table, place] += count
        middle = (1 + before + self.games[table, place]) / 2  # mean of the first and the last game
        rate = self.config.learning_rate * middle**-self.config.rate_power
        moved = 1 - (1 - np.minimum(rate, 1.0)) ** count
        mean = sums[table, place] / count
        self.values[table, place] += moved * (mean - self.values[table, place])


def pick(which: NDArray[np.bool_], rng: np.random.Generator) -> Rows:
    """A random one of the True cells in each row (B, cells): (B,)."""
    sums = which.cumsum(axis=1)
    return (sums <= np.floor(rng.random(len(which)) * sums[:, -1])[:, None]).sum(axis=1)
