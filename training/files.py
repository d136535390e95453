"""The files of a run: arrays as safetensors with a checksum, everything else as JSON or CSV.

Every file is written to a temporary name, flushed and renamed. After a crash there is either the
old file or the new one, never a part of one. The same holds for a folder written by `write_folder`,
and for arrays with the JSON file beside them. The JSON files of a run hold a checksum of their own
content ("sealed"). Only regular files are read, up to a limit that depends on what they hold.
Reading a file executes nothing.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as array_bytes

from tictactoe_env.errors import printable
from tictactoe_env.files import MAX_JSON, json_value, read_file, sync_folder, write_file
from training.schema import Anything, Kind, LayoutError, Text, Whole, check

MAX_ARRAYS = 1 << 30  # bytes of a safetensors file; larger files are not read
MAX_CSV = 32 << 20  # bytes of a CSV file; the positions of 3x4 with their planes need 10 MB
MAX_LINE = 1 << 16  # bytes of a line of a CSV file
SEAL = "seal"  # in a JSON file: the sha256 of the rest of its content
VERSION = 2  # of the files of a run; those of version 1 have no "format" and no seal
FORMAT = Whole(VERSION, VERSION)
HEX = Text(64, "[0-9a-f]{64}")


class DamagedFileError(ValueError):
    """A file is truncated, was changed, or does not hold what its name says.

    Its text may quote the file, also in the words of a library: what cannot be printed is escaped.
    """

    def __init__(self, text: object):
        super().__init__(printable(text))


def write_folder(path: Path, write: Callable[[Path], Any]) -> None:
    """Replace a folder by one that `write` fills; after a crash, call `recover_folder`."""
    new, old = _beside(path)
    recover_folder(path)
    for left in (new, old):
        _remove(left)
    new.mkdir(parents=True)
    write(new)
    if path.exists():
        os.replace(path, old)
    os.replace(new, path)
    sync_folder(path.parent)
    _remove(old)


def has_folder(path: Path) -> bool:
    """Whether a folder is in its place, or `recover_folder` can restore it."""
    _, old = _beside(path)
    return path.exists() or (old.is_dir() and not old.is_symlink())


def recover_folder(path: Path) -> None:
    """Restore the old folder if `write_folder` crashed between its two renamings."""
    _, old = _beside(path)
    if has_folder(path) and not path.exists():
        os.replace(old, path)


def remove_leftovers(folder: Path) -> None:
    """Remove what a kill has left in the folder of a run: files and folders half written."""
    for left in _beside(folder / "checkpoint"):
        _remove(left)
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not Path(place, name).is_symlink()]
        for name in names:
            if name.startswith(".") and name.endswith(".tmp"):
                Path(place, name).unlink(missing_ok=True)


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(f".{path.name}.new"), path.with_name(f".{path.name}.old")


def _remove(path: Path) -> None:
    """Remove a folder with its content, or the link that stands in its place."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON."""
    write_file(path, lambda file: file.write(json.dumps(content, indent=1).encode()))


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises DamagedFileError if it is not JSON, or too large."""
    data = read_bytes(path, MAX_JSON)
    try:
        return json_value(data)
    except ValueError as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from None


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object as JSON, with the format of the files of a run and a checksum."""
    known = {"format": VERSION, **content}
    write_json(path, {**known, SEAL: _seal_of(known)})


def read_sealed(path: Path, layout: Kind) -> dict[str, Any]:
    """The object that `write_sealed` wrote. layout: what it must look like, "seal" included.

    Raises DamagedFileError if it was changed, was written by another version, or is another object.
    """
    content = read_json(path)
    if not isinstance(content, dict) or "format" not in content or SEAL not in content:
        raise DamagedFileError(
            f"{path} is damaged, or an earlier version of this program wrote it: it has no "
            "checksum of its own; train again with another --out, or use that version"
        )
    if content["format"] != VERSION:
        raise DamagedFileError(
            f"{path} is damaged, or another version of this program wrote it: expected the format "
            f"{VERSION}, got {content['format']!r:.40}; train again, or use that version"
        )
    rest = {key: value for key, value in content.items() if key != SEAL}
    try:
        is_whole = content[SEAL] == _seal_of(rest)
    except RecursionError:  # of lists in lists, as no program of this package writes them
        is_whole = False
    if not is_whole:
        raise DamagedFileError(
            f"{path} is damaged: it was changed since it was written; use another copy of the run"
        )
    checked(content, layout, path)
    return content


def checked(content: Any, layout: Any, path: Path, name: str = "") -> None:
    """Raise DamagedFileError, which names file and entry, if content is not what a layout says."""
    try:
        check(content, layout, name)
    except LayoutError as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from None


