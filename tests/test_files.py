import hashlib
import json
import os
import pickle
import re
import signal

import numpy as np
import pytest
from small_runs import ROOT, python

from training import files
from training.files import (
    MAX_BYTES,
    DamagedFileError,
    read_arrays,
    read_json,
    settle_folder,
    write_arrays,
    write_file,
    write_folder,
    write_json,
)

OLD = {"weight": np.arange(6, dtype=np.float32).reshape(2, 3)}
NEW = {"weight": np.ones(4), "bias": np.zeros(2, dtype=np.int64)}


def killed_at(number, action):
    """Whether a child process that does `action` was killed before its renaming with this number (0, 1, ...)."""
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


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# --- one file ----------------------------------------------------------------------------------------------------


def test_a_file_is_written_with_its_folder_and_replaces_the_old_one(tmp_path):
    path = tmp_path / "a" / "b" / "file.txt"
    for content in (b"first", b"second"):
        write_file(path, lambda file, content=content: file.write(content))
        assert path.read_bytes() == content
    assert names(path.parent) == ["file.txt"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"new")
        raise error("no space left")

    with pytest.raises(error, match="no space left"):
        write_file(path, fail)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file.txt"]


def test_a_kill_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.json"
    write_json(path, {"steps": 1})
    assert killed_at(0, lambda: write_json(path, {"steps": 2}))
    assert read_json(path) == {"steps": 1}
    assert not killed_at(1, lambda: write_json(path, {"steps": 2}))
    assert read_json(path) == {"steps": 2}


# --- arrays and what is beside them -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
def test_a_kill_between_arrays_and_their_json_leaves_what_belongs_together(tmp_path, number):
    path = tmp_path / "model.safetensors"
    write_arrays(path, OLD, {"steps": 1})
    write_arrays(path, OLD, {"steps": 2})
    assert killed_at(number, lambda: write_arrays(path, NEW, {"steps": 3}))
    arrays, about = read_arrays(path)
    assert about["steps"] == 2
    assert np.array_equal(arrays["weight"], OLD["weight"])
    write_arrays(path, NEW, {"steps": 3})
    arrays, about = read_arrays(path)
    assert about["steps"] == 3
    assert about.keys() == {"sha256", "steps"}
    assert arrays.keys() == NEW.keys()


def test_arrays_come_back_to_the_bit_with_what_was_written_beside_them(tmp_path):
    arrays = {
        "turned": np.arange(12, dtype=np.float64).reshape(3, 4).T,
        "none": np.zeros((0, 9), dtype=np.int32),
        "signs": np.array([-0.0, np.nan, 1e-310]),
        "whole": np.array([2**62, -1]),
        "bytes": np.arange(5, dtype=np.uint8),
    }
    path = tmp_path / "model.safetensors"
    write_arrays(path, arrays, {"agent": "table", "steps": 3})
    again, about = read_arrays(path)
    assert {name: (array.shape, array.dtype, array.tobytes()) for name, array in again.items()} == {
        name: (array.shape, array.dtype, array.tobytes()) for name, array in arrays.items()
    }
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert about == {"sha256": digest, "agent": "table", "steps": 3}
    assert names(tmp_path) == ["model.json", "model.safetensors"]


def test_arrays_are_written_and_read_without_torch(tmp_path):
    program = (
        "import sys, numpy\n"
        "from pathlib import Path\n"
        "from training.files import read_arrays, write_arrays\n"
        "path = Path(sys.argv[1]) / 'model.safetensors'\n"
        "write_arrays(path, {'a': numpy.ones(3)})\n"
        "print(read_arrays(path)[0]['a'].sum(), 'torch' in sys.modules)\n"
    )
    assert python("-c", program, tmp_path).stdout == "3.0 False\n"


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


