"""Whoever reads a file: one list of all loaders, for `files`.

Each is a call with the path of the file that it reads, in the folder of a run, and returns what it
made of the file. It may raise ValueError and OSError, which the command lines catch and tell.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import agents
import evaluate
import play
import train
from agents.value_net import Afterstates, Config, columns_of, read_dataset
from players.seat import run_seat
from terminal import job
from tictactoe_env.certificate import FILE, load_policy, read, verify
from tictactoe_env.mcts import value_named
from tictactoe_env.opponents import make_opponent
from tictactoe_env.own_values import read_values
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.store import GameStore, read_games
from tictactoe_env.store import main as store_main
from training import learned
from training.files import csv_lines, read_arrays, read_csv, read_json, read_sealed
from training.jobs import Job, last_line
from training.learned import GameFile
from training.locks import locked
from training.manifest import check_all, read_manifest
from training.options import read_config
from training.run import Run, read_config_file
from training.schema import Anything
from training.study import metrics_of
from training.tuning import Search, held

Call = Callable[[Path], Any]
SIDECARS = ("-journal", "-wal", "-shm")
CHECKPOINT = (
    *("progress.json", "metrics.csv", "manifest.json"),
    *("best.json", "best.safetensors", "model.json", "model.safetensors"),
    *("state.json", "state.safetensors"),
)


def verified(path: Path) -> str:
    """The moves of a verified certificate, and what is proven of them."""
    content = read(path)
    verify(content)
    return repr([content[name] for name in ("format", "board", "moves", "as_x", "as_o")])


def played(path: Path, player: Any = None) -> str:
    """How a player moves in all positions: a digest."""
    player = agents.load(path.parent) if player is None else player
    positions = positions_of(Rules())
    probs = player.probs(positions.boards[positions.unfinished])
    return hashlib.sha256(np.ascontiguousarray(probs).tobytes()).hexdigest()


def resumed(folder: Path) -> str:
    """What a training would continue with: its rows and its model."""
    about = read_config_file(folder)
    if about["agent"] not in agents.TRAINABLE:
        raise ValueError(f"{folder} is of an unknown agent")
    page = agents.page(about["agent"])
    config = read_config(page.Config, about["config"], folder / "config.json")
    run, learner = Run(folder, page, config), page.begin(config)
    run.steps_made()
    run.read_checkpoint(learner)
    digest = hashlib.sha256()
    for name, array in sorted(learner.model().items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return repr((learner.steps, run.rows, digest.hexdigest()))


def of_command(main: Any, *arguments: str) -> Call:
    """A call that raises ValueError with the one line that a command ends with."""

    def call(path: Path) -> None:
        try:
            code = main([str(path), *arguments])
        except SystemExit as ended:  # of argparse
            code = ended.code
        if code != 0:
            raise ValueError("the command has said why")

    return call


def with_path(main: Any, option: str, *more: str) -> Call:
    """Likewise of a command with an option before the path."""
    return lambda path: of_command(main, str(path), *more)(Path(option))


def store_of(path: Path | str, **options: Any) -> str:
    """The games of a store, by `list` and by iteration."""
    with GameStore(path, **options) as store:
        return repr([*store.list(1_000), "and", *store])


def values_of(path: Path) -> str:
    """The own values beside a certificate."""
    digest = read(path.parent)["sha256_of_moves"]
    policy = read_values(path, load_policy(path.parent), digest)
    return repr((policy.values.tobytes(), policy.meaning, policy.scale))


def dataset_of(path: Path) -> Any:
    """The results of a dataset of value_net."""
    return read_dataset(path, Afterstates(Config())).tobytes()


def dataset_columns() -> list[str]:
    """The names of the columns of a dataset."""
    return list(columns_of(Afterstates(Config())))


def search_of(folder: Path) -> Any:
    """A search of options with its study."""
    task: Any = SimpleNamespace(about={}, defaults={})
    return Search(folder, task)


def games_of(path: Path) -> str:
    """The games of a file of games."""
    return repr(list(read_games(path)))


def held_by_a_job(path: Path) -> Any:
    """The lock at a path, as the process of a study takes it."""
    return job.locked(Job("", str(path.parent / "seed"), "trie", {}), threading.Event())


def seat_of(path: Path) -> str:
    """A run as a player, with its own values of the empty board."""
    seat = run_seat(path.parent, "a run", Rules())
    thoughts = seat.thoughts(np.zeros(9, np.int8))
    return repr((seat.kinds, thoughts.probs, thoughts.values))


READERS: dict[str, tuple[str, Call]] = {
    "certificate.read, a file": (FILE, read),
    "certificate.read, a run": (FILE, lambda path: read(path.parent)),
    "certificate.verify": (FILE, verified),
    "load_policy": (FILE, lambda path: played(path, load_policy(path))),
    "make_opponent": (FILE, lambda path: played(path, make_opponent(str(path.parent), Rules()))),
    "mcts-value": (FILE, lambda path: value_named(str(path.parent), Rules())),
    "run_seat": (FILE, seat_of),
    "run_seat, its model": ("model.safetensors", seat_of),
    "run_seat, its games": ("learned.db", seat_of),
    "own values": ("values.npz", values_of),
    "agents.load": ("model.safetensors", played),
    "agents.load, its JSON": ("model.json", played),
    "agents.load, its manifest": ("manifest.json", played),
    "read_json": ("config.json", read_json),
    "read_sealed": ("config.json", lambda path: repr(read_sealed(path, Anything()))),
    "read_arrays": ("model.safetensors", read_arrays),
    "csv_lines": ("metrics.csv", lambda path: list(csv_lines(path))),
    "read_csv": ("metrics.csv", lambda path: read_csv(path, ("steps",))),
    "metrics_of": ("metrics.csv", lambda path: metrics_of(path.parent)),
    "a dataset": ("dataset.csv", dataset_of),
    "a manifest": ("manifest.json", lambda path: repr(read_manifest(path.parent))),
    "check_all": ("manifest.json", lambda path: repr(check_all(path.parent))),
    "config.json": ("config.json", lambda path: repr(read_config_file(path.parent))),
    "train.py --resume": (
        "config.json",
        lambda path: of_command(train.main, str(path.parent))(Path("--resume")),
    ),
    **{
        f"resume, {name}": (f"checkpoint/{name}", lambda path: resumed(path.parent.parent))
        for name in CHECKPOINT
    },
    "read_games": ("games", games_of),
    "read_games, JSON": ("games.json", games_of),
    "GameFile": ("games", lambda path: list(GameFile(path, Rules()))),
    "GameStore": ("learned.db", store_of),
    "GameStore, read only": ("learned.db", lambda path: store_of(path, read_only=True)),
    **{
        f"GameStore, its {end}": (
            f"learned.db{end}",
            lambda path, end=end: store_of(str(path).removesuffix(end)),
        )
        for end in SIDECARS
    },
    "learned.since": ("learned.db", lambda path: repr(learned.since(path.parent, 0))),
    "store --check": ("learned.db", of_command(store_main, "--check")),
    "store --import": (
        "games",
        lambda path: of_command(store_main, "--import", str(path))(path.parent / "new.db"),
    ),
    "evaluate.py": (FILE, of_command(evaluate.main)),
    "evaluate.py --verify": (FILE, with_path(evaluate.main, "--verify")),
    "play.py --x": (FILE, with_path(play.main, "--x", "--o", "random")),
    "the last line of a log": ("run.log", last_line),
    "a study of Optuna": ("study/study.db", lambda path: search_of(path.parent)),
    "the lock of a run": (".lock", lambda path: locked(path.parent).__enter__()),
    "the lock of a job": (".seed.lock", lambda path: held_by_a_job(path).__enter__()),
    "a lock of a search": (".claims.lock", lambda path: next(held(path, 0).gen)),
}
"""The readers, each with the file in the folder of a run that it reads and a call with its path."""

EXACT = (
    *("certificate.verify", "load_policy", "make_opponent", "own values"),
    *("agents.load", "agents.load, its JSON", "read_sealed", "config.json"),
    *(f"resume, {name}" for name in CHECKPOINT),
    *("GameStore", "GameStore, read only", "learned.since"),
)
"""Those whose file has a checksum: damage is refused, or leaves what they return as it was."""
