"""Self-play in levels: a network learns the values of positions from its own games.

After https://github.com/sebastiengilbert73/tutorial_learnbyplay. The network maps a board to its
value for the side that has just moved (an afterstate value): the discounted result of the games
that went through it. Finished boards have exactly 1, 0 or -1. In a level the network plays some ten
thousand games against itself, in part with random moves, and learns the results of both sides. The
epoch with the lowest loss on held-out positions is the champion, which plays the next level. The
first level has random games, or the examples of a file.

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

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from tictactoe_env.exact.match import exact_result
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.observation import observe
from tictactoe_env.policy import sample
from training.files import read_csv
from training.learner import Arrays, Learner, Table
from training.options import (
    BoardConfig,
    Count,
    Layers,
    NotNegative,
    Positive,
    Share,
    Shares,
    option,
)
from training.search_space import Range
from training.selfplay import Rows, play_out
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
MATCH_EPSILONS = (0.5, 0.1)  # random moves at each ply of a match; the last one repeats
RESULTS = ("win", "loss", "draw")
NOTES = ("level", "training_loss", "validation_loss")
Floats = NDArray[np.float64]


class Config(BoardConfig):
    """The options of a training. A step is a game. Schedules are by level."""

    k: Annotated[int, Field(ge=2)] = option(3, "Marks in a line that win, more than one.")
    steps: Count = option(510_000, "Games after which training ends, at the end of a level.")
    judge_every: Count = option(30_000, "Games between two exact evaluations, at ends of levels.")
    games: Count = option(30_000, "Number of games in a level.")
    epochs: Count = option(5, "Epochs in a level; each draws as many examples as it has.")
    hidden: Layers = option((1024,), "Units of the hidden layers.")
    epsilons: Shares = option((1.0, 1.0, 0.5), "Share of random moves by ply; the last repeats.")
    temperature: NotNegative = option(0.0, "Softmax temperature in games; 0 for the best move.")
    look_ahead: Annotated[int, Field(ge=1, le=2)] = option(1, "Depth of the search in moves.")
    discount: Share = option(0.95, "Discount factor for each move of the same side.")
    memory: Share = option(0.8, "Factor on the weight of earlier games at each new level.")
    batch_size: Count = option(2_048, "Number of examples in a batch.")
    learning_rate: Positive = option(2e-3, "Adam's learning rate at the first level.")
    dropout: Share = option(0.0, "Share of the hidden units that are dropped at random.")
    dataset: str = option("", "CSV file of results for the first level; empty for random games.")
    device: Device = option("cpu", "Device on which the network is trained.")
    cut: bool = True
    symmetry: bool = True
    validation: Share = 0.1  # held out to choose the best epoch; with 0 it is the last one
    learning_rate_decay: Share = 0.8  # at each new level
    weight_decay: NotNegative = 1e-5
    threads: Count = 1


SEARCH = {"games": Range(10_000, 60_000, log=True), "learning_rate": Range(5e-4, 1e-2, log=True)}


def build(config: Config) -> torch.nn.Sequential:
    """The untrained network, from planes of own and other marks to a value."""
    layers: list[torch.nn.Module] = []
    sizes = 2 * config.rules.cells, *config.hidden
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        for inputs, units in pairwise(sizes):
            linear, dropout = torch.nn.Linear(inputs, units), torch.nn.Dropout(config.dropout)
            layers += [linear, torch.nn.ReLU(), dropout]
        layers.append(torch.nn.Linear(sizes[-1], 1))
    return torch.nn.Sequential(*layers)


class Afterstates:
    """All N positions, and their values for the side that has just moved.

    rows: (U,) the positions with a value of the network: all unfinished ones except the empty
    board, to which no move leads. classes: (C,) the positions that the network sees, one of each
    symmetry class. index: (U,) the class of each of `rows`.
    planes: (N, 2 * cells) the marks of the side that has just moved, then those of the other side.
    exact: (N,) the values of finished positions, 0 for the others.
    """

    def __init__(self, config: Config, device: str = "cpu"):
        self.config, self.positions = config, positions_of(config.rules)
        positions = self.positions
        seats = np.where(positions.x_to_move, -1, 1)
        self.exact = (positions.outcome_x * seats).astype(np.float64)
        planes = observe(positions.boards, config.rules, "planes", seats)
        self.planes = planes.reshape(len(positions), -1)
        seen = Representatives(positions, config.symmetry)
        self.rows, self.classes = positions.unfinished[1:], seen.rows[1:]
        self.index = seen.index[self.rows] - 1
        inputs = self.planes[self.classes]
        self.inputs = torch.as_tensor(inputs, dtype=torch.float32, device=device)

    def values(self, network: torch.nn.Module) -> Floats:
        """The values of all positions: (N,), by the network, or exact if the game is over."""
        network.eval()
        with torch.no_grad():
            outputs = network(self.inputs)[:, 0].double().cpu().numpy()
        values = self.exact.copy()
        values[self.rows] = outputs[self.index]
        return values

    def looked_ahead(self, values: Floats) -> Floats:
        """The values (N,) by which moves are chosen: with `look_ahead` 2 after the best reply."""
        if self.config.look_ahead == 1:
            return values
        return np.where(self.positions.is_over, values, -self.of_moves(values).max(axis=1))

    def of_moves(self, values: Floats) -> Floats:
        """The values of the positions after each move: (N, cells), -inf for illegal moves."""
        children = self.positions.children
        return np.where(children >= 0, values[children], -np.inf)

    def policy(self, network: torch.nn.Module) -> ValuedTable:
        """The greedy policy of a network."""
        moves = self.of_moves(self.looked_ahead(self.values(network)))
        worth = reward_scale((1.0, 0.0, -1.0), self.config.discount)
        return ValuedTable(self.positions.rules, moves[self.positions.unfinished], worth)

    def exploring(
        self, values: Floats | None, epsilons: Sequence[float], temperature: float = 0.0
    ) -> TabularPolicy:
        """The policy of games: a random move by `epsilons`, else the best move or a softmax.

        values: (N,), None for random play.
        """
        positions = self.positions
        free = positions.boards[positions.unfinished] == 0
        random = free / free.sum(axis=1, keepdims=True)
        if values is None:
            return TabularPolicy(positions.rules, random)
        moves = self.of_moves(self.looked_ahead(values))[positions.unfinished]
        chosen: NDArray[Any] = np.arange(moves.shape[1]) == moves.argmax(axis=1)[:, None]
        if temperature > 0:
            chosen = np.exp((moves - moves.max(axis=1, keepdims=True)) / temperature)
        chosen = chosen / chosen.sum(axis=1, keepdims=True)
        plies = np.minimum(positions.ply[positions.unfinished], len(epsilons) - 1)
        epsilon = np.array(epsilons)[plies][:, None]
        return TabularPolicy(positions.rules, epsilon * random + (1 - epsilon) * chosen)


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player of a saved model, on the CPU."""
    use_torch("cpu", config.threads)  # the order of summation may depend on the threads
    network = build(config)
    load_weights(network, model)
    return Afterstates(config).policy(network)


