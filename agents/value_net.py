"""Self-play in levels: a network learns the values of positions from its own games.

After https://github.com/sebastiengilbert73/tutorial_learnbyplay. The network maps a board to its
value for the side that has just moved (an afterstate value): the discounted result of the games
that went through it. Finished boards have exactly 1, 0 or -1. In a level the network plays some ten
thousand games against itself, in part with random moves, and learns the results of both sides. The
epoch with the lowest loss on held-out positions is the champion, which plays the next level. The
first level has random games, games of the network of another run, or the examples of a file: the
`dataset.csv` of a run, or one that `evaluate.py --expectations` writes.

Differences from that system, which `--preset learnbyplay` switches off:

- A random move says nothing about its side. Before a move that was not the best one, the champion's
  value of the best move replaces the result (`cut`; Watkins' Q(lambda), 1989).
- The first move of each side is random, and half of the others, so every position occurs often.
- Positions that are equal under symmetry are one position to the network.
- Games of earlier levels keep a weight that decays (`memory`), and so does the learning rate.

In the preset too an example is a position with the mean of its results, dropout drops units instead
of whole examples, and symmetric positions are held out together.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import nn

from tictactoe_env.exact.match import Result, exact_result
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.sampling import sampled_result
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.observation import observe
from tictactoe_env.policy import Policy, RandomPolicy, sample
from tictactoe_env.rules import SIDES, Rules
from training.checkpoint import MODEL, read_model
from training.files import read_numbers
from training.learner import Arrays, Learner, Table
from training.options import BoardConfig, Count, Layers, Positive, Share, Shares, option
from training.search_space import Range
from training.selfplay import ExploringPolicy, Rows, play_out
from training.symmetry import Representatives
from training.task import Device
from training.torch_arrays import load_weights, use_torch, weights_of
from training.values import ValuedTable, reward_scale

AGENT = "value_net"
TITLE = "Value network"
STORY = (
    "A neural network estimates the result of a position. It plays against itself, learns from "
    "these games, and the best network so far plays the games from which the next one learns."
)
UNIT = "games"
SMALL = "--games 256 --judge-every 256 --steps 768 --epochs 2 --hidden 16 --dropout 0.5"
# Shares of random moves by ply in a match of champions. The last one repeats.
MATCH = (0.5, 0.1)
GAMES = 1_000  # against random play, half of them as X
LEVEL = ("level", "training_loss", "validation_loss", "won", "drawn", "lost")
EPOCH = ("epoch", "level", "training_loss", "validation_loss")
Floats = NDArray[np.float64]


class Config(BoardConfig):
    """The options of a training. A step is a game. Schedules are by level."""

    k: Annotated[int, Field(ge=2)] = option(
        3, "Marks in a line that win, more than one.", rare=True
    )
    steps: Count = option(510_000, "Games after which training ends, at the end of a level.")
    judge_every: Count = option(
        30_000, "Games between two exact evaluations, at ends of levels.", rare=True
    )
    games: Count = option(30_000, "Number of games in a level.")
    epochs: Count = option(5, "Epochs in a level; each draws as many examples as it has.")
    hidden: Layers = option((1024,), "Units of the hidden layers.")
    epsilons: Shares = option((1.0, 1.0, 0.5), "Share of random moves by ply; the last repeats.")
    temperature: Share = option(0.0, "Softmax temperature in games; 0 for the best move.")
    look_ahead: Annotated[int, Field(ge=1, le=2)] = option(1, "Depth of the search in moves.")
    discount: Share = option(0.95, "Discount factor for each move of the same side.")
    memory: Share = option(0.8, "Factor on the weight of earlier games at each new level.")
    batch_size: Count = option(2_048, "Number of examples in a batch.")
    learning_rate: Positive = option(2e-3, "Adam's learning rate at the first level.")
    dropout: Share = option(0.0, "Share of the hidden units that are dropped at random.")
    dataset: str = option(
        "",
        "dataset.csv of a run, or file of evaluate.py --expectations, for the first level; empty "
        "for random games.",
    )
    network: str = option("", "Run whose network the first level begins with; empty for a new one.")
    device: Device = option("cpu", "Device on which the network is trained.")
    cut: bool = option(
        True,
        "Whether the champion's value of the best move replaces the result before a move that was "
        "not the best.",
        rare=True,
    )
    symmetry: bool = option(
        True, "Whether symmetric positions are one position to the network.", rare=True
    )
    validation: Share = option(
        0.1,
        "Share of the positions that are held out to choose the best epoch; with 0 it is the last.",
        rare=True,
    )
    learning_rate_decay: Share = option(
        0.8, "Factor on the learning rate at each new level.", rare=True
    )


SEARCH = {
    "games": Range(10_000, 60_000, log=True),
    "learning_rate": Range(5e-4, 1e-2, log=True),
}


def build(config: Config) -> nn.Sequential:
    """The untrained network, from planes of own and other marks to a value."""
    sizes = (2 * config.rules.cells, *config.hidden)
    network = nn.Sequential()
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        for inputs, units in pairwise(sizes):
            network.append(nn.Linear(inputs, units))
            network.append(nn.ReLU())
            network.append(nn.Dropout(config.dropout))
        return network.append(nn.Linear(sizes[-1], 1))


def network_of(config: Config) -> Arrays:
    """The weights of the run that the option `network` names.

    Raises FileNotFoundError without a model, ValueError for one of another agent, size or board.
    """
    found = read_model(Path(config.network) / MODEL, AGENT, Config)
    for name, value in (("hidden", config.hidden), ("rules", config.rules)):
        if (other := getattr(found.config, name)) != value:
            raise ValueError(f"the network {config.network} has {name} {other}, expected {value}")
    return found.arrays


class Afterstates:
    """All N positions, and their values for the side that has just moved.

    classes: (C,) the positions that the network sees, one of each symmetry class: all unfinished
    ones except the empty board, to which no move leads. planes: (C, 2 * cells) their marks, of the
    side that has just moved and of the other side. index: (N,) the class of each position, from 1;
    0 for those that it does not see. exact: (N,) the values of finished positions, else 0.
    """

    def __init__(self, config: Config, device: str = "cpu"):
        self.config = config
        positions = positions_of(config.rules)
        self.positions = positions
        has_moved = np.where(positions.x_to_move, -1, 1)  # X 1, O -1
        self.exact = (positions.outcome_x * has_moved).astype(np.float64)
        seen = Representatives(positions, config.symmetry)
        self.classes = seen.rows[1:]  # without the empty board, which is the first
        self.index = np.maximum(seen.index, 0)
        boards = positions.boards[self.classes]
        self.planes = observe(boards, config.rules, "flat", has_moved[self.classes])
        self.inputs = torch.as_tensor(self.planes, device=device)

    def results(self, rows: Rows, weights: Floats, returns: Floats) -> Results:
        """The results of games through positions (B,), with their weights and returns (B,)."""
        which = self.index[rows]  # from 1; 0 for no class
        classes = len(self.classes)
        games: NDArray[Any] = np.bincount(which, weights, minlength=classes + 1)
        sums: NDArray[Any] = np.bincount(which, weights * returns, minlength=classes + 1)
        return Results(games[1:], sums[1:])

    def outputs(self, network: nn.Module) -> Floats:
        """The outputs of a network for each class: (C,)."""
        network.eval()
        with torch.no_grad():
            return network(self.inputs)[:, 0].double().cpu().numpy()

    def values(self, network: nn.Module) -> Floats:
        """The values by which moves are chosen: (N,), with `look_ahead` 2 after the best reply."""
        outputs = self.outputs(network)
        values = np.where(self.index > 0, outputs[self.index - 1], self.exact)
        if self.config.look_ahead == 2:
            replies = self.of_moves(values).max(axis=1)
            values = np.where(self.positions.is_over, values, -replies)
        return values

    def of_moves(self, values: Floats) -> Floats:
        """The values of the positions after each move: (N, cells), -inf for illegal moves."""
        children = self.positions.children
        return np.where(children >= 0, values[children], -np.inf)

    def policy(self, values: Floats) -> ValuedTable:
        """The greedy policy by these values (N,)."""
        moves = self.of_moves(values)
        worth = reward_scale((1.0, 0.0, -1.0), self.config.discount)
        return ValuedTable(self.positions.rules, moves[self.positions.unfinished], worth)


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player of a saved model, on the CPU."""
    use_torch("cpu", threads=1)  # the order of summation may depend on the threads
    network = build(config)
    load_weights(network, model)
    afterstates = Afterstates(config)
    return afterstates.policy(afterstates.values(network))


