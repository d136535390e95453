"""Monte-Carlo tree search: which move is good is counted over games that try the promising moves more often.

UCT (Kocsis and Szepesvari 2006, https://doi.org/10.1007/11871842_29): a playout walks down the tree, always to the move
with the largest `mean success + exploration * sqrt(ln(visits of the position) / visits of the move)`, adds the first
position that is new, values it, and counts its result in every position on the way. Differences:

- Positions are shared by all sequences of moves that reach them and by all orientations of the board, so the tree is a
  graph (UCT1 of Childs, Brodeur and Kocsis 2008, https://doi.org/10.1109/CIG.2008.5035667): 765 positions on 3x3.
- A new position is valued by a game of random moves from there, or by what a saved player makes of it when it plays
  both sides (`value`).
- A draw counts as `draws` successes for either side: half by default. With 1 it is as good as a win, as in the system
  this agent comes from: then it is content with draws, and believes that its opponent is.

Offline, one graph is grown from the empty board (`train`), and is asked for the move with the largest mean: its visits
would count other ways to the same position too. Live, a fresh one is grown from each position that is asked for, and
the most visited move is played; its random numbers follow from the seed and the position, so an answer does not depend
on what was asked before or with it. (It does depend on the machine where `milliseconds` are counted.)
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.certificate import load_policy
from tictactoe_env.errors import unknown_name, whole_number
from tictactoe_env.policy import Probs, TabularPolicy
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Boards, Rules
from training.evaluation import Report
from training.files import DamagedFileError, read_arrays, write_arrays
from training.options import BoardConfig, Preset, check_unchanged, option, read_config
from training.orientations import Orientations, check_unfinished

ROLLOUTS = "rollouts"
MAX_CELLS = 12  # of a board that is searched offline by `train`: 3x4 is judged in a second, 4x4 would take minutes and gigabytes
Value = Callable[
    [Boards], NDArray[np.float64]
]  # chances (B, 3) of X's win, a draw, O's win on boards (B, cells)


@dataclass(frozen=True)
class Config(BoardConfig):
    """Everything that decides what the offline search finds. A step is a playout from the empty board."""

    STEP: ClassVar[str] = "playouts"

    steps: int = option(4_000, "Playouts after which the search ends, at least 1.")
    exploration: float = option(
        math.sqrt(2), "Weight of what was tried seldom against what succeeded, at least 0."
    )
    draws: float = option(
        0.5,
        "Successes that a draw counts as for both sides, from 0 to 1; 1 makes it as good as a win.",
    )
    value: str = option(
        ROLLOUTS,
        "What values a new position: rollouts, or the path of a run whose player plays both sides from there.",
    )
    judge_every: int = option(200, "Playouts between two exact judgements, at least 1.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_search(self.exploration, self.draws)
        if self.rules.cells > MAX_CELLS:
            raise ValueError(
                f"an offline search is judged in all positions, so its board has at most {MAX_CELLS} cells, {self.rules} has {self.rules.cells}: "
                "search live on larger boards (mcts-playouts=1000, mcts-milliseconds=100), or grow a Graph"
            )
        value_named(self.value, self.rules)


PRESETS = {
    "tictac": Preset(
        "nestedsoftware/tictac: 4,000 playouts in which a draw is as good as a win.",
        {"draws": 1.0},
        weak=True,
    )
}


def check_search(exploration: Any, draws: Any) -> None:
    """Raises ValueError for numbers that the search cannot use."""
    if (
        isinstance(exploration, bool)
        or not isinstance(exploration, (int, float))
        or not 0 <= exploration < math.inf
    ):
        raise ValueError(f"exploration must be a finite number of at least 0, got {exploration!r}")
    if isinstance(draws, bool) or not isinstance(draws, (int, float)) or not 0 <= draws <= 1:
        raise ValueError(f"draws must be a number from 0 to 1, got {draws!r}")


# --- the graph -----------------------------------------------------------------------------------------------------


class Node:
    """A position with what was counted in it. x, o: marks in all orientations. `total`: successes of the side that moved here."""

    __slots__ = ("children", "o", "result", "total", "visits", "x")

    def __init__(self, x: int, o: int, result: int | None):
        self.x, self.o = x, o
        self.result = result  # for X, +1, 0 or -1; None where the game goes on
        self.children: list[Node] | None = (
            None  # the positions after each move, images of each other once
        )
        self.visits, self.total = 0, 0.0

    @property
    def mean(self) -> float:
        """Successes a visit, -1 without one."""
        return self.total / self.visits if self.visits else -1.0


class Graph:
    """Positions that share what was counted in them, and the playouts that count."""

    def __init__(
        self,
        rules: Rules,
        rng: random.Random,
        exploration: float,
        draws: float,
        value: Value | None = None,
    ):
        check_search(exploration, draws)
        self.rules, self.rng, self.exploration, self.draws, self.value = (
            rules,
            rng,
            exploration,
            draws,
            value,
        )
        self.nodes: dict[int, Node] = {}
        self.orientations = Orientations(rules)
        self.moves = list(zip(rules.cell_bits, self.orientations.cells, strict=True))
        lines = [sum(rules.cell_bits[cell] for cell in line) for line in rules.lines]
        self.lines_of = {
            bit: tuple(line for line in lines if line & bit) for bit in rules.cell_bits
        }

    def node(self, x: int, o: int, last: int = 0) -> Node:
        """The position with these marks, new or known; `last` is the bit of the last move, which alone can have completed a line."""
        key = self.orientations.key(x, o)
        node = self.nodes.get(key)
        if node is None:
            full = self.rules.full
            mark, marks = (1, x & full) if x & last else (-1, o & full)
            won = any(line & marks == line for line in self.lines_of.get(last, ()))
            node = self.nodes[key] = Node(
                x, o, mark if won else 0 if (x | o) & full == full else None
            )
        return node

    def root(self, board: Boards) -> Node:
        """The position of an unfinished board (cells,)."""
        return self.node(self.orientations.marks(board, 1), self.orientations.marks(board, -1))

    def children(self, node: Node) -> list[Node]:
        """The positions after each move, images of each other once, in the order of the cells."""
        x, o, taken = node.x, node.o, node.x | node.o
        x_moves = (taken & self.rules.full).bit_count() % 2 == 0
        free = [(bit, images) for bit, images in self.moves if not taken & bit]
        found = [
            self.node(x | images, o, bit) if x_moves else self.node(x, o | images, bit)
            for bit, images in free
        ]
        return list({id(child): child for child in found}.values())

    def playout(self, root: Node) -> None:
        """Walk from `root` to a new position or to the end, value it, and count the result in all positions on the way."""
        path, node, rng = [root], root, self.rng
        while node.result is None:
            if node.children is None:
                node.children = self.children(node)
            fresh = [child for child in node.children if not child.visits]
            if fresh:
                path.append(fresh[int(rng.random() * len(fresh))])
                break
            width = self.exploration * math.sqrt(math.log(max(node.visits, 1)))
            node = max(
                node.children,
                key=lambda child: child.total / child.visits + width / math.sqrt(child.visits),
            )
            path.append(node)
        success_x, success_o = self.successes(path[-1])
        x_moved = ((root.x | root.o) & self.rules.full).bit_count() % 2 == 1
        for node in path:
            node.visits += 1
            node.total += success_x if x_moved else success_o
            x_moved = not x_moved

    def successes(self, node: Node) -> tuple[float, float]:
        """What a playout that ends here counts for X and for O, each from 0 to 1."""
        if self.value is not None and node.result is None:
            x, o = (
                np.array([marks & self.rules.full], dtype=np.uint64) for marks in (node.x, node.o)
            )
            win, draw, loss = self.value(self.rules.to_boards(x, o))[0].tolist()
            return win + self.draws * draw, loss + self.draws * draw
        result = self.rollout(node) if node.result is None else node.result
        return (self.draws, self.draws) if result == 0 else (float(result > 0), float(result < 0))

    def rollout(self, node: Node) -> int:
        """The result for X of a game of random moves from here."""
        marks, rng = [node.x & self.rules.full, node.o & self.rules.full], self.rng
        free = [bit for bit in self.lines_of if not (marks[0] | marks[1]) & bit]
        side = (self.rules.cells - len(free)) % 2
        while free:
            drawn = int(rng.random() * len(free))
            bit, free[drawn] = free[drawn], free[-1]
            free.pop()
            marks[side] |= bit
            for line in self.lines_of[bit]:
                if line & marks[side] == line:
                    return 1 - 2 * side
            side = 1 - side
        return 0


# --- the policies --------------------------------------------------------------------------------------------------


class Offline:
    """The moves with the largest mean success in a graph that was grown before; any legal move where it holds none of them."""

    def __init__(self, graph: Graph):
        self.graph, self.rules = graph, graph.rules

    def probs(self, boards: Boards) -> Probs:
        """The best moves of boards (B, cells), equally likely: (B, cells). ValueError for a finished board. The graph is left as it is."""
        boards = check_unfinished(boards, self.rules)
        nodes, unknown, probs = (
            self.graph.nodes,
            Node(0, 0, None),
            np.zeros((len(boards), self.rules.cells)),
        )
        for row, board in zip(probs, boards, strict=True):
            means = {
                cell: nodes.get(key, unknown).mean
                for cell, key in self.graph.orientations.keys_after(board).items()
            }
            best = [cell for cell, mean in means.items() if mean == max(means.values())]
            row[best] = 1 / len(best)
        return probs


class Live:
    """The moves that a search from the position itself visits most. Raises ValueError for numbers that make no sense.

    playouts: for each move. milliseconds: for each move, instead of playouts; 0 to count playouts. exploration, draws,
    value: see `Config`; `value` may also be a function. seed: of the random numbers, together with the position.
    """

    def __init__(
        self,
        rules: Rules,
        playouts: int = 1_000,
        milliseconds: float = 0.0,
        exploration: float = math.sqrt(2),
        draws: float = 0.5,
        value: str | Value = ROLLOUTS,
        seed: int = 0,
    ):
        if isinstance(milliseconds, bool) or not 0 <= milliseconds < math.inf:
            raise ValueError(
                f"milliseconds must be a finite number of at least 0, got {milliseconds!r}"
            )
        check_search(exploration, draws)
        self.rules, self.playouts, self.milliseconds = (
            rules,
            whole_number(playouts, "playouts", 1),
            milliseconds,
        )
        self.exploration, self.draws, self.value = exploration, draws, value_named(value, rules)
        self.seed, self.orientations = whole_number(seed, "seed", 0), Orientations(rules)
        self._answers: dict[int, set[int]] = {}

    def probs(self, boards: Boards) -> Probs:
        """The most visited moves of boards (B, cells), equally likely: (B, cells). ValueError for a finished board."""
        boards = check_unfinished(boards, self.rules)
        probs = np.zeros((len(boards), self.rules.cells))
        for row, board in zip(probs, boards, strict=True):
            key = self.orientations.key(*(self.orientations.marks(board, mark) for mark in (1, -1)))
            if key not in self._answers:
                self._answers[key] = self.search(key)
            best = [
                cell
                for cell, after in self.orientations.keys_after(board).items()
                if after in self._answers[key]
            ]
            row[best] = 1 / len(best)
        return probs

    def search(self, key: int) -> set[int]:
        """The keys of the most visited positions after the one with this key. It is searched in one orientation, whichever was asked for."""
        graph = Graph(
            self.rules,
            random.Random(f"{self.seed} {key}"),
            self.exploration,
            self.draws,
            self.value,
        )
        x, o = (
            np.array([marks], dtype=np.uint64)
            for marks in (key >> self.orientations.size, key & (1 << self.orientations.size) - 1)
        )
        root = graph.root(self.rules.to_boards(x, o)[0])
        if self.milliseconds:
            deadline = time.perf_counter() + self.milliseconds / 1000
            graph.playout(root)
            while time.perf_counter() < deadline:
                graph.playout(root)
        else:
            for _ in range(self.playouts):
                graph.playout(root)
        most = max(child.visits for child in root.children or ())
        return {
            graph.orientations.key(child.x, child.o)
            for child in root.children or ()
            if child.visits == most
        }


# --- learned values ------------------------------------------------------------------------------------------------


def value_named(value: str | Value, rules: Rules) -> Value | None:
    """None for rollouts, a function as it is, and for the path of a run what its player makes of a board."""
    if not isinstance(value, str):
        return value
    if value == ROLLOUTS:
        return None
    if not Path(value).exists():
        raise unknown_name("value", value, (ROLLOUTS, "the path of a saved run"))
    return value_of(load_policy(value, rules))


def value_of(player: TabularPolicy) -> Value:
    """The exact chances (B, 3) of X's win, a draw and O's win where a player plays both sides; its illegal moves lose."""
    rules, positions = player.rules, positions_of(player.rules)
    chances = np.stack(
        [positions.outcome_x == result for result in (1, 0, -1)], axis=1
    ) * positions.is_over[:, None].astype(np.float64)
    probs = player.by_row()
    for ply in range(rules.cells - 1, -1, -1):
        rows = np.arange(positions.ply_starts[ply], positions.ply_starts[ply + 1])
        rows = rows[~positions.is_over[rows]]
        after = chances[positions.children[rows]]
        after[positions.children[rows] < 0] = (0, 0, 1) if ply % 2 == 0 else (1, 0, 0)
        chances[rows] = (probs[rows][:, :, None] * after).sum(axis=1)
    return lambda boards: chances[positions.rows(boards)]


# --- training ------------------------------------------------------------------------------------------------------


def grow(config: Config) -> Graph:
    """The empty graph of a configuration, ready for playouts."""
    return Graph(
        config.rules,
        random.Random(config.seed),
        config.exploration,
        config.draws,
        value_named(config.value, config.rules),
    )


def train(
    config: Config, report: Report, resume: Path | None = None, logs: Path | None = None
) -> TabularPolicy:
    """Play the playouts, or go on from the folder `resume`; the moves of the last judgement. Nothing is written to `logs`."""
    graph, steps = (grow(config), 0) if resume is None else restore(resume, config)
    root = graph.root(np.zeros(config.rules.cells, dtype=np.int8))
    table, stop = table_of(graph), False
    while not stop and steps < config.steps:
        goal = min(config.steps, (steps // config.judge_every + 1) * config.judge_every)
        for _ in range(steps, goal):
            graph.playout(root)
        steps, table = goal, table_of(graph)
        stop = report(
            steps,
            table,
            lambda folder, everything=True, at=goal: save(folder, graph, config, at),
            {"positions": len(graph.nodes)},
        )
    return table


def table_of(graph: Graph) -> TabularPolicy:
    """`Offline` as a table; asked in one orientation of each position only."""
    positions = positions_of(graph.rules)
    canonical, probs = (
        positions.canonical[positions.unfinished],
        np.zeros((len(positions), graph.rules.cells)),
    )
    asked = np.unique(canonical)
    probs[asked] = Offline(graph).probs(positions.boards[asked])
    turned = np.zeros((len(canonical), graph.rules.cells))
    np.put_along_axis(
        turned,
        positions.symmetries[positions.to_canonical[positions.unfinished]],
        probs[canonical],
        axis=1,
    )
    return TabularPolicy(graph.rules, turned)


# --- files ---------------------------------------------------------------------------------------------------------

AGENT = "mcts"
COLUMNS = {
    name: np.dtype(kind)
    for name, kind in {"x": "u8", "o": "u8", "result": "i1", "visits": "i8", "total": "f8"}.items()
}
GOES_ON = 2  # the result of a position with a move to make


def save(folder: Path, graph: Graph, config: Config, steps: int) -> None:
    """Write the graph and the state of its random numbers (model.safetensors), which is all that there is."""
    full, nodes = graph.rules.full, graph.nodes.values()
    found: tuple[list[Any], ...] = (
        [node.x & full for node in nodes],
        [node.o & full for node in nodes],
        [GOES_ON if node.result is None else node.result for node in nodes],
        [node.visits for node in nodes],
        [node.total for node in nodes],
    )
    arrays = {
        name: np.array(column, dtype=kind)
        for (name, kind), column in zip(COLUMNS.items(), found, strict=True)
    }
    arrays["random"] = np.array(graph.rng.getstate()[1], dtype=np.uint32)
    write_arrays(
        folder / "model.safetensors",
        arrays,
        {"agent": AGENT, "config": asdict(config), "steps": steps},
    )


def restore(folder: Path, config: Config | None = None) -> tuple[Graph, int]:
    """The graph of a saved run, ready to go on bit for bit, and its playouts. Without `config` it is there to be asked only.

    Raises DamagedFileError if the files are damaged or of another agent, ValueError if the run had another configuration.
    """
    arrays, about = read_arrays(folder / "model.safetensors")
    if isinstance(about.get("config"), dict) and config is None:
        about["config"]["value"] = (
            ROLLOUTS  # the run that valued new positions is not needed to ask the graph
        )
    saved = read_config(Config, about, AGENT, folder)
    if config is not None:
        check_unchanged(config, saved, folder)
    graph = grow(config or saved)
    columns = [arrays.get(name, np.zeros(0)) for name in COLUMNS]
    fits = [column.dtype for column in columns] == list(COLUMNS.values()) and len(
        {column.shape for column in columns}
    ) == 1
    if not fits or "random" not in arrays:
        raise DamagedFileError(
            f"{folder / 'model.safetensors'} is no graph: it needs {', '.join(COLUMNS)} of each position, and random"
        )
    if ((columns[0] | columns[1]) & ~np.uint64(graph.rules.full)).any():
        raise DamagedFileError(
            f"{folder / 'model.safetensors'} is no graph on {graph.rules}: marks lie off the board"
        )
    for board, *counted in zip(
        graph.rules.to_boards(*columns[:2]),
        *(column.tolist() for column in columns[2:]),
        strict=True,
    ):
        node = Node(
            graph.orientations.marks(board, 1),
            graph.orientations.marks(board, -1),
            None if counted[0] == GOES_ON else counted[0],
        )
        node.visits, node.total = counted[1:]
        graph.nodes[graph.orientations.key(node.x, node.o)] = node
    graph.rng.setstate((random.Random.VERSION, tuple(arrays["random"].tolist()), None))
    return graph, about["steps"]


def load(folder: Path) -> TabularPolicy:
    """The player of a saved run. DamagedFileError for anything else."""
    return table_of(restore(folder)[0])
