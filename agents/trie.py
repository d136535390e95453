"""Trie: a prefix tree of all games seen, with the results of the games through each node.

After the learning player of https://github.com/tophep/TicTacToe. It learns from finished games, one
at a time, and from the moves of both sides: games that it plays, those of a file, and those that
people play with it. There is no discount, no step size and no network.

The tree stores sequences of moves, but moves are chosen by position. A move has the mean result of
all games through the position after it, and is never made if it is proven to lose: if the games
contain a winning reply, or a reply after which every move is proven to lose in turn. This is
minimax over the games in the tree, so proofs are always correct, and with enough games they cover
every position. In training, moves that were never tried come first, and a move is random with
probability `epsilon`. The opponent `self` is the tree as it is during the game, not a snapshot.

tophep/TicTacToe has two weaknesses, which `--preset tophep` keeps. With the rule "one-tie" it
prefers a move that ended a game without a loss, then one that was never tried, then one after which
some game was not lost: a move that lost a thousand games and drew one counts as good. With the
look-up "sequence" it does not know what it learned after another order of moves. Such a player is
no function of the board; `training/sequences.py` says what its certificate holds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.games.game import Game
from tictactoe_env.notation import SIDES
from tictactoe_env.opponents import SELF, make_opponent, parse_pool
from training.learned import GamesLearner, teach
from training.learner import Arrays
from training.options import BoardConfig, Count, Natural, Share, option
from training.search_space import Range
from training.sequences import SequenceTree, averaged, worst_cases
from training.values import OwnValues, ValuedPolicy

AGENT = "trie"
TITLE = "Game memory"
STORY = (
    "It remembers every game that it has seen, as a tree of moves with the results below each. It "
    "plays the move whose remembered games went best."
)
UNIT = "games"
GOAL = "unbeatable"
SMALL = "--judge-every 200 --steps 600"
LEARNS_FROM_PEOPLE = True
OPPONENTS = "random:0.5,minimax:0.25,self:0.25", "random:0.5,self:0.5", "self"
X_WON, DRAWN, O_WON = range(3)

# Scores of moves. Mean results are from -1 to 1; proven and untried moves have scores beyond.
WINS, UNTRIED, UNTRIED_IN_PLAY, LOSES = 3.0, 2.0, -2.0, -4.0
ALMOST_DRAWN = -0.01  # a move that was never tried, with untried="draw"
NO_MOVE = -9.0
OUTSIDE = -1  # in place of a node, after a sequence that is not in the tree

Sums = list[list[float]]
"""The running sums of the probabilities of a policy's moves in each position."""


class Config(BoardConfig):
    """The options of a training. A step is a game."""

    steps: Natural = option(100_000, "Games that it plays; those of --learn-from do not count.")
    opponents: str = option(OPPONENTS[0], "Opponents, as name:weight,...; self is the tree itself.")
    side: Literal["both", "X", "O"] = option("both", "Side that the tree plays; both: in turn.")
    untried: Literal["last", "draw"] = option(
        "last", "In play a move that was never tried comes last, or counts as almost a draw."
    )
    learn_from: str = option(
        "", 'Games to learn first: a game store, or text with a game per line, "b2 a1 c3 ...".'
    )
    epsilon: Share = option(0.2, "Probability of a random legal move in training.")
    judge_every: Count = option(1_000, "Games between two exact evaluations.")
    rule: Literal["counting", "one-tie"] = "counting"
    lookup: Literal["position", "sequence"] = "position"

    def check(self) -> None:
        """Each rule has one option of its own."""
        if self.rule != "one-tie" and self.lookup == "sequence":
            raise ValueError("lookup sequence needs the rule one-tie: counting proves positions")
        if self.rule == "one-tie" and self.untried != "last":
            raise ValueError("untried is of the rule counting: one-tie has an order of its own")


SEARCH = {
    "opponents": OPPONENTS,
    "untried": ("last", "draw"),
    "epsilon": Range(0.0, 0.6),
}