class Results(NamedTuple):
    """The results of games by the classes of positions that they went through.

    games: (C,) the weight of the games through each class. sums: (C,) the sum of their results, for
    the side that had just moved.
    """

    games: Floats
    sums: Floats

    @property
    def means(self) -> Floats:
        """The mean result of each class: (C,), 0 without a game."""
        return self.sums / np.where(self.games > 0, self.games, 1.0)


class ValueNet(Learner):
    """The network, and the results that it learns from.

    results: of all levels so far. levels: a row for each level as in LEVEL, with the losses of its
    champion, and the results of this champion against the one before. epochs: a row for each epoch
    as in EPOCH. order: (C,) from 0 to 1, in which classes are held out. There is no generator: each
    level makes its own from the seed and its number.
    """

    STATE = ("results", "levels", "epochs")

    def __init__(self, config: Config):
        use_torch(config.device, threads=1)
        self.config = config
        self.network = build(config).to(config.device)
        self.afterstates = Afterstates(config, config.device)
        classes = self.afterstates.classes
        # Symmetric positions are held out together, also where each is a class of its own.
        images = self.afterstates.positions.canonical[classes]
        distinct, which = np.unique(images, return_inverse=True)
        order = np.random.default_rng(config.seed).permutation(len(distinct))
        self.order = order[which] / len(distinct)
        self.results = Results(np.zeros(len(classes)), np.zeros(len(classes)))
        self.levels: list[list[float]] = []
        self.epochs: list[list[float]] = []

    def read_files(self) -> None:
        """Read the files that the first level reads again."""
        if self.config.network:
            network_of(self.config)
        if self.config.dataset:
            read_dataset(Path(self.config.dataset), self.afterstates)

    def advance(self, most: int) -> None:
        """Play and learn levels until `most` further games are played."""
        goal = self.steps + most
        while self.steps < goal:
            self.level()

    def policy(self) -> ValuedTable:
        """The greedy policy of the last champion."""
        return self.afterstates.policy(self.afterstates.values(self.network))

    def notes(self) -> dict[str, float]:
        """The level, the losses of its champion, and its results against the champion before."""
        if not self.levels:
            return {**dict.fromkeys(LEVEL, np.nan), "level": 0}
        return dict(zip(LEVEL, self.levels[-1], strict=True))

    def model(self) -> Arrays:
        """The weights of the network."""
        return weights_of(self.network)

    def restore(self, model: Arrays, state: dict[str, Any]) -> None:
        """Continue with these weights."""
        super().restore(model, state)
        self.results = Results(*state["results"])
        load_weights(self.network, model)

    def level(self) -> None:
        """Play the games of a level, learn from them, and play against the level before."""
        config = self.config
        afterstates = self.afterstates
        level = self.steps // config.games
        rng = np.random.default_rng([config.seed, level])
        before: Policy = RandomPolicy(config.rules)
        values = np.zeros(len(afterstates.positions))
        if level == 0 and config.network:
            load_weights(self.network, network_of(config))
        if level > 0 or config.network:
            values = afterstates.values(self.network)
            before = afterstates.policy(values)
        if config.dataset and level == 0:
            recent = read_dataset(Path(config.dataset), afterstates)
        else:
            recent = self.play(before, values, rng)
        self.results = Results(
            games=recent.games + config.memory * self.results.games,
            sums=recent.sums + config.memory * self.results.sums,
        )
        losses = self.fit(level, int(recent.games.sum()), rng)
        match = match_of(self.policy(), before, config.rules)
        self.levels.append([level + 1, *losses, *match])
        self.steps += config.games

    def play(self, player: Policy, values: Floats, rng: np.random.Generator) -> Results:
        """The results of the games of a level. values: (N,) the player's values."""
        config = self.config
        positions = self.afterstates.positions
        if isinstance(player, ValuedTable) and config.temperature:
            player = player.softmax(config.temperature)
        exploring = ExploringPolicy(player, config.epsilons, config.rules)
        table = tabulate(exploring, config.rules).by_row()
        # The position of each game after each move. After its end it is -1, the last position of
        # all, which is finished and therefore in no class. `returns` looks two moves ahead.
        path = np.full((config.rules.cells + 3, config.games), -1, dtype=np.intp)
        path[0] = 0

        def move(_: Rows, rows: Rows) -> Rows:
            return sample(table[rows], rng)

        plies, _ = play_out(path[0], move, positions)
        for ply, (games, rows, cells) in enumerate(plies):
            path[ply + 1, games] = positions.children[rows, cells]
        returns = self.returns(path, values).ravel()
        return self.afterstates.results(path.ravel(), np.ones(path.size), returns)

    def returns(self, path: Rows, values: Floats) -> Floats:
        """The discounted result at each position of a path, for the side that had just moved.

        With `cut`, the value of the best move replaces the result before a move of that side that
        was not the best by the champion's `values`.
        """
        exact = self.afterstates.exact
        is_over = self.afterstates.positions.is_over
        best = self.afterstates.of_moves(values).max(axis=1)
        returns = exact[path]
        for ply in range(len(path) - 3, -1, -1):
            here, answer, reply = path[ply : ply + 3]  # `answer` is the other side's move
            onward = returns[ply + 2]
            if self.config.cut:
                onward = np.where(values[reply] < best[answer], best[answer], onward)
            discounted = self.config.discount * onward
            later = np.where(is_over[answer], -exact[answer], discounted)
            returns[ply] = np.where(is_over[here], exact[here], later)
        return returns

    def fit(self, level: int, examples: int, rng: np.random.Generator) -> tuple[float, float]:
        """Train on the results and keep the champion, the epoch with the lowest validation loss.

        examples: how many are drawn in an epoch. Returns the champion's losses in training and
        validation.
        """
        config = self.config
        games = self.results.games
        means = self.results.means
        is_held_out = self.held_out(level)
        in_training = np.where(is_held_out, 0.0, games)
        in_validation = np.where(is_held_out, games, 0.0)
        if not in_training.any():
            raise ValueError(
                "all positions of the games are held out: play more games, or lower validation"
            )
        probs = in_training / in_training.sum()
        targets = torch.as_tensor(means, dtype=torch.float32, device=config.device)
        rate = config.learning_rate * config.learning_rate_decay**level
        optimizer = torch.optim.Adam(
            self.network.parameters(), lr=rate, weight_decay=1e-5, fused=True
        )
        champion: Arrays = {}
        losses = (np.nan, np.inf)
        with torch.random.fork_rng():
            torch.manual_seed(int(rng.integers(2**31)))
            for _ in range(config.epochs):
                self.network.train()
                for _ in range(0, examples, config.batch_size):
                    self.update(optimizer, targets, probs, rng)
                errors = (self.afterstates.outputs(self.network) - means) ** 2
                validation_loss = np.nan
                if in_validation.any():
                    validation_loss = float(np.average(errors, weights=in_validation))
                training_loss = float(errors @ probs)
                epoch = len(self.epochs) + 1
                self.epochs.append([epoch, level + 1, training_loss, validation_loss])
                is_worse = validation_loss > losses[1]  # never if nothing is held out
                if not is_worse:
                    losses = (training_loss, validation_loss)
                    champion = weights_of(self.network)
        load_weights(self.network, champion)
        return losses

    def held_out(self, level: int) -> NDArray[np.bool_]:
        """The classes (C,) that are held out at a level. None is again before all were."""
        share = self.config.validation
        return (self.order + level * share) % 1 < share

    def update(
        self,
        optimizer: torch.optim.Optimizer,
        targets: torch.Tensor,
        probs: Floats,
        rng: np.random.Generator,
    ) -> None:
        """Move the network towards the targets (C,) of a batch, drawn with these probabilities."""
        size = self.config.batch_size
        drawn = rng.choice(len(probs), size, p=probs)
        count = np.bincount(drawn, minlength=len(probs))
        which = torch.as_tensor(np.flatnonzero(count), device=targets.device)
        shares = count[count > 0] / size
        weights = torch.tensor(shares, dtype=torch.float32).to(targets.device)
        errors = self.network(self.afterstates.inputs[which])[:, 0] - targets[which]
        optimizer.zero_grad()
        (weights * errors**2).sum().backward()
        optimizer.step()

    def tables(self) -> dict[str, Table]:
        """The examples of the level, the losses, the matches, and games against random play."""
        losses = "mean squared error after each epoch"
        matches = "share of the games against the level before, with some random moves"
        against_random = f"{GAMES:,} games against random play after level {len(self.levels)}"
        games = games_against_random(self.policy(), self.config.seed)
        names = ("result", "exact", "sampled")
        return {
            "dataset.csv": dataset(self.afterstates, self.results),
            "losses.csv": Table(EPOCH, self.epochs, {losses: EPOCH[2:]}),
            "levels.csv": Table(LEVEL, self.levels, {matches: ("won", "lost")}),
            "games.csv": Table(names, games, {against_random: names[1:]}, bars=True),
        }


