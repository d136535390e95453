"""What the command lines share: options as data, read by cyclopts, and errors that fit on one line.

A command line is a list of `Option`; `CommandLine.parse` gives the values that were typed. An error
ends the program with exit code 2 and one line, `prog: message`, which says what was expected and
what came. Options are never abbreviated; for an unknown one the nearest known one is suggested.

    line = CommandLine("train.py", [
        Option("agent", "the agent to train", kind="argument"),
        Option("until", "stop when this is proven", one_of("steps", "unbeatable"), "steps"),
        option_of("steps", Annotated[int, Field(ge=1)], 20_000, "environment steps"),
    ])
    typed = line.parse(["dqn", "--steps", "500"])  # {"agent": "dqn", "steps": 500}
    given = line.values(["dqn", "--steps", "500"])  # given.until == "steps"
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from cyclopts import App, CycloptsError, Group, Parameter
from cyclopts.exceptions import (
    CoercionError,
    ConsumeMultipleError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from tictactoe_env.errors import unknown_name

Reader = Callable[[str], Any]
"""Makes a value of what was typed; raises ValueError("expected ..., got ...")."""
Kind = Literal["value", "flag", "switch", "optional", "several", "argument", "arguments"]


@dataclass(frozen=True)
class Option:
    """One option, or one argument without a name, of a command line.

    name: as in Python, `judge_every` for --judge-every. kind: "value" takes one value; "flag" is
    --x; "switch" is --x or --no-x; "optional" takes a value or none, which is read as True;
    "several" takes one value or more; "argument" and "arguments" are typed without a name, the
    second any number of them. default: shown in the help unless it is None, () or False.
    bound: shown in the help, such as "at least 1".
    """

    name: str
    help: str
    read: Reader = str
    default: Any = None
    kind: Kind = "value"
    metavar: str = "VALUE"
    bound: str = ""
    group: str = "Options"

    @property
    def spelling(self) -> str:
        """What is typed: --judge-every."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_default_shown(self) -> bool:
        """Whether the help shows the default: not where there is none, nor of a flag."""
        return self.default is not None and self.default != () and self.kind != "flag"

    def parameter(self) -> inspect.Parameter:
        """The option as a parameter of a function, which is what cyclopts reads."""
        is_list, is_switch, place = (
            self.kind in _LISTS,
            self.kind in _SWITCHES,
            _PLACES.get(self.kind, inspect.Parameter.KEYWORD_ONLY),
        )
        about = Parameter(
            name=None if self.kind in _PLACES else self.spelling,
            help=f"{self.help} [{self.bound}]" if self.bound else self.help,
            group=_group(self.group),
            show_default=_shown if self.is_default_shown else False,
            negative=None if self.kind == "switch" else (),
            metavar=None if is_switch else self.metavar,
            converter=None if is_switch else lambda _, tokens: self._value(tokens),
            n_tokens=None if is_switch or is_list else 1,
            consume_multiple=_LISTS.get(self.kind),
            allow_repeating=None if is_list else True,
        )
        kind: Any = bool | None if is_switch else list[Any] | None if is_list else Any
        kind = Any if self.kind == "arguments" else kind
        return inspect.Parameter(
            self.name,
            place,
            default=inspect.Parameter.empty if self.kind == "arguments" else self.default,
            annotation=Annotated[kind, about],
        )

    def _value(self, tokens: Sequence[Any]) -> Any:
        found = [self.read(token.value) for token in tokens]
        return found if self.kind in ("optional", "several") else found[-1]


_PLACES = {
    "argument": inspect.Parameter.POSITIONAL_ONLY,
    "arguments": inspect.Parameter.VAR_POSITIONAL,
}
_LISTS = {"optional": (0, 1), "several": (1, None), "arguments": None}
_SWITCHES = ("flag", "switch")


def _shown(default: Any) -> str:
    return ",".join(map(str, default)) if isinstance(default, (tuple, list)) else str(default)


def _group(name: str) -> Group:
    """The box of the help with this title; that of "Options" is the first."""
    return Group(name, sort_key=name != "Options")


