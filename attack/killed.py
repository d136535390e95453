"""Trains as train.py does, in a process of its own, and kills itself on the way.

    python -m attack.killed 17 mcts --steps 600 --out FOLDER    # at the 17th change of a file
    python -m attack.killed 0 mcts ...                          # never; prints the changes

It writes a checkpoint at each evaluation. For changes, see operations.py. The campaign `kills` does
the same in forked children; a process of its own has its own seed of Python's hashes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from attack.operations import Operations, kill_at


def main(number: str, *arguments: str) -> int:
    """Train; the exit code of train.py."""
    import train
    from training import run

    run.CHECKPOINT_SECONDS = -1
    at = arguments.index("--resume" if "--resume" in arguments else "--out") + 1
    operations = Operations(Path(arguments[at]), kill_at(int(number)))
    operations.watch()
    code = train.main(list(arguments))
    print("changes:", operations.count)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
