"""Neural Q-learning without masks: a network learns the rules because illegal moves lose.

The neural Q-learning of nestedsoftware/tictac
(https://nestedsoftware.com/2019/12/27/tic-tac-toe-with-a-neural-network-1fjn.206436.html): a
network of 9-36-36-9 units maps the board to a value from 0 to 1 for each of the nine cells.
Exploration, the maximum in the targets and the greedy move are over all nine cells; nothing is
masked. A move to a taken cell loses the game, in training and in every evaluation. The differences
(docs/agents.md says more, also of `--preset tictac`, the original training):

- A round is a batch of games, half of them as X and half as O, played with the same network.
- The replay memory keeps every distinct transition (position, move, next position) once, with the
  number of times it occurred. The target of a move is the mean over all its transitions. Batches
  are drawn from positions, each weighted by the square root of its count.
- Small errors matter only among the best moves of a position. The weight of a move therefore falls
  with the distance of its target from the best (`focus`).
- The gradient uses the slope of the sigmoid plus a constant (`lift`; Fahlman 1988). Without it a
  value near 1 that should be near 0 hardly moves.
- The optimizer is Adam. The target network is a running average of the network, and it plays. In
  double Q-learning (van Hasselt et al. 2016) the network chooses the next move, and the target
  network gives its value.
- The network sees each board in canonical form. Where symmetries map a board to itself, cells that
  are images of each other share one output.

The network is so small that NumPy with hand-written gradients is faster than torch.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tictactoe_env.exact.positions import Positions, positions_of
from training.learner import Arrays
from training.options import BoardConfig, Count, Layers, NotNegative, Positive, Share, option
from training.perceptron import ACTIVATIONS, Weights, layers_of, size_of
from training.search_space import Range
from training.selfplay import OPPONENTS, Moves, PoolLearner, Rows, SelfPlay, play_games
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
    "--games 32 --judge-every 500 --steps 1500 --snapshot-every 300 "
    "--opponents random:0.5,self:0.5 --updates 5"
)
BLOCK = 256  # boards in a forward pass; above this OpenBLAS starts threads, which is slower
LEAST_WEIGHT = 0.05  # of a move far from the best of its position; the best has 1 more
DECAYS = (0.9, 0.999)  # decay rates of Adam's two moments
Reward = Annotated[float, Field(ge=-1, le=1)]
Kind = Literal["relu", "tanh", "sigmoid"]


class Config(BoardConfig):
    """The options of a training. A step is a move of the learner. Schedules ignore `steps`."""

    steps: Count = option(10_000_000, "Moves of the learner after which training ends.")
    judge_every: Count = option(20_000, "Moves of the learner between two exact evaluations.")
    opponents: str = option("minimax-slip=0.7", OPPONENTS)
    rewards: tuple[Reward, Reward, Reward] = option(
        (1.0, 0.5, 0.0), "Rewards of a win, a draw, and a loss or illegal move."
    )
    hidden: Layers = option((36, 36), "Units of the hidden layers.")
    hidden_activation: Kind = option("relu", "Activation function of the hidden layers.")
    output_activation: Literal["sigmoid", "tanh", "linear"] = option(
        "sigmoid", "Activation function of the output, whose values are results of games."
    )
    games: Count = option(512, "Number of games in a round.")
    exploring_starts: Share = option(0.2, "Share of the games that start from a random position.")
    epsilon_end: Share = option(0.2, "Lowest probability of a random cell, free or taken.")
    anneal_steps: Count = option(5_000_000, "Length of the schedules in moves of the learner.")
    updates: Count = option(20, "Number of updates after each round.")
    batch: Count = option(256, "Number of positions in the batch of an update.")
    learning_rate: Positive = option(0.01, "Learning rate at the start.")
    snapshot_every: Count = option(50_000, "Moves between two snapshots, or turns of a rival.")
    learning_rate_end: Positive = 0.0003
    epsilon: Share = 0.7  # at the start
    epsilon_drop: Share = 0.1  # after each tenth of `anneal_steps`
    snapshots: Count = 8
    side: Literal["both", "X", "O"] = "both"
    sides_in_turn: bool = False  # first X for `anneal_steps`, then O, each with its own schedule
    shown_illegal: bool = False
    symmetry: bool = True
    double: bool = True
    replay: bool = True  # else the transitions of a round are learned from once
    optimizer: Literal["adam", "sgd"] = "adam"
    lift: Share = 0.1
    average: Share = 0.01  # weight of the network in its running average at each update
    focus: NotNegative = 0.2  # distance at which a weight falls to 1/e; 0 for equal weights

    def check(self) -> None:
        """Raises ValueError for rewards that the output cannot reach."""
        if self.output_activation == "sigmoid" and min(self.rewards) < 0:
            raise ValueError(
                f"rewards must be from 0 to 1 with a sigmoid at the output, got {self.rewards}: "
                "choose --output-activation tanh or linear for values below 0"
            )


SEARCH = {
    "learning_rate": Range(1e-3, 3e-2, log=True),
    "updates": Range(5, 50, log=True),
    "hidden": ("36", "36,36", "64,64", "128,128"),
}


# --- the network -----------------------------------------------------------------------------


class Network:
    """A multilayer perceptron.

    flat: (P,) float32, all weights. layers: (inputs + 1, units) of each layer, views of `flat`; the
    last row holds the biases.
    """

    def __init__(self, config: Config):
        self.hidden = ACTIVATIONS[config.hidden_activation]
        self.output = ACTIVATIONS[config.output_activation]
        self.lift = np.float32(config.lift * (config.output_activation != "linear"))
        units = (config.rules.cells, *config.hidden, config.rules.cells)
        shapes = [(inputs + 1, outputs) for inputs, outputs in pairwise(units)]
        self.flat: Weights = np.zeros(size_of(shapes), dtype=np.float32)
        self.layers = layers_of(self.flat, shapes)

    def draw(self, rng: np.random.Generator) -> None:
        """Draw the weights, with a variance of 2 / inputs for ReLU (He et al. 2015), else half."""
        for layer in self.layers:
            weights = layer[:-1]
            weights[:] = rng.normal(size=weights.shape) * np.sqrt(self.hidden.gain / len(weights))

    def named(self) -> Arrays:
        """The weights by their names in a file, as views of `flat`."""
        return {
            f"{number}/{name}": array
            for number, layer in enumerate(self.layers)
            for name, array in (("weights", layer[:-1]), ("biases", layer[-1]))
        }

    def load(self, model: Arrays) -> None:
        """Take the weights of a saved model."""
        for name, array in self.named().items():
            array[:] = model[name]

    def values(self, boards: Weights) -> Weights:
        """Values of the cells (B, cells), within the limits of the output's activation."""
        starts = range(0, len(boards), BLOCK)
        return np.concatenate([self._forward(boards[at : at + BLOCK])[-1] for at in starts])

    def _forward(self, boards: Weights) -> list[Weights]:
        """The inputs of each layer, and the output of the last."""
        signals, last = [boards], len(self.layers) - 1
        for number, layer in enumerate(self.layers):
            activation = self.output if number == last else self.hidden
            signals.append(activation.of(signals[-1] @ layer[:-1] + layer[-1]))
        return signals

    def gradient(self, boards: Weights, targets: Weights, weights: Weights, into: Network) -> float:
        """The weighted sum of squared errors. Writes its gradient to `into`.

        boards, targets, weights: (B, cells). The slope of an output with limits is lifted.
        """
        *signals, values = self._forward(boards)
        errors = values - targets
        slope = 2 * weights * errors * (self.output.slope(values) + self.lift)
        for layer, to, signal in zip(
            self.layers[::-1], into.layers[::-1], signals[::-1], strict=True
        ):
            np.matmul(signal.T, slope, out=to[:-1])
            slope.sum(axis=0, out=to[-1])
            slope = (slope @ layer[:-1].T) * self.hidden.slope(signal)
        return float((weights * errors**2).sum())


