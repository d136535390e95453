"""Digests of the models that small trainings write, to see that a change of the code leaves what is learned as it was.

    python tests/model_digests.py            # compare with tests/model_digests.json
    python tests/model_digests.py --write    # write that file anew

Each training is a command line with a fixed seed. The digests are the sha256 of the best model and of the last one. They
hold for one machine and one set of library versions: another processor may round sums differently.
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
COMMANDS = (
    "dqn --num-envs 64 --judge-every 1024 --hidden 32 --snapshot-every 512 --opponents minimax-slip=0.5:0.5,self:0.5 "
    "--batch-size 64 --learning-starts 256 --buffer-size 4096 --steps 4096",
    "dqn --preset duel-centre --steps 20000 --judge-every 5000",
    "maskable_ppo --num-envs 64 --judge-every 1024 --hidden 32 --snapshot-every 512 "
    "--opponents minimax-slip=0.5:0.5,self:0.5 --batch-size 256 --epochs 2 --steps 4096",
    "mcts --judge-every 200 --steps 600",
    "mcts --preset tictac --steps 500",
    "neuroevolution --league 20 --winners 5 --judge-every 15 --steps 45",
    "neuroevolution --preset dimitars-punished --steps 20 --judge-every 10",
    "tabular_q --games 32 --judge-every 500 --steps 4000 --snapshot-every 300 --opponents random:0.5,self:0.5",
    "tabular_q --preset tictac --steps 5000 --judge-every 1000",
    "tictacnet --games 32 --judge-every 500 --steps 4000 --snapshot-every 300 --opponents random:0.5,self:0.5 --updates 5",
    "tictacnet --preset tictac --steps 5000 --judge-every 1000",
    "trie --judge-every 200 --steps 600",
    "trie --preset tophep --steps 500 --judge-every 200",
    "value_net --games 256 --judge-every 256 --steps 768 --epochs 2 --architecture SaintAndre_16 --dropout 0.5",
    "value_net --preset learnbyplay --games 500 --judge-every 500 --steps 1000",
)


def digests(command: str, folder: Path) -> list[str]:
    """The sha256 of each of MODELS after a training into `folder`."""
    arguments = [*command.split(), "--seed", "3", "--out", str(folder)]
    done = subprocess.run(
        [sys.executable, "train.py", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"train.py {command} failed: {done.stderr}")
    return [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in MODELS]


def main(arguments: list[str]) -> int:
    """Write or compare; 1 if a digest differs."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, command in enumerate(COMMANDS):
            found[command] = digests(command, Path(folder, str(number)))
    if arguments == ["--write"]:
        FILE.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    known = json.loads(FILE.read_text())
    different = [command for command in COMMANDS if found[command] != known.get(command)]
    print("\n".join(f"differs: {command}" for command in different) or "every model is the same")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
