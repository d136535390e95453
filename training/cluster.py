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
import signal
import site
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from types import FrameType
from typing import Any

from training.installed import command
from training.jobs import (
    KILL,
    ROOT,
    SHARED_SECONDS,
    BlockedError,
    Job,
    Outcome,
    Owner,
    do_job,
    read_outcome,
)

CONNECT_SECONDS = 15  # after which a scheduler that does not answer is given up
# A head node of Ray that answers, but starts no server, is given up after this time and tries.
RAY_SECONDS, RAY_TRIES = 120, 3
# Without this variable the head of Ray 2.60 often fails to start one, after half a minute or more:
# https://github.com/ray-project/ray/issues/63202
RAY_FORK = "GRPC_ENABLE_FORK_SUPPORT=0"
GONE_SECONDS = 60  # after which a scheduler that is gone, or has no workers left, is given up
LOOK_SECONDS = 0.5  # seconds between two looks at the files of the workers
CHECK_SECONDS = 5  # seconds between two looks at the scheduler
ROUNDS = 3  # in a row in which workers are lost and no run gets any further
IDLE_SECONDS = 20  # after which a process that has no job ends
DASK = "study-dask"  # the name under which our backend for Dask is registered
FORM = re.compile(r"(dask|ray)://([^/:\s]+|\[[0-9a-fA-F:]+\]):(\d{1,5})")


class ClusterError(ValueError):
    """A cluster cannot be reached or used, or is lost; one line that says what to do."""


@dataclass(frozen=True)
class Workers:
    """What does jobs. backend: joblib's name of it. jobs: how many at a time.

    is_there: whether there are workers now. options: further ones of joblib's backend.
    place: where, in words. takes_all: whether it gets all jobs at once, so that workers that join
    later have some too.
    """

    backend: str
    jobs: int
    place: str = "on this machine"
    is_there: Callable[[], bool] = lambda: True
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
            "ray": f"{RAY_FORK} ray start --head --ray-client-server-port {port}",
        }[kind]
        raise ClusterError(
            f"nothing answers at {address}: start the cluster ({start}) or correct the address"
        )
    return (_dask if kind == "dask" else _ray)(address, host, int(port), jobs)


def _need(package: str, group: str, option: str) -> None:
    if find_spec(package) is None:
        raise ClusterError(f"{option} needs {package}, which is not installed: {command(group)}")


def _answers(host: str, port: int, seconds: float) -> bool:
    """Whether a connection to a port is accepted."""
    with suppress(OSError), socket.create_connection((host.strip("[]"), port), timeout=seconds):
        return True
    return False


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """The result of a function. Raises TimeoutError if it takes longer, and lets it go on then."""
    ended: queue.Queue[tuple[Any, Exception | None]] = queue.Queue()

    def call() -> None:
        try:
            ended.put((function(), None))
        except Exception as error:
            ended.put((None, error))

    threading.Thread(target=call, daemon=True).start()
    try:
        result, error = ended.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds} seconds") from None
    if error is not None:
        raise error
    return result


@contextmanager
def _processes(jobs: int | None) -> Iterator[Workers]:
    import joblib

    yield Workers("loky", jobs or joblib.cpu_count(), options={"idle_worker_timeout": IDLE_SECONDS})


@contextmanager
def _dask(address: str, host: str, port: int, jobs: int | None) -> Iterator[Workers]:
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the errors are ours
    place = f"tcp://{host}:{port}"
    try:
        client = within(
            CONNECT_SECONDS, lambda: Client(place, timeout=CONNECT_SECONDS, set_as_default=False)
        )
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

        _register_dask()
        at, options = f"on {address}", {"client": client}
        yield Workers(DASK, jobs or slots, at, has_workers, options, takes_all=jobs is None)
    finally:
        with suppress(Exception):  # the connection may be lost already
            client.close(timeout=CHECK_SECONDS)


def _register_dask() -> None:
    """Register joblib's backend for Dask, with two changes.

    joblib waits for ever for a task whose worker cannot load it, or dies with it again and again:
    here it gets an answer. And joblib would do all jobs in the calling process if there is one slot
    when it starts.
    """
    from joblib import register_parallel_backend
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: Any) -> int:
            return max(2, super().effective_n_jobs(n_jobs))

        def submit(self, func: Any, callback: Any = None) -> Any:
            def ended(future: Any) -> None:
                if future.exception() is not None:
                    callback(future.exception())

            future = super().submit(func, callback)
            future.add_done_callback(ended)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):  # a cancelled task has one that is no Exception
                raise out if isinstance(out, Exception) else ConnectionError(repr(out))
            return super().retrieve_result_callback(out)

    register_parallel_backend(DASK, Backend)


@contextmanager
def _ray(address: str, host: str, port: int, jobs: int | None) -> Iterator[Workers]:
    import ray
    from ray.util.joblib import register_ray

    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join(paths)}}
    end, tries = time.monotonic() + RAY_SECONDS, 0
    try:
        while not ray.is_initialized():
            tries += 1
            try:
                ray.init(
                    address,
                    runtime_env=environment,
                    logging_level=logging.CRITICAL,
                    log_to_driver=False,
                )
            except ConnectionAbortedError:  # by a head node that has just been started, or is busy
                if time.monotonic() > end and tries >= RAY_TRIES:
                    raise
                time.sleep(1)
    except Exception as error:
        raise ClusterError(
            f"{address} is no Ray client server that can be used from here: {_one_line(error)}; if "
            f"the head node cannot start a server, start it with {RAY_FORK} ray start --head ..."
        ) from None
    try:
        register_ray()
        slots = int(ray.cluster_resources().get("CPU", 0))
        if slots < 2:  # joblib runs a single job in the calling process
            raise ClusterError(f"the cluster {address} has {slots} CPUs: a study needs 2 or more")
        answers = partial(_answers, host, port, CHECK_SECONDS)
        yield Workers("ray", min(jobs or slots, slots), f"on {address}", answers)
    finally:
        with suppress(Exception):
            ray.shutdown()


