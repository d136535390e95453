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

from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import NO_CHILD, positions_of
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.opponents import make_opponent, parse_pool
from tictactoe_env.policy import Policy, draw, one_hot, possible_cells
from tictactoe_env.rules import Rules
from training.learner import Arrays, Learner, Table
from training.options import (
    BoardConfig,
    Count,
    Finite,
    Natural,
    NotNegative,
    Positive,
    Share,
    option,
)
from training.perceptron import ACTIVATIONS, Weights, layers_of, size_of
from training.search_space import Range
from training.symmetry import Representatives

AGENT = "neuroevolution"
TITLE = "Evolved network"
STORY = (
    "Many small neural networks play, and are judged by their results. The best ones stay, and "
    "copies of them with small random changes replace the rest. No network learns during its life."
)
UNIT = "generations"
GOAL = "unbeatable"
SMALL = "--league 20 --winners 5 --judge-every 15 --steps 45"
Fitness = Literal["exact", "football", "punished", "points"]
MAGNITUDES = (1e-4, 10.0)  # of self-adapted mutations
# Of a network: the worst one shows where it needs another move.
SAMPLED_GAMES = 8
# Hidden units: the one with the smallest outgoing weights is re-initialised.
SAMPLED_UNITS = 8
# The number of different inputs at which the output of such a unit is 0.
MAX_RADIUS = 4
# Multiplications at a time. OpenBLAS starts threads for more, which is slower.
SINGLE_THREAD = 250_000
# Networks that are evaluated at a time, so that the arrays fit the cache.
GROUP = 8
# Values that differ by less are equal, so that the order of summation makes no difference.
EQUAL = 1e-9

PointsOption = tuple[Finite, Finite, Finite, Finite]
Floats = NDArray[np.float64]
Moves = NDArray[np.uint8]
Rows = NDArray[np.intp]


class Points(NamedTuple):
    """The points of a network for a game that it wins, draws, loses, or ends by an illegal move."""

    win: float
    draw: float
    loss: float
    illegal: float


POINTS = {
    "football": Points(win=3, draw=1, loss=0, illegal=0),
    "punished": Points(win=1, draw=1, loss=0, illegal=-10),
}


