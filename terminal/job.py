"""The process of one training of a study: reads a job from its input, and trains the run.

It ends at the next evaluation, where the state is saved, when its input ends: see `training.jobs`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from filelock import FileLock, Timeout
from rich.console import Console

import agents
from tictactoe_env.errors import printable
from training.jobs import EXIT_FINISHED, EXIT_STOPPED, Job
from training.learner import Learner
from training.options import read_config
from training.run import Run

LOCK_SECONDS = 1  # seconds between two looks at the input, while another process has the run


def main() -> NoReturn:
    """Train the run whose job is the first line of the input; exits with EXIT_... or an error."""
    job, ended = Job(**json.loads(sys.stdin.readline())), threading.Event()
    threading.Thread(target=_wait_for_the_end_of_input, args=(ended,), daemon=True).start()
    try:
        with locked(job, ended) as is_ours:
            sys.exit(train(job, ended) if is_ours else EXIT_STOPPED)
    except (ValueError, OSError) as error:  # the last line of the log is the message
        sys.exit(printable(error))


def _wait_for_the_end_of_input(ended: threading.Event) -> None:
    with suppress(ValueError, OSError):  # the file is closed when the program ends
        sys.stdin.read()
    ended.set()


@contextmanager
def locked(job: Job, ended: threading.Event) -> Iterator[bool]:
    """Hold the lock of a run. Yields False if the input ended while another process had it."""
    lock = FileLock(job.lock)
    while not (ended.is_set() or lock.is_locked):
        with suppress(Timeout):
            lock.acquire(timeout=LOCK_SECONDS)
    try:
        yield lock.is_locked
    finally:
        lock.release()


class JobRun(Run):
    """A run that ends at its next evaluation when an event is set."""

    ended: threading.Event

    def evaluate(self, learner: Learner) -> bool:
        """Evaluate exactly; True if training should stop now."""
        self.is_interrupted |= self.ended.is_set()
        return super().evaluate(learner)


def train(job: Job, ended: threading.Event) -> int:
    """Begin or continue a run and finish it, unless an event ends it before; the exit code."""
    if job.is_finished:
        return EXIT_FINISHED
    page: Any = agents.page(job.agent)
    config = read_config(page.Config, job.config, job.path / "config.json")
    run = JobRun(job.path, page, config, job.until, Console(), job.preset)
    run.ended = ended
    learner = page.begin(config)
    who = f"{job.name}, process {os.getpid()} on {socket.gethostname()}"
    if not job.is_begun:
        shutil.rmtree(job.path, ignore_errors=True)  # killed before its first checkpoint
    with run.held():
        if job.is_begun:
            run.resume(learner)
            print(f"{who}: continues at {run.done:,} steps", flush=True)
        else:
            print(f"{who}: begins", flush=True)
            run.start()
        if not run.is_at_its_end:
            run.train(learner)
        if not run.is_at_its_end:
            return EXIT_STOPPED
        if not run.is_complete:
            run.finish(learner)
        reached = job.until in ("steps", *run.first_reached)
        job.finish(run.rows[-1]["steps"], reached)
    return EXIT_FINISHED
