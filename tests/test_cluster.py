"""Studies that are killed: on this machine, and on local clusters of Dask and Ray."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from programs import ROOT, environment
from small_runs import metrics, options_of_run

import train

BIN = Path(sys.executable).parent
AGENT = "tabular_q"
STEPS = 12_000
SEEDS = (0, 1)
OPTIONS = [*options_of_run(AGENT), "--judge-every", "1000", "--steps", str(STEPS)]
# Loaded by each Python process that has its folder on PYTHONPATH: a training writes a checkpoint at
# each evaluation, as one does that goes on for long.
CUSTOMIZE = """import sys
class Often:
    def find_spec(self, name, *more):
        if name == "apps.terminal.study_table":
            sys.meta_path.remove(self)
            import training.run
            training.run.CHECKPOINT_SECONDS = 0
sys.meta_path.insert(0, Often())
"""


def often(folder):
    """An environment in which trainings write a checkpoint at each evaluation."""
    (folder / "sitecustomize.py").write_text(CUSTOMIZE)
    return {**environment(), "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


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


def workers_of(folder):
    """The numbers of the processes that have trained a run, from the names of its events files."""
    return {int(path.name.split(".")[-2]) for path in folder.glob("events.out.tfevents.*")}


def worker_at(folder, before=()):
    """The process, none of those before, that trains a run which has a checkpoint; None if none."""
    new = workers_of(folder) - set(before)
    is_at_work = new and not (folder / "manifest.json").exists()
    return new.pop() if is_at_work and (folder / "checkpoint/progress.json").exists() else None


def check(folder):
    """Check that every seed is finished, each exactly as a run with the same options."""
    for seed in SEEDS:
        run = folder / f"seed-{seed:02d}"
        other = folder.parent / f"plain-{seed}"
        assert train.main([AGENT, *OPTIONS, "--seed", str(seed), "--out", str(other)]) == 0
        for name in ("model.safetensors", "checkpoint/state.safetensors"):
            assert (run / name).read_bytes() == (other / name).read_bytes()
        rows, expected = ([{**row, "seconds": 0} for row in metrics(one)] for one in (run, other))
        assert rows == expected
    assert f"{len(SEEDS)} of {len(SEEDS)} seeds" in (folder / "study.md").read_text()


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
    port = free_port()
    quiet = "--no-dashboard"
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
        "GRPC_ENABLE_FORK_SUPPORT": "0",
    }
    port = free_port()
    short = f"/tmp/ray-{os.getpid()}"  # its sockets need a short path
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
def test_kills_of_a_worker_and_the_study_lose_nothing(running, tmp_path):
    folder = tmp_path / "study"
    with running(tmp_path, often(tmp_path)) as (where, env):
        study = started(folder, env, *where)
        worker = wait_for(lambda: worker_at(folder / "seed-00"), study)
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: worker_at(folder / "seed-00", [worker]), study)
        study.kill()
        study.wait()
        study = started(folder, env, *where)
        printed = study.communicate()[0]
        assert study.returncode == 0, printed
    check(folder)
