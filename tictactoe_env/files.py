"""Reading files of unknown origin, and atomic writing.

    data = read_file("runs/dqn-0/certificate.json", 32 << 20)
    content = json_value(data)

Only regular files are read: a named pipe, a device, a socket and a folder are refused before they
are opened, and a file that is too large before it is read. After a crash a written file has its old
content or its new content, never a part.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from tictactoe_env.errors import printable

MANIFEST = "manifest.json"
MOST_LISTED = 16 << 20  # bytes of a manifest


class FileRefusedError(ValueError):
    """A path that does not lead to a regular file, or a file that is too large."""


def check_file(
    path: str | os.PathLike[str], refusal: type[ValueError] = FileRefusedError
) -> os.stat_result:
    """The facts of a regular file, which is not opened.

    Raises `refusal` for anything else, and OSError, such as FileNotFoundError, if there is none.
    """
    try:
        found = os.stat(path)
    except ValueError as error:
        raise refusal(f"{os.fspath(path)!r} is not a path: {error}") from None
    if not stat.S_ISREG(found.st_mode):
        kind = "folder" if stat.S_ISDIR(found.st_mode) else "device, pipe or socket"
        raise refusal(f"{path} is a {kind}: expected a file")
    return found


def read_file(
    path: str | os.PathLike[str], most: int, refusal: type[ValueError] = FileRefusedError
) -> bytes:
    """The content of a regular file of at most `most` bytes.

    Raises `refusal` for a larger file, before it is read, and otherwise as `check_file`.
    """
    size = check_file(path, refusal).st_size
    if size <= most:
        with open(path, "rb") as file:
            data = file.read(size or most + 1)  # some files of the system have no size
        if len(data) <= most:
            return data
    limit = f"{most >> 20} MB" if most >= 1 << 20 else f"{most:,} bytes"
    raise refusal(f"{path} is larger than {limit}, the limit for such a file")


def json_value(
    data: bytes | str,
    pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    float_hook: Callable[[str], Any] | None = None,
) -> Any:
    """The value of a JSON text in UTF-8.

    pairs_hook: makes the value of each object from its names and values. float_hook: makes that of
    each fraction, NaN and infinity from its text.

    Raises ValueError if it is not JSON. The values may need 25 times the memory of their text.
    """
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        return json.loads(
            text, object_pairs_hook=pairs_hook, parse_float=float_hook, parse_constant=float_hook
        )
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"it is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("its lists and objects are nested too deeply") from None


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A `pairs_hook`: the object of these pairs. ValueError if a name stands in it twice.

    Readers differ in which of two values they take, so the file would not say one thing.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        names = ", ".join(name for name, _ in pairs[:3])
        raise ValueError(f"a name is repeated in the object of {printable(names):.200}, ...")
    return found


def write_file(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file atomically; its folder is made if needed.

    `write` fills a temporary file, which is flushed to the disk and then renamed. If `write` fails,
    the old file stays and the temporary file is removed. An OSError names the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name that nobody can guess, and no link that stands there is followed.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = os.fspath(path)
        raise


def sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a rename in it survives a power failure."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot open a folder
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


# --- the manifest of a folder ---------------------------------------------------------------------


class DamagedFileError(ValueError):
    """A file is truncated, was changed, or does not hold what its name says.

    Its text may quote the file, also in the words of a library: what cannot be printed is escaped.
    """

    def __init__(self, text: object):
        super().__init__(printable(text))


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, whose "files" have by name their "bytes" and their "sha256".

    Raises FileNotFoundError without one, DamagedFileError if it was changed.
    """
    try:
        content = json_value(read_file(folder / MANIFEST, MOST_LISTED))
    except ValueError:
        content = None
    if isinstance(content, dict) and content.pop("seal", None) == seal_of(content):
        return content
    raise DamagedFileError(f"{folder / MANIFEST} is damaged: use another copy of the run")


def missing_of(folder: Path, names: Iterable[str] | None = None) -> list[str]:
    """The files of the manifest that are gone, after the check that all others are as they were.

    names: check these ones only. Raises DamagedFileError, which names the first file that was
    changed, and FileNotFoundError without a manifest.
    """
    listed = read_manifest(folder)["files"]
    if names is not None:
        listed = {name: listed[name] for name in names if name in listed}
    missing = []
    for name in listed:
        path = folder / name
        if not path.exists():
            missing.append(name)
        elif facts_of(path) != listed[name]:
            raise DamagedFileError(
                f"{path} is damaged: it was changed since {MANIFEST} was written; use another copy "
                "of the run, or remove it if it is a plot or a table, which is written again"
            )
    return missing


def check_files(folder: Path, names: Iterable[str]) -> None:
    """Check that these files of a folder are as its manifest lists them, if it has one.

    Raises DamagedFileError, which names the first file that was changed.
    """
    if (folder / MANIFEST).exists():
        missing_of(folder, names)


def facts_of(path: Path) -> dict[str, Any]:
    """The entry of a file in a manifest."""
    size = check_file(path).st_size
    with open(path, "rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": size, "sha256": sha256}


def seal_of(content: Mapping[str, Any]) -> str:
    """The sha256 of a manifest's content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
