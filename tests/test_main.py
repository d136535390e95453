"""`python -m tictactoe_env`: a game in the terminal, with nothing but the package."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tictactoe_env import register_opponent, unregister_opponent
from tictactoe_env.__main__ import main


class FirstFree:
    """Marks the first free cell."""

    def probs(self, boards):
        free = boards == 0
        return (free & (free.cumsum(axis=1) == 1)).astype(float)


@pytest.fixture
def play(monkeypatch, capsys):
    """The exit code and the output of the program with typed words."""

    def run(words, *options):
        typed = "".join(f"{word}\n" for word in words.split())
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        code = main([*map(str, options)])
        out, error = capsys.readouterr()
        assert error == ""
        return code, out

    register_opponent("first-free", lambda rules: FirstFree())
    yield run
    unregister_opponent("first-free")


def test_a_game_is_shown_move_by_move_and_its_end_is_explained(play):
    code, out = play("b2 6 A2", "--opponent", "first-free")
    assert code == 0
    assert "1  [O]  .   .\n2   .   X   .\n3   .   .   .\n" in out
    end = out.partition("1   O   O   .\n2  [X*] X*  X*\n3   .   .   .\n")[2]
    assert [word for word in ("X wins", "b1 (move 4)", "draw", "loss") if word not in end] == []


@pytest.mark.parametrize(
    ("size", "name"), [("3x3", "minimax-slip=0.3"), ("5x5x4", "search-depth=1")]
)
def test_without_a_name_the_opponent_is_an_easy_one_and_says_so(play, size, name):
    easy, against, *_ = play("quit", "--board", size)[1].splitlines()
    assert ("easy" in easy, name in against) == (True, True)
    assert "easy" not in play("quit", "--opponent", "minimax")[1]


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
    typed, settings = b"\xff\xfe\nb2\nquit\n", {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "tictactoe_env", "--opponent", "minimax"],
        input=typed,
        capture_output=True,
        cwd=Path(__file__).parent.parent,
        env={**os.environ, **settings},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"is no move" in done.stdout
    assert b"minimax (O) plays " in done.stdout
