"""Trains as train.py does, with a checkpoint at each evaluation, and kills itself on the way.

    python tests/killed.py 17 mcts --steps 600 --out FOLDER    # before the 17th change of a file
    python tests/killed.py 0 mcts ...                          # never; prints the number of changes

A change is the opening of a file for writing, a renaming, a removal, or a new folder.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")


class Killer:
    """An audit hook that kills the process before the change of a file with this number."""

    def __init__(self, number: int, folder: str):
        self.number, self.folder, self.changes = number, folder, 0

    def __call__(self, event: str, arguments: tuple) -> None:
        """Count a change below the folder."""
        is_written = event == "open" and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if (is_written or event in CHANGES) and self.folder in str(arguments[0]):
            self.changes += 1
            if self.changes == self.number:
                os.kill(os.getpid(), signal.SIGKILL)


def main(number: str, *arguments: str) -> int:
    """Train; the exit code of train.py."""
    import train
    from training import run

    run.CHECKPOINT_SECONDS = -1
    at = arguments.index("--resume" if "--resume" in arguments else "--out") + 1
    killer = Killer(int(number), arguments[at])
    sys.addaudithook(killer)
    code = train.main(list(arguments))
    print("changes:", killer.changes)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
