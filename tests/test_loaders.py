"""Whoever reads a file: all readers refuse what is no regular file, at once and in plain words."""

import ast
import os
import shutil
from pathlib import Path

import pytest
from any_games import game
from small_runs import ROOT, trained
from wrong_files import KINDS, at_most, put

from attack.loaders import READERS
from players.gallery import Gallery
from tictactoe_env.certificate import FILE
from tictactoe_env.runs import saved_runs
from training import learned
from training.jobs import Owner
from training.tuning import StudyError, held

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, sockets, devices, alarms")


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
    path.parent.mkdir(exist_ok=True)
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


def test_a_lock_of_a_search_that_is_another_file_is_refused(tmp_path):
    path = tmp_path / ".claims.lock"
    path.write_bytes(b"not of SQLite" * 100)
    with pytest.raises(StudyError, match="is no lock of a search: remove it"), held(path, 0):
        pass


def test_what_the_owner_of_workers_says_is_read_from_a_file_only(tmp_path):
    owner = Owner(str(tmp_path), str(tmp_path), "token", "host", os.getpid(), False, "terminal.job")
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
