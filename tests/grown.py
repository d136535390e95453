"""Copies of the repository, also one whose `Rules` has one more field, as a later version may."""

import shutil

from programs import ROOT

FIELD = "    wrapped: bool = False\n\n"


def copied(folder, *parts):
    """Copy files and folders of the repository."""
    for part in parts:
        source = ROOT / part
        copy = folder / part
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)


def insert(path, before, text):
    """Insert a text into a file before another one, which is there once."""
    source = path.read_text(encoding="utf-8")
    assert source.count(before) == 1, (path.name, before)
    path.write_text(source.replace(before, text + before), encoding="utf-8")


def grown(folder, *parts):
    """Copy these parts of the repository, and the package, with the field `wrapped` in `Rules`."""
    copied(folder, "tictactoe_env", *parts)
    insert(folder / "tictactoe_env/rules.py", "    def __init_subclass__", FIELD)
    return folder