class ValueNet(Learner):
    """The network, and the results that it learns from.

    results: (2, N) for each position the weight of the games that reached it, and the sum of their
    results for the side that had just moved. recent: of the games of the last level alone.
    losses: of the last champion, in training and validation.
    matches: for each level the wins, losses and draws of its champion against the one before.
    There is no generator: each level makes its own from the seed and its number.
    """

    STATE = ("results", "recent", "losses", "matches")

    def __init__(self, config: Config):
        use_torch(config.device, config.threads)
        self.config, self.network = config, build(config).to(config.device)
        self.afterstates = Afterstates(config, config.device)
        self.positions = self.afterstates.positions
        images = self.positions.canonical[self.afterstates.classes]
        images, which = np.unique(images, return_inverse=True)
        order = np.random.default_rng(config.seed).permutation(len(images))
        self.order = order[which] / len(images)  # the order in which classes are held out
        self.results = self.recent = np.zeros((2, len(self.positions)))
        self.losses = [np.nan, np.nan]
        self.matches: list[list[float]] = []

    def advance(self, most: int) -> None:
        """Play and learn levels until `most` further games are played."""
        goal = self.steps + most
        while self.steps < goal:
            self.level()

    def policy(self) -> ValuedTable:
        """The greedy policy of the last champion."""
        return self.afterstates.policy(self.network)

    def notes(self) -> dict[str, float]:
        """The level, and the losses of its champion."""
        return dict(zip(NOTES, [len(self.matches), *self.losses], strict=True))

    def model(self) -> Arrays:
        """The weights of the network."""
        return weights_of(self.network)

    def restore(self, model: Arrays, state: dict[str, Any]) -> None:
        """Continue with these weights."""
        super().restore(model, state)
        load_weights(self.network, model)

    def level(self) -> None:
        """Play the games of a level, learn from them, and play against the level before."""
        config, after, number = self.config, self.afterstates, len(self.matches)
        rng = np.random.default_rng([config.seed, number])
        before = after.values(self.network) if number else None
        is_read = number == 0 and config.dataset
        self.recent = read_dataset(config, after) if is_read else self.play(before, rng)
        self.results = self.recent + config.memory * self.results
        self.fit(rng, int(self.recent[0].sum()))
        champion = after.exploring(after.values(self.network), MATCH_EPSILONS)
        other = after.exploring(before, MATCH_EPSILONS)
        x, o = exact_result(champion, other), exact_result(other, champion).other_side
        self.matches.append([(getattr(x, name) + getattr(o, name)) / 2 for name in RESULTS])
        self.steps += config.games

    def play(self, values: Floats | None, rng: np.random.Generator) -> Floats:
        """The `results` (2, N) of the games of a level, by these values (N,) or at random."""
        config, positions = self.config, self.positions
        players = self.afterstates.exploring(values, config.epsilons, config.temperature)
        table, starts = players.by_row(), np.zeros(config.games, dtype=np.intp)
        plies, _ = play_out(starts, lambda _, rows: sample(table[rows], rng), positions)
        # the position of each game after each move, -1 after its end
        path = np.full((config.rules.cells + 3, config.games), -1, dtype=np.intp)
        for ply, (games, rows, cells) in enumerate(plies):
            path[ply + 1, games] = positions.children[rows, cells]
        path[0] = 0
        is_met = (path > 0) & ~positions.is_over[path]
        returns = self.returns(path, values)[is_met]
        return results_of(path[is_met], np.ones(len(returns)), returns, len(positions))

    def returns(self, path: Rows, values: Floats | None) -> Floats:
        """The discounted result at each position of a path, for the side that had just moved.

        With `cut`, the value of the best move replaces the result before a move of that side that
        was not the best by the champion's `values`.
        """
        after, is_over = self.afterstates, self.positions.is_over
        returns = after.exact[path]
        cut = self.config.cut and values is not None
        values = after.exact if values is None else after.looked_ahead(values)
        best = after.of_moves(values).max(axis=1)
        for ply in range(len(path) - 3, -1, -1):
            here, answer, reply = path[ply : ply + 3]
            onward = returns[ply + 2]
            if cut:
                onward = np.where(values[reply] < best[answer], best[answer], onward)
            discounted = self.config.discount * onward
            later = np.where(is_over[answer], -after.exact[answer], discounted)
            returns[ply] = np.where(is_over[here], after.exact[here], later)
        return returns

    def fit(self, rng: np.random.Generator, examples: int) -> None:
        """Train on the results and keep the champion, the epoch with the lowest validation loss.

        examples: how many are drawn in an epoch. No class is held out again before all were.
        """
        config, network, level = self.config, self.network, len(self.matches)
        size, device = config.batch_size, config.device
        after, share = self.afterstates, config.validation
        games, sums = (
            np.bincount(after.index, weights=part[after.rows], minlength=len(after.classes))
            for part in self.results
        )
        mean = sums / np.where(games > 0, games, 1.0)
        held_out = (self.order + level * share) % 1 < share
        known, unknown = np.where(held_out, 0.0, games), np.where(held_out, games, 0.0)
        if not known.any():
            raise ValueError("all positions of the games are held out: play more games")
        rate = config.learning_rate * config.learning_rate_decay**level
        optimizer = torch.optim.Adam(
            network.parameters(), lr=rate, weight_decay=config.weight_decay, fused=True
        )
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
                distances = (after.values(network)[after.classes] - mean) ** 2
                held = np.average(distances, weights=unknown) if unknown.any() else np.nan
                # without held-out positions the loss is NaN and the last epoch is the champion
                if not held > self.losses[1]:
                    self.losses = [float(distances @ probs), float(held)]
                    weights = weights_of(network)
        load_weights(network, weights)

    def tables(self) -> dict[str, Table]:
        """The examples of the last level, and the matches of all levels."""
        rows = np.flatnonzero(self.recent[0])
        games, sums = self.recent[:, rows]
        examples = np.column_stack([self.afterstates.planes[rows], sums / games, games]).tolist()
        matches = [(level, *shares) for level, shares in enumerate(self.matches, 1)]
        dataset = Table([*columns_of(self.config), "games"], examples)
        return {
            f"level-{len(self.matches):02d}/dataset.csv": dataset,
            "levels.csv": Table(["level", *RESULTS], matches),
        }

    def charts(self, rows: Sequence[Mapping[str, float]]) -> dict[str, Table]:
        """The losses of the champions."""
        labels = {"title": "losses of the champions", "y_label": "mean squared error"}
        return {"losses.png": Table.of(rows, *NOTES, **labels)}


