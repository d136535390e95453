"""Self-play in levels: a network learns the values of positions from its own games.

After sebastiengilbert73/tutorial_learnbyplay
(https://github.com/sebastiengilbert73/tutorial_learnbyplay). The network maps a board to its value
for the side that has just moved (an afterstate value): the discounted result of the games that went
through it. The player chooses the move to the board of the highest value. Finished boards have
exactly 1, 0 or -1. In a level the network plays some ten thousand games against itself, in part
with random moves, and is trained further on the results of both sides. Some positions are held out.
The epoch with the lowest validation loss is the champion of the level and plays the next one. By
default there is no opponent and no solver. The search is one or two moves deep.

Differences from that system, which `--preset learnbyplay` switches off:

- A random move says nothing about the side that made it. Results are propagated back to the last
  move of a side that was not its best. Before that move the champion's value of the best move
  replaces the result (`cut`; Watkins' Q(lambda), 1989). The network therefore learns the results of
  best moves against a player that also makes random ones, not the results of two such players.
- The first move of each side is random, and half of the others (`epsilons`), so every position
  occurs often. The exact values of the best moves against this play belong to an unbeatable player
  that reaches both best achievable results.
- Positions that are equal under symmetry are one position to the network (`symmetry`).
- The games of earlier levels keep a weight that decays with each level (`memory`), and the learning
  rate decays too (`learning_rate_decay`). The network settles on means over many more games than
  one level has.

Corrected, in the preset too: an example is a position with the mean of its results, so a batch
evaluates each distinct position once. Dropout drops units, not whole examples. Positions are held
out together with their symmetric images, and each is held out at some level (`validation`).
Exploration, temperature and look-ahead can be combined. Examples are the unfinished boards of both
sides. The original's `Coptic_N`, a convolution as large as the board without a non-linearity, is a
linear model and was left out; with a non-linearity it would be SaintAndre_N. The original writes a
line for each single result. A line here is a position with the mean, deviation and number of its
results, which is all that the loss depends on; files of single results can be read.

Files of a run: the examples of each level (`level-01/dataset.csv`: planes of own and other marks,
mean result, deviation, number of games) and its losses (`level-01/losses.csv`, of all levels
`epochs.png`), and for all levels the results against the previous level (`levels.csv`,
`levels.png`) and the losses of the champions (`losses.png`). `against_random.csv` and its `.png`
count the results of the last champion in sampled games against random play.

The first level has random games, the examples of a file (`--dataset`: such examples, or single
results), or games of two given players (`--first-agent`, `--first-opponent`). It begins with a new
network or with that of another run (`--starting-network`). There are commands for datasets and for
a trained network:

    python -m agents.value_net dataset games.csv --agent runs/value_net-0 --opponent minimax
    python -m agents.value_net expectations games.csv
    python -m agents.value_net player runs/value_net-0 --look-ahead 2 --temperature 0.5

`dataset` writes the examples of two players without a training. `expectations` prints the positions
of a dataset and their mean results. `player` writes a folder that `evaluate.py` and `play.py` take
as a player, with another look-ahead, temperature or exploration.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from tictactoe_env.certificates.certificate import FILE, certify, write
from tictactoe_env.errors import unknown_name
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.match import exact_result, sampled_result
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.notation import SIDES, board_text
from tictactoe_env.observation import observe
from tictactoe_env.opponents import make_opponent, saved_path
from tictactoe_env.policy import RandomPolicy, sample
from tictactoe_env.trained.own_values import OwnValues
from training import checkpoint
from training.checkpoint import take
from training.files import read_arrays, read_csv, write_csv
from training.learner import Arrays, Bars, Chart, Learner, State, Table
from training.options import (
    BoardConfig,
    Count,
    NotNegative,
    Positive,
    PositiveShare,
    Share,
    ShareBelowOne,
    Shares,
    Size,
    Threads,
    option,
    options_of,
)
from training.search_space import Choice, Range
from training.symmetry import Representatives
from training.torch_arrays import check_device, load_weights, weights_of
from training.values import ValuedTable, expected_rewards

AGENT = "value_net"
TITLE = "Value network"
STORY = (
    "A neural network estimates the result of a position. It plays against itself, learns from "
    "these games, and the best network so far plays the games from which the next one learns."
)
UNIT = "games"
SMALL = (
    "--games 256 --judge-every 256 --steps 768 --epochs 2 --architecture SaintAndre_16 "
    "--dropout 0.5"
)
RESULTS = ("wins", "losses", "draws")
LEVELS = 20  # curves in epochs.png
BOARD = ("rows", "cols", "k")

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
MOST_GAMES = 1_000_000_000  # in a dataset, all positions together
MOST_RESULT = 1_000_000  # in a dataset, without the sign


@dataclass(frozen=True)
class Config(BoardConfig):
    """The options of a training. A step is a game.

    Schedules are by level, so a longer training begins exactly as a shorter one does.
    """

    PLAYS = ("architecture", "look_ahead", "symmetry", "discount")

    steps: Count = option(
        510_000,
        "Games after which training ends, at the end of a level.",
    )
    judge_every: Count = option(
        30_000, "Games between two exact evaluations, made at the end of a level."
    )
    games: Size = option(30_000, "Number of games in a level.")
    epochs: Annotated[int, Field(ge=1, le=100_000)] = option(
        5, "Epochs in a level; each draws one example for each position of the level's games."
    )
    architecture: str = option(
        "SaintAndre_1024",
        "Network: SaintAndre_ and the units of its hidden layers, such as SaintAndre_256_256.",
    )
    opponent: Literal["itself", "previous"] = option(
        "itself",
        "Opponent of the last champion in the games of a level: itself, or the champion before it.",
    )
    epsilons: Shares = option(
        (1.0, 1.0, 0.5),
        "Probability of a random legal move at each ply of a game; the last one repeats.",
    )
    temperature: NotNegative = option(
        0.0,
        "Temperature of a softmax over the values of the moves in the games of a level; 0 for the "
        "best move.",
    )
    look_ahead: Annotated[int, Field(ge=1, le=2)] = option(
        1, "Depth of the search in moves; 2 takes the reply of the opponent into account."
    )
    cut: bool = option(
        True,
        "Whether results are propagated back only to the last move of a side that was not its "
        "best, and the value of the best move before it.",
    )
    discount: Share = option(0.95, "Discount factor for each move of the same side.")
    memory: Share = option(0.8, "Factor on the weight of earlier games at each new level.")
    symmetry: bool = option(
        True, "Whether positions that are equal under symmetry share their value."
    )
    validation: ShareBelowOne = option(
        0.1,
        "Share of the positions held out to choose the best epoch; with 0 it is the last one.",
    )
    batch_size: Annotated[int, Field(ge=1, le=10_000_000)] = option(
        2_048, "Number of examples in a batch."
    )
    learning_rate: Positive = option(2e-3, "Adam's learning rate at the first level.")
    learning_rate_decay: PositiveShare = option(
        0.8, "Factor on the learning rate at each new level."
    )
    weight_decay: NotNegative = option(1e-5, "Adam's weight decay.")
    dropout: ShareBelowOne = option(
        0.0, "Share of the hidden units that are dropped at random during training."
    )
    dataset: str = option(
        "",
        "CSV file of positions and results for the first level, instead of random games; empty for "
        "random games.",
    )
    first_agent: str = option(
        "",
        "Player of the first level's games: any opponent by its name, or the path of a run; empty "
        "for the starting network, or random play without one. A run of value_net plays by its "
        "values, with --temperature and --look-ahead; any other player moves as it is.",
    )
    first_opponent: str = option(
        "", "The other player of the first level's games, named as --first-agent."
    )
    starting_network: str = option(
        "",
        "Run of value_net on this board and with this architecture, by its path, whose network is "
        "trained further; empty for a new network.",
    )
    match_games: Size = option(
        500,
        "Games of each champion against the previous one, and of the last one against random play, "
        "on each side.",
    )
    match_epsilons: Shares = option(
        (0.5, 0.1),
        "Probability of a random legal move at each ply of these games; the last one repeats.",
    )
    device: Literal["cpu", "cuda"] = option("cpu", "Device on which the network is trained.")
    threads: Threads = option(1, "Threads of torch; one is the fastest for small networks.")

    def check(self) -> None:
        """Raises ValueError for an unknown architecture, or a board on which any move wins."""
        if self.k == 1:
            raise ValueError("k must be at least 2 here: where one mark wins there are no values")
        hidden_units(self.architecture)
        if self.dataset and (self.first_agent or self.first_opponent):
            raise ValueError(
                "the first level has either a dataset or games of given players: leave --dataset, "
                "or --first-agent and --first-opponent out"
            )


SEARCH = {
    "games": Range(10_000, 60_000, log=True),
    "epochs": Range(2, 10),
    "architecture": Choice("SaintAndre_256", "SaintAndre_1024", "SaintAndre_256_256"),
    "discount": Range(0.8, 1.0),
    "memory": Range(0.0, 1.0),
    "batch_size": Choice("512", "1024", "2048", "4096"),
    "learning_rate": Range(5e-4, 1e-2, log=True),
    "learning_rate_decay": Range(0.6, 1.0),
    "weight_decay": Range(1e-6, 1e-3, log=True),
    "dropout": Range(0.0, 0.3),
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
    """The untrained network, from planes of own and other marks to a value.

    Sets the number of torch's threads, because the order of summation may depend on it.
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


