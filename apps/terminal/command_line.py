"""Command lines: typed functions whose words cyclopts reads, with errors of one line.

A command line is a function, or several, each chosen by an option that it alone has:

    def position(*agents: str, position: str, gravity: bool = False) -> None: ...
    def tree(*agents: str, tree: Annotated[list[Count], ONE_OR_NONE]) -> None: ...

    programs = {"": evaluate, "--position": position, "--tree": tree}
    line = CommandLine("x.py", programs, "x.py AGENTS... [options]")
    program, typed = line.parse(["minimax", "--tree", "3"])
    program(*typed.args, **typed.kwargs)

An annotation is a type with its bound, such as `Count`, and what cyclopts shows of it. An error
ends the program with exit code 2 and one line, `x.py: message`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NoReturn, get_args, get_origin

from cyclopts import (
    App,
    CycloptsError,
    Group,
    Parameter,
    Token,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from tictactoe_env.errors import printable
from training.options import expected_of, typed

Program = Callable[..., Any]

HELP = ("--help", "-h")
OPTIONS = Group("Options", sort_key=0)  # the first section of a help
ONE_OR_NONE = Parameter(consume_multiple=(0, 1), n_tokens=1)
"""Of a list of which one value is typed, or none: --tree 3 or --tree."""


def section(title: str, place: int) -> Group:
    """A section of a help, after OPTIONS, for what only one of several programs needs."""
    return Group(title, sort_key=place, default_parameter=Parameter(required=False))


def read_by(parse: Callable[[str], Any]) -> Parameter:
    """A value that a function reads from what is typed; its ValueError is the message."""
    return Parameter(converter=lambda kind, tokens: parse(tokens[-1].value), accepts_keys=False)


class CommandLine:
    """The programs of a command, each by the option that chooses it; "" is for all other words.

    prog: the name of the command in errors. usage, about, epilog: texts of --help.
    is_whole: --help shows the options of all programs.
    """

    def __init__(
        self,
        prog: str,
        programs: Mapping[str, Program],
        usage: str,
        about: str = "",
        epilog: str = "",
        is_whole: bool = True,
    ):
        self.prog = prog
        self.programs = programs
        self.texts = {"usage": f"Usage: {usage}", "help": about, "help_epilogue": epilog}
        self.is_whole = is_whole

    def print_help(self) -> None:
        """Print the help to stdout, each option once."""
        shown = [self.programs[""]]
        if self.is_whole:
            shown = list(self.programs.values())
        parameters = {one.name: one for program in shown for one in parameters_of(program)}
        whole = with_parameters(shown[0], parameters.values())
        app_of(self.prog, whole, **self.texts).help_print([])

    def parse(
        self, arguments: Sequence[str] | None = None
    ) -> tuple[Program, inspect.BoundArguments]:
        """The program, and the arguments that were typed. --help exits with 0, an error with 2."""
        words = sys.argv[1:] if arguments is None else list(arguments)
        names = [word.partition("=")[0] for word in words]
        option = next((name for name in names if name in self.programs), "")
        if not option and not {*HELP}.isdisjoint(words):
            self.print_help()
            raise SystemExit(0)
        program = self.programs[option]
        app = app_of(self.prog, program)
        try:
            command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
        except CycloptsError as error:
            self.error(self._message(error, option))
        if command is program:
            return program, bound
        command(*bound.args, **bound.kwargs)  # of --help
        raise SystemExit(0)

    def _message(self, error: CycloptsError, option: str) -> str:
        """The message of an error in one line. option: of the program that was chosen."""
        if isinstance(error, UnusedCliTokensError):
            surplus = " ".join(error.unused_tokens or ())
            return f"expected what --help shows, got {surplus!r} too"
        if isinstance(error, UnknownOptionError):
            name = error.token.keyword or error.token.value
            others = [one for one in self.programs if name in options_of(self.programs[one])]
            if others and option:
                return f"{name} goes without {option}: leave one out"
            if others:
                return f"{name} is for {' or '.join(others)}: give that too"
        if isinstance(error, ValidationError) and error.argument is not None:
            kind = error.argument.field_info.annotation
            token = error.argument.tokens[-1]
            expected = expected_of(kind)
            return f"Invalid value for {token.keyword}: expected {expected}, got {token.value!r}"
        return str(error)

    def error(self, message: str) -> NoReturn:
        """End the program with a message of one line and exit code 2."""
        print(f"{self.prog}: {printable(message)}", file=sys.stderr)
        raise SystemExit(2)


def app_of(prog: str, program: Program, **texts: Any) -> App:
    """The program as cyclopts reads it; of an option that is repeated the last one counts."""
    common = Parameter(converter=_value, negative=(), allow_repeating=True)
    app = App(
        prog,
        help_format="plaintext",
        version_flags=(),
        default_command=program,
        default_parameter=common,
        group_parameters=OPTIONS,
        group_arguments=OPTIONS,
        **texts,
    )
    app["--help"].group = OPTIONS
    app["--help"].help = "show this help"
    return app


def parameters_of(program: Program) -> Iterable[inspect.Parameter]:
    """The parameters of a program, with their annotations."""
    return inspect.signature(program, eval_str=True).parameters.values()


def with_parameters(program: Program, parameters: Iterable[inspect.Parameter]) -> Program:
    """A program that is read with other parameters, such as some in place of its `**options`."""

    def same(*arguments: Any, **options: Any) -> Any:
        return program(*arguments, **options)

    same.__doc__ = program.__doc__
    ordered = sorted(parameters, key=attrgetter("kind"))
    same.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    return same


def options_of(program: Program) -> set[str]:
    """The options of a program as they are typed: --judge-every."""
    return {spelled(one.name) for one in parameters_of(program) if one.kind is one.KEYWORD_ONLY}


def spelled(name: str) -> str:
    """An option as it is typed: --judge-every."""
    return f"--{name.replace('_', '-')}"


def _value(kind: Any, tokens: Sequence[Token]) -> Any:
    """The value of what was typed for an option, by pydantic; of a list all values."""
    if get_origin(kind) is list:
        (item,) = get_args(kind)
        return [typed(item, token.value) for token in tokens]
    return typed(kind, tokens[-1].value)
