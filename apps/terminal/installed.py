"""What to say where a package is not installed. Imports the standard library only.

with explained("train.py"):      # a missing package ends the program with one line
    import torch
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

GROUPS = {
    "play": "cyclopts gymnasium numpy platformdirs pydantic rich safetensors",
    "web": "anyio fastapi starlette uvicorn",
    "train": "filelock joblib matplotlib sb3_contrib stable_baselines3 tensorboard torch",
    "optimize": "optuna sqlalchemy",
    "cluster": "distributed ray",
}
"""The packages that each dependency group installs, as they are imported."""
GROUP_OF = {package: group for group, names in GROUPS.items() for package in names.split()}
OF_EVERY_RUN = ("filelock", "matplotlib", "tensorboard")
"""What every training needs, besides the packages of its agent."""


def require(*packages: str) -> None:
    """Raise ModuleNotFoundError for the first of these packages that is not installed."""
    for package in packages:
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)


@contextmanager
def explained(prog: str, group: str = "play") -> Iterator[None]:
    """End the program where a package is missing: a line on stderr, and the exit code 1.

    group: the dependency group of the program. After Ctrl-C the exit code is 130.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in GROUP_OF:
            raise
        group = group if GROUP_OF[package] == "play" else GROUP_OF[package]
        text = f"{package} is not installed: pip install -e . --group {group} (pip 25.1 or newer)"
        venv = Path(__file__).resolve().parents[2] / ".venv"
        if venv.exists() and Path(sys.prefix) != venv:
            text += f"; this is {sys.executable}, the environment of `make` is {venv}"
        print(f"{prog}: {text}", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print(f"{prog}: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
