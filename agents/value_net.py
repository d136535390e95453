"""Self-play on the value of a board, in levels: random games first, then games against itself at the level before.

After sebastiengilbert73/tutorial_learnbyplay (https://github.com/sebastiengilbert73/tutorial_learnbyplay). A network says what a
board is worth to the side that has just moved there: the discounted result of the games that went through it. Who moves
takes the board of the highest value; finished boards count exactly 1, 0 or -1. A level plays some ten thousand games
against itself, with random moves in between, and the network, as it stands, learns what came of the boards of both
sides. Some positions are held out; the copy that comes nearest to their results is the level's champion and plays the
next level. There is no teacher but the games: no opponent, no solver, no search beyond the next move or two.

Differences from that system, which `--preset learnbyplay` switches off:

- A random move says nothing of the side that made it. Its result counts back only to there, and for its boards before,
  the champion's value of its best move takes the place of the result (`cut`; Watkins' Q(lambda), 1989). So what is learned
  is what the best moves get from a player that also makes random ones, and not what two such players get from each other.
- The first move of each side is random, and half of the others (`epsilons`), so that every position is met often. The
  exact values of best moves against this are those of a player that cannot be beaten and is at both mathematical limits.
- Positions that are turned or mirrored images of each other are one position to the network (`symmetry`).
- The games of earlier levels go on counting, less from level to level (`memory`), and the learning rate falls with the
  levels (`learning_rate_decay`), so that the network settles on means over many more games than one level has.

Mended, in the preset too: an example is a position with the mean of its results, so a batch asks the network once for each
distinct position. Dropout drops units, not whole examples. Positions are held out with all their images, and all have
their turn (`validation`). Exploration, temperature and look-ahead go together. Examples are the unfinished boards of both
sides. Its `Coptic_N`, a convolution as large as the board without a non-linearity, is a linear model, and with one would
be SaintAndre_N.

A run's folder has for every level the examples as CSV (`level-01/dataset.csv`: planes of own and other marks, mean result,
its deviation, games) and the losses (`level-01/losses.csv`), and for all levels how each did against the one before
(`levels.csv`, `levels.png`; `losses.png`). `--dataset` reads such a file, or one of single results, for the random games.
"""

from __future__ import annotations

import csv
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from tictactoe_env.errors import probability, unknown_name, whole_number
from tictactoe_env.match import exact_result, sampled_result
from tictactoe_env.observation import observe
from tictactoe_env.policy import TabularPolicy, sample
from tictactoe_env.positions import positions_of
from training.evaluation import Report
from training.files import DamagedFileError, load_weights, read_tensors, write_csv, write_tensors
from training.options import BoardConfig, Preset, check_unchanged, option, read_config
from training.plots import lines
from training.values import ValuedTable

