"""Neuroevolution: a league of small networks that changes by selection and mutation.

A (mu + lambda) evolution strategy with self-adapted mutations (Beyer and Schwefel 2002), after the
league of blog.dimitars.dev. A network gives each cell a score and plays the highest one, even if it
is taken: an illegal move disqualifies. In a generation every network plays every other on both
sides. The best `winners` survive, and mutated clones of random winners replace the others.

The blog counts points: 3/1/0 as in football, or 1/1/0 and -10 for a disqualification ("punished").
They reward networks that beat each other, in one game each. The presets are its experiments. Here:

- Fitness is the exact expected result against `opponents`. The network itself slips, so that its
  moves in positions that it would never reach count too (a trembling hand, Selten 1975).
- Best responses to the best network join the opponents, as in the double oracle algorithm (McMahan,
  Gordon and Blum 2003): a way to win against the best networks becomes frequent in these games.
- The magnitude of mutations and the share of weights that change mutate too, in each network.
- In some clones a hidden unit is re-initialised instead (`rebirth`): it makes the clone play
  another legal move in a position from the worst of a few games of its parent.
- Among networks of equal fitness the youngest is first (neutral drift), and with `distinct` the
  others come last. Otherwise the winners soon are copies.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.opponents import make_opponent, parse_pool
from training.league import (
    O_ILLEGAL,
    X_ILLEGAL,
    Floats,
    GameGraph,
    Moves,
    Rows,
    points,
    values_of_ends,
)
from training.learner import Arrays, Learner, Table
from training.options import BoardConfig, Count, Natural, NotNegative, Positive, Share, option
from training.perceptron import ACTIVATIONS, Weights, layers_of, size_of
from training.search_space import Range

AGENT = "neuroevolution"
TITLE = "Evolved network"
STORY = (
    "Many small neural networks play, and are judged by their results. The best ones stay, and "
    "copies of them with small random changes replace the rest. No network learns during its life."
)
UNIT = "generations"
GOAL = "unbeatable"
SMALL = "--league 20 --winners 5 --judge-every 15 --steps 45"
POINTS = {  # of a win, a draw, a loss, a disqualification
    "football": (3.0, 1.0, 0.0, 0.0),
    "punished": (1.0, 1.0, 0.0, -10.0),
}
MIN_MAGNITUDE, MAX_MAGNITUDE = 1e-4, 10.0  # of self-adapted mutations
SAMPLED_UNITS = 8  # the one with the smallest outgoing weights is re-initialised
MAX_RADIUS = 4  # inputs that differ from its position when the output of such a unit is 0
MAX_MARGIN = 1.0  # by which such a unit makes another move the one of the highest score, at most
SINGLE_THREAD = 250_000  # multiplications; above this OpenBLAS starts threads, which is slower
GROUP = 8  # networks that are evaluated at a time


class Config(BoardConfig):
    """The options of a training. A step is a generation."""

    steps: Count = option(5_000, "Generations after which training ends.")
    judge_every: Count = option(50, "Generations between two exact evaluations.")
    league: Count = option(100, "Number of networks; each plays each other on both sides.")
    winners: Count = option(20, "Number of networks that survive unchanged; below --league.")
    fitness: Literal["exact", "football", "punished"] = option(
        "exact", "Fitness: exact, or the points of the league, 3/1/0 or 1/1/0/-10."
    )
    opponents: str = option("random", "Opponents of the exact fitness, as name:weight,...")
    responses: Natural = option(50, "Best responses that the opponents use, the newest; 0: none.")
    respond_every: Count = option(10, "Generations between two best responses to the best network.")
    response_share: Share = option(0.5, "Probability that an opponent moves as one of these.")
    loss_penalty: NotNegative = option(3.0, "Penalty of a loss in the exact fitness; a win is 1.")
    illegal_penalty: NotNegative = option(4.0, "Penalty of an illegal move in the exact fitness.")
    slip: Share = option(0.1, "Probability of a random legal move in the exact fitness.")
    mutation: Positive = option(0.5, "Initial magnitude of mutations: a weight's largest change.")
    rebirth: Share = option(0.3, "Share of the clones that get a new hidden unit instead.")
    hidden: Natural = option(64, "Number of hidden units; 0 connects inputs and outputs directly.")
    mutation_share: Share = 0.1  # of the weights that a mutation changes, at first
    adaptation: Share = 0.2  # of the magnitude and share of mutations; 0 keeps them constant
    distinct: bool = True
    activation: Literal["relu", "sigmoid"] = "relu"
    direct: bool = True
    scaled: bool = True  # smaller initial weights and mutations for units with many inputs
    inputs: Literal["planes", "grid"] = "planes"  # own and other marks; or 1 own, -1 other
    symmetry: bool = True

    def check(self) -> None:
        """Raises ValueError for too many winners, and for units that cannot be reborn."""
        if self.winners >= self.league:
            raise ValueError(f"winners must be below the league, {self.league}, got {self.winners}")
        can_be_reborn = self.hidden > 0 and (self.activation, self.inputs) == ("relu", "planes")
        if self.rebirth and not can_be_reborn:
            raise ValueError("rebirth needs hidden units, relu and planes: set it to 0")


SEARCH = {
    "responses": Range(5, 100, log=True),
    "loss_penalty": Range(1.0, 6.0),
    "mutation": Range(0.1, 2.0, log=True),
    "rebirth": Range(0.0, 0.6),
}


class Layout:
    """The places of the hidden, output and direct layers in the weights (P,) of a network.

    graph: the S positions that networks see.
    shapes: (inputs, units) of each layer; the last input of the hidden and output layers is a bias.
    scale: (P,) the standard deviation of the initial weights, and the scale of mutations.
    """

    def __init__(self, config: Config):
        self.config, hidden, cells = config, config.hidden, config.rules.cells
        self.graph = GameGraph(config.rules, config.symmetry, config.inputs)
        inputs = self.graph.inputs.shape[1]
        self.shapes = [
            (inputs, hidden),
            (hidden + 1 if hidden else 0, cells),
            (inputs if config.direct or hidden == 0 else 0, cells),
        ]
        self.size, self.cells = size_of(self.shapes), cells
        # about half of the inputs are not zero
        spread = (np.sqrt((cells + 1) / 2), np.sqrt(max(hidden, 1)), 1.0)
        scales = [1 / by if config.scaled else 1.0 for by in spread]
        self.scale = np.repeat(scales, [size_of([shape]) for shape in self.shapes]).astype(
            np.float32
        )

    def first(self, count: int, rng: np.random.Generator) -> Weights:
        """New networks with normally distributed weights (B, P).

        The biases of hidden ReLU units are lowered by 1, so that each is active in few positions.
        """
        networks = rng.standard_normal((count, self.size), dtype=np.float32) * self.scale
        if self.config.activation == "relu":
            layers_of(networks, self.shapes)[0][:, -1:] -= 1
        return networks

    def moves(self, networks: Weights) -> Moves:
        """The cells that networks (B, P) play in all positions: (B, S), the lowest of equals.

        GROUP networks are evaluated at a time, so that the arrays fit the cache.
        """
        moves = np.empty((len(networks), self.graph.size), dtype=np.uint8)
        chunk = max(1, SINGLE_THREAD // max(rows * columns for rows, columns in self.shapes))
        for first in range(0, len(networks), GROUP):
            group = slice(first, first + GROUP)
            for start in range(0, self.graph.size, chunk):
                part = slice(start, start + chunk)
                scores = self.scores(networks[group], self.graph.inputs[part])
                moves[group, part] = scores.argmax(axis=2)
        return moves

    def scores(self, networks: Weights, inputs: Weights) -> Weights:
        """The scores (B, C, cells) that networks (B, P) give the cells of boards (C, inputs)."""
        hidden, output, direct = layers_of(networks, self.shapes)
        shape = (len(networks), len(inputs), self.cells)
        scores = inputs @ direct if direct.size else np.zeros(shape, dtype=np.float32)
        if hidden.size:
            units = ACTIVATIONS[self.config.activation].of(inputs @ hidden)
            scores += units @ output[:, :-1] + output[:, -1:]
        return scores


def player(config: Config, model: Arrays) -> TabularPolicy:
    """The player of a saved model."""
    layout = Layout(config)
    return layout.graph.policy(layout.moves(model["network"][None])[0])


class Evolution(Learner):
    """The league: the winners of the last generation, followed by their clones.

    networks: (N, P) weights. magnitudes, shares: (N,) of their mutations. moves: (N, S).
    fitness: (N,). responses: (R, S) the moves of the best responses, the oldest first. history: for
    each generation the number of games by length, 1 to cells, and of disqualifications.
    """

    MEMBERS = ("networks", "magnitudes", "shares", "moves", "fitness")
    STATE = (*MEMBERS, "responses", "history", "rng")

    def __init__(self, config: Config):
        self.config, self.layout = config, Layout(config)
        self.graph = self.layout.graph
        self.end_values = values_of_ends(config.loss_penalty, config.illegal_penalty)
        self.rng = np.random.default_rng(config.seed)
        self.opponents = [
            (self.graph.probs(make_opponent(name, config.rules)), weight)
            for name, weight in parse_pool(config.opponents)
        ]
        self.history: list[list[int]] = []
        self.networks = self.layout.first(config.league, self.rng)
        self.magnitudes = np.full(config.league, config.mutation)
        self.shares = np.full(config.league, config.mutation_share)
        self.moves = np.empty((config.league, self.graph.size), dtype=np.uint8)
        self.fitness = np.zeros(config.league)
        self.responses = np.empty((0, self.graph.size), dtype=np.uint8)
        self._play_from(0)

    def advance(self, most: int) -> None:
        """Make `most` generations."""
        for _ in range(most):
            self.generation()
            self.steps += 1

    def policy(self) -> TabularPolicy:
        """The policy of the best network."""
        return self.graph.policy(self.moves[self.best()])

    def notes(self) -> dict[str, float]:
        """Disqualifications, mean length, best fitness and median magnitude in the last league."""
        *lengths, disqualified = self.history[-1]
        games = sum(lengths)
        return {
            "disqualified": disqualified / games,
            "mean_length": sum(n * count for n, count in enumerate(lengths, 1)) / games,
            "best_fitness": float(self.fitness.max()),
            "mutation": float(np.median(self.magnitudes)),
        }

    def tables(self) -> dict[str, Table]:
        """The games of each league by length, and those that an illegal move ended."""
        lengths = [f"length_{length}" for length in range(1, self.config.rules.cells + 1)]
        rows = [(number, *counts) for number, counts in enumerate(self.history)]
        names = ("generation", *lengths, "disqualified")
        return {"league.csv": Table(names, rows, "the games of each league", "games")}

    def model(self) -> Arrays:
        """The best network."""
        return {"network": self.networks[self.best()]}

    def generation(self) -> None:
        """Keep the winners and replace the others by mutated clones of them."""
        config, is_exact = self.config, self.config.fitness == "exact"
        if is_exact and config.responses and len(self.history) % config.respond_every == 0:
            self._respond()
        winners = self.ranking()[: config.winners]
        clones = self.rng.integers(config.winners, size=config.league - config.winners)
        order = np.concatenate([winners, winners[clones]])
        for name in self.MEMBERS:
            setattr(self, name, getattr(self, name)[order])
        is_reborn = self.rng.random(len(clones)) < config.rebirth
        self._reinitialise(config.winners + np.flatnonzero(is_reborn))
        self._mutate(config.winners + np.flatnonzero(~is_reborn))
        self._play_from(config.winners)

    def ranking(self) -> Rows:
        """All networks from the best to the worst, the youngest first among equals."""
        fitness = np.round(self.fitness, 9)  # the order of summation must not make a difference
        order = np.lexsort((-np.arange(len(fitness)), -fitness))
        if not self.config.distinct:
            return order
        differs = np.diff(fitness[order], prepend=np.inf) != 0
        return np.concatenate([order[differs], order[~differs]])

    def best(self) -> int:
        """The network that plays: the first of the ranking."""
        return int(self.ranking()[0])

    def met(self) -> list[Floats]:
        """The probabilities (S, cells) of each opponent's moves, best responses included."""
        tables, share = [table for table, _ in self.opponents], self.config.response_share
        if not len(self.responses):
            return tables
        used = (self.responses[..., None] == np.arange(self.config.rules.cells)).mean(axis=0)
        return [(1 - share) * table + share * used for table in tables]

    def _respond(self) -> None:
        """Add a best response to the best network to the opponents, and compute the fitness."""
        config, graph = self.config, self.graph
        best = graph.successors(self.moves[[self.best()]])[:, 0]
        response = graph.best_response(best, self.end_values, config.slip, self.rng)
        self.responses = np.concatenate([self.responses, response[None]])[-config.responses :]
        self._judge_from(0, graph.successors(self.moves))

    def _reinitialise(self, networks: Rows) -> None:
        """Re-initialise a hidden unit of each of these networks.

        The unit is the one with the smallest outgoing weights among SAMPLED_UNITS. Its output is 1
        in a position of the network's worst game, and lower by 1 / radius for each input that
        differs. It raises the score of one other legal move there to the highest one, or above.
        """
        if not len(networks):
            return
        config, rng, graph = self.config, self.rng, self.graph
        weights = [weight for _, weight in self.opponents]
        opponent = self.met()[rng.choice(len(weights), p=weights)]
        successors = graph.successors(self.moves[networks])
        places = graph.positions_of_worst_games(
            successors, opponent, self.end_values, config.slip, rng
        )
        has_moved = places >= 0
        for number, place in zip(networks[has_moved], places[has_moved], strict=True):
            network = self.networks[number : number + 1]
            (hidden,), (output,), _ = layers_of(network, self.layout.shapes)
            units = rng.integers(config.hidden, size=SAMPLED_UNITS)
            unit = units[np.abs(output[units]).max(axis=1).argmin()]
            inputs, slope = graph.inputs[place, :-1], 1 / rng.integers(1, MAX_RADIUS + 1)
            hidden[:-1, unit] = slope * (2 * inputs - 1)
            hidden[-1, unit] = 1 - slope * inputs.sum()
            output[unit] = 0
            ((scores,),) = self.layout.scores(network, graph.inputs[[place]])
            legal = np.flatnonzero(~graph.taken[place])
            others = legal[legal != self.moves[number, place]]
            cell = rng.choice(others if len(others) else legal)
            output[unit, cell] = scores.max() - scores[cell] + MAX_MARGIN * rng.random()

    def _mutate(self, chosen: Rows) -> None:
        """Mutate the magnitudes and shares of these networks, then their weights."""
        config, rng = self.config, self.rng
        magnitudes, shares = self.magnitudes[chosen], self.shares[chosen]
        networks = self.networks[chosen]
        if config.adaptation:
            magnitudes *= np.exp(config.adaptation * rng.standard_normal(len(magnitudes)))
            shares *= np.exp(config.adaptation * rng.standard_normal(len(shares)))
            np.clip(magnitudes, MIN_MAGNITUDE, MAX_MAGNITUDE, out=magnitudes)
            np.clip(shares, 1 / self.layout.size, 1, out=shares)
        changes = rng.random(networks.shape, dtype=np.float32) < shares[:, None]
        change = rng.random(networks.shape, dtype=np.float32) * 2 - 1
        networks += changes * change * magnitudes[:, None].astype(np.float32) * self.layout.scale
        self.magnitudes[chosen], self.shares[chosen] = magnitudes, shares
        self.networks[chosen] = networks

    def _play_from(self, first: int) -> None:
        """Compute the moves of the networks from `first` on, play the league, judge them."""
        graph = self.graph
        self.moves[first:] = self.layout.moves(self.networks[first:])
        successors = graph.successors(self.moves)
        ends, length = graph.league(successors)
        if self.config.fitness == "exact":
            self._judge_from(first, successors)
        else:
            self.fitness = points(ends, *POINTS[self.config.fitness])
        lengths = np.bincount(length.ravel(), minlength=self.config.rules.cells + 1)[1:]
        disqualified = int(np.isin(ends, (X_ILLEGAL, O_ILLEGAL)).sum())
        self.history.append([*lengths.tolist(), disqualified])

    def _judge_from(self, first: int, successors: Rows) -> None:
        """Compute the exact fitness of the networks from `first` on."""
        new = np.ascontiguousarray(successors[:, first:])
        parts = [
            weight * self.graph.results(new, opponent, self.end_values, self.config.slip)
            for opponent, (_, weight) in zip(self.met(), self.opponents, strict=True)
        ]
        self.fitness[first:] = np.sum(parts, axis=0)


begin = Evolution
