"""A run as a job: what a worker needs to train it, on this machine or on another one.

A worker is a process of joblib's backend, or of a Dask or Ray cluster. It starts each training in a
process of its own, in which the owner's program is called, with one thread. So a training that is
killed takes nothing else with it, and its worker starts it again from its checkpoint.

The worker sends the job through a pipe and keeps the pipe open. If the worker dies, or asks for the
end, the pipe is closed: the training then ends at its next evaluation and saves its state. A lock
beside the run's folder sees to it that no two processes train the same run.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tictactoe_env.files import open_file, read_file, write_file
from training.files import (
    DamagedFileError,
    Saved,
    read_json,
    recover_folder,
    write_json,
)

ROOT = Path(__file__).parent.parent
END = "finished.json"  # in a run's folder, written last: its steps, whether it reached its goal
OUTCOME = ".outcome"  # how the names of the files end in which workers say what came of a job
OWNER = ".owner"  # in the common folder: the token of the process whose jobs are wanted
MAX_SAID, MAX_LAST = 1_000, 64_000  # bytes of OWNER; bytes at the end of a log that are read
POLL_SECONDS = 0.5  # seconds between two looks at the training and at OWNER
SHARED_SECONDS = 15  # seconds in which a file of the common folder must reach a worker
STARTS = 3  # starts of a training that is killed each time before it writes a new checkpoint
EXIT_FINISHED, EXIT_STOPPED = 0, 3
KILL = "kill"  # in OWNER instead of a token: end all trainings at once

FINISHED, STOPPED, FAILED = "finished", "stopped", "failed"


class BlockedError(Exception):
    """A worker cannot work at all, for example because it does not see the common folder."""


class Finish(Saved):
    """What END holds."""

    steps: int
    reached: bool


@dataclass(frozen=True)
class Job:
    """A run to be trained. folder: absolute. config: as JSON. until, preset: as those of `Run`."""

    name: str
    folder: str
    agent: str
    config: dict[str, Any]
    until: str = "steps"
    preset: str | None = None

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return Path(self.folder)

    @property
    def log(self) -> Path:
        """The file beside the folder with everything that the training prints."""
        return self.path.with_name(f"{self.path.name}.log")

    @property
    def lock(self) -> Path:
        """The file that the process locks which trains the run."""
        return self.path.with_name(f".{self.path.name}.lock")

    def outcome(self, owner: Owner) -> Path:
        """The file in which a worker tells an owner what came of the job.

        Each owner has its own, because a worker of an owner that was killed may tell it late.
        """
        return self.path.with_name(f".{self.path.name}.{owner.token}{OUTCOME}")

    def forget_outcomes(self) -> None:
        """Remove what workers have said of the job, to any owner."""
        for file in self.path.parent.iterdir():
            if file.name.startswith(f".{self.path.name}.") and file.suffix == OUTCOME:
                file.unlink(missing_ok=True)

    @property
    def is_finished(self) -> bool:
        """Whether the run was trained to its end."""
        return (self.path / END).exists()

    def finish(self, steps: int, reached: bool) -> None:
        """Note that the run was trained to its end. reached: whether its goal was."""
        write_json(self.path / END, {"steps": steps, "reached": reached})

    @property
    def has_reached_its_goal(self) -> bool:
        """Whether a finished run has reached its goal. Raises DamagedFileError."""
        try:
            return Finish.read(self.path / END).reached
        except DamagedFileError as error:
            hint = "or delete this file, and the same command looks at the run again"
            raise DamagedFileError(f"{error}; {hint}") from None

    @property
    def steps_saved(self) -> int:
        """The steps of the checkpoint, -1 without one."""
        try:
            return int(read_json(self.path / "checkpoint" / "progress.json")["steps"])
        except (FileNotFoundError, DamagedFileError, KeyError, TypeError, ValueError):
            return -1

    @property
    def is_begun(self) -> bool:
        """Whether there is a checkpoint to continue from."""
        recover_folder(self.path / "checkpoint")
        return (self.path / "checkpoint").exists()


@dataclass(frozen=True)
class Outcome:
    """What came of a job: FINISHED, STOPPED or FAILED. error: what failed, in one line."""

    job: Job
    state: str
    error: str = ""


@dataclass(frozen=True)
class Owner:
    """The process that wants its jobs done, as its workers see it: through a common folder.

    folder: the common folder, absolute. cwd: the folder in which the trainings run. root: that of
    the clone. host, pid: the owner's. is_local: whether the workers are its child processes.
    program: the module whose `main` reads a job from its input and trains it.
    """

    folder: str
    cwd: str
    token: str
    host: str
    pid: int
    is_local: bool
    program: str
    root: str = str(ROOT)

    @classmethod
    def begin(cls, folder: Path, is_local: bool, program: str) -> Owner:
        """Become the owner of a common folder: the jobs of an earlier owner stop."""
        owner = cls(
            str(folder.absolute()),
            os.getcwd(),
            secrets.token_hex(8),
            socket.gethostname(),
            os.getpid(),
            is_local,
            program,
        )
        owner.say(owner.token)
        return owner

    @property
    def file(self) -> Path:
        """The file that holds the token of the owner, or KILL."""
        return Path(self.folder) / OWNER

    def say(self, text: str) -> None:
        """Tell the workers: the token to go on, "" to stop at the next evaluation, KILL to end."""
        write_file(self.file, lambda file: file.write(text.encode()))

    @property
    def is_dead_parent(self) -> bool:
        """Whether it had started this process, and was killed since."""
        return self.is_local and self.pid not in (os.getpid(), os.getppid())

    @property
    def said(self) -> str | None:
        """What the owner says; None if its file cannot be read, "" if the owner is gone."""
        if self.is_dead_parent:
            return ""
        try:
            return read_file(self.file, MAX_SAID).decode()
        except (OSError, ValueError):
            return None

    @property
    def is_wanting(self) -> bool:
        """Whether the jobs are still wanted. A file that cannot be read for a moment is no end."""
        return self.said in (self.token, None)

    def missing_on_this_machine(self) -> str:
        """What a worker on this machine does not see of the owner's folders; "" if nothing."""
        end = time.monotonic() + SHARED_SECONDS
        while self.said is None and time.monotonic() < end:
            time.sleep(POLL_SECONDS)  # a network file system may show a new file late
        here, owner = socket.gethostname(), self.host
        if self.said is None:
            return (
                f"the worker on {here} cannot see {self.folder} of {owner}: give --out in a folder "
                "that all machines share under the same path"
            )
        for folder in (self.root, self.cwd):
            if not Path(folder).is_dir():
                return (
                    f"the worker on {here} has no folder {folder}, which {owner} uses: put it at "
                    "the same path on all machines"
                )
        return ""


