"""AlphaZero: a network of moves and values learns from games that it plays with a tree search.

After Silver et al. 2018 (https://doi.org/10.1126/science.aar6404), with the search of Danihelka et
al. 2022 (https://openreview.net/forum?id=bERaNdoegnO), which learns from few simulations. The
network says of a board how likely each move is, P, and what the result will be. A search adds to
log P of each move a multiple of the move's value. That is the mean result of the simulations that
made the move. A move that none has made gets the value of the board: the mean of the network's own
value and of all simulations through the board. The softmax of these sums is the improved policy,
which P learns. No solver plays.

Self-play adds Gumbel noise to the sums, but P learns them without it. A search considers fewer and
fewer moves (sequential halving): the best 16, 8, 4 and 2 in its four quarters, which it visits
evenly. Further down, a simulation takes the move whose share of the visits is furthest below the
improved policy. It ends at a new board, or with the game.

What differs from the papers:

- The target of a value is half the result of the game, and half the value that the search found.
  On larger boards with gravity the result counts a quarter.
- The network is a perceptron, trained by a new Adam each round, with boards turned at random.
- On larger boards the network that plays is a moving average of the one that learns, and half of
  the games begin where it can still be beaten, as its last proofs have found. With gravity it is
  four fifths of the games, and some of the proofs are of the search.
- Options for Connect Four on 6x7, where no proof fits. With `truth_positions` a solver of the game
  is asked about some positions of the games, and later games begin where the search erred. The
  solver's values are no targets. With `threats` the network sees the cells that complete a line.
  With `mcts_solver` a search keeps the results of which it is sure.

The player makes the network's most likely move or, with `simulations`, the best move of a search
without noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tictactoe_env.exact import Limit, TabularPolicy, tabulate
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.responses import kept_counterexamples, response_to_learner
from tictactoe_env.exact.solver import check_solvable, solve
from tictactoe_env.observation import observe
from tictactoe_env.rules import MAX_BITS, ONGOING, OUTCOME_NUMBERS, Boards, Rules, to_move
from tictactoe_env.starts import ExploringStarts
from training.learner import Arrays, Learner, State
from training.network_policy import LivePolicy, NetworkPolicy, SymmetricNetwork, scores_of
from training.options import BoardConfig, Count, Layers, Natural, Positive, Share, option
from training.search_space import Range
from training.torch_arrays import illegal_cells, load_weights, use_torch, weights_of

AGENT = "alphazero"
TITLE = "AlphaZero"
STORY = "A network guesses good moves. A search improves on them, and the network learns from it."
UNIT = "games"
GOAL = "unbeatable"
# Options for a quick test.
SMALL = "--games 32 --self-play-simulations 8 --judge-every 64 --steps 192 --hidden 16 --updates 5"
SEARCH = {  # ranges for `train.py alphazero --optimize`; the tree search is not meant
    "updates": Range(20, 400, log=True),
    "learning_rate": Range(5e-4, 1e-2, log=True),
}
MOST_CONSIDERED = 16  # moves of the root in the first quarter of a search
VALUE_SCALE = 0.1  # as in mctx
FIRST_VISITS = 50  # as in mctx, where it's called maxvisit_init
SLOW_MARKS = range(12, 18)  # the truth of 6x7 takes 10 to 100 ms with so many, else 8 at most
SLOW_SHARE = 1 / 16  # positions with so many that are asked, as a share of the others
SURE = 1_000.0  # log P of a move that is known to win; of one that loses it is the negative
SEARCHED_AT_ONCE = 1_024  # boards that a player searches at once: each has a tree in memory

Floats = NDArray[np.float32]
Numbers = NDArray[np.signedinteger[Any]]  # of cells, trees and nodes


class Config(BoardConfig):
    """The options of a training. A step is a game."""

    CELLS = MAX_BITS  # any board: a network is asked for the boards that come up

    steps: Count = option(10_240, "Games after which training ends.", larger=102_400)
    judge_every: Count = option(
        256, "Games between two exact evaluations.", larger=1_024, rare=True
    )
    side: Literal["both", "X", "O"] = option("both", "Side that is proven; it learns to play both.")
    simulations: Natural = option(0, "Simulations of the player before a move; 0 for no search.")
    self_play_simulations: Count = option(
        25, "Simulations before a move in self-play.", larger=50, falling=32
    )
    games: Count = option(256, "Number of games in a round, which are played at the same time.")
    memory: Count = option(
        8, "Number of rounds whose games are learned from.", larger=24, falling=12
    )
    updates: Count = option(60, "Number of updates after each round.", larger=240)
    hidden: Layers = option(
        (128, 128), "Units of the hidden layers.", larger=(256, 256), falling=(128, 128)
    )
    learning_rate: Positive = option(3e-3, "Adam's learning rate at the start.")
    half_life: Count = option(
        2_048, "Games in which the learning rate halves.", larger=24_576, falling=8_192
    )
    counterexamples: Share = option(
        0.0, "Share of games that start where it can lose.", larger=0.5, falling=0.8
    )
    exploring_starts: Share = option(
        0.0, "Share of games that start from a random board.", rare=True
    )
    to_win: bool = option(
        False, "Whether positions in which it can draw are counterexamples too.", rare=True
    )
    result_share: Share = option(
        0.5,
        "Share of the game's result in the target of a value; the rest is what the search found.",
        falling=0.25,
        rare=True,
    )
    rounds_per_proof: Count = option(
        8, "Rounds between two proofs that find counterexamples.", falling=4, rare=True
    )
    proofs_per_search: Natural = option(
        0,
        "With simulations, one proof in so many is of the search, not of the network; 0 for none.",
        falling=8,
        rare=True,
    )
    proof_positions: Count = option(3_000_000, "Positions beyond which a side is not proven.")
    truth_positions: Natural = option(
        0,
        "Positions of which the exact solution is asked instead of a proof; games then begin where "
        "the search errs. 0 for proofs.",
        rare=True,
    )
    mcts_solver: bool = option(
        False, "Whether a search keeps results of which it is sure.", rare=True
    )
    value_scale: Positive = option(
        VALUE_SCALE,
        f"Weight of values in the search of the player; in self-play it is {VALUE_SCALE}.",
        rare=True,
    )
    threats: bool = option(
        False, "Whether the network sees which free cells would complete a line.", rare=True
    )
    averaging: Share = option(
        0.0,
        "Share of its weights that the network that plays keeps at each update of the one that "
        "learns.",
        larger=0.999,
        falling=0.99,
        rare=True,
    )
    batch_size: Count = option(256, "Number of positions in the batch of an update.", rare=True)


# --- the network ---------------------------------------------------------------------------------


class Prediction(NamedTuple):
    """The outputs of a network for B boards, as tensors or as arrays.

    log_p: (B, cells) the logarithm of the probability of each move, about -3e38 where illegal.
    values: (B,) the expected result for the side to move, from -1 to 1.
    """

    log_p: Any
    values: Any


class Network(torch.nn.Module):
    """A perceptron with an output for each cell, and a last one for the value.

    Its inputs are the own marks and the other side's. With `threats` these are followed by the
    cells that would complete a line of each, and by the legal moves.
    """

    def __init__(self, config: Config):
        super().__init__()
        use_torch("cpu", threads=1)
        self.rules = config.rules
        self.threats = config.threats
        self.lines = lines_of(config.rules)
        planes = 5 if config.threats else 2
        sizes = (planes * config.rules.cells, *config.hidden)
        self.layers = torch.nn.Sequential()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            for inputs, units in pairwise(sizes):
                self.layers.append(torch.nn.Linear(inputs, units))
                self.layers.append(torch.nn.ReLU())
            self.layers.append(torch.nn.Linear(sizes[-1], config.rules.cells + 1))

    def forward(self, planes: torch.Tensor) -> Prediction:
        """Tensors for boards as planes (B, 2, rows, cols), with the side to move in plane 0."""
        illegal = illegal_cells(planes, self.rules)
        marks = planes.flatten(2).float()
        inputs = marks.flatten(1)
        if self.threats:
            completing = threats_of(marks, self.lines).flatten(1)
            inputs = torch.cat([inputs, completing, ~illegal], dim=1)
        outputs = self.layers(inputs)
        logits = outputs[:, :-1].masked_fill(illegal, torch.finfo(outputs.dtype).min)
        values = outputs[:, -1].tanh()
        return Prediction(logits.log_softmax(dim=1), values)


def lines_of(rules: Rules) -> torch.Tensor:
    """The lines (L, cells) of a board, 1.0 on the cells of each."""
    lines = torch.zeros(len(rules.lines), rules.cells)
    for line, cells in zip(lines, rules.lines, strict=True):
        line[list(cells)] = 1
    return lines


def threats_of(marks: torch.Tensor, lines: torch.Tensor) -> torch.Tensor:
    """The free cells that would complete a line: (B, 2, cells) float, of marks of the same shape.

    lines: (L, cells). Plane 0 has those of the side to move, plane 1 those of the other side.
    """
    missing = lines.sum(dim=1) - marks @ lines.T  # (B, 2, L)
    free = 1 - marks.sum(dim=1, keepdim=True)
    completing = (missing == 1).float() @ lines > 0  # a taken last cell is left out below
    return completing * free


def predict(network: Network, boards: Boards) -> Prediction:
    """The outputs of a network for boards (B, cells), as arrays."""
    # Both outputs as one tensor (B, cells + 1), since `scores_of` takes one.
    outputs = scores_of(lambda planes: torch.column_stack(network(planes)), boards, network.rules)
    return Prediction(outputs[:, :-1], outputs[:, -1])


# --- the search ----------------------------------------------------------------------------------


class SearchResult(NamedTuple):
    """The result of a search on B boards.

    moves: (B,) the best cell of each board, noise included. policies: (B, cells) the improved
    policies, and values: (B,) the expected results of these for the side to move: both without
    noise. visits: (B, cells) the number of simulations through each move.
    """

    moves: Numbers
    policies: Floats
    values: Floats
    visits: Floats


def search(
    network: Network,
    boards: Boards,
    simulations: int,
    rng: np.random.Generator | None = None,
    mcts_solver: bool = False,
    value_scale: float = VALUE_SCALE,
) -> SearchResult:
    """Search the moves of B boards (B, cells), each in a tree of its own, all at the same time.

    rng: draws the Gumbel noise of self-play; without it there is no noise. mcts_solver: whether
    results that are certain are kept: see `settle`. value_scale: see `Tree`.
    """
    legal = network.rules.legal_cells(boards)
    noise = np.zeros(boards.shape) if rng is None else rng.gumbel(size=boards.shape)
    tree = Tree(len(boards), simulations + 1, network.rules, value_scale)
    every_tree = np.arange(len(boards))
    add_node(tree, network, every_tree, 0, boards)
    for simulation in range(simulations):
        quarter = 4 * simulation // simulations  # 0 to 3
        considered = MOST_CONSIDERED >> quarter  # 16, 8, 4, 2
        path = select(tree, root_moves(tree, legal, noise, considered))
        values = expand(tree, network, path, node=simulation + 1)
        backup(tree, path, values)
        if mcts_solver:
            settle(tree, path)
    found = improved(tree, *ROOT)
    return SearchResult(
        moves=(noise + found.logits).argmax(axis=1),
        policies=found.policies,
        values=(found.policies * found.values).sum(axis=1),
        visits=tree.visits[ROOT].copy(),  # a view would keep the whole tree
    )


class Tree:
    """The search trees of B boards, in arrays (B, nodes, ...). Node 0 is the root, the board.

    Node n is the board that simulation n - 1 has added; it is not used in trees where that
    simulation came to the end of a game.

    boards: (B, nodes, cells) the marks, +1 X, -1 O, 0 free.
    results: (B, nodes) of finished games, for the side to move; NaN where the game goes on.
    predicted: (B, nodes) the network's value, for the side to move.
    log_p: (B, nodes, cells) the logarithms of the network's probabilities.
    children: (B, nodes, cells) the node after each move; 0 if there is none yet.
    visits: (B, nodes, cells) the number of simulations through each move.
    totals: (B, nodes, cells) the sum of their values, for the side that makes the move.
    value_scale: the weight of values beside log P, in the improved policy.
    """

    def __init__(self, count: int, nodes: int, rules: Rules, value_scale: float):
        self.rules = rules
        self.value_scale = value_scale
        of_moves = (count, nodes, rules.cells)
        self.boards = np.zeros(of_moves, dtype=np.int8)
        self.results = np.full((count, nodes), np.nan, dtype=np.float32)
        self.predicted = np.full((count, nodes), np.nan, dtype=np.float32)
        self.log_p = np.zeros(of_moves, dtype=np.float32)
        self.children = np.zeros(of_moves, dtype=np.int32)
        self.visits = np.zeros(of_moves, dtype=np.float32)
        self.totals = np.zeros(of_moves, dtype=np.float32)


# As an index of a tree's arrays: the root of every tree. Where a function takes trees and nodes,
# `*ROOT` passes both: all trees (a slice), and node 0.
ROOT = np.s_[:, 0]


class Step(NamedTuple):
    """A move of a simulation in each of M trees: the cell (M,) that it chooses at a node (M,).

    It is an index of a tree's arrays: `tree.visits[step]` are the visits (M,) of these moves.
    """

    trees: Numbers
    nodes: Numbers
    cells: Numbers


class Improved(NamedTuple):
    """The improved policy at M nodes.

    logits: (M, cells) log P plus the scaled values. policies: (M, cells) their softmax. values:
    (M, cells) the completed values of the moves, for the side to move.
    """

    logits: Floats
    policies: Floats
    values: Floats


def improved(tree: Tree, trees: Any, nodes: Any) -> Improved:
    """The improved policy at nodes of trees, by the simulations so far.

    trees, nodes: (M,) each, or `*ROOT`. The values are completed: a move that was not visited has
    the mean value of its node.
    """
    visits = tree.visits[trees, nodes]
    totals = tree.totals[trees, nodes]
    predicted = tree.predicted[trees, nodes][:, None]
    all_visits = visits.sum(axis=1, keepdims=True)
    all_totals = totals.sum(axis=1, keepdims=True)
    node_value = (predicted + all_totals) / (1 + all_visits)
    means = totals / np.maximum(visits, 1)  # without visits 0 / 1, which is not used
    values = np.where(visits > 0, means, node_value)
    scale = tree.value_scale * (FIRST_VISITS + visits.max(axis=1, keepdims=True))
    logits = tree.log_p[trees, nodes] + scale * (values + 1) / 2  # values from 0 to 1
    policies = torch.from_numpy(logits).softmax(dim=1).numpy()
    return Improved(logits, policies, values)


def root_moves(
    tree: Tree, legal: NDArray[np.bool_], noise: NDArray[np.float64], considered: int
) -> Numbers:
    """The moves (B,) of the next simulations at the roots: the least visited of the best ones.

    legal, noise: (B, cells). considered: how many moves are among the best ones.
    """
    # Illegal moves are the last in the order, but among the best if few are legal: never take them.
    visits = np.where(legal, tree.visits[ROOT], np.inf)
    order = (-(noise + improved(tree, *ROOT).logits)).argsort(axis=1, kind="stable")
    best = order[:, :considered]
    least_visited = np.take_along_axis(visits, best, axis=1).argmin(axis=1)
    return best[np.arange(len(best)), least_visited]


def interior_moves(tree: Tree, trees: Numbers, nodes: Numbers) -> Numbers:
    """The moves (M,) of the next simulations at these nodes (M,), which are below the roots.

    At each node it is the move whose share of the visits is furthest below its improved
    probability.
    """
    visits = tree.visits[trees, nodes]
    shares = visits / (1 + visits.sum(axis=1, keepdims=True))
    return (improved(tree, trees, nodes).policies - shares).argmax(axis=1)


def select(tree: Tree, first: Numbers) -> list[Step]:
    """Go down every tree, to a new board or to the end of a game: the moves on the way.

    first: (B,) the moves at the roots. Step n of the path has the moves at depth n, of the trees
    that go down so far.
    """
    trees = np.arange(len(first))
    nodes: Numbers = np.zeros(len(first), dtype=np.intp)
    cells = first
    path = []
    while len(trees):
        path.append(Step(trees, nodes, cells))
        children = tree.children[trees, nodes, cells]
        goes_on = (children > 0) & np.isnan(tree.results[trees, children])
        trees = trees[goes_on]
        nodes = children[goes_on]
        cells = interior_moves(tree, trees, nodes)
    return path


def expand(tree: Tree, network: Network, path: list[Step], node: int) -> Floats:
    """Add the new boards at the ends of a path to their trees, each as node number `node`.

    Returns the values (B,) of the ends of all trees, for the sides to move there.
    """
    count = len(tree.boards)
    parents = np.zeros(count, dtype=np.intp)
    cells = np.zeros(count, dtype=np.intp)
    for step in path:  # later steps overwrite earlier ones: the last step of each tree stays
        parents[step.trees] = step.nodes
        cells[step.trees] = step.cells
    every_tree = np.arange(count)
    ends = tree.children[every_tree, parents, cells]
    values = tree.results[every_tree, ends]  # of finished games; new boards get theirs below
    new = np.flatnonzero(ends == 0)
    boards = tree.boards[new, parents[new]]
    boards[np.arange(len(new)), cells[new]] = to_move(boards)
    tree.children[new, parents[new], cells[new]] = node
    values[new] = add_node(tree, network, new, node, boards)
    return values


def add_node(tree: Tree, network: Network, trees: Numbers, node: int, boards: Boards) -> Floats:
    """Write a node with these boards (M, cells) in M trees.

    Returns its values (M,) for the side to move: the network's, or the result of a finished game.
    """
    values = results_of(boards, tree.rules)
    tree.boards[trees, node] = boards
    tree.results[trees, node] = values
    goes_on = np.isnan(values)
    if goes_on.any():
        found = predict(network, boards[goes_on])
        tree.log_p[trees[goes_on], node] = found.log_p
        tree.predicted[trees[goes_on], node] = found.values
        values[goes_on] = found.values
    return values


def backup(tree: Tree, path: list[Step], values: Floats) -> None:
    """Add the values (B,) at the ends of a path to all moves on it. Changes `values` in place."""
    for step in reversed(path):
        values[step.trees] *= -1  # from the side to move after this move to the one that made it
        tree.visits[step] += 1
        tree.totals[step] += values[step.trees]


def settle(tree: Tree, path: list[Step]) -> None:
    """Keep the results on a path that are certain now, as in MCTS-Solver (Winands et al. 2008).

    A node is won if one of its moves wins, and has the result of its best move once the results of
    all are known; no simulation goes beyond it. Of a move with a known result the mean value is
    this result, and the improved policy makes it always if it wins, and last if it loses.
    """
    for step in reversed(path):
        results = -tree.results[step.trees, tree.children[step]]  # for the side that moves
        known = np.flatnonzero(~np.isnan(results))
        if len(known) == 0:
            continue
        moves = Step(step.trees[known], step.nodes[known], step.cells[known])
        results = results[known]
        tree.totals[moves] = results * tree.visits[moves]
        tree.log_p[moves] = np.where(results == 0, tree.log_p[moves], results * SURE)
        trees, nodes = moves.trees, moves.nodes
        children = tree.children[trees, nodes]
        of_all = -tree.results[trees[:, None], children]
        of_all[children == 0] = np.nan
        of_all[tree.log_p[trees, nodes] < -2 * SURE] = -1  # illegal moves
        won = (of_all == 1).any(axis=1)
        tree.results[trees, nodes] = np.where(won, 1, of_all.max(axis=1))  # NaN if one is NaN


def results_of(boards: Boards, rules: Rules) -> Floats:
    """The results of boards (B, cells) for the sides to move: 1, 0 or -1; NaN if unfinished."""
    outcomes = rules.results(boards)  # for the sides that moved last
    return np.where(outcomes == ONGOING, np.nan, -OUTCOME_NUMBERS[outcomes]).astype(np.float32)


# --- the player ----------------------------------------------------------------------------------


def player(config: Config, model: Arrays) -> TabularPolicy | LivePolicy:
    """The player of a network or, with `simulations`, of a search: a table on small boards.

    It moves alike on symmetric boards.
    """
    rules = config.rules
    network = Network(config)
    load_weights(network, model)

    def scores(planes: torch.Tensor) -> torch.Tensor:
        """The scores (B, cells) of the moves, of which the player makes the highest.

        Without a search log P, else 1 for the move of the search and 0 for the others.
        """
        if config.simulations == 0:
            log_p: torch.Tensor = network(planes).log_p
            return log_p
        boards = boards_of(planes)
        parts = np.array_split(boards, 1 + len(boards) // SEARCHED_AT_ONCE)
        searched = partial(
            search,
            network,
            simulations=config.simulations,
            mcts_solver=config.mcts_solver,
            value_scale=config.value_scale,
        )
        moves = [searched(part).moves for part in parts]
        cells = torch.from_numpy(np.concatenate(moves))
        return torch.nn.functional.one_hot(cells, rules.cells).float()

    live = SymmetricNetwork(NetworkPolicy(rules, scores, model))
    return tabulate(live, rules) if rules.cells <= TABULATED else live


def boards_of(planes: torch.Tensor) -> Boards:
    """The boards (B, cells) as planes (B, 2, rows, cols), with the side to move in plane 0."""
    own, other = planes.flatten(2).numpy().astype(np.int8).swapaxes(0, 1)  # (B, cells) each
    x_moves = own.sum(axis=1) == other.sum(axis=1)
    return (own - other) * np.where(x_moves, 1, -1)[:, None]


# --- the learner ---------------------------------------------------------------------------------


class Examples(NamedTuple):
    """B boards to learn from, with the targets of the network.

    boards: (B, cells). policies: (B, cells), targets of P. values: (B,), targets of the values, for
    the side to move.
    """

    boards: Boards
    policies: Floats
    values: Floats


def joined(parts: Sequence[Examples]) -> Examples:
    """The examples of all parts, one after the other."""
    boards, policies, values = map(np.concatenate, zip(*parts, strict=True))
    return Examples(boards, policies, values)


class AlphaZero(Learner):
    """The network that plays, the student that learns, and the examples of the last rounds.

    memory: one entry for each round. beatable: one entry for each of the last 16 proofs, the boards
    (N, cells) from which the network could be beaten. counterexamples: how many of these the newest
    proof has found; -1 if there is none. With `truth_positions` see `mistakes` in place of proofs.
    """

    STATE = ("memory", "beatable", "counterexamples", "losses", "rng")

    def __init__(self, config: Config):
        self.config = config
        self.rules = config.rules
        if config.truth_positions:
            check_solvable(self.rules)
        self.network = Network(config)
        self.student = Network(config)
        self.rng = np.random.default_rng(config.seed)
        self.starts = ExploringStarts(
            config.exploring_starts, self.rules, counterexamples=config.counterexamples
        )
        self.memory: list[Examples] = []
        self.losses = {"policy_loss": 0.0, "value_loss": 0.0}
        self.beatable: list[Boards] = []
        self.counterexamples = -1

    def advance(self, most: int) -> None:
        """Play and learn rounds until `most` further games are played."""
        config = self.config
        goal = self.steps + most
        while self.steps < goal:
            self.memory = [*self.memory, self.play()][-config.memory :]
            self.learn()
            self.steps += config.games
            games_per_proof = config.rounds_per_proof * config.games
            if config.counterexamples and self.steps % games_per_proof == 0:
                self.find_counterexamples()

    def play(self) -> Examples:
        """Play a round of games with searches: an example for each board on which it moved."""
        config = self.config
        # `starts` wants to know as which side the learner plays. It plays both, so this and the
        # second result mean nothing here.
        seats = np.ones(config.games, dtype=np.int8)
        boards, _ = self.starts(seats, self.rng, self.beatable)
        games = np.arange(len(boards))  # the numbers of the games that go on
        results_x = np.full(len(boards), np.nan)  # for X; NaN while a game goes on
        turns = []
        while len(games):
            now = boards[games]
            simulations = config.self_play_simulations
            found = search(self.network, now, simulations, self.rng, config.mcts_solver)
            turns.append((games, now, found))
            movers = to_move(now)
            boards[games, found.moves] = movers
            ends = results_of(boards[games], self.rules)  # for the side that moves next
            results_x[games] = -ends * movers
            games = games[np.isnan(ends)]
        share = config.result_share
        parts = []
        for played, now, found in turns:
            results = results_x[played] * to_move(now)  # for the side to move
            targets = share * results + (1 - share) * found.values
            parts.append(Examples(now, found.policies, targets.astype(np.float32)))
        return joined(parts)

    def learn(self) -> None:
        """Fit the student to the examples in the memory, and let the network follow it."""
        config = self.config
        examples = joined(self.memory)
        rate = config.learning_rate * 0.5 ** (self.steps / config.half_life)
        optimizer = torch.optim.Adam(self.student.parameters(), rate)
        losses = []
        for _ in range(config.updates):
            losses.append(self.update(self.batch_of(examples), optimizer))
            self.follow()
        policy_loss, value_loss = np.mean(losses, axis=0).tolist()
        self.losses = {"policy_loss": policy_loss, "value_loss": value_loss}

    def batch_of(self, examples: Examples) -> Examples:
        """A batch of examples, with replacement, each in a random one of its symmetric images."""
        symmetries = self.rules.symmetries
        rows = self.rng.integers(len(examples.boards), size=self.config.batch_size)
        which = self.rng.integers(len(symmetries), size=self.config.batch_size)
        permutations = symmetries[which]  # of the cells, alike for the board and its policy
        return Examples(
            boards=np.take_along_axis(examples.boards[rows], permutations, axis=1),
            policies=np.take_along_axis(examples.policies[rows], permutations, axis=1),
            values=examples.values[rows],
        )

    def update(self, batch: Examples, optimizer: torch.optim.Optimizer) -> tuple[float, float]:
        """Move the student towards the targets of a batch: the losses of policy and value."""
        planes = torch.from_numpy(observe(batch.boards, self.rules, "planes"))
        found = self.student(planes)
        policies = torch.from_numpy(batch.policies)
        values = torch.from_numpy(batch.values)
        # The cross-entropy. Illegal moves, of about -3e38, add nothing: their target is 0.
        policy_loss = -(policies * found.log_p).sum(dim=1).mean()
        value_loss = (found.values - values).square().mean()
        optimizer.zero_grad()
        (policy_loss + value_loss).backward()
        optimizer.step()
        return policy_loss.item(), value_loss.item()

    def follow(self) -> None:
        """Move the weights of the network towards those of the student, or set them to these.

        With `averaging` the network that plays is a moving average, which is less noisy.
        """
        averages = self.network.parameters()
        share_of_new = 1 - self.config.averaging
        for average, new in zip(averages, self.student.parameters(), strict=True):
            average.detach().lerp_(new.detach(), share_of_new)  # in place

    def find_counterexamples(self) -> None:
        """Find the boards from which the network, to move, can be beaten, and remember them.

        With `proofs_per_search` some proofs are of the search instead, which meets other positions
        than the network, and errs in others. They take longer. With `to_win` a draw counts as
        beaten. A side whose proof would be beyond the limit adds none.

        With `truth_positions` nothing is proven: see `mistakes`.
        """
        config = self.config
        if config.truth_positions:
            self.remember([self.mistakes()])
            return
        limit = Limit(config.proof_positions)
        proofs = self.steps // (config.rounds_per_proof * config.games)
        simulations = 0
        if config.proofs_per_search and proofs % config.proofs_per_search == 0:
            simulations = config.simulations
        asked = player(config.replace(simulations=simulations), self.model())
        found = list[Boards]()
        for side in config.learned_sides:
            targets = {side: 1} if config.to_win else None
            response = response_to_learner(asked, self.rules, (side,), limit=limit, targets=targets)
            if response is not None:
                found.append(response.counterexamples)
        self.remember(found)

    def mistakes(self) -> Boards:
        """Boards (N, cells) of the newest games where the best move of the search is wrong.

        A wrong move turns a win into a draw or a loss, or a draw into a loss. The positions are
        drawn, each once; few of them have as many marks as make the truth slow.
        """
        newest = self.memory[-1]
        boards, first = np.unique(newest.boards, axis=0, return_index=True)
        moves = newest.policies[first].argmax(axis=1)
        is_slow = np.isin(np.count_nonzero(boards, axis=1), SLOW_MARKS)
        most = self.config.truth_positions
        quick = self.rng.permutation(np.flatnonzero(~is_slow))[:most]
        slow = self.rng.permutation(np.flatnonzero(is_slow))[: int(most * SLOW_SHARE)]
        asked = np.concatenate([quick, slow])
        optimal = solve(self.rules).optimal(boards[asked])
        is_right = np.take_along_axis(optimal, moves[asked, None], axis=1)[:, 0]
        return boards[asked[~is_right]]

    def remember(self, found: list[Boards]) -> None:
        """Remember the counterexamples (N, cells) of each source, if there is any."""
        self.counterexamples = -1
        if found:
            boards = np.concatenate(found)
            self.counterexamples = len(boards)
            self.beatable = kept_counterexamples(self.beatable, boards, proofs=16)

    def policy(self) -> TabularPolicy | LivePolicy:
        """The player of the network as it is."""
        return player(self.config, self.model())

    def notes(self) -> dict[str, float]:
        """The losses of the last round, and the number of counterexamples; -1 without a proof."""
        return {**self.losses, "counterexamples": self.counterexamples}

    def model(self) -> Arrays:
        """The weights of the network."""
        return weights_of(self.network)

    def state(self) -> State:
        """The attributes `STATE`, and the weights of the student."""
        return {**super().state(), "student": weights_of(self.student)}

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        super().restore(model, state)
        self.memory = [Examples(*saved) for saved in state["memory"]]
        load_weights(self.network, model)
        load_weights(self.student, state["student"])


begin = AlphaZero
