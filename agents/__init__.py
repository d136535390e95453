"""Agents trained on, or written for, `tictactoe_env`; used from a clone of the repository."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tictactoe_env.errors import unknown_name

if TYPE_CHECKING:
    from tictactoe_env.policy import Policy

TRAINABLE = {
    "maskable_ppo": "MaskablePPO of sb3-contrib: one network's policy and value for both sides, on masked moves",
    "dqn": "DQN of Stable-Baselines3 with masks and double Q-learning: one network's values for both sides",
    "tabular_q": "Q-learning in a table: a value for every position, from thousands of games at a time, for both sides",
    "tictacnet": "a network of 2,025 weights that is not told the rules: what an illegal move is worth, it learns by losing",
    "mcts": "Monte-Carlo tree search: UCT on one graph of all positions, grown from the empty board by 4,000 playouts",
    "value_net": "self-play in levels: a network learns what a board is worth from games against itself, with no other teacher",
    "neuroevolution": "a league of small networks: the best survive unchanged, the others become mutated clones of them",
    "trie": "a prefix tree of all games it has seen: learns from every game, one at a time, and never repeats a proven mistake",
}
"""What `train.py` can train, with a sentence each; the page of an agent is `agents/<name>.py`."""

WITH_VALUES = ("tabular_q", "trie")
"""Agents whose saved model says more than its table, `q_values` or `is_new`, and loads without torch."""


def page(agent: str) -> Any:
    """The page of an agent. Raises ValueError, with a guess, for an unknown name."""
    if agent not in TRAINABLE:
        raise unknown_name("agent", agent, TRAINABLE)
    return import_module(f"agents.{agent}")


def load(folder: Path) -> Policy:
    """The player of the model that a run has saved, made from its folder alone."""
    from training.files import DamagedFileError, read_json

    about = read_json(folder / "model.json")
    agent = about.get("agent") if isinstance(about, dict) else None
    if not isinstance(agent, str) or agent not in TRAINABLE:
        known = ", ".join(TRAINABLE)
        raise DamagedFileError(f"{folder} holds a model of {agent!r}, not of any of {known}")
    return cast("Policy", page(agent).load(folder))