def dataset(afterstates: Afterstates, results: Results) -> Table:
    """Examples as a table: the positions that games went through, and the results of these games.

    A row is a board as the network sees it, its mean result, and the weight of its games.
    """
    planes = afterstates.planes
    names = [f"v{number}" for number in range(planes.shape[1])]
    names += ["return", "games"]
    rows = np.column_stack([planes, results.means, results.games])
    return Table(names, rows[results.games > 0].tolist())


def read_dataset(path: Path, afterstates: Afterstates) -> Results:
    """The results in a file such as `dataset` makes: a position without a row has none.

    Rows of one position, or of symmetric ones if they are one to the network, are added; finished
    boards are left out. Raises FileNotFoundError, and ValueError for another file.
    """
    rules = afterstates.config.rules
    width = 2 * rules.cells
    table = read_numbers(path, width + 2)
    planes, means, games = table[:, :width], table[:, width], table[:, width + 1]
    own, other = planes[:, : rules.cells], planes[:, rules.cells :]
    has_moved = np.where(own.sum(axis=1) > other.sum(axis=1), 1, -1)
    with suppress(ValueError):  # of boards that play cannot reach
        boards = (own - other) * has_moved[:, None]
        rows = afterstates.positions.rows(boards)
        is_whole = np.array_equal(observe(boards.astype(np.int8), rules, "flat", has_moved), planes)
        if is_whole and (np.abs(means) <= 1).all() and (games >= 0).all() and games.any():
            return afterstates.results(rows, games, means)
    raise ValueError(
        f"{path} must have boards of {rules} as the dataset.csv of a run, with a return from -1 to "
        "1, and games that are not all 0"
    )


