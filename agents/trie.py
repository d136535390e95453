"""Trie: a prefix tree of all games seen, with the results of the games through each node.

After the learning player of https://github.com/tophep/TicTacToe. It learns from both sides of
finished games: games that it plays, games of a file, and games that people play with it.

The tree stores sequences of moves, but moves are chosen by position. A move has the mean result of
all games through the position after it, and is never made if it is proven to lose: if the games
contain a winning reply, or a reply after which every move is proven to lose in turn. This is
minimax over the games in the tree, so proofs are always correct. In training, untried moves come
first, and a move is random with probability `epsilon`. The opponent `self` is the tree as it is
during the game, not a snapshot.

The preset `tophep` is the system itself, weaknesses included: it looks moves up by the sequence of
moves. A certificate needs a table by position, which `averaged` makes of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.games.game import Game
from tictactoe_env.opponents import SELF, make_opponent, parse_pool
from tictactoe_env.rules import SIDES, Boards, Rules, to_move
from training.learned import GamesLearner, teach
from training.learner import Arrays
from training.options import BoardConfig, Count, Natural, Share, option
from training.search_space import Range
from training.values import OwnValues, Scale, ValuedPolicy, bests

AGENT = "trie"
TITLE = "Game memory"
STORY = "It remembers all games that it has seen. It plays the move whose games went best."
UNIT = "games"
GOAL = "unbeatable"
SMALL = "--judge-every 200 --steps 600"
LEARNS_FROM_PEOPLE = True
OPPONENTS = "random:0.5,minimax:0.25,self:0.25", "random:0.5,self:0.5", "self"
SEARCH = {
    "opponents": OPPONENTS,
    "untried": ("last", "draw"),
    "epsilon": Range(0.0, 0.6),
}
# Scores of moves. Mean results are from -1 to 1; proven and untried moves have scores beyond.
WINS = 3.0
UNTRIED = 2.0
LOSES = -4.0  # is added to the mean
NO_MOVE = -9.0
UNTRIED_IN_PLAY = {"last": -2.0, "draw": -0.01}
# In place of a node, after a sequence that is not in the tree.
OUTSIDE = -1
# The highest value of a move that is not proven to win: a mean of won games is no proof. It stays
# below 1 where values are rounded, in the package.
UNPROVEN = 511 / 512
# The cumulated probabilities of a policy's moves, in each position.
Sums = list[list[float]]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


class Config(BoardConfig):
    """The options of a training. A step is a game."""

    steps: Natural = option(100_000, "Games that it plays, without the games of --learn-from.")
    opponents: str = option(OPPONENTS[0], "Opponents, as name:weight,...; self is the tree itself.")
    side: Literal["both", "X", "O"] = option("both", "Side that the tree plays; both: in turn.")
    untried: Literal["last", "draw", "tophep"] = option(
        "last", "Place of untried moves in play: last, as almost a draw, or as in tophep."
    )
    learn_from: str = option("", 'Games to learn first: a game store, or lines "b2 a1 c3 ...".')
    epsilon: Share = option(0.2, "Probability of a random legal move in training.")
    judge_every: Count = option(1_000, "Games between two exact evaluations.", rare=True)


# --- the tree ------------------------------------------------------------------------------------


class Trie:
    """All sequences of moves that were played, with the results of their games.

    A node is a number; 0 is the empty board. edges[node * cells + cell]: the node after a move.
    rows[node]: its position. results[node]: how many games through it X won, were drawn, O won.

    These are by position. visits: the number of games through it. total: the sum of their results
    for the side that has just moved. proven: +1 if the side to move is proven to win, -1 if it is
    proven to lose, else 0. score: the score of a move that leads there.

    Lists are faster than arrays here, because games come one at a time.
    """

    def __init__(self, config: Config):
        self.config = config
        self.positions = positions_of(config.rules)
        self.cells = config.rules.cells
        self.children = self.positions.children[self.positions.unfinished]
        self.after: list[list[int]] = self.positions.children.tolist()
        self.outcome: list[int] = self.positions.outcome_x.tolist()
        self.is_over: list[bool] = self.positions.is_over.tolist()
        has_moved = np.where(self.positions.x_to_move, -1, 1)  # the side that has just moved
        self.seat: list[int] = has_moved.tolist()
        self.parents: list[list[int]] = [[] for _ in self.after]
        for row, cell in np.argwhere(self.positions.children >= 0).tolist():
            self.parents[self.after[row][cell]].append(row)
        self.edges: dict[int, int] = {}
        self.rows = [0]
        self.results = [[0, 0, 0]]
        self.visits = [0] * len(self.after)
        self.total = [0] * len(self.after)
        self.proven = [0] * len(self.after)
        self.score = [UNTRIED] * len(self.after)

    def learn(self, cells: Iterable[int]) -> None:
        """Add a finished game of legal moves."""
        node = 0
        row = 0
        path = [(node, row)]
        for cell in cells:
            edge = node * self.cells + cell
            node = self.edges.get(edge) or self._grow(edge)
            row = self.after[row][cell]
            path.append((node, row))
        outcome = self.outcome[row]
        place = 1 - outcome  # X won, drawn, O won
        for node, row in reversed(path):
            self.results[node][place] += 1
            self.visits[row] += 1
            self.total[row] += self.seat[row] * outcome
            self._update(row)

    def fill(self, model: Arrays) -> None:
        """Fill an empty tree with a saved one."""
        for edge in model["keys"].tolist():
            self._grow(edge)
        self.results = model["results"].T.tolist()
        for row, (x_won, drawn, o_won) in zip(self.rows, self.results, strict=True):
            self.visits[row] += x_won + drawn + o_won
            self.total[row] += self.seat[row] * (x_won - o_won)
        if self.edges:
            from_the_ends = sorted(set(self.rows), reverse=True)
            for row in from_the_ends:
                self._update(row)

    def _grow(self, edge: int) -> int:
        """Add a node at the end of this edge."""
        parent, cell = divmod(edge, self.cells)
        self.edges[edge] = len(self.rows)
        self.rows.append(self.after[self.rows[parent]][cell])
        self.results.append([0, 0, 0])
        return self.edges[edge]

    def _update(self, row: int) -> None:
        """Update the proven value of a position, and the score of a move there."""
        if self.proven[row] == 0:
            self.proven[row] = self._prove(row)
            if self.proven[row]:
                for parent in self.parents[row]:
                    if self.visits[parent]:
                        self._update(parent)
        mean = self.total[row] / self.visits[row]
        if self.proven[row] < 0:
            self.score[row] = WINS
        elif self.proven[row] > 0:
            self.score[row] = LOSES + mean
        else:
            self.score[row] = mean

    def _prove(self, row: int) -> int:
        """+1 if the side to move is proven to win, -1 if it is proven to lose, else 0."""
        if self.is_over[row]:
            return -self.seat[row] * self.outcome[row]
        replies = [self.proven[child] for child in self.after[row] if child >= 0]
        if -1 in replies:
            return 1
        if min(replies) == 1:  # after every move the other side wins
            return -1
        return 0

    def choose(self, row: int, draw: float, node: int = 0) -> int:
        """The cell of the best score at a node or OUTSIDE; `draw` in [0, 1) breaks ties."""
        scores = self.scores(row, node)
        best = max(scores)
        cells = [cell for cell, score in enumerate(scores) if score == best]
        return cells[int(draw * len(cells))]

    def scores(self, row: int, node: int) -> list[float]:
        """The score of each cell in training."""
        return [self.score[child] if child >= 0 else NO_MOVE for child in self.after[row]]

    def after_move(self, node: int, cell: int) -> int:
        """The node after a move at a node, or OUTSIDE."""
        return self.edges.get(node * self.cells + cell, OUTSIDE)

    def table(self) -> NDArray[np.float64]:
        """The moves of the best score in play, equally likely: (U, cells)."""
        untried = UNTRIED_IN_PLAY[self.config.untried]
        scores = np.where(np.array(self.visits) > 0, self.score, untried)
        return bests(np.where(self.children >= 0, scores[self.children], -np.inf))

    def own_values(self) -> OwnValues:
        """The mean result of the games through each move; 1 or -1 only where that is proven."""
        visits = np.array(self.visits)
        proven = np.array(self.proven)
        means = np.array(self.total) / np.where(visits > 0, visits, np.nan)
        means = means.clip(-UNPROVEN, UNPROVEN)
        values = np.where(proven != 0, -proven, means)[self.children]
        meaning = "mean result of its games: win 1, draw 0, loss -1; 1 or -1 only if proven"
        return OwnValues(values, Scale(meaning), known=visits[self.positions.unfinished] > 0)


# --- the original player, by sequence ------------------------------------------------------------


class SequenceTrie(Trie):
    """The tree of tophep/TicTacToe, with its two weaknesses: `--preset tophep`.

    It prefers a move that ended a game without a loss, then an untried one, then one after which
    some game was not lost: a move that lost a thousand games and drew one is good. And it looks
    moves up by sequence, so what it learned after another order of moves is of no use.
    """

    def _update(self, row: int) -> None:
        """Do nothing: this player proves nothing, and gives positions no score."""

    def scores(self, row: int, node: int) -> list[float]:
        """The score of each cell, by the games through the node."""
        return [self._score(node, cell, child) for cell, child in enumerate(self.after[row])]

    def _score(self, node: int, cell: int, child: int) -> float:
        """The score of a cell at a node. child: the position after it."""
        if child < 0:
            return NO_MOVE
        after = self.after_move(node, cell)
        if after == OUTSIDE:
            return UNTRIED
        if self.is_over[child]:
            return WINS  # the game ended without a loss
        place = 1 + self.seat[child]  # of the games that this side has lost
        is_always_lost = self.results[after][place] == sum(self.results[after])
        return 0.0 if is_always_lost else 1.0

    def table(self) -> NDArray[np.float64]:
        """The mean of its moves over the sequences to each position: see `averaged`."""
        return averaged(self.tree()).table

    def tree(self) -> SequenceTree:
        """The player itself."""
        scores = [self.scores(row, node) for node, row in enumerate(self.rows)]
        probs = bests(np.array(scores))
        return SequenceTree(self.config.rules, self.rows, list(self.edges), probs)


class SequenceTree:
    """A player whose moves depend on the sequence of moves, not on the position alone.

    It has probabilities of its moves at each node of its tree, which is a sequence of moves, and it
    moves at random after any other sequence. Of these sequences, which have left the tree, only the
    position counts. So a game has S states: the N nodes, followed by all positions.

    rows: (S,) the position of each state. after: (S, cells) the state after each move. legal:
    (S, cells) bool. probs, random: (S, cells) the probabilities of the player and of random play.
    """

    def __init__(self, rules: Rules, rows: list[int], edges: list[int], probs: Floats):
        """Make the states of a tree.

        rows: (N,) the position of each node. edges: (N - 1,) the move to each node after the first,
        as cell + cells * the node before it. probs: (N, cells) of legal moves, rows sum to 1; those
        of a finished game are ignored.
        """
        self.rules = rules
        self.positions = positions_of(rules)
        outside = len(rows) + self.positions.children
        self.after = np.concatenate([outside[rows], outside])
        self.after.flat[edges] = np.arange(1, len(rows))
        self.rows = np.concatenate([rows, np.arange(len(outside))])
        self.legal = self.positions.children[self.rows] >= 0
        self.random = self.legal / np.maximum(self.legal.sum(axis=1, keepdims=True), 1)
        self.probs = np.concatenate([probs, self.random[len(rows) :]])

    def plies(self) -> Iterator[tuple[str, Rows]]:
        """For each number of marks: the side to move, and the unfinished states."""
        marks = self.positions.ply[self.rows]
        goes_on = ~self.positions.is_over[self.rows]
        for number in range(self.rules.cells):
            yield SIDES[number % 2], np.flatnonzero((marks == number) & goes_on)


def worst_cases(tree: SequenceTree) -> dict[str, dict[str, float]]:
    """The player's own probability of losing against a best response, for each side.

    It is given as in a certificate, which has the numbers of its table instead.
    """
    found = {}
    for side, lost in zip(SIDES, (-1, 1), strict=True):
        outcome = tree.positions.outcome_x[tree.rows]
        losses = (tree.positions.is_over[tree.rows] & (outcome == lost)).astype(float)
        for mover, at in reversed(list(tree.plies())):
            after = np.where(tree.legal[at], losses[tree.after[at]], 0.0)
            expected = (tree.probs[at] * after).sum(axis=1)
            losses[at] = expected if mover == side else after.max(axis=1)
        found[f"as_{side.lower()}"] = {"worst_case_loss": float(losses[0])}
    return found


def averaged(tree: SequenceTree) -> TabularPolicy:
    """The player as a table by position, with its own results against random play on both sides.

    In each position it has the mean of the player's moves over all sequences that lead there,
    weighted by their probability against random play (Puterman 1994, Markov Decision Processes,
    theorem 5.5.1). Its moves are random in positions that the player never reaches. Against any
    other opponent its results may differ: see `worst_cases`.
    """
    table = np.zeros((len(tree.positions), tree.rules.cells))
    for side in SIDES:
        # The probability of each state against random play.
        shares = np.zeros(len(tree.rows))
        shares[0] = 1.0
        for mover, at in tree.plies():
            probs = tree.probs if mover == side else tree.random
            moves = shares[at, None] * probs[at]
            if mover == side:
                np.add.at(table, tree.rows[at], moves)
            legal = tree.legal[at]
            np.add.at(shares, tree.after[at][legal], moves[legal])
    unfinished = tree.positions.unfinished
    legal = tree.positions.children[unfinished] >= 0
    table = table[unfinished]
    table = np.where(table.sum(axis=1, keepdims=True) == 0, legal, table)
    return TabularPolicy(tree.rules, table / table.sum(axis=1, keepdims=True))


# --- the player and the learner ------------------------------------------------------------------

TREES = {"last": Trie, "draw": Trie, "tophep": SequenceTrie}


class Memory(NamedTuple):
    """What a tree knows of the moves on a board.

    results: (cells, 3) how many games through the position after each move the side that makes it
    has won, drawn and lost. proven: (cells,) 1 if it is proven to win with this move, -1 if it is
    proven to lose, else 0.
    """

    results: Rows
    proven: Rows


class TriePolicy(ValuedPolicy):
    """The policy of a tree. played: the last game of a run's `learned.db` that it holds."""

    def __init__(self, trie: Trie, played: int = 0):
        super().__init__(trie.config.rules, trie.table(), trie.own_values())
        self.trie = trie
        self.played = played

    @cached_property
    def _results(self) -> Rows:
        """How many games through each of N positions X won, were drawn, O won: (N + 1, 3).

        The last row, which the illegal moves have, is 0.
        """
        results = np.zeros((len(self.trie.after) + 1, 3), dtype=np.intp)
        np.add.at(results, self.trie.rows, self.trie.results)
        return results

    def memory(self, board: Boards) -> Memory:
        """What it knows of the moves on an unfinished board (cells,)."""
        row = self.trie.positions.rows(board[None])[0]
        children = self.trie.positions.children[row]
        results = self._results[children]
        if to_move(board) < 0:
            results = results[:, ::-1]
        proven = np.where(children >= 0, -np.array(self.trie.proven)[children], 0)
        return Memory(results, proven)

    def after_games(self, games: Iterable[Game], played: int) -> TriePolicy:
        """The player after these games too, which are added to the tree."""
        teach(self.trie.learn, games, self.rules)
        return TriePolicy(self.trie, played)