class View:
    """The boards that the network sees, and the outputs that hold the values of all positions.

    rows: (C,) the positions of which it sees the boards, (C, cells) +1 X, -1 O, 0 free. index: (N,)
    the board of each position. output: (N, cells) the output for each cell of each position; cells
    that a symmetry of the board exchanges share one.
    """

    def __init__(self, positions: Positions, symmetry: bool):
        seen = Representatives(positions, symmetry)
        boards = positions.boards[seen.rows]
        self.rows: NDArray[Any] = seen.rows
        self.boards, self.index = boards.astype(np.float32), seen.index
        shared = np.tile(np.arange(positions.rules.cells), (len(boards), 1))
        for permutation in seen.symmetries:
            same = (boards[:, permutation] == boards).all(axis=1)
            shared[same] = np.minimum(shared[same], permutation)
        to_seen = np.argsort(seen.cells, axis=1)
        self.output = np.take_along_axis(shared[self.index], to_seen, axis=1)

    def values_at(self, network: Network, rows: NDArray[Any]) -> Weights:
        """Values of the cells of unfinished positions, given by their rows (B,): (B, cells)."""
        values = network.values(self.boards)[self.index[rows]]
        return np.take_along_axis(values, self.output[rows], axis=1)


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player of a saved model, which may make illegal moves."""
    network, positions = Network(config), positions_of(config.rules)
    network.load(model)
    values = View(positions, config.symmetry).values_at(network, positions.unfinished)
    return ValuedTable(config.rules, values, reward_scale(config.rewards))


# --- the learner -----------------------------------------------------------------------------


class TicTacNet(PoolLearner):
    """The networks, the replay memory and the opponents.

    network is trained. target is its running average, which plays. keys: (K,) sorted, a number for
    each distinct transition (board, cell, next). counts: (K,) how often each occurred. Next is a
    board of the view; the last three numbers stand for a win, a draw and a loss.
    """

    STATE = ("weights", "moments", "keys", "counts", "updates", "error", "rng", "pool")

    def __init__(self, config: Config):
        self.config, self.positions = config, positions_of(config.rules)
        self.view = View(self.positions, config.symmetry)
        self.cells, self.nexts = config.rules.cells, len(self.view.boards) + 3
        self.rng = np.random.default_rng(config.seed)
        self.network, self.target, self.gradient = (Network(config) for _ in range(3))
        self.network.draw(self.rng)
        self.weights = self.network.flat  # which are saved
        self.target.flat[:] = self.weights
        self.moments = np.zeros((2, len(self.network.flat)), dtype=np.float32)
        self.keys: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.counts: NDArray[Any] = np.zeros(0)
        self.pool = SelfPlay(config.opponents, config.rules, config.snapshots, config.seed)
        self.updates = 0
        self.error = 0.0
        self.take_snapshot()

    @property
    def is_second(self) -> bool:
        """Whether the second of two sides in turn is learned."""
        return self.config.sides_in_turn and self.steps >= self.config.anneal_steps

    @property
    def side_steps(self) -> int:
        """Moves since the training of this side began."""
        return self.steps - self.config.anneal_steps * self.is_second

    @property
    def epsilon(self) -> float:
        """The current probability of a random cell."""
        config = self.config
        tenth = 10 * self.side_steps // config.anneal_steps
        return max(config.epsilon_end, config.epsilon - tenth * config.epsilon_drop)

    @property
    def learning_rate(self) -> float:
        """The current learning rate, which falls exponentially."""
        first, last = self.config.learning_rate, self.config.learning_rate_end
        share = min(1.0, self.side_steps / self.config.anneal_steps)
        return float(first * (last / first) ** share)

    def policy(self) -> ValuedTable:
        """The greedy policy of the target network, which may make illegal moves."""
        values = self.view.values_at(self.target, self.positions.unfinished)
        return ValuedTable(self.config.rules, values, reward_scale(self.config.rewards))

    def notes(self) -> dict[str, float]:
        """The share of positions with an illegal greedy move, the loss, and epsilon."""
        illegal = self.policy().table[self.positions.boards[self.positions.unfinished] != 0]
        share = float(illegal.sum() / len(self.positions.unfinished))
        return {"illegal_everywhere": share, "error": self.error, "epsilon": self.epsilon}

    def model(self) -> Arrays:
        """The weights of the target network."""
        return self.target.named()

    def restore(self, model: Arrays, state: dict[str, Any]) -> None:
        """Continue from a saved training."""
        super().restore(model, state)
        self.network.flat[:] = self.weights
        self.weights = self.network.flat
        self.target.load(model)

    def round(self) -> None:
        """Play a round of games to their ends, store the transitions, and learn."""
        config, positions, rng = self.config, self.positions, self.rng
        games = np.arange(config.games)
        side = "XO"[self.is_second] if config.sides_in_turn else config.side
        is_x = {"both": games % 2 == 0, "X": games >= 0, "O": games < 0}[side]
        best = np.zeros(len(positions), dtype=np.intp)
        unfinished, epsilon = positions.unfinished, self.epsilon
        best[unfinished] = self.view.values_at(self.network, unfinished).argmax(axis=1)
        starts = np.zeros(config.games, dtype=np.intp)
        explores = rng.random(len(starts)) < config.exploring_starts
        starts[explores] = rng.choice(unfinished, size=int(explores.sum()))
        opponents = self.pool.opponents()
        which = opponents.pool.draw(rng, config.games)

        def choose(rows: Rows) -> Rows:
            explores = rng.random(len(rows)) < epsilon
            return np.where(explores, rng.integers(self.cells, size=len(rows)), best[rows])

        moves, results = play_games(choose, is_x, opponents, which, rng, starts)
        self._store(moves, len(self.view.boards) + 1 - results)
        self._learn()

    def _store(self, moves: list[Moves], following: Rows) -> None:
        """Store the transitions of a round and add its moves to `steps`.

        following: (games,) the end of each game, as the number of a next; overwritten.
        """
        met = []
        for games, rows, cells in reversed(moves):
            boards = self.view.index[rows]
            made = boards * self.cells + self.view.output[rows, cells]
            met.append(made * self.nexts + following[games])
            following[games] = boards
        keys = np.concatenate(met)
        self.steps += len(keys)
        if not self.config.replay:
            self.keys, self.counts = self.keys[:0], self.counts[:0]
        self.keys, which = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        self.counts = np.bincount(which, np.concatenate([self.counts, np.ones(len(keys))]))

    def _learn(self) -> None:
        """Update the network towards the targets of the stored transitions."""
        config = self.config
        targets, weights = self._targets()
        met = np.flatnonzero(weights.any(axis=1))
        for _ in range(config.updates):
            drawn = self.rng.permutation(met)[: config.batch]
            share = np.float32(len(drawn) / len(met))
            batch = self.view.boards[drawn], targets[drawn], weights[drawn] / share
            self.error = self.network.gradient(*batch, self.gradient)
            self._step()
            change = self.network.flat - self.target.flat
            self.target.flat += np.float32(config.average) * change

    def _targets(self) -> tuple[Weights, Weights]:
        """The target and the weight of each cell of each board: (C, cells) each.

        The weights sum to 1. Cells without a transition have weight 0.
        """
        config, view = self.config, self.view
        values = view.values_at(self.target, view.rows)
        chooser = self.network if config.double else self.target
        best = view.values_at(chooser, view.rows).argmax(axis=1)
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


begin = TicTacNet