def expected_results(afterstates: Afterstates, x: Policy, o: Policy) -> Results:
    """The results of a game of two players, each weighted by its probability; nothing is sampled.

    They are discounted and never cut. A player loses by an illegal move.
    """
    positions = afterstates.positions
    tables = [tabulate(player, positions.rules).by_row() for player in (x, o)]
    probs = np.where(positions.x_to_move[:, None], *tables)
    is_legal = positions.children >= 0
    illegal = np.where(is_legal, 0, probs).sum(axis=1)
    probs = np.where(is_legal, probs, 0)
    plies = [ply.rows for ply in positions.plies]
    reached = np.zeros(len(positions))  # the probability that a game goes through each position
    reached[0] = 1
    for rows in plies:
        np.add.at(reached, positions.children[rows], reached[rows, None] * probs[rows])
    returns = afterstates.exact.copy()  # for the side that has just moved
    onward = np.zeros(len(positions))  # the return at its next position of the side to move
    for rows in reversed(plies):
        after = positions.children[rows]
        onward[rows] = (probs[rows] * returns[after]).sum(axis=1) - illegal[rows]
        discounted = afterstates.config.discount * onward[after]
        later = np.where(positions.is_over[after], -afterstates.exact[after], discounted)
        returns[rows] = (probs[rows] * later).sum(axis=1) + illegal[rows]
    return afterstates.results(np.arange(len(positions)), reached, returns)