begin = ValueNet


def results_of(rows: Rows, games: Floats, mean: Floats, size: int) -> Floats:
    """Games and sum of the results (2, size) at positions (B,), which may repeat, from means."""
    return np.stack([np.bincount(rows, part, minlength=size) for part in (games, games * mean)])


def columns_of(config: Config) -> list[str]:
    """The columns of a dataset of single results: the planes and the result."""
    return [*(f"v{number}" for number in range(2 * config.rules.cells)), "return"]


def read_dataset(config: Config, afterstates: Afterstates) -> Floats:
    """The `results` (2, N) of a dataset of unfinished boards, each with or without `games`.

    Raises ValueError if the file is none.
    """
    names, path, size = columns_of(config), Path(config.dataset), len(afterstates.planes)
    table = read_csv(path, names, optional=["games"])
    places = {tuple(planes): row for row, planes in enumerate(afterstates.planes.tolist())}
    rows = np.array([places.get(tuple(line[: len(names) - 1]), -1) for line in table.tolist()])
    games = table[:, len(names)] if table.shape[1] > len(names) else np.ones(len(table))
    if (rows < 0).any() or not np.isfinite(table).all() or (games < 0).any():
        raise ValueError(f"{path} must hold boards of planes, and finite results of games")
    results = results_of(rows, games, table[:, len(names) - 1], size)
    results[:, np.setdiff1d(np.arange(size), afterstates.rows)] = 0
    if not results[0].any():
        raise ValueError(f"{path} must hold an unfinished board, got none")
    return results
