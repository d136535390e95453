"""Paths that are no regular files, and a time limit that ends a test which waits for one."""

import os
import signal
import socket
from contextlib import contextmanager

KINDS = {
    "folder": "is a folder",
    "pipe": "is a named pipe",
    "socket": "is a socket",
    "device": "is a device",
    "endless": "is a device",
    "link to a pipe": "is a named pipe",
    "link to itself": "is a link that leads in a circle",
}
"""What can stand in place of a file, and how it is refused."""


def put(kind, path):
    """Put one of KINDS in place of what stands at a path."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        put_socket(path)
    elif kind == "link to a pipe":
        beside = path.with_name(f"{path.name}.pipe")
        beside.unlink(missing_ok=True)
        os.mkfifo(beside)
        path.symlink_to(beside)
    else:
        targets = {"device": "/dev/null", "endless": "/dev/zero", "link to itself": path}
        path.symlink_to(targets[kind])


def put_socket(path):
    """A socket at a path, whose length is limited: it is made in the folder itself."""
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


@contextmanager
def at_most(seconds):
    """Raise TimeoutError in the main thread if the block takes longer, even if it waits."""

    def late(number, frame):
        raise TimeoutError(f"it took longer than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
