"""Trie: a prefix tree of every game it has seen, with the results of these games at each node.

After the learning player of tophep/TicTacToe (https://github.com/tophep/TicTacToe, Go). It learns from every finished
game, one at a time and from both sides: from its own, and from any other that is handed in as moves, as a file of text or
as a store of games (`tictactoe_env/games.py`). There is no discount, no step size and no network; it remembers.

- The tree keeps sequences of moves. It plays by position: what it knows of a move is what it knows of the position
  after it, merged from all sequences that lead there. It says how many sequences have reached a position, and whether a
  position is new to it.
- `rule="one-tie"` is the rule of tophep/TicTacToe: a move that ended a game well, else one that was never tried, else
  one after which some game did not end in a loss, else any. A move that lost a thousand games and drew one is good to
  it, so the best opponent beats it with certainty.
- `rule="counting"` takes the move with the best mean result, and never again one that lost to best play: a move after
  which the games it has seen hold a reply that wins, or a reply after which every move of its own has lost in the same
  way. That is minimax over the games in the tree, so it is never wrong, and it is complete where enough was seen. The
  rules of the game say which moves there are; everything else comes from games.
- In training it tries what it has never tried before what it knows, and makes a random move now and then. It plays
  against a pool, as both sides; `self` is the tree itself as it is at that moment, not a frozen copy.

A step is a game. Boards of at most 12 cells: 3x4 takes a second before the first game, 4x4 would take gigabytes.
"""

from __future__ import annotations

import argparse
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import probability, unknown_name
from tictactoe_env.notation import SIDES, cell_text, replay
from tictactoe_env.opponents import make_opponent, parse_pool
from tictactoe_env.policy import TabularPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Boards, Rules
from tictactoe_env.store import read_games
from training.evaluation import Report
from training.files import DamagedFileError, read_arrays, write_arrays
from training.options import BoardConfig, Preset, check_unchanged, option, read_config

AGENT = "trie"
RULES_OF_CHOICE = ("counting", "one-tie")
SELF = "self"
X_WON, DRAWN, O_WON = range(3)
MAX_CELLS = 12  # of a board: every position is an entry of ten lists
LEFT_OUT = {
    "early": "drawn early",
    "illegal": "ended by an illegal move",
    "resigned": "resigned",
}  # games that were not played to their end

# Scores of moves. Means of results lie between -1 and 1; what is proven lies outside, and so does what was never tried.
WINS, UNTRIED, UNTRIED_IN_PLAY, LOSES = 3.0, 2.0, -2.0, -4.0


@dataclass(frozen=True)
class Config(BoardConfig):
    """Everything that decides what is learned. A step is a game."""

    STEP: ClassVar[str] = "games"
    FEWEST_STEPS: ClassVar[int] = 0

    steps: int = option(
        100_000, "Games after which training ends, at least 0; those of learn_from are not counted."
    )
    opponents: str = option(
        "random:0.5,minimax:0.25,self:0.25",
        'Who is played, as name:weight,...; "self" stands for the tree itself.',
    )
    side: str = option(
        "both",
        "Which side it plays in training: both (by turns), X or O. It learns from the moves of both.",
    )
    rule: str = option(
        "counting",
        "How it chooses: counting: best mean, never a move that lost to best play; or one-tie: one tie makes a move good.",
    )
    learn_from: str = option(
        "",
        'File of games to learn from first: a store of games, or text, one game a line such as "b2 a1 c3 ...".',
    )
    epsilon: float = option(0.2, "Probability of a random legal move in training, from 0 to 1.")
    judge_every: int = option(1_000, "Games between two exact judgements, at least 1.")

    def __post_init__(self) -> None:
        super().__post_init__()
        probability(self.epsilon, "epsilon")
        if self.rules.cells > MAX_CELLS:
            raise ValueError(
                f"the trie plays on boards of at most {MAX_CELLS} cells, {self.rules} has {self.rules.cells}: use a smaller board"
            )
        if self.side not in ("both", *SIDES):
            raise unknown_name("side", self.side, ("both", *SIDES))
        if self.rule not in RULES_OF_CHOICE:
            raise unknown_name("rule", self.rule, RULES_OF_CHOICE)
        _ = [
            make_opponent(name, self.rules)
            for name, _ in parse_pool(self.opponents)
            if name != SELF
        ]


PRESETS = {
    "tophep": Preset(
        "tophep/TicTacToe: 10,000 games as O against perfect play by the rule of one tie.",
        {"rule": "one-tie", "opponents": "minimax", "side": "O", "steps": 10_000, "epsilon": 0.0},
        weak=True,
    ),
}


# --- the tree --------------------------------------------------------------------------------------------------------


