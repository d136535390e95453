"""Self-play in levels: a network learns the values of boards from its own games, level by level.

After sebastiengilbert73/tutorial_learnbyplay
(https://github.com/sebastiengilbert73/tutorial_learnbyplay). The network maps a board to its value
for the side that has just moved (an afterstate value): the discounted result of the games that went
through it. A player chooses the move to the board of the highest value; finished boards have
exactly 1, 0 or -1. A level plays some ten thousand games of the network against itself, with random
moves in between, and trains it further on the results of both sides. Some positions are held out;
the epoch with the least validation loss is the level's champion and plays the next level. There is
no opponent and no solver, and no search beyond the next move or two.

Differences from that system, which `--preset learnbyplay` switches off:

- A random move says nothing about the side that made it. Results are propagated back to the side's
  last move that was not its best, and no further: before it, the champion's value of the best move
  replaces the result (`cut`; Watkins' Q(lambda), 1989). So the network learns what the best moves
  reach against a player that also makes random ones, not what two such players reach against each
  other.
- The first move of each side is random, and half of the others (`epsilons`), so that every position
  is met often. The exact values of the best moves against this are those of an unbeatable player
  that reaches both best achievable results.
- Positions that are equal under symmetry are one position to the network (`symmetry`).
- The games of earlier levels keep a weight that decays with each level (`memory`), and so does the
  learning rate (`learning_rate_decay`), so that the network settles on means over many more games
  than one level has.

Corrected, in the preset too: an example is a position with the mean of its results, so a batch
evaluates each distinct position once. Dropout drops units, not whole examples. Positions are held
out together with their symmetric images, and all of them in turn (`validation`). Exploration,
temperature and look-ahead work together. Examples are the unfinished boards of both sides. The
original's `Coptic_N`, a convolution as large as the board without a non-linearity, is a linear
model; with one it would be SaintAndre_N.

Files of a run: for every level its examples (`level-01/dataset.csv`: planes of own and other
marks, mean result, its deviation, games) and losses (`level-01/losses.csv`), and for all levels the
results of each against the one before (`levels.csv`, `levels.png`) and the losses of the champions
(`losses.png`). `--dataset` reads such examples, or single results, instead of random games.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from tictactoe_env.match import exact_result, sampled_result
from tictactoe_env.observation import observe
from tictactoe_env.policy import TabularPolicy, sample
from tictactoe_env.positions import positions_of
from training.checkpoint import take
from training.files import read_csv
from training.learner import Arrays, Chart, Learner, State, Table
from training.options import (
    BoardConfig,
    Count,
    NotNegative,
    Positive,
    PositiveShare,
    Preset,
    Share,
    ShareBelowOne,
    Shares,
    option,
)
from training.symmetry import Representatives
from training.values import ValuedTable

AGENT = "value_net"
RESULTS = ("wins", "losses", "draws")

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Config(BoardConfig):
    """Everything that decides what is learned.

    Schedules are by level, so that a longer run begins as a shorter one.
    """

    STEP: ClassVar[str] = "games"

    steps: Count = option(
        510_000,
        "Games after which training ends; the level under way is completed. 17 levels of 30,000 "
        "by default.",
    )
    judge_every: Count = option(
        30_000, "Games between two exact evaluations, which are made at the end of a level."
    )
    games: Count = option(30_000, "Games of a level.")
    epochs: Count = option(
        5, "Epochs of a level; each draws as many examples as the level's games had positions."
    )
    architecture: str = option(
        "SaintAndre_1024",
        "The network: SaintAndre_ and the units of its hidden layer, or of several: "
        "SaintAndre_256_256.",
    )
    opponent: Literal["itself", "previous"] = option(
        "itself",
        "Who plays the games of a level against the last champion: itself, or the previous "
        "champion.",
    )
    epsilons: Shares = option(
        (1.0, 1.0, 0.5),
        "Probability of a random legal move at each move of a game; the last repeats.",
    )
    temperature: NotNegative = option(
        0.0,
        "Temperature of a softmax over the values of the moves in the games of a level; 0 takes "
        "the best move.",
    )
    look_ahead: Annotated[int, Field(ge=1, le=2)] = option(
        1, "Moves that are looked ahead: 1, or 2 for the move whose worst answer is best."
    )
    cut: bool = option(
        True,
        "Whether a result counts only back to the side's last move that was not its best, and "
        "the best move's value before.",
    )
    discount: Share = option(0.95, "Factor on a result for each own move before it.")
    memory: Share = option(
        0.8, "Factor on the weight of the games of earlier levels at each further level."
    )
    symmetry: bool = option(
        True, "Whether positions that are equal under symmetry are one to the network."
    )
    validation: ShareBelowOne = option(
        0.1,
        "Share of the positions held out, with their images; at 0 the last epoch is the champion.",
    )
    batch_size: Count = option(2_048, "Examples in a batch.")
    learning_rate: Positive = option(2e-3, "Adam's learning rate at the first level.")
    learning_rate_decay: PositiveShare = option(
        0.8, "Factor on the learning rate from level to level."
    )
    weight_decay: NotNegative = option(1e-5, "Adam's weight decay.")
    dropout: ShareBelowOne = option(
        0.0, "Share of the hidden units that are dropped at random during training."
    )
    dataset: str = option(
        "",
        "CSV file of positions and results that the first level learns from instead of random "
        "games; empty: none.",
    )
    match_games: Count = option(500, "Games of each level against the one before, on each side.")
    match_epsilons: Shares = option(
        (0.5, 0.1),
        "Probability of a random legal move in these games, at each move; the last repeats.",
    )
    device: Literal["cpu", "cuda"] = option("cpu", "Where the network is trained.")
    threads: Count = option(1, "Threads of torch; for a network as small as this one is fastest.")

    def check(self) -> None:
        """Raises ValueError for an unknown architecture."""
        hidden_units(self.architecture)


PRESETS = {
    "learnbyplay": Preset(
        "tutorial_learnbyplay: its network, games, examples and training; dropout drops units, "
        "and positions are held out with their images.",
        {
            "epsilons": (0.5, 0.5, 0.1),
            "cut": False,
            "memory": 0.0,
            "symmetry": False,
            "validation": 0.2,
            "batch_size": 64,
            "learning_rate": 1e-4,
            "learning_rate_decay": 1.0,
            "weight_decay": 1e-5,
            "dropout": 0.5,
        },
        weak=True,
    ),
}


# --- the network -----------------------------------------------------------------------------


def hidden_units(architecture: str) -> tuple[int, ...]:
    """The units of the hidden layers of "SaintAndre_1024" or "SaintAndre_256_256".

    Raises ValueError for another name.
    """
    found = re.fullmatch(r"SaintAndre((?:_[1-9][0-9]{0,4})+)", architecture)
    if not found:
        raise ValueError(
            "architecture must be SaintAndre_ and the units of the hidden layer, such as "
            f"SaintAndre_1024, got {architecture!r}"
        )
    return tuple(map(int, found[1][1:].split("_")))


def build(config: Config) -> torch.nn.Sequential:
    """The untrained network: planes of own and other marks in, a value out.

    Sets the number of torch's threads, because the order of sums may depend on it.
    """
    torch.set_num_threads(config.threads)
    layers: list[torch.nn.Module] = []
    size = 2 * config.rules.cells
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        for units in hidden_units(config.architecture):
            linear, dropout = torch.nn.Linear(size, units), torch.nn.Dropout(config.dropout)
            layers += [linear, torch.nn.ReLU(), dropout]
            size = units
        layers.append(torch.nn.Linear(size, 1))
    return torch.nn.Sequential(*layers)


def load_weights(network: torch.nn.Module, model: Arrays) -> None:
    """Put saved weights into a network. Raises ValueError if they do not fit."""
    weights = {
        name: torch.as_tensor(take(model, name, tuple(tensor.shape), np.float32))
        for name, tensor in network.state_dict().items()
    }
    network.load_state_dict(weights)


class Afterstates:
    """All N positions, and their values for the side that has just moved there.

    rows: positions that the network values: the unfinished ones but for the empty board, to which
    no move leads. classes: (C,) the positions that it sees, one of each symmetry class.
    index: (len(rows),) the class of each of `rows`.
    planes: (N, 2 * cells) marks of the side that has just moved, then of the other.
    exact: (N,) the values of finished positions, 0 for the others.
    """

    def __init__(self, config: Config, device: str = "cpu"):
        self.look_ahead = config.look_ahead
        self.positions = positions = positions_of(config.rules)
        seats = np.where(positions.x_to_move, -1, 1)
        self.exact = (positions.outcome_x * seats).astype(np.float64)
        planes = observe(positions.boards, config.rules, seats=seats)
        self.planes = planes.reshape(len(positions), -1)
        seen = Representatives(positions, config.symmetry)
        self.rows, self.classes = positions.unfinished[1:], seen.rows[1:]
        self.index = seen.index[self.rows] - 1
        inputs = self.planes[self.classes]
        self.inputs = torch.as_tensor(inputs, dtype=torch.float32, device=device)

    def outputs(self, network: torch.nn.Module) -> Floats:
        """The outputs of a network for the classes: (C,)."""
        network.eval()
        with torch.no_grad():
            return network(self.inputs)[:, 0].double().cpu().numpy()

    def values(self, network: torch.nn.Module) -> Floats:
        """The values of all positions: (N,), by the network, exact where the game is over."""
        values = self.exact.copy()
        values[self.rows] = self.outputs(network)[self.index]
        return values

    def looked_ahead(self, values: Floats) -> Floats:
        """The values by which moves are chosen: (N,).

        With `look_ahead` 2 the value of a position is what the best answer leaves of it.
        """
        if self.look_ahead == 1:
            return values
        answers = self.of_moves(values).max(axis=1)
        return np.where(self.positions.is_over, values, -answers)

    def of_moves(self, values: Floats) -> Floats:
        """The values of the positions that moves lead to: (N, cells), -inf for no move."""
        children = self.positions.children
        return np.where(children >= 0, values[children], -np.inf)

    def policy(self, network: torch.nn.Module) -> ValuedTable:
        """What a network plays, without exploration."""
        moves = self.of_moves(self.looked_ahead(self.values(network)))
        return ValuedTable(self.positions.rules, moves[self.positions.unfinished])

    def exploring(
        self, values: Floats | None, epsilons: Sequence[float], temperature: float = 0.0
    ) -> TabularPolicy:
        """The best move by `values`, or a softmax, or a random legal move.

        epsilons: probability of the random move at each ply; the last repeats. values: None is
        random play.
        """
        positions, rows = self.positions, self.positions.unfinished
        free = positions.boards[rows] == 0
        random = free / free.sum(axis=1, keepdims=True)
        if values is None:
            return TabularPolicy(positions.rules, random)
        moves = self.of_moves(self.looked_ahead(values))[rows]
        chosen: NDArray[Any] = np.arange(free.shape[1]) == moves.argmax(axis=1)[:, None]
        if temperature > 0:
            chosen = np.exp((moves - moves.max(axis=1, keepdims=True)) / temperature)
        chosen = chosen / chosen.sum(axis=1, keepdims=True)
        plies = np.minimum(positions.ply[rows], len(epsilons) - 1)
        epsilon = np.array(epsilons)[plies][:, None]
        return TabularPolicy(positions.rules, epsilon * random + (1 - epsilon) * chosen)


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player of a saved model, on the CPU."""
    network = build(config)
    load_weights(network, model)
    return Afterstates(config).policy(network)


