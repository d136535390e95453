"""Self-play in levels: a network learns the values of positions from its own games.

After https://github.com/sebastiengilbert73/tutorial_learnbyplay. The network maps a board to its
value for the side that has just moved (an afterstate value): the discounted result of the games
that went through it. Finished boards have exactly 1, 0 or -1. In a level the network plays some ten
thousand games against itself, in part with random moves, and learns the results of both sides. The
epoch with the lowest loss on held-out positions is the champion, which plays the next level. The
first level has random games, or the examples of a file, such as the `dataset.csv` of a run.

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

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import nn

from tictactoe_env.exact.match import exact_result
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.observation import observe
from tictactoe_env.policy import Policy, RandomPolicy, sample
from tictactoe_env.rules import SIDES
from training.files import read_columns
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
MATCH = (0.5, 0.1)  # shares of random moves by ply in a match of champions; the last one repeats
NOTES = ("level", "training_loss", "validation_loss", "won", "drawn", "lost")
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
    dataset: str = option("", "dataset.csv of a run for the first level; empty for random games.")
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


SEARCH = {"games": Range(10_000, 60_000, log=True), "learning_rate": Range(5e-4, 1e-2, log=True)}


def build(config: Config) -> nn.Sequential:
    """The untrained network, from planes of own and other marks to a value."""
    sizes, layers = (2 * config.rules.cells, *config.hidden), []
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        for inputs, units in pairwise(sizes):
            layers += [nn.Linear(inputs, units), nn.ReLU(), nn.Dropout(config.dropout)]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], 1))


class Afterstates:
    """All N positions, and their values for the side that has just moved.

    classes: (C,) the positions that the network sees, one of each symmetry class: all unfinished
    ones except the empty board, to which no move leads. planes: (C, 2 * cells) their marks, of the
    side that has just moved and of the other side. index: (N,) the class of each position, from 1;
    0 for those that it does not see. exact: (N,) the values of finished positions, else 0.
    """

    def __init__(self, config: Config, device: str = "cpu"):
        self.config = config
        positions = self.positions = positions_of(config.rules)
        seats = np.where(positions.x_to_move, -1, 1)
        self.exact = (positions.outcome_x * seats).astype(np.float64)
        seen = Representatives(positions, config.symmetry)  # the empty board is the first
        self.classes, self.index = seen.rows[1:], np.maximum(seen.index, 0)
        boards, seats = positions.boards[self.classes], seats[self.classes]
        self.planes = observe(boards, config.rules, "planes", seats).reshape(len(boards), -1)
        self.inputs = torch.as_tensor(self.planes, dtype=torch.float32, device=device)

    def outputs(self, network: nn.Module) -> Floats:
        """The outputs of a network for each class: (C,)."""
        network.eval()
        with torch.no_grad():
            return network(self.inputs)[:, 0].double().cpu().numpy()

    def values(self, network: nn.Module) -> Floats:
        """The values by which moves are chosen: (N,), with `look_ahead` 2 after the best reply."""
        values = np.where(self.index, self.outputs(network)[self.index - 1], self.exact)
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
    network, afterstates = build(config), Afterstates(config)
    load_weights(network, model)
    return afterstates.policy(afterstates.values(network))


class ValueNet(Learner):
    """The network, and the results that it learns from.

    results: (2, C) for each class of positions the weight of the games that reached it, and the sum
    of their results for the side that had just moved. losses: of the last champion, in training and
    validation. match: the wins, draws and losses of this champion against the one before.
    There is no generator: each level makes its own from the seed and its number.
    """

    STATE = ("results", "losses", "match")
    CHARTS = {"losses.png": NOTES[:3]}

    def __init__(self, config: Config):
        use_torch(config.device, threads=1)
        self.config, self.network = config, build(config).to(config.device)
        self.afterstates = Afterstates(config, config.device)
        images = self.afterstates.positions.canonical[self.afterstates.classes]
        distinct, which = np.unique(images, return_inverse=True)
        order = np.random.default_rng(config.seed).permutation(len(distinct))
        self.order = order[which] / len(distinct)  # the order in which classes are held out
        self.results = np.zeros((2, len(images)))
        self.losses, self.match = [np.nan, np.nan], [np.nan, np.nan, np.nan]

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
        level = self.steps // self.config.games
        return dict(zip(NOTES, (level, *self.losses, *self.match), strict=True))

    def model(self) -> Arrays:
        """The weights of the network."""
        return weights_of(self.network)

    def restore(self, model: Arrays, state: dict[str, Any]) -> None:
        """Continue with these weights."""
        super().restore(model, state)
        load_weights(self.network, model)

    def level(self) -> None:
        """Play the games of a level, learn from them, and play against the level before."""
        config, after, level = self.config, self.afterstates, self.steps // self.config.games
        rng = np.random.default_rng([config.seed, level])
        values = after.values(self.network) if level else np.zeros(len(after.positions))
        before: Policy = after.policy(values) if level else RandomPolicy()
        if config.dataset and level == 0:
            means, games = read_columns(Path(config.dataset), after.planes).T
            recent = np.stack([games, games * means])
        else:
            recent = self.play(before, values, rng)
        self.results = recent + config.memory * self.results
        self.fit(level, int(recent[0].sum()), rng)
        players = (ExploringPolicy(one, MATCH) for one in (self.policy(), before))
        champion, other = (tabulate(player, config.rules) for player in players)
        x, o = (exact_result(champion, other, side=side) for side in SIDES)
        self.match = [(x.win + o.win) / 2, (x.draw + o.draw) / 2, (x.loss + o.loss) / 2]
        self.steps += config.games

    def play(self, player: Policy, values: Floats, rng: np.random.Generator) -> Floats:
        """The results (2, C) of the games of a level. values: (N,) those of the player."""
        config, positions = self.config, self.afterstates.positions
        if isinstance(player, ValuedTable) and config.temperature:
            player = player.softmax(config.temperature)
        table = tabulate(ExploringPolicy(player, config.epsilons), config.rules).by_row()
        # the position of each game after each move, -1 after its end
        path = np.full((config.rules.cells + 3, config.games), -1, dtype=np.intp)
        path[0] = 0
        plies, _ = play_out(path[0], lambda _, rows: sample(table[rows], rng), positions)
        for ply, (games, rows, cells) in enumerate(plies):
            path[ply + 1, games] = positions.children[rows, cells]
        which, size = self.afterstates.index[path].ravel(), self.results.shape[1] + 1
        returns = self.returns(path, values).ravel()
        return np.stack([np.bincount(which, weights, size)[1:] for weights in (None, returns)])

    def returns(self, path: Rows, values: Floats) -> Floats:
        """The discounted result at each position of a path, for the side that had just moved.

        With `cut`, the value of the best move replaces the result before a move of that side that
        was not the best by the champion's `values`.
        """
        after, is_over = self.afterstates, self.afterstates.positions.is_over
        returns, best = after.exact[path], after.of_moves(values).max(axis=1)
        for ply in range(len(path) - 3, -1, -1):
            here, answer, reply = path[ply : ply + 3]
            onward = returns[ply + 2]
            if self.config.cut:
                onward = np.where(values[reply] < best[answer], best[answer], onward)
            discounted = self.config.discount * onward
            later = np.where(is_over[answer], -after.exact[answer], discounted)
            returns[ply] = np.where(is_over[here], after.exact[here], later)
        return returns

    def fit(self, level: int, examples: int, rng: np.random.Generator) -> None:
        """Train on the results and keep the champion, the epoch with the lowest validation loss.

        examples: how many are drawn in an epoch. No class is held out again before all were.
        """
        config, network, after = self.config, self.network, self.afterstates
        size, device, share = config.batch_size, config.device, config.validation
        games, sums = self.results
        mean = sums / np.where(games > 0, games, 1.0)
        held_out = (self.order + level * share) % 1 < share
        known, unknown = np.where(held_out, 0.0, games), np.where(held_out, games, 0.0)
        if not known.any():
            raise ValueError("all positions of the games are held out: play more games")
        rate = config.learning_rate * config.learning_rate_decay**level
        optimizer = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=1e-5, fused=True)
        targets = torch.as_tensor(mean, dtype=torch.float32, device=device)
        probs = known / known.sum()
        self.losses, weights = [np.nan, np.inf], {}
        with torch.random.fork_rng():
            torch.manual_seed(int(rng.integers(2**31)))
            for _ in range(config.epochs):
                network.train()
                for _ in range(0, examples, size):
                    count = np.bincount(rng.choice(len(probs), size, p=probs), minlength=len(probs))
                    which = torch.as_tensor(np.flatnonzero(count), device=device)
                    weight = torch.tensor(count[count > 0] / size, dtype=torch.float32).to(device)
                    errors = network(after.inputs[which])[:, 0] - targets[which]
                    optimizer.zero_grad()
                    (weight * errors**2).sum().backward()
                    optimizer.step()
                distances = (after.outputs(network) - mean) ** 2
                held = np.average(distances, weights=unknown) if unknown.any() else np.nan
                if not held > self.losses[1]:  # NaN if nothing is held out: the last epoch is it
                    self.losses = [float(distances @ probs), float(held)]
                    weights = weights_of(network)
        load_weights(network, weights)

    def tables(self) -> dict[str, Table]:
        """The examples of the level: a board, its mean result, and the weight of its games."""
        (games, sums), planes = self.results, self.afterstates.planes
        rows = np.column_stack([planes, sums / np.where(games > 0, games, 1.0), games]).tolist()
        names = [*(f"v{number}" for number in range(planes.shape[1])), "return", "games"]
        return {"dataset.csv": Table(names, rows)}


begin = ValueNet
