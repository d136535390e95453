"""Command lines: options as data, parsed by cyclopts, with errors of one line.

A command line is a list of `Option`. `CommandLine.parse` returns the values that were typed. An
error ends the program with exit code 2 and one line, `prog: message`, which says what was expected
and what came. Options cannot be abbreviated; an unknown one gets the nearest known one as a guess.

    options = [
        Option("agent", "the agent to train", kind="argument"),
        Option("until", "stop when this is proven", one_of("steps", "unbeatable"), "steps"),
        Option("steps", "environment steps", whole(1), 20_000, metavar="INT", bound="at least 1"),
    ]
    line = CommandLine("train.py", options, "train.py AGENT [options]", "Train an agent.")
    typed = line.parse(["dqn", "--steps", "500"])  # {"agent": "dqn", "steps": 500}
    given = line.values(["dqn", "--steps", "500"])  # given.until == "steps"
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, NoReturn

from cyclopts import App, CycloptsError, Group, Parameter
from cyclopts.exceptions import (
    CoercionError,
    ConsumeMultipleError,
    MissingArgumentError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from tictactoe_env.errors import printable, unknown_name

Reader = Callable[[str], Any]
"""Converts what was typed to a value. Raises ValueError("expected ..., got ...")."""
FEW_OPTIONS = 20  # that an error lists
Kind = Literal["value", "flag", "switch", "optional", "several", "argument", "arguments"]


@dataclass(frozen=True)
class Option:
    """An option of a command line, or a positional argument.

    name: as in Python, `judge_every` for --judge-every. kind: "value" takes one value; "flag" is
    --x; "switch" is --x or --no-x; "optional" takes one value or none, which means True; "several"
    takes one or more values; "argument" is positional, and "arguments" is any number of these.
    default: shown in the help unless it is None, () or "", or the option is a flag. bound: shown in
    the help, such as "at least 1".
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
        """The option as it is typed: --judge-every."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_default_shown(self) -> bool:
        """Whether the help shows the default: not if it is empty, and not of a flag."""
        return self.default not in (None, (), "") and self.kind != "flag"

    def parameter(self) -> inspect.Parameter:
        """The option as a parameter of a function, from which cyclopts makes its parser."""
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
    """The section of the help with this title; "Options" comes first."""
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
        """The options as parameters. by_name: without the positional arguments."""
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
        except CycloptsError as error:
            self.error(self._message(error))
        if command is not self._app.default_command:
            command(*bound.args, **bound.kwargs)
            raise SystemExit(0)
        return self._typed(bound)

    def parse_known(self, arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        """The values of the options that were typed, and all other arguments, --help included."""
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
        """All values as attributes of an object; the default where nothing was typed."""
        return types.SimpleNamespace(**{**self.defaults, **self.parse(arguments)})

    def error(self, message: str) -> NoReturn:
        """End the program with a message of one line and exit code 2."""
        print(f"{self.prog}: {printable(message)}", file=sys.stderr)
        raise SystemExit(2)

    def _message(self, error: CycloptsError) -> str:
        """The message of an error of cyclopts, in the words of this project."""
        name = _name_of(error)
        option = next((one for one in self.options if one.spelling == name), None)
        if isinstance(error, UnknownOptionError):
            known = [
                spelling
                for argument in error.argument_collection
                for spelling in argument.names
                if spelling.startswith("-")
            ]
            return _unknown_option(name, [*known, "--help"])
        if isinstance(error, UnusedCliTokensError):
            return f"unexpected argument {(error.unused_tokens or [''])[0]!r}"
        if isinstance(error, ConsumeMultipleError) and error.actual_count:
            return f"{name} takes at most {error.max_allowed} value, got {error.actual_count}"
        if isinstance(error, MissingArgumentError):
            return f"{name} needs a value: {name} {option.metavar if option else 'VALUE'}"
        if isinstance(error, CoercionError):
            if option is not None and option.kind in ("flag", "switch"):
                forms = f"{name} or --no-{name[2:]}" if option.kind == "switch" else f"{name} alone"
                return f"{name} takes no value: write {forms}"
            return f"{name}: {error.__cause__ or error}"
        return str(error)


def _unknown_option(name: str, known: Sequence[str]) -> str:
    """The message for an unknown option. Of many options only the nearest one is named.

    Initials find their option: --lr is --learning-rate.
    """
    typed = name.strip("-")
    short = {"".join(word[:1] for word in one.strip("-").split("-")): one for one in known}
    if typed in short:
        message = f"unknown option {name!r}; did you mean {short[typed]!r}?"
    else:
        message = str(unknown_name("option", name, known))
    if len(known) <= FEW_OPTIONS:
        return message
    return f"{message.partition(' (known: ')[0]} (--help lists the options)"


def _name_of(error: CycloptsError) -> str:
    """The option that an error is about, as it was typed, without the value after `=`."""
    token = getattr(error, "token", None)
    typed = getattr(error, "keyword", None) or (token and (token.keyword or token.value)) or ""
    return typed.partition("=")[0]


# --- readers ----------------------------------------------------------------------------------


def whole(low: int, high: int | None = None) -> Reader:
    """A reader of whole numbers of at least `low` and at most `high`."""
    bound = f"of at least {low}" if high is None else f"from {low} to {high}"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if number < low or (high is not None and number > high):
            raise ValueError(f"expected a whole number {bound}, got {text!r}")
        return number

    return read


def number(text: str) -> float:
    """The number that was typed."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"expected a number, got {text!r}") from None


def with_size(typed: dict[str, Any]) -> dict[str, Any]:
    """The typed options with the size in `board` as `rows`, `cols` and `k`.

    Raises ValueError if one of these is typed beside it.
    """
    if "board" not in typed:
        return typed
    rest = {name: value for name, value in typed.items() if name != "board"}
    size = asdict(typed["board"])
    twice = [name for name in size if name in rest]
    if twice:
        raise ValueError(f"--board already gives the size: leave --{twice[0]} out")
    return {**rest, **size}


def one_of(*known: str) -> Reader:
    """A reader of one of these words."""

    def read(text: str) -> str:
        if text not in known:
            raise unknown_name("value", text, known)
        return text

    return read