class Afterstates:
    """All N positions, and their values for the side that has just moved.

    rows: (U,) the positions with a value of the network: all unfinished ones except the empty
    board, to which no move leads. classes: (C,) the positions that the network sees, one of each
    symmetry class. index: (U,) the class of each of `rows`.
    planes: (N, 2 * cells) the marks of the side that has just moved, then those of the other side.
    exact: (N,) the values of finished positions, 0 for the others.
    """

    def __init__(self, config: Config, device: str = "cpu"):
        self.look_ahead = config.look_ahead
        self.positions = positions = positions_of(config.rules)
        seats = np.where(positions.x_to_move, -1, 1)
        self.exact = (positions.outcome_x * seats).astype(np.float64)
        planes = observe(positions.boards, config.rules, "planes", seats)
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
        """The values of all positions: (N,), by the network, or exact if the game is over."""
        values = self.exact.copy()
        values[self.rows] = self.outputs(network)[self.index]
        return values

    def looked_ahead(self, values: Floats) -> Floats:
        """The values by which moves are chosen: (N,).

        With `look_ahead` 2 an unfinished position has its value after the opponent's best reply.
        """
        if self.look_ahead == 1:
            return values
        answers = self.of_moves(values).max(axis=1)
        return np.where(self.positions.is_over, values, -answers)

    def of_moves(self, values: Floats) -> Floats:
        """The values of the positions after each move: (N, cells), -inf for illegal moves."""
        children = self.positions.children
        return np.where(children >= 0, values[children], -np.inf)

    def policy(self, network: torch.nn.Module) -> ValuedTable:
        """The greedy policy of a network."""
        moves = self.of_moves(self.looked_ahead(self.values(network)))
        return ValuedTable(self.positions.rules, moves[self.positions.unfinished])

    def exploring(
        self, values: Floats | None, epsilons: Sequence[float], temperature: float = 0.0
    ) -> TabularPolicy:
        """The policy of the games of a level: epsilon-greedy, or epsilon with a softmax.

        values: (N,), None for random play. epsilons: the probability of a random legal move at each
        ply; the last one repeats.
        """
        if values is None:
            return TabularPolicy(self.positions.rules, self.random)
        moves = self.of_moves(self.looked_ahead(values))[self.positions.unfinished]
        chosen: NDArray[Any] = np.arange(moves.shape[1]) == moves.argmax(axis=1)[:, None]
        if temperature > 0:
            chosen = np.exp((moves - moves.max(axis=1, keepdims=True)) / temperature)
        return self.mixed(chosen / chosen.sum(axis=1, keepdims=True), epsilons)

    def mixed(self, chosen: Floats, epsilons: Sequence[float]) -> TabularPolicy:
        """The policy that makes the moves `chosen` (U, cells), or random ones by `epsilons`."""
        positions = self.positions
        plies = np.minimum(positions.ply[positions.unfinished], len(epsilons) - 1)
        epsilon = np.array(epsilons)[plies][:, None]
        return TabularPolicy(positions.rules, epsilon * self.random + (1 - epsilon) * chosen)

    @property
    def random(self) -> Floats:
        """The probabilities of the moves in random play: (U, cells)."""
        free = self.positions.boards[self.positions.unfinished] == 0
        return free / free.sum(axis=1, keepdims=True)


