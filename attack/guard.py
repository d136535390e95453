"""What reading a file must never do, seen by an audit hook: execute, connect, write elsewhere.

An audit hook cannot be removed, so `guard` is called in a child, see children.py.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty"),
    *("subprocess.Popen", "pickle.find_class", "marshal.load", "shutil.unpack_archive"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request", "os.kill"),
    *("os.chmod", "os.chown", "os.symlink", "os.link", "ctypes.dlopen", "code.__new__"),
)
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
HARMLESS = (os.devnull, f"{tempfile.gettempdir()}/torchinductor_")  # torch makes its folder
EXECUTED = "planted_by_an_attack"  # stands in every planted program


def guard(folder: Path) -> list[str]:
    """Watch this process from here on; the returned list grows by what must not happen.

    folder: the only one below which files may be changed.
    """
    own, found = os.path.realpath(folder), []
    sys.dont_write_bytecode = True

    def is_elsewhere(path: Any) -> bool:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return False
        text = os.path.abspath(os.fsdecode(path))
        return not text.startswith(own) and not text.startswith(HARMLESS)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & WRITING and is_elsewhere(path):
                found.append(f"opens {path} for writing")
        elif event in FORBIDDEN:
            found.append(f"{event} {str(arguments)[:200]}")
        elif event in CHANGES and is_elsewhere(arguments[0]):
            found.append(f"{event} {arguments[0]}")
        elif event in ("compile", "exec") and EXECUTED in str(arguments[0]):
            found.append(f"{event} of a planted text")

    sys.addaudithook(hook)
    return found
