"""Settings of all tests, and `--package`: only the tests of `tictactoe_env`, without torch."""

import ast
import sys

from hypothesis import settings

# The same examples at each run, and no failure because a busy machine was slow.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

NEEDED = "numpy gymnasium pytest hypothesis tictactoe_env sample_players plain_game"


def pytest_addoption(parser):
    parser.addoption("--package", action="store_true", help="only the tests of tictactoe_env alone")


def pytest_ignore_collect(collection_path, config):
    if config.getoption("--package") and collection_path.suffix == ".py":
        known = {*NEEDED.split(), *sys.stdlib_module_names}
        return not imported(collection_path) <= known or None
    return None


def imported(path):
    """The top-level packages that a test file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in names}
