"""Python programs in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def python(*arguments, folder=ROOT):
    """A finished Python process in a folder, by default in the root of the repository."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment())


def printed(*arguments, folder=ROOT):
    """What a Python process prints that ends without an error."""
    done = python(*arguments, folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def without(packages, program, *arguments):
    """What a Python program prints where these packages, separated by blanks, are not installed."""
    missing = f"import sys; sys.modules |= dict.fromkeys({packages.split()!r})\n"
    return printed("-c", missing + program, *arguments)


def environment():
    """That of a user whose terminal is 80 columns wide."""
    ignored = ("COLUMNS", "FORCE_COLOR", "TERM")
    return {name: value for name, value in os.environ.items() if name not in ignored}
