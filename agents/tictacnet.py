"""Neural Q-learning without masks: a network learns the rules because illegal moves lose.

The neural Q-learning of nestedsoftware/tictac
(https://nestedsoftware.com/2019/12/27/tic-tac-toe-with-a-neural-network-1fjn.206436.html): a
network of 9-36-36-9 units, 2,025 weights, maps the board to a value from 0 to 1 for each of the
nine cells. The hidden layers have ReLU, the output a sigmoid; `--hidden-activation` and
`--output-activation` choose other functions. Exploration, the maximum in the targets and the greedy
move are over all nine cells; nothing is masked. A move to a taken cell loses the game, in training
and in every evaluation.

nestedsoftware/tictac plays one game at a time for over an hour, and its network can often be
beaten. The differences here are:

- A round is a batch of games, half of them as X and half as O. All are played to their ends with
  the same network.
- The replay memory keeps every distinct transition (position, move, next position) once, with the
  number of times it occurred: some 9,000 entries on 3x3. The target of a move is the mean over all
  its transitions, so the only noise left is that of the mean. Batches are drawn from positions, not
  from transitions. Rare and frequent positions are drawn equally often, and each is weighted by the
  square root of its count.
- Small errors matter only among the best moves of a position. The weight of a move therefore falls
  with the distance of its target from the best.
- The optimizer is Adam. The target network is a running average of the network, and it plays.
- The gradient uses the slope of the sigmoid plus a constant (Fahlman 1988, "An empirical study of
  learning speed in back-propagation networks"). Without it a value near 1 that should be near 0
  hardly moves, and some values always end up there.
- Double Q-learning (van Hasselt et al. 2016, https://arxiv.org/abs/1509.06461): the network chooses
  the next move, and the target network gives its value. The maximum of nine uncertain values would
  be too large.
- The network sees each board in canonical form. Where symmetries map a board to itself, cells that
  are images of each other share one output.
- The opponent `minimax-slip=0.7` makes a random legal move with probability 0.7, decided anew at
  each *move*, and plays perfectly otherwise. A draw is worth half of a win. The value of a position
  then depends on the position alone. By backward induction the best response is unbeatable and
  reaches the best achievable results on both sides. The best response to purely random play can be
  beaten as O.

The network is so small that NumPy with hand-written gradients is faster than torch. The notes of
each evaluation and `illegal.png` show the exact share of illegal moves during training.

`--preset tictac` is the original training: random opponents, X first and then O, a draw worth as
much as a win, plain gradients, and each game learned from once. At every move all taken cells are
trained towards a loss, whether they were tried or not (`--shown-illegal`). Its demonstrations mask
the player; here it is evaluated without a mask. Games come in rounds instead of one at a time, and
a gradient step follows the mean of a round. The learning rate is therefore that of the original
times the number of moves in a round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tictactoe_env.exact.positions import Positions, positions_of
from training.checkpoint import take
from training.learner import Arrays, BoardPlayer, Chart, Learner, State, crossed
from training.options import (
    BoardConfig,
    Count,
    Kept,
    Layers,
    NotNegative,
    Positive,
    PositiveShare,
    Share,
    Size,
    option,
)
from training.search_space import Range
from training.selfplay import SelfPlay
from training.symmetry import Representatives
from training.values import ValuedTable, reward_scale

AGENT = "tictacnet"
TITLE = "Q-network without rules"
STORY = (
    "A neural network learns a value for all nine cells. Nobody tells it that a taken cell is "
    "forbidden: such a move loses the game, and so it learns the rules as well."
)
GOAL = "optimal"
SMALL = (
    "--games 32 --judge-every 500 --steps 1500 --snapshot-every 300 --snapshots 3 --opponents "
    "random:0.5,self:0.5 --updates 5"
)
TENTHS = 10  # parts of `anneal_steps`; epsilon falls at the end of each
BLOCK = 256  # boards in a forward pass; above this OpenBLAS starts threads, which is slower
LEAST_WEIGHT = (
    0.05  # weight of a move far from the best of its position; that of the best is 1 higher
)
DECAYS = (0.9, 0.999)  # decay rates of Adam's two moments
ILLEGAL = (  # the curves of illegal.png: column of metrics.csv, name, colour
    ("x_illegal", "games as X against random", "#0072b2"),
    ("o_illegal", "games as O against random", "#d55e00"),
    ("illegal_everywhere", "all positions", "#999999"),
)

Floats = NDArray[np.float32]
Rows = NDArray[np.intp]
Reward = Annotated[float, Field(ge=-1, le=1)]


class Activation(NamedTuple):
    """An activation function.

    of: its values (B, units) for sums (B, units). slope: its derivative, from these values.
    gain: the variance of new weights, times the number of inputs, that keeps signals at their size.
    """

    of: Callable[[Floats], Any]
    slope: Callable[[Floats], Any]
    gain: float = 1.0


ACTIVATIONS = {
    "relu": Activation(lambda sums: np.maximum(sums, 0), lambda values: values > 0, gain=2.0),
    "tanh": Activation(np.tanh, lambda values: 1 - values**2),
    "sigmoid": Activation(
        lambda sums: 1 / (1 + np.exp(-np.clip(sums, -30, 30))),
        lambda values: values * (1 - values),
    ),
    "linear": Activation(lambda sums: sums, np.ones_like),
}


@dataclass(frozen=True)
class Config(BoardConfig):
    """The options of a training. A step is a move of the learner.

    Schedules do not depend on `steps`, so a longer training begins exactly as a shorter one does.
    """

    PLAYS = ("hidden", "hidden_activation", "output_activation", "symmetry", "rewards")

    steps: Count = option(
        10_000_000,
        "Moves of the learner after which training ends, at the end of a round.",
    )
    judge_every: Count = option(20_000, "Moves of the learner between two exact evaluations.")
    side: Literal["both", "X", "O"] = option("both", "Side that is learned.")
    sides_in_turn: bool = option(
        False,
        "Whether X is learned for --anneal-steps and O afterwards, each with its own epsilon "
        "schedule, instead of both at once.",
    )
    opponents: str = option(
        "minimax-slip=0.7",
        'Opponents, as name:weight,...; "self" means snapshots of the learner, "rival" those of '
        "--rival.",
    )
    rewards: tuple[Reward, Reward, Reward] = option(
        (1.0, 0.5, 0.0),
        "Rewards of a win, a draw and a loss; an illegal move is a loss. With a sigmoid at the "
        "output they must be from 0 to 1.",
    )
    shown_illegal: bool = option(
        False,
        "Whether all taken cells of a position are trained towards a loss, even if not tried.",
    )
    symmetry: bool = option(
        True, "Whether positions that are equal under symmetry share their values."
    )
    double: bool = option(
        True,
        "Whether the network chooses the next move and the target network gives its value (double "
        "Q-learning).",
    )
    hidden: Layers = option((36, 36), "Units of the hidden layers.")
    hidden_activation: Literal["relu", "tanh", "sigmoid"] = option(
        "relu", "Activation function of the hidden layers."
    )
    output_activation: Literal["sigmoid", "tanh", "linear"] = option(
        "sigmoid",
        "Activation function of the output: values from 0 to 1, from -1 to 1, or without a limit.",
    )
    games: Annotated[int, Field(ge=2, le=10_000_000)] = option(512, "Number of games in a round.")
    exploring_starts: Share = option(0.2, "Share of the games that start from a random position.")
    epsilon: Share = option(0.7, "Probability of a random cell, free or taken, at the start.")
    epsilon_drop: Share = option(0.1, "Decrease of epsilon after each tenth of --anneal-steps.")
    epsilon_end: Share = option(0.2, "Lowest probability of a random cell.")
    anneal_steps: Count = option(
        5_000_000, "Length of the schedules of epsilon and learning rate in moves of the learner."
    )
    replay: bool = option(
        True,
        "Whether all transitions are kept; if not, those of a round are learned from once.",
    )
    updates: Count = option(20, "Number of updates after each round.")
    batch: Size = option(256, "Number of positions in the batch of an update.")
    optimizer: Literal["adam", "sgd"] = option("adam", "Optimizer of the network.")
    learning_rate: Positive = option(0.01, "Learning rate at the start.")
    learning_rate_end: Positive = option(
        0.0003,
        "Learning rate after --anneal-steps; it falls exponentially until then.",
    )
    lift: Share = option(
        0.1,
        "Constant added to the slope of a sigmoid or tanh at the output, so that wrong values near "
        "its limits can change.",
    )
    average: PositiveShare = option(
        0.01,
        "Polyak coefficient: weight of the network in the running average at each update.",
    )
    focus: NotNegative = option(
        0.2,
        "Distance from the best move of a position at which the weight of a move falls to 1/e; 0 "
        "for equal weights.",
    )
    snapshot_every: Count = option(
        50_000,
        "Moves of the learner between two snapshots; used only if self is an opponent, and as "
        "the length of a turn against a rival.",
    )
    snapshots: Kept = option(8, "Number of snapshots that are kept as opponents.")

    def check(self) -> None:
        """Raises ValueError for sides and rewards that cannot be learned."""
        if self.output_activation == "sigmoid" and min(self.rewards) < 0:
            raise ValueError(
                "rewards must be from 0 to 1 with a sigmoid at the output, got "
                f"{','.join(f'{reward:g}' for reward in self.rewards)}: choose "
                "--output-activation tanh or linear for values below 0"
            )
        if self.sides_in_turn and self.side != "both":
            raise ValueError(f"sides_in_turn learns both sides: leave side {self.side!r} out")
        if self.side == "O" and self.k == 1:
            raise ValueError("O never moves where a single mark wins: learn another side")


SEARCH = {
    "opponents": ("minimax-slip=0.7", "minimax-slip=0.5", "self:0.75,random:0.25"),
    "hidden": ("36", "36,36", "64,64", "128,128"),
    "games": ("128", "256", "512", "1024"),
    "exploring_starts": Range(0.0, 0.5),
    "epsilon_end": Range(0.05, 0.4),
    "updates": Range(5, 50, log=True),
    "batch": ("128", "256", "512"),
    "learning_rate": Range(1e-3, 3e-2, log=True),
    "lift": Range(0.0, 0.3),
    "average": Range(0.003, 0.1, log=True),
    "focus": Range(0.05, 1.0, log=True),
}


# --- the network -----------------------------------------------------------------------------


class Network:
    """A multilayer perceptron.

    sizes: the units of all layers, inputs first. hidden, output: the names of the ACTIVATIONS of
    the hidden layers and of the last one. flat: (P,) float32, all weights. layers: the weights
    (inputs, units) and biases (units,) of each layer, views of `flat`.
    """

    def __init__(self, sizes: Sequence[int], hidden: str = "relu", output: str = "sigmoid"):
        self.hidden, self.output = ACTIVATIONS[hidden], ACTIVATIONS[output]
        self.is_limited = output != "linear"
        shapes = list(pairwise(sizes))
        counts = [count for inputs, units in shapes for count in (inputs * units, units)]
        self.flat: Floats = np.zeros(sum(counts), dtype=np.float32)
        parts = np.split(self.flat, np.cumsum(counts)[:-1])
        self.layers = [
            (weights.reshape(shape), biases)
            for weights, biases, shape in zip(parts[::2], parts[1::2], shapes, strict=True)
        ]

    def draw(self, rng: np.random.Generator) -> None:
        """Draw the weights from normal distributions with a mean of 0.

        Their variance is 2 / inputs with ReLU (He et al. 2015), otherwise 1 / inputs.
        """
        for weights, biases in self.layers:
            weights[:] = rng.normal(size=weights.shape) * np.sqrt(self.hidden.gain / len(weights))
            biases[:] = 0

    def named(self) -> Arrays:
        """The weights by their names in a file, as views of `flat`."""
        return {
            f"{number}/{name}": array
            for number, layer in enumerate(self.layers)
            for name, array in zip(("weights", "biases"), layer, strict=True)
        }

    def values(self, boards: Floats) -> Floats:
        """Values of the cells (B, cells), within the limits of the output's activation."""
        starts = range(0, len(boards), BLOCK)
        return np.concatenate([self._forward(boards[at : at + BLOCK])[-1] for at in starts])

    def _forward(self, boards: Floats) -> list[Floats]:
        """The inputs of each layer, and the output of the last."""
        signals = [boards]
        for weights, biases in self.layers[:-1]:
            signals.append(self.hidden.of(signals[-1] @ weights + biases))
        weights, biases = self.layers[-1]
        return [*signals, self.output.of(signals[-1] @ weights + biases)]

    def gradient(
        self, boards: Floats, targets: Floats, weights: Floats, into: Network, lift: float = 0.0
    ) -> float:
        """The weighted sum of squared errors. Writes its gradient to `into`.

        boards, targets, weights: (B, cells). lift: constant added to the slope of the output, if
        its activation has limits.
        """
        *signals, values = self._forward(boards)
        errors = values - targets
        lifted = self.output.slope(values) + np.float32(lift * self.is_limited)
        slope = 2 * weights * errors * lifted
        for (matrix, _), (to_matrix, to_biases), signal in zip(
            self.layers[::-1], into.layers[::-1], signals[::-1], strict=True
        ):
            np.matmul(signal.T, slope, out=to_matrix)
            slope.sum(axis=0, out=to_biases)
            slope = (slope @ matrix.T) * self.hidden.slope(signal)
        return float((weights * errors**2).sum())


