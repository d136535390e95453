"""Files of runs: they survive a crash, damage is named, and nothing is executed."""

import hashlib
import os
import pickle
import re
import signal

import numpy as np
import pytest
from small_runs import ROOT

from training import files
from training.files import (
    MAX_BYTES,
    DamagedFileError,
    read_arrays,
    read_json,
    recover_folder,
    write_arrays,
    write_file,
    write_folder,
    write_json,
)

OLD = {"weight": np.arange(6, dtype=np.float32).reshape(2, 3)}
NEW = {"weight": np.ones(4), "bias": np.zeros(2, dtype=np.int64)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def killed_at(number, action):
    """Whether a child process that does `action` is killed before its renaming number 0, 1, ..."""
    child = os.fork()
    if child == 0:
        rename, calls = os.replace, []

        def replace(*paths):
            if len(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            calls.append(paths)
            rename(*paths)

        files.os.replace = replace
        try:
            action()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def failing(file):
    file.write(b"new")
    raise KeyboardInterrupt("no space left")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- one file ------------------------------------------------------------------------------------


def test_a_file_is_written_with_its_folder_and_an_error_leaves_the_old_one(tmp_path):
    path = tmp_path / "a" / "b" / "file.txt"
    for content in (b"first", b"second"):
        write_file(path, lambda file, content=content: file.write(content))
        assert path.read_bytes() == content
    with pytest.raises(KeyboardInterrupt, match="no space left"):
        write_file(path, failing)
    assert path.read_bytes() == b"second"
    assert names(path.parent) == ["file.txt"]


def test_a_kill_while_writing_leaves_the_old_file(path):
    write_json(path, {"steps": 1})
    assert killed_at(0, lambda: write_json(path, {"steps": 2}))
    assert read_json(path) == {"steps": 1}
    assert not killed_at(1, lambda: write_json(path, {"steps": 2}))
    assert read_json(path) == {"steps": 2}


@pytest.mark.parametrize("content", ["", "{", "{'a': 1}", "[" * 100_000, '{"a": 1} trailing'])
def test_what_is_no_json_is_refused_by_name(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(DamagedFileError, match=r"config\.json is damaged, it is not JSON"):
        read_json(tmp_path / "config.json")


@pytest.mark.parametrize("read", [read_json, read_arrays])
def test_a_huge_file_is_refused_before_it_is_read(path, read):
    with open(path, "wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(DamagedFileError, match=r"model\.safetensors is larger than 1024 MB"):
        read(path)


# --- arrays and what is beside them --------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
def test_a_kill_between_arrays_and_their_json_leaves_what_belongs_together(path, number):
    for steps in (1, 2):
        write_arrays(path, OLD, {"steps": steps})
    assert killed_at(number, lambda: write_arrays(path, NEW, {"steps": 3}))
    arrays, about = read_arrays(path)
    assert about["steps"] == 2
    assert np.array_equal(arrays["weight"], OLD["weight"])
    write_arrays(path, NEW, {"steps": 3})
    arrays, about = read_arrays(path)
    assert about == {"steps": 3, "sha256": digest(path)}
    assert arrays.keys() == NEW.keys()


def test_arrays_come_back_to_the_bit_with_what_was_written_beside_them(path):
    arrays = {
        "turned": np.arange(12, dtype=np.float64).reshape(3, 4).T,
        "none": np.zeros((0, 9), dtype=np.int32),
        "signs": np.array([-0.0, np.nan, 1e-310]),
        "whole": np.array([2**62, -1]),
        "bytes": np.arange(5, dtype=np.uint8),
    }
    write_arrays(path, arrays, {"agent": "table", "steps": 3})
    again, about = read_arrays(path)
    parts = [
        {name: (array.shape, array.dtype, array.tobytes()) for name, array in found.items()}
        for found in (again, arrays)
    ]
    assert parts[0] == parts[1]
    assert about == {"sha256": digest(path), "agent": "table", "steps": 3}
    assert names(path.parent) == ["model.json", "model.safetensors"]


def cut_off(path):
    path.write_bytes(path.read_bytes()[:-1])


def beside(**changes):
    """A change of the JSON beside arrays; None removes an entry."""

    def change(path):
        content = {**read_json(path.with_suffix(".json")), **changes}
        content = {name: value for name, value in content.items() if value is not None}
        write_json(path.with_suffix(".json"), content)

    return change


DAMAGES = {
    "truncated": cut_off,
    "a bit flipped": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\x07"),
    "empty": lambda path: path.write_bytes(b""),
    "no sha256": beside(sha256=None),
    "another sha256": beside(sha256="0" * 64),
    "sha256 is no text": beside(sha256=7),
    "before is no mapping": beside(sha256=None, before=[1]),
    "JSON cut off": lambda path: cut_off(path.with_suffix(".json")),
    "JSON is a list": lambda path: path.with_suffix(".json").write_text("[1]"),
    "JSON is not text": lambda path: path.with_suffix(".json").write_bytes(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_arrays_are_refused_by_name_and_can_be_written_over(path, damage):
    write_arrays(path, OLD, {"steps": 1})
    read_arrays(path)
    damage(path)
    with pytest.raises(DamagedFileError, match=r"model\.(safetensors|json) is damaged"):
        read_arrays(path)
    write_arrays(path, NEW)
    assert read_arrays(path)[0].keys() == NEW.keys()


@pytest.mark.parametrize("missing", ["model.safetensors", "model.json"])
def test_a_missing_file_is_named_with_its_folder(path, missing):
    folder = path.parent
    write_arrays(path, OLD)
    (folder / missing).unlink()
    said = f"{folder / missing} is missing: is {folder} the folder of a run?"
    with pytest.raises(FileNotFoundError, match=re.escape(said)):
        read_arrays(path)


# --- a folder ------------------------------------------------------------------------------------


def fill(steps):
    def write(folder):
        write_json(folder / "progress.json", {"steps": steps})
        write_arrays(folder / f"state{steps}.safetensors", OLD, {"steps": steps})

    return write


def test_a_folder_is_replaced_as_a_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "checkpoint"
    recover_folder(folder)
    assert names(tmp_path) == []
    for steps in (1, 2):
        write_folder(folder, fill(steps))
    assert names(tmp_path) == ["checkpoint"]
    assert names(folder) == ["progress.json", "state2.json", "state2.safetensors"]
    with pytest.raises(KeyboardInterrupt, match="no space left"):
        write_folder(folder, lambda new: write_file(new / "progress.json", failing))
    assert read_json(folder / "progress.json") == {"steps": 2}


@pytest.mark.parametrize("number", range(5))
def test_a_kill_while_a_folder_is_written_leaves_the_old_one(tmp_path, number):
    folder = tmp_path / "checkpoint"
    write_folder(folder, fill(1))
    assert killed_at(number, lambda: write_folder(folder, fill(2)))
    recover_folder(folder)
    assert names(folder) == ["progress.json", "state1.json", "state1.safetensors"]
    assert read_json(folder / "progress.json") == {"steps": 1}
    write_folder(folder, fill(3))
    assert names(tmp_path) == ["checkpoint"]
    assert read_json(folder / "progress.json") == {"steps": 3}


# --- nothing is executed -------------------------------------------------------------------------


class Poison:
    """A pickle that writes a file where it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_what_is_no_safetensors_file_is_refused_and_not_executed(path):
    mark = path.with_name("executed")
    poison = pickle.dumps(Poison(str(mark)))
    for data in (poison, b"\x10\x00\x00\x00\x00\x00\x00\x00{not json at all}"):
        path.write_bytes(data)
        write_json(path.with_suffix(".json"), {"sha256": digest(path)})
        with pytest.raises(DamagedFileError, match=r"model\.safetensors is not a safetensors file"):
            read_arrays(path)
    assert not mark.exists()
    pickle.loads(poison)
    assert mark.exists(), "the poison works where it is loaded"


def test_no_file_of_ours_unpickles_anything():
    folders = (".", "tictactoe_env", "training", "agents", "players", "terminal", "web")
    sources = [path for folder in folders for path in (ROOT / folder).glob("*.py")]
    unpickling = re.compile(
        r"import (cloud)?pickle|(torch|np)\.load\(|load_replay_buffer|shelve|joblib|"
        r"(?<!\.)\b(eval|exec)\("
    )
    assert len(sources) > 20
    assert [path.name for path in sources if unpickling.search(path.read_text())] == []