def player(config: Config, model: Arrays) -> ValuedTable:
    """The player of a saved model, on the CPU."""
    network = build(config)
    load_weights(network, model)
    return Afterstates(config).policy(network)


def own_values(config: Config, model: Arrays) -> OwnValues:
    """The values by which the player chooses: those of the network, or exact after the last move.

    With `look_ahead` 2 the best reply to each move is taken into account.
    """
    values = player(config, model).values
    return expected_rewards(values, (1.0, 0.0, -1.0), config.discount)


def load_run(folder: Path) -> tuple[Config, Arrays]:
    """The configuration and the weights of a run of value_net."""
    this_page: Any = sys.modules[__name__]
    loaded: Any = checkpoint.load_model(this_page, folder)
    return loaded


def values_of(config: Config, model: Arrays) -> Floats:
    """The values of all positions by a saved network: (N,)."""
    network = build(config)
    load_weights(network, model)
    return Afterstates(config).values(network)


def is_run(path: Path | None) -> bool:
    """Whether a path is the folder of a run of value_net that has its model."""
    if path is None or not (path / checkpoint.MODEL).exists():
        return False
    return read_arrays(path / checkpoint.MODEL)[1].get("agent") == AGENT


# --- the learner -----------------------------------------------------------------------------


def begin(config: Config) -> ValueNet:
    """A new learner. Sets the number of torch's threads.

    Raises ValueError for a device that torch cannot use here.
    """
    check_device(config.device)
    return ValueNet(config)