class View:
    """The boards that the network sees, and the outputs that hold the values of all positions.

    boards: (C, cells) +1 X, -1 O, 0 free. index: (N,) the board of each position.
    representative: (C, cells) the output for each cell of a board; cells that a symmetry of the
    board exchanges share one. output: (N, cells) the output for each cell of each position.
    """

    def __init__(self, positions: Positions, symmetry: bool):
        seen = Representatives(positions, symmetry)
        boards = positions.boards[seen.rows]
        self.boards, self.index = boards.astype(np.float32), seen.index
        self.representative = np.tile(np.arange(positions.rules.cells), (len(boards), 1))
        for permutation in seen.symmetries:
            same = (boards[:, permutation] == boards).all(axis=1)
            self.representative[same] = np.minimum(self.representative[same], permutation)
        to_seen = np.argsort(seen.cells, axis=1)
        self.output = np.take_along_axis(self.representative[self.index], to_seen, axis=1)

    def values(self, network: Network) -> Floats:
        """Values of the cells of all boards: (C, cells)."""
        return np.take_along_axis(network.values(self.boards), self.representative, axis=1)

    def values_at(self, network: Network, rows: Rows) -> Floats:
        """Values of the cells of unfinished positions, given by their rows (B,): (B, cells)."""
        values = network.values(self.boards)[self.index[rows]]
        return np.take_along_axis(values, self.output[rows], axis=1)


