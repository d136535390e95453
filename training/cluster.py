"""Where trainings run: in processes of this machine, on a Dask or on a Ray cluster, through joblib.

    for number, found in results(train_run, calls, "dask://scheduler:8786"): ...

Each machine needs the same versions of all packages, a clone with `pip install -e . --group
cluster`, and the folder of the study on a shared file system with locks, such as NFS, at the same
path. A Dask cluster, whose workers get the variables of `kernels` that NumPy reads:

    export OPENBLAS_CORETYPE=Haswell NPY_DISABLE_CPU_FEATURES=X86_V4
    dask scheduler --port 8786
    dask worker HOST:8786 --nthreads 1 --nworkers 16
    python train.py dqn --seeds 0-999 --cluster dask://HOST:8786

A Ray cluster, whose first variable avoids a fault of Ray 2.60 (its issue 63202). If the cluster
uses tokens, `train.py` needs RAY_AUTH_MODE=token too:

    GRPC_ENABLE_FORK_SUPPORT=0 ray start --head --port 6379 --ray-client-server-port 10001
    ray start --address HOST:6379
    python train.py dqn --seeds 0-999 --cluster ray://HOST:10001
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from training import kernels

FORM = re.compile(r"(dask|ray)://([^/:\s]+|\[[0-9a-fA-F:]+\]):(\d{1,5})")
TRIES = 3  # times that a worker may be lost
IDLE_SECONDS = 20  # after which a process without a training ends
PARENT_SECONDS = 1  # between two looks at the parent of a process
CONNECT_SECONDS = 15  # after which a Dask scheduler, or its first worker, is given up


def cluster_address(text: str) -> str:
    """An address such as dask://HOST:8786 or ray://HOST:10001. Raises ValueError for another."""
    found = FORM.fullmatch(text)
    if not found or not 0 < int(found[3]) < 65_536:
        raise ValueError(f"expected dask://HOST:PORT or ray://HOST:PORT, got {text!r}")
    return text


def results(
    task: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    address: str | None = None,
    jobs: int | None = None,
) -> Iterator[tuple[int, Any]]:
    """Call a function in workers: the number of a call and its result, in the order they end.

    Ray gives all results at the end. jobs: the most calls at a time; by default one for each core
    of this machine, or for each worker of the cluster. Calls whose worker was lost are made again,
    with a warning. Raises ValueError if workers are lost TRIES times or cannot be used, OSError if
    no cluster answers.
    """
    from joblib import Parallel, delayed, parallel_config

    to_do = dict(enumerate(calls))
    with _workers(address, jobs) as settings:
        kind = "list" if settings["backend"] == "ray" else "generator_unordered"
        for lost in range(1, TRIES + 1):
            try:
                with parallel_config(**settings):
                    parallel = Parallel(return_as=kind, pre_dispatch=jobs or "all", batch_size=1)
                tasks = [delayed(_numbered)(number, task, call) for number, call in to_do.items()]
                for number, found in parallel(tasks):
                    del to_do[number]
                    yield number, found
                return
            except Exception as error:
                text = f"a worker was lost: {type(error).__name__}"
                if lost == TRIES:
                    raise ValueError(f"{text}, {TRIES} times: {error}") from None
                warnings.warn(f"{text}; its training continues", stacklevel=2)


def _numbered(number: int, task: Callable[..., Any], call: tuple[Any, ...]) -> tuple[int, Any]:
    """The number of a call, and its result."""
    return number, task(*call)


def _workers(address: str | None, jobs: int | None) -> AbstractContextManager[dict[str, Any]]:
    """Connect to the workers: the settings of joblib for them."""
    if not address:
        return nullcontext(_processes(jobs))
    if address.startswith("ray"):
        return _ray(address)
    return _dask(address)


def _processes(jobs: int | None) -> dict[str, Any]:
    """The settings of joblib for processes of one thread, which end with this one.

    There are at least two, since joblib would call in this process otherwise.
    """
    import joblib

    return {
        "backend": "loky",
        "n_jobs": max(2, jobs or joblib.cpu_count()),
        "inner_max_num_threads": 1,
        "idle_worker_timeout": IDLE_SECONDS,
        "initializer": _settle,
        "initargs": (os.getpid(),),
    }


def _settle(parent: int) -> None:
    """Leave Ctrl-C to the parent of this process, and let this process end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when its parent was killed. Windows never tells, so there it goes on."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)


@contextmanager
def _dask(address: str) -> Iterator[dict[str, Any]]:
    """Connect to a Dask cluster: the settings of joblib for its workers."""
    from distributed import Client
    from joblib import register_parallel_backend

    register_parallel_backend("study-dask", _dask_backend())
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    scheduler = address.replace("dask://", "tcp://")
    with Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        if max(client.nthreads().values()) > 1:  # torch has one random generator in a process
            raise ValueError(f"{address} has workers of several threads: give --nthreads 1")
        own = kernels.chosen()  # the same ones give the same bytes
        if any(found != own for found in client.run(kernels.chosen).values()):
            needed = " ".join(f"{name}={value}" for name, value in own.items())
            raise ValueError(f"{address} has workers with other kernels: start them with {needed}")
        yield {"backend": "study-dask", "n_jobs": -1, "client": client}


def _dask_backend() -> type:
    """The class of joblib's backend for Dask, mended for tasks that fail in their workers."""
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        """Gives an exception for a task that no worker can load, or that kills its workers.

        The backend of joblib 1.6 waits for ever for the result of such a task.
        """

        def effective_n_jobs(self, n_jobs: Any) -> int:
            return max(2, super().effective_n_jobs(n_jobs))

        def submit(self, func: Any, callback: Any = None) -> Any:
            def pass_exception_on(ended: Any) -> None:
                if ended.exception():
                    callback(ended)

            future = super().submit(func, callback)
            future.add_done_callback(pass_exception_on)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            failed = out.exception() if hasattr(out, "exception") else out
            if isinstance(failed, BaseException):  # a cancelled task gives no Exception
                raise ConnectionError(repr(failed))
            return super().retrieve_result_callback(out)

    return Backend


@contextmanager
def _ray(address: str) -> Iterator[dict[str, Any]]:
    """Connect to a Ray cluster: the settings of joblib for its workers."""
    import ray
    from ray.util.joblib import register_ray

    environment = {"env_vars": kernels.chosen()}  # the same ones give the same bytes
    quiet = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    with ray.init(address, runtime_env=environment, **quiet):
        register_ray()
        slots = int(ray.cluster_resources().get("CPU", 0))
        if slots < 2:
            raise ValueError(f"{address} has {slots} CPUs: a study needs two or more")
        yield {"backend": "ray", "n_jobs": slots}
