"""Models that Stable-Baselines3 saved, as players of a command line: `model.zip --trust`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from apps.terminal.command_line import Command, Flag, parameters_of, with_parameters
from apps.terminal.interpreter import command
from tictactoe_env.errors import printable
from tictactoe_env.opponents import MODELS, RESPONSE_TO, UntrustedModelError, is_model

Trust = Annotated[
    Flag,
    Parameter(help="read models that Stable-Baselines3 saved (.zip); code in them is executed"),
]
Symmetric = Annotated[
    Flag,
    Parameter(help="the models learned with symmetric=True, behind a wrapper that hides it"),
]
Normalize = Annotated[
    str | None,
    Parameter(
        metavar="FILE",
        help="the statistics of the models' VecNormalize, or none (default: those beside a model)",
    ),
]


def read_models(
    specs: Iterable[str],
    *,
    trust: Trust = False,
    symmetric: Symmetric = False,
    normalize: Normalize = None,
) -> None:
    """Read the models among some players, if they are trusted, and print what they are."""
    if not trust:
        if symmetric or normalize:
            raise ValueError("--symmetric and --normalize are for saved models: give --trust too")
        return
    named = (spec.rpartition(RESPONSE_TO)[2] for spec in specs)
    for spec in dict.fromkeys(filter(is_model, named)):
        try:
            from tictactoe_env.sb3 import SavedModel
        except ImportError as error:  # it says what to install
            raise ValueError(str(error)) from error
        MODELS[spec] = SavedModel(spec, symmetric or None, normalize)
        print(printable(MODELS[spec]))


def with_models(program: Command) -> Command:
    """A program of agents that also takes saved models, and the options of `read_models`."""
    _, *own = parameters_of(read_models)
    names = [one.name for one in own]

    @wraps(program)
    def run(*agents: str, **options: Any) -> Any:
        read_models(agents, **{name: options.pop(name) for name in names if name in options})
        return program(*agents, **options)

    return with_parameters(run, [*parameters_of(program), *own])


def text_of(error: Exception, prog: str, words: Iterable[str]) -> str:
    """An error in one line; that of a model that isn't trusted has the command line that does."""
    if isinstance(error, UntrustedModelError):
        script = sys.argv[0]
        typed = script if Path(script).name == prog else prog  # it runs from other folders, too
        return printable(error.text(command(typed, *words, "--trust")))
    return printable(error)
