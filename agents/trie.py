"""Trie: a prefix tree of all games seen, with the results of the games through each node.

After the learning player of tophep/TicTacToe (https://github.com/tophep/TicTacToe, Go). It learns
from finished games, one at a time, and from the moves of both sides. The games are those that it
plays, those of a file, and those that people play with it. There is no discount, no step size and
no network.

- The tree stores sequences of moves, but moves are chosen by position. The statistics of a move are
  those of the position after it, summed over all sequences that lead there.
- `rule="counting"` takes the move with the best mean result, but never one that is proven to lose.
  A move is proven to lose if the games contain a winning reply to it, or a reply after which every
  move is proven to lose in turn. This is minimax over the games in the tree. Proofs are always
  correct, and with enough games every position has its value proven.
- `rule="one-tie"` is the rule of tophep/TicTacToe. It prefers a move that ended a game without a
  loss, then a move that was never tried, then a move after which some game was not lost, then any
  other. A move that lost a thousand games and drew one counts as good, so the best response wins
  almost always.
- `lookup="sequence"` chooses moves by the sequence that was played, as tophep/TicTacToe does. What
  was learned after one order of moves is not known after another. Such a player is no function of
  the board. Its certificate holds the mean of its moves in each position, which has its results
  against random play; its own worst case stands beside the training (`by_sequence`). See
  training/sequences.py.
- In play, a move that was never tried comes after all others that are not proven to lose. With
  `untried="draw"` it counts as almost a draw, so the player tries another move after a loss.
- In training, moves that were never tried come first, and a move is random with probability
  `epsilon`. In the pool of opponents, `self` is the tree as it is during the game, not a snapshot.

A step is a game. A board of 3x4 takes a second to prepare.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.games.game import Game
from tictactoe_env.notation import SIDES
from tictactoe_env.opponents import SELF, make_opponent, parse_pool
from tictactoe_env.rules import Rules
from training.games_learner import GamesLearner
from training.learned import teach
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
X_WON, DRAWN, O_WON = range(3)

# Scores of moves. Mean results are from -1 to 1; proven and untried moves have scores beyond.
WINS, UNTRIED, UNTRIED_IN_PLAY, LOSES = 3.0, 2.0, -2.0, -4.0
ALMOST_DRAWN = -0.01  # a move that was never tried, with untried="draw"
NO_MOVE = -9.0
OUTSIDE = -1  # in place of a node, after a sequence that is not in the tree

Sums = list[list[float]]
"""The running sums of the probabilities of a policy's moves in each position."""


@dataclass(frozen=True)
class Config(BoardConfig):
    """The options of a training. A step is a game."""

    steps: Natural = option(
        100_000, "Games after which training ends; those of --learn-from do not count."
    )
    opponents: str = option(
        "random:0.5,minimax:0.25,self:0.25",
        'Opponents, as name:weight,...; "self" means the tree itself.',
    )
    side: Literal["both", "X", "O"] = option(
        "both", "Side that the tree plays in training: both (in turn), X or O."
    )
    untried: Literal["last", "draw"] = option(
        "last",
        "Rating of a move that was never tried, in play: last takes any other that is not proven "
        "to lose; draw rates it just below a draw.",
    )
    learn_from: str = option(
        "",
        "File of games to learn from first: a game store, or text with one game per line such as "
        '"b2 a1 c3 ...". With --resume: file of further games for this tree.',
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
    "opponents": (
        "random:0.5,minimax:0.25,self:0.25",
        "random:0.5,self:0.5",
        "self",
        "random",
        "minimax",
    ),
    "untried": ("last", "draw"),
    "epsilon": Range(0.0, 0.6),
}


# --- the tree -------------------------------------------------------------------------------------