def read_outcome(job: Job, owner: Owner) -> Outcome | None:
    """What a worker of this owner has said of a job; None if nothing yet."""
    try:
        said = read_json(job.outcome(owner))
    except (FileNotFoundError, DamagedFileError):
        return None
    return Outcome(job, said["state"], said["error"])


def do_job(job: Job, owner: Owner) -> None:
    """The task of a worker: train a run and say what came of it, in a file of the common folder.

    Nothing is said to an owner whose jobs another one has taken over, because nobody reads it.
    Raises BlockedError if the worker cannot do jobs at all.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the owner's: it asks to stop
    missing = owner.missing_on_this_machine()
    if missing:
        raise BlockedError(missing)
    found = train_job(job, owner)
    if owner.is_dead_parent:
        os.kill(os.getpid(), signal.SIGTERM)  # nobody else would end this worker
    if owner.said in (owner.token, "", KILL, None):
        write_json(job.outcome(owner), {"state": found.state, "error": found.error})


def train_job(job: Job, owner: Owner) -> Outcome:
    """Train a run to its end, or continue it, until its owner does not want it any more.

    A training that is killed starts again from its checkpoint, STARTS times without a new one.
    """
    starts, saved = 0, job.steps_saved
    while True:
        if job.is_finished:
            return Outcome(job, FINISHED)
        if not owner.is_wanting:
            return Outcome(job, STOPPED)
        code = _train_in_a_process(job, owner)
        if code == EXIT_STOPPED or not owner.is_wanting:
            return Outcome(job, FINISHED if job.is_finished else STOPPED)
        if code > 0:
            return Outcome(job, FAILED, last_line(job.log))
        starts, saved = (1 if job.steps_saved > saved else starts + 1), job.steps_saved
        if code < 0 and starts >= STARTS:
            return Outcome(job, FAILED, _killed_text(-code))
        if code == EXIT_FINISHED and not job.is_finished:
            return Outcome(job, FAILED, f"it ended without {END}: see {job.log}")


def _train_in_a_process(job: Job, owner: Owner) -> int:
    """Train a run in a process; its exit code, or minus the number of the signal that killed it."""
    program = f"import sys; sys.path[0] = sys.argv[1]; from {owner.program} import main; main()"
    command = [sys.executable, "-c", program, owner.root, job.folder]  # the last for `ps`
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with (
        open(job.log, "ab") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=owner.cwd,
            env={**os.environ, **threads},
            start_new_session=True,  # a Ctrl-C in the terminal does not reach it
        ) as process,
    ):
        assert process.stdin is not None
        try:
            process.stdin.write(f"{json.dumps(asdict(job))}\n".encode())
            process.stdin.flush()
            _wait(process, owner)
        except BrokenPipeError:
            process.stdin = None  # it ended before it read the job; its log says why
        return process.wait()


def _wait(process: subprocess.Popen[bytes], owner: Owner) -> None:
    """Wait for the end of a training; ask it to end if it is not wanted any more."""
    while process.poll() is None:
        if owner.said == KILL:
            process.kill()
        elif not owner.is_wanting and process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            continue


def _killed_text(number: int) -> str:
    name = signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"
    memory = " (out of memory?)" if name == "SIGKILL" else ""
    return f"killed by {name}{memory}, {STARTS} times before it wrote a new checkpoint"


def last_line(path: Path) -> str:
    """The last line of a file that is not empty, which of an error is its message."""
    with open_file(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_LAST))
        lines = file.read(MAX_LAST).decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")
