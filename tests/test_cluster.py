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

from training import cluster
from training.cluster import ClusterError, connect

pytestmark = pytest.mark.cluster
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("plain"))


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


def test_a_killed_worker_loses_nothing_and_nothing_is_done_twice(running, plain, tmp_path):
    folder = tmp_path / "study"
    study = started(folder, running.env, "--cluster", running.address)
    training = wait_for(lambda: training_of(folder, 0), study)
    os.kill(parent_of(training), signal.SIGKILL)
    printed = printed_by(study)
    assert starts(folder, 0) >= 2, printed
    check(folder, plain)
    assert printed.count("seed 0: ") == printed.count("seed 2: ") == 1


def test_a_killed_study_stops_its_cluster_and_is_continued_on_it(running, plain, tmp_path):
    folder = tmp_path / "study"
    study = started(folder, running.env, "--cluster", running.address)
    wait_for(lambda: training_of(folder, 0), study)
    study.kill()
    study.wait()
    again = started(folder, running.env, "--cluster", running.address)
    printed_by(again)
    check(folder, plain)


def test_a_killed_training_is_continued_by_its_worker(running, plain, tmp_path):
    folder = tmp_path / "study"
    study = started(folder, running.env, "--cluster", running.address, "--jobs", "1")
    os.kill(wait_for(lambda: training_of(folder, 1), study), signal.SIGKILL)
    printed_by(study)
    assert [starts(folder, seed) for seed in (0, 1, 2)] == [1, 2, 1]
    check(folder, plain)


def test_workers_that_do_not_see_the_folder_of_the_study_are_an_error(running, tmp_path):
    """The folder is that of the owner alone, as on a machine without the shared disk."""
    program = f"""import sys; sys.path.insert(0, {str(cluster.ROOT)!r})
from pathlib import Path
from training import cluster, jobs
jobs.SHARED_SECONDS = cluster.SHARED_SECONDS = 1
owner = jobs.Owner.begin(Path("study"), False, "terminal.job")
far = jobs.Owner(**{{**vars(owner), "folder": "/no/such/folder", "host": "here"}})
job = jobs.Job("seed 0", str(Path("study/seed-00").absolute()), "tabular_q", {{}})
try:
    with cluster.connect({running.address!r}) as workers:
        cluster.os = type("", (), {{"listdir": staticmethod(lambda _: [])}})
        print(list(cluster.outcomes([job], far, workers)))
except cluster.ClusterError as error:
    print("error:", error)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=running.env, capture_output=True, text=True)
    said = "cannot see /no/such/folder of here: give --out in a folder that all machines share"
    assert said in done.stdout, done.stdout + done.stderr


def test_a_scheduler_without_workers_and_a_port_of_something_else_are_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 3)
    empty = Dask(tmp_path, often(tmp_path))
    try:
        wait_for(lambda: answers(empty.port), empty.scheduler)
        with (
            pytest.raises(ClusterError, match="has no workers: start some"),
            connect(empty.address),
        ):
            pass
    finally:
        empty.end()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(ClusterError, match="is no Dask scheduler"):
            connect(f"dask://127.0.0.1:{port}").__enter__()


def test_a_cluster_of_one_slot_trains_on_its_worker(tmp_path):
    env = often(tmp_path)
    dask = Dask(tmp_path, env)
    dask.add_workers(1)
    try:
        wait_for(lambda: answers(dask.port), dask.scheduler)
        study = started(tmp_path / "study", env, "--cluster", dask.address)
        training = wait_for(lambda: training_of(tmp_path / "study", 0), study)
        assert parent_of(training) != study.pid
        assert "1 at a time" in printed_by(study)
    finally:
        dask.end()


def test_a_study_whose_scheduler_is_gone_ends_with_one_line(plain, tmp_path):
    (tmp_path / "at").mkdir()
    env = often(tmp_path / "at")
    dask = Dask(tmp_path, env)
    dask.add_workers()
    try:
        wait_for(lambda: answers(dask.port), dask.scheduler)
        folder = tmp_path / "study"
        study = started(folder, env, "--cluster", dask.address)
        wait_for(lambda: training_of(folder, 0), study)
        os.killpg(dask.scheduler.pid, signal.SIGKILL)
        printed = printed_by(study, 2)
        assert "there has been no scheduler or no worker on dask://" in printed.splitlines()[-1]
    finally:
        dask.end()
    again = started(folder, env, "--jobs", "2")
    printed_by(again)
    check(folder, plain)
