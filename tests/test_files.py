"""Files of runs: a kill or an error leaves the old or the new ones, and nothing is executed."""

import hashlib
import os
import pickle
import re

import numpy as np
import pytest
from small_runs import ROOT, killed_at
from text_cases import refuses

from tictactoe_env.files import MAX_JSON, write_file
from training import files
from training.files import (
    DamagedFileError,
    csv_lines,
    read_arrays,
    read_json,
    write_arrays,
    write_json,
)

OLD = {"weight": np.arange(6, dtype=np.float32).reshape(2, 3)}
posix = pytest.mark.skipif(os.name != "posix", reason="forks and signals")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def failing(file):
    file.write(b"new")
    raise KeyboardInterrupt("no space left")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_with_its_folder_and_an_error_leaves_the_old_one(tmp_path):
    path = tmp_path / "a" / "b" / "file.txt"
    for content in (b"first", b"second"):
        write_file(path, lambda file, content=content: file.write(content))
        assert path.read_bytes() == content
    with pytest.raises(KeyboardInterrupt):
        write_file(path, failing)
    assert path.read_bytes() == b"second"
    assert names(path.parent) == ["file.txt"]


def test_a_file_that_is_too_large_is_refused_by_name_before_it_is_read(path):
    path.touch()
    for read, size in ((read_json, MAX_JSON), (csv_lines, files.MAX_BYTES)):
        os.truncate(path, size + 1)
        with refuses(path, error=DamagedFileError):
            read(path)


def test_arrays_come_back_to_the_bit(path):
    arrays = {
        "turned": np.arange(12, dtype=np.float64).reshape(3, 4).T,
        "none": np.zeros((0, 9), dtype=np.int32),
        "signs": np.array([-0.0, np.nan, 1e-310]),
        "whole": np.array([2**62, -1]),
        "bytes": np.arange(5, dtype=np.uint8),
    }
    write_arrays(path, arrays)
    again = read_arrays(path)
    parts = lambda found: {n: (a.shape, a.dtype, a.tobytes()) for n, a in found.items()}  # noqa: E731
    assert parts(again) == parts(arrays)
    assert names(path.parent) == ["model.json", "model.safetensors"]


@posix
@pytest.mark.parametrize("number", [0, 2, 4])
def test_a_folder_is_replaced_as_a_whole_or_not_at_all(tmp_path, number):
    """number: of the renaming before which the process is killed."""
    folder = tmp_path / "checkpoint"
    files.recover_folder(folder)
    assert names(tmp_path) == []

    def write(steps):
        def fill(new):
            write_json(new / "progress.json", {"steps": steps})
            write_arrays(new / f"state{steps}.safetensors", OLD, {"steps": steps})

        files.write_folder(folder, fill)

    write(1)
    with pytest.raises(KeyboardInterrupt):
        files.write_folder(folder, lambda new: write_file(new / "progress.json", failing))
    assert killed_at(number, lambda: write(2))
    files.recover_folder(folder)
    assert names(folder) == ["progress.json", "state1.json", "state1.safetensors"]
    write(3)
    assert names(tmp_path) == ["checkpoint"]
    assert names(folder) == ["progress.json", "state3.json", "state3.safetensors"]


# --- nothing is executed, and files are opened in one place ---------------------------------------


def test_what_is_no_safetensors_file_is_refused_and_not_executed(path):
    mark = path.with_name("executed")

    class Poison:
        def __reduce__(self):
            return open, (str(mark), "w")

    poison = pickle.dumps(Poison())
    for digest in ("", hashlib.sha256(poison).hexdigest()):
        path.write_bytes(poison)
        write_json(path.with_suffix(".json"), {"sha256": digest})
        with refuses(path, error=DamagedFileError):
            read_arrays(path)
    assert not mark.exists()
    pickle.loads(poison)
    assert mark.exists(), "the poison works where it is loaded"


def test_no_file_of_ours_unpickles_anything():
    loads = r"(torch|np)\.load\((?!.*allow_pickle=False)|load_replay_buffer"
    calls = rf"{loads}|shelve|joblib\.load|joblib import load|(?<!\.)\b(eval|exec)\("
    # cloudpickle writes the code of exported zips; nothing may read with it
    pickles = r"import pickle|from (cloud)?pickle|pickle\.loads?\b|Unpickler"
    folders = ("tictactoe_env", "training", "agents", "apps")
    sources = [
        *ROOT.glob("*.py"),
        *(path for name in folders for path in (ROOT / name).rglob("*.py")),
    ]
    assert len(sources) > 100
    unpickling = re.compile(rf"{pickles}|{calls}")
    found = {path.name for path in sources if unpickling.search(path.read_text(encoding="utf-8"))}
    assert found == {"callbacks.py", "models.py"}  # of SB3
