"""One page for each agent: why it learns, its options, its table or network, and its update.

A page is a module of this folder. It imports the package and `training`, and never another page.
`training/learner.py` says what a page defines. Other folders use `page` and `load` to reach them.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

import training  # noqa: F401  before NumPy, whose kernels it chooses
from tictactoe_env.errors import unknown_name

if TYPE_CHECKING:
    from training.learner import BoardPlayer, Page


def _sentence(path: Path) -> str:
    """The first line of a page's docstring, without the quotes."""
    with open(path, encoding="utf-8") as file:
        return file.readline().strip().strip('"')


TRAINABLE = {
    path.stem: _sentence(path)
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.stem != "__init__"
}
"""The agents that `train.py` can train, by name, with the first sentence of each page."""


WITH_VALUES = ("tabular_q", "trie")
"""Agents without torch whose model is loaded if a run has no file of values: see `players.seat`."""
WITH_RIVALS = ("dqn", "maskable_ppo", "tabular_q", "tictacnet")
"""Agents that can be trained against another learner: their learners define `meet`."""
CONTRACT = ("AGENT", "Config", "PRESETS", "begin", "player")


def page(agent: str) -> Page:
    """The page of an agent. Raises ValueError, with a guess, for an unknown name."""
    if agent not in TRAINABLE:
        raise unknown_name("agent", agent, TRAINABLE)
    found = import_module(f"agents.{agent}")
    missing = [name for name in CONTRACT if not hasattr(found, name)]
    if missing:
        raise TypeError(
            f"agents/{agent}.py must define {', '.join(CONTRACT)}: {', '.join(missing)} missing"
        )
    if agent != found.AGENT:
        raise TypeError(f"AGENT in agents/{agent}.py must be {agent!r}, got {found.AGENT!r}")
    return cast("Page", found)


def load(folder: Path) -> BoardPlayer:
    """The player of a run's saved model. It needs nothing but the folder of the run.

    Raises FileNotFoundError if there is no model, DamagedFileError (a ValueError) if a file is
    damaged.
    """
    from training import checkpoint
    from training.files import DamagedFileError, read_arrays

    agent = read_arrays(folder / checkpoint.MODEL)[1].get("agent")
    if not isinstance(agent, str) or agent not in TRAINABLE:
        known = ", ".join(TRAINABLE)
        raise DamagedFileError(f"{folder} holds a model of {agent!r}, not of any of {known}")
    return checkpoint.load(page(agent), folder)
