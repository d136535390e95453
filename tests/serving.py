"""The server of the page, in a process of its own."""

import re
import subprocess
import sys
from contextlib import contextmanager

from programs import ROOT


@contextmanager
def serving(folder, **settings):
    """A server that runs in this folder and keeps games in `games.db`: its process, its address.

    settings: of the process, such as `stderr`.
    """
    process = subprocess.Popen(
        [sys.executable, ROOT / "play.py", "--web", "--port", "0", "--store", "games.db"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        **settings,
    )
    with process:
        try:
            address = re.search(r"http://127.0.0.1:\d+", process.stdout.readline())
            yield process, address[0]
        finally:
            process.terminate()
