"""Experiments of train.py: an agent's command line, and its configuration from what was typed."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_origin

from cyclopts import Group, Parameter
from pydantic.fields import FieldInfo

import agents
from apps.terminal.command_line import (
    Command,
    CommandLine,
    Flag,
    parameters_of,
    read_by,
    spelled,
    with_parameters,
)
from tictactoe_env.errors import one_of, unknown_name
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.notation import parse_size
from tictactoe_env.rules import SIZES, Rules
from training.options import (
    bounds_of,
    check_unchanged,
    is_rare,
    larger_default,
    options_of,
    read_config,
)
from training.search_space import text_of

USAGE = "train.py AGENT [options], or train.py --resume RUN [options]"
ABOUT = "Train an agent against a pool of opponents, and prove how well it plays."
CONFIGURATION = Group("Configuration", sort_key=1)
Preset = Annotated[str | None, Parameter(metavar="NAME", help="options that belong together")]
Board = Annotated[
    Rules | None,
    read_by(parse_size),
    Parameter(metavar="3x4x3", help="size of the board: rows, columns, marks in a row"),
]
HelpAll = Annotated[Flag, Parameter(help="show all options of the agent, and its presets")]


def keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter that is given by its name."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


OF_AGENTS = [
    keyword("preset", Preset, None),
    keyword("board", Board, None),
    keyword("help_all", HelpAll, False),
]
"""The options of `train.py` that every agent has beside those of its configuration."""


def general_line(programs: Mapping[str, Command]) -> CommandLine:
    """The command line without an agent, whose help lists them."""
    more = "train.py AGENT --help lists the options of an agent."
    epilog = f"agents:\n{listed(agents.TRAINABLE)}\n\n{more}"
    return CommandLine("train.py", with_options(programs, OF_AGENTS), USAGE, ABOUT, epilog)


def command_line(
    module: Any, programs: Mapping[str, Command], is_whole: bool = False
) -> CommandLine:
    """The command line of an agent: the programs, with the fields of its Config in `**options`.

    is_whole: see CommandLine.
    """
    fields = options_of(module.Config).items()
    options = [*OF_AGENTS, *(option_of(name, field, is_whole) for name, field in fields)]
    presets = {}
    for name, preset in agents.presets(module.AGENT).items():
        presets[name] = preset.sentence
        if preset.weak:
            presets[name] += " (a copy, weaknesses included)"
    names = ", ".join(presets) or "none"
    if presets and is_whole:
        names = f"\n{listed(presets)}"
    cells = module.Config.CELLS
    size = f"of at most {cells} cells" if cells <= TABULATED else "of any size"
    epilog = f"boards of {module.AGENT}: {size}\npresets of {module.AGENT}: {names}"
    return CommandLine(
        "train.py", with_options(programs, options), USAGE, epilog=epilog, is_whole=is_whole
    )


def with_options(
    programs: Mapping[str, Command], options: Sequence[inspect.Parameter]
) -> dict[str, Command]:
    """The programs with options of an agent in place of `**options`, but those in LEFT_OUT."""
    found = {}
    for word, program in programs.items():
        own = [one for one in parameters_of(program) if one.kind is not one.VAR_KEYWORD]
        added = [one for one in options if one.name != LEFT_OUT.get(word)]
        found[word] = with_parameters(program, [*own, *added])
    return found


LEFT_OUT = {"--resume": "preset", "--seeds": "seed"}
"""The option of agents that a program does not take."""


def option_of(name: str, field: FieldInfo, is_whole: bool) -> inspect.Parameter:
    """The option of a field of a Config. A whole help also says bounds and larger boards' default.

    is_whole: see CommandLine.
    """
    kind = field.rebuild_annotation()
    sentence = str(field.description)
    larger, falling = larger_default(field), larger_default(field, gravity=True)
    if is_whole and larger is not None:
        sentence += f" On boards of more than {TABULATED} cells the default is {text_of(larger)}."
    if is_whole and falling != larger:
        sentence += (
            f" With gravity, on boards of more than {TABULATED} cells, it is {text_of(falling)}."
        )
    if is_whole and (bounds := bounds_of(kind)):
        sentence += f" [{bounds}]"
    shown = Parameter(help=sentence, group=CONFIGURATION, show=is_whole or not is_rare(field))
    reading = Parameter()
    if field.annotation is bool:
        reading = Parameter(negative=spelled(f"no_{name}"))
    elif get_origin(field.annotation) is tuple:
        reading = Parameter(n_tokens=1, metavar="VALUE,VALUE", show_default=text_of)
    return keyword(name, Annotated[kind, shown, reading], field.default)


def listed(sentences: Mapping[str, str]) -> str:
    """Names with their sentences, one below the other, at most 80 columns wide."""
    indent = " " * (max(map(len, sentences)) + 4)
    fill = partial(textwrap.fill, width=80, subsequent_indent=indent, break_on_hyphens=False)
    lines = (fill(f"  {name}".ljust(len(indent)) + text) for name, text in sentences.items())
    return "\n".join(lines)


class Experiment(NamedTuple):
    """An agent to train: its module, its configuration, and the name of its preset."""

    module: Any
    config: Any
    preset: str | None

    @property
    def name(self) -> str:
        """The name of the agent, followed by that of the preset if there is one."""
        return f"{self.module.AGENT}-{self.preset}" if self.preset else str(self.module.AGENT)


def plain_options(module: Any, typed: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed, with the board in --board as the options `rows`, `cols` and `k`.

    Fields that make the board a variant are options too. Raises ValueError if the agent has none,
    and for a board that is given twice.
    """
    options = dict(typed)
    board = options.pop("board", None)
    if board is None:
        return options
    for name in SIZES:
        if name in options:
            raise ValueError(f"--board goes without {spelled(name)}: leave one out")
    for name in board.variant:
        one_of("option of this agent", name, options_of(module.Config))
    return {**options, **board.to_json()}


def experiment_of(module: Any, options: Mapping[str, Any]) -> Experiment:
    """The agent to train, with these options, among them perhaps a preset.

    Raises ValueError for an unknown preset, and for options that the agent refuses.
    """
    preset = options.get("preset")
    chosen = with_implied(module, options_in(module, options))
    if preset is not None:
        presets = agents.presets(module.AGENT)
        if preset not in presets:
            raise unknown_name(f"preset of {module.AGENT}", preset, presets)
        chosen = {**presets[preset].options, **chosen}
    return Experiment(module, module.Config(**chosen), preset)


def with_implied(module: Any, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Options that were typed, and those that go with them. Raises ValueError for another value."""
    found = dict(typed)
    for name, (other, value) in module.Config.IMPLIES.items():
        if name in typed:
            found.setdefault(other, value)
            if found[other] != value:
                wrong = f"{spelled(other)} {text_of(found[other])}"
                raise ValueError(f"{spelled(name)} goes without {wrong}: leave one out")
    return found


def continued(folder: Path, saved: Mapping[str, Any], options: Mapping[str, Any]) -> Experiment:
    """The agent of a run to be continued; ValueError if more than its `steps` would change."""
    module: Any = agents.module(saved["agent"])
    before = read_config(module.Config, saved["config"], folder / "config.json")
    chosen = options_in(module, options)
    chosen.pop("learn_from", None)  # more games
    config = before.replace(**chosen)
    check_unchanged(config, before, folder)
    return Experiment(module, config, saved.get("preset"))


def options_in(module: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some options that the configuration of an agent has."""
    known = options_of(module.Config)
    return {name: value for name, value in options.items() if name in known}