class CommandLine:
    """The options of a program. prog: its name in errors. usage, about, epilog: texts of --help."""

    def __init__(
        self, prog: str, options: Sequence[Option], usage: str, about: str, epilog: str = ""
    ):
        self.prog, self.options = prog, list(options)
        self._texts: dict[str, Any] = {
            "help": about,
            "usage": f"Usage: {usage}",
            "help_epilogue": epilog,
        }
        self._app = self._new_app(self._parameters())
        self._app["--help"].group = _group("Options")
        self._app["--help"].help = "show this help"

    def _parameters(self, by_name: bool = False) -> list[inspect.Parameter]:
        """The options as parameters, only those with a name if `by_name`."""
        options = [one for one in self.options if not (by_name and one.kind in _PLACES)]
        return [one.parameter() for one in options]

    def _new_app(self, parameters: Sequence[inspect.Parameter], **settings: Any) -> App:
        def target(*_: Any, **__: Any) -> None: ...

        ordered = sorted(parameters, key=lambda parameter: parameter.kind)
        target.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        return App(
            self.prog,
            help_format="plaintext",
            version_flags=(),
            default_command=target,
            **self._texts,
            **settings,
        )

    @property
    def defaults(self) -> dict[str, Any]:
        """What each option is where it is not given."""
        return {option.name: option.default for option in self.options}

    def print_help(self) -> None:
        """Print the help to stdout."""
        self._app.help_print([])

    def parse(self, arguments: Sequence[str] | None = None) -> dict[str, Any]:
        """The values that were typed, by name. --help prints and exits with 0, an error with 2."""
        tokens = sys.argv[1:] if arguments is None else list(arguments)
        try:
            command, bound, _ = self._app.parse_args(tokens, exit_on_error=False, print_error=False)
        except CycloptsError as error:
            self.error(self._message(error))
        if command is not self._app.default_command:
            command(*bound.args, **bound.kwargs)
            raise SystemExit(0)
        return self._typed(bound)

    def parse_known(self, arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        """The values of the options that were typed, and all the rest, --help included."""
        about = Parameter(allow_leading_hyphen=True)
        rest = inspect.Parameter("rest", _PLACES["arguments"], annotation=Annotated[str, about])
        app = self._new_app([*self._parameters(by_name=True), rest], help_flags=())
        try:
            _, bound, _ = app.parse_args(
                list(arguments), exit_on_error=False, print_error=False, end_of_options_delimiter=""
            )
        except CycloptsError as error:
            self.error(self._message(error))
        typed = self._typed(bound)
        return typed, list(typed.pop("rest", ()))

    def _typed(self, bound: inspect.BoundArguments) -> dict[str, Any]:
        typed = dict(bound.arguments)
        for option in self.options:
            if option.kind == "optional" and option.name in typed:
                typed[option.name] = (typed[option.name] or [True])[-1]
        return typed

    def values(self, arguments: Sequence[str] | None = None) -> types.SimpleNamespace:
        """Every value, the default where nothing was typed, as an object with attributes."""
        return types.SimpleNamespace(**{**self.defaults, **self.parse(arguments)})

    def error(self, message: str) -> NoReturn:
        """End with a message on one line and exit code 2."""
        print(f"{self.prog}: {message}", file=sys.stderr)
        raise SystemExit(2)

    def _message(self, error: CycloptsError) -> str:
        """The error of cyclopts in the words of this project."""
        name = _name_of(error)
        option = next((one for one in self.options if one.spelling == name), None)
        if isinstance(error, UnknownOptionError):
            known = [
                spelling
                for argument in error.argument_collection
                for spelling in argument.names
                if spelling.startswith("-")
            ]
            return str(unknown_name("option", name, [*known, "--help"]))
        if isinstance(error, UnusedCliTokensError):
            return f"unexpected argument {(error.unused_tokens or [''])[0]!r}"
        if isinstance(error, ConsumeMultipleError) and error.actual_count:
            return f"{name} takes at most {error.max_allowed} value, got {error.actual_count}"
        if isinstance(error, MissingArgumentError):
            return f"{name} needs a value: {name} {option.metavar if option else 'VALUE'}"
        if isinstance(error, RepeatArgumentError):
            return f"{name} is given twice"
        if isinstance(error, CoercionError):
            if option is not None and option.kind in ("flag", "switch"):
                forms = f"{name} or --no-{name[2:]}" if option.kind == "switch" else f"{name} alone"
                return f"{name} takes no value: write {forms}"
            return f"{name}: {error.__cause__ or error}"
        return str(error)


def _name_of(error: CycloptsError) -> str:
    """The option that an error is about, as it was typed, without a value behind `=`."""
    token = getattr(error, "token", None)
    typed = getattr(error, "keyword", None) or (token and (token.keyword or token.value)) or ""
    if not typed and error.argument is not None:
        typed = error.argument.name
    return typed.partition("=")[0]


# --- what is typed ----------------------------------------------------------------------------


def whole(low: int | None = None, high: int | None = None) -> Reader:
    """Reads a whole number of these bounds."""
    what = "a whole number" + _bounds(low, high)

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ValueError(f"expected {what}, got {text!r}") from None
        if (low is not None and number < low) or (high is not None and number > high):
            raise ValueError(f"expected {what}, got {text!r}")
        return number

    return read


def _bounds(low: int | None, high: int | None) -> str:
    if low is None:
        return ""
    return f" of at least {low}" if high is None else f" from {low} to {high}"


def number(text: str) -> float:
    """Reads a number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"expected a number, got {text!r}") from None


def one_of(*known: str) -> Reader:
    """Reads one of these words."""

    def read(text: str) -> str:
        if text not in known:
            raise unknown_name("value", text, known)
        return text

    return read


def several_of(kind: type, what: str, example: str) -> Reader:
    """Reads values of a kind separated by commas, as a tuple."""

    def read(text: str) -> tuple[Any, ...]:
        try:
            return tuple(kind(part) for part in text.split(",") if part.strip())
        except ValueError:
            raise ValueError(
                f"expected {what} separated by commas, such as {example}, got {text!r}"
            ) from None

    return read


READERS: dict[Any, tuple[Reader, str]] = {
    int: (whole(), "INT"),
    float: (number, "NUMBER"),
    str: (str, "TEXT"),
    Path: (Path, "PATH"),
    tuple[int, ...]: (several_of(int, "whole numbers", "128,128"), "INT,INT"),
    tuple[float, ...]: (several_of(float, "numbers", "0.5,0.1"), "NUMBER,NUMBER"),
}
"""How a value of a type is read, and what stands for it in the help."""
_SIGNS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def option_of(
    name: str,
    kind: Any,
    default: Any,
    help: str,
    group: str = "Options",
    read: Reader | None = None,
) -> Option:
    """The option of a field: its reader and metavar from its type, its bound from Annotated[...].

    kind: a type of READERS, bool, a Literal of words, or Annotated[one of these, Field(ge=1)]. The
    bounds are shown in the help; checking them is left to the configuration. read: used instead of
    the reader of the type.
    """
    bound = ""
    if typing.get_origin(kind) is Annotated:
        kind, *metadata = typing.get_args(kind)
        bound = bound_text(metadata)
    if kind is bool:
        return Option(name, help, default=default, kind="switch", group=group)
    if typing.get_origin(kind) is Literal:
        words = typing.get_args(kind)
        reader, metavar = one_of(*words), "|".join(words)
    else:
        reader, metavar = READERS.get(kind, (str, "TEXT"))
    return Option(name, help, read or reader, default, metavar=metavar, bound=bound, group=group)


def bound_text(metadata: Sequence[Any]) -> str:
    """The bounds among the metadata of an annotation, in words: "at least 1, less than 2"."""
    inner = [part for about in metadata for part in (about, *getattr(about, "metadata", ()))]
    return ", ".join(
        f"{words} {value:g}"
        for sign, words in _SIGNS.items()
        for value in [getattr(part, sign, None) for part in inner]
        if value is not None
    )
