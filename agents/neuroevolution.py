"""Neuroevolution: a league of small networks, of which the best stay as they are and the others become mutated copies of them.

An evolution strategy of (mu + lambda) kind with self-adapted mutations (Schwefel; Beyer and Schwefel 2002,
https://link.springer.com/article/10.1023/A:1015059928466), after the league of blog.dimitars.dev ("Playing around with
evolution training"). No gradient and no labels: a network is changed at random and kept if it does better.

- A network sees the board as the side to move does and says how much it likes each cell. It plays the cell that it likes
  best even if it is taken: an illegal move disqualifies, and the game is lost. `masks` takes such moves away from it.
- A generation: everyone plays everyone, on both sides; the `winners` with the highest fitness survive unchanged, all the
  others are replaced by mutated clones of random winners. Networks do not learn in between.
- A network plays the same move on the same board for ever. So its moves on all boards are written down once, and games are
  looked up: the 9,900 games of a league of 100 take milliseconds.
- Fitness is the exact result against `opponents`, over all their replies, the mean of both sides: a win 1, a draw 0, a loss
  -1, an illegal move -`illegal_penalty`. In it the network slips too, so that it is selected by its moves where it would
  not get by itself (a trembling hand, Selten 1975). The league's own points, football's 3/1/0 or 1/1/0 with -10 for a disqualification
  ("punished"), reward what beats siblings that play one game each, so they say nothing of other games; they are here
  to be compared, and can be mixed in (`fitness=exact:0.9,punished:0.1`). The league is played and charted whatever counts.
- Each network carries its own magnitude of mutations and share of weights that change; both mutate first, by the factor
  exp(`adaptation` * normal). `adaptation=0` keeps them as they are.
- In some clones nothing mutates but one hidden unit, which few listen to: it is reborn as one that knows a position of the worst
  of a few games of its parent, and speaks for or against a cell drawn at random (`rebirth`).
- Among networks of the same fitness the youngest goes first (neutral drift), and with `distinct` only one of them may
  win before all others have: otherwise the winners soon are copies of one another.
- `symmetry`: positions that are turned or mirrored images of each other are shown to the network as one of them. Opponents
  are asked about that one too, which matters only to those that are not symmetric themselves (minimax-first, saved runs).

Differences from the blog: the fitness, the self-adaptation, rebirth, drift and distinctness, a direct layer from the inputs to the
outputs beside the hidden one. `--preset dimitars-20`, `-100`, `-punished` and `-linear` are its four experiments without these.
The networks that reach `--until unbeatable` know what to do where the fitness leads them; what the opponents
never do is not part of it. In the run's folder: league.csv, lengths.png and disqualified.png, the league's games by length
(marks on the board at the end) and its disqualifications, drawn at each tenth of a training.
"""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import probability, unknown_name, whole_number
from tictactoe_env.opponents import make_opponent, parse_pool
from tictactoe_env.policy import TabularPolicy, one_hot, tabulate
from tictactoe_env.positions import positions_of
from training.evaluation import Report
from training.files import checked_array, read_arrays, write_arrays, write_file
from training.options import BoardConfig, Preset, check_unchanged, option, read_config
from training.plots import lines

AGENT = "neuroevolution"
ACTIVATIONS = ("relu", "tanh", "sigmoid")
INPUTS = ("planes", "grid")
POINTS = {
    "football": (3.0, 1.0, 0.0, 0.0),
    "punished": (1.0, 1.0, 0.0, -10.0),
}  # of a win, a draw, a loss, a disqualification
FITNESS = ("exact", *POINTS)
MAX_CELLS = 12  # of a board: 3x4 has 33,000 positions to tabulate for each network
SAMPLED = 8  # games, of which the worst says where a hidden unit is reborn
LISTENED, WIDEST, LOUDEST = (
    8,
    4,
    4.0,
)  # units of which the least heard is reborn; positions around it that it may know; its largest weight
MAX_MAGNITUDE = 10.0  # of self-adapted mutations
MIN_MAGNITUDE = 1e-4
X_WON, DRAWN, O_WON, X_OUT, O_OUT, NOT_PLAYED = range(6)  # how a game ends; OUT is disqualified
ENDS = 5
ALONE = 250_000  # multiplications of a product below which OpenBLAS starts no threads, which cost more than they save