class _Watch:
    """Called now and then: raises ClusterError once the workers have been gone for GONE_SECONDS."""

    def __init__(self, workers: Workers):
        self.workers = workers
        self.good = self.looked = time.monotonic()

    def __call__(self) -> None:
        now = time.monotonic()
        if now - self.looked < CHECK_SECONDS:
            return
        self.looked = now
        if self.workers.is_there():
            self.good = time.monotonic()
        elif now - self.good > GONE_SECONDS:
            raise ClusterError(
                f"there has been no scheduler or no worker {self.workers.place} for "
                f"{GONE_SECONDS} s: start them again, then give the same command; what was saved "
                "is kept"
            )


# --- doing the jobs ------------------------------------------------------------------------------


@contextmanager
def stopping(owner: Owner) -> Iterator[list[int]]:
    """Let Ctrl-C stop the jobs of an owner: yields a list that gets an entry for each.

    The first stops each training at its next evaluation, where its state is saved; the second ends
    them at once. What still goes on at the end of the block stops at its next evaluation.
    """
    stops: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        stops.append(number)
        owner.say("" if len(stops) == 1 else KILL)
        if len(stops) == 1:
            text = (
                "stopping each training at its next evaluation, where its state is saved (Ctrl-C "
                "again ends them at once)"
            )
            print(text, file=sys.stderr, flush=True)

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, interrupt) if is_main else None
    try:
        yield stops
    finally:
        owner.say(KILL if len(stops) > 1 else "")
        if is_main:
            signal.signal(signal.SIGINT, before)


def outcomes(jobs: Sequence[Job], owner: Owner, workers: Workers) -> Iterator[Outcome | Lost]:
    """Do jobs; what comes of each, in the order in which they end.

    The workers say it in files of the common folder, because not all of joblib's backends return
    one result after the other. If a worker is lost and the backend does not restart its jobs, this
    does, and yields a Lost. Raises ClusterError if the cluster is lost or cannot work at all.
    """
    left, end = {job.outcome(owner).name: job for job in jobs}, float("inf")
    for job in jobs:
        job.forget_outcomes()  # of an earlier owner
    news: queue.Queue[Lost | Exception | None] = queue.Queue()
    watch = _Watch(workers)
    threading.Thread(target=_do, args=(jobs, owner, workers, news), daemon=True).start()
    try:
        while left:
            for name in sorted(left.keys() & set(os.listdir(owner.folder))):
                found = read_outcome(left[name], owner)
                if found:
                    del left[name]
                    yield found
            with suppress(queue.Empty):
                item = news.get(timeout=LOOK_SECONDS if left else 0)
                if isinstance(item, Exception):
                    raise item
                if item is None:
                    end = time.monotonic() + SHARED_SECONDS
                else:
                    yield item
            if time.monotonic() > end and left:
                some = ", ".join(job.name for job in left.values())
                raise ClusterError(f"{owner.folder} does not show what came of {some}")
            watch()
    finally:
        for job in jobs:
            job.forget_outcomes()


def _do(jobs: Sequence[Job], owner: Owner, workers: Workers, news: queue.Queue[Any]) -> None:
    """Do jobs until there is an outcome of each. Puts a Lost, a last exception, or None at the end.

    A round of joblib ends with an exception of its backend if that loses a worker and does not
    start its jobs again.
    """
    from joblib import Parallel, delayed, parallel_config

    several = max(2, workers.jobs) if workers.backend == "ray" else workers.jobs
    ahead = "all" if workers.takes_all else workers.jobs
    rounds, left, saved = 0, list(jobs), _progress(jobs)
    while left:
        try:
            with parallel_config(workers.backend, n_jobs=several, **workers.options):
                parallel = Parallel(batch_size=1, pre_dispatch=ahead)
                parallel(delayed(do_job)(job, owner) for job in left)
            break
        except BlockedError as error:
            news.put(ClusterError(str(error)))
            return
        except Exception as error:
            while not workers.is_there():  # they may come back; the watch ends it if they do not
                time.sleep(CHECK_SECONDS)
            rounds = 1 if _progress(jobs) > saved else rounds + 1
            if rounds >= ROUNDS:
                text = (
                    f"the workers do not work, {ROUNDS} times in a row: {_one_line(error)}; start "
                    "them again, with the same version of all packages and of this folder"
                )
                news.put(ClusterError(text))
                return
            news.put(Lost(_one_line(error)))
        left, saved = [job for job in left if not read_outcome(job, owner)], _progress(jobs)
    news.put(None)


def _progress(jobs: Sequence[Job]) -> int:
    """A number that grows whenever one of the runs writes a checkpoint or is finished."""
    return sum(job.steps_saved + job.is_finished for job in jobs)


def _one_line(error: Exception) -> str:
    """An error with its type, in one line; of a long text the end, where a traceback says why."""
    text = " ".join(str(error).split())
    text = text if len(text) <= 300 else f"... {text[-300:]}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
