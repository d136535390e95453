"""Atomic writing: after a crash a file has its old content or its new content, never a part."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any


def write_file(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file atomically; its folder is made if needed.

    `write` fills a temporary file, which is flushed to the disk and then renamed. If `write` fails,
    the old file stays and the temporary file is removed.
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
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a rename in it survives a power failure."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot open a folder
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
