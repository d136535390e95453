"""Studies that are killed: on this machine, and on local clusters of Dask and Ray."""

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from small_runs import ROOT, environment, metrics, options_of_run

import train
from training import cluster
from training.files import read_json

BIN = Path(sys.executable).parent
AGENT, STEPS, SEEDS = "tabular_q", 12_000, (0, 1)
OPTIONS = [*options_of_run(AGENT), "--judge-every", "1000", "--steps", str(STEPS)]
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
    is_there = processes and state_of(processes[-1], "stat")[:1] not in ("", "Z")
    return int(processes[-1]) if is_there else None


def state_of(process, column):
    """The entry of a process in a column of `ps`, "" without the process."""
    asked = subprocess.run(["ps", "-o", f"{column}=", "-p", str(process)], capture_output=True)
    return asked.stdout.decode().strip()


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


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


@contextmanager
def launched(folder, port, env, *command):
    """A process from when its port answers on; it is ended with all that it has started."""
    with open(folder / "cluster.log", "ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_for(lambda: answers(port), process)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", int(port)), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def processes(folder, env):
    """The options of a study on this machine, and its environment."""
    yield ("--jobs", "2"), env


@contextmanager
def dask(folder, env):
    """Likewise on a scheduler with two worker processes."""
    port, quiet = free_port(), "--no-dashboard"
    place = ["--host", "127.0.0.1", "--port", port]
    workers = [BIN / "dask", "worker", f"127.0.0.1:{port}", "--nthreads", "1", "--nworkers", "2"]
    with (
        launched(folder, port, env, BIN / "dask", "scheduler", *place, quiet),
        launched(folder, port, env, *workers, quiet),
    ):
        yield ("--cluster", f"dask://127.0.0.1:{port}"), env


@contextmanager
def ray(folder, env):
    """Likewise of a head node with two CPUs and a client server, with token authentication."""
    env = {
        **env,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(16),
        "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "60",  # 30 by default; of a busy machine
        **dict([cluster.RAY_FORK.split("=")]),
    }
    port, short = free_port(), f"/tmp/ray-{os.getpid()}"  # its sockets need a short path
    ports = ["--port", free_port(), "--ray-client-server-port", port, "--min-worker-port", "0"]
    quiet = ["--max-worker-port", "0", "--include-dashboard=false", "--disable-usage-stats"]
    command = [BIN / "ray", "start", "--head", "--block", "--num-cpus", "2", "--temp-dir", short]
    with launched(folder, port, env, *command, *ports, *quiet):
        yield ("--cluster", f"ray://127.0.0.1:{port}"), env


@pytest.mark.parametrize(
    "running",
    [
        pytest.param(processes, marks=pytest.mark.slow),
        pytest.param(dask, marks=pytest.mark.cluster),
        pytest.param(ray, marks=pytest.mark.cluster),
    ],
)
def test_kills_of_a_training_a_worker_and_the_study_lose_nothing(running, tmp_path):
    folder = tmp_path / "study"
    with running(tmp_path, often(tmp_path)) as (where, env):
        study = started(folder, env, *where)
        os.kill(wait_for(lambda: training_of(folder, 0), study), signal.SIGKILL)
        training = wait_for(lambda: starts(folder, 0) >= 2 and training_of(folder, 0), study)
        assert parent_of(training) != study.pid
        os.kill(parent_of(training), signal.SIGKILL)
        wait_for(lambda: starts(folder, 0) >= 3 and training_of(folder, 0), study)
        study.kill()
        study.communicate()
        printed_by(started(folder, env, *where))
    check(folder, undisturbed(tmp_path))
