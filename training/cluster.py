"""Where jobs are done: processes of this machine, a Dask cluster or a Ray cluster, through joblib.

    with connect(None, jobs=4) as workers:                        # processes (loky)
    with connect("dask://scheduler:8786") as workers:             # the slots of all Dask workers
        for outcome in outcomes(jobs, owner, workers): ...

The errors of a cluster are ClusterErrors of one line that say what to do.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import site
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from training.jobs import BLOCKED, ROOT, Job, Outcome, Owner, train_job

CONNECT_SECONDS = 15  # after which a scheduler that does not answer is given up
GONE_SECONDS = 60  # after which a scheduler that is gone, or has no workers left, is given up
CHECK_SECONDS = 5  # seconds between two looks at the scheduler
ROUNDS = 3  # in a row in which workers are lost and no run gets any further
FORM = re.compile(r"(dask|ray)://([^/:\s]+|\[[0-9a-fA-F:]+\]):(\d{1,5})")


class ClusterError(ValueError):
    """A cluster cannot be reached or used, or is lost; one line that says what to do."""


@dataclass(frozen=True)
class Workers:
    """What does jobs. backend: joblib's name of it. jobs: how many at a time.

    check: raises ClusterError if there are no workers. options: further ones of joblib's backend.
    takes_all: whether it gets all jobs at once, so that workers that join later have some too.
    """

    backend: str
    jobs: int
    check: Callable[[], None] = lambda: None
    options: Mapping[str, Any] = field(default_factory=dict)
    takes_all: bool = False

    @property
    def is_local(self) -> bool:
        """Whether they are child processes of this one."""
        return self.backend == "loky"


@dataclass(frozen=True)
class Lost:
    """A worker was lost; the runs that it trained continue from their checkpoints."""

    error: str


def cluster_address(text: str) -> str:
    """An address such as dask://HOST:8786 or ray://HOST:10001. Raises ValueError for another."""
    found = FORM.fullmatch(text)
    if not found or not 0 < int(found[3]) < 65_536:
        raise ValueError(f"expected dask://HOST:PORT or ray://HOST:PORT, got {text!r}")
    return text


def connect(address: str | None, jobs: int | None = None) -> AbstractContextManager[Workers]:
    """The workers at an address, or processes of this machine for None.

    jobs: the most runs at a time; by default one for each core of this machine, or for each slot
    of the cluster. Raises ClusterError if a package is missing or nothing answers.
    """
    _need("joblib", "train", "--seeds")
    if address is None:
        return _processes(jobs)
    kind, host, port = FORM.fullmatch(address).groups()  # type: ignore[union-attr]
    _need({"dask": "distributed", "ray": "ray"}[kind], "cluster", f"--cluster {address}")
    if not _answers(host, int(port), CONNECT_SECONDS):
        start = {
            "dask": f"dask scheduler --port {port}",
            "ray": f"ray start --head --ray-client-server-port {port}",
        }[kind]
        raise ClusterError(
            f"nothing answers at {address}: start the cluster ({start}) or correct the address"
        )
    return (_dask if kind == "dask" else _ray)(address, host, int(port), jobs)


def _need(package: str, group: str, option: str) -> None:
    try:
        __import__(package)
    except ImportError as error:
        raise ClusterError(
            f"{option} needs {package}, which cannot be imported ({error}): "
            f"pip install -e . --group {group}"
        ) from None


def _answers(host: str, port: int, seconds: float) -> bool:
    """Whether a connection to a port is accepted."""
    with suppress(OSError), socket.create_connection((host.strip("[]"), port), timeout=seconds):
        return True
    return False


@contextmanager
def _processes(jobs: int | None) -> Iterator[Workers]:
    import joblib

    yield Workers("loky", jobs or joblib.cpu_count())


