"""Locks on folders of runs, so that no two processes train the same run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tictactoe_env.files import check_file

if TYPE_CHECKING:
    from filelock import BaseFileLock

FILE = ".lock"  # in the folder
LOCK_SECONDS = 2  # after which a folder that another process has is refused


def lock_on(path: Path) -> BaseFileLock:
    """A lock on a file, which is made when the lock is acquired.

    Raises ValueError if anything but a regular file stands there. A link is refused too: the lock
    would empty the file that it leads to.
    """
    from filelock import FileLock

    if path.is_symlink():
        raise ValueError(f"{path} is a link, where a file is expected: remove it")
    with suppress(FileNotFoundError):
        check_file(path)
    return FileLock(path)


@contextmanager
def locked(folder: Path, what: str = "the runs of") -> Iterator[None]:
    """Hold a folder, which is made. The lock ends with the process, even if
    that is killed; its file stays.

    Raises ValueError if another process has it, and if its file is no regular file.
    """
    from filelock import Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = lock_on(folder / FILE)
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
