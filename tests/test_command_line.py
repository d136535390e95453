from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from training.command_line import CommandLine, Option, bound_text, number, one_of, option_of, whole

OPTIONS = [
    Option("agent", "who is trained", kind="argument", metavar="AGENT"),
    Option("until", "when to stop", one_of("steps", "unbeatable"), "steps"),
    Option("values", "show 100 % [of] `them`", kind="flag", default=False),
    Option("list", "the newest", whole(1), kind="optional", metavar="N"),
    Option("verify", "files", Path, kind="several", metavar="FILE"),
    Option("side", "board", whole(1, 8), 3),
    option_of(
        "judge_every", Annotated[int, Field(ge=1, lt=9)], 5, "steps between", "Configuration"
    ),
    option_of("learning_rate", Annotated[float, Field(gt=0)], 0.1, "Adam's", "Configuration"),
    option_of("hidden", tuple[int, ...], (128, 128), "units", "Configuration"),
    option_of("dueling", bool, True, "two heads", "Configuration"),
    option_of("kind", Literal["a", "b"], "a", "which", "Configuration", one_of("a", "b")),
]
LINE = CommandLine("x.py", OPTIONS, "x.py AGENT [options]", "What it does.", "presets:\n  one  two")


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("", {}),
        ("dqn --judge-every 7", {"agent": "dqn", "judge_every": 7}),
        (
            "--hidden=3,4 --no-dueling --values",
            {"hidden": (3, 4), "dueling": False, "values": True},
        ),
        ("--dueling --side 1 --side 2", {"dueling": True, "side": 2}),
        ("--list", {"list": True}),
        ("--list 4 --learning-rate -1e-3", {"list": 4, "learning_rate": -1e-3}),
        ("--verify a b --kind b", {"verify": [Path("a"), Path("b")], "kind": "b"}),
        ("-- --values", {"agent": "--values"}),
    ],
)
def test_what_was_typed_is_given_by_name(typed, values):
    assert LINE.parse(typed.split()) == values
    assert vars(LINE.values(typed.split())) == LINE.defaults | values


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (
            "--judge-evry 3",
            "unknown option '--judge-evry'; did you mean '--judge-every'? (known: --d",
        ),
        ("--judge 3", "unknown option '--judge'"),
        ("--no-values", "unknown option '--no-values'; did you mean '--values'?"),
        ("-x", "unknown option '-x' (known: --dueling,"),
        ("dqn random", "unexpected argument 'random'"),
        ("--side", "--side needs a value: --side VALUE"),
        ("--verify", "--verify needs a value: --verify FILE"),
        ("--side --values", "--side needs a value: --side VALUE"),
        ("--side 9", "--side: expected a whole number from 1 to 8, got '9'"),
        ("--list 0", "--list: expected a whole number of at least 1, got '0'"),
        ("--list 1 2", "--list takes at most 1 value, got 2"),
        ("--judge-every=2.5", "--judge-every: expected a whole number, got '2.5'"),
        ("--learning-rate much", "--learning-rate: expected a number, got 'much'"),
        (
            "--hidden 3,x",
            "--hidden: expected whole numbers separated by commas, such as 128,128, got",
        ),
        ("--until unbeatible", "--until: unknown value 'unbeatible'; did you mean 'unbeatable'?"),
        ("--values=3", "--values takes no value: write --values alone"),
        ("--dueling=yo", "--dueling takes no value: write --dueling or --no-dueling"),
    ],
)
def test_an_error_is_one_line_and_exit_code_2(typed, message, capsys):
    with pytest.raises(SystemExit) as end:
        LINE.parse(typed.split())
    printed = capsys.readouterr()
    assert (end.value.code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert printed.err.startswith(f"x.py: {message}")


def test_help_shows_defaults_and_bounds_within_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as end:
        LINE.parse(["dqn", "--help"])
    printed = capsys.readouterr().out
    assert end.value.code == 0
    assert max(map(len, printed.splitlines())) <= 80
    for text in (
        "Usage: x.py AGENT [options]",
        "100 % [of] `them`",
        "steps between [at least 1, less than 9] [default: 5]",
        "units [default: 128,128]",
        "--dueling --no-dueling",
        "presets:\n  one  two",
    ):
        assert text in printed
    assert "[default: False]" not in printed
    LINE.print_help()
    assert capsys.readouterr().out == printed


def test_a_first_look_takes_its_own_options_and_leaves_the_rest():
    typed = [
        "dqn",
        "--until",
        "steps",
        "--steps",
        "5",
        "--help",
        "--no-zap",
        "--list=3",
        "--",
        "-v",
    ]
    rest = ["dqn", "--steps", "5", "--help", "--no-zap", "--", "-v"]
    assert LINE.parse_known(typed) == ({"until": "steps", "list": 3}, rest)
    with pytest.raises(SystemExit):
        LINE.parse_known(["--side", "x"])


def test_readers_and_bounds_are_usable_by_themselves():
    assert (whole()("-3"), number("1e2"), bound_text([])) == (-3, 100.0, "")
