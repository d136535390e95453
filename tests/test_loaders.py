"""Whoever reads a file: all readers refuse what is no regular file, at once and in plain words."""

import ast
import os
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from any_games import game
from small_runs import ROOT, small_config, trained
from wrong_files import KINDS, at_most, put

import agents
import evaluate
import play
import train
from agents.value_net import Afterstates, read_dataset
from players.gallery import Gallery
from players.seat import run_seat
from terminal import job
from tictactoe_env.certificate import FILE, load_policy, read
from tictactoe_env.mcts import value_named
from tictactoe_env.opponents import make_opponent
from tictactoe_env.own_values import read_values
from tictactoe_env.rules import Rules
from tictactoe_env.runs import saved_runs
from tictactoe_env.store import GameStore, read_games
from tictactoe_env.store import main as store_main
from training import learned
from training.files import csv_lines, read_arrays, read_csv, read_json, read_sealed
from training.jobs import Job, Owner, last_line
from training.learned import GameFile
from training.locks import locked
from training.manifest import read_manifest
from training.run import Run, read_config_file
from training.schema import Anything
from training.study import metrics_of
from training.tuning import Search, held

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, sockets, devices, alarms")
SIDECARS = ("-journal", "-wal", "-shm")


def held_by_a_job(path):
    """The lock at a path, as the process of a study takes it."""
    return job.locked(Job("", str(path.parent / "seed"), "trie", {}), threading.Event())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a small run of a trie, with its own values and a game that it has learned."""
    folder = tmp_path_factory.mktemp("runs") / "trie-0"
    assert trained("trie", folder, steps=200) == 0
    learned.add(folder, game())
    return folder


@pytest.fixture
def copy(run, tmp_path):
    """A copy of the run that a test may spoil."""
    return Path(shutil.copytree(run, tmp_path / "runs" / "trie-0"))


def resumed(folder):
    config = small_config("trie", steps=400)
    return Run(folder, agents.page("trie"), config).resume(agents.page("trie").begin(config))


def exits_with_a_line(main, *arguments):
    """Raise ValueError with the one line that a command prints when it ends with an error."""

    def call(path):
        try:
            code = main([str(path), *arguments])
        except SystemExit as ended:  # of argparse
            code = ended.code
        if code != 0:
            raise ValueError("the command has said why")

    return call


def store_of(path, **options):
    with GameStore(path, **options) as store:
        return store.list()


def search_of(folder):
    task = SimpleNamespace(about={}, defaults={})
    return Search(folder, task)


def values_of(path):
    return read_values(path, load_policy(path.parent), read(path.parent)["sha256_of_moves"])


def dataset_of(path):
    return read_dataset(path, Afterstates(small_config("value_net")))


READERS = {
    "certificate.read, a file": (FILE, read),
    "certificate.read, a run": (FILE, lambda path: read(path.parent)),
    "load_policy": (FILE, load_policy),
    "make_opponent": (FILE, lambda path: make_opponent(str(path.parent), Rules())),
    "mcts-value": (FILE, lambda path: value_named(str(path.parent), Rules())),
    "run_seat": (FILE, lambda path: run_seat(path.parent, "runs/trie-0", Rules())),
    "run_seat, its model": (
        "model.safetensors",
        lambda path: run_seat(path.parent, "runs/trie-0", Rules()),
    ),
    "run_seat, its games": (
        "learned.db",
        lambda path: run_seat(path.parent, "runs/trie-0", Rules()),
    ),
    "own values": ("values.npz", values_of),
    "agents.load": ("model.safetensors", lambda path: agents.load(path.parent)),
    "agents.load, its JSON": ("model.json", lambda path: agents.load(path.parent)),
    "read_json": ("config.json", read_json),
    "read_sealed": ("config.json", lambda path: read_sealed(path, Anything())),
    "read_arrays": ("model.safetensors", read_arrays),
    "csv_lines": ("metrics.csv", lambda path: list(csv_lines(path))),
    "read_csv": ("metrics.csv", lambda path: read_csv(path, ("steps",))),
    "metrics_of": ("metrics.csv", lambda path: metrics_of(path.parent)),
    "a dataset": ("dataset.csv", dataset_of),
    "a manifest": ("manifest.json", lambda path: read_manifest(path.parent)),
    "config.json": ("config.json", lambda path: read_config_file(path.parent)),
    "agents.load, its manifest": ("manifest.json", lambda path: agents.load(path.parent)),
    "train.py --resume": (
        "config.json",
        lambda path: exits_with_a_line(train.main, str(path.parent))("--resume"),
    ),
    **{
        f"resume, {name}": (f"checkpoint/{name}", lambda path: resumed(path.parent.parent))
        for name in (
            *("progress.json", "metrics.csv", "manifest.json"),
            *("best.json", "best.safetensors", "model.json", "model.safetensors"),
            *("state.json", "state.safetensors"),
        )
    },
    "read_games": ("games", lambda path: list(read_games(path))),
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
    "learned.since": ("learned.db", lambda path: learned.since(path.parent, 0)),
    "store --check": ("learned.db", exits_with_a_line(store_main, "--check")),
    "store --import": (
        "games",
        lambda path: exits_with_a_line(store_main, "--import", str(path))(path.parent / "new.db"),
    ),
    "evaluate.py": (FILE, exits_with_a_line(evaluate.main)),
    "evaluate.py --verify": (
        FILE,
        lambda path: exits_with_a_line(evaluate.main, str(path))("--verify"),
    ),
    "play.py --x": (
        FILE,
        lambda path: exits_with_a_line(play.main, str(path), "--o", "random")("--x"),
    ),
    "the last line of a log": ("run.log", last_line),
    "a study of Optuna": ("study.db", lambda path: search_of(path.parent)),
    "the lock of a run": (".lock", lambda path: locked(path.parent).__enter__()),
    "the lock of a job": (".seed.lock", lambda path: held_by_a_job(path).__enter__()),
    "a lock of a search": (".claims.lock", lambda path: next(held(path, 0).gen)),
}
"""The readers, each with the file in the folder of a run that it reads and a call with its path."""

ABSENT = ("no certificate at", "there is no saved run", "is a link, where a file is expected")
"""What is said of a folder in place of a certificate, which is searched for one, of a link to
itself, which leads nowhere, and of a link in place of the lock of a run."""
PLAIN = (ValueError, OSError)
"""What the command lines catch and tell: every error of this project is one of these two."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_refuses_what_is_no_regular_file_at_once(reader, kind, copy, capsys):
    name, call = READERS[reader]
    path = copy / name
    if name == "study.db":
        (copy / "study").mkdir()
        path = copy / "study" / name
    put(kind, path)
    with at_most(20), pytest.raises(PLAIN) as raised:
        call(path)
    told = f"{raised.value} {capsys.readouterr().err}"
    assert any(words in told for words in (KINDS[kind], *ABSENT)), told
    assert "Traceback" not in told


