"""apps/terminal/command_line.py: what was typed, errors and help."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field
from text_cases import cases

from apps.terminal.command_line import CommandLine, Option
from training.options import Count

OPTIONS = [
    Option("agent", "who is trained", kind="argument", metavar="AGENT"),
    Option("until", "when to stop", Literal["steps", "unbeatable"], "steps"),
    Option("values", "show 100 % [of] `them`", kind="flag", default=False),
    Option("list", "the newest", Count, kind="optional", metavar="N"),
    Option("out", "a file", Path, metavar="FILE"),
    Option("side", "board", Annotated[int, Field(ge=1, le=8)], 3),
    Option("opening", "first cell", default=""),
    Option("judge_every", "steps between", Count, 5, group="Configuration"),
    Option("learning_rate", "Adam's", float, 0.1, group="Configuration"),
    Option("hidden", "units", str, (128, 128), group="Configuration"),
    Option("dueling", "two heads", kind="switch", default=True, group="Configuration"),
]
LINE = CommandLine("x.py", OPTIONS, "x.py AGENT [options]", "What it does.", "presets:\n  one  two")


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("", {}),
        ("dqn --judge-every 7", {"agent": "dqn", "judge_every": 7}),
        ("--hidden=3,4 --no-dueling --values", {"hidden": "3,4", "dueling": False, "values": True}),
        ("--list 4 --learning-rate -1e-3", {"list": 4, "learning_rate": -1e-3}),
        ("--out a --until steps", {"out": Path("a"), "until": "steps"}),
        ("-- --values", {"agent": "--values"}),
    ],
)
def test_what_was_typed_is_given_by_name(typed, values):
    assert LINE.parse(typed.split()) == values
    assert vars(LINE.values(typed.split())) == LINE.defaults | values


ERRORS = """
    --judge-evry 3       | --judge-evry --judge-every
    --no-values          | --no-values --values
    --side               | --side
    --side 9             | --side '9'
    --list 1 2           | --list 2
    --judge-every=2.5    | --judge-every '2.5'
    --values=3           | --values
"""


@pytest.mark.parametrize(("typed", "mentions"), cases(ERRORS))
def test_an_error_is_one_line_and_exit_code_2(typed, mentions, capsys):
    with pytest.raises(SystemExit, match="2"):
        LINE.parse(typed.split())
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert [word for word in ("x.py: ", *mentions.split()) if word not in err] == []


SHOWN = ("x.py AGENT", "100 % [of] `them`", "128,128", "--no-dueling", "one  two")


def test_help_shows_defaults_within_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        LINE.parse(["dqn", "--help"])
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert [text for text in SHOWN if text not in printed] == []
    assert "[default: False]" not in printed