Floats = NDArray[np.float64]
Weights = NDArray[np.float32]
Moves = NDArray[np.uint8]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Config(BoardConfig):
    """Everything that decides what is learned."""

    STEP: ClassVar[str] = "generations"

    steps: int = option(5_000, "Generations after which training ends, at least 1.")
    judge_every: int = option(50, "Generations between two exact judgements, at least 1.")
    league: int = option(
        100,
        "Networks, at least 2; everyone plays everyone on both sides, league * (league - 1) games.",
    )
    winners: int = option(20, "Networks that survive a generation unchanged, from 1 to league - 1.")
    fitness: str = option(
        "exact",
        "What selects: exact, football (3/1/0), punished (1/1/0, -10 if disqualified), or a mixture name:weight,...",
    )
    opponents: str = option(
        "minimax-slip=0.6", "Who the exact fitness is against, as name:weight,..."
    )
    illegal_penalty: float = option(
        2.0,
        "What an illegal move costs in the exact fitness, where a loss costs 1; a finite number of at least 0.",
    )
    slip: float = option(
        0.02,
        "Probability that the network itself makes a random legal move in the exact fitness, from 0 to 1.",
    )
    masks: bool = option(False, "Whether illegal moves are impossible, instead of disqualifying.")
    mutation: float = option(
        0.5,
        "Largest change of a weight by a mutation (at the start, if adapted), above 0 and at most 10.",
    )
    mutation_share: float = option(
        0.1,
        "Share of the weights that a mutation changes (at the start, if adapted), above 0 and at most 1.",
    )
    adaptation: float = option(
        0.2,
        "How fast each network's own magnitude and share of mutations change, from 0 (not at all) to 1.",
    )
    rebirth: float = option(
        0.3,
        "Share of the clones, from 0 to 1, of which a hidden unit is reborn instead of mutations; relu and planes only.",
    )
    distinct: bool = option(
        True, "Whether networks of equal fitness are ranked behind all others but for one of them."
    )
    hidden: int = option(64, "Hidden units, at least 0; 0 connects inputs and outputs directly.")
    activation: str = option("relu", "What a hidden unit computes: relu, tanh or sigmoid.")
    direct: bool = option(
        True, "Whether inputs and outputs are connected directly too, beside the hidden units."
    )
    scaled: bool = option(
        True, "Whether first weights and mutations are smaller where a unit has many inputs."
    )
    inputs: str = option(
        "planes",
        "How the board is shown: planes (own marks, the other's marks) or grid (+1, -1, 0).",
    )
    symmetry: bool = option(
        True, "Whether positions that are turned or mirrored images of each other are shown as one."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.league, "league", 2)
        whole_number(self.winners, "winners", 1, self.league - 1)
        whole_number(self.hidden, "hidden", 0)
        probability(self.adaptation, "adaptation")
        probability(self.slip, "slip")
        if probability(self.mutation_share, "mutation_share") == 0:
            raise ValueError(f"mutation_share must be above 0, got {self.mutation_share!r}")
        if not 0 < self.mutation <= MAX_MAGNITUDE:
            raise ValueError(
                f"mutation must be above 0 and at most {MAX_MAGNITUDE:g}, got {self.mutation!r}"
            )
        if not 0 <= self.illegal_penalty < np.inf:
            raise ValueError(
                f"illegal_penalty must be a finite number of at least 0, got {self.illegal_penalty!r}"
            )
        for what, value, known in (
            ("activation", self.activation, ACTIVATIONS),
            ("inputs", self.inputs, INPUTS),
        ):
            if value not in known:
                raise unknown_name(what, value, known)
        if self.rules.cells > MAX_CELLS:
            raise ValueError(
                f"networks take boards of at most {MAX_CELLS} cells, {self.rules} has {self.rules.cells}: use a smaller board"
            )
        _ = self.weights_of_fitness
        fits = (
            self.hidden > 0
            and (self.activation, self.inputs) == ("relu", "planes")
            and "exact" in self.weights_of_fitness
        )
        if probability(self.rebirth, "rebirth") and not fits:
            raise ValueError(
                "rebirth needs hidden units, relu, planes and an exact fitness: set it to 0, or change these"
            )
        for name, _ in parse_pool(self.opponents):
            make_opponent(name, self.rules)

    @property
    def weights_of_fitness(self) -> dict[str, float]:
        """The weight of each fitness that counts; they sum to 1."""
        pairs = parse_pool(self.fitness)
        for name, _ in pairs:
            if name not in FITNESS:
                raise unknown_name("fitness", name, FITNESS)
        return dict(pairs)