class Config(BoardConfig):
    """The options of a training. A step is a generation."""

    steps: Count = option(5_000, "Generations after which training ends.")
    judge_every: Count = option(50, "Generations between two exact evaluations.", rare=True)
    league: Count = option(100, "Number of networks; each plays each other on both sides.")
    winners: Count = option(20, "Number of networks that survive unchanged; below --league.")
    fitness: Fitness = option(
        "exact", "Exact result, or points of the league: 3/1/0, 1/1/0/-10, or --game-points."
    )
    game_points: PointsOption = option(
        (3.0, 1.0, 0.0, 0.0),
        "Points for a win, a draw, a loss and an illegal move, for --fitness points.",
        rare=True,
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
        """Raises ValueError for too many winners, unused points, units that cannot be reborn."""
        if self.winners >= self.league:
            raise ValueError(f"winners must be below the league, {self.league}, got {self.winners}")
        has_own_points = self.game_points != type(self).model_fields["game_points"].default
        if has_own_points and self.fitness != "points":
            raise ValueError(f"game_points count with fitness points only, got {self.fitness}")
        has_units = self.hidden > 0 and self.activation == "relu"
        if self.rebirth and not (has_units and self.inputs == "planes"):
            raise ValueError("rebirth needs hidden units, relu and planes: set it to 0")


SEARCH = {"mutation": Range(0.1, 2.0, log=True), "rebirth": Range(0.0, 0.6)}


# --- the games of networks -----------------------------------------------------------------------

X_WON, DRAWN, O_WON, X_ILLEGAL, O_ILLEGAL, NOT_PLAYED = range(6)  # how a game ends
RESULTS = ("x_won", "drawn", "o_won", "disqualified")  # columns of league.csv
ENDS = 5  # that a game which is played can have
X, O = range(2)  # noqa: E741  sides, as indices


class LeagueGames(NamedTuple):
    """The games of a league of N networks.

    ends: (N, N) how each game ended, X on the first axis, O on the second; games of a network
    against itself are NOT_PLAYED. lengths: (cells,) the number of games that ended with 1, 2, ...
    marks on the board.
    """

    ends: Rows
    lengths: Rows

    @property
    def results(self) -> list[int]:
        """How many games X won, were drawn, O won, and were ended by an illegal move."""
        counts = np.bincount(self.ends.ravel(), minlength=NOT_PLAYED + 1)
        illegal = counts[X_ILLEGAL] + counts[O_ILLEGAL]
        return [*counts[[X_WON, DRAWN, O_WON]].tolist(), int(illegal)]


class GameGraph:
    """The S positions that networks see, ordered by ply, and the result of each move.

    Networks are deterministic, so their games are looked up: a network is the cell that it plays in
    each of these positions, (S,). An illegal move loses. The numbers S + X_WON, ...,
    S + O_ILLEGAL stand for the ends of games.

    after: (S, cells) the position or end after each move. legal: (S, cells) bool.
    random: (S, cells) the probabilities of random play.
    plies: for each number of marks the slice of its positions. moves: for each number of marks the
    cells of its positions, the legal ones first, (positions, most legal moves).
    inputs: (S, inputs) the inputs of a network, planes of own and other marks, or with the encoding
    "grid" 1 for own marks and -1 for others; the last one is 1, for the biases.
    """

    def __init__(self, rules: Rules, symmetry: bool, encoding: str):
        self.rules = rules
        positions = positions_of(rules)
        seen = Representatives(positions, symmetry)
        self.rows = seen.rows
        self.size = len(seen.rows)
        x_moves = positions.x_to_move[self.rows]

        results = DRAWN - positions.outcome_x.astype(np.intp)  # X_WON, DRAWN or O_WON
        ends = self.size + results
        numbers = np.where(positions.is_over, ends, seen.index)
        children = positions.children[self.rows]
        illegal = self.size + np.where(x_moves, X_ILLEGAL, O_ILLEGAL)
        self.after: Rows = np.where(children >= 0, numbers[children], illegal[:, None])

        own = positions.boards[self.rows] * np.where(x_moves, 1, -1)[:, None]
        self.legal = children != NO_CHILD
        self.random: Floats = self.legal / self.legal.sum(axis=1, keepdims=True)

        marks = np.arange(rules.cells + 1)
        starts = np.searchsorted(positions.ply[self.rows], marks)
        self.plies = [slice(start, end) for start, end in pairwise(starts)]
        self.moves = [possible_cells(self.legal[rows]) for rows in self.plies]

        planes = [own > 0, own < 0] if encoding == "planes" else [own]
        with_ones = np.concatenate([*planes, np.ones((self.size, 1))], axis=1)
        self.inputs: Weights = with_ones.astype(np.float32)
        self._index = seen.index[positions.unfinished]
        self._cells = seen.cells[positions.unfinished]

    def successors(self, moves: Moves) -> Rows:
        """The positions or ends after the moves (B, S) of networks; ends stay: (S + ENDS, B)."""
        leads = self.after[np.arange(self.size)[:, None], moves.T]
        ends = np.arange(self.size, self.size + ENDS)[:, None]
        return np.concatenate([leads, np.repeat(ends, len(moves), axis=1)])

    def policy(self, moves: Moves) -> TabularPolicy:
        """The player with these moves (S,)."""
        cells = self._cells[np.arange(len(self._cells)), moves[self._index]]
        return TabularPolicy(self.rules, one_hot(cells, self.rules.cells))

    def probs(self, opponent: Policy) -> Floats:
        """The probabilities (S, cells) of an opponent's moves."""
        return tabulate(opponent, self.rules).by_row()[self.rows]

    def league(self, successors: Rows) -> LeagueGames:
        """The games of the networks with these successors (S + ENDS, N), of each with each other.

        They are played ply by ply, all at the same time.
        """
        count = successors.shape[1]
        number = np.arange(count)
        movers = (number[:, None], number[None])  # X on the first axis, O on the second
        leads = successors.ravel()  # one index is faster than two
        state = np.zeros((count, count), dtype=np.intp)
        length = np.zeros_like(state)
        for ply in range(self.rules.cells):
            length += state < self.size
            state = leads[state * count + movers[ply % 2]]
        ends = state - self.size
        np.fill_diagonal(ends, NOT_PLAYED)
        np.fill_diagonal(length, 0)
        is_illegal = (ends == X_ILLEGAL) | (ends == O_ILLEGAL)
        length -= is_illegal  # an illegal move leaves no mark
        lengths = np.bincount(length.ravel(), minlength=self.rules.cells + 1)[1:]
        return LeagueGames(ends, lengths)

    def results(
        self, successors: Rows, opponent: Floats, end_values: Floats, slip: float = 0.0
    ) -> Floats:
        """The expected results of networks against an opponent, the mean of both sides: (B,).

        successors: (S + ENDS, B). opponent: (S, cells) its probabilities. end_values: (2, ENDS) of
        networks as X and as O. slip: probability that a network makes a random legal move.
        """
        count = successors.shape[1]
        every_network = np.arange(count)
        total = np.zeros(count)
        for side, foul in ((X, O_ILLEGAL), (O, X_ILLEGAL)):  # foul: of the opponent
            values = np.empty((self.size + ENDS, count))
            values[self.size :] = end_values[side, :, None]
            for ply in reversed(range(self.rules.cells)):
                rows = self.plies[ply]
                if ply % 2 == side:
                    values[rows] = (1 - slip) * values[successors[rows], every_network]
                    if slip:
                        self._add_moves(values, ply, slip * self.random[rows])
                else:
                    fouls = (opponent[rows] * ~self.legal[rows]).sum(axis=1, keepdims=True)
                    values[rows] = fouls * end_values[side, foul]
                    self._add_moves(values, ply, opponent[rows] * self.legal[rows])
            total += values[0] / 2
        return total

    def _add_moves(self, values: Floats, ply: int, weights: Floats) -> None:
        """Add to the values of the positions of a ply those after legal moves, with these weights.

        values: (S + ENDS, B). weights: (positions, cells).
        """
        rows = self.plies[ply]
        after = self.after[rows]
        every_position = np.arange(len(weights))
        for cells in self.moves[ply].T:  # the first moves, then the second ones, ...
            weight = weights[every_position, cells, None]
            values[rows] += weight * values[after[every_position, cells]]

    def best_response(
        self, successors: Rows, end_values: Floats, slip: float, rng: np.random.Generator
    ) -> Moves:
        """The moves (S,) of a best response to one network, on both sides.

        successors: (S + ENDS,) of this network, which makes a random legal move with probability
        `slip`. The response plays the legal move after which the network's expected result is the
        lowest, one of equals at random. It depends on the rules and the moves of the network only.
        """
        moves = np.zeros(self.size, dtype=np.uint8)
        for side in (X, O):  # of the network
            values = np.concatenate([np.zeros(self.size), end_values[side]])
            for ply in reversed(range(self.rules.cells)):
                rows = self.plies[ply]
                after = values[self.after[rows]]
                if ply % 2 == side:
                    slipped = (self.random[rows] * after).sum(axis=1)
                    chosen = values[successors[rows]]
                    values[rows] = (1 - slip) * chosen + slip * slipped
                else:
                    after[~self.legal[rows]] = np.inf
                    lowest = after.min(axis=1)
                    is_best = after <= lowest[:, None] + EQUAL
                    values[rows] = lowest
                    numbers = 1 - rng.random(after.shape)  # above 0
                    moves[rows] = (is_best * numbers).argmax(axis=1)
        return moves

    def worst_positions(
        self,
        successors: Rows,
        opponent: Floats,
        end_values: Floats,
        slip: float,
        rng: np.random.Generator,
    ) -> Rows:
        """A position of each network from the worst of SAMPLED_GAMES games: (B,).

        It is drawn from the positions of that game in which the network was to move; without any,
        it is the empty board. The arguments are those of `results`.
        """
        count = successors.shape[1]
        shape = (count, SAMPLED_GAMES)
        networks = np.arange(count)[:, None]
        sides = rng.integers(2, size=shape)  # of the network in each game
        # The cumulated probabilities (cells, 2, S) of an opponent's moves, and of a random move.
        sums = np.stack([opponent, self.random]).cumsum(axis=2).transpose(2, 0, 1)
        state = np.zeros(shape, dtype=np.intp)
        path = np.full((self.rules.cells, *shape), -1)  # of positions where it was to move
        for ply in range(self.rules.cells):
            goes_on = state < self.size
            is_own = sides == ply % 2
            path[ply] = np.where(goes_on & is_own, state, -1)
            at = np.where(goes_on, state, 0)
            cells = draw(sums[:, is_own.astype(np.intp), at], rng.random(shape))
            is_greedy = is_own & (rng.random(shape) >= slip)
            greedy = successors[at, networks]
            following = np.where(is_greedy, greedy, self.after[at, cells])
            state = np.where(goes_on, following, state)
        results = end_values[sides, state - self.size]
        worst = (results + rng.random(shape) / 10).argmin(axis=1)  # ties at random
        of_worst = path[:, networks[:, 0], worst]
        numbers = np.where(of_worst >= 0, rng.random(of_worst.shape), -1.0)
        chosen = of_worst[numbers.argmax(axis=0), networks[:, 0]]
        return np.maximum(chosen, 0)


def values_of_ends(points: Points) -> Floats:
    """The value of each end, for X and for O: (2, ENDS)."""
    win, draw, loss, illegal = points
    return np.array([(win, draw, loss, illegal, win), (loss, draw, win, win, illegal)])


def mean_points(ends: Rows, end_values: Floats) -> Floats:
    """The mean value of each network's games in a league with these ends (N, N): (N,)."""
    with_none = np.append(end_values, np.zeros((2, 1)), axis=1)  # 0 for NOT_PLAYED
    as_x = with_none[X, ends].sum(axis=1)
    as_o = with_none[O, ends].sum(axis=0)
    games = 2 * (len(ends) - 1)
    return (as_x + as_o) / games


# --- the networks --------------------------------------------------------------------------------


class Layout:
    """The hidden, output and direct layers of a network in its weights (P,).

    graph: the positions that it sees.
    shapes: (inputs, units) of each layer; the last input of the hidden and output layers is a bias.
    scale: (P,) the standard deviation of the initial weights, and the scale of mutations.
    """

    def __init__(self, config: Config):
        self.config = config
        self.graph = GameGraph(config.rules, config.symmetry, config.inputs)
        cells = config.rules.cells
        hidden = config.hidden
        inputs = self.graph.inputs.shape[1]
        to_output = hidden + 1 if hidden else 0  # the last one for the bias
        is_direct = config.direct or hidden == 0
        direct = inputs if is_direct else 0
        self.shapes = [(inputs, hidden), (to_output, cells), (direct, cells)]
        of_hidden = 1.0
        of_output = 1.0
        of_direct = 1.0
        if config.scaled:
            of_hidden = 1 / np.sqrt((cells + 1) / 2)  # about half of the inputs are not zero
            of_output = 1 / np.sqrt(max(hidden, 1))
        scales = np.array([of_hidden, of_output, of_direct], dtype=np.float32)
        sizes = [size_of([shape]) for shape in self.shapes]
        self.scale: Weights = np.repeat(scales, sizes)

    def first(self, count: int, rng: np.random.Generator) -> Weights:
        """New networks with normally distributed weights (B, P)."""
        shape = (count, len(self.scale))
        networks = rng.standard_normal(shape, dtype=np.float32) * self.scale
        if self.config.activation == "relu":  # lower biases: active in few positions
            hidden, _, _ = layers_of(networks, self.shapes)
            hidden[:, -1:] -= 1
        return networks

    def moves(self, networks: Weights) -> Moves:
        """The cells that networks (B, P) play in all positions: (B, S), the lowest of equals."""
        moves = np.empty((len(networks), self.graph.size), dtype=np.uint8)
        largest = max(inputs * units for inputs, units in self.shapes)
        chunk = max(1, SINGLE_THREAD // largest)  # positions at a time
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
        shape = (len(networks), len(inputs), self.config.rules.cells)
        scores = np.zeros(shape, dtype=np.float32)
        if direct.size:
            scores = inputs @ direct
        if hidden.size:
            units = ACTIVATIONS[self.config.activation].of(inputs @ hidden)
            scores += units @ output[:, :-1] + output[:, -1:]
        return scores


def player(config: Config, model: Arrays) -> TabularPolicy:
    """The player of a saved model."""
    layout = Layout(config)
    return layout.graph.policy(layout.moves(model["network"][None])[0])


# --- the evolution -------------------------------------------------------------------------------


class Evolution(Learner):
    """The league: the winners of the last generation, followed by their clones.

    networks: (N, P) weights. names: (N, 2) the generation in which each was born, and its number
    there. magnitudes, shares: (N,) of their mutations. moves: (N, S) in the positions that they
    see. fitness: (N,). responses: (R, S) the moves of the best responses, the oldest first.
    history: the rows of league.csv.
    """

    MEMBERS = ("networks", "names", "magnitudes", "shares", "moves", "fitness")
    STATE = (*MEMBERS, "responses", "history", "rng")

    def __init__(self, config: Config):
        self.config = config
        self.layout = Layout(config)
        self.graph = self.layout.graph
        exact = Points(
            win=1.0, draw=0.0, loss=-config.loss_penalty, illegal=-config.illegal_penalty
        )
        points = {"exact": exact, "points": Points(*config.game_points), **POINTS}
        self.end_values = values_of_ends(points[config.fitness])
        self.rng = np.random.default_rng(config.seed)
        names, self.weights = zip(*parse_pool(config.opponents), strict=True)
        tables = [self.graph.probs(make_opponent(name, config.rules)) for name in names]
        self.fixed_opponents = np.stack(tables)
        self.history: list[list[int]] = []
        self.networks = self.layout.first(config.league, self.rng)
        self.names = np.zeros((config.league, 2), dtype=np.intp)
        self.names[:, 1] = np.arange(config.league)
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

    def policy(self) -> TabularPolicy:
        """The policy of the best network."""
        return self.graph.policy(self.moves[self.best])

    def notes(self) -> dict[str, float]:
        """Share of disqualifications, best fitness and median magnitude in the last league."""
        _, _, _, _, disqualified, *lengths = self.history[-1]
        return {
            "disqualified": disqualified / sum(lengths),
            "best_fitness": float(self.fitness.max()),
            "mutation": float(np.median(self.magnitudes)),
        }

    def tables(self) -> dict[str, Table]:
        """The games of each league by result and by length, and the standing of the last league.

        A member of the league that was born as number 5 of generation 12 is called e12i5. It has
        won where the other one was disqualified.
        """
        lengths = [f"length_{length}" for length in range(1, self.config.rules.cells + 1)]
        panels = {
            "games by result": RESULTS,
            "games by number of marks at their end": lengths,
        }
        leagues = Table(("generation", *RESULTS, *lengths), self.history, panels)
        return {"league.csv": leagues, "league_members.csv": self._standing()}

    def _standing(self) -> Table:
        """The members of the league by their fitness, with the results of their games."""
        ends = self.graph.league(self.graph.successors(self.moves)).ends
        games = 2 * (len(ends) - 1)
        one_point = [Points(*points) for points in np.eye(4)]  # of a win, of a draw, ...
        counts = [games * mean_points(ends, values_of_ends(points)) for points in one_point]
        results = np.rint(counts).astype(int).T.tolist()
        best_first = np.argsort(-self.fitness, kind="stable").tolist()
        rows = [
            ("e{}i{}".format(*self.names[number]), float(self.fitness[number]), *results[number])
            for number in best_first
        ]
        columns = ("name", "fitness", "won", "drawn", "lost", "disqualified")
        return Table(columns, rows, shown="the league in its last generation")

    def model(self) -> Arrays:
        """The best network."""
        return {"network": self.networks[self.best]}

    def generation(self) -> None:
        """Keep the winners and replace the others by mutated clones of them."""
        config = self.config
        has_responses = config.fitness == "exact" and config.responses > 0
        if has_responses and len(self.history) % config.respond_every == 0:
            self._respond()
        winners = self.ranking()[: config.winners]
        clones = self.rng.integers(config.winners, size=config.league - config.winners)
        order = np.concatenate([winners, winners[clones]])
        for name in self.MEMBERS:
            setattr(self, name, getattr(self, name)[order])
        self.names[config.winners :, 0] = len(self.history)
        self.names[config.winners :, 1] = np.arange(config.winners, config.league)
        is_reborn = self.rng.random(len(clones)) < config.rebirth
        self._reinitialise(config.winners + np.flatnonzero(is_reborn))
        self._mutate(config.winners + np.flatnonzero(~is_reborn))
        self._play_from(config.winners)
        self.steps += 1

    def ranking(self) -> Rows:
        """The numbers of all networks, the best one first, and of equal ones the youngest."""
        # The order of summation must not make a difference.
        fitness = np.round(self.fitness, 9)
        youngest_first = -np.arange(len(fitness))
        order = np.lexsort((youngest_first, -fitness))
        if not self.config.distinct:
            return order
        is_equal = np.diff(fitness[order], prepend=np.inf) == 0  # to the one before
        return np.concatenate([order[~is_equal], order[is_equal]])

    @property
    def best(self) -> int:
        """The number of the best network, which plays."""
        return int(self.ranking()[0])

    def opponents(self) -> Floats:
        """The probabilities (O, S, cells) of the opponents' moves, best responses included."""
        if not len(self.responses):
            return self.fixed_opponents
        responses = np.eye(self.config.rules.cells)[self.responses].mean(axis=0)
        share = self.config.response_share
        return (1 - share) * self.fixed_opponents + share * responses

    def _respond(self) -> None:
        """Add a best response to the best network to the opponents, and compute the fitness."""
        config = self.config
        successors = self.graph.successors(self.moves)
        of_best = successors[:, self.best]
        response = self.graph.best_response(of_best, self.end_values, config.slip, self.rng)
        responses = np.concatenate([self.responses, response[None]])
        self.responses = responses[-config.responses :]
        self._judge_from(0, successors)

    def _reinitialise(self, networks: Rows) -> None:
        """Re-initialise a hidden unit of each of these networks, for another move in a bad game.

        The unit is the one with the smallest outgoing weights among SAMPLED_UNITS. Its output is 1
        in a position of the network's worst game, and lower by 1 / radius for each input that
        differs. It raises the score of one other legal move there to the highest one, or above.
        """
        if not len(networks):
            return
        opponent = self.rng.choice(self.opponents(), p=self.weights)
        successors = self.graph.successors(self.moves[networks])
        places = self.graph.worst_positions(
            successors, opponent, self.end_values, self.config.slip, self.rng
        )
        for number, place in zip(networks, places, strict=True):
            self._reinitialise_unit(number, place)

    def _reinitialise_unit(self, number: int, place: int) -> None:
        """Give a network a new hidden unit for another move in this position."""
        rng = self.rng
        network = self.networks[number : number + 1]
        (hidden,), (output,), _ = layers_of(network, self.layout.shapes)
        units = rng.integers(self.config.hidden, size=SAMPLED_UNITS)
        unit = units[np.abs(output[units]).max(axis=1).argmin()]
        inputs = self.graph.inputs[place, :-1]  # without the one for the bias
        slope = 1 / rng.integers(1, MAX_RADIUS + 1)
        hidden[:-1, unit] = slope * (2 * inputs - 1)
        hidden[-1, unit] = 1 - slope * inputs.sum()
        output[unit] = 0
        ((scores,),) = self.layout.scores(network, self.graph.inputs[[place]])
        legal = np.flatnonzero(self.graph.legal[place])
        others = legal[legal != self.moves[number, place]]
        cell = rng.choice(others if len(others) else legal)
        output[unit, cell] = scores.max() - scores[cell] + rng.random()

    def _mutate(self, chosen: Rows) -> None:
        """Mutate the magnitudes and shares of these networks, then their weights."""
        rng = self.rng
        scale = self.layout.scale
        adaptation = self.config.adaptation
        magnitudes = self.magnitudes[chosen]
        shares = self.shares[chosen]
        if adaptation:
            factors = np.exp(adaptation * rng.standard_normal((2, len(chosen))))
            magnitudes = np.clip(magnitudes * factors[0], *MAGNITUDES)
            shares = np.clip(shares * factors[1], 1 / len(scale), 1)
        shape = (len(chosen), len(scale))
        is_changed = rng.random(shape, dtype=np.float32) < shares[:, None]
        change = rng.random(shape, dtype=np.float32) * 2 - 1  # from -1 to 1
        self.networks[chosen] += (
            is_changed * change * magnitudes[:, None].astype(np.float32) * scale
        )
        self.magnitudes[chosen] = magnitudes
        self.shares[chosen] = shares

    def _play_from(self, first: int) -> None:
        """Compute the moves of the networks from `first` on, play the league, judge them."""
        self.moves[first:] = self.layout.moves(self.networks[first:])
        successors = self.graph.successors(self.moves)
        games = self.graph.league(successors)
        row = [len(self.history), *games.results, *games.lengths.tolist()]
        self.history.append(row)
        if self.config.fitness == "exact":
            self._judge_from(first, successors)
        else:
            self.fitness = mean_points(games.ends, self.end_values)

    def _judge_from(self, first: int, successors: Rows) -> None:
        """Compute the exact fitness of the networks from `first` on."""
        new = np.ascontiguousarray(successors[:, first:])
        results = [
            self.graph.results(new, opponent, self.end_values, self.config.slip)
            for opponent in self.opponents()
        ]
        self.fitness[first:] = np.array(self.weights) @ results


begin = Evolution
