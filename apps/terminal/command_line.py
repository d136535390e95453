"""Command lines: options as data, parsed by cyclopts, with errors of one line.

A command line is a list of `Option`. `CommandLine.parse` returns the values that were typed. An
error ends the program with exit code 2 and one line, `prog: message`.

    options = [
        Option("agent", "the agent to train", kind="argument"),
        Option("until", "stop when this is proven", Literal["steps", "unbeatable"], "steps"),
        Option("steps", "environment steps", Count, 20_000),
    ]
    line = CommandLine("train.py", options, "train.py AGENT [options]", "Train an agent.")
    typed = line.parse(["dqn", "--steps", "500"])  # {"agent": "dqn", "steps": 500}
    given = line.values(["dqn", "--steps", "500"])  # given.until == "steps"
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, NoReturn

from cyclopts import App, CycloptsError, Group, Parameter, UnusedCliTokensError

from tictactoe_env.errors import printable
from training.options import adapter, schema_of_items, typed

Kind = Literal["value", "several", "flag", "switch", "optional", "argument", "arguments"]


@dataclass(frozen=True)
class Option:
    """An option of a command line, or a positional argument.

    name: as in Python, `judge_every` for --judge-every. type: of the values, with its bound, or a
    function that reads a text and raises ValueError. kind: "value" takes one value; "several" is a
    list, with a value for each time that it is typed; "flag" is --x; "switch" is --x or --no-x;
    "optional" takes one value or none, which means True; "argument" is positional, and "arguments"
    is any number of these.
    default: shown in the help unless it is None, () or "", or the option is a flag. metavar: the
    word for a value in the help, by default one for its type. is_rare: shown in a whole help only.
    without: the options that it excludes. needs: the option that it belongs to.
    """

    name: str
    help: str
    type: Any = str
    default: Any = None
    kind: Kind = "value"
    metavar: str = ""
    group: str = "Options"
    is_rare: bool = False
    without: Sequence[str] = ()
    needs: str = ""

    @property
    def spelling(self) -> str:
        """The option as it is typed: --judge-every."""
        return spelled(self.name)

    def parameter(self, is_whole: bool) -> inspect.Parameter:
        """The option as a parameter of a function, from which cyclopts makes its parser."""
        place = _PLACES.get(self.kind, inspect.Parameter.KEYWORD_ONLY)
        name = None if self.kind in _PLACES else self.spelling
        text = self.help
        if self.needs:
            text = f"with {spelled(self.needs)}: {self.help}"
        is_shown = self.default not in (None, (), "") and self.kind != "flag"
        about = Parameter(
            name=name,
            help=text,
            group=_group(self.group),
            show=is_whole or not self.is_rare,
            show_default=_shown if is_shown else False,
            **self._reading(),
        )
        kind = self._annotation()
        default = self.default
        if self.kind == "arguments":  # Python allows no default for them
            default = inspect.Parameter.empty
        return inspect.Parameter(
            self.name, place, default=default, annotation=Annotated[kind, about]
        )

    def _reading(self) -> dict[str, Any]:
        """The options of cyclopts on how many words the value takes, and how they are read."""
        if self.kind == "switch":
            return {"allow_repeating": True}
        if self.kind == "flag":
            return {"allow_repeating": True, "negative": ()}
        metavar = self.metavar
        if not metavar:
            metavar = "VALUE" if inspect.isfunction(self.type) else metavar_of(self.type)
        common = {
            "negative": (),
            "metavar": metavar,
            "converter": lambda _, tokens: self._value(tokens),
        }
        if self.kind in _LISTS:
            return {**common, "consume_multiple": _LISTS[self.kind]}
        if self.kind == "several":
            return {**common, "n_tokens": 1}
        return {**common, "n_tokens": 1, "allow_repeating": True}

    def _annotation(self) -> Any:
        """The type from which cyclopts sees whether the value is a switch or a list."""
        if self.kind in ("flag", "switch"):
            return bool | None
        if self.kind in ("optional", "several"):
            return list[Any] | None
        return Any

    def check(self, typed: Collection[str]) -> None:
        """Raise ValueError if it is typed beside what it excludes, or lacks what it belongs to."""
        for other in self.without:
            if other in typed:
                raise ValueError(f"{self.spelling} goes without {spelled(other)}: leave one out")
        if self.needs and self.needs not in typed:
            raise ValueError(f"{self.spelling} is for {spelled(self.needs)}: give that too")

    def _value(self, tokens: Sequence[Any]) -> Any:
        read = self.type
        if not inspect.isfunction(read):
            read = partial(typed, self.type)
        found = [read(token.value) for token in tokens]
        return found if self.kind in ("optional", "several") else found[-1]


def spelled(name: str) -> str:
    """An option as it is typed: --judge-every."""
    return f"--{name.replace('_', '-')}"


_PLACES = {
    "argument": inspect.Parameter.POSITIONAL_ONLY,
    "arguments": inspect.Parameter.VAR_POSITIONAL,
}
_LISTS = {"optional": (0, 1), "arguments": None}
METAVARS = {"integer": "INT", "number": "NUMBER"}


def _shown(default: Any) -> str:
    if isinstance(default, (tuple, list)):
        return ",".join(map(str, default))
    return str(default)


def _group(name: str) -> Group:
    """The section of the help with this title; "Options" comes first."""
    return Group(name, sort_key=name != "Options")


class CommandLine:
    """The options of a program. prog: its name in errors. usage, about, epilog: texts of --help.

    is_whole: --help shows rare options too.
    """

    def __init__(
        self,
        prog: str,
        options: Sequence[Option],
        usage: str,
        about: str,
        epilog: str = "",
        is_whole: bool = True,
    ):
        self.prog = prog
        self.options = list(options)

        def target(*_: Any, **__: Any) -> None: ...

        parameters = [option.parameter(is_whole) for option in self.options]
        ordered = sorted(parameters, key=lambda parameter: parameter.kind)
        target.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        self._app = App(
            prog,
            help=about,
            usage=f"Usage: {usage}",
            help_epilogue=epilog,
            help_format="plaintext",
            version_flags=(),
            default_command=target,
        )
        self._app["--help"].group = _group("Options")
        self._app["--help"].help = "show this help"

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each option, by name."""
        return {option.name: option.default for option in self.options}

    def print_help(self) -> None:
        """Print the help to stdout."""
        self._app.help_print([])

    def parse(self, arguments: Sequence[str] | None = None) -> dict[str, Any]:
        """The values that were typed, by name. --help exits with 0, an error with 2."""
        tokens = sys.argv[1:] if arguments is None else list(arguments)
        try:
            command, bound, _ = self._app.parse_args(tokens, exit_on_error=False, print_error=False)
            if command is self._app.default_command:
                return self._typed(bound)
        except UnusedCliTokensError as error:
            self.error(
                f"expected what --help shows, got {' '.join(error.unused_tokens or ())!r} too"
            )
        except (CycloptsError, ValueError) as error:
            self.error(str(error))
        command(*bound.args, **bound.kwargs)
        raise SystemExit(0)

    def _typed(self, bound: inspect.BoundArguments) -> dict[str, Any]:
        typed = dict(bound.arguments)
        for option in (one for one in self.options if one.name in typed):
            option.check(typed)
            if option.kind == "optional":
                values = typed[option.name]
                typed[option.name] = values[-1] if values else True
        return typed

    def values(self, arguments: Sequence[str] | None = None) -> types.SimpleNamespace:
        """All values as attributes of an object; the default where nothing was typed."""
        return types.SimpleNamespace(**{**self.defaults, **self.parse(arguments)})

    def error(self, message: str) -> NoReturn:
        """End the program with a message of one line and exit code 2."""
        print(f"{self.prog}: {printable(message)}", file=sys.stderr)
        raise SystemExit(2)


def metavar_of(kind: Any) -> str:
    """The placeholder of a value of this type in `--help`: INT, TEXT, "INT,INT" or "relu|tanh"."""
    schema = schema_of_items(kind)
    word = "|".join(schema.get("enum", ())) or METAVARS.get(schema.get("type", ""), "TEXT")
    is_list = adapter(kind).json_schema().get("type") == "array"
    return f"{word},{word}" if is_list else word
