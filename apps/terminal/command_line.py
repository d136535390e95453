"""Command lines: typed functions whose words cyclopts reads, with errors of one line.

A command line is a function, or several, each chosen by an option that it alone has:

    def tree(*agents: str, tree: OneOrNone[Count], gravity: Flag = False) -> None:
        \"\"\"Print the moves of agents as a tree.

        Args:
            tree: its depth (default: what fits a screen)
            gravity: pieces fall, as in Connect Four
        \"\"\"

    line = CommandLine("x.py", {"": evaluate, "--tree": tree}, "x.py AGENTS... [options]")
    program, typed = line.parse(["minimax", "--tree", "3"])
    program(*typed.args, **typed.kwargs)

The help is what the docstrings say. An annotation is a type with its bound. An error ends the
program with exit code 2 and one line, `x.py: message`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import BoundArguments
from operator import attrgetter
from typing import Annotated, Any, NoReturn, TypeVar, get_args, get_origin

from cyclopts import (
    App,
    CoercionError,
    ConsumeMultipleError,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    Token,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from tictactoe_env.errors import OTHERWISE, printable, unknown_name
from training.options import expected_of, typed

Command = Callable[..., Any]
Item = TypeVar("Item")
Flag = Annotated[bool, Parameter(show_default=False)]
Gravity = Annotated[Flag, Parameter(help="pieces fall, as in Connect Four")]
OneOrNone = Annotated[list[Item], Parameter(consume_multiple=(0, 1), n_tokens=1)]
"""A list of the value that is typed, or of none: --tree 3 or --tree."""
HELP = ("--help", "-h")


def read_by(parse: Callable[[str], Any]) -> Parameter:
    """A value that a function reads from what is typed; its ValueError is the message."""
    return Parameter(converter=lambda kind, tokens: parse(tokens[-1].value), accepts_keys=False)


@dataclass(frozen=True)
class CommandLine:
    """The programs of a command, each by the option that chooses it; "" is for all other words.

    prog: the name of the command in errors. usage, description, epilog: texts of --help.
    is_whole: --help shows the options of all programs.
    """

    prog: str
    programs: Mapping[str, Command]
    usage: str
    description: str = ""
    epilog: str = ""
    is_whole: bool = True

    def print_help(self) -> None:
        """Print a section for each program, with the options that are in no section before it."""
        shown = [*self.programs.values()] if self.is_whole else [self.programs[""]]
        known: set[str] = set()
        for place, program in enumerate(shown):
            own = [one for one in parameters_of(program) if one.name not in known]
            known |= {one.name for one in own}
            app = app_of(self.prog, program, own)
            app.help = app.usage = ""
            if place == 0:
                app.help = self.description
                app.usage = f"Usage: {self.usage}"
            else:
                app.help_flags = ()
                app.group_arguments = app.group_parameters = Group(title_of(program))
                app.default_parameter = Parameter(negative=(), required=False)
            app.help_print([])
        print(f"\n{self.epilog}")

    def parse(self, arguments: Sequence[str] | None = None) -> tuple[Command, BoundArguments]:
        """The program, and the arguments that were typed. --help exits with 0, an error with 2."""
        words = sys.argv[1:] if arguments is None else list(arguments)
        names = [word.partition("=")[0] for word in words]
        option = next((name for name in names if name in self.programs), "")
        if not option and not {*HELP}.isdisjoint(words):
            self.print_help()
            raise SystemExit(0)
        program = self.programs[option]
        app = app_of(self.prog, program, parameters_of(program))
        try:
            command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
        except CycloptsError as error:
            self.error(self._message(error, option))
        if command is app.default_command:
            return program, bound
        command(*bound.args, **bound.kwargs)  # of --help
        raise SystemExit(0)

    def _message(self, error: CycloptsError, option: str) -> str:
        """The message of an error in one line. option: of the program that was chosen."""
        if isinstance(error, UnusedCliTokensError):
            surplus = " ".join(error.unused_tokens or ())
            if option:
                return f"{option} goes without {surplus!r}: leave one out"
            return f"expected what --help shows, got {surplus!r} too"
        if isinstance(error, ConsumeMultipleError) and option:
            return f"{option} takes one word at most: write other words before it"
        if isinstance(error, MissingArgumentError) and option:
            return f"{str(error).rstrip('.')}; a word after {option} is its value"
        if isinstance(error, UnknownOptionError):
            name = error.token.keyword or error.token.value
            others = [one for one in self.programs if name in options_of(self.programs[one])]
            if others and option:
                return f"{name} goes without {option}: leave one out"
            if others:
                return f"{name} is for {' or '.join(others)}: give that too"
            known = {*options_of(self.programs[option]), *filter(None, self.programs)}
            is_size = name.strip("-").replace("-", "_") in OTHERWISE
            meant = repr("--board") if is_size and "--board" in known else ""
            return str(unknown_name("option", name, known, "--help lists them", meant))
        argument = error.argument if isinstance(error, (CoercionError, ValidationError)) else None
        if argument and argument.tokens and argument.parameter.converter is _value:
            token = argument.tokens[-1]
            expected = expected_of(item_of(argument.field_info.annotation))
            return f"Invalid value for {token.keyword}: expected {expected}, got {token.value!r}"
        return str(error)

    def error(self, message: str) -> NoReturn:
        """End the program with a message of one line and exit code 2."""
        print(f"{self.prog}: {printable(message)}", file=sys.stderr)
        raise SystemExit(2)


def app_of(prog: str, program: Command, parameters: Iterable[inspect.Parameter]) -> App:
    """The program as cyclopts reads it; of an option that is repeated the last one counts."""
    section = Group("Options", sort_key=0)
    app = App(
        prog,
        help_flags=HELP,
        help_format="plaintext",
        version_flags=(),
        default_command=with_parameters(program, parameters),
        default_parameter=Parameter(converter=_value, negative=(), allow_repeating=True),
        group_parameters=section,
        group_arguments=section,
    )
    app["--help"].group = section
    app["--help"].help = "show this help"
    return app


def parameters_of(program: Command) -> Iterable[inspect.Parameter]:
    """The parameters of a program, with their annotations."""
    return inspect.signature(program, eval_str=True).parameters.values()


def with_parameters(program: Command, parameters: Iterable[inspect.Parameter]) -> Command:
    """A program that is read with other parameters, such as some in place of its `**options`."""

    def same(*arguments: Any, **options: Any) -> Any:
        return program(*arguments, **options)

    ordered = sorted(parameters, key=attrgetter("kind"))
    same.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    same.__doc__ = re.sub(r"\n {8}", " ", inspect.getdoc(program) or "")  # a line for an option
    return same


def title_of(program: Command) -> str:
    """The first line of what a program says of itself."""
    return (inspect.getdoc(program) or "").partition("\n")[0].removesuffix(".")


def options_of(program: Command) -> set[str]:
    """The options of a program as they are typed: --judge-every."""
    return {spelled(one.name) for one in parameters_of(program) if one.kind is one.KEYWORD_ONLY}


def spelled(name: str) -> str:
    """An option as it is typed: --judge-every."""
    return f"--{name.replace('_', '-')}"


def _value(kind: Any, tokens: Sequence[Token]) -> Any:
    """The value of what was typed for an option, by pydantic; of a list all values."""
    if get_origin(kind) is list:
        return [typed(item_of(kind), token.value) for token in tokens]
    return typed(kind, tokens[-1].value)


def item_of(kind: Any) -> Any:
    """The type of the values of a list, which may be annotated; any other type as it is."""
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return get_args(bare)[0] if get_origin(bare) is list else kind