def _seal_of(content: Mapping[str, Any]) -> str:
    """The checksum of JSON values, however their text is laid out."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write_csv(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table as CSV; the first line holds the names of the columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    write_file(path, lambda file: file.write(text.getvalue().encode()))


def csv_lines(path: Path) -> Iterator[list[str]]:
    """The lines of a CSV file, one after the other, split into their entries; without blank ones.

    Raises FileNotFoundError, and DamagedFileError for what is no CSV file, and for a file or a line
    that is too large.
    """
    data = read_bytes(path, MAX_CSV)
    try:
        yield from csv.reader(_text_lines(path, data))
    except (csv.Error, UnicodeDecodeError) as error:
        raise DamagedFileError(f"{path} must be a CSV file: {error}") from None


def _text_lines(path: Path, data: bytes) -> Iterator[str]:
    for line in io.BytesIO(data):
        size = len(line.removesuffix(b"\n"))
        if size > MAX_LINE:
            raise DamagedFileError(
                f"{path} must be a CSV file: a line has {size:,} bytes, the limit is {MAX_LINE:,}"
            )
        if line.strip():
            yield line.decode("utf-8")


def read_csv(path: Path, names: Sequence[str], optional: Sequence[str] = ()) -> NDArray[np.float64]:
    """The numbers of a CSV file: (lines, columns). Its first line must hold these names.

    optional: further columns; the file has all of them or none.
    Raises ValueError for other columns, and for anything that is not a number.
    """
    every, lines = [*names, *optional], csv_lines(path)
    found = next(lines, [])
    if found not in (every, list(names)):
        may_lack = f" ({' and '.join(optional)} may be left out)" if optional else ""
        raise ValueError(
            f"{path} must have the columns {', '.join(every)}{may_lack}, "
            f"got {', '.join(found)[:200]!r}"
        )
    numbers = array("d")
    for number, line in enumerate(lines, 2):
        try:
            if len(line) != len(found):
                raise ValueError(f"it has {len(line)} columns")
            numbers.extend([float(entry) for entry in line])
        except ValueError as error:
            raise ValueError(
                f"{path} must have a number in each of the {len(found)} columns, "
                f"line {number} has not: {error}"
            ) from None
    return np.array(numbers).reshape(-1, len(found))


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any] | None = None
) -> None:
    """Write arrays as safetensors, and `about` with their sha256 into a JSON file beside them.

    The JSON file is written first. It keeps its previous content under "before" until the arrays
    are written, so that the old arrays still match it if a crash prevents that.
    """
    data = array_bytes({name: np.asarray(array, order="C") for name, array in arrays.items()})
    write_bytes_of_arrays(path, data, about or {})


def write_bytes_of_arrays(path: Path, data: bytes, about: Mapping[str, Any]) -> None:
    """Write the bytes of a safetensors file as `write_arrays` writes them."""
    content = {**about, "sha256": hashlib.sha256(data).hexdigest()}
    beside, before = path.with_suffix(".json"), None
    with suppress(FileNotFoundError, DamagedFileError):
        before = bytes_of_arrays(path)[1]
    write_sealed(beside, content if before is None else {**content, "before": before})
    write_file(path, lambda file: file.write(data))
    if before is not None:
        write_sealed(beside, content)


def read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays of a file, and the `about` that was written with them.

    Raises FileNotFoundError if one of the two files is missing, DamagedFileError if the sha256
    differs or the file is not a safetensors file.
    """
    data, about = bytes_of_arrays(path)
    try:
        return load_arrays(data), about
    except (SafetensorError, LookupError, TypeError, ValueError, ArithmeticError) as error:
        reason = error if isinstance(error, SafetensorError) else repr(error)
        raise DamagedFileError(f"{path} is not a safetensors file: {reason}") from None


def bytes_of_arrays(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a file of arrays, and the `about` that was written for these bytes."""
    beside = path.with_suffix(".json")
    data, content = read_bytes(path, MAX_ARRAYS), read_sealed(beside, Anything())
    before, digest = content.pop("before", None), hashlib.sha256(data).hexdigest()
    for about in (content, before):
        if isinstance(about, dict) and about.get("sha256") == digest:
            hidden = ("format", SEAL)
            return data, {key: value for key, value in about.items() if key not in hidden}
    raise DamagedFileError(
        f"{path} is damaged: its sha256 is not the one in {beside.name}; train again or use "
        "another copy"
    )


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes.

    Raises FileNotFoundError if there is none, DamagedFileError for anything else at its path, and
    for a larger file.
    """
    try:
        return read_file(path, most, DamagedFileError)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(
            f"{path} is missing: is {path.parent} the folder of a run?"
        ) from None
