"""One page for each learner: why it learns, its options, its table or network, and its update.

A page imports the package and `training`, and never another page. `training/learner.py` says what a page defines.
Others reach the pages through `page` and `load`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tictactoe_env.errors import unknown_name

if TYPE_CHECKING:
    from tictactoe_env.policy import TabularPolicy
    from training.learner import Page

TRAINABLE = {
    "maskable_ppo": "MaskablePPO of sb3-contrib: one network's policy and value for both sides, "
    "on masked moves",
    "dqn": "DQN of Stable-Baselines3 with masks and double Q-learning: one network's values for "
    "both sides",
    "tabular_q": "Q-learning in a table: a value for every position, from thousands of games at a "
    "time, for both sides",
    "tictacnet": "a network of 2,025 weights that is not told the rules: it learns by losing what an "
    "illegal move is worth",
    "mcts": "Monte-Carlo tree search: UCT on one graph of all positions, grown from the empty board "
    "by 4,000 playouts",
    "value_net": "self-play in levels: a network learns the value of a board from games against "
    "itself, with no other teacher",
    "neuroevolution": "a league of small networks: the best survive unchanged, the others become "
    "mutated clones of them",
    "trie": "a prefix tree of all games it has seen: learns from every game, one at a time, and "
    "never repeats a proven mistake",
}
"""What `train.py` can train, with a sentence each; the page of an agent is `agents/<name>.py`."""


def page(agent: str) -> Page:
    """The page of an agent. Raises ValueError, with a guess, for an unknown name."""
    if agent not in TRAINABLE:
        raise unknown_name("agent", agent, TRAINABLE)
    return cast("Page", import_module(f"agents.{agent}"))


def load(folder: Path) -> TabularPolicy:
    """The player of the model that a run has saved, made from its folder alone.

    Raises FileNotFoundError if there is no model, DamagedFileError (a ValueError) if its files are damaged.
    """
    from training import checkpoint
    from training.files import DamagedFileError, read_arrays

    agent = read_arrays(folder / checkpoint.MODEL)[1].get("agent")
    if not isinstance(agent, str) or agent not in TRAINABLE:
        known = ", ".join(TRAINABLE)
        raise DamagedFileError(f"{folder} holds a model of {agent!r}, not of any of {known}")
    return checkpoint.load(page(agent), folder)
