"""What the tests of all libraries share: `run_example`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


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