@contextmanager
def _dask(address: str, host: str, port: int, jobs: int | None) -> Iterator[Workers]:
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the errors are ours
    try:
        client = Client(f"tcp://{host}:{port}", timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        raise ClusterError(f"{address} is no Dask scheduler: {_one_line(error)}") from None
    try:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            raise ClusterError(
                f"the scheduler {address} has no workers: start some (dask worker {host}:{port} "
                "--nthreads 1 --nworkers N)"
            ) from None
        # Workers that join later, or are restarted, have to find the modules too.
        client.register_worker_callbacks(setup=partial(site.addsitedir, str(ROOT)))
        slots = sum(client.ncores().values())

        def has_workers() -> bool:
            return client.status == "running" and bool(client.scheduler_info()["workers"])

        check = _Watch(address, host, port, has_workers)
        yield Workers("dask", jobs or slots, check, {"client": client}, takes_all=jobs is None)
    finally:
        with suppress(Exception):  # the connection may be lost already
            client.close(timeout=CHECK_SECONDS)


@contextmanager
def _ray(address: str, host: str, port: int, jobs: int | None) -> Iterator[Workers]:
    import ray
    from ray.util.joblib import register_ray

    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join(paths)}}
    try:
        ray.init(
            address, runtime_env=environment, logging_level=logging.CRITICAL, log_to_driver=False
        )
    except Exception as error:
        raise ClusterError(
            f"{address} is no Ray client server that can be used from here: {_one_line(error)}"
        ) from None
    try:
        register_ray()
        slots = int(ray.cluster_resources().get("CPU", 0))
        if slots < 2:  # joblib runs a single job in the calling process
            raise ClusterError(f"the cluster {address} has {slots} CPUs: a study needs 2 or more")
        yield Workers("ray", min(jobs or slots, slots), _Watch(address, host, port))
    finally:
        with suppress(Exception):
            ray.shutdown()


class _Watch:
    """Called now and then: raises ClusterError once a cluster has been gone for GONE_SECONDS."""

    def __init__(
        self, address: str, host: str, port: int, has_workers: Callable[[], bool] = lambda: True
    ):
        self.address, self.place, self.has_workers = address, (host, port), has_workers
        self.good = self.looked = time.monotonic()

    def __call__(self) -> None:
        now = time.monotonic()
        if now - self.looked < CHECK_SECONDS:
            return
        self.looked = now
        if _answers(*self.place, CHECK_SECONDS) and self.has_workers():
            self.good = time.monotonic()
        elif now - self.good > GONE_SECONDS:
            raise ClusterError(
                f"{self.address} has had no scheduler or no workers for {GONE_SECONDS} s: start "
                "them again, then give the same command; what was saved is kept"
            )


# --- doing the jobs ------------------------------------------------------------------------------


def outcomes(jobs: Sequence[Job], owner: Owner, workers: Workers) -> Iterator[Outcome | Lost]:
    """Do jobs; what comes of each, in the order in which they end.

    If a worker is lost and the backend does not restart its jobs, this does, and yields a Lost.
    Raises ClusterError if the cluster is lost, or if a worker cannot work at all.
    """
    found: queue.Queue[Outcome | Lost | Exception | None] = queue.Queue()
    threading.Thread(target=_do, args=(jobs, owner, workers, found), daemon=True).start()
    while True:
        try:
            item = found.get(timeout=1)
        except queue.Empty:
            workers.check()
            continue
        if item is None:
            return
        if isinstance(item, Exception):
            raise item
        if isinstance(item, Outcome) and item.state == BLOCKED:
            raise ClusterError(item.error)
        yield item


def _do(jobs: Sequence[Job], owner: Owner, workers: Workers, found: queue.Queue[Any]) -> None:
    """Put what comes of jobs into a queue, None at the end, and an exception that ends it."""
    rounds, open_jobs = 0, {job.name: job for job in jobs}
    while open_jobs:
        saved = _progress(open_jobs.values())
        try:
            for outcome in _round(list(open_jobs.values()), owner, workers):
                del open_jobs[outcome.job.name]
                found.put(outcome)
                rounds = 0
        except Exception as error:  # each backend has its own for a worker that is lost
            rounds = 1 if _progress(open_jobs.values()) > saved else rounds + 1
            if rounds >= ROUNDS:
                found.put(ClusterError(f"the workers do not work: {_one_line(error)}"))
                return
            found.put(Lost(_one_line(error)))
    found.put(None)


def _round(jobs: Sequence[Job], owner: Owner, workers: Workers) -> Iterator[Outcome]:
    """Do jobs once, by joblib. Raises what the backend raises if it loses a worker."""
    from joblib import Parallel, delayed, parallel_config

    several = max(2, workers.jobs) if workers.backend == "ray" else workers.jobs
    with parallel_config(workers.backend, n_jobs=several, **workers.options):
        ahead = "all" if workers.takes_all else workers.jobs
        parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch=ahead)
        yield from parallel(delayed(train_job)(job, owner) for job in jobs)


def _progress(jobs: Any) -> int:
    """A number that grows whenever one of the runs writes a checkpoint."""
    return sum(job.steps_saved for job in jobs)


def _one_line(error: Exception) -> str:
    """The first line of an error, with its type."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
