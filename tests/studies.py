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

AGENT, STEPS, SEEDS = "tabular_q", 12_000, (0, 1, 2)
OPTIONS = [*OF_AGENTS[AGENT], "--judge-every", "1000", "--steps", str(STEPS)]
# Loaded by each Python process that has its folder on PYTHONPATH. Trainings, which are started with
# -c, write a checkpoint at each evaluation, as one does that goes on for long.
CUSTOMIZE = """import sys
if sys.argv[:1] == ["-c"] and len(sys.orig_argv) > 3 and "terminal.job" in sys.orig_argv[2]:
    sys.path.insert(0, {root!r})
    import training.run
    training.run.CHECKPOINT_SECONDS = 0
"""
SECONDS = 300  # after which a study that does not go on is a failure


def often(folder):
    """An environment in which trainings write a checkpoint at each evaluation."""
    (folder / "sitecustomize.py").write_text(CUSTOMIZE.format(root=str(ROOT)))
    return {**environment(), "PYTHONPATH": str(folder)}


def started(folder, env, *more, seeds="0-2"):
    """The process of a study."""
    options = [AGENT, *OPTIONS, "--seeds", seeds, "--out", str(folder), *more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(
        [sys.executable, ROOT / "train.py", *options], cwd=folder.parent, env=env, **pipes
    )


def wait_for(condition, process):
    """Wait until a condition holds; what it returned. Fails if the process ends before."""
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        if time.monotonic() > end or process.poll() is not None:
            process.kill()
            raise AssertionError(process.communicate()[0])
        time.sleep(0.02)
    return found


def printed_by(process, code=0):
    """What a process of `started` prints until it ends, which it must with this exit code."""
    printed = process.communicate(timeout=SECONDS)[0]
    assert process.returncode == code, printed
    return printed


def training_of(folder, seed):
    """The process number of the training of a seed that has written a checkpoint and goes on."""
    run = folder / f"seed-{seed:02d}"
    if (run / "certificate.json").exists() or not (run / "checkpoint/progress.json").exists():
        return None
    processes = re.findall(r"process (\d+)", (folder / f"{run.name}.log").read_text())
    return int(processes[-1]) if processes and is_alive(int(processes[-1])) else None


def is_alive(process):
    """Whether a process exists and is no zombie."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True)
    return state.returncode == 0 and not state.stdout.strip().startswith(b"Z")


def parent_of(process):
    """The number of the process that started another one: the worker of a training."""
    asked = ["ps", "-o", "ppid=", "-p", str(process)]
    return int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)


def undisturbed(folder):
    """Runs of train.py with the same options, by seed."""
    runs = {seed: folder / f"plain-{seed}" for seed in SEEDS}
    for seed, run in runs.items():
        assert train.main([AGENT, *OPTIONS, "--seed", str(seed), "--out", str(run)]) == 0
    return runs


def check(folder, plain):
    """Every seed is finished, each exactly as undisturbed, and no part of it was done twice."""
    for seed, other in plain.items():
        run = folder / f"seed-{seed:02d}"
        for name in ("model.safetensors", "checkpoint/state.safetensors"):
            assert (run / name).read_bytes() == (other / name).read_bytes()
        rows, expected = ([{**row, "seconds": 0} for row in metrics(one)] for one in (run, other))
        assert rows == expected
        log = (folder / f"{run.name}.log").read_text()
        at = [int(text.replace(",", "")) for text in re.findall(r"continues at ([\d,]+)", log)]
        evaluated = re.findall(r"^ *([\d,]+) steps", log, re.M)
        assert at == sorted(at), "each continues where the one before it was, or later"
        _, *beginnings = log.split("continues at")[0].split(": begins")
        assert log.count(": begins") == len(beginnings) >= 1, "none after a checkpoint"
        for killed in beginnings[:-1]:  # before its first checkpoint, which follows an evaluation
            assert len(re.findall(r"^ *[\d,]+ steps", killed, re.M)) <= 1
        twice, again = len(evaluated) - len(set(evaluated)), len(at) + len(beginnings) - 1
        assert twice <= again, "at most the evaluation after the last checkpoint is made again"
    summary = read_json(folder / "study.json")["summary"]
    assert (summary["seeds"], summary["finished"]) == (len(plain), len(plain))


def starts(folder, seed):
    """How many processes have trained a seed."""
    return (folder / f"seed-{seed:02d}.log").read_text().count(", process ")
