"""Checks that small trainings still write the same models, byte for byte.

    python tests/model_digests.py            # compare with tests/model_digests.json
    python tests/model_digests.py --write    # write that file anew

A key of the JSON is the command line of a training, its value the sha256 of the best model and of
the last one. They hold for one machine and one set of library versions: another processor may round
sums differently.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILE = Path(__file__).with_suffix(".json")
MODELS = ("model.safetensors", "checkpoint/model.safetensors")


def digests(command: str, folder: Path) -> list[str]:
    """The sha256 of each of MODELS after a training into `folder`."""
    arguments = [*command.split(), "--seed", "3", "--out", str(folder)]
    command_line = [sys.executable, "train.py", *arguments]
    done = subprocess.run(command_line, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"train.py {command} failed: {done.stderr}")
    return [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in MODELS]


def main(arguments: list[str]) -> int:
    """Write or compare; 1 if a digest differs."""
    known, found = json.loads(FILE.read_text()), {}
    with tempfile.TemporaryDirectory() as folder:
        for number, command in enumerate(known):
            found[command] = digests(command, Path(folder, str(number)))
    if arguments == ["--write"]:
        FILE.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    different = [command for command in known if found[command] != known[command]]
    print("\n".join(f"differs: {command}" for command in different) or "every model is the same")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
