"""Opponents: the policy of a name, a saved run or an object, and weighted pools of policies.

random                   every legal move equally likely
minimax                  perfect play, ties drawn at random
minimax-first            perfect play, the lowest of the best cells
minimax-slip=0.1         perfect play, but a random legal move with probability 0.1
search                   alpha-beta search; search-depth=4, search-seconds=0.5, search-ties=first
mcts                     Monte-Carlo tree search; mcts-playouts=50, mcts-milliseconds=100
runs/dqn-0               the policy that a run saved in its certificate.json
dqn                      the newest run of this agent in models/ or runs/ of the working folder

`gym.make`, every command line and the page for a browser accept these; all call `make_opponent`.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tictactoe_env.certificate import FILE, load_policy
from tictactoe_env.errors import unknown_name
from tictactoe_env.mcts import TreeSearchPolicy
from tictactoe_env.policy import MinimaxPolicy, Policy, RandomPolicy, as_policy, checked_weights
from tictactoe_env.rules import Rules
from tictactoe_env.runs import FOLDERS, Folders, agents_with_runs, is_agent_name, newest_run
from tictactoe_env.search import SearchPolicy

NAMES = ("random", "minimax", "minimax-first", "search", "mcts")


class Named(NamedTuple):
    """A player that needs no training: its name, a function that makes it, and its options."""

    name: str
    make: Any
    options: dict[str, Any]


_MAKERS: dict[str, Any] = {
    "random": lambda rules: RandomPolicy(),
    "minimax": MinimaxPolicy,
    "minimax-first": partial(MinimaxPolicy, ties="first"),
    "minimax-random": partial(MinimaxPolicy, ties="random"),
    "search": SearchPolicy,
    "mcts": TreeSearchPolicy,
}
_EXAMPLES = {"slip": 0.1, "depth": 4, "seconds": 0.5, "playouts": 50, "milliseconds": 100}
_KINDS = {int: "a whole number", float: "a number", str: "a text"}


def make_opponent(
    spec: Any, rules: Rules, what: str = "opponent", also: Iterable[str] = ()
) -> Policy:
    """The policy of a name, a saved run, an agent's name, or an object with `probs` or `predict`.

    A saved run plays by the table of its certificate. what: what an error calls the player. also:
    further names that the error lists. Raises ValueError for an unknown name or option, a damaged
    run, a run on another board, and an object that is not a player.
    """
    if not isinstance(spec, (str, os.PathLike)):
        return as_policy(spec, rules)
    named = named_player(spec)
    if named is not None:
        return named.make(rules, **named.options)
    path = saved_path(spec, rules, what, also)
    assert path is not None
    try:
        return load_policy(path, rules)
    except FileNotFoundError as error:
        raise ValueError(f"{str(spec)!r} is no saved run: {error}") from None


def named_player(spec: str | os.PathLike[str]) -> Named | None:
    """The player and options of a name such as `search-depth=4-ties=first`; None for other texts.

    Raises ValueError for an unknown option and for a value of the wrong type.
    """
    if not isinstance(spec, str):
        return None
    name, *options = re.split(r"-(?=[a-z_]+=)", spec)
    if name not in _MAKERS:
        return None
    make = _MAKERS[name]
    return Named(name, make, dict(_option(name, option, make) for option in options))


def _option(name: str, text: str, make: Any) -> tuple[str, Any]:
    """The keyword and the value of an option such as "depth=4"."""
    known = {
        key: parameter.default
        for key, parameter in inspect.signature(make).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    key, _, value = text.partition("=")
    if key not in known:
        raise unknown_name(f"option of {name}", key, known)
    kind = type(known[key])
    try:
        return key, kind(value)
    except ValueError:
        example = f"{name}-{key}={_EXAMPLES.get(key, known[key])}"
        raise ValueError(
            f"{key} of {name} must be {_KINDS[kind]}, such as {example}, got {value!r}"
        ) from None


def saved_path(
    spec: str | os.PathLike[str],
    rules: Rules | None = None,
    what: str = "opponent",
    also: Iterable[str] = (),
) -> Path | None:
    """The path of the saved run that a text names; None for the name of a player without training.

    The name of an agent names its newest run, on the board `rules` if there is one. what: what an
    error calls the player. also: further names that the error lists. Raises ValueError if there is
    no such run and no such name.
    """
    text = str(spec)
    if named_player(spec) is not None:
        return None
    is_path = not isinstance(spec, str) or os.sep in text or "/" in text
    if is_path or (text and os.path.exists(text)):
        return _existing(Path(spec))
    run = newest_run(text, rules) if is_agent_name(text) else None
    if run is None:
        raise unknown_name(what, text, {*known_names(), *also})
    return run.path


def _existing(path: Path) -> Path:
    """The folder of a run, or a certificate without a run. Raises ValueError if there is none."""
    if not path.exists():
        raise ValueError(
            f"there is no saved run or certificate at {str(path)!r}, and no player has this name "
            f"(known: {', '.join(known_names())})"
        )
    if path.suffix == ".zip":
        raise ValueError(
            f"{str(path)!r} may execute code when it is read: load it with its own class and pass "
            "the model as the opponent"
        )
    return path.parent if path.name == FILE else path


def known_names(folders: Folders = FOLDERS) -> list[str]:
    """The names that an error lists: NAMES, the agents with runs in these folders, and paths."""
    agents = [name for name in agents_with_runs(folders) if name not in NAMES]
    return [*NAMES, "minimax-slip=0.1", *agents, "the path of a saved run"]


@dataclass(frozen=True)
class Pool:
    """Opponents, and the probability with which each is drawn for a game; `weights` sum to 1."""

    policies: tuple[Policy, ...]
    weights: tuple[float, ...]

    def draw(self, rng: np.random.Generator, games: int) -> Any:
        """The index of each game's opponent: (games,) intp. A pool of one does not use `rng`."""
        if len(self.policies) == 1:
            return np.zeros(games, dtype=np.intp)
        return np.searchsorted(np.cumsum(self.weights)[:-1], rng.random(games), side="right")


def make_pool(spec: Any, rules: Rules) -> Pool:
    """The pool of one opponent, or of a list of [opponent, weight]."""
    if isinstance(spec, Pool):
        return spec
    if not isinstance(spec, Sequence) or isinstance(spec, str):
        return Pool((make_opponent(spec, rules),), (1.0,))
    pairs = list(spec)
    if not pairs or not all(
        isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        for pair in pairs
    ):
        raise ValueError(
            "a pool of opponents must be a list of [opponent, weight], such as "
            f'[["random", 0.5], ["minimax", 0.5]], got {spec!r}'
        )
    weights = checked_weights([weight for _, weight in pairs])
    return Pool(tuple(make_opponent(opponent, rules) for opponent, _ in pairs), tuple(weights))


def parse_pool(text: str) -> list[tuple[str, float]]:
    """Names and weights of "random:0.5,minimax:0.25,self:0.25", scaled to sum to 1.

    A name without a weight has the weight 1. Raises ValueError for any other form.
    """
    pairs = []
    for part in text.split(","):
        name, colon, weight = part.strip().rpartition(":")
        try:
            pairs.append((name, float(weight)) if colon else (part.strip(), 1.0))
        except ValueError:
            raise ValueError(
                f"opponents must be written as name:weight,name:weight, got {part!r} in {text!r}"
            ) from None
    if not all(name for name, _ in pairs):
        raise ValueError(f"opponents must be written as name:weight,name:weight, got {text!r}")
    weights = checked_weights([weight for _, weight in pairs])
    return [(name, weight) for (name, _), weight in zip(pairs, weights, strict=True)]