AGENT = "value_net"
OPPONENTS = ("itself", "previous")
DEVICES = ("cpu", "cuda")
MAX_CELLS = 12  # of a board: 3x4 has 111,973 positions, all of which are valued at each level; 3x5 has 2.3 million

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Config(BoardConfig):
    """Everything that decides what is learned. Schedules are by level, so that a longer run begins as a shorter one."""

    STEP: ClassVar[str] = "games"

    steps: int = option(
        510_000,
        "Games after which training ends, at least 1; the level under way is completed. 17 levels of 30,000 by default.",
    )
    judge_every: int = option(
        30_000,
        "Games between two exact judgements, at least 1; they are made at the end of a level.",
    )
    games: int = option(30_000, "Games of a level, at least 1.")
    epochs: int = option(
        5,
        "Epochs of a level, at least 1; each draws as many examples as the level's games had positions.",
    )
    architecture: str = option(
        "SaintAndre_1024",
        "The network: SaintAndre_ and the units of its hidden layer, or of several: SaintAndre_256_256.",
    )
    opponent: str = option(
        "itself",
        "Who plays the games of a level against the last champion: itself, or the previous champion.",
    )
    epsilons: tuple[float, ...] = option(
        (1.0, 1.0, 0.5),
        "Probability of a random legal move at each move of a game, from 0 to 1; the last repeats.",
    )
    temperature: float = option(
        0.0,
        "Of a softmax over the values of the moves in the games of a level, at least 0; at 0 the best move.",
    )
    look_ahead: int = option(
        1, "Moves that are looked ahead: 1, or 2 for the move whose worst answer is best."
    )
    cut: bool = option(
        True,
        "Whether a result counts only back to the side's last move that was not its best, and the best move's value before.",
    )
    discount: float = option(0.95, "What a result is worth one own move earlier, from 0 to 1.")
    memory: float = option(
        0.8, "What the games of earlier levels count at each further level, from 0 (nothing) to 1."
    )
    symmetry: bool = option(
        True,
        "Whether positions that are turned or mirrored images of each other are one to the network.",
    )
    validation: float = option(
        0.1,
        "Share of the positions held out, with their images, from 0 (then the last epoch is the champion) to below 1.",
    )
    batch_size: int = option(2_048, "Examples in a batch, at least 1.")
    learning_rate: float = option(2e-3, "Adam's learning rate at the first level, above 0.")
    learning_rate_decay: float = option(
        0.8, "What the learning rate is multiplied by from level to level, above 0 and at most 1."
    )
    weight_decay: float = option(1e-5, "Pull of the weights towards 0, at least 0.")
    dropout: float = option(
        0.0,
        "Share of the hidden units that are dropped at random while learning, from 0 to below 1.",
    )
    dataset: str = option(
        "",
        "CSV file of positions and results that the first level learns from in place of random games; empty: none.",
    )
    match_games: int = option(
        500, "Games of each level against the one before, on each side, at least 1."
    )
    match_epsilons: tuple[float, ...] = option(
        (0.5, 0.1),
        "Probability of a random legal move in these games, at each move; the last repeats.",
    )
    device: str = option("cpu", "Where the network lives: cpu or cuda.")
    threads: int = option(
        1, "Threads of torch, at least 1; for a network as small as this one is fastest."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (
            ("games", 1),
            ("epochs", 1),
            ("batch_size", 1),
            ("match_games", 1),
            ("threads", 1),
        ):
            whole_number(getattr(self, name), name, least)
        whole_number(self.look_ahead, "look_ahead", 1, 2)
        for name in ("discount", "memory", "validation", "learning_rate_decay", "dropout"):
            probability(getattr(self, name), name)
        for name in ("epsilons", "match_epsilons"):
            if not getattr(self, name):
                raise ValueError(f"{name} must be one probability or more, such as 0.5,0.1")
            for number in getattr(self, name):
                probability(number, f"each of {name}")
        for name in ("validation", "dropout"):
            if getattr(self, name) == 1:
                raise ValueError(f"{name} must be below 1, or nothing is left to learn")
        for name in ("learning_rate", "learning_rate_decay", "temperature", "weight_decay"):
            number, above = getattr(self, name), name.startswith("learning")
            if not 0 <= number < np.inf or (above and number == 0):
                raise ValueError(
                    f"{name} must be a finite number {'above' if above else 'of at least'} 0, got {number!r}"
                )
        for name, known in (("opponent", OPPONENTS), ("device", DEVICES)):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        hidden_units(self.architecture)
        if self.rules.cells > MAX_CELLS:
            raise ValueError(
                f"every position is valued, so the board has at most {MAX_CELLS} cells, {self.rules} has {self.rules.cells}"
            )


PRESETS = {
    "learnbyplay": Preset(
        "tutorial_learnbyplay: its network, games, examples and learning; dropout drops units, and positions are held out, as they should be.",
        {
            **{
                "epsilons": (0.5, 0.5, 0.1),
                "cut": False,
                "memory": 0.0,
                "symmetry": False,
                "validation": 0.2,
                "batch_size": 64,
            },
            **{
                "learning_rate": 1e-4,
                "learning_rate_decay": 1.0,
                "weight_decay": 1e-5,
                "dropout": 0.5,
            },
        },
        weak=True,
    ),
}


# --- the network -----------------------------------------------------------------------------------------------------


def hidden_units(architecture: str) -> tuple[int, ...]:
    """The units of the hidden layers of "SaintAndre_1024" or "SaintAndre_256_256"; ValueError for another name."""
    found = re.fullmatch(r"SaintAndre((?:_[1-9][0-9]{0,4})+)", architecture)
    if not found:
        raise ValueError(
            f"architecture must be SaintAndre_ and the units of the hidden layer, such as SaintAndre_1024, got {architecture!r}"
        )
    return tuple(map(int, found[1][1:].split("_")))


def build(config: Config) -> torch.nn.Sequential:
    """The untrained network: planes of own and other marks in, a value out."""
    layers: list[torch.nn.Module] = []
    size = 2 * config.rules.cells
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        for units in hidden_units(config.architecture):
            layers += [
                torch.nn.Linear(size, units),
                torch.nn.ReLU(),
                torch.nn.Dropout(config.dropout),
            ]
            size = units
        layers.append(torch.nn.Linear(size, 1))
    return torch.nn.Sequential(*layers).to(config.device)


# --- a level -------------------------------------------------------------------------------------------------------------


class Learner:
    """The network, the results that it learns from, and what every level came to.

    results: (3, N) of all positions: the games that met each, and the sum and the sum of squares of what came of them for
    the side that had just moved there. values, previous: (N,) what the last champion and the one before say of them, None
    for random play. history: of each level its losses (training and validation of each epoch), its champion (epoch), the
    least loss there can be, and its wins, losses and draws against the level before, exact and sampled.
    """

    def __init__(self, config: Config):
        torch.set_num_threads(config.threads)
        self.config, self.positions, self.network = (
            config,
            positions_of(config.rules),
            build(config),
        )
        positions = self.positions
        self.seat = np.where(positions.x_to_move, -1, 1)  # of the side that has just moved
        self.exact = (positions.outcome_x * self.seat).astype(np.float64)
        self.rows = positions.unfinished[
            1:
        ]  # what the network values: no move leads to the empty board, and finished ones are known
        self.classes, self.place = np.unique(
            positions.canonical[self.rows] if config.symmetry else self.rows, return_inverse=True
        )
        self.planes = observe(positions.boards, config.rules, seats=self.seat).reshape(
            len(positions), -1
        )
        self.inputs = torch.as_tensor(
            self.planes[self.classes], dtype=torch.float32, device=config.device
        )
        images, which = np.unique(positions.canonical[self.classes], return_inverse=True)
        self.turn = np.random.default_rng(config.seed).permutation(len(images))[which] / len(
            images
        )  # in which positions are held out
        self.results = np.zeros((3, len(positions)))
        self.values: Floats | None = None
        self.previous: Floats | None = None
        self.history: list[dict[str, Any]] = []

    @property
    def steps(self) -> int:
        """Games played."""
        return len(self.history) * self.config.games

    def level(self) -> Floats:
        """Play a level, learn from it, and play against the level before; the results of its games."""
        config, number = self.config, len(self.history)
        rng = np.random.default_rng([config.seed, number])
        results = (
            read_dataset(Path(config.dataset), self)
            if config.dataset and number == 0
            else self.play(rng)
        )
        self.results = results + config.memory * self.results
        learned = self.fit(rng, int(results[0].sum()))
        self.previous, self.values = self.values, self.evaluate()
        self.history.append({**learned, **self.match(int(rng.integers(2**31)))})
        return results

    # --- players -----------------------------------------------------------------------------------------------------

    def ask(self) -> Floats:
        """What the network says of every class of positions: (C,)."""
        self.network.train(False)
        with torch.no_grad():
            return self.network(self.inputs)[:, 0].double().cpu().numpy()

    def evaluate(self) -> Floats:
        """What a position is worth to the side that has just moved there: (N,), by the network, exact where the game is over."""
        values = self.exact.copy()
        values[self.rows] = self.ask()[self.place]
        return values

    def worth(self, values: Floats) -> Floats:
        """What a move to each position is worth to the side that makes it: (N,), its value, or what the best answer leaves of it."""
        answers = self.moves(values).max(axis=1)
        return (
            values
            if self.config.look_ahead == 1
            else np.where(self.positions.is_over, values, -answers)
        )

    def moves(self, worth: Floats) -> Floats:
        """What each move is worth: (N, cells), -inf where there is none."""
        return np.where(self.positions.children >= 0, worth[self.positions.children], -np.inf)

    def table(self) -> ValuedTable:
        """What the network plays, without exploration."""
        return ValuedTable(
            self.config.rules, self.moves(self.worth(self.evaluate()))[self.positions.unfinished]
        )

    def player(
        self, values: Floats | None, epsilons: tuple[float, ...], temperature: float = 0.0
    ) -> TabularPolicy:
        """The best move, or a softmax of the values, or with the epsilon of the ply a random legal move; always that where there are no values."""
        rows = self.positions.unfinished
        free = self.positions.boards[rows] == 0
        random = free / free.sum(axis=1, keepdims=True)
        if values is None:
            return TabularPolicy(self.config.rules, random)
        moves = self.moves(self.worth(values))[rows]
        best = moves.max(axis=1, keepdims=True)
        chosen = (
            np.exp((moves - best) / temperature)
            if temperature > 0
            else np.arange(free.shape[1]) == moves.argmax(axis=1)[:, None]
        )
        epsilon = np.array(epsilons)[np.minimum(self.positions.ply[rows], len(epsilons) - 1)][
            :, None
        ]
        return TabularPolicy(
            self.config.rules,
            epsilon * random + (1 - epsilon) * chosen / chosen.sum(axis=1, keepdims=True),
        )

    # --- games ---------------------------------------------------------------------------------------------------------

    def play(self, rng: np.random.Generator) -> Floats:
        """Games of the champion against itself, or the one before it: their `results` (3, N)."""
        config, positions, cells = self.config, self.positions, self.config.rules.cells
        sides = (self.values, self.values if config.opponent == "itself" else self.previous)
        tables = np.stack(
            [self.player(values, config.epsilons, config.temperature).by_row() for values in sides]
        )
        path = np.full(
            (cells + 3, config.games), -1, dtype=np.intp
        )  # the position of each game after each move, -1 after its end
        path[0], going = 0, np.arange(config.games)
        for ply in range(cells):
            rows = path[ply, going]
            path[ply + 1, going] = positions.children[
                rows, sample(tables[(going + ply) % 2, rows], rng)
            ]
            going = going[~positions.is_over[path[ply + 1, going]]]
        met = (path > 0) & ~positions.is_over[path]
        returns = self.returns(path)[met]
        parts = (np.ones(len(returns)), returns, returns**2)
        return np.stack(
            [np.bincount(path[met], weights=part, minlength=len(positions)) for part in parts]
        )

    def returns(self, path: Rows) -> Floats:
        """What the games of a path came to at each of its positions, discounted, for the side that had just moved there.

        Where it later made a move that the champion holds for worse than another, the other's value takes the place of what came of it.
        """
        positions, returns = self.positions, self.exact[path]
        cut = self.config.cut and self.values is not None
        worth = self.exact if self.values is None else self.worth(self.values)
        best = self.moves(worth).max(axis=1)
        for ply in range(len(path) - 3, -1, -1):
            here, answer, reply = path[ply : ply + 3]
            onward = (
                np.where(worth[reply] < best[answer], best[answer], returns[ply + 2])
                if cut
                else returns[ply + 2]
            )
            later = np.where(
                positions.is_over[answer], -self.exact[answer], self.config.discount * onward
            )
            returns[ply] = np.where(positions.is_over[here], self.exact[here], later)
        return returns

    def match(self, seed: int) -> dict[str, list[float]]:
        """Wins, losses and draws of the champion against the one before it, half of the games on each side: exact, and in sampled games."""
        config, names = self.config, ("win", "loss", "draw")
        champion, before = (
            self.player(values, config.match_epsilons) for values in (self.values, self.previous)
        )
        x, o = exact_result(champion, before), exact_result(before, champion).other_side
        as_x, as_o = (
            sampled_result(*pair, config.rules, config.match_games, seed)
            for pair in ((champion, before), (before, champion))
        )
        return {
            "exact": [(getattr(x, name) + getattr(o, name)) / 2 for name in names],
            "games": [
                round(
                    config.match_games
                    * (getattr(as_x.result, name) + getattr(as_o.result.other_side, name))
                )
                for name in names
            ],
        }

    # --- learning --------------------------------------------------------------------------------------------------------

    def held_out(self, level: int) -> NDArray[np.bool_]:
        """Which classes (C,) a level does not learn from. Images are held out together, and all have their turn before one has it again."""
        return (self.turn + level * self.config.validation) % 1 < self.config.validation

    def fit(self, rng: np.random.Generator, examples: int) -> dict[str, Any]:
        """Learn from the results, an epoch being as many examples; the champion is what is nearest to those that were held out."""
        config, network = self.config, self.network
        games, sums, squares = (
            np.bincount(self.place, weights=part[self.rows], minlength=len(self.classes))
            for part in self.results
        )
        once = np.where(games > 0, games, 1.0)
        mean = sums / once
        spread = np.maximum(
            squares / once - mean**2, 0
        )  # of the results of a position: what no value can do anything about
        held_out = self.held_out(len(self.history))
        known, unknown = np.where(held_out, 0.0, games), np.where(held_out, games, 0.0)
        if not known.any():
            raise ValueError(
                "all positions that the games met are held out: play more games, or choose a smaller validation"
            )
        targets = torch.as_tensor(mean, dtype=torch.float32, device=config.device)
        rate = config.learning_rate * config.learning_rate_decay ** len(self.history)
        optimizer = torch.optim.Adam(
            network.parameters(), lr=rate, weight_decay=config.weight_decay, fused=True
        )
        losses: list[tuple[float, float]] = []
        champion, weights = 0, network.state_dict()
        with torch.random.fork_rng():
            torch.manual_seed(int(rng.integers(2**31)))
            for epoch in range(config.epochs):
                network.train()
                for _ in range(-(-examples // config.batch_size)):
                    count = np.bincount(
                        rng.choice(len(games), config.batch_size, p=known / known.sum()),
                        minlength=len(games),
                    )
                    which = torch.as_tensor(np.flatnonzero(count), device=config.device)
                    share = torch.as_tensor(
                        count[count > 0] / config.batch_size,
                        dtype=torch.float32,
                        device=config.device,
                    )
                    optimizer.zero_grad()
                    (
                        share * (network(self.inputs[which])[:, 0] - targets[which]) ** 2
                    ).sum().backward()
                    optimizer.step()
                errors = (self.ask() - mean) ** 2 + spread
                losses.append((mean_of(errors, known), mean_of(errors, unknown)))
                if (
                    epoch == 0 or not losses[-1][1] > losses[champion][1]
                ):  # also where nothing was held out and the loss is NaN
                    champion, weights = (
                        epoch,
                        {name: tensor.clone() for name, tensor in network.state_dict().items()},
                    )
        network.load_state_dict(weights)
        return {"losses": losses, "champion": champion + 1, "least": mean_of(spread, known)}


def mean_of(numbers: Floats, weights: Floats) -> float:
    """The weighted mean, NaN of nothing."""
    return float((numbers * weights).sum() / weights.sum()) if weights.any() else float("nan")


# --- training --------------------------------------------------------------------------------------------------------


def train(
    config: Config, report: Report, resume: Path | None = None, logs: Path | None = None
) -> ValuedTable:
    """Train, or go on from the folder `resume`; the table of the last judgement. `logs`: a folder for datasets, losses, matches and plots."""
    learner = Learner(config)
    if resume is not None:
        restore(resume, learner)
    while True:
        results = learner.level()
        if logs is not None:
            write_logs(logs, learner, results)
        ended = learner.steps >= config.steps
        if (
            ended
            or learner.steps // config.judge_every
            > (learner.steps - config.games) // config.judge_every
        ):
            table, last = learner.table(), learner.history[-1]
            training, validation = last["losses"][last["champion"] - 1]
            notes = {
                "level": len(learner.history),
                "training_loss": training,
                "validation_loss": validation,
                "least_loss": last["least"],
            }
            stopped = report(
                learner.steps,
                table,
                lambda folder, everything=True: save(folder, learner, everything),
                notes,
            )
            if stopped or ended:
                if logs is not None:
                    draw(logs, learner)
                return table


# --- files -----------------------------------------------------------------------------------------------------------

RESULT = (
    "return",
    "deviation",
    "games",
)  # the columns of a dataset after the planes; a file of single results has only the first


def write_logs(folder: Path, learner: Learner, results: Floats) -> None:
    """Write the last level's dataset and losses, and how every level did against the one before, as CSV."""
    level, last = folder / f"level-{len(learner.history):02d}", learner.history[-1]
    rows = np.flatnonzero(results[0])
    games, sums, squares = results[:, rows]
    mean, deviation = sums / games, np.sqrt(np.maximum(squares / games - (sums / games) ** 2, 0))
    examples = zip(
        learner.planes[rows].tolist(),
        mean.tolist(),
        deviation.tolist(),
        games.astype(int).tolist(),
        strict=True,
    )
    write_csv(
        level / "dataset.csv",
        [*plane_names(learner), *RESULT],
        ((*planes, *result) for planes, *result in examples),
    )
    losses = (
        (epoch, *pair, epoch == last["champion"]) for epoch, pair in enumerate(last["losses"], 1)
    )
    write_csv(level / "losses.csv", ["epoch", "train", "validation", "is_champion"], losses)
    matches = (
        (number, *entry["exact"], *entry["games"])
        for number, entry in enumerate(learner.history, 1)
    )
    write_csv(
        folder / "levels.csv",
        ["level", "exact_wins", "exact_losses", "exact_draws", "wins", "losses", "draws"],
        matches,
    )


def draw(folder: Path, learner: Learner) -> None:
    """Draw the losses of the levels' champions, and how each level did against the one before."""
    history, levels = learner.history, range(1, len(learner.history) + 1)
    losses = [entry["losses"][entry["champion"] - 1] for entry in history]
    curves = [
        ("training", "C0-", [training for training, _ in losses]),
        ("positions held out", "C1-", [validation for _, validation in losses]),
        (
            "spread of the results of the training positions",
            "C0:",
            [entry["least"] for entry in history],
        ),
    ]
    lines(
        folder / "losses.png",
        "losses of each level's champion",
        ("level", "mean squared error of a result"),
        levels,
        curves,
    )
    exact = [
        (f"{name}, exact", f"C{i}-", [entry["exact"][i] for entry in history])
        for i, name in enumerate(("wins", "losses", "draws"))
    ]
    games = 2 * learner.config.match_games
    played = [
        (f"in {games:,} games", f"C{i}.", [entry["games"][i] / games for entry in history])
        for i in range(3)
    ]
    lines(
        folder / "levels.png",
        "each level against the one before",
        ("level", "share of the games"),
        levels,
        [*exact, *played],
    )


def plane_names(learner: Learner) -> list[str]:
    """The columns of a dataset that describe a board: the marks of the side that has just moved, then the other's."""
    return [f"v{number}" for number in range(learner.planes.shape[1])]


def read_dataset(path: Path, learner: Learner) -> Floats:
    """The `results` (3, N) of a dataset, finished boards and the empty one left out; ValueError if the file is something else."""
    expected, positions = [*plane_names(learner), *RESULT], learner.positions
    with open(path, encoding="utf-8", newline="") as file:
        names, *entries = list(csv.reader(file)) or [[]]
    if names not in (expected, expected[:-2]):
        raise ValueError(
            f"{path} must have the columns {', '.join(expected)}, the last two if there are means, got {', '.join(names)[:200]!r}"
        )
    try:
        table = np.array(entries, dtype=np.float64).reshape(-1, len(names))
    except ValueError as error:
        raise ValueError(f"{path} must hold a number in each column: {error}") from None
    planes, mean = table[:, : len(expected) - 3], table[:, len(expected) - 3]
    deviation, games = (
        table[:, -2:].T
        if len(names) == len(expected)
        else (np.zeros(len(table)), np.ones(len(table)))
    )
    own, other = np.split(planes, 2, axis=1)
    rows = positions.rows(
        (own - other) * np.where(own.sum(axis=1) > other.sum(axis=1), 1, -1)[:, None]
    )
    if (
        (learner.planes[rows] != planes).any()
        or not np.isfinite(table).all()
        or not (games >= 0).all()
    ):
        raise ValueError(
            f"{path} must hold boards as planes of 0 and 1, finite results, and numbers of games"
        )
    parts = (games, games * mean, games * (deviation**2 + mean**2))
    results: Floats = np.stack(
        [np.bincount(rows, weights=part, minlength=len(positions)) for part in parts]
    )
    results[:, np.setdiff1d(np.arange(len(positions)), learner.rows)] = 0
    if not results[0].any():
        raise ValueError(f"{path} must hold at least one unfinished board with a mark on it")
    return results


def save(folder: Path, learner: Learner, everything: bool = True) -> None:
    """Write the network (model.safetensors) and, if `everything`, what else is needed to go on (state.safetensors)."""
    about = {"agent": AGENT, "config": asdict(learner.config), "steps": learner.steps}
    write_tensors(folder / "model.safetensors", learner.network.state_dict(), about)
    if everything:
        state = {
            "results": learner.results,
            **({} if learner.previous is None else {"previous": learner.previous}),
        }
        tensors = {name: torch.as_tensor(array) for name, array in state.items()}
        write_tensors(folder / "state.safetensors", tensors, {**about, "history": learner.history})


def restore(folder: Path, learner: Learner) -> None:
    """Put a saved training back, bit for bit; DamagedFileError if its files do not fit together or with the configuration."""
    path = folder / "state.safetensors"
    model, of_model = read_tensors(folder / "model.safetensors")
    state, about = read_tensors(path)
    check_unchanged(learner.config, read_config(Config, about, AGENT, folder), folder)
    if not isinstance(about.get("history"), list) or len(
        about["history"]
    ) * learner.config.games != of_model.get("steps"):
        raise DamagedFileError(
            f"{path} and model.safetensors are not of the same moment: train again or use another copy"
        )
    load_weights(learner.network, model, folder / "model.safetensors")
    learner.history = about["history"]
    arrays = {name: tensor.numpy() for name, tensor in state.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    known = {
        "results": (3, len(learner.positions)),
        **({"previous": (len(learner.positions),)} if len(learner.history) > 1 else {}),
    }
    if shapes != known:
        raise DamagedFileError(
            f"{path} does not fit its configuration: it must hold arrays of the shapes {known}, got {shapes}"
        )
    learner.results, learner.previous, learner.values = (
        arrays["results"],
        arrays.get("previous"),
        learner.evaluate(),
    )


def load(folder: Path) -> ValuedTable:
    """The player of a saved run: its moves, and the values by which it chooses them. DamagedFileError for anything else."""
    tensors, about = read_tensors(folder / "model.safetensors")
    learner = Learner(replace(read_config(Config, about, AGENT, folder), device="cpu"))
    load_weights(learner.network, tensors, folder / "model.safetensors")
    return learner.table()
