"""Commands to type, with the interpreter that runs this program. The standard library only.

command("evaluate.py", "runs/dqn-0")    # ".venv/bin/python evaluate.py runs/dqn-0" after `make`
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def command(*words: str) -> str:
    """The command line that runs a program of this folder with the interpreter in use."""
    return shlex.join([python(), *words])


def python() -> str:
    """The command of this interpreter: "python" if the PATH leads to its folder, else its path.

    The path is relative to the current folder if the interpreter is below it.
    """
    path, here, found = Path(sys.executable), Path.cwd(), shutil.which("python")
    if not sys.executable or (found and Path(found).parent == path.parent):
        return "python"
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()
