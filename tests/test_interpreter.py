"""Printed commands begin with an interpreter that runs them, and a missing package has a line."""

import re
import shutil
import sys

import pytest
from programs import ROOT, python

from apps.terminal import interpreter
from apps.terminal.interpreter import explained

PROGRAM = """import os, sys
sys.path[:0], sys.modules[{missing!r}] = [{root!r}], None
os.chdir({folder!r})
import {program}
sys.exit({program}.main({arguments!r}))
"""


@pytest.mark.parametrize(
    ("running", "found", "printed"),
    [
        ("home/.venv/bin/python3", "home/.venv/bin/python", "python"),
        ("home/.venv/bin/python", None, ".venv/bin/python"),
        ("usr/python3", "home/.venv/bin/python", "{machine}/usr/python3"),
    ],
)
def test_a_command_names_the_interpreter_unless_python_on_the_path_is_it(
    running, found, printed, tmp_path, monkeypatch
):
    """On a machine with an interpreter, and a virtual environment that was made by it."""
    for name in ("usr/python3", "home/.venv/pyvenv.cfg"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    (tmp_path / "home/.venv/bin").mkdir()
    for name in ("usr/python", "home/.venv/bin/python", "home/.venv/bin/python3"):
        (tmp_path / name).symlink_to(tmp_path / "usr/python3")
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.setattr(sys, "executable", str(tmp_path / running))
    monkeypatch.setattr(shutil, "which", lambda _: found and str(tmp_path / found))
    shown = interpreter.command("play.py", "--replay", "7", "--store", "my games.db")
    first = printed.format(machine=tmp_path)
    assert shown == f"{first} play.py --replay 7 --store 'my games.db'"


@pytest.mark.parametrize(
    ("missing", "program", "arguments", "group", "flags"),
    [
        ("numpy", "play", ["--list"], "play", "-IS"),  # and without any other package
        ("numpy", "train", ["dqn"], "train", "-IS"),
        ("torch", "train", ["dqn"], "train", "-I"),
        ("uvicorn", "play", ["--web"], "web", "-I"),
        ("filelock", "train", ["trie"], "train", "-I"),
        ("optuna", "train", ["tabular_q", "--optimize", "2"], "optimize", "-I"),
    ],
)
def test_a_program_names_the_package_that_is_missing_and_what_to_install(
    tmp_path, missing, program, arguments, group, flags
):
    about = {"missing": missing, "program": program, "arguments": arguments}
    code = PROGRAM.format(**about, folder=str(tmp_path), root=str(ROOT))
    done = python(flags, "-c", code)
    assert re.search(rf" is .+ --group {group} ", done.stderr)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert not list(tmp_path.iterdir())


def test_other_errors_of_imports_are_not_called_missing_packages():
    for error in (ModuleNotFoundError("", name="agents.nosuch"), ImportError("", name="numpy")):
        with pytest.raises(type(error)), explained("play.py", "play"):
            raise error


def test_a_model_cannot_be_read_without_its_extra_which_is_said_in_one_line(tmp_path):
    (tmp_path / "sb3_contrib.py").write_text("raise ModuleNotFoundError")
    done = python("-m", "tictactoe_env.sb3", "model.zip", folder=tmp_path)
    assert "[sb3]" in done.stderr
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
