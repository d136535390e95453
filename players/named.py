"""Players by name: those of `tictactoe_env.opponents`, saved runs, and agents that need no training, with options such as search-depth=4."""

from __future__ import annotations

import importlib
import inspect
import os
import re
from pathlib import Path
from typing import Any

from tictactoe_env.errors import unknown_name
from tictactoe_env.opponents import NAMES, make_opponent
from tictactoe_env.policy import Policy
from tictactoe_env.rules import Rules

PLAYERS = {
    "search": (
        "search",
        "Minimax",
        "alpha-beta search of any board, to the end or within limits: search-depth=4, search-seconds=0.5",
    ),
    "mcts": (
        "mcts",
        "Live",
        "Monte-Carlo tree search from each position: mcts-playouts=1000, mcts-milliseconds=100, mcts-draws=1, mcts-value=RUN",
    ),
}
"""What needs no training: the page in agents/, the class on it, and a sentence."""


def make_player(spec: str, rules: Rules) -> Policy:
    """The policy of a name of PLAYERS with its options (`search-depth=4-ties=first`), else what `make_opponent` makes of it.

    Raises ValueError for an unknown name, option or value.
    """
    name, *options = re.split(r"-(?=[a-z_]+=)", spec)
    if name in PLAYERS:
        page, kind, _ = PLAYERS[name]
        player = getattr(importlib.import_module(f"tictactoe_env.{page}"), kind)
        return player(rules, **dict(_option(name, option, player) for option in options))
    if not (os.sep in spec or Path(spec).exists() or name.startswith(NAMES)):
        raise unknown_name(
            "agent", spec, (*NAMES, "minimax-slip=0.1", *PLAYERS, "the path of a saved run")
        )
    return make_opponent(spec, rules)


def _option(name: str, text: str, player: Any) -> tuple[str, Any]:
    """The keyword and its value of "depth=4"; an option has the type of its default."""
    known = {
        key: parameter.default
        for key, parameter in inspect.signature(player).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    key, _, value = text.partition("=")
    if key not in known:
        raise unknown_name(f"option of {name}", key, known)
    kind = type(known[key])
    try:
        return key, kind(value)
    except ValueError:
        raise ValueError(
            f"{key} of {name} must be of the type {kind.__name__}, such as {name}-{key}={known[key]}, got {value!r}"
        ) from None