@pytest.mark.parametrize("kind", KINDS)
def test_a_scan_of_folders_shows_what_is_no_regular_file_as_broken_or_not_at_all(kind, copy):
    other = copy.with_name("wrong")
    other.mkdir()
    put(kind, other / FILE)
    put(kind, copy.parent / "file.json")
    gallery = Gallery([copy.parent])
    with at_most(20):
        runs = {entry.id: entry for entry in gallery.entries() if entry.kind == "run"}
        found = [saved for _, saved in saved_runs([copy.parent])]
    assert not runs.pop("runs/trie-0").broken
    assert all(entry.broken and KINDS[kind] in entry.about for entry in runs.values())
    assert len(runs) == (0 if kind == "folder" else 2)
    assert [saved.file for saved in found] == [copy / FILE]


def test_what_the_owner_of_workers_says_is_read_from_a_file_only(tmp_path):
    owner = Owner(str(tmp_path), str(tmp_path), "token", "host", os.getpid(), False)
    for kind in KINDS:
        put(kind, owner.file)
        with at_most(10):
            assert owner.said is None
            owner.file.rmdir() if kind == "folder" else owner.file.unlink()
    owner.say("token")
    assert owner.said == "token"


# --- no reader is missing in this list -----------------------------------------------------------

FOLDERS = ("tictactoe_env", "training", "agents", "players", "terminal", "web")
READS = {"read_text", "read_bytes", "loadtxt", "genfromtxt", "fromfile", "memmap"}
ALLOWED = {
    "tictactoe_env/files.py": {"os.open", "open"},  # the bounded read itself, and writing
    "tictactoe_env/own_values.py": {"np.load"},  # of bytes
    "tictactoe_env/trained.py": {"read_bytes", "np.load"},  # files of the package
    "tictactoe_env/__main__.py": {"os.open"},  # /dev/null
    "tictactoe_env/store.py": {"os.open"},  # /dev/null
    "training/events.py": {"open"},  # a new file to be written
    "training/jobs.py": {"open"},  # a log to be written
    "web/requests.py": {"read_text"},  # a file of the package
    "agents/__init__.py": {"open"},  # the pages of the agents
}


def reads(source):
    """The calls in a file that may open a file: "open", "os.open", "np.load", "read_text"."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            found.add("open")
        elif isinstance(node.func, ast.Attribute):
            owner = getattr(node.func.value, "id", "")
            name = f"{owner}.{node.func.attr}"
            found |= {node.func.attr} & READS | {name} & {"os.open", "np.load", "io.open"}
            if node.func.attr == "open" and owner not in ("os", "io"):
                found.add("open")
    return found


def test_files_are_opened_in_one_place_only():
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    paths += ROOT.glob("*.py")
    named = {path.relative_to(ROOT).as_posix(): path for path in paths}
    ours = {
        name: path
        for name, path in named.items()
        if name.count("/") == 0 or name.split("/")[0] in FOLDERS
    }
    found = {name: reads(path.read_text(encoding="utf-8")) for name, path in ours.items()}
    assert {name: calls for name, calls in found.items() if calls} == ALLOWED


def test_a_read_is_seen_however_it_is_written():
    for source, found in (
        ("open(path)", {"open"}),
        ("Path(path).open()", {"open"}),
        ("path.read_text()", {"read_text"}),
        ("os.open(path, 0)", {"os.open"}),
        ("np.load(path)", {"np.load"}),
        ("np.fromfile(path)", {"fromfile"}),
        ("opened(path)", set()),
    ):
        assert reads(source) == found
