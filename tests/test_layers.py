"""Holds the picture of the house in the design: who may import whom, read from the sources."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "tictactoe_env"

# From the bottom up; a file imports from lower layers only, never from its own.
LAYERS = (
    ("errors",),
    ("rules",),
    ("standing",),
    ("notation", "observation"),
    ("positions", "games"),
    ("solver",),
    ("policy",),
    ("match",),
    ("certificate", "analysis"),
    ("runs", "orientations"),
    ("search", "mcts"),
    ("opponents",),
    ("row_engine", "bit_engine", "render"),
    ("config",),
    ("env",),
    ("vector_env",),
    ("__init__",),
)
LAYER_OF = {name: layer for layer, names in enumerate(LAYERS) for name in names}
ALLOWED = {"numpy", "gymnasium", PACKAGE} | sys.stdlib_module_names
SCRIPTS = {"train", "evaluate", "play"}

SOURCES = sorted((ROOT / PACKAGE).rglob("*.py"))
AGENTS = sorted((ROOT / "agents").rglob("*.py"))
# Tests may call the command lines that they test.
FACES = ("terminal", "web")  # of play.py
PROGRAMS = [
    *SOURCES,
    *AGENTS,
    *(path for folder in (*FACES, "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))),
    *sorted(ROOT.glob("*.py")),
]


def imports_of(source: str, package: str) -> set[str]:
    """The modules that a file imports, wherever in it, by full name: "numpy", "tictactoe_env.rules"."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, (package, node.module))) if node.level else node.module
            # "from package import name" means the module package.name, or a name inside the package.
            found |= (
                {f"{base}.{alias.name}" for alias in node.names}
                if base in (PACKAGE, "agents")
                else {base}
            )
        elif (
            isinstance(node, ast.Call)
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            called = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            if called in ("import_module", "__import__"):
                found.add(node.args[0].value)
    return found


def upward_imports(name: str, source: str) -> set[str]:
    """The modules of the package that a file of it imports though they are not below it."""
    inner = {
        module.split(".")[1] if "." in module else "__init__"
        for module in imports_of(source, PACKAGE)
        if module.split(".")[0] == PACKAGE
    }
    return {module for module in inner if LAYER_OF[module] >= LAYER_OF[name]}


def foreign_imports(source: str) -> set[str]:
    """The packages that a file of the package imports though it may not."""
    return {module.split(".")[0] for module in imports_of(source, PACKAGE)} - ALLOWED


def sideways_imports(name: str, source: str) -> set[str]:
    """The agents that a file beside them imports though it may not; the machinery imports machinery only."""
    found = {
        module.split(".")[1]
        for module in imports_of(source, "agents")
        if module.startswith("agents.")
    }
    return found - {name}


def script_imports(source: str) -> set[str]:
    """The command lines that a file imports."""
    return {module.split(".")[0] for module in imports_of(source, "")} & SCRIPTS


# --- the house ---------------------------------------------------------------------------------------------------


def test_every_file_of_the_package_has_its_place():
    assert {path.stem for path in SOURCES} == set(LAYER_OF)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_imports_point_down(path):
    assert upward_imports(path.stem, path.read_text()) == set()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_the_package_needs_numpy_and_gymnasium_and_nothing_else(path):
    assert foreign_imports(path.read_text()) == set()


@pytest.mark.parametrize("path", AGENTS, ids=lambda path: path.stem)
def test_agents_do_not_import_each_other(path):
    assert sideways_imports(path.stem, path.read_text()) == set()


@pytest.mark.parametrize("path", AGENTS, ids=lambda path: path.stem)
def test_agents_import_no_face(path):
    assert {module.split(".")[0] for module in imports_of(path.read_text(), "agents")} & set(
        FACES
    ) == set()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_imports_the_command_lines(path):
    assert script_imports(path.read_text()) == set()


def test_importing_the_package_loads_no_heavy_module_and_enumerates_nothing():
    program = (
        "import sys, tictactoe_env\n"
        "from tictactoe_env import match, positions, row_engine, solver\n"
        "heavy = {'torch', 'stable_baselines3', 'sb3_contrib', 'pygame', 'matplotlib', 'agents', 'sqlite3', 'pytest'}\n"
        "kept = [positions.positions_of, positions.symmetries_of, solver.solve, match.best_achievable, row_engine.row_tables]\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}), [function.cache_info().currsize for function in kept])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[] [0, 0, 0, 0, 0]\n"
    assert done.stderr == ""


# --- the reading of it -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import numpy as np", {"numpy"}),
        ("import os.path, sys", {"os.path", "sys"}),
        ("def f():\n    from torch import nn", {"torch"}),
        ("from tictactoe_env import match, rules", {"tictactoe_env.match", "tictactoe_env.rules"}),
        ("from tictactoe_env.rules import Rules", {"tictactoe_env.rules"}),
        ("from .rules import Rules", {"tictactoe_env.rules"}),
        ("from . import rules", {"tictactoe_env.rules"}),
        ("import importlib\nimportlib.import_module('torch.nn')", {"importlib", "torch.nn"}),
        ("if TYPE_CHECKING:\n    import torch", {"torch"}),
        ("'import torch'  # import torch", set()),
    ],
)
def test_imports_are_found_wherever_and_however_they_are_written(source, found):
    assert imports_of(source, PACKAGE) == found


def test_a_break_of_each_rule_is_seen():
    assert upward_imports("rules", "from tictactoe_env.positions import Positions") == {"positions"}
    assert upward_imports("observation", "from tictactoe_env.notation import board_text") == {
        "notation"
    }
    assert upward_imports("env", "import tictactoe_env") == {"__init__"}
    assert upward_imports("env", "from tictactoe_env.config import Config") == set()
    assert foreign_imports("def draw():\n    import pygame\n    import json") == {"pygame"}
    assert foreign_imports("import training.sb3") == {"training"}
    assert sideways_imports(
        "dqn", "from agents.trie import Config\nfrom training.sb3 import TicTacToeVecEnv"
    ) == {"trie"}
    assert sideways_imports("sb3", "from agents import dqn, training") == {"dqn"}
    assert script_imports("from train import main") == {"train"}
    assert script_imports("from training.evaluation import train") == set()