def match_of(champion: Policy, before: Policy, rules: Rules) -> tuple[float, float, float]:
    """The share of games that a champion wins, draws and loses against the one before.

    Both make some random moves. The shares are exact, and the mean of both sides.
    """
    player = tabulate(ExploringPolicy(champion, MATCH, rules), rules)
    opponent = tabulate(ExploringPolicy(before, MATCH, rules), rules)
    return means_of(*(exact_result(player, opponent, side=side) for side in SIDES))


def games_against_random(player: ValuedTable, seed: int) -> list[tuple[str, float, float]]:
    """How many of GAMES a player wins, draws and loses: expected exactly, and in sampled games."""
    rules = player.rules
    random = RandomPolicy(rules)
    exact = means_of(*(exact_result(player, random, side=side) for side in SIDES))
    half = GAMES // 2
    sampled = means_of(
        *(sampled_result(player, random, rules, half, seed, side=side).result for side in SIDES)
    )
    return [
        (name, GAMES * expected, round(GAMES * counted))
        for name, expected, counted in zip(LEVEL[3:], exact, sampled, strict=True)
    ]


def means_of(x: Result, o: Result) -> tuple[float, float, float]:
    """The mean share of wins, draws and losses of a player on both sides."""
    return (x.win + o.win) / 2, (x.draw + o.draw) / 2, (x.loss + o.loss) / 2


begin = ValueNet
