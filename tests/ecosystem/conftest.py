"""What the tests of all libraries share: `run_example`, `rates_of`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"

ROW = re.compile(r"^as ([XO]) +([\d.]+) +[\d.]+ +([\d.]+)", re.MULTILINE)


@pytest.fixture
def rates_of():
    """Reads a printed evaluation: the games won and lost against random play, % by side."""

    def read(printed):
        return {side: (float(won), float(lost)) for side, won, lost in ROW.findall(printed)}

    return read


@pytest.fixture
def run_example(tmp_path):
    """Runs an example in an empty folder and returns what it printed; fails if the example does.

    A warning that the package causes is a failure too.
    """

    def run(name, *arguments):
        done = subprocess.run(
            [sys.executable, "-W", "default", EXAMPLES / name, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            text=True,
            capture_output=True,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        ours = re.findall(r"^.*tictactoe_env[/\\]\w+\.py:\d+: \w*Warning: .*$", done.stderr, re.M)
        assert not ours, ours
        return done.stdout

    return run
