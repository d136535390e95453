"""A copy of the repository whose `Rules` has one more field with a default, as a later version may.

A program in it reads what today's code has written.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LAST = "    k: int = _LEFT_OUT\n"
FIELD = "    wrapped: bool = False\n"


def grown(folder, *parts):
    """Copy these parts of the repository, and the package, with the field `wrapped` in `Rules`."""
    for part in ("tictactoe_env", *parts):
        source = ROOT / part
        copy = folder / part
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    rules = folder / "tictactoe_env" / "rules.py"
    text = rules.read_text(encoding="utf-8")
    assert text.count(LAST) == 1
    rules.write_text(text.replace(LAST, LAST + FIELD), encoding="utf-8")
    return folder


def ran(folder, *arguments):
    """What a program prints that runs in the copy; it imports the copy."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
