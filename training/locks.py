"""Locks on folders of runs, so that no two processes train the same run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tictactoe_env.files import check_file

FILE = ".lock"  # in the folder
LOCK_SECONDS = 2  # after which a folder that another process has is refused


@contextmanager
def locked(folder: Path, what: str = "the runs of") -> Iterator[None]:
    """Hold a folder, which is made. The lock ends with the process, even if
    that is killed; its file stays.

    Raises ValueError if another process has it, and if its file is no regular file.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / FILE)
    if (folder / FILE).is_symlink():
        raise ValueError(f"{folder / FILE} is a link, where a file is expected: remove it")
    with suppress(FileNotFoundError):
        check_file(folder / FILE)
    try:
        lock.acquire(timeout=LOCK_SECONDS)
    except Timeout:
        raise ValueError(
            f"another process is training {what} {folder}: wait for its end, or use another folder"
        ) from None
    try:
        yield
    finally:
        lock.release()
