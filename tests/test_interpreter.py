"""The commands that the programs print begin with an interpreter that runs them."""

import shutil
import sys

import pytest

from apps.terminal import interpreter


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
