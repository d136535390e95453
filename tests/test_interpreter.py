"""The commands that the programs print begin with an interpreter that runs them."""

import shutil
import sys

import pytest

from training import interpreter


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an interpreter, a virtual environment made by it, and another interpreter."""
    for name in ("usr/python3", "other/python", "home/.venv/bin/python"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    (tmp_path / "home/.venv/pyvenv.cfg").touch()
    (tmp_path / "usr/python").symlink_to("python3")
    for name in ("python", "python3"):
        path = tmp_path / "home/.venv/bin" / name
        path.unlink(missing_ok=True)
        path.symlink_to(tmp_path / "usr/python3")
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path


@pytest.mark.parametrize(
    ("running", "found", "printed"),
    [
        ("usr/python3", "usr/python", "python"),
        ("home/.venv/bin/python", "home/.venv/bin/python", "python"),
        ("home/.venv/bin/python3", "home/.venv/bin/python", "python"),
        ("home/.venv/bin/python", "usr/python", ".venv/bin/python"),
        ("home/.venv/bin/python", None, ".venv/bin/python"),
        ("usr/python3", "other/python", "{machine}/usr/python3"),
        ("usr/python3", "home/.venv/bin/python", "{machine}/usr/python3"),
    ],
)
def test_a_command_names_the_interpreter_unless_python_on_the_path_is_it(
    machine, monkeypatch, running, found, printed
):
    monkeypatch.setattr(sys, "executable", str(machine / running))
    monkeypatch.setattr(shutil, "which", lambda _: found and str(machine / found))
    shown = interpreter.command("play.py", "--replay", "7", "--store", "my games.db")
    first = printed.format(machine=machine)
    assert shown == f"{first} play.py --replay 7 --store 'my games.db'"
