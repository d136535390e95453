"""The files of a run: arrays as safetensors with a checksum, everything else as JSON or CSV.

Every file is written to a temporary name, flushed and renamed. After a crash there is either the
old file or the new one, never a part of one. The same holds for a folder written by `write_folder`,
and for arrays with the JSON file beside them. Reading a file executes nothing.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as array_bytes

from tictactoe_env.files import MAX_JSON, json_value, read_file, sync_folder, write_file

MAX_ARRAYS = 1 << 30  # bytes of a safetensors file; larger files are not read
MAX_CSV = 32 << 20  # bytes of a CSV file; the positions of 3x4 with their planes need 10 MB
MAX_ROWS_MEMORY = 200 << 20  # bytes that the rows of a CSV file may need as dictionaries


class DamagedFileError(ValueError):
    """A file is truncated, was changed, or does not hold what its name says."""


def write_folder(path: Path, write: Callable[[Path], Any]) -> None:
    """Replace a folder by one that `write` fills; after a crash, call `recover_folder`."""
    new, old = _beside(path)
    recover_folder(path)
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir(parents=True)
    write(new)
    if path.exists():
        os.replace(path, old)
    os.replace(new, path)
    sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def recover_folder(path: Path) -> None:
    """Restore the old folder if `write_folder` crashed between its two renamings."""
    _, old = _beside(path)
    if old.exists() and not path.exists():
        os.replace(old, path)


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(f".{path.name}.new"), path.with_name(f".{path.name}.old")


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON."""
    write_file(path, lambda file: file.write(json.dumps(content, indent=1).encode()))


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises DamagedFileError if it is not JSON."""
    data = _read(path, MAX_JSON)
    try:
        return json_value(data)
    except ValueError as error:
        raise DamagedFileError(f"{path} is damaged, it is not JSON: {error}") from None


def write_csv(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table as CSV; the first line holds the names of the columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    write_file(path, lambda file: file.write(text.getvalue().encode()))


def read_csv(path: Path, names: Sequence[str], optional: Sequence[str] = ()) -> NDArray[np.float64]:
    """The numbers of a CSV file: (lines, columns). Its first line must hold these names.

    optional: further columns; the file has all of them or none.
    Raises ValueError for other columns, and for anything that is not a number.
    """
    every, lines = [*names, *optional], _lines(path)
    found = next(lines, [])
    if found not in (every, list(names)):
        may_lack = f" ({' and '.join(optional)} may be left out)" if optional else ""
        raise ValueError(
            f"{path} must have the columns {', '.join(every)}{may_lack}, "
            f"got {', '.join(found)[:200]!r}"
        )
    rows = []
    for number, line in enumerate(lines, 2):
        try:
            if len(line) != len(found):
                raise ValueError(f"it has {len(line)} columns")
            rows.append(np.array([float(entry) for entry in line]))
        except ValueError as error:
            raise ValueError(
                f"{path} must have a number in each of the {len(found)} columns, "
                f"line {number} has not: {error}"
            ) from None
    return np.array(rows).reshape(len(rows), len(found))


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file by the names in its first line.

    Raises ValueError for a row of another length, and for a file whose rows would need more than
    200 MB.
    """
    lines = _lines(path)
    names, rows, memory = next(lines, []), [], 0
    for number, line in enumerate(lines, 2):
        if len(line) != len(names):
            raise ValueError(
                f"{path} must have {len(names)} columns in each line, line {number} has {len(line)}"
            )
        row = dict(zip(names, line, strict=True))
        memory += sys.getsizeof(row) + sum(map(sys.getsizeof, line))
        if memory > MAX_ROWS_MEMORY:
            raise ValueError(
                f"{path} has too many rows, they need more than {MAX_ROWS_MEMORY >> 20} MB"
            )
        rows.append(row)
    return rows


def _lines(path: Path) -> Iterator[list[str]]:
    """The lines of a CSV file. Raises ValueError for another kind of file and a larger one."""
    try:
        text = read_file(path, MAX_CSV).decode("utf-8")
        yield from csv.reader(io.StringIO(text, newline=""))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be a CSV file: {error}") from None


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any] | None = None
) -> None:
    """Write arrays as safetensors, and `about` with their sha256 into a JSON file beside them.

    The JSON file is written first. It keeps its previous content under "before", so that the old
    arrays still match it if a crash prevents the new ones from being written.
    """
    data = array_bytes({name: np.asarray(array, order="C") for name, array in arrays.items()})
    content = {**(about or {}), "sha256": hashlib.sha256(data).hexdigest()}
    with suppress(FileNotFoundError, DamagedFileError):
        content["before"] = _data_and_about(path)[1]
    write_json(path.with_suffix(".json"), content)
    write_file(path, lambda file: file.write(data))


def read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays of a file, and the content of the JSON file beside them.

    Raises FileNotFoundError if one of the two files is missing, DamagedFileError if the sha256
    differs or the file is not a safetensors file.
    """
    data, about = _data_and_about(path)
    try:
        return load_arrays(data), about
    except SafetensorError as error:
        raise DamagedFileError(f"{path} is not a safetensors file: {error}") from None


def _data_and_about(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a file, and the JSON that was written for these bytes."""
    data, content = _read(path, MAX_ARRAYS), read_json(path.with_suffix(".json"))
    content = content if isinstance(content, dict) else {}
    before, digest = content.pop("before", None), hashlib.sha256(data).hexdigest()
    for about in (content, before):
        if isinstance(about, dict) and about.get("sha256") == digest:
            return data, about
    beside = path.with_suffix(".json").name
    raise DamagedFileError(
        f"{path} is damaged: its sha256 is not the one in {beside}; train again or use another copy"
    )


def _read(path: Path, most: int) -> bytes:
    try:
        return read_file(path, most, DamagedFileError)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(
            f"{path} is missing: is {path.parent} the folder of a run?"
        ) from None
