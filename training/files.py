"""Files that survive a crash and execute nothing: tensors and arrays as safetensors, the rest as JSON, a sha256 beside each.

Every file is written to a temporary name, flushed and renamed, so that a file is either the old one or the new one. The
same holds for a folder whose files belong together, and for tensors with the JSON beside them. torch is imported only
where tensors are written or read, so that agents which are tables load without it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as array_bytes

from tictactoe_env.files import sync_folder
from tictactoe_env.files import write_file as write_file  # part of this module too

if TYPE_CHECKING:
    import torch

MAX_BYTES = 1 << 30  # of a file that is read


class DamagedFileError(ValueError):
    """A file that is truncated, changed, or not what its name says."""


def write_folder(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a folder so that a crash leaves either the old one or the new one, for `settle_folder` to find."""
    new, old = _beside(path)
    settle_folder(path)
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir(parents=True)
    write(new)
    if path.exists():
        os.replace(path, old)
    os.replace(new, path)
    sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def settle_folder(path: Path) -> None:
    """Bring back the old folder where a crash struck `write_folder` between its two renamings."""
    _, old = _beside(path)
    if old.exists() and not path.exists():
        os.replace(old, path)


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(f".{path.name}.new"), path.with_name(f".{path.name}.old")


def write_json(path: Path, content: Any) -> None:
    """Write JSON."""
    write_file(path, lambda file: file.write(json.dumps(content, indent=1).encode()))


def read_json(path: Path) -> Any:
    """Read JSON; DamagedFileError if it is none."""
    data = _read(path)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{path} is damaged, it is not JSON: {error}") from None


def write_csv(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table as CSV, with a line of names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    write_file(path, lambda file: file.write(text.getvalue().encode()))


def read_csv(path: Path, names: Sequence[str], optional: Sequence[str] = ()) -> NDArray[np.float64]:
    """The numbers of a CSV file that begins with a line of these names: (lines, columns).

    optional: names of further columns; the file has all of them or none.
    Raises ValueError for other columns, and for anything that is not a number.
    """
    every = [*names, *optional]
    with open(path, encoding="utf-8", newline="") as file:
        try:
            found, *lines = list(csv.reader(file)) or [[]]
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path} must be a CSV file: {error}") from None
    if found not in (every, list(names)):
        may_lack = f" ({' and '.join(optional)} may be left out)" if optional else ""
        raise ValueError(
            f"{path} must have the columns {', '.join(every)}{may_lack}, "
            f"got {', '.join(found)[:200]!r}"
        )
    table = np.empty((len(lines), len(found)))
    for number, line in enumerate(lines):
        try:
            if len(line) != len(found):
                raise ValueError(f"it has {len(line)} columns")
            table[number] = [float(entry) for entry in line]
        except ValueError as error:
            raise ValueError(
                f"{path} must have a number in each of the {len(found)} columns, "
                f"line {number + 2} has not: {error}"
            ) from None
    return table


def write_tensors(
    path: Path, tensors: Mapping[str, torch.Tensor], about: Mapping[str, Any] | None = None
) -> None:
    """Write tensors as safetensors, and beside them `<name>.json` with their sha256 and `about`."""
    from safetensors.torch import save as tensor_bytes

    _write_with_json(
        path,
        tensor_bytes(
            {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        ),
        about,
    )


def read_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """The tensors, and what was written beside them. DamagedFileError if the sha256 differs or the file is none."""
    from safetensors.torch import load as load_tensors

    return _read_with_json(path, load_tensors)


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any] | None = None
) -> None:
    """Write NumPy arrays as `write_tensors` writes tensors, without torch; either reads what the other wrote."""
    _write_with_json(
        path,
        array_bytes({name: np.asarray(array, order="C") for name, array in arrays.items()}),
        about,
    )


def read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays, and what was written beside them. DamagedFileError if the sha256 differs or the file is none."""
    return _read_with_json(path, load_arrays)


def checked_array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    shape: tuple[int, ...],
    path: Path,
    kind: type | None = None,
) -> NDArray[Any]:
    """A copy of the array of this name; DamagedFileError unless it is there, has this shape and dtype (None: any) and is finite."""
    array = arrays.get(name)
    if (
        array is None
        or array.shape != shape
        or (kind is not None and array.dtype != kind)
        or not np.isfinite(array).all()
    ):
        found = "nothing" if array is None else f"{array.dtype} of the shape {array.shape}"
        expected = f"finite {kind.__name__ if kind else 'numbers'} of the shape {shape}"
        raise DamagedFileError(
            f"{path} does not fit its configuration: {name} must be {expected}, got {found}"
        )
    return array.copy()


def load_weights(network: torch.nn.Module, tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    """Put the tensors of a file into a network; DamagedFileError if they do not fit."""
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise DamagedFileError(
            f"{path} does not fit the network of its configuration: {error}"
        ) from None


def _write_with_json(path: Path, data: bytes, about: Mapping[str, Any] | None) -> None:
    """The JSON is written first and keeps what it said `before`, so that between the two the old data still have theirs."""
    beside, content = (
        path.with_suffix(".json"),
        {**(about or {}), "sha256": hashlib.sha256(data).hexdigest()},
    )
    with suppress(FileNotFoundError, DamagedFileError):
        content["before"] = _data_and_json(path)[1]
    write_json(beside, content)
    write_file(path, lambda file: file.write(data))


def _read_with_json(
    path: Path, load: Callable[[bytes], dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    data, about = _data_and_json(path)
    try:
        return load(data), about
    except SafetensorError as error:
        raise DamagedFileError(f"{path} is not a safetensors file: {error}") from None


def _data_and_json(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a file and what was written beside these very bytes; DamagedFileError if nothing was."""
    data, content = _read(path), read_json(path.with_suffix(".json"))
    content = content if isinstance(content, dict) else {}
    before, digest = content.pop("before", None), hashlib.sha256(data).hexdigest()
    about = next(
        (
            about
            for about in (content, before)
            if isinstance(about, dict) and about.get("sha256") == digest
        ),
        None,
    )
    if about is None:
        raise DamagedFileError(
            f"{path} is damaged: its sha256 is not the one in {path.with_suffix('.json').name}; train again or use another copy"
        )
    return data, about


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: is {path.parent} the folder of a run?")
    if path.stat().st_size > MAX_BYTES:
        raise DamagedFileError(f"{path} is larger than {MAX_BYTES >> 20} MB, so no run wrote it")
    return path.read_bytes()