def flip_a_bit(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def change_beside(**changes):
    def change(path):
        beside = path.with_suffix(".json")
        content = {**json.loads(beside.read_text()), **changes}
        beside.write_text(
            json.dumps({name: value for name, value in content.items() if value is not None})
        )

    return change


DAMAGES = {
    "truncated": truncate,
    "a bit flipped": flip_a_bit,
    "empty": lambda path: path.write_bytes(b""),
    "no sha256": change_beside(sha256=None),
    "another sha256": change_beside(sha256="0" * 64),
    "sha256 is no text": change_beside(sha256=7),
    "before is no mapping": change_beside(sha256=None, before=[1]),
    "JSON cut off": lambda path: truncate(path.with_suffix(".json")),
    "JSON is a list": lambda path: path.with_suffix(".json").write_text("[1]"),
    "JSON is not text": lambda path: path.with_suffix(".json").write_bytes(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_arrays_are_refused_by_name(tmp_path, damage):
    path = tmp_path / "model.safetensors"
    write_arrays(path, OLD, {"steps": 1})
    read_arrays(path)
    damage(path)
    with pytest.raises(DamagedFileError, match=r"model\.(safetensors|json) is damaged"):
        read_arrays(path)


def test_arrays_can_be_written_over_damaged_ones(tmp_path):
    path = tmp_path / "model.safetensors"
    for damage in DAMAGES.values():
        write_arrays(path, OLD)
        damage(path)
        write_arrays(path, NEW)
        assert read_arrays(path)[0].keys() == NEW.keys()


def test_what_is_no_safetensors_file_is_refused_though_its_sha256_is_right(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00{not json at all}")
    write_json(path.with_suffix(".json"), {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()})
    with pytest.raises(DamagedFileError, match=r"model\.safetensors is not a safetensors file"):
        read_arrays(path)


@pytest.mark.parametrize("missing", ["model.safetensors", "model.json"])
def test_a_missing_file_is_named_with_its_folder(tmp_path, missing):
    write_arrays(tmp_path / "model.safetensors", OLD)
    (tmp_path / missing).unlink()
    with pytest.raises(
        FileNotFoundError,
        match=re.escape(f"{tmp_path / missing} is missing: is {tmp_path} the folder of a run?"),
    ):
        read_arrays(tmp_path / "model.safetensors")


@pytest.mark.parametrize("content", ["", "{", "{'a': 1}", "[" * 100_000, '{"a": 1} trailing'])
def test_what_is_no_json_is_refused_by_name(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(DamagedFileError, match=r"config\.json is damaged, it is not JSON"):
        read_json(tmp_path / "config.json")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    for name, read in (("config.json", read_json), ("model.safetensors", read_arrays)):
        with open(tmp_path / name, "wb") as file:
            file.truncate(MAX_BYTES + 1)
        with pytest.raises(DamagedFileError, match=rf"{name} is larger than 1024 MB"):
            read(tmp_path / name)


# --- a folder ----------------------------------------------------------------------------------------------------


def fill(steps):
    def write(folder):
        write_json(folder / "progress.json", {"steps": steps})
        write_arrays(folder / f"state{steps}.safetensors", OLD, {"steps": steps})

    return write


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    for steps in (1, 2):
        write_folder(tmp_path / "checkpoint", fill(steps))
    assert names(tmp_path) == ["checkpoint"]
    assert names(tmp_path / "checkpoint") == ["progress.json", "state2.json", "state2.safetensors"]


@pytest.mark.parametrize("number", range(5))
def test_a_kill_while_a_folder_is_written_leaves_the_old_one_and_the_next_writing_succeeds(
    tmp_path, number
):
    folder = tmp_path / "checkpoint"
    write_folder(folder, fill(1))
    assert killed_at(number, lambda: write_folder(folder, fill(2)))
    settle_folder(folder)
    assert names(folder) == ["progress.json", "state1.json", "state1.safetensors"]
    assert read_json(folder / "progress.json") == {"steps": 1}
    write_folder(folder, fill(3))
    assert names(tmp_path) == ["checkpoint"]
    assert read_json(folder / "progress.json") == {"steps": 3}


def test_an_error_while_a_folder_is_written_leaves_the_old_one(tmp_path):
    write_folder(tmp_path / "checkpoint", fill(1))

    def fail(folder):
        fill(2)(folder)
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        write_folder(tmp_path / "checkpoint", fail)
    assert read_json(tmp_path / "checkpoint" / "progress.json") == {"steps": 1}


def test_a_folder_that_was_never_left_aside_stays_as_it_is(tmp_path):
    settle_folder(tmp_path / "checkpoint")
    assert names(tmp_path) == []


# --- nothing is executed -----------------------------------------------------------------------------------------


class Poison:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_poisoned_pickle_is_refused_and_not_executed(tmp_path):
    path, mark = tmp_path / "model.safetensors", tmp_path / "executed"
    data = pickle.dumps(Poison(str(mark)))
    path.write_bytes(data)
    write_json(path.with_suffix(".json"), {"sha256": hashlib.sha256(data).hexdigest()})
    with pytest.raises(DamagedFileError, match="is not a safetensors file"):
        read_arrays(path)
    assert not mark.exists()
    pickle.loads(data)
    assert mark.exists(), "the poison works where it is loaded"


def test_no_file_of_ours_unpickles_anything():
    folders = ("tictactoe_env", "training", "agents", "players", "terminal", "web")
    sources = [path for folder in folders for path in (ROOT / folder).glob("*.py")]
    sources += ROOT.glob("*.py")
    unpickling = re.compile(
        r"import (cloud)?pickle|torch\.load\(|np\.load\(|load_replay_buffer|shelve|joblib|(?<!\.)\b(eval|exec)\("
    )
    assert len(sources) > 20
    assert {
        path.name: found.group()
        for path in sources
        if (found := unpickling.search(path.read_text()))
    } == {}
