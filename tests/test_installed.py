"""Missing packages: one line with the command that installs them, and nothing is written."""

import re
import subprocess
import sys

import pytest
from small_runs import ROOT

from apps.terminal.installed import explained

PROGRAM = """import os, sys
sys.path[:0], sys.modules[{missing!r}] = [{root!r}], None
os.chdir({folder!r})
import {program}
sys.exit({program}.main({arguments!r}))
"""


@pytest.mark.parametrize(
    ("missing", "program", "arguments", "group", "flags"),
    [
        ("numpy", "play", ["--list"], "play", "-IS"),  # and without any other package
        ("numpy", "train", ["dqn"], "train", "-IS"),
        ("numpy", "evaluate", ["minimax"], "play", "-IS"),
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
    command = [sys.executable, flags, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert re.search(rf" is .+ --group {group} ", done.stderr)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert not list(tmp_path.iterdir())


def test_other_errors_of_imports_are_not_called_missing_packages():
    for error in (ModuleNotFoundError("", name="agents.nosuch"), ImportError("", name="numpy")):
        with pytest.raises(type(error)), explained("play.py", "play"):
            raise error
