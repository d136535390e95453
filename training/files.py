"""The files of a run: arrays as safetensors, everything else as JSON or CSV, and one manifest.

Every file is written to a temporary name, flushed and renamed. After a crash there is either the
old file or the new one, never a part of one. The same holds for a folder written by `write_folder`.
The manifest of a folder holds the size and the sha256 of each file in it, and is written last:

    checkpoint/manifest.json    of the files of a checkpoint
    manifest.json               of a run that has come to its end, its checkpoint included

So a folder with a manifest is complete, and a file that was changed since then is told. Reading a
file executes nothing.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as array_bytes

from tictactoe_env.files import (
    MANIFEST,
    DamagedFileError,
    facts_of,
    missing_of,
    read_manifest,
    seal_of,
    sync_folder,
    write_file,
)

LOCK = ".lock"
LATER = "learned.db"  # the beginning of the names of files that change later
LOCK_SECONDS = 2  # after which a folder that another process has is refused


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises FileNotFoundError, with the folder of the run, without one."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(
            f"there is no file {path}: is {path.parent} the folder of a run?"
        ) from None


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file; after a crash it has its old content or the new one."""
    write_file(path, lambda file: file.write(data))


# --- JSON ----------------------------------------------------------------------------------------


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON."""
    write_bytes(path, json.dumps(content, indent=1).encode())


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises DamagedFileError if it is not JSON."""
    data = read_bytes(path)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from None


class Saved(BaseModel):
    """The form of a JSON object. Further entries, which another version may write, are ignored."""

    model_config = ConfigDict(strict=True, frozen=True)

    @classmethod
    def read(cls, path: Path) -> Self:
        """The object in a file. Raises DamagedFileError, which names the entry, for another one."""
        try:
            return cls.model_validate(read_json(path))
        except ValidationError as error:
            first = error.errors()[0]
            entry = "/".join(map(str, first["loc"])) or "the content"
            raise DamagedFileError(f"{path} is damaged: {entry}: {first['msg']}") from None


# --- tables and arrays ---------------------------------------------------------------------------


def write_csv(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table as CSV; the first line holds the names of the columns."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([names, *rows])
    write_bytes(path, text.getvalue().encode())


def csv_lines(path: Path) -> list[list[str]]:
    """The lines of a CSV file that are not blank, split into their entries.

    Raises FileNotFoundError, and DamagedFileError for what is no CSV file.
    """
    try:
        text = read_bytes(path).decode()
        return [line for line in csv.reader(io.StringIO(text, newline="")) if line]
    except (csv.Error, UnicodeDecodeError) as error:
        raise DamagedFileError(f"{path} must be a CSV file: {error}") from None


def read_numbers(path: Path, columns: int) -> NDArray[np.float64]:
    """The numbers of a CSV file below the names of its columns: (rows, columns), all finite.

    Raises FileNotFoundError, and ValueError for another file.
    """
    lines = csv_lines(path)[1:]
    with suppress(ValueError):  # of lines that are no numbers, or not as long as the others
        table = np.array(lines, dtype=np.float64)
        if table.shape[1:] == (columns,) and np.isfinite(table).all():
            return table
    raise ValueError(f"{path} must have lines of {columns} finite numbers below the first line")


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], entries: Mapping[str, Any]
) -> None:
    """Write arrays as safetensors, and entries with their sha256 into a JSON file beside them."""
    data = array_bytes({name: np.asarray(array, order="C") for name, array in arrays.items()})
    write_bytes(path, data)
    write_json(path.with_suffix(".json"), {**entries, "sha256": _sha256(data)})


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file.

    Raises FileNotFoundError if it or the JSON file beside it is missing, DamagedFileError if its
    sha256 is not the one in there, or if it is not a safetensors file.
    """
    beside = path.with_suffix(".json")
    data = read_bytes(path)
    entries = read_json(beside)
    if not isinstance(entries, dict) or entries.get("sha256") != _sha256(data):
        raise DamagedFileError(
            f"{path} is damaged: its sha256 is not the one in {beside.name}; use another copy, or "
            "continue the run with --resume, which writes both again"
        )
    try:
        return load_arrays(data)
    except SafetensorError as error:
        raise DamagedFileError(f"{path} is not a safetensors file: {error}") from None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- folders -------------------------------------------------------------------------------------


def write_folder(path: Path, write: Callable[[Path], Any]) -> None:
    """Replace a folder by one that `write` fills; after a crash, call `recover_folder`."""
    recover_folder(path)
    new, old = _beside(path)
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    new.mkdir(parents=True)
    write(new)
    if path.exists():
        os.replace(path, old)
    os.replace(new, path)
    sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def has_folder(path: Path) -> bool:
    """True if a folder is in its place, or `recover_folder` can restore it."""
    _, old = _beside(path)
    return path.exists() or old.exists()


def recover_folder(path: Path) -> None:
    """Restore the old folder if `write_folder` crashed between its two renamings."""
    _, old = _beside(path)
    if old.exists() and not path.exists():
        os.replace(old, path)


def remove_leftovers(folder: Path) -> None:
    """Remove files and folders that a kill has left half written in the folder of a run."""
    for leftover in _beside(folder / "checkpoint"):
        shutil.rmtree(leftover, ignore_errors=True)
    remove_temporary(folder)


def remove_temporary(folder: Path) -> None:
    """Remove the files that a kill has left half written in a folder, but not in its folders."""
    for file in folder.glob(".*.tmp"):
        file.unlink(missing_ok=True)


def _beside(path: Path) -> tuple[Path, Path]:
    """Where `write_folder` fills the new folder, and where it keeps the old one meanwhile."""
    return path.with_name(f".{path.name}.new"), path.with_name(f".{path.name}.old")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder of a run, which is made. The lock ends with the process, even a killed one.

    Raises ValueError if another process has it.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / LOCK, timeout=LOCK_SECONDS):
            yield
    except Timeout:
        raise ValueError(
            f"another process is training the run in {folder}: wait for its end, or use another one"
        ) from None


# --- the manifest --------------------------------------------------------------------------------


def write_manifest(folder: Path) -> None:
    """Write the manifest of all files that are in a folder now.

    Files that change later and hidden ones are left out.
    """
    files = {
        file.relative_to(folder).as_posix(): facts_of(file)
        for file in sorted(folder.rglob("[!.]*"))
        if file.is_file() and not file.name.startswith(LATER)
    }
    files.pop(MANIFEST, None)
    content = {"format": 2, "files": files}
    write_json(folder / MANIFEST, {**content, "seal": seal_of(content)})


def check_all(folder: Path) -> dict[str, Any]:
    """The manifest of a folder that has all of its files, as they were.

    Raises FileNotFoundError without a manifest, DamagedFileError for a missing or changed file.
    """
    missing = missing_of(folder)
    if missing:
        raise DamagedFileError(f"{folder / missing[0]} is missing: use another copy of the run")
    return read_manifest(folder)