class Trie:
    """Every sequence of moves that was played, with the results of its games, and what follows for each position.

    A node is a number, 0 the empty board; `edges[node * cells + cell]` is the node after a move. Lists, since games come
    one at a time. results[r][node]: games that went through a node, by result (X won, drawn, O won). By position, from
    all nodes that reach it: counts[r][row], sequences[row], known[row], and the score of moving there.

    known: +1 where the side to move can win, -1 where it loses whatever it does, by the games of the tree; else 0.
    """

    def __init__(self, rules: Rules, rule: str = "counting"):
        positions = positions_of(rules)
        self.rules, self.rule, self.positions = rules, rule, positions
        self.after: list[list[int]] = positions.children.tolist()
        self.outcome: list[int] = positions.outcome_x.tolist()
        self.is_over: list[bool] = positions.is_over.tolist()
        self.parents = _parents(self.after)
        self.mover_won = [
            O_WON if even else X_WON for even in positions.x_to_move.tolist()
        ]  # the side that has just moved
        self.edges: dict[int, int] = {}
        self.keys, self.row_of_node = [-1], [0]
        self.results: list[list[int]] = [[0], [0], [0]]
        self.counts = [[0] * len(positions) for _ in range(3)]
        self.sequences = [0] * len(positions)
        self.known = [0] * len(positions)
        self.score = [UNTRIED] * len(positions)
        self.sequences[0] = 1

    def __len__(self) -> int:
        """How many sequences of moves it has seen, the beginnings of games included, the empty one not."""
        return len(self.keys) - 1

    @property
    def games(self) -> int:
        """How many games it has learned from."""
        return sum(result[0] for result in self.results)

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self, cells: Sequence[int]) -> None:
        """Take in a finished game. Raises ValueError if it is not finished, IllegalMoveError for a move that is not legal."""
        rows, node, nodes, size = [0], 0, [0], self.rules.cells
        for cell in cells:
            row = self.after[rows[-1]][cell] if 0 <= cell < size else -1
            if row < 0:
                replay(cells, self.rules)  # says what is wrong with the move
            rows.append(row)
        if not self.is_over[rows[-1]]:
            raise ValueError(
                f"only a finished game can be learned from, this one goes on after {len(cells)} moves"
            )
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

    def learn_file(self, path: str | Path) -> Counter[str]:
        """Take in the games of a store, or of a text file with one a line; how many were learned, and how many left out for which reason.

        Raises ValueError if there is nothing to learn, or naming the line that is no finished game; StoreError for a damaged store.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(
                f"learn_from must be a store of games or a file of text, there is no file {path}"
            )
        counts: Counter[str] = Counter()
        for game in read_games(path, self.rules):
            reason = LEFT_OUT.get(game.ended) if game.rules == self.rules else "on another board"
            if reason is None:
                self.learn(game.moves)
            counts[reason or "learned"] += 1
        if not counts["learned"]:
            raise ValueError(
                f"{path} holds no game to learn from: expected one that was played to its end on {self.rules}, got {_amounts(counts)}"
            )
        return counts

    def _grow(self, key: int, row: int) -> int:
        node = len(self.keys)
        self.edges[key] = node
        self.keys.append(key)
        self.row_of_node.append(row)
        for result in self.results:
            result.append(0)
        self.sequences[row] += 1
        return node

    def _update(self, row: int) -> None:
        """What follows for a position from the games seen: what is proven, and how good it is to move there."""
        if self.known[row] == 0:
            self.known[row] = self._proven(row)
            if self.known[row]:
                for parent in self.parents[row]:
                    if self.sequences[parent]:
                        self._update(parent)
        self.score[row] = self._one_tie(row) if self.rule == "one-tie" else self._counting(row)

    def _proven(self, row: int) -> int:
        """+1 if a move of the games wins for the side to move, -1 if every move there is loses, else 0."""
        if self.is_over[row]:
            return -abs(self.outcome[row])
        known = [self.known[child] for child in self.after[row] if child >= 0]
        return 1 if -1 in known else -(min(known) == 1)

    def _counting(self, row: int) -> float:
        """The mean result for the side that moves here; above all others if that wins, below them if it loses."""
        if self.known[row] < 0:
            return WINS
        x, drawn, o = (count[row] for count in self.counts)
        mean = (x - o if self.mover_won[row] == X_WON else o - x) / (x + drawn + o)
        return mean + LOSES if self.known[row] > 0 else mean

    def _one_tie(self, row: int) -> float:
        """Moves that ended a game are best, then untried ones, then those after which some game was won or drawn."""
        if self.is_over[row]:
            return WINS
        return float(self.counts[self.mover_won[row]][row] + self.counts[DRAWN][row] > 0)

    # --- playing -----------------------------------------------------------------------------------------------------

    def choose(self, row: int, draw: float) -> int:
        """A cell to try next: the best score, equals by `draw` in [0, 1)."""
        scores = [self.score[child] if child >= 0 else -9.0 for child in self.after[row]]
        best = max(scores)
        cells = [cell for cell, score in enumerate(scores) if score == best]
        return cells[int(draw * len(cells))]

    def policy(self) -> TriePolicy:
        """How it plays by what it knows now: the best score, each of equals as likely."""
        score, seen = np.array(self.score), np.array(self.sequences) > 0
        if self.rule == "counting":
            score[~seen] = UNTRIED_IN_PLAY
        children = self.positions.children[self.positions.unfinished]
        scores = np.where(children >= 0, score[children], -np.inf)
        best = scores == scores.max(axis=1, keepdims=True)
        return TriePolicy(self, best / best.sum(axis=1, keepdims=True))

    # --- what it has seen --------------------------------------------------------------------------------------------

    def text(self, depth: int) -> str:
        """The tree to a depth, a line a node: whose move, where, and how the games through it ended, the cells in order."""
        size, games = self.rules.cells, self.games
        lines = [
            f"{games:,} games, {len(self):,} sequences of moves, {sum(count > 0 for count in self.sequences):,} positions of {len(self.after):,}"
        ]
        waiting = [(0, 0)]
        while waiting:
            node, ply = waiting.pop()
            if node:
                cell, over = self.keys[node] % size, self.is_over[self.row_of_node[node]]
                x, drawn, o = (result[node] for result in self.results)
                ended = (
                    f"{'X won' if x else 'O won' if o else 'drawn'}: {x + drawn + o:,}"
                    if over
                    else f"X won {x:,}, drawn {drawn:,}, O won {o:,}"
                )
                lines.append(
                    f"{'  ' * (ply - 1)}{ply}. {SIDES[(ply - 1) % 2]} {cell_text(cell, self.rules)}   {ended}"
                )
            if ply < depth:
                children = (self.edges.get(node * size + cell) for cell in reversed(range(size)))
                waiting += [(child, ply + 1) for child in children if child is not None]
        return "\n".join(lines)


class TriePolicy(TabularPolicy):
    """The moves of a tree at one moment; the tree itself, which may learn on, is `trie`."""

    def __init__(self, trie: Trie, table: NDArray[np.float64]):
        super().__init__(trie.rules, table)
        self.trie = trie

    def sequences(self, boards: Boards) -> NDArray[np.int64]:
        """By how many sequences of moves the games of the tree have reached each board (B,)."""
        return np.array(self.trie.sequences)[self.trie.positions.rows(boards)]

    def is_new(self, boards: Boards) -> NDArray[np.bool_]:
        """Whether no game of the tree has reached the board: (B,)."""
        return self.sequences(boards) == 0


def _amounts(counts: Counter[str]) -> str:
    """How many games were left out and why, such as "2 resigned, 1 on another board"."""
    return (
        ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if reason != "learned")
        or "none at all"
    )


def _parents(after: list[list[int]]) -> list[list[int]]:
    """The positions from which a move leads to each position."""
    parents: list[list[int]] = [[] for _ in after]
    for row, children in enumerate(after):
        for child in children:
            if child >= 0:
                parents[child].append(row)
    return parents


# --- training --------------------------------------------------------------------------------------------------------


class Pool:
    """The opponents, each None for the tree itself, or the running sums of its probabilities in every position."""

    def __init__(self, opponents: str, rules: Rules):
        pairs = parse_pool(opponents)
        self.sums = list(accumulate(weight for _, weight in pairs))[:-1]
        tables = [
            None if name == SELF else tabulate(make_opponent(name, rules), rules).by_row()
            for name, _ in pairs
        ]
        self.players = [
            None if table is None else np.minimum(table.cumsum(axis=1), 1.0).tolist()
            for table in tables
        ]

    def draw(self, number: float) -> list[list[float]] | None:
        """The opponent for a number in [0, 1)."""
        return self.players[bisect_right(self.sums, number)]


def play(
    trie: Trie, opponent: list[list[float]] | None, side: int, epsilon: float, draws: list[float]
) -> list[int]:
    """A game of the tree as `side` (0 X, 1 O), exploring, against an opponent; `draws`: numbers in [0, 1), one for each move."""
    row, cells = 0, []
    for ply, draw in enumerate(draws):
        if opponent is not None and ply % 2 != side:
            sums = opponent[row]
            cell = bisect_right(sums, draw * sums[-1])
        elif draw < epsilon:
            legal = [cell for cell, child in enumerate(trie.after[row]) if child >= 0]
            cell = legal[int(draw / epsilon * len(legal))]
        else:
            cell = trie.choose(row, (draw - epsilon) / (1 - epsilon))
        cells.append(cell)
        row = trie.after[row][cell]
        if trie.is_over[row]:
            break
    return cells


def train(
    config: Config, report: Report, resume: Path | None = None, logs: Path | None = None
) -> TriePolicy:
    """Train, or go on from the folder `resume`; the policy of the last judgement. `logs` is not used: nothing but the exact figures is logged."""
    rng, played, trie = np.random.default_rng(config.seed), 0, Trie(config.rules, config.rule)
    if resume is not None:
        trie, played = restore(resume, config, rng)
    elif config.learn_from:
        counts = trie.learn_file(config.learn_from)
        if counts.total() > trie.games:
            games = f"{trie.games:,} {'game' if trie.games == 1 else 'games'}"
            warnings.warn(
                f"learned {games} of {config.learn_from}, left out {_amounts(counts)}", stacklevel=2
            )
    pool = Pool(config.opponents, config.rules)

    def write(folder: Path, everything: bool = True) -> None:
        save(folder, config, trie, played, rng)

    while True:
        chunk = max(0, min(config.judge_every - played % config.judge_every, config.steps - played))
        for opponent, *draws in rng.random((chunk, 1 + config.rules.cells)).tolist():
            side = played % 2 if config.side == "both" else SIDES.index(config.side)
            trie.learn(play(trie, pool.draw(opponent), side, config.epsilon, draws))
            played += 1
        policy = trie.policy()
        if report(played, policy, write) or played >= config.steps:
            return policy


# --- files -----------------------------------------------------------------------------------------------------------


def save(folder: Path, config: Config, trie: Trie, played: int, rng: np.random.Generator) -> None:
    """Write the tree, and beside it all else that is needed to go on."""
    arrays = {
        "keys": np.array(trie.keys[1:], dtype=np.int64),
        "results": np.array(trie.results, dtype=np.int64),
    }
    about = {
        "agent": AGENT,
        "config": asdict(config),
        "steps": played,
        "generator": rng.bit_generator.state,
    }
    write_arrays(folder / "model.safetensors", arrays, about)


def restore(folder: Path, config: Config, rng: np.random.Generator) -> tuple[Trie, int]:
    """The tree of a saved training, how many games it had played, and `rng` as it was; ValueError if the configuration is another."""
    trie, about = read_trie(folder)
    check_unchanged(config, read_config(Config, about, AGENT, folder), folder)
    rng.bit_generator.state = about["generator"]
    return trie, about["steps"]


def load(folder: Path) -> TriePolicy:
    """The player of a saved run; its `trie` can learn on, be asked and be printed. DamagedFileError for anything else."""
    return read_trie(folder)[0].policy()


def read_trie(folder: Path) -> tuple[Trie, dict[str, Any]]:
    """A saved tree and what is beside it. Raises DamagedFileError unless every node is a legal move from an earlier one."""
    path = folder / "model.safetensors"
    arrays, about = read_arrays(path)
    config = read_config(Config, about, AGENT, folder)
    keys, results = arrays.get("keys"), arrays.get("results")
    if (
        keys is None
        or results is None
        or keys.ndim != 1
        or results.shape != (3, len(keys) + 1)
        or {keys.dtype, results.dtype} != {np.dtype(np.int64)}
    ):
        raise DamagedFileError(
            f"{path} holds no tree: it needs keys (nodes - 1,) and results (3, nodes), both int64"
        )
    trie = Trie(config.rules, config.rule)
    try:
        trie_of(keys.tolist(), results, trie)
    except IndexError:
        raise DamagedFileError(
            f"{path} holds no tree on {config.rules}: a node is no legal move from an earlier one"
        ) from None
    return trie, about


def trie_of(keys: list[int], results: NDArray[np.int64], trie: Trie) -> None:
    """Fill an empty tree; IndexError if a node is no legal move from an earlier one, or no game went through it."""
    size = trie.rules.cells
    for node, key in enumerate(keys, 1):
        parent, cell = divmod(key, size)
        row = trie.after[trie.row_of_node[parent]][cell] if 0 <= parent < node else -1
        if row < 0 or trie._grow(key, row) != node:
            raise IndexError(node)
    if (
        (results < 0).any()
        or (keys and (results.sum(axis=0) == 0).any())
        or len(trie.edges) != len(keys)
    ):
        raise IndexError
    trie.results = results.tolist()
    rows = np.array(trie.row_of_node)
    trie.counts = [
        np.bincount(rows, weights=result, minlength=len(trie.after)).astype(int).tolist()
        for result in results
    ]
    if keys:
        for row in reversed(np.unique(rows).tolist()):
            trie._update(row)


def main(arguments: list[str] | None = None) -> None:
    """Print the tree of a saved run: `python -m agents.trie runs/trie-0 --depth 2`."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.trie", description="Print the tree of a saved run of the trie."
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument("--depth", type=int, default=2, help="moves to print (default: 2)")
    given = parser.parse_args(arguments)
    try:
        trie, _ = read_trie(given.run)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print(trie.text(given.depth))


if __name__ == "__main__":
    main()
