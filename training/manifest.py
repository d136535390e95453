"""The manifest of a folder: the size and the sha256 of each file in it, written last.

    checkpoint/manifest.json    of the files of a checkpoint
    manifest.json               of a run that has come to its end, its checkpoint included

So a run with a manifest is complete, and a file that was changed since then is told. A training
that goes on removes the manifest of the run before it changes anything. Not listed are files that
change later (the games in learned.db, finished.json of a study) and those whose names begin with a
dot (locks, and what a kill left).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tictactoe_env.files import check_file, open_file
from training.files import FORMAT, HEX, SEAL, DamagedFileError, read_sealed, write_sealed
from training.schema import Entries, Named, Whole

FILE = "manifest.json"
LATER = ("learned.db", "finished.json")  # beginnings of the names of files that change later
CHUNK = 1 << 20  # bytes that are read at once
LAYOUT = Entries(
    {
        "format": FORMAT,
        "steps": Whole(),
        "files": Named({"bytes": Whole(), "sha256": HEX}),
        SEAL: HEX,
    }
)


def write_manifest(folder: Path, steps: int) -> None:
    """Write the manifest of all files that are in a folder now. steps: made by the training."""
    files = {name: _facts(folder / name) for name in sorted(_names(folder))}
    write_sealed(folder / FILE, {"steps": steps, "files": files})


def remove_manifest(folder: Path) -> None:
    """Remove the manifest: the files of the folder may change from here on."""
    (folder / FILE).unlink(missing_ok=True)


def has_manifest(folder: Path) -> bool:
    """Whether anything stands in the place of the manifest; `read_manifest` says if it is one."""
    return os.path.lexists(folder / FILE)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The content of a manifest. Raises FileNotFoundError without one, and DamagedFileError."""
    return read_sealed(folder / FILE, LAYOUT)


def missing_of(folder: Path, names: Iterable[str] | None = None) -> list[str]:
    """The listed files that are gone, after the check that all others are as they were.

    names: check these ones only, as far as they are listed. Raises DamagedFileError, which names
    the first file that was changed, and FileNotFoundError without a manifest.
    """
    listed = read_manifest(folder)["files"]
    missing = []
    for name in listed if names is None else (name for name in names if name in listed):
        path = folder / name
        try:
            size = check_file(path, DamagedFileError).st_size
            is_same = size == listed[name]["bytes"] and _facts(path) == listed[name]
        except (FileNotFoundError, NotADirectoryError):
            missing.append(name)
            continue
        if not is_same:
            raise DamagedFileError(
                f"{path} is damaged: it was changed since {FILE} was written; use another copy of "
                "the run, or remove it if it is a plot or a table, which is written again"
            )
    return missing


def check_all(folder: Path) -> dict[str, Any]:
    """The manifest of a folder that has all of its files, as they were.

    Raises FileNotFoundError without a manifest, DamagedFileError for a missing or changed file.
    """
    missing = missing_of(folder)
    if missing:
        raise DamagedFileError(f"{folder / missing[0]} is missing: use another copy of the run")
    return read_manifest(folder)


def _names(folder: Path) -> Iterator[str]:
    """The files below a folder that a manifest lists. Links are not followed."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            path = Path(place, name)
            relative = path.relative_to(folder).as_posix()
            is_later = name.startswith((".", *LATER)) or relative == FILE
            if not is_later and path.is_file() and not path.is_symlink():
                yield relative


def _facts(path: Path) -> dict[str, Any]:
    """The size and the sha256 of a file."""
    digest, size = hashlib.sha256(), 0
    with open_file(path, DamagedFileError) as file:
        while part := file.read(CHUNK):
            digest.update(part)
            size += len(part)
    return {"bytes": size, "sha256": digest.hexdigest()}
