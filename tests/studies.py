"""Studies in processes that a test can disturb, and what must have come of them."""

from __future__ import annotations

import re
import subprocess
import sys
import time

from small_runs import OPTIONS as OF_AGENTS
from small_runs import ROOT, environment, metrics

import train
from training.files import read_json

AGENT, STEPS, SEEDS = "tabular_q", 12_000, (0, 1)
OPTIONS = [*OF_AGENTS[AGENT], "--judge-every", "1000", "--steps", str(STEPS)]
# Loaded by each Python process that has its folder on PYTHONPATH. Trainings, which are started with
# -c, write a checkpoint at each evaluation, as one does that goes on for long.
CUSTOMIZE = """import sys
if sys.argv[:1] == ["-c"] and len(sys.orig_argv) > 3 and "terminal.job" in sys.orig_argv[2]:
    sys.path.insert(0, {root!r})
    import training.run
    training.run.CHECKPOINT_SECONDS = 0
"""


def often(folder):
    """An environment in which trainings write a checkpoint at each evaluation."""
    (folder / "sitecustomize.py").write_text(CUSTOMIZE.format(root=str(ROOT)))
    return {**environment(), "PYTHONPATH": str(folder)}


def started(folder, env, *more):
    """The process of a study."""
    options = [AGENT, *OPTIONS, "--seeds", "0-1", "--out", str(folder), *more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(
        [sys.executable, ROOT / "train.py", *options], cwd=folder.parent, env=env, **pipes
    )


def wait_for(condition, process):
    """Wait until a condition holds; what it returned. Fails if the process ends before."""
    while not (found := condition()):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
    return found


def printed_by(process, code=0):
    """What a process of `started` prints until it ends, which it must with this exit code."""
    printed = process.communicate()[0]
    assert process.returncode == code, printed
    return printed


def training_of(folder, seed):
    """The process number of the training of a seed that has written a checkpoint and goes on."""
    run = folder / f"seed-{seed:02d}"
    if (run / "certificate.json").exists() or not (run / "checkpoint/progress.json").exists():
        return None
    processes = re.findall(r"process (\d+)", (folder / f"{run.name}.log").read_text())
    return (
        int(processes[-1])
        if processes and state_of(processes[-1], "stat") not in ("", "Z")
        else None
    )


def state_of(process, column):
    """The entry of a process in a column of `ps`, "" without the process: the first letter of
    its state, or the number of the process that started it.
    """
    asked = subprocess.run(["ps", "-o", f"{column}=", "-p", str(process)], capture_output=True)
    found = asked.stdout.decode().strip()
    return found[:1] if column == "stat" else found


def parent_of(process):
    """The number of the process that started another one: the worker of a training."""
    return int(state_of(process, "ppid"))


def undisturbed(folder):
    """Runs of train.py with the same options, by seed."""
    runs = {seed: folder / f"plain-{seed}" for seed in SEEDS}
    for seed, run in runs.items():
        assert train.main([AGENT, *OPTIONS, "--seed", str(seed), "--out", str(run)]) == 0
    return runs


def check(folder, plain):
    """Every seed is finished, each exactly as undisturbed, from its last checkpoint on."""
    for seed, other in plain.items():
        run = folder / f"seed-{seed:02d}"
        for name in ("model.safetensors", "checkpoint/state.safetensors"):
            assert (run / name).read_bytes() == (other / name).read_bytes()
        rows, expected = ([{**row, "seconds": 0} for row in metrics(one)] for one in (run, other))
        assert rows == expected
        log = (folder / f"{run.name}.log").read_text()
        at = [int(text.replace(",", "")) for text in re.findall(r"continues at ([\d,]+)", log)]
        assert at == sorted(at), "each continues where the one before it was, or later"
    assert read_json(folder / "study.json")["summary"]["finished"] == len(plain)


def starts(folder, seed):
    """How many processes have trained a seed."""
    return (folder / f"seed-{seed:02d}.log").read_text().count(", process ")
