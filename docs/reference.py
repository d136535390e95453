"""Pages of the documentation that are made from docstrings: the environment's, and the reference.

The reference is made when the site is built. The environment's page stands in the repository, where
people read it too; `python docs/reference.py` makes it again from the docstring of `TicTacToeEnv`.

The docstrings are Markdown, which Sphinx's own autodoc does not read. They are put into the
directives that it would make, so that each name has an address and an entry in the index.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

PROPERTIES = (property, cached_property)

ENVIRONMENT = Path(__file__).parent / "environment.md"
ENVIRONMENT_HEAD = """# Tic-Tac-Toe

![A game against an opponent that makes random moves](environment.gif)

| | |
| --- | --- |
| Action space | `{action}` |
| Observation space | `{observation}` |
| Import | `gymnasium.make("{id}")` |
"""


def environment_page() -> str:
    """The environment's page: the spaces that it has by default, then its docstring."""
    from tictactoe_env import ENV_IDS, TicTacToeEnv

    env = TicTacToeEnv()
    head = ENVIRONMENT_HEAD.format(
        action=env.action_space, observation=env.observation_space, id=ENV_IDS[0]
    )
    about = inspect.getdoc(TicTacToeEnv)
    assert about is not None
    source = "[`TicTacToeEnv`](../tictactoe_env/env.py)"
    return f"{head}\nThis page is the docstring of {source}.\n\n{about}\n"


def page(module: ModuleType, names: Sequence[str] = ()) -> str:
    """Some names of a module, or those of its `__all__`, as MyST Markdown.

    AssertionError for one without docstring.
    """
    parts = [f"```{{py:module}} {module.__name__}\n```\n"]
    for name in names or module.__all__:
        parts += entry(name, getattr(module, name))
    return "\n".join(parts)


def entry(name: str, value: Any) -> Iterator[str]:
    """The directive of one public name, with its public methods inside."""
    if inspect.isclass(value):
        members = "\n".join(part for own in public(value) for part in member(*own))
        yield directive("class", signature(name, value), f"{text(value)}\n\n{members}", ":::::")
    elif callable(value):
        yield directive("function", signature(name, value), text(value), ":::::")
    else:
        yield directive("data", name, f"`{value!r}`", ":::::")


def public(of: type) -> list[tuple[str, Any]]:
    """The methods and properties that a class has itself, with their own docstrings."""
    return [
        (name, value)
        for name, value in vars(of).items()
        if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, PROPERTIES))
    ]


def member(name: str, value: Any) -> Iterator[str]:
    """The directive of a method or property."""
    if isinstance(value, PROPERTIES):
        yield directive("property", name, text(value), "::::")
        return
    inner = getattr(value, "__func__", value)  # of a class method
    kind = {classmethod: "classmethod", staticmethod: "staticmethod"}.get(type(value), "method")
    yield directive(kind, signature(name, inner, bound=kind != "staticmethod"), text(inner), "::::")


def directive(kind: str, head: str, body: str, fence: str) -> str:
    """A directive of Sphinx's Python domain. `fence` is longer than those inside."""
    return f"{fence}{{py:{kind}}} {head}\n\n{body}\n{fence}\n"


def signature(name: str, value: Callable[..., Any], bound: bool = False) -> str:
    """The name with its parameters, on one line, without `self`."""
    try:
        found = inspect.signature(value)
    except ValueError:  # a class without a constructor of its own
        return name
    parameters = [
        one.replace(default=Shown(one.default)) if one.default is not one.empty else one
        for one in found.parameters.values()
    ]
    shown = f"{name}{found.replace(parameters=parameters[bound:])}".replace("'", "")
    return re.sub(r"ForwardRef\((.+?)\)", r"\1", shown)  # of a NamedTuple


class Shown:
    """A default value as the reference shows it: an object without a readable form as "..."."""

    def __init__(self, value: Any):
        shown = repr(value).replace("'", '"')
        self.shown = "..." if "<" in shown else shown

    def __repr__(self) -> str:
        return self.shown


def text(value: Any) -> str:
    """The docstring, with headings as bold lines, since a directive cannot hold headings.

    Each line "name: what it is" begins a paragraph.
    """
    found = inspect.getdoc(value)
    assert found, f"{value} has no docstring"
    found = re.sub(r"^#+ +(.+)$", r"**\1**\n", found, flags=re.MULTILINE)
    return re.sub(r"^([a-z_]+(?:, [a-z_]+)*): ", r"\n`\1`: ", found, flags=re.MULTILINE)


if __name__ == "__main__":
    ENVIRONMENT.write_text(environment_page(), encoding="utf-8")
