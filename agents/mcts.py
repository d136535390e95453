"""Monte-Carlo tree search grown offline: one graph of positions from the empty board, asked for its best moves.

The search itself is `tictactoe_env/mcts.py`. Here its playouts start from the empty board, and the graph that they grow
plays the move with the largest mean success: visits of a position would count other ways to it too.
"""

from __future__ import annotations

import math
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tictactoe_env.mcts import ROLLOUTS, Graph, Node, Offline, check_search, value_named
from tictactoe_env.policy import TabularPolicy
from tictactoe_env.positions import positions_of
from training.evaluation import Report
from training.files import DamagedFileError, read_arrays, write_arrays
from training.options import BoardConfig, Preset, check_unchanged, option, read_config

MAX_CELLS = 12  # of a board that is searched offline by `train`: 3x4 is judged in a second, 4x4 would take minutes and gigabytes


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
