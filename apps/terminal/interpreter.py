"""Commands to type, with the interpreter that runs this program. The standard library only.

command("evaluate.py", "runs/dqn-0")    # ".venv/bin/python evaluate.py runs/dqn-0" after `make`
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def command(*words: str) -> str:
    """The command line that runs a program of this folder with the interpreter in use."""
    return shlex.join([python(), *words])


def python() -> str:
    """How to call the interpreter in use: "python" if the PATH leads to it, else its path.

    The path is relative to the current folder if the interpreter is below it.
    """
    found = shutil.which("python")
    if not sys.executable or (found and _is_in_use(Path(found))):
        return "python"
    path, here = Path(sys.executable), Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def _is_in_use(found: Path) -> bool:
    """Whether another path is the interpreter in use, with the same packages.

    The interpreter of a virtual environment is a link to the one that made it: the folder counts.
    """
    mine, other = (_environment(path) for path in (Path(sys.executable), found))
    if mine or other:
        return mine == other
    return os.path.exists(sys.executable) and os.path.samefile(sys.executable, found)


def _environment(path: Path) -> Path | None:
    """The virtual environment of an interpreter, None for one without."""
    folder = path.absolute().parent.resolve().parent
    return folder if (folder / "pyvenv.cfg").exists() else None