class ValueNet(Learner):
    """The network, the results that it learns from, and the history of the levels.

    results: (3, N) for each position the weight of the games that reached it, and the sum and the
    sum of squares of their results for the side that had just moved.
    values, previous: (N,) by the last champion and the one before it, None for random play.
    history: for each level the losses of each epoch (see `fit`), the epoch of the champion, the
    lowest possible loss, and wins, losses and draws against the level before, exact and sampled.
    recent: the results of the games of each level since the last `tables`.
    """

    def __init__(self, config: Config):
        self.config, self.network = config, build(config).to(config.device)
        self.afterstates = Afterstates(config, config.device)
        self.positions = self.afterstates.positions
        images = self.positions.canonical[self.afterstates.classes]
        images, which = np.unique(images, return_inverse=True)
        order = np.random.default_rng(config.seed).permutation(len(images))
        self.order = order[which] / len(images)  # the order in which classes are held out
        self.results = np.zeros((3, len(self.positions)))
        self.values: Floats | None = None
        self.previous: Floats | None = None
        self.history: list[dict[str, Any]] = []
        self.recent: list[Floats] = []
        self.told = 0  # levels that `tables` has told of

    # --- what every learner does -------------------------------------------------------------

    def advance(self, most: int) -> None:
        """Play and learn levels until `most` further games are played."""
        if self.told == len(self.history):
            self.recent = []
        goal = self.steps + most
        while self.steps < goal:
            self.level()

    def policy(self) -> ValuedTable:
        """The greedy policy of the last champion."""
        return self.afterstates.policy(self.network)

    def notes(self) -> dict[str, float]:
        """The level, the losses of its champion, and the lowest possible loss."""
        last = self.history[-1]
        training, validation, _ = last["losses"][last["champion"] - 1]
        return {
            "level": len(self.history),
            "training_loss": training,
            "validation_loss": validation,
            "least_loss": last["least"],
        }

    def model(self) -> Arrays:
        """The weights of the network."""
        return weights_of(self.network)

    def state(self) -> State:
        """The results, the values of the previous champion, and the history.

        There is no generator: each level has its own, made from the seed and the level's number.
        """
        return {"results": self.results, "previous": self.previous, "history": self.history}

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        load_weights(self.network, model)
        self.results = take(state, "results", self.results.shape, np.float64)
        self.history = state["history"]
        if len(self.history) > (0 if self.config.starting_network else 1):
            self.previous = take(state, "previous", self.results[0].shape, np.float64)
        self.values = self.afterstates.values(self.network) if self.history else None

    # --- a level -----------------------------------------------------------------------------

    def level(self) -> None:
        """Play the games of a level, learn from them, and play against the level before."""
        config, number = self.config, len(self.history)
        rng = np.random.default_rng([config.seed, number])
        if config.starting_network and number == 0:
            self.start_from(Path(config.starting_network))
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

    def start_from(self, folder: Path) -> None:
        """Make the network of another run the champion. Raises ValueError if it does not fit."""
        other, model = load_run(folder)
        names = (*BOARD, "architecture")
        pairs = {name: (getattr(other, name), getattr(self.config, name)) for name in names}
        wrong = [f"--{name} {a}, got {b}" for name, (a, b) in pairs.items() if a != b]
        if wrong:
            raise ValueError(f"the network of {folder} does not fit: it needs {'; '.join(wrong)}")
        load_weights(self.network, model)
        self.values = self.afterstates.values(self.network)

    def players(self) -> list[TabularPolicy]:
        """The two players of the games of a level, with their exploration."""
        config = self.config
        names = ("", "") if self.history else (config.first_agent, config.first_opponent)
        sides = (self.values, self.values if config.opponent == "itself" else self.previous)
        return [
            self.given_player(name)
            if name
            else self.afterstates.exploring(values, config.epsilons, config.temperature)
            for name, values in zip(names, sides, strict=True)
        ]

    def given_player(self, name: str) -> TabularPolicy:
        """The player of a name or a run, with the exploration of the games of a level.

        A run of this page has values, so that temperature and look-ahead apply to it. Raises
        ValueError if the name is unknown, or the player needs another board or makes illegal moves.
        """
        config, path = self.config, saved_path(name, self.config.rules, "player")
        if path is not None and is_run(path):
            run, model = load_run(path)
            if run.rules != config.rules:
                raise ValueError(f"{name} plays on {run.rules}, not on {config.rules}")
            values = values_of(replace(run, threads=config.threads), model)
            return self.afterstates.exploring(values, config.epsilons, config.temperature)
        table = tabulate(make_opponent(name, config.rules, "player"), config.rules).table
        illegal = int((table * (self.afterstates.random == 0)).any(axis=1).sum())
        if illegal:
            raise ValueError(
                f"{name} moves to a taken cell in {illegal:,} positions: the games of a dataset "
                "need players of legal moves"
            )
        return self.afterstates.mixed(table, config.epsilons)

    def play(self, rng: np.random.Generator) -> Floats:
        """The `results` (3, N) of games of the two players, which begin in turn."""
        config, positions, cells = self.config, self.positions, self.config.rules.cells
        tables = np.stack([player.by_row() for player in self.players()])
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
        """The discounted result at each position of a path, for the side that had just moved.

        With `cut`, the value of the best move replaces the result before a move of that side that
        was not the best by the champion's values.
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

        Half of the games are played on each side: exact shares, and counts in sampled games.
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
        """Which classes (C,) a level holds out, counted from 0.

        Images are held out together, and no class a second time before all were held out.
        """
        share = self.config.validation
        return (self.order + level * share) % 1 < share

    def fit(self, rng: np.random.Generator, examples: int) -> dict[str, Any]:
        """Train on the results and keep the champion, the epoch with the lowest validation loss.

        examples: how many are drawn in an epoch. The losses of an epoch are those of training, of
        what this level holds out, and of what the first level held out, which is the same at all
        levels, so it shows how they differ.
        """
        config, network, level = self.config, self.network, len(self.history)
        after = self.afterstates
        games, sums, squares = (
            np.bincount(after.index, weights=part[after.rows], minlength=len(after.classes))
            for part in self.results
        )
        once = np.where(games > 0, games, 1.0)
        mean = sums / once
        spread = np.maximum(squares / once - mean**2, 0)  # the lowest possible loss
        held_out = self.held_out(level)
        known, unknown = np.where(held_out, 0.0, games), np.where(held_out, games, 0.0)
        if not known.any():
            raise ValueError(
                "all positions of the games are held out: play more games, or choose a smaller "
                "validation"
            )
        rate = config.learning_rate * config.learning_rate_decay**level
        optimizer = torch.optim.Adam(
            network.parameters(), lr=rate, weight_decay=config.weight_decay, fused=True
        )
        first = np.where(self.held_out(0), games, 0.0)
        losses: list[tuple[float, ...]] = []
        champion, weights = 0, network.state_dict()
        with torch.random.fork_rng():
            torch.manual_seed(int(rng.integers(2**31)))
            for epoch in range(config.epochs):
                batches = -(-examples // config.batch_size)
                self._epoch(optimizer, mean, known / known.sum(), batches, rng)
                errors = (after.outputs(network) - mean) ** 2 + spread
                losses.append(tuple(mean_of(errors, part) for part in (known, unknown, first)))
                # without held-out positions the loss is NaN and the last epoch is the champion
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
        """Train on batches of classes, drawn with `probs` (C,), towards their `mean` (C,)."""
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
        """The examples and losses of the recent levels, and the matches of all levels."""
        tables, self.told = {}, len(self.history)
        for number, results in enumerate(self.recent, len(self.history) - len(self.recent) + 1):
            level = self.history[number - 1]
            losses = [
                (epoch, *three, epoch == level["champion"])
                for epoch, three in enumerate(level["losses"], 1)
            ]
            names = ["epoch", "train", "validation", "first_validation", "is_champion"]
            tables[f"level-{number:02d}/dataset.csv"] = dataset_of(results, self.afterstates)
            tables[f"level-{number:02d}/losses.csv"] = Table(names, losses)
        matches = [
            (number, *level["exact"], *level["games"])
            for number, level in enumerate(self.history, 1)
        ]
        names = ["level", *(f"exact_{name}" for name in RESULTS), *RESULTS]
        counted = [(side, *counts) for side, counts in self.against_random().items()]
        return {
            **tables,
            "levels.csv": Table(names, matches),
            "against_random.csv": Table(["side", *RESULTS], counted),
        }

    def against_random(self) -> dict[str, list[int]]:
        """Wins, losses and draws of the champion as X and as O in sampled games against random."""
        config, champion, random = self.config, self.policy(), RandomPolicy()
        about = config.rules, config.match_games, config.seed
        as_x = sampled_result(champion, random, *about).result
        as_o = sampled_result(random, champion, *about).result.other_side
        return {
            side: [round(config.match_games * rate) for rate in (one.win, one.loss, one.draw)]
            for side, one in zip(SIDES, (as_x, as_o), strict=True)
        }

    def epochs(self) -> Chart:
        """The loss of each epoch, a curve a level; of more than LEVELS only some, evenly spaced.

        Of all levels on the same positions, those that the first one held out.
        """
        history, which = self.history, 2 if self.config.validation > 0 else 0
        curves = [
            (
                f"level {number + 1}",
                f"C{at % 10}.{('-', '--')[at // 10 % 2]}",
                [three[which] for three in history[number]["losses"]],
            )
            for at, number in enumerate(range(0, len(history), -(-len(history) // LEVELS)))
        ]
        title = "training loss of each level"
        if which:
            title = "loss of each level on the positions that level 1 held out"
        epochs = range(1, self.config.epochs + 1)
        return Chart(title, "epoch", "mean squared error of a result", epochs, curves)

    def charts(self, rows: Sequence[Mapping[str, float]]) -> dict[str, Chart | Bars]:
        """The losses, the results of each level against the one before, and those against random.

        These are figures 5, 6 and 9 of the article on tutorial_learnbyplay.
        """
        history, levels = self.history, range(1, len(self.history) + 1)
        training, validation, _ = zip(
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
        title, total = "each level against the one before", 2 * self.config.match_games
        sides = [
            (f"as {side}", f"C{number}", counts)
            for number, (side, counts) in enumerate(self.against_random().items())
        ]
        about = f"{total:,} games of the champion against random play, sampled"
        return {
            "epochs.png": self.epochs(),
            "against_random.png": Bars(about, "games", RESULTS, sides),
            "losses.png": Chart("losses of each level's champion", "level", error, levels, losses),
            "levels.png": Chart(title, "level", share, levels, [*exact, *played]),
        }


def mean_of(numbers: Floats, weights: Floats) -> float:
    """The weighted mean; NaN if all weights are 0."""
    return float((numbers * weights).sum() / weights.sum()) if weights.any() else float("nan")


# --- datasets --------------------------------------------------------------------------------

MEANS = ("deviation", "games")  # columns that a dataset of single results lacks


def sums_by_row(
    rows: Rows, games: Floats, mean: Floats, size: int, deviation: Floats | float = 0.0
) -> Floats:
    """Games, sum and sum of squares of the results at each position: (3, size).

    rows, games, mean, deviation: (B,), of positions that may repeat.
    """
    parts = (games, games * mean, games * (deviation**2 + mean**2))
    return np.stack([np.bincount(rows, weights=part, minlength=size) for part in parts])


def columns_of(afterstates: Afterstates) -> list[str]:
    """The columns of a dataset without MEANS: the planes and the result."""
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
    """The `results` (3, N) of a dataset, without finished boards and the empty board.

    Raises ValueError if the file is not a dataset.
    """
    names, positions = columns_of(afterstates), afterstates.positions
    table = read_csv(path, names, optional=MEANS)
    error_of_values = ValueError(
        f"{path} must hold boards as planes of 0 and 1, finite results, and numbers of games"
    )
    if not np.isfinite(table).all():
        raise error_of_values
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
    if not ((afterstates.planes[rows] == planes).all() and (games >= 0).all()):
        raise error_of_values
    largest = np.abs([mean, deviation]).max(initial=0)
    if games.sum() > MOST_GAMES or largest > MOST_RESULT:
        raise ValueError(
            f"{path} must hold at most {MOST_GAMES:,} games in all, and results of at most "
            f"{MOST_RESULT:,}"
        )
    results = sums_by_row(rows, games, mean, len(positions), deviation)
    results[:, np.setdiff1d(np.arange(len(positions)), afterstates.rows)] = 0
    if not results[0].any():
        raise ValueError(f"{path} must hold at least one unfinished board with a mark on it")
    return results


# --- python -m agents.value_net --------------------------------------------------------------

GAMES = ("games", "epsilons", "temperature", "look_ahead", "discount", "seed")


def make_dataset(given: Any) -> str:
    """Write the examples of games between two players."""
    from training.interpreter import command

    names = {"first_agent": given.agent, "first_opponent": given.opponent}
    options = {name: getattr(given, name) for name in (*BOARD, *GAMES)}
    learner = ValueNet(Config(**options, **names, architecture="SaintAndre_1"))
    table = dataset_of(learner.play(np.random.default_rng([given.seed, 0])), learner.afterstates)
    write_csv(given.file, table.names, table.rows)
    count, games = len(list(table.rows)), learner.config.games
    return (
        f"saved: {given.file}, {count:,} positions of {games:,} games   "
        f"learn from it: {command('train.py', AGENT, '--dataset', str(given.file))}"
    )


def expectations(given: Any) -> str:
    """Print the expected return of each position of a dataset."""
    states = Afterstates(Config(**{name: getattr(given, name) for name in BOARD}))
    results, positions = read_dataset(given.file, states), states.positions
    lines = [
        "expected return of the side that has just moved",
        f"{'return':>8} {'deviation':>10} {'games':>8}  moved  board",
    ]
    for row in np.flatnonzero(results[0]):
        games, total, squares = results[:, row]
        mean = total / games
        deviation = np.sqrt(max(squares / games - mean**2, 0))
        side, board = SIDES[int(positions.x_to_move[row])], positions.boards[row]
        text = board_text(board, positions.rules)
        lines.append(f"{mean:>+8.4f} {deviation:>10.4f} {games:>8,.0f}  {side:<5}  {text}")
    return "\n".join(lines)


def make_player(given: Any) -> str:
    """Write a player of a trained network, with options of its own."""
    from training.interpreter import command
    from training.progress import describe

    run, model = load_run(given.run)
    how = {name: getattr(given, name) for name in ("look_ahead", "temperature", "epsilons")}
    how["look_ahead"] = how["look_ahead"] or run.look_ahead
    config = replace(run, **how)
    values = values_of(config, model)
    table = Afterstates(config).exploring(values, config.epsilons, config.temperature)
    parts = [f"look-ahead-{config.look_ahead}"]
    parts += [f"temperature-{config.temperature:g}"] if config.temperature else []
    parts += [f"epsilons-{'-'.join(f'{e:g}' for e in config.epsilons)}"] * any(config.epsilons)
    name = "-".join(parts)
    folder = given.out or Path(f"{given.run}-{name}")
    if folder.exists():
        raise ValueError(f"{folder} exists: give another --out, or remove it")
    folder.mkdir(parents=True)
    about: dict[str, Any] = {"seed": run.seed, "config": {**asdict(run), "play": how}}
    write(certify(table, f"{AGENT}-{name}", **about), folder / FILE)
    look = command("evaluate.py", str(folder))
    look = f"look: {look}   play: {command('play.py', '--o', str(folder))}"
    return f"against random, exact: {describe(evaluate(table))}\nsaved: {folder}   {look}"


def main(arguments: list[str] | None = None) -> int:
    """Write and print datasets, and write players of a trained network."""
    from training.command_line import CommandLine

    commands, prog = command_options(), "python -m agents.value_net"
    asked, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if asked not in commands:
        listed = "\n".join(f"  {name:<14}{act.__doc__}" for name, (act, _) in commands.items())
        usage, epilog = f"{prog} COMMAND [options]", f"commands, with --help each:\n{listed}"
        general = CommandLine(prog, [], usage, str(main.__doc__), epilog)
        if asked not in ("--help", "-h"):
            general.error(str(unknown_name("command", asked, commands)))
        general.print_help()
        return 0
    act, options = commands[asked]
    usage = f"{prog} {asked} {options[0].name.upper()} [options]"
    line = CommandLine(f"{prog} {asked}", options, usage, str(act.__doc__))
    given = line.values(rest)
    try:
        print(act(given))
    except (ValueError, OSError) as error:
        line.error(str(error))
    return 0


def command_options() -> dict[str, tuple[Any, list[Any]]]:
    """Each command of this page: its function, and its options, most of them those of Config."""
    from training.command_line import Option

    known = {
        one.name: Option(
            one.name, one.sentence, one.parsed, one.default, metavar=one.metavar, bound=one.bound
        )
        for one in options_of(Config)
    }
    whom = "Player: any opponent by its name, or the path of a run."
    file = Option("file", "the CSV file of a dataset", Path, kind="argument")
    pair = [Option(name, whom, str, "random", metavar="NAME") for name in ("agent", "opponent")]
    softmax = "Temperature of a softmax over the values of the moves; 0 for the best move."
    depth = "Depth of the search in moves (default: that of the run)."
    out = "Folder to write (default: that of the run, followed by how it plays)."
    run = Option("run", "the folder of a run of value_net", Path, kind="argument")
    how = [
        replace(known["look_ahead"], help=depth, default=None),
        replace(known["temperature"], help=softmax),
        replace(known["epsilons"], default=(0.0,)),
        Option("out", out, Path, metavar="FOLDER"),
    ]
    board = [known[name] for name in BOARD]
    return {
        "dataset": (make_dataset, [file, *pair, *(known[name] for name in GAMES), *board]),
        "expectations": (expectations, [file, *board]),
        "player": (make_player, [run, *how]),
    }


if __name__ == "__main__":
    sys.exit(main())