class Trie:
    """All sequences of moves that were played, with the results of their games.

    A node is a number; 0 is the empty board. `edges[node * cells + cell]` is the node after a move,
    and `keys[node]` is the key of the edge that leads to a node. results[r][node]: games through a
    node with result r (X won, drawn, O won). These are lists, because games come one at a time.

    By position, over all nodes that reach it: counts[r][row] games with result r, sequences[row]
    nodes, known[row] the proven value, and score[row] of a move there. known: +1 if the side to
    move is proven to win, -1 if it is proven to lose, 0 otherwise.
    """

    def __init__(self, config: Config):
        self.config, self.rules = config, config.rules
        self.positions = positions = positions_of(config.rules)
        self.after: list[list[int]] = positions.children.tolist()
        self.outcome: list[int] = positions.outcome_x.tolist()
        self.is_over: list[bool] = positions.is_over.tolist()
        self.parents: list[list[int]] = [[] for _ in self.after]
        for row, children in enumerate(self.after):
            for child in children:
                if child >= 0:
                    self.parents[child].append(row)
        # the result that is a win of the side that has just moved
        self.mover_won = [O_WON if even else X_WON for even in positions.x_to_move.tolist()]
        self.edges: dict[int, int] = {}
        self.keys, self.row_of_node = [-1], [0]
        self.results: list[list[int]] = [[0], [0], [0]]
        self.counts = [[0] * len(positions) for _ in range(3)]
        self.sequences = [0] * len(positions)
        self.known = [0] * len(positions)
        self.score = [UNTRIED] * len(positions)
        self.sequences[0] = 1

    def __len__(self) -> int:
        """The number of sequences of moves, without the empty one."""
        return len(self.keys) - 1

    @property
    def games(self) -> int:
        """The number of games in the tree."""
        return sum(result[0] for result in self.results)

    def learn(self, cells: Iterable[int]) -> None:
        """Add a finished game of legal moves."""
        rows, node, nodes = [0], 0, [0]
        for cell in cells:
            row = self.after[rows[-1]][cell]
            key = node * self.rules.cells + cell
            found = self.edges.get(key)
            node = self._grow(key, row) if found is None else found
            rows.append(row)
            nodes.append(node)
        result = 1 - self.outcome[rows[-1]]
        reached, count = self.results[result], self.counts[result]
        for node, row in zip(nodes, rows, strict=True):
            reached[node] += 1
            count[row] += 1
        for row in reversed(rows):
            self._update(row)

    def fill(self, keys: list[int], results: NDArray[np.int64]) -> None:
        """Fill an empty tree with these `keys` (nodes - 1) and `results` (3, nodes)."""
        for key in keys:
            parent, cell = divmod(key, self.rules.cells)
            self._grow(key, self.after[self.row_of_node[parent]][cell])
        self.results = results.tolist()
        rows, size = np.array(self.row_of_node), len(self.after)
        sums = (np.bincount(rows, weights=result, minlength=size) for result in results)
        self.counts = [count.astype(int).tolist() for count in sums]
        for row in reversed(np.unique(rows).tolist() if keys else []):
            self._update(row)

    def _grow(self, key: int, row: int) -> int:
        """Add a node at the end of this edge, at the position `row`."""
        node = len(self.keys)
        self.edges[key] = node
        self.keys.append(key)
        self.row_of_node.append(row)
        for result in self.results:
            result.append(0)
        self.sequences[row] += 1
        return node

    def _update(self, row: int) -> None:
        """Update the proven value of a position, and the score of a move there."""
        if self.known[row] == 0:
            self.known[row] = self._proven(row)
            if self.known[row]:
                for parent in self.parents[row]:
                    if self.sequences[parent]:
                        self._update(parent)
        self.score[row] = self._scored(row, [count[row] for count in self.counts])

    def _proven(self, row: int) -> int:
        """+1 if the side to move is proven to win, -1 if it is proven to lose, else 0."""
        if self.is_over[row]:
            return -abs(self.outcome[row])
        known = [self.known[child] for child in self.after[row] if child >= 0]
        return 1 if -1 in known else -(min(known) == 1)

    def _scored(self, row: int, counts: list[int]) -> float:
        """The score of a move to a position with these results, by the rule."""
        mover_won = self.mover_won[row]
        won, lost = counts[mover_won], counts[O_WON - mover_won]
        if self.config.rule == "one-tie":
            return WINS if self.is_over[row] else float(won + counts[DRAWN] > 0)
        if self.known[row] < 0:
            return WINS
        mean = (won - lost) / sum(counts)
        return mean + LOSES if self.known[row] > 0 else mean

    def choose(self, row: int, draw: float, node: int = 0) -> int:
        """The cell of the best score in training; `draw` in [0, 1) breaks ties.

        node: that of the sequence of moves, or OUTSIDE; it matters for look-up by sequence only.
        """
        scores = self.scores(row, node)
        best = max(scores)
        cells = [cell for cell, score in enumerate(scores) if score == best]
        return cells[int(draw * len(cells))]

    def scores(self, row: int, node: int) -> list[float]:
        """The score of each cell in training: by position, or by the games through the node."""
        if self.config.lookup == "position":
            return [self.score[child] if child >= 0 else NO_MOVE for child in self.after[row]]
        scores = [NO_MOVE] * self.rules.cells
        for cell, child in enumerate(self.after[row]):
            if child >= 0:
                after = self.after_move(node, cell)
                counts = [result[after] for result in self.results]
                scores[cell] = UNTRIED if after == OUTSIDE else self._scored(child, counts)
        return scores

    def after_move(self, node: int, cell: int) -> int:
        """The node after a move at a node, or OUTSIDE."""
        return self.edges.get(node * self.rules.cells + cell, OUTSIDE)

    def table(self) -> NDArray[np.float64]:
        """The moves of the best score, equally likely: (U, cells); by sequence their mean."""
        if self.config.lookup == "sequence":
            return averaged(self.tree()).table
        score, seen = np.array(self.score), np.array(self.sequences) > 0
        if self.config.rule == "counting":
            score[~seen] = UNTRIED_IN_PLAY if self.config.untried == "last" else ALMOST_DRAWN
        children = self.positions.children[self.positions.unfinished]
        return _best_of(np.where(children >= 0, score[children], -np.inf))

    def tree(self) -> SequenceTree:
        """The player that looks moves up by sequence, as a tree."""
        nodes, cells = range(len(self.row_of_node)), range(self.rules.cells)
        children = np.array([[self.after_move(node, cell) for cell in cells] for node in nodes])
        scores = np.array([self.scores(row, node) for node, row in enumerate(self.row_of_node)])
        return SequenceTree(self.rules, np.array(self.row_of_node), children, _best_of(scores))

    def own_values(self) -> OwnValues:
        """The mean result of the games through each move; exactly 1 or -1 where it is proven."""
        x, drawn, o = np.array(self.counts, dtype=np.float64)
        games, proven = x + drawn + o, np.array(self.known)
        seats = np.where(self.positions.x_to_move, -1, 1)  # of the side that has just moved
        means = seats * (x - o) / np.where(games > 0, games, np.nan)
        meaning = "mean result of the games it knows through the move: win 1, draw 0, loss -1"
        if self.config.rule == "counting":
            means = np.where((games > 0) & (proven != 0), -proven, means)
            meaning += "; exactly 1 or -1 if the games prove it"
        going = self.positions.unfinished
        children = self.positions.children[going]
        values = np.where(children >= 0, means[children], np.nan)
        return OwnValues(values, meaning, known=np.array(self.sequences)[going] > 0)


