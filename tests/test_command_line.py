from pathlib import Path

import pytest
from text_cases import cases

from training.command_line import CommandLine, Option, number, one_of, whole

OPTIONS = [
    Option("agent", "who is trained", kind="argument", metavar="AGENT"),
    Option("until", "when to stop", one_of("steps", "unbeatable"), "steps"),
    Option("values", "show 100 % [of] `them`", kind="flag", default=False),
    Option("list", "the newest", whole(1), kind="optional", metavar="N"),
    Option("verify", "files", Path, kind="several", metavar="FILE"),
    Option("side", "board", whole(1, 8), 3),
    Option("opening", "first cell", default=""),
    Option("judge_every", "steps between", whole(1), 5, bound="at least 1", group="Configuration"),
    Option("learning_rate", "Adam's", number, 0.1, group="Configuration"),
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
        ("--dueling --side 1 --side 2", {"dueling": True, "side": 2}),
        ("--list", {"list": True}),
        ("--list 4 --learning-rate -1e-3", {"list": 4, "learning_rate": -1e-3}),
        ("--verify a b --until steps", {"verify": [Path("a"), Path("b")], "until": "steps"}),
        ("-- --values", {"agent": "--values"}),
    ],
)
def test_what_was_typed_is_given_by_name(typed, values):
    assert LINE.parse(typed.split()) == values
    assert vars(LINE.values(typed.split())) == LINE.defaults | values


ERRORS = """
    --judge-evry 3       | unknown option '--judge-evry'; did you mean '--judge-every'? (known: --d
    --judge 3            | unknown option '--judge'
    --no-values          | unknown option '--no-values'; did you mean '--values'?
    -x                   | unknown option '-x' (known: --dueling,
    dqn random           | unexpected argument 'random'
    --side               | --side needs a value: --side VALUE
    --verify             | --verify needs a value: --verify FILE
    --side --values      | --side needs a value: --side VALUE
    --side 9             | --side: expected a whole number from 1 to 8, got '9'
    --list 0             | --list: expected a whole number of at least 1, got '0'
    --list 1 2           | --list takes at most 1 value, got 2
    --judge-every=2.5    | --judge-every: expected a whole number of at least 1, got '2.5'
    --learning-rate much | --learning-rate: expected a number, got 'much'
    --until unbeatible   | --until: unknown value 'unbeatible'; did you mean 'unbeatable'?
    --values=3           | --values takes no value: write --values alone
    --dueling=yo         | --dueling takes no value: write --dueling or --no-dueling
"""


@pytest.mark.parametrize(("typed", "message"), cases(ERRORS))
def test_an_error_is_one_line_and_exit_code_2(typed, message, capsys):
    with pytest.raises(SystemExit) as end:
        LINE.parse(typed.split())
    printed = capsys.readouterr()
    assert (end.value.code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert printed.err.startswith(f"x.py: {message}")


SHOWN = """Usage: x.py AGENT [options]|100 % [of] `them`|steps between [at least 1] [default: 5]|
units [default: 128,128]|--dueling --no-dueling|presets:\n  one  two|first cell   """


def test_help_shows_defaults_and_bounds_within_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as end:
        LINE.parse(["dqn", "--help"])
    printed = capsys.readouterr().out
    assert end.value.code == 0
    assert max(map(len, printed.splitlines())) <= 80
    assert [text for text in SHOWN.split("|") if text.lstrip("\n") not in printed] == []
    assert "[default: False]" not in printed
    LINE.print_help()
    assert capsys.readouterr().out == printed


def test_a_first_look_takes_its_own_options_and_leaves_the_rest():
    typed = "dqn --until steps --steps 5 --help --no-zap --list=3 -- -v"
    rest = "dqn --steps 5 --help --no-zap -- -v"
    assert LINE.parse_known(typed.split()) == ({"until": "steps", "list": 3}, rest.split())
    with pytest.raises(SystemExit):
        LINE.parse_known(["--side", "x"])
