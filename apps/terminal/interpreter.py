"""The interpreter of this program: commands that begin with it, and packages that it lacks.

command("evaluate.py", "runs/dqn-0")    # ".venv/bin/python evaluate.py runs/dqn-0" after `make`

with explained("train.py", "train"):    # a missing package ends the program with one line
    import torch

This imports the standard library only.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

OF_EVERY_RUN = ("filelock", "matplotlib", "tensorboard")
"""The packages of every training, besides the packages of its agent."""


def command(*words: str) -> str:
    """The command line that runs a program of this folder with the interpreter in use."""
    return shlex.join([python(), *words])


def python() -> str:
    """The command of this interpreter: "python" if the PATH leads to its folder, else its path.

    The path is relative to the current folder if the interpreter is below it.
    """
    if not sys.executable:
        return "python"
    path = Path(sys.executable)
    found = shutil.which("python")
    if found and Path(found).parent == path.parent:
        return "python"
    here = Path.cwd()
    if path.is_relative_to(here):
        path = path.relative_to(here)
    return path.as_posix()


def require(*packages: str) -> None:
    """Raise ModuleNotFoundError for the first of these packages that is not installed."""
    for package in packages:
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)


@contextmanager
def explained(prog: str, group: str) -> Iterator[None]:
    """End the program where a package is missing: a line on stderr, and the exit code 1.

    group: the dependency group that has the packages. After Ctrl-C the exit code is 130.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if sys.modules.get(package):  # it is there, and lacks a module
            raise
        text = f"{package} is not installed: pip install -e . --group {group} (pip 25.1 or newer)"
        venv = Path(__file__).resolve().parents[2] / ".venv"
        if venv.exists() and Path(sys.prefix) != venv:
            text += f"; this is {sys.executable}, the environment of `make` is {venv}"
        print(f"{prog}: {text}", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print(f"{prog}: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
