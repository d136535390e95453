"""Names of opponents: those of this package, and those that other packages and programs add.

    register_opponent("cautious", make_cautious)     # make_cautious(rules, depth=2) -> a player
    gym.make("tictactoe_env/TicTacToe-v0", opponent="cautious-depth=4")

A package adds a name for everybody who installs it with an entry point in its pyproject.toml:

    [project.entry-points."tictactoe_env.opponents"]
    cautious = "my_package.players:make_cautious"

Entry points are looked up when a name is asked for that this package does not have. A package is
imported only when one of its own names is used, or described in a list.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from tictactoe_env.errors import unknown_name
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.search.alphabeta import SearchPolicy
from tictactoe_env.search.mcts import TreeSearchPolicy
from tictactoe_env.trained.packed import trained_names

GROUP = "tictactoe_env.opponents"
NAMES = ("random", "minimax", "minimax-first", "search", "mcts")
SELF, BEST_RESPONSE, LATEST = "self", "best-response", "latest:"
LEARNED = (SELF, BEST_RESPONSE)  # made from the learner, so only where one is trained
RESERVED = (*LEARNED, "human", "latest", "learner", "rival")
Factory = Callable[..., Any]

_OWN: dict[str, Factory] = {
    "random": lambda rules: RandomPolicy(),
    "minimax": MinimaxPolicy,
    "minimax-first": partial(MinimaxPolicy, ties="first"),
    "minimax-random": partial(MinimaxPolicy, ties="random"),
    "search": SearchPolicy,
    "mcts": TreeSearchPolicy,
}
_registered: dict[str, Factory] = {}
_EXAMPLES = {"slip": 0.1, "depth": 4, "seconds": 0.5, "playouts": 50, "milliseconds": 100}
_KINDS = {int: "a whole number", float: "a number", str: "a text"}


class Named(NamedTuple):
    """A player that a function makes: its name, the function, and the options in the text."""

    name: str
    make: Factory
    options: dict[str, Any]

    def player(self, rules: Rules) -> Any:
        """The player for a board. Raises ValueError if it cannot be made."""
        if self.name in _OWN:
            return self.make(rules, **self.options)
        try:
            return self.make(rules, **self.options)
        except ValueError:
            raise
        except Exception as error:
            raise ValueError(
                f"the opponent {self.name!r} could not be made for {rules}: its factory raised "
                f"{error!r}"
            ) from error


def register_opponent(name: str, factory: Factory) -> None:
    """Make `name` an opponent everywhere: `gym.make`, pools, command lines, terminal and page.

    factory: called as `factory(rules, **options)` for each environment. It returns a player: an
    object with `probs(boards)`, or with Stable-Baselines3's `predict`. Its keyword arguments whose
    defaults are int, float or str are options of the name: with `factory(rules, depth=2)` the text
    "NAME-depth=4" calls `factory(rules, depth=4)`. It raises ValueError for a board on which the
    player cannot play. The first sentence of its docstring describes it in lists.

    A name that was registered before is replaced. Raises ValueError for a name of this package, and
    for one that is not made of letters, digits, `_` and `-`.
    """
    if not isinstance(name, str) or not re.fullmatch(
        "[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*", name
    ):
        raise ValueError(
            "the name of an opponent must be letters, digits, _ and -, beginning with a letter, "
            f"got {name!r}"
        )
    if not callable(factory):
        raise ValueError(
            f"the factory of {name} must be a function factory(rules, **options) that returns a "
            f"player, got {factory!r}"
        )
    if name in _OWN or name in RESERVED or name in trained_names():
        raise ValueError(f"{name!r} is a name of tictactoe_env itself: register another name")
    _registered[name] = factory


def unregister_opponent(name: str) -> None:
    """Remove a name that `register_opponent` added. Raises ValueError if there is none."""
    if name not in _registered:
        raise unknown_name("registered opponent", name, _registered)
    del _registered[name]


def registered_names() -> list[str]:
    """The names that other packages and this program have added, sorted."""
    return sorted({*_registered, *_entry_points()})


def description(name: str) -> str:
    """What an added opponent is: the first line of its factory's docstring.

    Of an entry point that cannot be imported, the reason.
    """
    try:
        factory = _registered.get(name) or _loaded(name)
    except ValueError as error:
        return str(error)
    where = "this program" if name in _registered else _entry_points()[name].value
    return (inspect.getdoc(factory) or f"added by {where}").splitlines()[0]


def split_options(text: str) -> tuple[str, list[str]]:
    """The name and the options of a text such as "search-depth=4-ties=first"."""
    name, *options = re.split(r"-(?=[a-z_]+=)", text)
    return name, options


def named_player(spec: str | os.PathLike[str]) -> Named | None:
    """The player and options of a name such as `search-depth=4-ties=first`; None for other texts.

    Raises ValueError for an unknown option and for a value of the wrong type.
    """
    if not isinstance(spec, str):
        return None
    name, options = split_options(spec)
    make = _OWN.get(name) or _registered.get(name) or _loaded(name)
    if make is None:
        return None
    found = [read_option(name, option, make) for option in options]
    if len(dict(found)) < len(found):
        raise ValueError(f"an option is repeated in {spec!r}: give each once")
    return Named(name, make, dict(found))


def read_option(name: str, text: str, make: Factory) -> tuple[str, Any]:
    """The keyword and the value of an option such as "depth=4"; `make` declares it."""
    known = {
        key: parameter.default
        for key, parameter in inspect.signature(make).parameters.items()
        if type(parameter.default) in _KINDS
    }
    key, _, value = text.partition("=")
    if not known:
        raise ValueError(f"{name} has no options, got {text!r}")
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


@cache
def _entry_points() -> dict[str, EntryPoint]:
    own = {*_OWN, *RESERVED, *trained_names()}
    return {found.name: found for found in entry_points(group=GROUP) if found.name not in own}


@lru_cache(maxsize=256)  # texts from a page may be anything
def _loaded(name: str) -> Factory | None:
    """The factory of an entry point; None if there is none of this name."""
    found = _entry_points().get(name)
    if found is None:
        return None
    try:
        factory = found.load()
    except Exception as error:
        raise ValueError(
            f"the opponent {name!r} cannot be imported from {found.value}: {error!r}"
        ) from error
    if not callable(factory):
        raise ValueError(
            f"the entry point {name!r} must name a function factory(rules, **options) that returns "
            f"a player, but {found.value} is {factory!r}"
        )
    return factory
