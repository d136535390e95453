"""Studies that are killed: on this machine, and on local clusters of Dask and Ray."""

import os
import secrets
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from studies import (
    check,
    often,
    parent_of,
    printed_by,
    started,
    starts,
    training_of,
    undisturbed,
    wait_for,
)

from training import cluster

BIN = Path(sys.executable).parent


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


@pytest.mark.cluster
def test_a_study_whose_scheduler_is_gone_ends_with_one_line(tmp_path):
    with dask(tmp_path, often(tmp_path)) as (where, env):
        study = started(tmp_path / "study", env, *where, "--steps", "10000000")
        wait_for(lambda: training_of(tmp_path / "study", 0), study)
    assert where[1] in printed_by(study, 2).splitlines()[-1]
