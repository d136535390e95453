"""Files of runs: they survive a crash, damage is named, and nothing is executed."""

import hashlib
import json
import os
import pickle
import re
import signal
import tracemalloc
from itertools import count

import numpy as np
import pytest
from small_runs import ROOT
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
    write_sealed,
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
        rename, calls = os.replace, count()

        def replace(*paths):
            if next(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
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


def test_a_file_is_written_with_its_folder_and_an_error_leaves_the_old_one(tmp_path):
    path = tmp_path / "a" / "b" / "file.txt"
    for content in (b"first", b"second"):
        write_file(path, lambda file, content=content: file.write(content))
        assert path.read_bytes() == content
    with pytest.raises(KeyboardInterrupt, match="no space left"):
        write_file(path, failing)
    assert path.read_bytes() == b"second"
    assert names(path.parent) == ["file.txt"]


def test_a_file_is_written_where_folders_cannot_be_opened(tmp_path, monkeypatch):
    really_open = os.open

    def cannot_open_folders(path, flags, *mode):
        if os.path.isdir(path):
            raise PermissionError(f"Permission denied: {path}")
        return really_open(path, flags, *mode)

    monkeypatch.delattr(files.os, "O_DIRECTORY")
    monkeypatch.setattr(files.os, "open", cannot_open_folders)
    write_json(tmp_path / "a.json", [1])
    assert read_json(tmp_path / "a.json") == [1]


def test_what_is_no_json_is_refused_by_name_and_a_huge_file_before_it_is_read(path):
    for content in ("", "{", "{'a': 1}", '{"a": 1} trailing'):
        path.write_text(content)
        with refuses("model.safetensors is damaged: it is not JSON", error=DamagedFileError):
            read_json(path)
    path.write_text("[" * 100_000)
    with refuses("damaged: its lists and objects are nested too deeply", error=DamagedFileError):
        read_json(path)
    for read, size, limit in (
        (read_json, MAX_JSON, "16 MB"),
        (read_arrays, files.MAX_ARRAYS, "1024 MB"),
        (lambda path: next(csv_lines(path)), files.MAX_CSV, "32 MB"),
    ):
        os.truncate(path, size + 1)
        with refuses(f"model.safetensors is larger than {limit}", error=DamagedFileError):
            read(path)
    path.write_text("a,b\n" + 70_000 * "1")
    with refuses(
        "model.safetensors must be a CSV file: a line has 70,000 bytes", error=DamagedFileError
    ):
        list(csv_lines(path))


def test_an_error_escapes_what_a_library_quotes_from_a_file(path):
    header = json.dumps({"a": {"dtype": "\x1b[8m", "shape": [2], "data_offsets": [0, 8]}}).encode()
    data = len(header).to_bytes(8, "little") + header + bytes(8)
    files.write_bytes_of_arrays(path, data, {})
    with pytest.raises(DamagedFileError, match=r"unknown variant `\\x1b\[8m`") as error:
        read_arrays(path)
    assert str(error.value).isprintable()


def test_a_table_of_numbers_needs_little_more_memory_than_its_file(path):
    path.write_text("a,b\n" + 100_000 * "1,-2.5\n\n")
    tracemalloc.start()
    table = files.read_csv(path, ("a", "b"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (table.shape, set(table[:, 1])) == ((100_000, 2), {-2.5})
    assert peak < 10 * path.stat().st_size
    path.write_text("a,b\n1,2\n3\n")
    with refuses("each of the 2 columns, line 3 has not: it has 1 columns"):
        files.read_csv(path, ("a", "b"))


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
    assert about == {"steps": 3, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert arrays.keys() == NEW.keys()


def test_arrays_come_back_to_the_bit(path):
    arrays = {
        "turned": np.arange(12, dtype=np.float64).reshape(3, 4).T,
        "none": np.zeros((0, 9), dtype=np.int32),
        "signs": np.array([-0.0, np.nan, 1e-310]),
        "whole": np.array([2**62, -1]),
        "bytes": np.arange(5, dtype=np.uint8),
    }
    write_arrays(path, arrays)
    again, _ = read_arrays(path)
    parts = lambda found: {n: (a.shape, a.dtype, a.tobytes()) for n, a in found.items()}  # noqa: E731
    assert parts(again) == parts(arrays)
    assert names(path.parent) == ["model.json", "model.safetensors"]


DAMAGES = [
    (".safetensors", lambda data: data[:-1]),
    (".safetensors", lambda data: data[:-1] + b"\x07"),
    (".safetensors", lambda data: b""),
    (".json", lambda data: data[:-1]),
    (".json", lambda data: b'{"steps": 1}'),  # no sha256
    (".json", lambda data: b'{"sha256": "%s"}' % (b"0" * 64)),
    (".json", lambda data: b'{"sha256": 7}'),
    (".json", lambda data: b'{"before": [1]}'),  # no mapping
    (".json", lambda data: b"[1]"),
    (".json", lambda data: b"\xff\xfe\x00"),
]


@pytest.mark.parametrize(("suffix", "damaged"), DAMAGES)
def test_damaged_and_missing_arrays_are_refused_by_name_and_can_be_written_over(
    path, suffix, damaged
):
    write_arrays(path, OLD, {"steps": 1})
    file, folder = path.with_suffix(suffix), path.parent
    file.write_bytes(damaged(file.read_bytes()))
    with pytest.raises(DamagedFileError, match=r"model\.(safetensors|json) is damaged"):
        read_arrays(path)
    write_arrays(path, NEW)
    assert read_arrays(path)[0].keys() == NEW.keys()
    file.unlink()
    with refuses(f"{file} is missing: is {folder} the folder of a run?", error=FileNotFoundError):
        read_arrays(path)


def fill(steps):
    def write(folder):
        write_json(folder / "progress.json", {"steps": steps})
        write_arrays(folder / f"state{steps}.safetensors", OLD, {"steps": steps})

    return write


def test_a_folder_is_replaced_as_a_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "checkpoint"
    files.recover_folder(folder)
    assert names(tmp_path) == []
    files.write_folder(folder, fill(2))
    with pytest.raises(KeyboardInterrupt, match="no space left"):
        files.write_folder(folder, lambda new: write_file(new / "progress.json", failing))
    assert read_json(folder / "progress.json") == {"steps": 2}


@pytest.mark.parametrize("number", range(5))
def test_a_kill_while_a_folder_is_written_leaves_the_old_one(tmp_path, number):
    folder = tmp_path / "checkpoint"
    files.write_folder(folder, fill(1))
    assert killed_at(number, lambda: files.write_folder(folder, fill(2)))
    files.recover_folder(folder)
    assert names(folder) == ["progress.json", "state1.json", "state1.safetensors"]
    assert read_json(folder / "progress.json") == {"steps": 1}
    files.write_folder(folder, fill(3))
    assert names(tmp_path) == ["checkpoint"]
    assert names(folder) == ["progress.json", "state3.json", "state3.safetensors"]


def test_what_is_no_safetensors_file_is_refused_and_not_executed(path):
    mark = path.with_name("executed")

    class Poison:
        def __reduce__(self):
            return open, (str(mark), "w")

    poison = pickle.dumps(Poison())
    for data in (poison, b"\x10\x00\x00\x00\x00\x00\x00\x00{not json at all}"):
        path.write_bytes(data)
        write_sealed(path.with_suffix(".json"), {"sha256": hashlib.sha256(data).hexdigest()})
        with refuses("model.safetensors is not a safetensors file", error=DamagedFileError):
            read_arrays(path)
    assert not mark.exists()
    pickle.loads(poison)
    assert mark.exists(), "the poison works where it is loaded"


def test_no_file_of_ours_unpickles_anything():
    folders = (".", "tictactoe_env", "training", "agents", "players", "terminal", "web")
    sources = [path for folder in folders for path in (ROOT / folder).glob("*.py")]
    loads = r"(torch|np)\.load\((?!.*allow_pickle=False)|load_replay_buffer"
    calls = rf"{loads}|shelve|joblib\.load|joblib import load|(?<!\.)\b(eval|exec)\("
    # cloudpickle writes the code of exported zips; nothing may read with it
    pickles = r"import pickle|from (cloud)?pickle|pickle\.loads?\b|Unpickler"
    unpickling = re.compile(rf"{pickles}|{calls}")
    assert len(sources) > 20
    assert [path.name for path in sources if unpickling.search(path.read_text())] == []
