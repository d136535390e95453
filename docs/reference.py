"""The reference, which is made from docstrings when the site is built.

`python docs/reference.py` copies the docstring of `TicTacToeEnv` into the environment's page, and
the table of the opponents into theirs. These stand in the repository, where people read them too.

The docstrings are Markdown, which Sphinx's own autodoc does not read. They are put into the
directives that it would make, so that each name has an address and an entry in the index.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import tictactoe_env
from tictactoe_env import opponents

DOCS = Path(__file__).parent
PROPERTIES = (property, cached_property)
PACKAGE = "tictactoe_env"
# The modules whose `__all__` is public, and the public names of those that have none.
MODULES = [
    "wrappers",
    "exact",
    "text",
    "search",
    "certificates",
    "games",
    "trained",
    "sb3",
    "pettingzoo",
]
FURTHER = {
    "notation": [
        *("parse_board", "board_text", "parse_game", "game_text"),
        *("parse_cell", "named_cell", "cell_text"),
    ],
    "observation": ["observe"],
    "rules": ["game_state", "GameState"],
    "render": ["ansi", "rgb_array", "svg", "svg_games"],
}
DATA = {
    "ENVS_WITH_OPPONENT": "The ids that set the opponent, with it and the reward threshold",
    "AGENTS": "The names of the two agents",
}
PART = re.compile(r"(<!-- from the package -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def environment() -> str:
    """The docstring of the environment."""
    return f"{inspect.getdoc(tictactoe_env.TicTacToeEnv)}\n"


def untrained_opponents() -> str:
    """The table of the opponents that need no training, with their options."""
    rows = ["| name | how it plays | options |", "| --- | --- | --- |"]
    for name, sentence in opponents.built_in().items():
        options = ""
        if name in opponents.BUILT_IN:
            known = opponents.options_of(opponents.imported(name))
            options = ", ".join(f"`{option}`" for option in known)
        rows.append(f"| `{name}` | {sentence} | {options} |")
    return "\n".join([*rows, "", ""])


PARTS = {"environment.md": environment, "opponents.md": untrained_opponents}


def with_part(name: str) -> str:
    """A page of the repository, with the part that is made from the package of today."""
    made = PARTS[name]()
    return PART.sub(lambda found: found[1] + made + found[3], (DOCS / name).read_text("utf-8"))


def public_names() -> dict[str, list[str]]:
    """The public names of each module, each name once."""
    names = {PACKAGE: list(tictactoe_env.__all__)}
    for module in MODULES:
        found = import_module(f"{PACKAGE}.{module}").__all__
        names[f"{PACKAGE}.{module}"] = [one for one in found if one not in names[PACKAGE]]
    return names | {f"{PACKAGE}.{module}": found for module, found in FURTHER.items()}


def page() -> str:
    """Tables of all public names, then their docstrings: MyST Markdown.

    AssertionError for a name without docstring.
    """
    tables = []
    entries = []
    for module, names in public_names().items():
        values = {name: getattr(import_module(module), name) for name in names}
        rows = [
            f"| {{py:obj}}`{name} <{module}.{name}>` | {brief(values[name])} |" for name in names
        ]
        tables += [f"**{module}**\n", "| name | what it is |", "| --- | --- |", *rows, ""]
        entries += [f"## {module}\n", f"```{{py:module}} {module}\n```\n"]
        entries += [part for name, value in values.items() for part in entry(name, value)]
    return "\n".join([*tables, *entries])


def brief(value: Any) -> str:
    """The first sentence of a docstring, for a table."""
    first = text(value).partition("\n\n")[0].replace("\n", " ")
    return re.split(r"[.;:](?: |$)", first)[0].replace("|", r"\|")


def entry(name: str, value: Any) -> Iterator[str]:
    """The directive of one public name, with its public methods inside."""
    if inspect.isclass(value) and value.__name__ != name:
        yield directive("data", name, f"Another name of `{value.__name__}`.", ":::::")
    elif inspect.isclass(value):
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
    if value is tictactoe_env.TicTacToeEnv:
        found = found.partition("\n\n")[0] + "\n\n[The environment](environment.md) has it all."
    found = re.sub(r"^#+ +(.+)$", r"**\1**\n", found, flags=re.MULTILINE)
    return re.sub(r"^([a-z_]+(?:, [a-z_]+)*): ", r"\n`\1`: ", found, flags=re.MULTILINE)


if __name__ == "__main__":
    for name in PARTS:
        (DOCS / name).write_text(with_part(name), encoding="utf-8")
