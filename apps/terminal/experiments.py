"""Experiments of train.py: an agent's command line, and its configuration from what was typed."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic.fields import FieldInfo

import agents
from apps.terminal.command_line import CommandLine, Option
from tictactoe_env.errors import one_of, unknown_name
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.notation import parse_size
from training.options import (
    bounds_of,
    check_unchanged,
    is_rare,
    larger_default,
    options_of,
    read_config,
)
from training.search_space import text_of

AGENT = Option("agent", "the agent to train", kind="argument")
OF_AGENTS = [
    Option("preset", "options that belong together", metavar="NAME"),
    Option(
        "board",
        "size of the board: rows, columns, marks in a row",
        parse_size,
        metavar="3x4x3",
        without=("rows", "cols", "k"),
    ),
    Option("help_all", "show all options of the agent, and its presets", kind="flag"),
]
USAGE = "train.py AGENT [options], or train.py --resume RUN [options]"
ABOUT = "Train an agent against a pool of opponents, and prove how well it plays."


def general_line(general: Sequence[Option]) -> CommandLine:
    """The command line without an agent, whose help lists them."""
    more = "train.py AGENT --help lists the options of an agent."
    epilog = f"agents:\n{listed(agents.TRAINABLE)}\n\n{more}"
    return CommandLine("train.py", [AGENT, *general, *OF_AGENTS], USAGE, ABOUT, epilog)


def command_line(page: Any, general: Sequence[Option], is_whole: bool = False) -> CommandLine:
    """The command line of an agent: general options, and the fields of its Config.

    is_whole: see CommandLine.
    """
    options = [option_of(name, field, is_whole) for name, field in options_of(page.Config).items()]
    presets = {
        name: preset.sentence + (" (a copy, weaknesses included)" if preset.weak else "")
        for name, preset in agents.presets(page.AGENT).items()
    }
    names = f"\n{listed(presets)}" if presets and is_whole else ", ".join(presets) or "none"
    cells = page.Config.CELLS
    size = f"of at most {cells} cells" if cells <= TABULATED else "of any size"
    epilog = f"boards of {page.AGENT}: {size}\npresets of {page.AGENT}: {names}"
    given = [AGENT, *general, *OF_AGENTS, *options]
    return CommandLine("train.py", given, USAGE, "", epilog, is_whole)


def option_of(name: str, field: FieldInfo, is_whole: bool) -> Option:
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
    return Option(
        name,
        sentence,
        kind,
        field.default,
        kind="switch" if field.annotation is bool else "value",
        group="Configuration",
        is_rare=is_rare(field),
    )


def typed_in(line: CommandLine, arguments: Sequence[str]) -> dict[str, Any]:
    """The options that were typed, with the board in --board as `rows`, `cols` and `k`.

    Fields that make the board a variant are options too. Raises ValueError if the agent has none.
    """
    typed = line.parse(arguments)
    board = typed.pop("board", None)
    if board is None:
        return typed
    for name in board.variant:
        one_of("option of this agent", name, line.defaults)
    return {**typed, **board.to_json()}


def listed(sentences: Mapping[str, str]) -> str:
    """Names with their sentences, one below the other, at most 80 columns wide."""
    indent = " " * (max(map(len, sentences)) + 4)
    fill = partial(textwrap.fill, width=80, subsequent_indent=indent, break_on_hyphens=False)
    lines = (fill(f"  {name}".ljust(len(indent)) + text) for name, text in sentences.items())
    return "\n".join(lines)


def saved_config(folder: Path) -> dict[str, Any]:
    """The content of a run's config.json: agent, config, versions. DamagedFileError for another."""
    from training.run_files import read_config_file

    return read_config_file(folder)


class Experiment(NamedTuple):
    """An agent to train: its page, its configuration, and the name of its preset."""

    page: Any
    config: Any
    preset: str | None

    @property
    def name(self) -> str:
        """The name of the agent, followed by that of the preset if there is one."""
        return f"{self.page.AGENT}-{self.preset}" if self.preset else str(self.page.AGENT)


def experiment_of(page: Any, typed: Mapping[str, Any], saved: dict[str, Any]) -> Experiment:
    """The agent to train, from the options or from a resumed run.

    Raises ValueError for an unknown preset, and if more than `steps` of a run would change.
    """
    known = options_of(page.Config)
    chosen = {name: value for name, value in typed.items() if name in known}
    if saved:
        folder: Path = typed["resume"]
        before = read_config(page.Config, saved["config"], folder / "config.json")
        chosen.pop("learn_from", None)  # more games
        config = before.replace(**chosen)
        check_unchanged(config, before, folder)
        return Experiment(page, config, saved.get("preset"))
    presets, preset = agents.presets(page.AGENT), typed.get("preset")
    if preset is not None and preset not in presets:
        raise unknown_name(f"preset of {page.AGENT}", preset, presets)
    options = presets[preset].options if preset else {}
    return Experiment(page, page.Config(**{**options, **chosen}), preset)
