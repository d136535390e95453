"""Neural Q-learning without masks: a network learns the rules because illegal moves lose.

After nestedsoftware/tictac: `--preset tictac` is its training. A network of 9-36-36-9 units maps
the board to a value from 0 to 1 for each of the nine cells. Exploration, the maximum in the targets
and the greedy move are over all nine cells, and a move to a taken cell loses the game. Here, with
half of the games of a round as X and half as O:

- The replay memory counts how often each transition (position, move, next position) occurred. The
  target of a move is the mean over its transitions. A position has the square root of its count as
  its weight, which falls for its moves with the distance from the best.
- The gradient uses the slope of the sigmoid plus a constant (`lift`; Fahlman 1988). Without it a
  value near 1 that should be near 0 hardly moves.
- The target network is a running average of the network, and it plays. In double Q-learning (van
  Hasselt et al. 2016) the network chooses the next move, and the target network gives its value.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import NO_CHILD, positions_of
from training.learner import Arrays
from training.options import BoardConfig, Count, Layers, Positive, Rewards, Share, option
from training.perceptron import ACTIVATIONS, Weights, layers_of
from training.search_space import Range
from training.selfplay import OPPONENTS, Moves, PoolLearner, Rows, TrainingPool, play_games
from training.symmetry import Representatives
from training.values import ValuedTable, reward_scale

AGENT = "tictacnet"
TITLE = "Q-network without rules"
STORY = "A network learns values of all nine cells. Nobody tells it that moves to taken cells lose."
GOAL = "optimal"
SMALL = "--games 32 --judge-every 500 --steps 1500 --snapshot-every 300 --opponents random:1,self:1"
SEARCH = {
    "learning_rate": Range(1e-3, 3e-2, log=True),
    "updates": Range(5, 50, log=True),
    "hidden": ("36", "36,36", "64,64", "128,128"),
}
# Boards in a forward pass. OpenBLAS starts threads for more, which is slower.
BLOCK = 256
# The distance from the best target at which the weight of a move has fallen to 1 / e.
FOCUS = 0.2
LEAST_WEIGHT = 0.05  # is added to the weight of a move
DECAYS = np.array([[0.9], [0.999]])  # of Adam's two moments
Hidden = Literal["relu", "tanh", "sigmoid"]
Output = Literal["sigmoid", "tanh", "linear"]
REACH = {"sigmoid": (0, 1), "tanh": (-1, 1), "linear": (-np.inf, np.inf)}


class Config(BoardConfig):
    """The options of a training. A step is a move of the learner. Schedules ignore `steps`."""

    steps: Count = option(10_000_000, "Moves of the learner after which training ends.")
    judge_every: Count = option(
        20_000, "Moves of the learner between two exact evaluations.", rare=True
    )
    opponents: str = option("minimax-slip=0.7", OPPONENTS)
    rewards: Rewards = option((1.0, 0.5, 0.0), "Rewards of a win, a draw, and a loss.")
    hidden: Layers = option((36, 36), "Units of the hidden layers.")
    hidden_activation: Hidden = option("relu", "Activation function of the hidden layers.")
    output_activation: Output = option("sigmoid", "Activation function of the output.")
    games: Count = option(512, "Number of games in a round.")
    exploring_starts: Share = option(0.2, "Share of the games that start from a random position.")
    epsilon_end: Share = option(0.2, "Lowest probability of a random cell, free or taken.")
    anneal_steps: Count = option(5_000_000, "Length of the schedules in moves of the learner.")
    updates: Count = option(20, "Number of updates after each round.")
    batch: Count = option(256, "Number of positions in the batch of an update.")
    learning_rate: Positive = option(0.01, "Learning rate at the start.")
    snapshot_every: Count = option(50_000, "Moves between two snapshots, or turns of a rival.")
    learning_rate_end: Positive = option(0.0003, "Learning rate at the end.", rare=True)
    epsilon: Share = option(
        0.7,
        "Probability of a random cell at the start; it falls by 0.1 in each tenth of "
        "--anneal-steps.",
        rare=True,
    )
    sides_in_turn: bool = option(
        False,
        "Whether it plays X and then O for --anneal-steps each, with schedules of their own.",
        rare=True,
    )
    symmetry: bool = option(
        True, "Whether symmetric boards are one board to the network.", rare=True
    )
    double: bool = option(True, "Whether targets are those of double Q-learning.", rare=True)
    replay: bool = option(
        True,
        "Whether all rounds are remembered. Otherwise each is learned from once, with all taken "
        "cells as losses.",
        rare=True,
    )
    optimizer: Literal["adam", "sgd"] = option(
        "adam", "Optimizer: Adam, or plain gradient descent.", rare=True
    )
    lift: Share = option(
        0.1, "Constant that is added to the slope of the output's activation function.", rare=True
    )
    average: Share = option(
        0.01,
        "Weight of the network in its running average, the target network, at each update.",
        rare=True,
    )

    def check(self) -> None:
        """Raises ValueError for rewards that the output cannot reach."""
        low, high = REACH[self.output_activation]
        if min(self.rewards) < low or max(self.rewards) > high:
            reach = f"{low} to {high}, the reach of output_activation"
            raise ValueError(f"rewards must be from {reach}, got {self.rewards}")


# --- the network ---------------------------------------------------------------------------------


class Batch(NamedTuple):
    """B boards to learn from.

    boards: (B, cells). targets: (B, cells) of the values of the cells. shares: (B, cells) the
    weights of their squared errors, 0 for cells without a target.
    """

    boards: Weights
    targets: Weights
    shares: Weights


class Gradient(NamedTuple):
    """The weighted sum of the squared errors of a batch, and its gradient (P,)."""

    loss: float
    by_weights: Weights


class Network:
    """A multilayer perceptron, whose weights are one array (P,); biases are last in each layer.

    It sees boards (C, cells), +1 X, -1 O, 0 free, at the positions rows (C,). index: (N,) the board
    that stands for each position. moves: (N, cells) the output with the value of each move, cell +
    cells * board; cells that a symmetry of the board exchanges share one.
    """

    def __init__(self, config: Config):
        self.config = config
        self.positions = positions_of(config.rules)
        units = (config.rules.cells, *config.hidden, config.rules.cells)
        self.shapes = [(inputs + 1, outputs) for inputs, outputs in pairwise(units)]
        self.hidden = ACTIVATIONS[config.hidden_activation]
        self.output = ACTIVATIONS[config.output_activation]
        has_slope = config.output_activation == "linear"  # everywhere: it needs no lift
        self.lift = np.float32(0.0 if has_slope else config.lift)
        seen = Representatives(self.positions, config.symmetry)
        self.rows = seen.rows
        self.index = seen.index
        boards = self.positions.boards[seen.rows]
        self.boards = boards.astype(np.float32)
        outputs = np.arange(boards.size).reshape(boards.shape)
        for permutation in seen.symmetries:
            is_image_of_itself = (boards[:, permutation] == boards).all(axis=1)
            shared = outputs[is_image_of_itself]
            first = shared[:, :1]  # the output of cell 0
            outputs[is_image_of_itself] = np.minimum(shared, first + permutation)
        to_board = np.argsort(seen.cells, axis=1)  # the cell of the board for each cell
        self.moves = np.take_along_axis(outputs[self.index], to_board, axis=1)

    def draw(self, rng: np.random.Generator) -> Weights:
        """New weights, with a variance of 2 / inputs for ReLU (He et al. 2015), else half of it."""
        size = sum(inputs * units for inputs, units in self.shapes)
        weights: Weights = np.zeros(size, dtype=np.float32)
        for layer in layers_of(weights, self.shapes):
            weights_in = layer[:-1]  # (inputs, units), without the biases
            spread = np.sqrt(self.hidden.gain / len(weights_in))
            weights_in[:] = rng.normal(size=weights_in.shape) * spread
        return weights

    def model(self, weights: Weights) -> Arrays:
        """The weights by their names in a file."""
        found: Arrays = {}
        for number, layer in enumerate(layers_of(weights, self.shapes)):
            found |= {f"{number}/weights": layer[:-1], f"{number}/biases": layer[-1]}
        return found

    def weights(self, model: Arrays) -> Weights:
        """The weights of a saved model."""
        parts = []
        for number in range(len(self.shapes)):
            parts += [model[f"{number}/weights"].ravel(), model[f"{number}/biases"]]
        return np.concatenate(parts)

    def values(self, weights: Weights, rows: Any) -> Weights:
        """Values of the cells (B, cells) at rows (B,); without meaning in finished positions."""
        blocks = np.split(self.boards, range(BLOCK, len(self.boards), BLOCK))
        values = np.concatenate([self._forward(weights, boards)[-1] for boards in blocks])
        return values.ravel()[self.moves[rows]]

    def policy(self, weights: Weights) -> ValuedTable:
        """The greedy policy, which may make illegal moves."""
        values = self.values(weights, self.positions.unfinished)
        return ValuedTable(self.config.rules, values, reward_scale(self.config.rewards))

    def _forward(self, weights: Weights, boards: Weights) -> list[Weights]:
        """The inputs of each layer, and the output of the last."""
        *hidden, last = layers_of(weights, self.shapes)
        signals = [boards]
        for layer in hidden:
            sums = signals[-1] @ layer[:-1] + layer[-1]
            signals.append(self.hidden.of(sums))
        sums = signals[-1] @ last[:-1] + last[-1]
        return [*signals, self.output.of(sums)]

    def gradient(self, weights: Weights, batch: Batch) -> Gradient:
        """The gradient of the squared errors of a batch, by backpropagation."""
        *signals, values = self._forward(weights, batch.boards)
        errors = values - batch.targets
        loss = float((batch.shares * errors**2).sum())
        # The gradient by the sums that enter an activation function, from the last layer back.
        slope = 2 * batch.shares * errors * (self.output.slope(values) + self.lift)
        parts: list[Weights] = []
        layers = layers_of(weights, self.shapes)
        for layer, signal in zip(reversed(layers), reversed(signals), strict=True):
            by_layer = (signal.T @ slope).ravel()
            by_biases = slope.sum(axis=0)
            parts = [by_layer, by_biases, *parts]
            slope = (slope @ layer[:-1].T) * self.hidden.slope(signal)
        return Gradient(loss, np.concatenate(parts))


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player of a saved model, which may make illegal moves."""
    network = Network(config)
    return network.policy(network.weights(model))


