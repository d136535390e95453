"""Files of runs: a kill or an error leaves the old or the new ones, and nothing is executed."""

import hashlib
import os
import pickle
import re

import numpy as np
import pytest
from programs import ROOT
from small_runs import killed_at
from text_cases import refuses

from tictactoe_env.files import write_file
from training import files
from training.files import (
    DamagedFileError,
    read_arrays,
    write_arrays,
    write_json,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_arrays_come_back_to_the_bit(path):
    arrays = {
        "turned": np.arange(12, dtype=np.float64).reshape(3, 4).T,
        "none": np.zeros((0, 9), dtype=np.int32),
        "signs": np.array([-0.0, np.nan, 1e-310]),
    }
    write_arrays(path, arrays, {})
    for name, array in read_arrays(path).items():
        expected = arrays.pop(name)
        assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
        assert array.tobytes() == expected.tobytes()
    assert not arrays


@pytest.mark.skipif(os.name != "posix", reason="forks and signals")
@pytest.mark.parametrize("number", [0, 2, 4])
def test_a_folder_is_replaced_as_a_whole_or_not_at_all(tmp_path, number):
    """number: of the renaming before which the process is killed."""
    folder = tmp_path / "checkpoint"

    def write(steps):
        def fill(new):
            write_json(new / "progress.json", {"steps": steps})
            write_arrays(new / f"state{steps}.safetensors", {}, {"steps": steps})

        files.write_folder(folder, fill)

    def fail(file):
        file.write(b"new")
        raise KeyboardInterrupt

    write(1)
    with pytest.raises(KeyboardInterrupt):
        files.write_folder(folder, lambda new: write_file(new / "progress.json", fail))
    assert not list(tmp_path.rglob("*.tmp"))
    assert killed_at(number, lambda: write(2))
    files.recover_folder(folder)
    assert names(folder) == ["progress.json", "state1.json", "state1.safetensors"]
    write(3)
    assert names(tmp_path) == ["checkpoint"]
    assert names(folder) == ["progress.json", "state3.json", "state3.safetensors"]


def test_what_is_no_safetensors_file_is_refused_and_not_executed(path):
    mark = path.with_name("executed")

    class Poison:
        def __reduce__(self):
            return open, (str(mark), "w")

    poison = pickle.dumps(Poison())
    path.write_bytes(poison)
    for digest in ("", hashlib.sha256(poison).hexdigest()):
        write_json(path.with_suffix(".json"), {"sha256": digest})
        with refuses(path, error=DamagedFileError):
            read_arrays(path)
    assert not mark.exists()
    pickle.loads(poison)
    assert mark.exists(), "the poison works where it is loaded"


def test_no_file_of_ours_unpickles_anything():
    loads = r"(torch|np)\.load\((?!.*allow_pickle=False)|load_replay_buffer|shelve|joblib\.load"
    pickles = r"import pickle|from (cloud)?pickle|pickle\.loads?\b|Unpickler"
    unpickling = re.compile(rf"{pickles}|{loads}|joblib import load|(?<!\.)\b(eval|exec)\(")
    folders = (ROOT / name for name in ("tictactoe_env", "training", "agents", "apps"))
    sources = [*ROOT.glob("*.py"), *(path for one in folders for path in one.rglob("*.py"))]
    assert len(sources) > 100
    found = {path.name for path in sources if unpickling.search(path.read_text(encoding="utf-8"))}
    assert found == {"callbacks.py", "models.py", "saved_model.py"}  # of SB3, the last if trusted
