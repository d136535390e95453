"""`python -m tictactoe_env`: a game in the terminal, with nothing but the package."""

import io
import os
import subprocess
import sys

import pytest
from programs import ROOT

from tictactoe_env.__main__ import main


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--board", "3x3"], ["Other", "minimax-slip=0.3"]),
        (["--board", "5x5x4"], ["Other", "search-depth=1"]),
        (["--board", "4x5x4-gravity=true"], ["Other", "search-depth=2"]),
        (["--opponent", "minimax-first"], ["minimax-first", "1  [O]  .   .\n2   .   X   .\n"]),
    ],
)
def test_without_a_name_the_opponent_is_an_easy_one_and_others_are_shown(
    options, words, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "stdin", io.StringIO("b2\nquit\n"))
    assert main(options) == 0
    out = capsys.readouterr().out
    assert ([word for word in words if word not in out], "Other" in out) == ([], "Other" in words)


def test_colours_are_for_terminals_and_no_color_switches_them_off(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for variables, has_colour in (
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb", "NO_COLOR": ""}, False),
    ):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        screen = Terminal()
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(sys, "stdin", Terminal("b2\nquit\n"))
        assert main(["--opponent", "random", "--seed", "1"]) == 0
        assert ("\033[" in screen.getvalue()) == has_colour
        assert "your move: b2" not in screen.getvalue()  # a terminal shows what is typed


def test_the_program_runs_as_a_module_with_any_bytes_and_encoding():
    done = subprocess.run(
        [sys.executable, "-m", "tictactoe_env", "--opponent", "minimax"],
        input=b"\xff\xfe\nb2\nquit\n",
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"is no move" in done.stdout
    assert b"Perfect play, unhurried (O) plays " in done.stdout


@pytest.mark.parametrize("program", ["tictactoe_env", "tictactoe_env.opponents"])
def test_a_program_ends_quietly_if_nobody_reads_on(program):
    command = [sys.executable, "-m", program]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as started:
        started.stdout.close()
        assert started.stderr.read() == b""
    assert started.returncode == 0
