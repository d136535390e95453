"""One module for each agent: why it learns, its options, its table or network, and its update.

Each imports the package and `training`, and never another one. `training/learner.py` says what it
defines. Other folders use `module` and `load` to reach it; `facts` and `presets` tell of an agent
without importing it.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import training  # noqa: F401  before NumPy, whose kernels it chooses
from tictactoe_env.errors import unknown_name

if TYPE_CHECKING:
    from training.learner import AgentModule, BoardPlayer
    from training.options import Preset

FOLDER = Path(__file__).parent


def _sentence(path: Path) -> str:
    """The first line of a module's docstring, without the quotes."""
    with open(path, encoding="utf-8") as file:
        return file.readline().strip().strip('"')


TRAINABLE = {
    path.stem: _sentence(path) for path in sorted(FOLDER.glob("*.py")) if path.stem != "__init__"
}
"""The agents that `train.py` can train, by name, with the first sentence of each module."""

PARSING = Lock()  # two threads that parse at once may get a SystemError (CPython gh-106905)
CONTRACT = ("AGENT", "Config", "begin", "player")


def module(agent: str) -> AgentModule:
    """The module of an agent. Raises ValueError, with a guess, for an unknown name."""
    if agent not in TRAINABLE:
        raise unknown_name("agent", agent, TRAINABLE)
    found = import_module(f"agents.{agent}")
    missing = [name for name in CONTRACT if not hasattr(found, name)]
    if missing:
        expected = ", ".join(CONTRACT)
        raise TypeError(f"agents/{agent}.py must define {expected}: {', '.join(missing)} missing")
    if agent != found.AGENT:
        raise TypeError(f"AGENT in agents/{agent}.py must be {agent!r}, got {found.AGENT!r}")
    return cast("AgentModule", found)


@cache
def facts(agent: str) -> dict[str, Any]:
    """The plain constants of a module, such as TITLE and STORY; {} for an unknown agent."""
    if agent not in TRAINABLE:
        return {}
    with PARSING:
        code = ast.parse((FOLDER / f"{agent}.py").read_text(encoding="utf-8"))
    return {
        node.targets[0].id: node.value.value
        for node in code.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }


@cache
def presets(agent: str) -> dict[str, Preset]:
    """The presets of an agent in presets.toml, by name."""
    from training.options import Preset

    with open(FOLDER / "presets.toml", "rb") as file:
        found: dict[str, Any] = tomllib.load(file).get(agent, {})
    made = {}
    for name, one in found.items():
        base = found.get(one.get("like"), {"options": {}})
        options = {**base["options"], **one["options"]}
        is_weak = one.get("weak", base.get("weak", False))
        made[name] = Preset(one["sentence"], options, is_weak)
    return made


def load(folder: Path, **options: Any) -> BoardPlayer:
    """The player of a run's saved model. It needs nothing but the folder of the run.

    options: other values of some options of the run, such as `simulations=50` of an alphazero.
    Raises FileNotFoundError if there is no model, DamagedFileError (a ValueError) if a file is
    damaged, OptionError (a ValueError) for an option that the agent does not have.
    """
    from tictactoe_env.files import DamagedFileError
    from training import checkpoint

    agent = checkpoint.header_of(folder / checkpoint.MODEL).agent
    if agent not in TRAINABLE:
        known = ", ".join(TRAINABLE)
        raise DamagedFileError(f"{folder}/model.json is of {agent!r}, not of any of {known}")
    return checkpoint.load(module(agent), folder, **options)
