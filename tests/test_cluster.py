"""Studies on real local clusters of Dask and Ray, whose workers are killed: `make cluster`."""

import os
import secrets
import signal
import socket
import subprocess
import sys
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
from text_cases import refuses

from training import cluster
from training.cluster import ClusterError, connect

pytestmark = pytest.mark.cluster
BIN = Path(sys.executable).parent


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def launched(folder, name, env, *command):
    """A process that leads a session of its own, so that all that it starts can be ended."""
    with open(folder / f"{name}.log", "wb") as log:
        return subprocess.Popen(
            command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True
        )


def ended(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Dask:
    """A scheduler with two worker processes."""

    def __init__(self, folder, env):
        self.folder, self.env, self.port = folder, env, free_port()
        self.address = f"dask://127.0.0.1:{self.port}"
        place = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self.scheduler = launched(folder, "scheduler", env, BIN / "dask", "scheduler", *place)
        self.processes = [self.scheduler]

    def add_workers(self, number=2):
        options = ["--nthreads", "1", "--nworkers", str(number), "--no-dashboard"]
        command = [BIN / "dask", "worker", f"127.0.0.1:{self.port}", *options]
        self.processes.append(launched(self.folder, "workers", self.env, *command))

    def is_ready(self, folder):
        return answers(self.port)

    def end(self):
        for process in reversed(self.processes):
            ended(process)


class Ray:
    """A head node with two CPUs and a client server, with token authentication."""

    def __init__(self, folder, env):
        self.env = {
            **env,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(16),
            "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "60",  # 30 by default; of a busy machine
            **dict([cluster.RAY_FORK.split("=")]),
        }
        gcs, self.port = free_port(), free_port()
        self.address = f"ray://127.0.0.1:{self.port}"
        ports = ["--port", str(gcs), "--ray-client-server-port", str(self.port)]
        quiet = ["--include-dashboard=false", "--disable-usage-stats"]
        workers = ["--min-worker-port", "0", "--max-worker-port", "0"]
        command = [BIN / "ray", "start", "--head", "--block", "--num-cpus", "2", *ports, *quiet]
        short = Path("/tmp") / f"ray-{os.getpid()}"  # its sockets need a short path
        command += [*workers, "--temp-dir", str(short)]
        self.processes = [launched(folder, "ray", self.env, *command)]

    def add_workers(self):
        """They belong to the head."""

    def is_ready(self, folder):
        return "Ray runtime started" in (folder / "ray.log").read_text() and answers(self.port)

    end = Dask.end


@pytest.fixture(scope="module", params=[Dask, Ray], ids=lambda kind: kind.__name__)
def running(request, tmp_path_factory):
    """A cluster with two workers."""
    folder = tmp_path_factory.mktemp("cluster")
    found = request.param(folder, often(folder))
    found.add_workers()
    try:
        wait_for(lambda: found.is_ready(folder), found.processes[0])
        yield found
    finally:
        found.end()


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def test_kills_of_a_worker_and_of_the_study_lose_nothing(running, tmp_path):
    folder, options = tmp_path / "study", ("--cluster", running.address)
    study = started(folder, running.env, *options)
    training = wait_for(lambda: training_of(folder, 0), study)
    assert parent_of(training) != study.pid
    os.kill(parent_of(training), signal.SIGKILL)
    wait_for(lambda: starts(folder, 0) >= 2 and training_of(folder, 0), study)
    study.kill()
    study.wait()
    printed_by(started(folder, running.env, *options))
    check(folder, undisturbed(tmp_path))


def test_a_scheduler_without_workers_and_a_port_of_something_else_are_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 3)
    empty = Dask(tmp_path, often(tmp_path))
    try:
        wait_for(lambda: answers(empty.port), empty.scheduler)
        with refuses("workers", error=ClusterError), connect(empty.address):
            pass
    finally:
        empty.end()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"dask://127.0.0.1:{silent.getsockname()[1]}"
        with refuses(address, error=ClusterError), connect(address):
            pass


def test_a_study_whose_scheduler_is_gone_ends_with_one_line(tmp_path):
    env = often(tmp_path)
    dask = Dask(tmp_path, env)
    dask.add_workers()
    try:
        wait_for(lambda: answers(dask.port), dask.scheduler)
        endless = ("--cluster", dask.address, "--steps", "10000000")
        study = started(tmp_path / "study", env, *endless)
        wait_for(lambda: training_of(tmp_path / "study", 0), study)
        os.killpg(dask.scheduler.pid, signal.SIGKILL)
        assert dask.address in printed_by(study, 2).splitlines()[-1]
    finally:
        dask.end()