def network_of(config: Config) -> Network:
    """A network of the configured sizes and activations with all weights 0."""
    cells, functions = config.rules.cells, (config.hidden_activation, config.output_activation)
    return Network((cells, *config.hidden, cells), *functions)


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player of a saved model."""
    network, positions = network_of(config), positions_of(config.rules)
    for name, array in network.named().items():
        array[:] = take(model, name, array.shape, np.float32)
    values = View(positions, config.symmetry).values_at(network, positions.unfinished)
    return ValuedTable(config.rules, values, reward_scale(config.rewards))


# --- the learner -----------------------------------------------------------------------------


def begin(config: Config) -> TicTacNet:
    """A new learner. Raises ValueError for an unknown opponent."""
    return TicTacNet(config)


class TicTacNet(Learner):
    """The networks, the replay memory and the opponents.

    network is trained. target is its running average, which plays. keys: (K,) sorted, a number for
    each distinct transition (board, cell, next). counts: (K,) how often each occurred. Next is a
    board of the view; the last three numbers stand for a win, a draw and a loss.
    """

    def __init__(self, config: Config):
        self.config, self.positions = config, positions_of(config.rules)
        self.view = View(self.positions, config.symmetry)
        self.cells, self.nexts = config.rules.cells, len(self.view.boards) + 3
        self.rng = np.random.default_rng(config.seed)
        self.network, self.target, self.gradient = (network_of(config) for _ in range(3))
        self.network.draw(self.rng)
        self.target.flat[:] = self.network.flat
        self.moments = np.zeros((2, len(self.network.flat)), dtype=np.float32)
        self.keys: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.counts: NDArray[Any] = np.zeros(0)
        self.pool = SelfPlay(config.opponents, config.rules, config.snapshots, config.seed)
        self.played = self.updates = 0
        self.error = 0.0
        self._take_snapshot()

    def _take_snapshot(self) -> None:
        if self.pool.takes_snapshots:
            self.pool.add(self.policy())

    @property
    def side(self) -> str:
        """The side that is currently learned."""
        if self.config.sides_in_turn:
            return "XO"[self.steps >= self.config.anneal_steps]
        return self.config.side

    @property
    def steps_of_side(self) -> int:
        """Moves of the learner since the training of this side began."""
        is_second = self.config.sides_in_turn and self.steps >= self.config.anneal_steps
        return self.steps - self.config.anneal_steps * is_second

    @property
    def epsilon(self) -> float:
        """The current probability of a random cell."""
        config = self.config
        tenth = TENTHS * self.steps_of_side // config.anneal_steps
        return max(config.epsilon_end, config.epsilon - tenth * config.epsilon_drop)

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        first, last = self.config.learning_rate, self.config.learning_rate_end
        share = min(1.0, self.steps_of_side / self.config.anneal_steps)
        return float(first * (last / first) ** share)

    # --- what every learner does -------------------------------------------------------------

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
        """The greedy policy of the target network, which may make illegal moves."""
        values = self.view.values_at(self.target, self.positions.unfinished)
        return ValuedTable(self.config.rules, values, reward_scale(self.config.rewards))

    def meet(self, rival: BoardPlayer) -> None:
        """Add a snapshot of another learner to the opponents."""
        self.pool.add_rival(rival)

    def notes(self) -> dict[str, float]:
        """The share of positions with an illegal greedy move, the loss, and epsilon."""
        rows = self.positions.unfinished
        cells = self.view.values_at(self.target, rows).argmax(axis=1)
        illegal = float((self.positions.boards[rows, cells] != 0).mean())
        return {"illegal_everywhere": illegal, "error": self.error, "epsilon": self.epsilon}

    def charts(self, rows: Sequence[Mapping[str, float]]) -> dict[str, Chart]:
        """The share of illegal moves at each evaluation."""
        curves = [
            (
                f"{name}: {100 * rows[-1][column]:.2f} % at the end",
                colour,
                [100 * row[column] for row in rows],
            )
            for column, name, colour in ILLEGAL
        ]
        title = f"illegal moves of {AGENT}, seed {self.config.seed}"
        steps = [row["steps"] / 1000 for row in rows]
        chart = Chart(title, "steps, thousands", "per cent, exact", steps, curves, percent=True)
        return {"illegal.png": chart}

    def model(self) -> Arrays:
        """The weights of the target network."""
        return self.target.named()

    def state(self) -> State:
        """The network, the optimizer, the replay memory, the snapshots and the generators."""
        return {
            "network": self.network.flat,
            "moments": self.moments,
            "keys": self.keys,
            "counts": self.counts,
            "played": self.played,
            "updates": self.updates,
            "error": self.error,
            "rng": self.rng,
            "pool": self.pool.state(),
        }

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        for name, array in self.target.named().items():
            array[:] = take(model, name, array.shape, np.float32)
        self.network.flat[:] = take(state, "network", self.network.flat.shape, np.float32)
        self.moments = take(state, "moments", self.moments.shape, np.float32)
        self.keys = take(state, "keys", state["keys"].shape, np.int64)
        self.counts = take(state, "counts", self.keys.shape, np.float64)
        if (np.diff(self.keys) <= 0).any():
            raise ValueError("the keys of the transitions must ascend")
        self.played, self.updates = state["played"], state["updates"]
        self.error, self.rng = state["error"], state["rng"]
        self.pool.restore(state["pool"])

    # --- a round -----------------------------------------------------------------------------

    def round(self) -> None:
        """Play a round of games to their ends, store the transitions, and learn."""
        config, positions, rng = self.config, self.positions, self.rng
        games = np.arange(config.games)
        is_x = {"both": games % 2 == 0, "X": games >= 0, "O": games < 0}[self.side]
        best = np.zeros(len(positions), dtype=np.intp)
        unfinished = positions.unfinished
        best[unfinished] = self.view.values_at(self.network, unfinished).argmax(axis=1)
        rows = self._starts()
        opponents = self.pool.opponents()
        which, epsilon = opponents.choose(self.played + games, rng), self.epsilon
        ends = np.zeros(config.games, dtype=np.intp)  # of the learner: 0 a win, 1 a draw, 2 a loss
        moved: list[tuple[Rows, Rows]] = []  # at each ply: games, the learner's moves
        going = games
        while len(going):
            at = rows[going]
            own = positions.x_to_move[at] == is_x[going]
            cells = np.empty(len(going), dtype=np.intp)
            cells[own] = self._choose(best[at[own]], epsilon)
            cells[~own] = opponents.move(which[going[~own]], at[~own], rng)
            moves = self.view.index[at] * self.cells + self.view.output[at, cells]
            moved.append((going[own], moves[own]))
            after = positions.children[at, cells]
            illegal = after < 0  # an illegal move loses, whoever makes it
            results = positions.outcome_x[after] * np.where(is_x[going], 1, -1)
            ends[going] = 1 - np.where(illegal, np.where(own, -1, 1), results)
            rows[going] = after
            going = going[~illegal & ~positions.is_over[after]]
        self._store(moved, len(self.view.boards) + ends)
        self.played += config.games
        self._learn()

    def _starts(self) -> Rows:
        """The first position of each game: the empty board, or a random one (exploring starts)."""
        rows = np.zeros(self.config.games, dtype=np.intp)
        explores = self.rng.random(len(rows)) < self.config.exploring_starts
        rows[explores] = self.rng.choice(self.positions.unfinished, size=int(explores.sum()))
        return rows

    def _choose(self, best: Rows, epsilon: float) -> Rows:
        """The best cells, or with probability `epsilon` any cell."""
        explores = self.rng.random(len(best)) < epsilon
        return np.where(explores, self.rng.integers(self.cells, size=len(best)), best)

    def _store(self, moved: list[tuple[Rows, Rows]], following: Rows) -> None:
        """Store the transitions of a round and add its moves to `steps`.

        following: (games,) the end of each game, as the number of a next; overwritten.
        """
        met = []
        for games, moves in reversed(moved):
            met.append(moves * self.nexts + following[games])
            following[games] = moves // self.cells
        keys = np.concatenate(met)
        self.steps += len(keys)
        if not self.config.replay:
            self.keys, self.counts = self.keys[:0], self.counts[:0]
        self.keys, which = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        self.counts = np.bincount(which, np.concatenate([self.counts, np.ones(len(keys))]))

    # --- the update --------------------------------------------------------------------------

    def _learn(self) -> None:
        """Update the network towards the targets of the stored transitions."""
        config = self.config
        targets, weights = self._targets()
        met = np.flatnonzero(weights.any(axis=1))
        for _ in range(config.updates):
            drawn = self.rng.permutation(met)[: config.batch]
            share = np.float32(len(drawn) / len(met))
            batch = self.view.boards[drawn], targets[drawn], weights[drawn] / share
            self.error = self.network.gradient(*batch, self.gradient, config.lift)
            self._step()
            change = self.network.flat - self.target.flat
            self.target.flat += np.float32(config.average) * change

    def _targets(self) -> tuple[Floats, Floats]:
        """The target and the weight of each cell of each board: (C, cells) each.

        The weights sum to 1. Cells without a transition have weight 0.
        """
        config, view = self.config, self.view
        values = view.values(self.target)
        best = (view.values(self.network) if config.double else values).argmax(axis=1)
        worth = np.concatenate([values[np.arange(len(values)), best], config.rewards])
        moves, following = np.divmod(self.keys, self.nexts)
        counts, sums = (
            np.bincount(moves, weight, minlength=values.size).reshape(values.shape)
            for weight in (self.counts, self.counts * worth[following])
        )
        visits = counts.sum(axis=1, keepdims=True)
        known = counts > 0
        targets = np.divide(sums, counts, out=np.zeros(values.shape), where=known)
        weights = known * np.sqrt(visits) if config.replay else counts
        if config.shown_illegal:
            shown = (view.boards != 0) & (visits > 0)
            targets[shown] = config.rewards[2]
            weights = np.where(shown, np.sqrt(visits) if config.replay else visits, weights)
        if config.focus > 0:
            known_targets = np.where(weights > 0, targets, targets.min())
            distance = known_targets.max(axis=1, keepdims=True) - targets
            weights = weights * (LEAST_WEIGHT + np.exp(-distance / config.focus))
        return targets.astype(np.float32), (weights / weights.sum()).astype(np.float32)

    def _step(self) -> None:
        """Make a step of the optimizer with `gradient`."""
        rate, gradient = np.float32(self.learning_rate), self.gradient.flat
        self.updates += 1
        if self.config.optimizer == "sgd":
            self.network.flat -= rate * gradient
            return
        for moment, decay, power in zip(self.moments, DECAYS, (1, 2), strict=True):
            moment += np.float32(1 - decay) * (gradient**power - moment)
        mean, square = (
            moment / np.float32(1 - decay**self.updates)
            for moment, decay in zip(self.moments, DECAYS, strict=True)
        )
        self.network.flat -= rate * mean / (np.sqrt(square) + np.float32(1e-8))