def _best_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The moves of the best score in each row, equally likely."""
    best = scores == scores.max(axis=1, keepdims=True)
    return best / best.sum(axis=1, keepdims=True)


class TriePolicy(ValuedPolicy):
    """The moves and values of a tree at one moment. `trie` itself may continue to learn.

    played: of a saved run, the number of the last game of `learned.db` that is in the tree.
    """

    def __init__(self, trie: Trie, played: int = 0):
        super().__init__(trie.rules, trie.table(), trie.own_values())
        self.trie, self.played = trie, played

    def after_games(self, games: Iterable[Game], played: int) -> TriePolicy:
        """The player after these games too, which are added to the tree."""
        teach(self.trie.learn, games, self.rules)
        return TriePolicy(self.trie, played)


def player(config: Config, model: Arrays) -> TriePolicy:
    """The player of a saved tree."""
    tree = Trie(config)
    tree.fill(model["keys"].tolist(), model["results"])
    return TriePolicy(tree, int(model.get("played", 0)))


class TrieLearner(GamesLearner):
    """A tree that learns from each game that it plays, and from those of others."""

    STATE = (*GamesLearner.STATE, "rng")

    def __init__(self, config: Config):
        super().__init__(config)
        self.trie = Trie(config)
        names, weights = zip(*parse_pool(config.opponents), strict=True)
        self.weights = list(accumulate(weights))[:-1]
        self.players: list[Sums | None] = [None for _ in names]  # None for the tree itself
        for number, name in enumerate(names):
            if name != SELF:
                opponent = make_opponent(name, config.rules, also=[SELF])
                sums = tabulate(opponent, config.rules).by_row().cumsum(axis=1)
                self.players[number] = np.minimum(sums, 1.0).tolist()
        self.rng = np.random.default_rng(config.seed)

    def learn(self, cells: Sequence[int]) -> None:
        """Add a finished game."""
        self.trie.learn(cells)

    def advance(self, most: int) -> None:
        """Play `most` games and learn from each, at first from those of `learn_from`."""
        config = self.config
        self.learn_first(config.learn_from)
        for number, *draws in self.rng.random((most, 1 + config.rules.cells)).tolist():
            side = self.steps % 2 if config.side == "both" else SIDES.index(config.side)
            opponent = self.players[bisect_right(self.weights, number)]
            self.learn(play(self.trie, opponent, side, config.epsilon, draws))
            self.steps += 1

    def about(self) -> dict[str, Any]:
        """With look-up by sequence also the worst case of such play."""
        by_sequence = self.config.lookup == "sequence"
        more = {"by_sequence": worst_cases(self.trie.tree())} if by_sequence else {}
        return {**super().about(), **more}

    def policy(self) -> TriePolicy:
        """The moves of the best score."""
        return TriePolicy(self.trie, self.played)

    def model(self) -> Arrays:
        """The edges of the tree and the results of its nodes."""
        keys, results = np.array(self.trie.keys[1:], dtype=np.int64), np.array(self.trie.results)
        arrays = {"keys": keys, "results": results}
        return {**arrays, "played": np.array(self.played)} if self.played else arrays

    def restore(self, model: Arrays, state: dict[str, Any]) -> None:
        """Continue with the saved tree."""
        super().restore(model, state)
        saved = player(self.config, model)
        self.trie, self.played = saved.trie, saved.played


begin = TrieLearner


def play(
    trie: Trie, opponent: Sums | None, side: int, epsilon: float, draws: list[float]
) -> list[int]:
    """The moves of a game of the tree as `side` (0 X, 1 O) against an opponent, None for itself.

    draws: a random number in [0, 1) for each move. One game at a time is faster with lists.
    """
    row, node, cells = 0, 0, []
    for ply, draw in enumerate(draws):
        if opponent is not None and ply % 2 != side:
            sums = opponent[row]
            cell = bisect_right(sums, draw * sums[-1])
        elif draw < epsilon:
            legal = [cell for cell, child in enumerate(trie.after[row]) if child >= 0]
            cell = legal[int(draw / epsilon * len(legal))]
        else:
            cell = trie.choose(row, (draw - epsilon) / (1 - epsilon), node)
        cells.append(cell)
        row, node = trie.after[row][cell], trie.after_move(node, cell)
        if trie.is_over[row]:
            break
    return cells
