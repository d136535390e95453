"""Trie: a prefix tree of all games seen, with the results of the games through each node.

After the learning player of tophep/TicTacToe (https://github.com/tophep/TicTacToe, Go). It learns
from finished games, one at a time, and from the moves of both sides. The games are those that it
plays, and those of a text file or a game store (`tictactoe_env/games/`). There is no discount, no
step size and no network.

- The tree stores sequences of moves, but moves are chosen by position. The statistics of a move are
  those of the position after it, summed over all sequences that lead there. The player also reports
  how many sequences have reached a position, and whether a position is new.
- `rule="one-tie"` is the rule of tophep/TicTacToe. It prefers a move that ended a game without a
  loss, then a move that was never tried, then a move after which some game was not lost, then any
  other. A move that lost a thousand games and drew one counts as good, so the best response wins
  almost always.
- `rule="counting"` takes the move with the best mean result, but never one that is proven to lose.
  A move is proven to lose if the games contain a winning reply to it, or a reply after which every
  move is proven to lose in turn. This is minimax over the games in the tree. Proofs are always
  correct, and with enough games every position has its value proven. The rules of the game are only
  used to find the legal moves.
- `lookup="sequence"` chooses moves by the sequence that was played, as tophep/TicTacToe does. What
  was learned after one order of moves is not known after another. Such a player is no function of
  the board, so a table by position cannot represent it. Its certificate holds the mean of its moves
  in each position. The results against random play are those of the player itself; the others are
  those of the mean. The player's own worst case, over all sequences, stands beside the training
  (`by_sequence`), and `python -m agents.trie RUN --exact` prints it. See training/sequences.py.
- In play, a move that was never tried comes after all others that are not proven to lose. With
  `untried="draw"` it counts as almost a draw, so the player tries another move after a loss.
- In training, moves that were never tried come first, and a move is random with probability
  `epsilon`. In the pool of opponents, `self` is the tree as it is during the game, not a snapshot.

The article about tophep/TicTacToe describes an earlier algorithm too: a list of all games, in which
the moves of lost games are avoided. The trie replaced it there, and it is not here.

A step is a game. A board of 3x4 takes a second to prepare.
"""

from __future__ import annotations

import argparse
import copy
import sys
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.games.game import Game
from tictactoe_env.notation import SIDES, cell_text, replay
from tictactoe_env.opponents import SELF, make_opponent, parse_pool
from tictactoe_env.rules import Boards, Rules
from tictactoe_env.trained.own_values import OwnValues, checked
from training import checkpoint
from training.learned import AGAIN, FILE, GameFile, reason_against, since, taken_in, without_id
from training.learner import Arrays, GamesLearner, State
from training.options import BoardConfig, Count, Natural, Share, option
from training.search_space import Choice, Range
from training.sequences import SequenceTree, averaged, exact_results

AGENT = "trie"
TITLE = "Game memory"
STORY = (
    "It remembers every game that it has seen, as a tree of moves with the results below each. "
    "It plays the move whose remembered games went best."
)
UNIT = "games"
LEARNS_FROM_PEOPLE = True
GOAL = "unbeatable"
SMALL = "--judge-every 200 --steps 600"
X_WON, DRAWN, O_WON = range(3)

# Scores of moves. Mean results are from -1 to 1; proven and untried moves have scores beyond.
WINS, UNTRIED, UNTRIED_IN_PLAY, LOSES = 3.0, 2.0, -2.0, -4.0
ALMOST_DRAWN = -0.01  # a move that was never tried, with untried="draw"
NO_MOVE = -9.0
OUTSIDE = -1  # in place of a node, after a sequence that is not in the tree