_BLOG = {
    **{
        "mutation_share": 1.0,
        "adaptation": 0.0,
        "distinct": False,
        "hidden": 15,
        "activation": "sigmoid",
        "direct": False,
    },
    **{"scaled": False, "inputs": "grid", "rebirth": 0.0, "symmetry": False, "steps": 800},
}
PRESETS = {
    "dimitars-20": Preset(
        "blog.dimitars.dev: a league of 20, 3 winners, points as in football.",
        {**_BLOG, "league": 20, "winners": 3, "mutation": 0.5, "fitness": "football"},
        weak=True,
    ),
    "dimitars-100": Preset(
        "blog.dimitars.dev: a league of 100, 50 winners, points as in football.",
        {**_BLOG, "league": 100, "winners": 50, "mutation": 0.5, "fitness": "football"},
        weak=True,
    ),
    "dimitars-punished": Preset(
        "blog.dimitars.dev: the same with -10 points for a disqualification.",
        {**_BLOG, "league": 100, "winners": 50, "mutation": 0.5, "fitness": "punished"},
        weak=True,
    ),
    "dimitars-linear": Preset(
        "blog.dimitars.dev: no hidden layer, 25 winners, smaller mutations, -10 points for a disqualification.",
        {
            **_BLOG,
            "league": 100,
            "winners": 25,
            "mutation": 0.1,
            "fitness": "punished",
            "hidden": 0,
        },
        weak=True,
    ),
}


# --- the game by look-up ---------------------------------------------------------------------------------------------