# --- the learner -----------------------------------------------------------------------------


def begin(config: Config) -> ValueNet:
    """A learner that has played no level."""
    return ValueNet(config)


class ValueNet(Learner):
    """The network, the results that it learns from, and the history of the levels.

    results: (3, N) of all positions: weight of the games that met each, and the sum and the sum of
    squares of their results for the side that had just moved there.
    values, previous: (N,) by the last champion and the one before, None for random play.
    history: of each level the losses (training and validation of each epoch), the champion (its
    epoch), the least possible loss, and wins, losses and draws against the level before, exact and
    sampled. recent: the results of the games of each level of the last `advance`.
    """

    def __init__(self, config: Config):
        self.config, self.network = config, build(config).to(config.device)
        self.afterstates = Afterstates(config, config.device)
        self.positions = self.afterstates.positions
        images = self.positions.canonical[self.afterstates.classes]
        images, which = np.unique(images, return_inverse=True)
        order = np.random.default_rng(config.seed).permutation(len(images))
        self.order = order[which] / len(images)  # in which classes are held out
        self.results = np.zeros((3, len(self.positions)))
        self.values: Floats | None = None
        self.previous: Floats | None = None
        self.history: list[dict[str, Any]] = []
        self.recent: list[Floats] = []

    # --- what every learner does -------------------------------------------------------------

    def advance(self, most: int) -> None:
        """Play and learn levels until `most` further games are played."""
        self.recent, goal = [], self.steps + most
        while self.steps < goal:
            self.level()

    def policy(self) -> ValuedTable:
        """What the champion of the last level plays, without exploration."""
        return self.afterstates.policy(self.network)

    def notes(self) -> dict[str, float]:
        """The level, the losses of its champion, and the least possible loss."""
        last = self.history[-1]
        training, validation = last["losses"][last["champion"] - 1]
        return {
            "level": len(self.history),
            "training_loss": training,
            "validation_loss": validation,
            "least_loss": last["least"],
        }

    def model(self) -> Arrays:
        """The weights of the network."""
        weights = self.network.state_dict()
        return {name: tensor.cpu().numpy() for name, tensor in weights.items()}

    def state(self) -> State:
        """The results, the previous champion's values and the history.

        The generator of a level follows from the seed and the level's number.
        """
        return {"results": self.results, "previous": self.previous, "history": self.history}

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        load_weights(self.network, model)
        self.results = take(state, "results", self.results.shape, np.float64)
        self.history = state["history"]
        if len(self.history) * self.config.games != self.steps:
            raise ValueError(f"{len(self.history)} levels are not of {self.steps} games")
        if len(self.history) > 1:
            self.previous = take(state, "previous", self.results[0].shape, np.float64)
        self.values = self.afterstates.values(self.network) if self.history else None

    # --- a level -----------------------------------------------------------------------------

    def level(self) -> None:
        """Play the games of a level, learn from them, and play against the level before."""
        config, number = self.config, len(self.history)
        rng = np.random.default_rng([config.seed, number])
        if config.dataset and number == 0:
            results = read_dataset(Path(config.dataset), self.afterstates)
        else:
            results = self.play(rng)
        self.results = results + config.memory * self.results
        learned = self.fit(rng, int(results[0].sum()))
        self.previous, self.values = self.values, self.afterstates.values(self.network)
        self.history.append({**learned, **self.match(int(rng.integers(2**31)))})
        self.recent.append(results)
        self.steps += config.games

    def play(self, rng: np.random.Generator) -> Floats:
        """Games of the champion against itself, or the one before it: their `results` (3, N)."""
        config, positions, cells = self.config, self.positions, self.config.rules.cells
        sides = (self.values, self.values if config.opponent == "itself" else self.previous)
        players = [
            self.afterstates.exploring(values, config.epsilons, config.temperature)
            for values in sides
        ]
        tables = np.stack([player.by_row() for player in players])
        # the position of each game after each move, -1 after its end
        path = np.full((cells + 3, config.games), -1, dtype=np.intp)
        path[0], going = 0, np.arange(config.games)
        for ply in range(cells):
            rows = path[ply, going]
            moves = sample(tables[(going + ply) % 2, rows], rng)
            path[ply + 1, going] = positions.children[rows, moves]
            going = going[~positions.is_over[path[ply + 1, going]]]
        is_met = (path > 0) & ~positions.is_over[path]
        returns = self.returns(path)[is_met]
        return sums_by_row(path[is_met], np.ones(len(returns)), returns, len(positions))

    def returns(self, path: Rows) -> Floats:
        """The discounted results at each position of a path, for the side that had just moved.

        With `cut`, before a move of that side that was not its best by the champion's values, the
        value of the best move replaces the result.
        """
        after, is_over = self.afterstates, self.positions.is_over
        returns = after.exact[path]
        cut = self.config.cut and self.values is not None
        values = after.exact if self.values is None else after.looked_ahead(self.values)
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

    def match(self, seed: int) -> dict[str, list[float]]:
        """Wins, losses and draws of the champion against the one before it.

        Half of the games on each side: exact shares, and counts in sampled games.
        """
        config, names = self.config, ("win", "loss", "draw")
        champion, before = (
            self.afterstates.exploring(values, config.match_epsilons)
            for values in (self.values, self.previous)
        )
        x, o = exact_result(champion, before), exact_result(before, champion).other_side
        count = config.match_games
        as_x = sampled_result(champion, before, config.rules, count, seed).result
        as_o = sampled_result(before, champion, config.rules, count, seed).result.other_side
        return {
            "exact": [(getattr(x, name) + getattr(o, name)) / 2 for name in names],
            "games": [round(count * (getattr(as_x, name) + getattr(as_o, name))) for name in names],
        }

    # --- learning ----------------------------------------------------------------------------

    def held_out(self, level: int) -> NDArray[np.bool_]:
        """Which classes (C,) a level holds out.

        Images are held out together, and all classes in turn before one is held out again.
        """
        share = self.config.validation
        return (self.order + level * share) % 1 < share

    def fit(self, rng: np.random.Generator, examples: int) -> dict[str, Any]:
        """Train on the results, with so many examples an epoch, and keep the best epoch.

        The best epoch, the champion, is that with the least loss on the held-out positions.
        """
        config, network, level = self.config, self.network, len(self.history)
        after = self.afterstates
        games, sums, squares = (
            np.bincount(after.index, weights=part[after.rows], minlength=len(after.classes))
            for part in self.results
        )
        once = np.where(games > 0, games, 1.0)
        mean = sums / once
        spread = np.maximum(squares / once - mean**2, 0)  # the loss that no value can avoid
        held_out = self.held_out(level)
        known, unknown = np.where(held_out, 0.0, games), np.where(held_out, games, 0.0)
        if not known.any():
            raise ValueError(
                "all positions that the games met are held out: play more games, or choose a "
                "smaller validation"
            )
        rate = config.learning_rate * config.learning_rate_decay**level
        optimizer = torch.optim.Adam(
            network.parameters(), lr=rate, weight_decay=config.weight_decay, fused=True
        )
        losses: list[tuple[float, float]] = []
        champion, weights = 0, network.state_dict()
        with torch.random.fork_rng():
            torch.manual_seed(int(rng.integers(2**31)))
            for epoch in range(config.epochs):
                batches = -(-examples // config.batch_size)
                self._epoch(optimizer, mean, known / known.sum(), batches, rng)
                errors = (after.outputs(network) - mean) ** 2 + spread
                losses.append((mean_of(errors, known), mean_of(errors, unknown)))
                # without held-out positions the loss is NaN, and the last epoch is the champion
                if epoch == 0 or not losses[-1][1] > losses[champion][1]:
                    champion = epoch
                    weights = {name: w.clone() for name, w in network.state_dict().items()}
        network.load_state_dict(weights)
        return {"losses": losses, "champion": champion + 1, "least": mean_of(spread, known)}

    def _epoch(
        self,
        optimizer: torch.optim.Optimizer,
        mean: Floats,
        probs: Floats,
        batches: int,
        rng: np.random.Generator,
    ) -> None:
        """Train on batches of classes drawn with `probs` towards their mean results, both (C,)."""
        size, device = self.config.batch_size, self.config.device
        targets = torch.as_tensor(mean, dtype=torch.float32, device=device)
        self.network.train()
        for _ in range(batches):
            count = np.bincount(rng.choice(len(probs), size, p=probs), minlength=len(probs))
            which = torch.as_tensor(np.flatnonzero(count), device=device)
            share = torch.as_tensor(count[count > 0] / size, dtype=torch.float32, device=device)
            errors = self.network(self.afterstates.inputs[which])[:, 0] - targets[which]
            optimizer.zero_grad()
            (share * errors**2).sum().backward()
            optimizer.step()

    # --- tables and charts -------------------------------------------------------------------

    def tables(self) -> dict[str, Table]:
        """Examples and losses of the recent levels; matches of all levels."""
        tables = {}
        for number, results in enumerate(self.recent, len(self.history) - len(self.recent) + 1):
            level = self.history[number - 1]
            losses = [
                (epoch, *pair, epoch == level["champion"])
                for epoch, pair in enumerate(level["losses"], 1)
            ]
            names = ["epoch", "train", "validation", "is_champion"]
            tables[f"level-{number:02d}/dataset.csv"] = dataset_of(results, self.afterstates)
            tables[f"level-{number:02d}/losses.csv"] = Table(names, losses)
        matches = [
            (number, *level["exact"], *level["games"])
            for number, level in enumerate(self.history, 1)
        ]
        names = ["level", *(f"exact_{name}" for name in RESULTS), *RESULTS]
        return {**tables, "levels.csv": Table(names, matches)}

    def charts(self, rows: Sequence[Mapping[str, float]]) -> dict[str, Chart]:
        """The losses of the champions, and the results of each level against the one before."""
        history, levels = self.history, range(1, len(self.history) + 1)
        training, validation = zip(
            *(level["losses"][level["champion"] - 1] for level in history), strict=True
        )
        least = [level["least"] for level in history]
        losses = [
            ("training", "C0-", training),
            ("positions held out", "C1-", validation),
            ("spread of the results of the training positions", "C0:", least),
        ]
        games = 2 * self.config.match_games
        exact = [
            (f"{name}, exact", f"C{i}-", [level["exact"][i] for level in history])
            for i, name in enumerate(RESULTS)
        ]
        played = [
            (f"in {games:,} games", f"C{i}.", [level["games"][i] / games for level in history])
            for i in range(3)
        ]
        error, share = "mean squared error of a result", "share of the games"
        title = "each level against the one before"
        return {
            "losses.png": Chart("losses of each level's champion", "level", error, levels, losses),
            "levels.png": Chart(title, "level", share, levels, [*exact, *played]),
        }


def mean_of(numbers: Floats, weights: Floats) -> float:
    """The weighted mean, NaN of nothing."""
    return float((numbers * weights).sum() / weights.sum()) if weights.any() else float("nan")


# --- datasets --------------------------------------------------------------------------------

MEANS = ("deviation", "games")  # columns that a dataset of single results does not have


def sums_by_row(
    rows: Rows, games: Floats, mean: Floats, size: int, deviation: Floats | float = 0.0
) -> Floats:
    """Games, sum and sum of squares of the results at each position: (3, size)."""
    parts = (games, games * mean, games * (deviation**2 + mean**2))
    return np.stack([np.bincount(rows, weights=part, minlength=size) for part in parts])


def columns_of(afterstates: Afterstates) -> list[str]:
    """The columns of a dataset but for MEANS: the planes and the result."""
    return [*(f"v{number}" for number in range(afterstates.planes.shape[1])), "return"]


def dataset_of(results: Floats, afterstates: Afterstates) -> Table:
    """The examples of `results` (3, N): planes, mean, deviation and games of each position."""
    rows = np.flatnonzero(results[0])
    games, sums, squares = results[:, rows]
    mean, deviation = sums / games, np.sqrt(np.maximum(squares / games - (sums / games) ** 2, 0))
    columns = (mean.tolist(), deviation.tolist(), games.astype(int).tolist())
    planes = afterstates.planes[rows].tolist()
    lines = [[*board, *numbers] for board, *numbers in zip(planes, *columns, strict=True)]
    return Table([*columns_of(afterstates), *MEANS], lines)


def read_dataset(path: Path, afterstates: Afterstates) -> Floats:
    """The `results` (3, N) of a dataset, without finished boards and the empty one.

    Raises ValueError if the file is something else.
    """
    names, positions = columns_of(afterstates), afterstates.positions
    table = read_csv(path, names, optional=MEANS)
    planes, mean = table[:, : len(names) - 1], table[:, len(names) - 1]
    deviation, games = np.zeros(len(table)), np.ones(len(table))
    if table.shape[1] > len(names):
        deviation, games = table[:, -2:].T
    own, other = np.split(planes, 2, axis=1)
    has_x_moved = own.sum(axis=1) > other.sum(axis=1)
    try:
        rows = positions.rows((own - other) * np.where(has_x_moved, 1, -1)[:, None])
    except ValueError as error:
        raise ValueError(f"{path} must hold boards of planes: {error}") from None
    is_finite, is_board = np.isfinite(table).all(), (afterstates.planes[rows] == planes).all()
    if not (is_finite and is_board and (games >= 0).all()):
        raise ValueError(
            f"{path} must hold boards as planes of 0 and 1, finite results, and numbers of games"
        )
    results = sums_by_row(rows, games, mean, len(positions), deviation)
    results[:, np.setdiff1d(np.arange(len(positions)), afterstates.rows)] = 0
    if not results[0].any():
        raise ValueError(f"{path} must hold at least one unfinished board with a mark on it")
    return results
