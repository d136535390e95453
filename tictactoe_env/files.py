"""Reading files of unknown origin, and atomic writing.

    data = read_file("runs/dqn-0/certificate.json", 32 << 20)
    content = json_value(data)

Only regular files are read: a named pipe, a device, a socket and a folder are refused before they
are opened, and a file that is too large before it is read. After a crash a written file has its old
content or its new content, never a part.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from tictactoe_env.errors import printable


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
