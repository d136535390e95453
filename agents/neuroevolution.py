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

from collections.abc import Callable
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import NO_CHILD, positions_of
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.exact.values import EndValues
from tictactoe_env.observation import observe
from tictactoe_env.opponents import make_opponent, parse_pool
from tictactoe_env.policy import Policy, draw, one_hot
from tictactoe_env.rules import (
    DRAW,
    ILLEGAL,
    LOSS,
    ONGOING,
    OPPONENT_ILLEGAL,
    SIDES,
    WIN,
    Outcome,
    Rules,
)
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
from training.perceptron import ACTIVATIONS, Weights, layers_of
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

Floats = NDArray[np.float64]
Moves = NDArray[np.uint8]
Rows = NDArray[np.intp]


class Config(BoardConfig):
    """The options of a training. A step is a generation."""

    IMPLIES = {"game_points": ("fitness", "points")}

    steps: Count = option(5_000, "Generations after which training ends.")
    judge_every: Count = option(50, "Generations between two exact evaluations.", rare=True)
    league: Count = option(100, "Number of networks; each plays each other on both sides.")
    winners: Count = option(20, "Number of networks that survive unchanged; below --league.")
    fitness: Literal["exact", "football", "punished", "points"] = option(
        "exact", "Exact result, or points of the league: 3/1/0, 1/1/0/-10, or --game-points."
    )
    game_points: tuple[Finite, Finite, Finite, Finite] = option(
        (3.0, 1.0, 0.0, 0.0),
        "Points for a win, a draw, a loss and an illegal move; with them --fitness is points.",
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
            raise ValueError(f"--game-points goes without --fitness {self.fitness}: leave one out")
        has_units = self.hidden > 0 and self.activation == "relu"
        if self.rebirth and not (has_units and self.inputs == "planes"):
            raise ValueError("rebirth needs hidden units, relu and planes: set it to 0")


SEARCH = {"mutation": Range(0.1, 2.0, log=True), "rebirth": Range(0.0, 0.6)}


# --- the games of networks -----------------------------------------------------------------------

RESULTS = ("x_won", "drawn", "o_won", "disqualified")  # columns of league.csv
OF_OTHER_SIDE = np.array([outcome.of_other_side for outcome in Outcome])


class LeagueGames(NamedTuple):
    """The games of a league of N networks.

    ends: (N, N) the `Outcome` of each game for X, X on the first axis, O on the second; games of a
    network against itself are ONGOING. lengths: (cells,) the number of games that ended with 1, 2,
    ... marks on the board.
    """

    ends: Rows
    lengths: Rows

    @property
    def own(self) -> Rows:
        """The outcomes of each network's games for itself, first those as X: (N, 2 N)."""
        return np.concatenate([self.ends, OF_OTHER_SIDE[self.ends.T]], axis=1)

    def mean_points(self, worth: Floats) -> Floats:
        """The mean points of each network in its games: (N,). worth: (6,) by `Outcome`."""
        games = 2 * (len(self.ends) - 1)
        return worth[self.own].sum(axis=1) / games

    @property
    def results(self) -> list[int]:
        """How many games X won, were drawn, O won, and were ended by an illegal move."""
        counts = np.bincount(self.ends.ravel(), minlength=len(Outcome))
        illegal = counts[ILLEGAL] + counts[OPPONENT_ILLEGAL]
        return [*counts[[WIN, DRAW, LOSS]].tolist(), int(illegal)]


class SeenPositions:
    """The S positions that networks see, ordered by ply, and the position after each move.

    Networks are deterministic, so their games are looked up: a network is the cell that it plays in
    each of these positions, (S,). The ends of games follow the positions: the number S + outcome
    stands for a game with this `Outcome` for X. An illegal move ends a game, and loses.

    after: (S, cells) the position or end after each move. legal: (S, cells) bool.
    random: (S, cells) the probabilities of random play.
    plies: for each number of marks the slice of its positions.
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

        ends = self.size + positions.results("X").astype(np.intp)
        numbers = np.where(positions.is_over, ends, seen.index)
        illegal = self.size + np.where(x_moves, ILLEGAL, OPPONENT_ILLEGAL)
        children = positions.children[self.rows]
        self.legal = children != NO_CHILD
        self.after: Rows = np.where(self.legal, numbers[children], illegal[:, None])
        self.random: Floats = self.legal / self.legal.sum(axis=1, keepdims=True)

        marks = np.arange(rules.cells + 1)
        starts = np.searchsorted(positions.ply[self.rows], marks)
        self.plies = [slice(start, end) for start, end in pairwise(starts)]

        observed = observe(positions.boards[self.rows], rules, encoding).reshape(self.size, -1)
        with_ones = np.column_stack([observed, np.ones(self.size)])
        self.inputs: Weights = with_ones.astype(np.float32)
        self._index = seen.index[positions.unfinished]
        self._cells = seen.cells[positions.unfinished]

    def policy(self, moves: Moves) -> TabularPolicy:
        """The player with these moves (S,)."""
        cells = self._cells[np.arange(len(self._cells)), moves[self._index]]
        return TabularPolicy(self.rules, one_hot(cells, self.rules.cells))

    def probs(self, opponent: Policy) -> Floats:
        """The probabilities (S, cells) of an opponent's moves."""
        return tabulate(opponent, self.rules).by_row()[self.rows]


class Games:
    """The games of networks, given by their moves in the positions that they see: (B, S).

    points: for a game that a network wins, draws, loses, or ends by an illegal move; their mean is
    its result. slip: the probability that a network makes a random legal move instead of its own.
    """

    def __init__(self, seen: SeenPositions, points: EndValues, slip: float):
        self.seen = seen
        self.slip = slip
        of_x = np.zeros(len(Outcome))
        of_x[[WIN, OPPONENT_ILLEGAL]] = points.win
        of_x[[DRAW, LOSS, ILLEGAL]] = points.draw, points.loss, points.illegal
        self.worth = {"X": of_x, "O": of_x[OF_OTHER_SIDE]}  # by outcome for X

    def league(self, moves: Moves) -> LeagueGames:
        """The games of networks with these moves (N, S), of each with each other.

        They do not slip. The games are played ply by ply, all at the same time.
        """
        seen = self.seen
        count = len(moves)
        number = np.arange(count)
        movers = (number[:, None], number[None])  # X on the first axis, O on the second
        following = seen.after[np.arange(seen.size)[:, None], moves.T]
        ends = np.arange(seen.size, seen.size + len(Outcome))[:, None]  # which stay as they are
        leads = np.concatenate([following, np.repeat(ends, count, axis=1)])
        leads = leads.ravel()  # one index is faster than two
        state = np.zeros((count, count), dtype=np.intp)
        length = np.zeros_like(state)
        for ply in range(seen.rules.cells):
            length += state < seen.size
            state = leads[state * count + movers[ply % 2]]
        outcomes = state - seen.size
        np.fill_diagonal(outcomes, ONGOING)
        np.fill_diagonal(length, 0)
        is_illegal = (outcomes == ILLEGAL) | (outcomes == OPPONENT_ILLEGAL)
        length -= is_illegal  # an illegal move leaves no mark
        lengths = np.bincount(length.ravel(), minlength=seen.rules.cells + 1)[1:]
        return LeagueGames(outcomes, lengths)

    def results(self, moves: Moves, opponent: Floats) -> Floats:
        """The expected results of networks (B, S) against an opponent, mean of both sides: (B,).

        opponent: (S, cells) its probabilities.
        """

        def mean(rows: slice, after: Floats) -> Floats:
            return _mean(opponent[rows], after)

        return np.mean([self._expected(moves, side, mean) for side in SIDES], axis=0)

    def best_response(self, moves: Moves, rng: np.random.Generator) -> Moves:
        """The moves (S,) of a best response to a network with these moves (S,), on both sides.

        It plays the legal move after which the network's expected result is the lowest, one of
        equals at random. It depends on the rules and the moves of the network only.
        """
        response = np.zeros_like(moves)

        def lowest(rows: slice, after: Floats) -> Floats:
            values = np.where(self.seen.legal[rows], after[:, :, 0], np.inf)
            least = values.min(axis=1, keepdims=True)
            is_best = values <= least + EQUAL
            numbers = 1 - rng.random(values.shape)  # above 0
            response[rows] = (is_best * numbers).argmax(axis=1)
            return least

        for side in SIDES:  # of the network
            self._expected(moves[None], side, lowest)
        return response

    def _expected(
        self, moves: Moves, side: str, reply: Callable[[slice, Floats], Floats]
    ) -> Floats:
        """The expected results of networks (B, S) that play a side, by backward induction: (B,).

        reply: called with the rows of positions in which the opponent is to move, and the results
        (positions, cells, B) after each move; returns the results (positions, B) before it.
        """
        seen = self.seen
        values = np.empty((seen.size + len(Outcome), len(moves)))
        values[seen.size :] = self.worth[side][:, None]
        for ply in reversed(range(seen.rules.cells)):
            rows = seen.plies[ply]
            after = values.take(seen.after[rows], axis=0)
            if SIDES[ply % 2] == side:
                chosen = np.take_along_axis(after, moves.T[rows, None], axis=1)[:, 0]
                slipped = _mean(seen.random[rows], after)
                values[rows] = (1 - self.slip) * chosen + self.slip * slipped
            else:
                values[rows] = reply(rows, after)
        return values[0]

    def worst_positions(self, moves: Moves, opponent: Floats, rng: np.random.Generator) -> Rows:
        """A position of each network (B, S) from the worst of SAMPLED_GAMES games: (B,).

        It is drawn from the positions of that game in which the network was to move; without any,
        it is the empty board. opponent: (S, cells) its probabilities.
        """
        seen = self.seen
        number = np.arange(len(moves))
        shape = (len(moves), SAMPLED_GAMES)
        is_x = rng.integers(2, size=shape) == 0  # the network, in each game
        state = np.zeros(shape, dtype=np.intp)
        own = np.full((seen.rules.cells, *shape), -1)  # positions in which the network was to move
        for ply in range(seen.rules.cells):
            goes_on = state < seen.size
            is_own = is_x == (ply % 2 == 0)
            own[ply] = np.where(goes_on & is_own, state, -1)
            at = np.where(goes_on, state, 0)
            probs = np.where(is_own[:, :, None], seen.random[at], opponent[at])
            drawn = draw(np.moveaxis(probs.cumsum(axis=2), 2, 0), rng.random(shape))
            is_greedy = is_own & (rng.random(shape) >= self.slip)
            cells = np.where(is_greedy, moves[number[:, None], at], drawn)
            state = np.where(goes_on, seen.after[at, cells], state)
        outcomes = state - seen.size
        results = np.where(is_x, self.worth["X"][outcomes], self.worth["O"][outcomes])
        worst = (results + rng.random(shape) / 10).argmin(axis=1)  # ties at random
        of_worst = own[:, number, worst]
        numbers = np.where(of_worst >= 0, rng.random(of_worst.shape), -1.0)
        chosen = of_worst[numbers.argmax(axis=0), number]
        return np.maximum(chosen, 0)


def _mean(probs: Floats, after: Floats) -> Floats:
    """The mean (P, B) of the results (P, cells, B) after moves with probabilities (P, cells)."""
    return (probs[:, None] @ after)[:, 0]


# --- the networks --------------------------------------------------------------------------------


class Layout:
    """The hidden, output and direct layers of a network in its weights (P,).

    seen: the positions that it sees.
    shapes: (inputs, units) of each layer; the last input of the hidden and output layers is a bias.
    scale: (P,) the standard deviation of the initial weights, and the scale of mutations.
    """

    def __init__(self, config: Config):
        self.config = config
        self.seen = SeenPositions(config.rules, config.symmetry, config.inputs)
        cells = config.rules.cells
        hidden = config.hidden
        inputs = self.seen.inputs.shape[1]
        to_output = hidden + 1 if hidden else 0  # the last one for the bias
        direct = inputs if config.direct or hidden == 0 else 0
        self.shapes = [(inputs, hidden), (to_output, cells), (direct, cells)]
        scales = np.ones(len(self.shapes), dtype=np.float32)
        if config.scaled:
            scales[0] = 1 / np.sqrt((cells + 1) / 2)  # about half of the inputs are not zero
            scales[1] = 1 / np.sqrt(max(hidden, 1))
        sizes = [inputs * units for inputs, units in self.shapes]
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
        moves = np.empty((len(networks), self.seen.size), dtype=np.uint8)
        largest = max(inputs * units for inputs, units in self.shapes)
        chunk = max(1, SINGLE_THREAD // largest)  # positions at a time
        for first in range(0, len(networks), GROUP):
            group = slice(first, first + GROUP)
            for start in range(0, self.seen.size, chunk):
                part = slice(start, start + chunk)
                scores = self.scores(networks[group], self.seen.inputs[part])
                moves[group, part] = scores.argmax(axis=2)
        return moves

    def scores(self, networks: Weights, inputs: Weights) -> Weights:
        """The scores (B, C, cells) that networks (B, P) give the cells of boards (C, inputs)."""
        hidden, output, direct = layers_of(networks, self.shapes)
        shape = (len(networks), len(inputs), self.seen.rules.cells)
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
    return layout.seen.policy(layout.moves(model["network"][None])[0])


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
        self.seen = self.layout.seen
        points = {
            "exact": EndValues(1.0, 0.0, -config.loss_penalty, -config.illegal_penalty),
            "football": EndValues(win=3, draw=1, loss=0, illegal=0),
            "punished": EndValues(win=1, draw=1, loss=0, illegal=-10),
            "points": EndValues(*config.game_points),
        }
        self.games = Games(self.seen, points[config.fitness], config.slip)
        self.rng = np.random.default_rng(config.seed)
        names, self.weights = zip(*parse_pool(config.opponents), strict=True)
        tables = [self.seen.probs(make_opponent(name, config.rules)) for name in names]
        self.fixed_opponents = np.stack(tables)
        self.history: list[list[int]] = []
        self.networks = self.layout.first(config.league, self.rng)
        self.names = np.zeros((config.league, 2), dtype=np.intp)
        self.names[:, 1] = np.arange(config.league)
        self.magnitudes = np.full(config.league, config.mutation)
        self.shares = np.full(config.league, config.mutation_share)
        self.moves = np.empty((config.league, self.seen.size), dtype=np.uint8)
        self.fitness = np.zeros(config.league)
        self.responses = np.empty((0, self.seen.size), dtype=np.uint8)
        self._play_from(0)

    def advance(self, most: int) -> None:
        """Make `most` generations."""
        for _ in range(most):
            self.generation()

    def policy(self) -> TabularPolicy:
        """The policy of the best network."""
        return self.seen.policy(self.moves[self.best])

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
        outcomes = self.games.league(self.moves).own
        columns = ([WIN, OPPONENT_ILLEGAL], [DRAW], [LOSS], [ILLEGAL])
        counts = [np.isin(outcomes, which).sum(axis=1) for which in columns]
        results = np.stack(counts, axis=1).tolist()
        best_first = np.argsort(-self.fitness, kind="stable").tolist()
        rows = [
            ("e{}i{}".format(*self.names[number]), float(self.fitness[number]), *results[number])
            for number in best_first
        ]
        names = ("name", "fitness", "won", "drawn", "lost", "disqualified")
        return Table(names, rows, shown="the league in its last generation")

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
        responses = np.eye(self.seen.rules.cells)[self.responses].mean(axis=0)
        share = self.config.response_share
        return (1 - share) * self.fixed_opponents + share * responses

    def _respond(self) -> None:
        """Add a best response to the best network to the opponents, and compute the fitness."""
        config = self.config
        response = self.games.best_response(self.moves[self.best], self.rng)
        responses = np.concatenate([self.responses, response[None]])
        self.responses = responses[-config.responses :]
        self._judge_from(0)

    def _reinitialise(self, networks: Rows) -> None:
        """Re-initialise a hidden unit of each of these networks, for another move in a bad game.

        The unit is the one with the smallest outgoing weights among SAMPLED_UNITS. Its output is 1
        in a position of the network's worst game, and lower by 1 / radius for each input that
        differs. It raises the score of one other legal move there to the highest one, or above.
        """
        if not len(networks):
            return
        opponent = self.rng.choice(self.opponents(), p=self.weights)
        places = self.games.worst_positions(self.moves[networks], opponent, self.rng)
        for number, place in zip(networks, places, strict=True):
            self._reinitialise_unit(number, place)

    def _reinitialise_unit(self, number: int, place: int) -> None:
        """Give a network a new hidden unit for another move in this position."""
        rng = self.rng
        network = self.networks[number : number + 1]
        (hidden,), (output,), _ = layers_of(network, self.layout.shapes)
        units = rng.integers(self.config.hidden, size=SAMPLED_UNITS)
        unit = units[np.abs(output[units]).max(axis=1).argmin()]
        inputs = self.seen.inputs[place, :-1]  # without the one for the bias
        slope = 1 / rng.integers(1, MAX_RADIUS + 1)
        hidden[:-1, unit] = slope * (2 * inputs - 1)
        hidden[-1, unit] = 1 - slope * inputs.sum()
        output[unit] = 0
        ((scores,),) = self.layout.scores(network, self.seen.inputs[[place]])
        legal = np.flatnonzero(self.seen.legal[place])
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
        games = self.games.league(self.moves)
        self.history.append([len(self.history), *games.results, *games.lengths.tolist()])
        if self.config.fitness == "exact":
            self._judge_from(first)
        else:
            self.fitness = games.mean_points(self.games.worth["X"])

    def _judge_from(self, first: int) -> None:
        """Compute the exact fitness of the networks from `first` on."""
        opponents = self.opponents()
        for start in range(first, len(self.moves), GROUP):
            group = slice(start, start + GROUP)
            results = [self.games.results(self.moves[group], opponent) for opponent in opponents]
            self.fitness[group] = np.array(self.weights) @ results


begin = Evolution
