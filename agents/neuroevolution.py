"""Neuroevolution: a league of small networks that changes by selection and mutation.

A (mu + lambda) evolution strategy with self-adapted mutations (Beyer and Schwefel 2002), after the
league of blog.dimitars.dev. A network gives each cell a score and plays the highest one, even if it
is taken: an illegal move disqualifies. In a generation every network plays every other on both
sides. The best `winners` survive, and mutated clones of random winners replace the others. The
presets are experiments of the blog, where the points of these games decide. The differences here:

- Fitness is the exact expected result against `opponents`. The network itself slips, so that its
  moves in positions that it would never reach count too (a trembling hand, Selten 1975).
- Best responses to the best network join the opponents, as in the double oracle algorithm (McMahan,
  Gordon and Blum 2003): a way to win against the best networks becomes frequent in these games.
- The magnitude of mutations and the share of weights that change mutate too, in each network.
- In some clones a hidden unit is re-initialised instead (`rebirth`), for another move in a game
  that its parent has lost.
- Among networks of equal fitness the youngest is first (neutral drift), and with `distinct` the
  others come last. Otherwise the winners soon are copies.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.opponents import make_opponent, parse_pool
from training.league import Floats, GameGraph, Moves, Rows, mean_points, values_of_ends
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
POINTS = {"football": (3, 1, 0, 0), "punished": (1, 1, 0, -10)}  # win, draw, loss, illegal move
Fitness = Literal["exact", "football", "punished"]
MAGNITUDES = (1e-4, 10.0)  # of self-adapted mutations
SAMPLED_UNITS = 8  # the one with the smallest outgoing weights is re-initialised
MAX_RADIUS = 4  # inputs that differ from its position when the output of such a unit is 0
SINGLE_THREAD = 250_000  # multiplications; above this OpenBLAS starts threads, which is slower
GROUP = 8  # networks that are evaluated at a time, so that the arrays fit the cache


class Config(BoardConfig):
    """The options of a training. A step is a generation."""

    steps: Count = option(5_000, "Generations after which training ends.")
    judge_every: Count = option(50, "Generations between two exact evaluations.", rare=True)
    league: Count = option(100, "Number of networks; each plays each other on both sides.")
    winners: Count = option(20, "Number of networks that survive unchanged; below --league.")
    fitness: Fitness = option("exact", "Exact result, or points of the league: 3/1/0, 1/1/0/-10.")
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
    mutation_share: Share = option(
        0.1, "Initial share of the weights that a mutation changes.", rare=True
    )
    adaptation: Share = option(
        0.2,
        "How fast magnitude and share of mutations mutate themselves; 0 keeps them constant.",
        rare=True,
    )
    distinct: bool = option(
        True, "Whether networks of equal fitness survive only after all others.", rare=True
    )
    activation: Literal["relu", "sigmoid"] = option(
        "relu", "Activation function of the hidden layer.", rare=True
    )
    direct: bool = option(True, "Whether inputs are connected to outputs directly too.", rare=True)
    scaled: bool = option(
        True,
        "Whether units with many inputs have smaller initial weights and mutations.",
        rare=True,
    )
    inputs: Literal["planes", "grid"] = option(
        "planes",
        "Inputs: planes of own and other marks, or a grid of 1, -1 and 0.",
        rare=True,
    )
    symmetry: bool = option(True, "Whether symmetric boards are one board to a network.", rare=True)

    def check(self) -> None:
        """Raises ValueError for too many winners, and for units that cannot be reborn."""
        if self.winners >= self.league:
            raise ValueError(f"winners must be below the league, {self.league}, got {self.winners}")
        can_be_reborn = self.hidden > 0 and (self.activation, self.inputs) == ("relu", "planes")
        if self.rebirth and not can_be_reborn:
            raise ValueError("rebirth needs hidden units, relu and planes: set it to 0")


SEARCH = {"mutation": Range(0.1, 2.0, log=True), "rebirth": Range(0.0, 0.6)}


class Layout:
    """The hidden, output and direct layers of a network in its weights (P,), and what it sees.

    shapes: (inputs, units) of each layer; the last input of the hidden and output layers is a bias.
    scale: (P,) the standard deviation of the initial weights, and the scale of mutations.
    """

    def __init__(self, config: Config):
        self.config, hidden, cells = config, config.hidden, config.rules.cells
        self.graph = GameGraph(config.rules, config.symmetry, config.inputs)
        inputs = self.graph.inputs.shape[1]
        outputs, direct = hidden + (hidden > 0), inputs * (config.direct or hidden == 0)
        self.shapes = [(inputs, hidden), (outputs, cells), (direct, cells)]
        # about half of the inputs are not zero
        spread = (np.sqrt((cells + 1) / 2), np.sqrt(max(hidden, 1)), 1.0)
        scales = np.array([1 / by if config.scaled else 1.0 for by in spread], dtype=np.float32)
        self.scale: Weights = np.repeat(scales, [size_of([shape]) for shape in self.shapes])

    def first(self, count: int, rng: np.random.Generator) -> Weights:
        """New networks with normally distributed weights (B, P)."""
        networks = rng.standard_normal((count, len(self.scale)), dtype=np.float32) * self.scale
        if self.config.activation == "relu":  # lower biases: a unit is active in few positions
            layers_of(networks, self.shapes)[0][:, -1:] -= 1
        return networks

    def moves(self, networks: Weights) -> Moves:
        """The cells that networks (B, P) play in all positions: (B, S), the lowest of equals."""
        moves = np.empty((len(networks), self.graph.size), dtype=np.uint8)
        chunk = max(1, SINGLE_THREAD // max(rows * columns for rows, columns in self.shapes))
        for first in range(0, len(networks), GROUP):
            for start in range(0, self.graph.size, chunk):
                group, part = slice(first, first + GROUP), slice(start, start + chunk)
                scores = self.scores(networks[group], self.graph.inputs[part])
                moves[group, part] = scores.argmax(axis=2)
        return moves

    def scores(self, networks: Weights, inputs: Weights) -> Weights:
        """The scores (B, C, cells) that networks (B, P) give the cells of boards (C, inputs)."""
        hidden, output, direct = layers_of(networks, self.shapes)
        shape = (len(networks), len(inputs), self.config.rules.cells)
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

    networks: (N, P) weights. magnitudes, shares: (N,) of their mutations. moves: (N, S) in the
    positions that they see. fitness: (N,). responses: (R, S) the moves of the best responses, the
    oldest first. history: the rows of league.csv.
    """

    MEMBERS = ("networks", "magnitudes", "shares", "moves", "fitness")
    STATE = (*MEMBERS, "responses", "history", "rng")

    def __init__(self, config: Config):
        self.config, self.layout = config, Layout(config)
        self.graph = graph = self.layout.graph
        exact = (1.0, 0.0, -config.loss_penalty, -config.illegal_penalty)
        self.end_values = values_of_ends(*POINTS.get(config.fitness, exact))
        self.rng = np.random.default_rng(config.seed)
        names, self.weights = zip(*parse_pool(config.opponents), strict=True)
        tables = [graph.probs(make_opponent(name, config.rules)) for name in names]
        self.opponents = np.stack(tables)
        self.history: list[list[int]] = []
        self.networks = self.layout.first(config.league, self.rng)
        self.magnitudes = np.full(config.league, config.mutation)
        self.shares = np.full(config.league, config.mutation_share)
        self.moves = np.empty((config.league, graph.size), dtype=np.uint8)
        self.fitness = np.zeros(config.league)
        self.responses = np.empty((0, graph.size), dtype=np.uint8)
        self._play_from(0)

    def advance(self, most: int) -> None:
        """Make `most` generations."""
        for _ in range(most):
            self.generation()

    def policy(self) -> TabularPolicy:
        """The policy of the best network."""
        return self.graph.policy(self.moves[self.ranking()[0]])

    def notes(self) -> dict[str, float]:
        """Share of disqualifications, best fitness and median magnitude in the last league."""
        _, *lengths, disqualified = self.history[-1]
        return {
            "disqualified": disqualified / sum(lengths),
            "best_fitness": float(self.fitness.max()),
            "mutation": float(np.median(self.magnitudes)),
        }

    def tables(self) -> dict[str, Table]:
        """The games of each league by length, and those that an illegal move ended."""
        lengths = [f"length_{length}" for length in range(1, self.config.rules.cells + 1)]
        names = ("generation", *lengths, "disqualified")
        return {"league.csv": Table(names, self.history, "number of games in each league")}

    def model(self) -> Arrays:
        """The best network."""
        return {"network": self.networks[self.ranking()[0]]}

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
        self.steps += 1

    def ranking(self) -> Rows:
        """All networks, the best one, which plays, first, and of equal ones the youngest."""
        fitness = np.round(self.fitness, 9)  # the order of summation must not make a difference
        order = np.lexsort((-np.arange(len(fitness)), -fitness))
        is_copy = (np.diff(fitness[order], prepend=np.inf) == 0) & self.config.distinct
        return np.concatenate([order[~is_copy], order[is_copy]])

    def met(self) -> Floats:
        """The probabilities (O, S, cells) of the opponents' moves, best responses included."""
        if not len(self.responses):
            return self.opponents
        used = np.eye(self.config.rules.cells)[self.responses].mean(axis=0)
        share = self.config.response_share
        return (1 - share) * self.opponents + share * used

    def _respond(self) -> None:
        """Add a best response to the best network to the opponents, and compute the fitness."""
        config, successors = self.config, self.graph.successors(self.moves)
        best = successors[:, self.ranking()[0]]
        response = self.graph.best_response(best, self.end_values, config.slip, self.rng)
        self.responses = np.concatenate([self.responses, response[None]])[-config.responses :]
        self._judge_from(0, successors)

    def _reinitialise(self, networks: Rows) -> None:
        """Re-initialise a hidden unit of each of these networks, for another move in a bad game.

        The unit is the one with the smallest outgoing weights among SAMPLED_UNITS. Its output is 1
        in a position of the network's worst game, and lower by 1 / radius for each input that
        differs. It raises the score of one other legal move there to the highest one, or above.
        """
        if not len(networks):
            return
        config, rng, graph = self.config, self.rng, self.graph
        opponent = rng.choice(self.met(), p=self.weights)
        successors = graph.successors(self.moves[networks])
        places = graph.worst_positions(successors, opponent, self.end_values, config.slip, rng)
        for number, place in zip(networks, places, strict=True):
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
            output[unit, cell] = scores.max() - scores[cell] + rng.random()

    def _mutate(self, chosen: Rows) -> None:
        """Mutate the magnitudes and shares of these networks, then their weights."""
        rng, scale, adaptation = self.rng, self.layout.scale, self.config.adaptation
        magnitudes, shares = self.magnitudes[chosen], self.shares[chosen]
        if adaptation:
            factors = np.exp(adaptation * rng.standard_normal((2, len(chosen))))
            magnitudes = np.clip(magnitudes * factors[0], *MAGNITUDES)
            shares = np.clip(shares * factors[1], 1 / len(scale), 1)
        changes = rng.random((len(chosen), len(scale)), dtype=np.float32) < shares[:, None]
        change = rng.random(changes.shape, dtype=np.float32) * 2 - 1
        self.networks[chosen] += changes * change * magnitudes[:, None].astype(np.float32) * scale
        self.magnitudes[chosen], self.shares[chosen] = magnitudes, shares

    def _play_from(self, first: int) -> None:
        """Compute the moves of the networks from `first` on, play the league, judge them."""
        self.moves[first:] = self.layout.moves(self.networks[first:])
        successors = self.graph.successors(self.moves)
        ends, counts = self.graph.league(successors)
        self.history.append([len(self.history), *counts])
        if self.config.fitness == "exact":
            self._judge_from(first, successors)
        else:
            self.fitness = mean_points(ends, self.end_values)

    def _judge_from(self, first: int, successors: Rows) -> None:
        """Compute the exact fitness of the networks from `first` on."""
        graph, ends, slip = self.graph, self.end_values, self.config.slip
        new = np.ascontiguousarray(successors[:, first:])
        results = [graph.results(new, opponent, ends, slip) for opponent in self.met()]
        self.fitness[first:] = np.array(self.weights) @ results


begin = Evolution