# --- the learner ---------------------------------------------------------------------------------


class Targets(NamedTuple):
    """The target of each cell of each board (C, cells), and its weight, 0 without a target."""

    values: Weights
    weights: Weights


class TicTacNet(PoolLearner):
    """The network, the replay memory and the opponents.

    weights: (P,), which are trained. target: (P,) their running average, which plays. keys: (K,)
    sorted, a number for each distinct transition (board, cell, next). counts: (K,) how often each
    occurred. Next is a board; the last three numbers stand for a win, a draw and a loss.
    """

    STATE = ("weights", "target", "moments", "keys", "counts", "updates", "error", "rng", "pool")

    def __init__(self, config: Config):
        self.config = config
        self.network = Network(config)
        self.positions = self.network.positions
        self.nexts = len(self.network.boards) + 3  # boards and results
        self.rng = np.random.default_rng(config.seed)
        self.weights = self.network.draw(self.rng)
        self.target = self.weights.copy()
        self.moments = np.zeros((2, len(self.weights)), dtype=np.float32)
        self.keys: Rows = np.zeros(0, dtype=np.int64)
        self.counts: NDArray[Any] = np.zeros(0)
        self.pool = TrainingPool(config.opponents, config.rules, seed=config.seed)
        self.updates = 0
        self.error = 0.0
        self.take_snapshot()

    @property
    def scheduled(self) -> int:
        """The moves that the schedules have made; with sides in turn each side begins anew."""
        length = self.config.anneal_steps
        return self.steps % length if self.config.sides_in_turn else min(self.steps, length)

    @property
    def epsilon(self) -> float:
        """The current probability of a random cell."""
        tenths = 10 * self.scheduled // self.config.anneal_steps
        return max(self.config.epsilon_end, self.config.epsilon - tenths * 0.1)

    @property
    def learning_rate(self) -> float:
        """The current learning rate, which falls exponentially."""
        config = self.config
        ratio = config.learning_rate_end / config.learning_rate
        return float(config.learning_rate * ratio ** (self.scheduled / config.anneal_steps))

    def policy(self) -> ValuedTable:
        """The greedy policy of the target network."""
        return self.network.policy(self.target)

    def notes(self) -> dict[str, float]:
        """The share of positions with an illegal greedy move, the loss, and epsilon."""
        children = self.positions.children[self.positions.unfinished]
        illegal = self.policy().table[children == NO_CHILD]
        share = float(illegal.sum() / len(children))
        return {"illegal_everywhere": share, "error": self.error, "epsilon": self.epsilon}

    def model(self) -> Arrays:
        """The weights of the target network."""
        return self.network.model(self.target)

    def round(self) -> None:
        """Play a round of games to their ends, store the transitions, and learn."""
        config = self.config
        rng = self.rng
        is_x = np.arange(config.games) % 2 == 0
        if config.sides_in_turn:
            turn = self.steps // config.anneal_steps
            is_x = np.full(config.games, turn % 2 == 0)
        best = self.network.values(self.weights, slice(None)).argmax(axis=1)
        starts = np.zeros(config.games, dtype=np.intp)
        is_random = rng.random(len(starts)) < config.exploring_starts
        count = int(is_random.sum())
        starts[is_random] = rng.choice(self.positions.unfinished, size=count)
        epsilon = self.epsilon

        def choose(rows: Rows) -> Rows:  # epsilon-greedy, over all cells
            explores = rng.random(len(rows)) < epsilon
            random = rng.integers(config.rules.cells, size=len(rows))
            return np.where(explores, random, best[rows])

        moves, results = play_games(choose, is_x, self.pool.opponents(), rng, starts)
        self._store(moves, results)
        self.steps += sum(len(made.games) for made in moves)
        self._learn()

    def _store(self, moves: list[Moves], results: Rows) -> None:
        """Store the transitions of a round. results: (G,) 1, 0 or -1."""
        following = self.nexts - 2 - results  # what follows the last move of each game
        parts = []
        for games, rows, cells in reversed(moves):
            made = self.network.moves[rows, cells]
            parts.append(made * self.nexts + following[games])
            following[games] = self.network.index[rows]
        keys = np.concatenate(parts)
        if not self.config.replay:
            self.keys = self.keys[:0]
            self.counts = self.counts[:0]
        all_keys = np.concatenate([self.keys, keys])
        all_counts = np.concatenate([self.counts, np.ones(len(keys))])
        self.keys, which = np.unique(all_keys, return_inverse=True)
        self.counts = np.bincount(which, all_counts)

    def _learn(self) -> None:
        """Update the network towards the targets of the stored transitions."""
        targets = self._targets()
        boards = np.flatnonzero(targets.weights.any(axis=1))  # that have a target
        for _ in range(self.config.updates):
            drawn = self.rng.permutation(boards)[: self.config.batch]
            share = np.float32(len(drawn) / len(boards))
            batch = Batch(
                boards=self.network.boards[drawn],
                targets=targets.values[drawn],
                shares=targets.weights[drawn] / share,
            )
            self.error, gradient = self.network.gradient(self.weights, batch)
            self._step(gradient)
            average = np.float32(self.config.average)
            self.target += average * (self.weights - self.target)

    def _targets(self) -> Targets:
        """The targets of all stored transitions."""
        network = self.network
        rewards = self.config.rewards
        values = network.values(self.target, network.rows)
        chooser = self.weights if self.config.double else self.target
        best = network.values(chooser, network.rows).argmax(axis=1)
        of_nexts = np.concatenate([values[np.arange(len(values)), best], rewards])
        moves, following = np.divmod(self.keys, self.nexts)
        counts = self._by_move(moves, self.counts)
        sums = self._by_move(moves, self.counts * of_nexts[following])
        targets = sums / np.maximum(counts, 1)
        visits = counts.sum(axis=1, keepdims=True)
        if self.config.replay:
            tried = np.where(counts > 0, targets, targets.min())
            distance = tried.max(axis=1, keepdims=True) - targets  # from the best move
            focus = LEAST_WEIGHT + np.exp(-distance / FOCUS)
            weights = (counts > 0) * np.sqrt(visits) * focus
        else:
            is_illegal = self.positions.children[network.rows] == NO_CHILD
            is_taught = is_illegal & (visits > 0)  # tried or not
            _, _, loss = rewards
            targets[is_taught] = loss
            weights = np.where(is_taught, visits, counts)
        shares = weights / weights.sum()
        return Targets(targets.astype(np.float32), shares.astype(np.float32))

    def _by_move(self, moves: Rows, numbers: NDArray[Any]) -> NDArray[Any]:
        """The sums (C, cells) of numbers (K,) by the outputs (K,) of their moves."""
        boards = self.network.boards
        return np.bincount(moves, numbers, minlength=boards.size).reshape(boards.shape)

    def _step(self, gradient: Weights) -> None:
        """Make a step of the optimizer."""
        rate = np.float32(self.learning_rate)
        self.updates += 1
        if self.config.optimizer == "sgd":
            self.weights -= rate * gradient
            return
        share = (1 - DECAYS).astype(np.float32)
        self.moments += share * (np.stack([gradient, gradient**2]) - self.moments)
        # The moments began at 0.
        correction = (1 - DECAYS**self.updates).astype(np.float32)
        mean, square = self.moments / correction
        self.weights -= rate * mean / (np.sqrt(square) + np.float32(1e-8))


begin = TicTacNet