class Ground:
    """The S positions that a network is asked about, numbered in the order of play; S + X_WON, ... S + O_OUT are the ends.

    after: (S, cells) where each move leads. inputs: (S, inputs) as the network sees them, with a 1 for its biases.
    """

    def __init__(self, config: Config):
        self.rules, positions = config.rules, positions_of(config.rules)
        shown = positions.canonical if config.symmetry else np.arange(len(positions))
        self.asked = np.unique(shown[positions.unfinished])
        size = self.size = len(self.asked)
        numbers = np.where(positions.is_over, size + DRAWN - positions.outcome_x.astype(np.intp), 0)
        numbers[~positions.is_over] = np.searchsorted(self.asked, shown[~positions.is_over])
        children, x_moves = positions.children[self.asked], positions.x_to_move[self.asked]
        self.after: Rows = np.where(
            children >= 0, numbers[children], size + np.where(x_moves, X_OUT, O_OUT)[:, None]
        )
        self.plies = [
            slice(*np.searchsorted(positions.ply[self.asked], (ply, ply + 1)))
            for ply in range(self.rules.cells)
        ]
        own = positions.boards[self.asked] * np.where(x_moves, 1, -1)[:, None]
        self.taken = own != 0
        self.free: Floats = ~self.taken / (~self.taken).sum(axis=1, keepdims=True)
        planes = [own > 0, own < 0] if config.inputs == "planes" else [own]
        self.inputs: Weights = np.concatenate([*planes, np.ones((size, 1))], axis=1).astype(
            np.float32
        )
        self._numbers = numbers[positions.unfinished]
        turns = (
            positions.to_canonical[positions.unfinished]
            if config.symmetry
            else np.zeros(len(self._numbers), dtype=np.intp)
        )
        self._cells = positions.symmetries[turns]

    def ways(self, moves: Moves) -> Rows:
        """Where the moves (B, S) of networks lead from every position, and ends to themselves: (S + ENDS, B)."""
        leads = self.after[np.arange(self.size)[:, None], moves.T]
        return np.concatenate(
            [leads, np.repeat(np.arange(self.size, self.size + ENDS)[:, None], len(moves), axis=1)]
        )

    def policy(self, moves: Moves) -> TabularPolicy:
        """The player with these moves (S,)."""
        cells = self._cells[np.arange(len(self._cells)), moves[self._numbers]]
        return TabularPolicy(self.rules, one_hot(cells, self.rules.cells))

    def opponent(self, name: str) -> Floats:
        """The probabilities (S, cells) of an opponent."""
        return tabulate(make_opponent(name, self.rules), self.rules).by_row()[self.asked]

    def results(self, ways: Rows, opponent: Floats, penalty: float, slip: float = 0.0) -> Floats:
        """The expected result of networks, which slip, against an opponent over all lines of play, the mean of X and O: (B,)."""
        count, every = ways.shape[1], np.arange(ways.shape[1])
        total = np.zeros(count)
        for side, ends in enumerate(
            ((1.0, 0.0, -1.0, -penalty, 1.0), (-1.0, 0.0, 1.0, 1.0, -penalty))
        ):
            values = np.empty((self.size + ENDS, count))
            values[self.size :] = np.array(ends)[:, None]
            for ply in range(self.rules.cells - 1, -1, -1):
                rows = self.plies[ply]
                chances, own = (
                    (slip * self.free[rows], 1 - slip) if ply % 2 == side else (opponent[rows], 0.0)
                )
                values[rows] = own * values[ways[rows], every] if own else 0.0
                if slip or not own:
                    after = self.after[rows]
                    values[rows] += sum(
                        chances[:, cell, None] * values[after[:, cell]]
                        for cell in range(self.rules.cells)
                    )
            total += values[0] / 2
        return total

    def worst(
        self, ways: Rows, opponent: Floats, penalty: float, slip: float, rng: np.random.Generator
    ) -> Rows:
        """A position of each network (B,) in which it had to move, from the worst of some games against an opponent; -1 if it never had to."""
        who, shape = np.arange(ways.shape[1])[:, None], (ways.shape[1], SAMPLED)
        sides, state = rng.integers(2, size=shape), np.zeros(shape, dtype=np.intp)
        path = np.full((self.rules.cells, *shape), -1)
        others, own = opponent.cumsum(axis=1), self.free.cumsum(axis=1)
        for ply in range(self.rules.cells):
            goes_on = state < self.size
            at, mine = np.where(goes_on, state, 0), sides == ply % 2
            path[ply] = np.where(goes_on & mine, state, -1)
            sums = np.where(mine[..., None], own[at], others[at])
            drawn = self.after[
                at, (sums <= rng.random(shape)[..., None] * sums[..., -1:]).sum(axis=-1)
            ]
            state = np.where(
                goes_on, np.where(mine & (rng.random(shape) >= slip), ways[at, who], drawn), state
            )
        results = np.array([(1.0, 0.0, -1.0, -penalty, 1.0), (-1.0, 0.0, 1.0, 1.0, -penalty)])[
            sides, state - self.size
        ]
        game = (results + rng.random(shape) / 10).argmin(
            axis=1
        )  # the first among equals would be no draw
        path = path[:, who[:, 0], game]
        return path[(np.where(path >= 0, rng.random(path.shape), -1.0)).argmax(axis=0), who[:, 0]]

    def league(self, ways: Rows) -> tuple[Rows, Rows]:
        """Everyone as X (first axis) against everyone as O (second): how the games end, and the marks on the board then: (N, N) each.

        Nobody plays himself: NOT_PLAYED, with 0 marks.
        """
        count, leads = ways.shape[1], ways.ravel()
        movers = (np.arange(count)[:, None], np.arange(count)[None])
        state, length = (
            np.zeros((count, count), dtype=np.intp),
            np.zeros((count, count), dtype=np.intp),
        )
        for ply in range(self.rules.cells):
            length += state < self.size
            state = leads[state * count + movers[ply % 2]]
        ends = state - self.size
        length -= ends >= X_OUT  # an illegal move leaves no mark
        np.fill_diagonal(ends, NOT_PLAYED)
        np.fill_diagonal(length, 0)
        return ends, length


