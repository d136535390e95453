"""Settings of all tests; `--package` runs those that need nothing but the package, or are named."""

import ast
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# One thread: the tests run on all cores already, and threads that wait for each other use them up.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import training  # noqa: F401  before NumPy, whose kernels it chooses

# The same examples in each run, and no failure because a busy machine is slow.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

collect_ignore = ["ecosystem", "fuzz"]  # run by make ecosystem and by make fuzz
NEEDED = {"numpy", "gymnasium", "pytest", "hypothesis", "tictactoe_env"}
NEEDED |= {"oracles", "fuzz"}


@pytest.fixture(autouse=True, scope="session")
def python_is_the_interpreter_of_the_tests():
    """The programs print commands with "python" then, whatever the PATH of the machine has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        yield


@pytest.fixture(scope="module")
def no_charts():
    """Charts take half a second each: the runs of a module are made without them."""
    from training import charts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "draw", lambda run: None)
        yield


def pytest_addoption(parser):
    parser.addoption("--package", action="store_true", help="only the tests of tictactoe_env alone")


def pytest_ignore_collect(collection_path, config):
    named = collection_path in [Path(name).absolute() for name in config.args]
    if config.getoption("--package") and collection_path.suffix == ".py" and not named:
        return imported(collection_path) - NEEDED - sys.stdlib_module_names != set() or None
    return None


def imported(path: Path) -> set[str]:
    """The top-level packages that a test file and its helpers in this folder import."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    helpers = {name for name in found if (path.parent / f"{name}.py").exists()}
    return (found - helpers).union(*(imported(path.parent / f"{name}.py") for name in helpers))