@dataclass(frozen=True)
class Config(BoardConfig):
    """The options of a training. A step is a game."""

    PLAYS = ("rule", "lookup", "untried")

    steps: Natural = option(
        100_000, "Games after which training ends; those of --learn-from do not count."
    )
    opponents: str = option(
        "random:0.5,minimax:0.25,self:0.25",
        'Opponents, as name:weight,...; "self" means the tree itself.',
    )
    side: Literal["both", "X", "O"] = option(
        "both",
        "Side that the tree plays in training: both (in turn), X or O. It always learns from the "
        "moves of both sides.",
    )
    rule: Literal["counting", "one-tie"] = option(
        "counting",
        "Choice of a move: counting takes the best mean result among the moves that are not proven "
        "to lose; one-tie avoids only moves that lost all their games.",
    )
    lookup: Literal["position", "sequence"] = option(
        "position",
        "What a move is looked up by: position merges all sequences of moves that lead to the same "
        "board; sequence does not, and needs the rule one-tie.",
    )
    untried: Literal["last", "draw"] = option(
        "last",
        "How the rule counting rates a move that was never tried, in play: last takes any other "
        "that is not proven to lose; draw rates it just below a draw.",
    )
    learn_from: str = option(
        "",
        "File of games to learn from first: a game store, or text with one game per line such as "
        '"b2 a1 c3 ...". With --resume: file of further games for this tree.',
    )
    epsilon: Share = option(0.2, "Probability of a random legal move in training.")
    judge_every: Count = option(1_000, "Games between two exact evaluations.")

    def check(self) -> None:
        """Each rule has one option of its own."""
        if self.rule != "one-tie" and self.lookup == "sequence":
            raise ValueError(
                "lookup sequence needs the rule one-tie: the rule counting proves positions"
            )
        if self.rule == "one-tie" and self.untried != "last":
            raise ValueError("untried is of the rule counting: one-tie has an order of its own")


