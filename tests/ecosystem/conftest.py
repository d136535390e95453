"""What the tests of all libraries share: `run_example`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"

ROW = re.compile(r"^as ([XO]) +([\d.]+) +[\d.]+ +([\d.]+)", re.MULTILINE)


@pytest.fixture
def run_example(tmp_path):
    """Runs an example in an empty folder; a warning that the package causes is a failure too.

    Returns what it printed and, by side, how many games it won and lost against random play, in %.
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
        rates = {side: (float(won), float(lost)) for side, won, lost in ROW.findall(done.stdout)}
        return done.stdout, rates

    return run
