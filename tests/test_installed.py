"""Missing packages: one line with the command that installs them, and nothing is written."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from small_runs import ROOT, python

from training.installed import GROUP_OF, GROUPS, what_to_do

IMPORTED_AS = {"stable-baselines3": "stable_baselines3", "sb3-contrib": "sb3_contrib"}


@pytest.mark.parametrize(
    ("program", "group"), [("play", "play"), ("train", "train"), ("evaluate", "play")]
)
def test_without_the_environment_each_program_says_in_one_line_what_to_install(program, group):
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}]; import {program}; {program}.main(['dqn'])"
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert re.search(rf"(numpy|gymnasium).+ --group {group} ", done.stderr)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


@pytest.mark.parametrize(
    ("missing", "program", "arguments", "group"),
    [
        ("torch", "train", ["dqn"], "train"),
        ("filelock", "train", ["trie"], "train"),
        ("tensorboard", "train", ["tabular_q", "--seeds", "0-1"], "train"),
        ("optuna", "train", ["tabular_q", "--optimize", "2"], "optimize"),
        ("rich", "evaluate", ["minimax"], "play"),
        ("cyclopts", "play", ["--list"], "play"),
        ("uvicorn", "play", ["--web"], "web"),
    ],
)
def test_a_package_that_is_missing_is_named_before_anything_is_written(
    tmp_path, missing, program, arguments, group
):
    code = (
        f"import os, sys; sys.path[:0] = [{str(ROOT)!r}]; os.chdir({str(tmp_path)!r})\n"
        f"sys.modules[{missing!r}] = None\n"
        f"import {program}; sys.exit({program}.main({arguments!r}))"
    )
    done = python("-c", code)
    assert done.returncode in (1, 2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert f"pip install -e . --group {group} " in done.stderr
    assert not list(tmp_path.iterdir())


def test_other_errors_of_imports_are_not_called_missing_packages():
    assert what_to_do(ModuleNotFoundError("no", name="agents.nosuch")) is None
    assert what_to_do(ImportError("cannot import name 'x'", name="numpy")) is None


def test_every_package_of_a_group_is_known():
    groups = tomllib.loads(Path(ROOT, "pyproject.toml").read_text())["dependency-groups"]
    for group in GROUPS:
        for wanted in groups[group]:
            if isinstance(wanted, str):
                name = re.match("[A-Za-z0-9-]+", wanted)[0]
                assert GROUP_OF[IMPORTED_AS.get(name, name)] == group
