"""The package without PettingZoo: `tictactoe_env.pettingzoo` says what to install."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAM = """
import sys
sys.modules["pettingzoo"] = None  # as if it were not installed
import tictactoe_env, tictactoe_env.env
try:
    from tictactoe_env import pettingzoo
except ImportError as error:
    print(error)
"""


def test_the_import_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=ROOT)
    assert 'pip install "tictactoe-env[pettingzoo]"' in done.stdout
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
