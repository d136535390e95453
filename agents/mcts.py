"""Monte-Carlo tree search: playouts from the empty board grow one graph of positions.

The search itself is in `tictactoe_env/search/mcts.py`. A step is one playout. The player makes the
move to the position with the highest mean success. Visits do not decide, because a position is also
visited by other sequences of moves.

The model is the graph and the state of the random generator. The graph holds marks, result, visits
and successes of each position. There is no other state.
"""

from __future__ import annotations

import math
import random
from typing import Literal

import numpy as np

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.policy import one_hot
from tictactoe_env.search.mcts import PLAYOUTS, DescentGraph, Graph, Node, meaning
from training.learner import Arrays, Learner, State
from training.options import BoardConfig, Count, NotNegative, Share, option
from training.search_space import Range
from training.values import OwnValues, Scale, ValuedPolicy, bests

AGENT = "mcts"
TITLE = "Grown search tree"
STORY = (
    "From the empty board thousands of games are played to the end, more and more often through "
    "the moves that have done well. The tree of these games is kept, and it plays the move with "
    "the best record."
)
UNIT = "playouts"
SMALL = "--judge-every 200 --steps 600"
# In the array `result`, where the results of finished games are +1, 0 and -1, for X.
UNFINISHED = 2


class Config(BoardConfig):
    """The options of a search. A step is a playout from the empty board."""

    steps: Count = option(4_000, "Playouts after which the search ends.")
    exploration: NotNegative = option(math.sqrt(2), "Weight of the exploration term of UCB1.")
    draws: Share = option(
        0.5, "Success of a draw for either side, where a win counts 1 and a loss 0."
    )
    playout: Literal["rollout", "descent"] = option(
        "rollout",
        "End of a playout: rollout ends at the first new position with random moves; descent "
        "goes on to the end of the game by UCT, with the logarithm of the visits of all positions "
        "before a move, and is never random.",
    )
    judge_every: Count = option(200, "Playouts between two exact evaluations.", rare=True)


SEARCH = {"exploration": Range(0.2, 4.0, log=True), "draws": Range(0.2, 0.8)}


def player(config: Config, model: Arrays) -> ValuedPolicy:
    """The player of a saved graph."""
    graph = graph_of(config, model)
    return ValuedPolicy(config.rules, table_of(graph).table, own_values(graph))


class MCTS(Learner):
    """A graph that grows by playouts from the empty board."""

    def __init__(self, config: Config):
        self.config = config
        self._continue_with(empty_graph(config))

    def _continue_with(self, graph: Graph) -> None:
        self.graph = graph
        self.root = graph.root(np.zeros(graph.rules.cells, dtype=np.int8))

    def advance(self, most: int) -> None:
        """Make `most` playouts."""
        for _ in range(most):
            self.graph.playout(self.root)
        self.steps += most

    def policy(self) -> TabularPolicy:
        """The moves with the highest mean success."""
        return table_of(self.graph)

    def notes(self) -> dict[str, float]:
        """The number of positions in the graph, up to symmetry."""
        return {"positions": len(self.graph.nodes)}

    def model(self) -> Arrays:
        """The positions of the graph (N,), and the state of the random generator."""
        full = self.graph.rules.full
        nodes = self.graph.nodes.values()
        results = [UNFINISHED if node.result is None else node.result for node in nodes]
        _, words, _ = self.graph.rng.getstate()
        return {
            "x": np.array([node.x & full for node in nodes], dtype=np.uint64),
            "o": np.array([node.o & full for node in nodes], dtype=np.uint64),
            "result": np.array(results, dtype=np.int8),
            "visits": np.array([node.visits for node in nodes], dtype=np.int64),
            "total": np.array([node.total for node in nodes], dtype=np.float64),
            "random": np.array(words, dtype=np.uint32),
        }

    def state(self) -> State:
        """An empty state: the model holds everything."""
        return {}

    def restore(self, model: Arrays, state: State) -> None:
        """Continue with the saved graph and generator."""
        self._continue_with(graph_of(self.config, model))
        words = model["random"]
        self.graph.rng.setstate((random.Random.VERSION, tuple(words.tolist()), None))


def empty_graph(config: Config) -> Graph:
    """A graph without positions."""
    rng = random.Random(config.seed)
    return PLAYOUTS[config.playout](config.rules, rng, config.exploration, config.draws)


def graph_of(config: Config, model: Arrays) -> Graph:
    """The graph of saved arrays, with a new random generator."""
    graph = empty_graph(config)
    boards = graph.rules.to_boards(model["x"], model["o"])
    numbers = (model[name].tolist() for name in ("result", "visits", "total"))
    for board, result, visits, total in zip(boards, *numbers, strict=True):
        x = graph.orientations.marks(board, 1)
        o = graph.orientations.marks(board, -1)
        node = Node(x, o, None if result == UNFINISHED else result)
        node.visits = visits
        node.total = total
        graph.nodes[graph.orientations.key(x, o)] = node
    if isinstance(graph, DescentGraph):
        graph.count_above()
    return graph


def table_of(graph: Graph) -> TabularPolicy:
    """The moves with the highest mean success, equally likely; by descent the first of them.

    A position without a playout is worse than all others; by descent it is as bad as a lost one.
    """
    positions = positions_of(graph.rules)
    means = own_values(graph).values
    legal = positions.children[positions.unfinished] >= 0
    is_by_descent = isinstance(graph, DescentGraph)
    unvisited = 0.0 if is_by_descent else -1.0
    values = np.where(legal, np.nan_to_num(means, nan=unvisited), -np.inf)
    first = one_hot(values.argmax(axis=1), graph.rules.cells)
    return TabularPolicy(graph.rules, first if is_by_descent else bests(values))


def own_values(graph: Graph) -> OwnValues:
    """The mean success of the playouts that reached the position after each move.

    A move to a position without a playout has no value.
    """
    positions = positions_of(graph.rules)
    means = np.full(len(positions), np.nan)
    canonical = np.unique(positions.canonical)
    for row, board in zip(canonical.tolist(), positions.boards[canonical], strict=True):
        node = graph.nodes.get(graph.orientations.key_of(board))
        if node is not None and node.visits:
            means[row] = node.mean
    children = positions.children[positions.unfinished]
    values = np.where(children >= 0, means[positions.canonical[children]], np.nan)
    return OwnValues(values, Scale(meaning(graph.draws), 0.0, 1.0))


begin = MCTS