def player(config: Config, model: Arrays) -> TriePolicy:
    """The player of a saved tree."""
    tree = TREES[config.untried](config)
    tree.fill(model)
    return TriePolicy(tree, int(model.get("played", 0)))


class TrieLearner(GamesLearner):
    """A tree that learns from each game that it plays, and from the games of others."""

    STATE = (*GamesLearner.STATE, "rng")

    def __init__(self, config: Config):
        super().__init__(config)
        self.trie = TREES[config.untried](config)
        names, weights = zip(*parse_pool(config.opponents), strict=True)
        *self.bounds, _ = accumulate(weights)  # between the shares of the opponents, up to 1
        self.opponents: list[Sums | None] = []  # None is the tree itself
        for name in names:
            sums = None
            if name != SELF:
                player = make_opponent(name, config.rules, also=[SELF])
                table = tabulate(player, config.rules)
                sums = table.by_row().cumsum(axis=1).tolist()
            self.opponents.append(sums)
        self.rng = np.random.default_rng(config.seed)

    def read_files(self) -> None:
        """Learn the games of `learn_from`."""
        self.learn_first(self.config.learn_from)

    def advance(self, most: int) -> None:
        """Play `most` games and learn from each, at first from the games of `learn_from`."""
        self.read_files()
        for first, *draws in self.rng.random((most, 1 + self.trie.cells)).tolist():
            opponent = self.opponents[bisect_right(self.bounds, first)]
            self.trie.learn(self.play(opponent, draws))
            self.steps += 1

    def play(self, opponent: Sums | None, draws: list[float]) -> list[int]:
        """The moves of a game against an opponent. draws: a number in [0, 1) for each move."""
        trie = self.trie
        epsilon = self.config.epsilon
        # Of the number of marks before its moves.
        own_parity = {"both": self.steps % 2, "X": 0, "O": 1}[self.config.side]
        node = 0
        row = 0
        cells = []
        for ply, draw in enumerate(draws):
            if opponent is not None and ply % 2 != own_parity:
                cell = bisect_right(opponent[row], draw * opponent[row][-1])
            elif draw < epsilon:  # the number also draws the cell
                legal = [cell for cell, child in enumerate(trie.after[row]) if child >= 0]
                cell = legal[int(draw / epsilon * len(legal))]
            else:  # the number also breaks ties
                cell = trie.choose(row, (draw - epsilon) / (1 - epsilon), node)
            cells.append(cell)
            node = trie.after_move(node, cell)
            row = trie.after[row][cell]
            if trie.is_over[row]:
                break
        return cells

    def training_entries(self) -> dict[str, Any]:
        """The files it has learned from; of a player by sequence also its own worst cases."""
        found = super().training_entries()
        if isinstance(self.trie, SequenceTrie):
            found["by_sequence"] = worst_cases(self.trie.tree())
        return found

    def policy(self) -> TriePolicy:
        """The moves of the best score."""
        return TriePolicy(self.trie, self.played)

    def model(self) -> Arrays:
        """The edges of the tree and the results of its nodes."""
        arrays: Arrays = {
            "keys": np.array(list(self.trie.edges), dtype=np.int64),
            "results": np.array(self.trie.results).T,
        }
        if self.played:
            arrays["played"] = np.array(self.played)
        return arrays

    def restore(self, model: Arrays, state: dict[str, Any]) -> None:
        """Continue with the saved tree."""
        super().restore(model, state)
        self.trie.fill(model)


begin = TrieLearner