def points(ends: Rows, win: float, draw: float, loss: float, disqualified: float) -> Floats:
    """The mean points of a game for each member of a league with these ends (N, N): (N,)."""
    as_x = np.array([win, draw, loss, disqualified, win, 0.0])[ends]
    as_o = np.array([loss, draw, win, win, disqualified, 0.0])[ends]
    return (as_x.sum(axis=1) + as_o.sum(axis=0)) / (2 * (len(ends) - 1))


# --- networks --------------------------------------------------------------------------------------------------------


class Shape:
    """How the weights (P,) of a network are laid out: hidden layer, output layer, direct layer, each with its biases last."""

    def __init__(self, config: Config, inputs: int):
        self.config, self.inputs = config, inputs
        hidden, cells = config.hidden, config.rules.cells
        direct = config.direct or hidden == 0
        sizes = [
            (inputs, hidden),
            (hidden + 1, cells) if hidden else (0, cells),
            (inputs if direct else 0, cells),
        ]
        self.sizes, self.ends = (
            sizes,
            np.cumsum([rows * columns for rows, columns in sizes]).tolist(),
        )
        spread = (
            np.sqrt((config.rules.cells + 1) / 2),
            np.sqrt(max(hidden, 1)),
            1.0,
        )  # about half of the inputs are not zero
        self.scale = np.concatenate(
            [
                np.full(rows * columns, 1 / by if config.scaled else 1.0)
                for (rows, columns), by in zip(sizes, spread, strict=True)
            ]
        ).astype(np.float32)

    def layers(self, weights: Weights) -> list[Weights]:
        """The layers of a network as matrices, which share its memory."""
        starts = (0, *self.ends)
        return [
            weights[start:end].reshape(size)
            for start, end, size in zip(starts, self.ends, self.sizes, strict=False)
        ]

    def first(self, count: int, rng: np.random.Generator) -> Weights:
        """Networks with normal weights (B, P). Hidden ReLU units begin with a lower bias, so that they are on for few positions."""
        networks = rng.standard_normal((count, self.ends[-1]), dtype=np.float32) * self.scale
        if self.config.activation == "relu":
            for network in networks:
                self.layers(network)[0][-1:] -= 1
        return networks

    def moves(self, networks: Weights, ground: Ground) -> Moves:
        """The cells that networks (B, P) play on all positions: (B, S); the lowest of those they like best."""
        moves = np.empty((len(networks), ground.size), dtype=np.uint8)
        chunk = max(1, ALONE // max(rows * columns for rows, columns in self.sizes))
        for number, network in enumerate(
            networks
        ):  # one at a time, in the cache, and the same whatever the neighbours
            for start in range(0, ground.size, chunk):
                part = slice(start, start + chunk)
                likes = self.likes(network, ground.inputs[part])
                if self.config.masks:
                    likes[ground.taken[part]] = -np.inf
                moves[number, part] = likes.argmax(axis=1)
        return moves

    def likes(self, network: Weights, inputs: Weights) -> Weights:
        """How much a network (P,) likes each cell of boards (B, inputs): (B, cells)."""
        hidden, output, direct = self.layers(network)
        likes = (
            inputs @ direct
            if len(direct)
            else np.zeros((len(inputs), self.config.rules.cells), dtype=np.float32)
        )
        if self.config.hidden:
            likes += activate(inputs @ hidden, self.config.activation) @ output[:-1] + output[-1]
        return likes


def activate(sums: Weights, activation: str) -> Weights:
    """What hidden units make of their sums."""
    if activation == "relu":
        return np.maximum(sums, np.float32(0))
    return (
        np.tanh(sums)
        if activation == "tanh"
        else (np.tanh(sums / np.float32(2)) + np.float32(1)) / np.float32(2)
    )


# --- evolution -------------------------------------------------------------------------------------------------------


class Evolution:
    """The league and all that it goes on from.

    networks: (N, P) weights, winners first. magnitudes, shares: (N,) of their mutations. moves: (N, S). exact, fitness: (N,).
    history: of each generation the league's games by length, 1 to cells, and its disqualifications.
    """

    def __init__(self, config: Config):
        self.config, self.ground = config, Ground(config)
        self.shape = Shape(config, self.ground.inputs.shape[1])
        self.rng = np.random.default_rng(config.seed)
        self.counts = config.weights_of_fitness
        self.opponents = (
            [(self.ground.opponent(name), weight) for name, weight in parse_pool(config.opponents)]
            if "exact" in self.counts
            else []
        )
        self.history: list[list[int]] = []

    @property
    def generation(self) -> int:
        """Generations since the first league."""
        return len(self.history) - 1

    def begin(self) -> None:
        """The first league: random networks."""
        config = self.config
        self.networks = self.shape.first(config.league, self.rng)
        self.magnitudes, self.shares = (
            np.full(config.league, config.mutation),
            np.full(config.league, config.mutation_share),
        )
        self.moves, self.exact = (
            np.empty((config.league, self.ground.size), dtype=np.uint8),
            np.zeros(config.league),
        )
        self._judge_from(0)

    def advance(self) -> None:
        """A generation: the winners stay, the others become mutated clones of them."""
        config = self.config
        winners = self.ranking()[: config.winners]
        clones = self.rng.integers(config.winners, size=config.league - config.winners)
        order = np.concatenate([winners, winners[clones]])
        for name in ("networks", "magnitudes", "shares", "moves", "exact"):
            setattr(self, name, getattr(self, name)[order])
        reborn = self.rng.random(len(clones)) < config.rebirth
        self._bear(config.winners + np.flatnonzero(reborn))
        self._mutate(config.winners + np.flatnonzero(~reborn))
        self._judge_from(config.winners)

    def _bear(self, who: Rows) -> None:
        """A rarely heard hidden unit of each of these networks becomes one that knows a position of a game that went badly."""
        if not len(who):
            return
        config, rng, ground = self.config, self.rng, self.ground
        opponent = self.opponents[
            rng.choice(len(self.opponents), p=[weight for _, weight in self.opponents])
        ][0]
        places = ground.worst(
            ground.ways(self.moves[who]), opponent, config.illegal_penalty, config.slip, rng
        )
        for number, place in zip(
            who[places >= 0].tolist(), places[places >= 0].tolist(), strict=True
        ):
            hidden, output, _ = self.shape.layers(self.networks[number])
            some = rng.integers(config.hidden, size=LISTENED)
            unit = some[np.abs(output[some]).max(axis=1).argmin()]
            seen, width = ground.inputs[place, :-1], 1 / rng.integers(1, WIDEST + 1)
            hidden[:-1, unit], hidden[-1, unit] = (
                width * (2 * seen - 1),
                1 - width * seen.sum(),
            )  # 1 there, `width` less for each input that differs
            output[unit] = 0
            output[unit, rng.integers(config.rules.cells)] = LOUDEST * (2 * rng.random() - 1)

    def _mutate(self, who: Rows) -> None:
        """Change some weights of these networks, and first how much and how many."""
        config, rng, size = self.config, self.rng, self.shape.ends[-1]
        magnitudes, shares, networks = self.magnitudes[who], self.shares[who], self.networks[who]
        if config.adaptation:
            magnitudes *= np.exp(config.adaptation * rng.standard_normal(len(magnitudes)))
            shares *= np.exp(config.adaptation * rng.standard_normal(len(shares)))
            np.clip(magnitudes, MIN_MAGNITUDE, MAX_MAGNITUDE, out=magnitudes)
            np.clip(shares, 1 / size, 1, out=shares)
        changes = rng.random(networks.shape, dtype=np.float32) < shares[:, None]
        change = rng.random(networks.shape, dtype=np.float32) * 2 - 1
        networks += changes * change * magnitudes[:, None].astype(np.float32) * self.shape.scale
        self.magnitudes[who], self.shares[who], self.networks[who] = magnitudes, shares, networks

    def _judge_from(self, first: int) -> None:
        """Write down the moves and exact results of all from the first new network on, and play the league."""
        config, ground = self.config, self.ground
        self.moves[first:] = self.shape.moves(self.networks[first:], ground)
        ways = ground.ways(self.moves)
        new = np.ascontiguousarray(ways[:, first:])
        self.exact[first:] = np.sum(
            [
                weight * ground.results(new, opponent, config.illegal_penalty, config.slip)
                for opponent, weight in self.opponents
            ],
            axis=0,
        )
        ends, length = ground.league(ways)
        parts = [
            weight * (self.exact if name == "exact" else points(ends, *POINTS[name]))
            for name, weight in self.counts.items()
        ]
        self.fitness = np.sum(parts, axis=0)
        lengths = np.bincount(length.ravel(), minlength=config.rules.cells + 1)[1:]
        self.history.append([*lengths.tolist(), int(((ends == X_OUT) | (ends == O_OUT)).sum())])

    def ranking(self) -> Rows:
        """All networks from the best to the worst, the youngest first among equals."""
        fitness = np.round(
            self.fitness, 9
        )  # the same results in another order of adding are no difference
        order = np.lexsort((-np.arange(len(fitness)), -fitness))
        if not self.config.distinct:
            return order
        differs = np.diff(fitness[order], prepend=np.inf) != 0
        return np.concatenate([order[differs], order[~differs]])

    def best(self) -> int:
        """The network that plays: the best of the league by its fitness."""
        return int(self.ranking()[0])

    def notes(self) -> dict[str, float]:
        """What is noted of the last league: shares and means of its games, the best fitness, the median magnitude of mutations."""
        *lengths, disqualified = self.history[-1]
        games = sum(lengths)
        mean = sum(length * count for length, count in enumerate(lengths, 1)) / games
        numbers = {"best_fitness": self.fitness.max(), "mutation": np.median(self.magnitudes)}
        return {
            "disqualified": disqualified / games,
            "mean_length": mean,
            **{name: float(value) for name, value in numbers.items()},
        }


def train(
    config: Config, report: Report, resume: Path | None = None, logs: Path | None = None
) -> TabularPolicy:
    """Train, or go on from the folder `resume`; the best of the last league. league.csv and its charts are written into `logs`."""
    evolution = Evolution(config)
    if resume is None:
        evolution.begin()
    else:
        restore(resume, evolution)
    while True:
        evolution.advance()
        at = evolution.generation
        over = at >= config.steps
        if not over and at % config.judge_every:
            continue
        table = evolution.ground.policy(evolution.moves[evolution.best()])
        over |= report(
            at,
            table,
            lambda folder, everything=True: save(folder, evolution, everything),
            evolution.notes(),
        )
        if logs is not None and (
            over or 10 * at // config.steps > 10 * (at - config.judge_every) // config.steps
        ):
            write_league(logs, evolution)
        if over:
            return table


# --- files -----------------------------------------------------------------------------------------------------------


def write_league(folder: Path, evolution: Evolution) -> None:
    """Write league.csv, lengths.png and disqualified.png: the games of every generation (at most 500 of them are drawn)."""
    history, longest = np.array(evolution.history), evolution.config.rules.cells
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(
        ["generation", *(f"length_{length}" for length in range(1, longest + 1)), "disqualified"]
    )
    writer.writerows([number, *row] for number, row in enumerate(evolution.history))
    write_file(folder / "league.csv", lambda file: file.write(text.getvalue().encode()))
    drawn = np.unique(np.linspace(0, evolution.generation, 500).round().astype(np.intp))
    curves = [
        (f"{length} marks", f"C{length}-", history[drawn, length - 1].tolist())
        for length in range(1, longest + 1)
    ]
    labels, generations = (
        ("generation", f"games, of {sum(evolution.history[0][:-1]):,}"),
        drawn.tolist(),
    )
    lines(folder / "lengths.png", "games of the league by length", labels, generations, curves)
    lines(
        folder / "disqualified.png",
        "ended by an illegal move",
        labels,
        generations,
        [("disqualified", "C3-", history[drawn, -1].tolist())],
    )


def save(folder: Path, evolution: Evolution, everything: bool = True) -> None:
    """Write the best network (model.safetensors) and, if `everything`, the whole league (state.safetensors)."""
    about = {"agent": AGENT, "config": asdict(evolution.config), "steps": evolution.generation}
    write_arrays(
        folder / "model.safetensors", {"network": evolution.networks[evolution.best()]}, about
    )
    if everything:
        arrays = {name: getattr(evolution, name) for name in state_shapes(evolution)}
        history = np.array(evolution.history, dtype=np.int64)
        write_arrays(
            folder / "state.safetensors",
            {**arrays, "history": history},
            {**about, "generator": evolution.rng.bit_generator.state},
        )


def state_shapes(evolution: Evolution) -> dict[str, tuple[int, ...]]:
    """The arrays of a league, by name, with their shapes."""
    members = evolution.config.league
    numbers = dict.fromkeys(("magnitudes", "shares", "exact", "fitness"), (members,))
    return {
        "networks": (members, evolution.shape.ends[-1]),
        "moves": (members, evolution.ground.size),
        **numbers,
    }


def restore(folder: Path, evolution: Evolution) -> None:
    """Put a saved league back, bit for bit; ValueError if its files do not fit together or with the configuration."""
    path = folder / "state.safetensors"
    read_arrays(folder / "model.safetensors")  # both are whole, or none is used
    arrays, about = read_arrays(path)
    check_unchanged(evolution.config, read_config(Config, about, AGENT, folder), folder)
    for name, shape in state_shapes(evolution).items():
        setattr(evolution, name, checked_array(arrays, name, shape, path))
    history = checked_array(
        arrays, "history", (about["steps"] + 1, evolution.config.rules.cells + 1), path
    )
    evolution.history = history.tolist()
    evolution.rng.bit_generator.state = about["generator"]


def load(folder: Path) -> TabularPolicy:
    """The player of a saved run. DamagedFileError for anything else."""
    path = folder / "model.safetensors"
    arrays, about = read_arrays(path)
    config = read_config(Config, about, AGENT, folder)
    ground = Ground(config)
    shape = Shape(config, ground.inputs.shape[1])
    network = checked_array(arrays, "network", (shape.ends[-1],), path)
    return ground.policy(shape.moves(network[None], ground)[0])
