"""apps/terminal/command_line.py: what was typed, errors and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from cyclopts import Group, Parameter
from pydantic import Field
from text_cases import cases

from apps.terminal.command_line import CommandLine, OneOrNone
from training.options import Count

Games = Annotated[Count | None, Parameter(help="show 100 % [of] `them`")]


def train(
    agent: Annotated[str, Parameter(metavar="AGENT")] = "",
    /,
    *,
    until: Literal["steps", "unbeatable"] = "steps",
    dueling: Annotated[bool, Parameter(negative="--no-dueling")] = True,
    learning_rate: float = 0.1,
    judge_every: Annotated[Count, Parameter(group=Group("Configuration", sort_key=1))] = 5,
    games: Games = None,
    side: Annotated[int, Field(ge=1, le=8)] = 3,
    out: Path | None = None,
):
    """Train an agent.

    Args:
        out: a folder, of which there is so much to
            say that it goes on in a line of its own
    """


def newest(*, list: OneOrNone[Count], games: Games = None):
    """List the newest."""


def checked(*files: str, check: bool, proven: bool = False):
    """Check files."""


PROGRAMS = {"": train, "--list": newest, "--check": checked}
LINE = CommandLine(
    "x.py", PROGRAMS, "x.py AGENT [options]", "What it does.", "presets:\n  one  two"
)


@pytest.mark.parametrize(
    ("typed", "program", "values"),
    [
        ("", train, {}),
        ("dqn --judge-every 7", train, {"agent": "dqn", "judge_every": 7}),
        ("--no-dueling --dueling --games=1_000", train, {"dueling": True, "games": 1_000}),
        ("--side 4 --side 5 --learning-rate -1e-3", train, {"side": 5, "learning_rate": -1e-3}),
        ("--out a --until steps", train, {"out": Path("a"), "until": "steps"}),
        ("-- --games", train, {"agent": "--games"}),
        ("--games 3 --list 4", newest, {"list": [4], "games": 3}),
        ("--list", newest, {"list": []}),
        ("a --check b --proven", checked, {"files": ("a", "b"), "check": True, "proven": True}),
    ],
)
def test_what_was_typed_chooses_the_program_and_is_given_by_name(typed, program, values):
    found, bound = LINE.parse(typed.split())
    assert (found, bound.arguments) == (program, values)


ERRORS = """
    --judge-evry 3       | --judge-evry --judge-every
    --no-check           | --no-check
    --side               | --side
    --side 9             | --side 1 8 '9'
    --games 0            | --games 1 '0'
    --until steped       | --until unbeatable 'steped'
    --list 0             | --list 1 '0'
    --list 1 2           | --list
    --judge-every=2.5    | --judge-every '2.5'
    --check=3            | --check
    dqn dqn              | 'dqn'
    --list --side 3      | --side --list
    --check --list       | --list --check
    dqn --proven         | --proven --check
"""


@pytest.mark.parametrize(("typed", "mentions"), cases(ERRORS))
def test_an_error_is_one_line_and_exit_code_2(typed, mentions, capsys):
    with pytest.raises(SystemExit, match="2"):
        LINE.parse(typed.split())
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert [word for word in ("x.py: ", *mentions.split()) if word not in err] == []


SHOWN = ("x.py AGENT", "What it does", "100 % [of] `them`", "--no-dueling", "one  two")
SECTIONS = ("Options ─", "Configuration ─", "List the newest ─", "Check files ─")


@pytest.mark.parametrize(
    ("typed", "shown", "hidden"),
    [
        ("dqn --help", (*SHOWN, *SECTIONS, "of which there is so much to say"), "required"),
        ("--list --help", ("List the newest",), "--side"),
    ],
)
def test_help_shows_all_programs_or_the_chosen_one_within_80_columns(
    typed, shown, hidden, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        LINE.parse(typed.split())
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert [text for text in shown if text not in printed] == []
    assert hidden not in printed