SEARCH = {
    "opponents": Choice(
        "random:0.5,minimax:0.25,self:0.25", "random:0.5,self:0.5", "self", "random", "minimax"
    ),
    "untried": Choice("last", "draw"),
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
        self.parents = _parents(self.after)
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

    def learn(self, cells: Sequence[int]) -> None:
        """Add a finished game. Raises ValueError for an unfinished game or an illegal move."""
        rows, node, nodes, size = [0], 0, [0], self.rules.cells
        for cell in cells:
            row = self.after[rows[-1]][cell] if 0 <= cell < size else -1
            if row < 0:
                replay(cells, self.rules)  # raises an error that explains the move
            rows.append(row)
        if not self.is_over[rows[-1]]:
            raise ValueError(f"expected a finished game, this one goes on after {len(cells)} moves")
        for cell, row in zip(cells, rows[1:], strict=True):
            key = node * size + cell
            found = self.edges.get(key)
            node = self._grow(key, row) if found is None else found
            nodes.append(node)
        result = 1 - self.outcome[rows[-1]]
        reached, count = self.results[result], self.counts[result]
        for node, row in zip(nodes, rows, strict=True):
            reached[node] += 1
            count[row] += 1
        for row in reversed(rows):
            self._update(row)

    def learn_games(self, games: Iterable[Game]) -> Counter[str]:
        """Add the games that can be learned from.

        Returns the number of games "learned", and of games left out by reason.
        """
        counts: Counter[str] = Counter()
        for game in games:
            reason = reason_against(game, self.rules)
            if reason is None:
                self.learn(game.moves)
            counts[reason or "learned"] += 1
        return counts

    def learn_file(self, path: str | Path) -> Counter[str]:
        """Add the games of a game store, or of a text file with one game a line.

        Returns the counts of `learn_games`. Raises FileNotFoundError, StoreError for a damaged
        store, and ValueError for a line that is not a game or a file without a game to learn from.
        """
        counts = self.learn_games(GameFile(Path(path), self.rules))
        if not counts["learned"]:
            raise nothing_in(path, self.rules, counts)
        return counts

    def fill(self, keys: list[int], results: NDArray[np.int64]) -> None:
        """Fill an empty tree with these `keys` (nodes - 1) and `results` (3, nodes).

        Raises ValueError if a node is not a legal move from an earlier node, or has no games.
        """
        size = self.rules.cells
        for node, key in enumerate(keys, 1):
            parent, cell = divmod(key, size)
            row = self.after[self.row_of_node[parent]][cell] if 0 <= parent < node else -1
            if row < 0 or key in self.edges:
                raise ValueError(
                    f"node {node} of the tree must be a new legal move from an earlier node"
                )
            self._grow(key, row)
        if (results < 0).any() or (keys and (results.sum(axis=0) == 0).any()):
            raise ValueError("each node of the tree must have been reached by a game")
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

    def policy(self) -> TriePolicy:
        """The moves of the best score, equally likely; with look-up by sequence their mean."""
        if self.lookup == "sequence":
            return TriePolicy(self, averaged(self.tree()).table)
        score, seen = np.array(self.score), np.array(self.sequences) > 0
        if self.rule == "counting":
            score[~seen] = UNTRIED_IN_PLAY if self.untried == "last" else ALMOST_DRAWN
        children = self.positions.children[self.positions.unfinished]
        scores = np.where(children >= 0, score[children], -np.inf)
        return TriePolicy(self, _best_of(scores))

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

    # --- as text ----------------------------------------------------------------------------------

    def text(self, depth: int) -> str:
        """The tree up to a depth, one node per line: its move, and the results of its games."""
        size, reached = self.rules.cells, sum(count > 0 for count in self.sequences)
        lines = [
            f"{self.games:,} games, {len(self):,} sequences of moves, "
            f"{reached:,} positions of {len(self.after):,}"
        ]
        waiting = [(0, 0)]
        while waiting:
            node, ply = waiting.pop()
            if node:
                lines.append(self._line(node, ply))
            if ply < depth:
                children = (self.edges.get(node * size + cell) for cell in reversed(range(size)))
                waiting += [(child, ply + 1) for child in children if child is not None]
        return "\n".join(lines)

    def _line(self, node: int, ply: int) -> str:
        x, drawn, o = (result[node] for result in self.results)
        ended = f"X won {x:,}, drawn {drawn:,}, O won {o:,}"
        if self.is_over[self.row_of_node[node]]:
            ended = f"{'X won' if x else 'O won' if o else 'drawn'}: {x + drawn + o:,}"
        cell = cell_text(self.keys[node] % self.rules.cells, self.rules)
        return f"{'  ' * (ply - 1)}{ply}. {SIDES[(ply - 1) % 2]} {cell}   {ended}"


def _parents(after: list[list[int]]) -> list[list[int]]:
    """The predecessors of each position."""
    parents: list[list[int]] = [[] for _ in after]
    for row, children in enumerate(after):
        for child in children:
            if child >= 0:
                parents[child].append(row)
    return parents


def _best_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The moves of the best score in each row, equally likely."""
    best = scores == scores.max(axis=1, keepdims=True)
    return best / best.sum(axis=1, keepdims=True)


def left_out(counts: Counter[str]) -> str:
    """The games left out, by reason: "2 resigned, 1 on another board"."""
    reasons = [f"{count:,} {reason}" for reason, count in counts.items() if reason != "learned"]
    return ", ".join(reasons) or "none at all"


def nothing_in(path: str | Path, rules: Rules, counts: Counter[str]) -> ValueError:
    """The error for a file without a game to learn from."""
    return ValueError(
        f"{path} holds no game to learn from: expected one that was played to its end on "
        f"{rules}, got {left_out(counts)}"
    )


class TriePolicy(TabularPolicy):
    """The moves of a tree at one moment. `trie` is the tree itself, which may continue to learn.

    It knows its own values (see `values_of`), of the moment when they are first asked for.
    played: of a saved run, the number of the last game of `learned.db` that is in the tree.
    """

    def __init__(self, trie: Trie, table: NDArray[np.float64], played: int = 0):
        super().__init__(trie.rules, table)
        self.trie, self.played = trie, played

    def after_games(self, games: Iterable[Game], played: int) -> TriePolicy:
        """The player after these games too, which are added to the tree."""
        self.trie.learn_games(games)
        return TriePolicy(self.trie, self.trie.policy().table, played)

    def sequences(self, boards: Boards) -> NDArray[np.int64]:
        """The number of sequences of moves by which games have reached each board: (B,)."""
        return np.array(self.trie.sequences)[self.trie.positions.rows(boards)]

    def is_new(self, boards: Boards) -> NDArray[np.bool_]:
        """Whether no game has reached each board: (B,)."""
        return self.sequences(boards) == 0

    @cached_property
    def own(self) -> OwnValues:
        """Its own values of the moves in all unfinished positions."""
        return checked(values_of(self.trie), self.rules)

    @property
    def meaning(self) -> str:
        """What its own values are, in words."""
        return self.own.meaning

    @property
    def scale(self) -> tuple[float, float]:
        """The values of a sure loss and of a sure win."""
        return self.own.low, self.own.high

    def q_values(self, boards: Boards) -> NDArray[np.float32]:
        """Its own values of the moves (B, cells) on unfinished boards, NaN without one."""
        self.probs(boards)  # ValueError for finished and impossible boards
        positions = self.trie.positions
        values: NDArray[np.float32] = self.own.values
        return values[np.searchsorted(positions.unfinished, positions.rows(boards))]


# --- training -------------------------------------------------------------------------------------


def begin(config: Config) -> TrieLearner:
    """A new learner. Raises ValueError for an unknown opponent."""
    return TrieLearner(config)


def player(config: Config, model: Arrays) -> TriePolicy:
    """The player of a saved tree."""
    tree = tree_of(config, model)
    return TriePolicy(tree, tree.policy().table, played_of(model))


def played_of(model: Arrays) -> int:
    """The number of the last game of `learned.db` that a saved tree holds; 0 for none."""
    if "played" not in model:
        return 0
    return int(checkpoint.take(model, "played", (), np.int64))


def empty_tree(config: Config) -> Trie:
    """The tree of a configuration before its first game."""
    return Trie(config.rules, config.rule, config.lookup, config.untried)


def tree_of(config: Config, model: Arrays) -> Trie:
    """The tree of saved arrays. Raises ValueError if they are not a tree."""
    nodes = np.size(model.get("keys", ()))
    keys = checkpoint.take(model, "keys", (nodes,), np.int64)
    results = checkpoint.take(model, "results", (3, nodes + 1), np.int64)
    tree = empty_tree(config)
    tree.fill(keys.tolist(), results)
    return tree


class TrieLearner(GamesLearner):
    """A tree that learns from each game that it plays, and from those of files.

    learned: what it has learned from files, one entry a file. played: see TriePolicy.
    """

    def __init__(self, config: Config):
        self.config, self.trie = config, empty_tree(config)
        self.opponents = Opponents(config.opponents, config.rules)
        self.rng = np.random.default_rng(config.seed)
        self.learn_from = config.learn_from  # "" after it was read
        self.learned: list[dict[str, Any]] = []
        self.played = 0

    def advance(self, most: int) -> None:
        """Play `most` games and learn from each. The first call reads `learn_from` before."""
        if self.learn_from:
            self._read_games()
        config = self.config
        for number, *draws in self.rng.random((most, 1 + config.rules.cells)).tolist():
            side = self.steps % 2 if config.side == "both" else SIDES.index(config.side)
            opponent = self.opponents.drawn(number)
            self.trie.learn(play(self.trie, opponent, side, config.epsilon, draws))
            self.steps += 1

    def _read_games(self) -> None:
        """Learn from the file. A resumed training does not need it any more."""
        path, self.learn_from = self.learn_from, ""
        counts = self._learn_file(path)
        if not counts["learned"]:
            raise nothing_in(path, self.config.rules, counts)
        if counts.total() > counts["learned"]:
            games = f"{counts['learned']:,} {'game' if counts['learned'] == 1 else 'games'}"
            warnings.warn(f"learned {games} of {path}, left out {left_out(counts)}", stacklevel=3)

    def _learn_file(self, path: str, known: Collection[Game] = ()) -> Counter[str]:
        """Learn the games of a file that are new. known: games that were learned in another way."""
        file = GameFile(Path(path), self.config.rules, self.learned)
        again: Counter[str] = Counter()

        def new_games() -> Iterator[Game]:
            for game in file:
                if without_id(game) in known:
                    again[AGAIN] += 1
                else:
                    yield game

        counts = self.trie.learn_games(new_games())
        if counts["learned"]:
            entry = {**file.record, "games": counts["learned"], "at": self.steps}
            self.learned.append(entry)
        again[AGAIN] += file.known
        return counts + again

    def take_in(self, run: Path, file: str = "") -> Counter[str]:
        """Learn from the games that were played with the run, and from those of a file."""
        games = since(run, self.played)
        counts = self.trie.learn_games(games)
        if games:
            self.played = games[-1].id or 0
            entry = {"file": FILE, "games": counts["learned"], "at": self.steps}
            self.learned.append({**entry, "through": self.played})
        is_old = file == self.config.learn_from and not any("read" in one for one in self.learned)
        if file and not is_old:  # an older run has no record of the file that it began with
            counts += self._learn_file(file, {without_id(game) for game in since(run, 0)})
        return counts

    def about(self) -> dict[str, Any]:
        """The files it has learned from; with look-up by sequence the results of such play."""
        found: dict[str, Any] = {"learned": self.learned} if self.learned else {}
        if self.config.lookup == "sequence":
            found["by_sequence"] = exact_results(self.trie.tree())
        return copy.deepcopy(found)

    def policy(self) -> TriePolicy:
        """The moves of the best score."""
        return self.trie.policy()

    def model(self) -> Arrays:
        """The edges of the tree and the results of its nodes."""
        arrays = {
            "keys": np.array(self.trie.keys[1:], dtype=np.int64),
            "results": np.array(self.trie.results, dtype=np.int64),
        }
        played = {"played": np.array(self.played, dtype=np.int64)} if self.played else {}
        return {**arrays, **played}

    def state(self) -> State:
        """The generator, and what was learned from files."""
        learned = {"learned": copy.deepcopy(self.learned)} if self.learned else {}
        return {"rng": self.rng, **learned}

    def restore(self, model: Arrays, state: State) -> None:
        """Continue with the saved tree."""
        self.trie, self.rng, self.learn_from = tree_of(self.config, model), state["rng"], ""
        self.played, self.learned = played_of(model), list(state.get("learned", []))


Sums = list[list[float]]
"""The running sums of the probabilities of a policy's moves in each position."""


class Opponents:
    """The pool as `Sums` of each opponent, None for the tree itself.

    `training.selfplay.Opponents` plays many games at a time. For one game lists are faster.
    """

    def __init__(self, opponents: str, rules: Rules):
        pairs = parse_pool(opponents)
        self.weights = list(accumulate(weight for _, weight in pairs))[:-1]
        self.players = [None if name == SELF else _sums(name, rules) for name, _ in pairs]

    def drawn(self, number: float) -> Sums | None:
        """The opponent for a random number in [0, 1), by the weights."""
        return self.players[bisect_right(self.weights, number)]


def _sums(name: str, rules: Rules) -> Sums:
    probs = tabulate(make_opponent(name, rules, also=[SELF]), rules).by_row()
    return np.minimum(probs.cumsum(axis=1), 1.0).tolist()


def play(
    trie: Trie, opponent: Sums | None, side: int, epsilon: float, draws: list[float]
) -> list[int]:
    """The moves of a game of the tree as `side` (0 X, 1 O) against an opponent.

    draws: a random number in [0, 1) for each move.
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


def own_values(config: Config, model: Arrays) -> OwnValues:
    """The own values of a saved tree."""
    return values_of(tree_of(config, model))


def values_of(tree: Trie) -> OwnValues:
    """The mean result of the games that reached the position after each move, for the mover.

    With the rule "counting" a move has exactly 1 or -1 where the games prove its result. A move to
    a position that no game has reached has no value.
    """
    x, drawn, o = np.array(tree.counts, dtype=np.float64)
    games, proven = x + drawn + o, np.array(tree.known)
    seats = np.where(tree.positions.x_to_move, -1, 1)  # of the side that has just moved
    means = seats * (x - o) / np.where(games > 0, games, np.nan)
    meaning = "mean result of the games it knows through the move: win 1, draw 0, loss -1"
    if tree.rule == "counting":
        means = np.where((games > 0) & (proven != 0), -proven, means)
        meaning += "; exactly 1 or -1 if the games prove it"
    going = tree.positions.unfinished
    children = tree.positions.children[going]
    values = np.where(children >= 0, means[children], np.nan)
    return OwnValues(values, meaning, known=np.array(tree.sequences)[going] > 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tree of a saved run with all that it has learned, or exact results by sequence."""
    parser = argparse.ArgumentParser(prog="python -m agents.trie", description=main.__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument("--depth", type=int, default=2, help="moves to print (default: 2)")
    exact = (
        "print the exact results, computed over all sequences, of a run with look-up by sequence"
    )
    parser.add_argument("--exact", action="store_true", help=exact)
    given = parser.parse_args(arguments)
    this_page: Any = sys.modules[__name__]
    try:
        loaded = taken_in(checkpoint.load(this_page, given.run), given.run)
        if given.exact and loaded.trie.lookup != "sequence":
            raise ValueError(
                f"{given.run} looks moves up by position: its certificate holds its exact results, "
                "which evaluate.py prints"
            )
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print(exact_text(loaded.trie) if given.exact else loaded.trie.text(given.depth))
    return 0


def exact_text(trie: Trie) -> str:
    """The exact results of a tree that is looked up by sequence, one side a line."""
    lines = []
    for side, results in exact_results(trie.tree()).items():
        rates = " / ".join(f"{100 * rate:.2f}" for rate in results["vs_random"].values())
        lines.append(
            f"{side[:2]} {side[-1].upper()}: wins, draws, losses against random {rates} %; "
            f"loses {100 * results['worst_case_loss']:.2f} % to the best response"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