class Trie:
    """All sequences of moves that were played, with the results of their games.

    A node is a number; 0 is the empty board. `edges[node * cells + cell]` is the node after a move,
    and `keys[node]` is the key of the edge that leads to a node. results[r][node]: games through a
    node with result r (X won, drawn, O won). These are lists, because games come one at a time.

    By position, over all nodes that reach it: counts[r][row] games with result r, sequences[row]
    nodes, known[row] the proven value, and score[row] of a move there. known: +1 if the side to
    move is proven to win, -1 if it is proven to lose, 0 otherwise.
    """

    def __init__(
        self,
        rules: Rules,
        rule: str = "counting",
        lookup: str = "position",
        untried: str = "last",
    ):
        positions = positions_of(rules)
        self.rules, self.rule, self.positions = rules, rule, positions
        self.lookup, self.untried = lookup, untried
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
        """The number of sequences of moves, beginnings of games included, without the empty one."""
        return len(self.keys) - 1

    @property
    def games(self) -> int:
        """The number of games in the tree."""
        return sum(result[0] for result in self.results)

    # --- learning ---------------------------------------------------------------------------------

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
        counts = [count[row] for count in self.counts]
        is_one_tie = self.rule == "one-tie"
        self.score[row] = self._one_tie(row, counts) if is_one_tie else self._counting(row, counts)

    def _proven(self, row: int) -> int:
        """+1 if the side to move is proven to win, -1 if it is proven to lose, else 0."""
        if self.is_over[row]:
            return -abs(self.outcome[row])
        known = [self.known[child] for child in self.after[row] if child >= 0]
        return 1 if -1 in known else -(min(known) == 1)

    def _counting(self, row: int, counts: list[int]) -> float:
        """The mean result for the side that has just moved; beyond -1 to 1 where it is proven."""
        if self.known[row] < 0:
            return WINS
        x, drawn, o = counts
        mean = (x - o if self.mover_won[row] == X_WON else o - x) / (x + drawn + o)
        return mean + LOSES if self.known[row] > 0 else mean

    def _one_tie(self, row: int, counts: list[int]) -> float:
        """WINS for a finished game, 1 if a game was won or drawn by the side that moved, else 0."""
        if self.is_over[row]:
            return WINS
        return float(counts[self.mover_won[row]] + counts[DRAWN] > 0)

    # --- playing ----------------------------------------------------------------------------------

    def choose(self, row: int, draw: float, node: int = 0) -> int:
        """The cell of the best score in training; `draw` in [0, 1) breaks ties.

        node: that of the sequence of moves, or OUTSIDE; it matters for look-up by sequence only.
        """
        if self.lookup == "sequence":
            scores = self._by_sequence(row, node)
        else:
            scores = [self.score[child] if child >= 0 else NO_MOVE for child in self.after[row]]
        best = max(scores)
        cells = [cell for cell, score in enumerate(scores) if score == best]
        return cells[int(draw * len(cells))]

    def after_move(self, node: int, cell: int) -> int:
        """The node after a move at a node, or OUTSIDE."""
        return self.edges.get(node * self.rules.cells + cell, OUTSIDE)

    def _by_sequence(self, row: int, node: int) -> list[float]:
        """The score of each cell at a node, by the games through the node after it."""
        scores = [NO_MOVE] * self.rules.cells
        for cell, child in enumerate(self.after[row]):
            if child >= 0:
                after = self.after_move(node, cell)
                counts = [result[after] for result in self.results]
                scores[cell] = UNTRIED if after == OUTSIDE else self._one_tie(child, counts)
        return scores

    def table(self) -> NDArray[np.float64]:
        """The moves of the best score, equally likely: (U, cells); by sequence their mean."""
        if self.lookup == "sequence":
            return averaged(self.tree()).table
        score, seen = np.array(self.score), np.array(self.sequences) > 0
        if self.rule == "counting":
            score[~seen] = UNTRIED_IN_PLAY if self.untried == "last" else ALMOST_DRAWN
        children = self.positions.children[self.positions.unfinished]
        return _best_of(np.where(children >= 0, score[children], -np.inf))

    def tree(self) -> SequenceTree:
        """The player that looks moves up by sequence, as a tree."""
        rows, results = np.array(self.row_of_node), np.array(self.results)
        mover_won = results[np.array(self.mover_won)[rows], np.arange(len(rows))]
        is_over = self.positions.is_over[rows]
        score = np.where(is_over, WINS, mover_won + results[DRAWN] > 0)
        edges = np.full(len(rows) * self.rules.cells, OUTSIDE, dtype=np.intp)
        edges[self.keys[1:]] = np.arange(1, len(rows))
        children = edges.reshape(len(rows), -1)
        scores = np.where(children >= 0, score[children], UNTRIED)
        scores[self.positions.children[rows] < 0] = -np.inf
        scores[is_over] = 0.0
        return SequenceTree(self.rules, rows, children, _best_of(scores))

    def own_values(self) -> OwnValues:
        """The mean result of the games that reached the position after each move, for the mover.

        With the rule "counting" a move has exactly 1 or -1 where the games prove its result. A move
        to a position that no game has reached has no value.
        """
        x, drawn, o = np.array(self.counts, dtype=np.float64)
        games, proven = x + drawn + o, np.array(self.known)
        seats = np.where(self.positions.x_to_move, -1, 1)  # of the side that has just moved
        means = seats * (x - o) / np.where(games > 0, games, np.nan)
        meaning = "mean result of the games it knows through the move: win 1, draw 0, loss -1"
        if self.rule == "counting":
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
    tree = Trie(config.rules, config.rule, config.lookup, config.untried)
    tree.fill(model["keys"].tolist(), model["results"])
    return TriePolicy(tree, int(model.get("played", 0)))


# --- training -------------------------------------------------------------------------------------


class TrieLearner(GamesLearner):
    """A tree that learns from each game that it plays, and from those of others."""

    STATE = (*GamesLearner.STATE, "rng")

    def __init__(self, config: Config):
        super().__init__(config)
        self.trie = Trie(config.rules, config.rule, config.lookup, config.untried)
        pairs = parse_pool(config.opponents)
        self.weights = list(accumulate(weight for _, weight in pairs))[:-1]
        self.players = [None if name == SELF else _sums(name, config.rules) for name, _ in pairs]
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
        arrays = {
            "keys": np.array(self.trie.keys[1:], dtype=np.int64),
            "results": np.array(self.trie.results, dtype=np.int64),
        }
        return {**arrays, "played": np.array(self.played)} if self.played else arrays

    def restore(self, model: Arrays, state: dict[str, Any]) -> None:
        """Continue with the saved tree."""
        super().restore(model, state)
        saved = player(self.config, model)
        self.trie, self.played = saved.trie, saved.played


begin = TrieLearner


def _sums(name: str, rules: Rules) -> Sums:
    probs = tabulate(make_opponent(name, rules, also=[SELF]), rules).by_row()
    return np.minimum(probs.cumsum(axis=1), 1.0).tolist()


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
