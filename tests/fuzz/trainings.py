"""Small trainings in forked children, whose changes to their files are counted and disturbed.

A change is a file opened for writing, a half of a write, a flush, a renaming, a removal, or a new
folder. Between two changes nothing on the disk differs, so a kill can tell no other moments apart.
A checkpoint is written at each evaluation, so most changes lie between one and the next.
"""

import builtins
import io
import multiprocessing
import os
import sys
from collections import namedtuple
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from small_runs import JUDGE_EVERY, assert_same, options_of_run

import agents
import train
from training import learner, run
from training.files import check_all

PLACE = TemporaryDirectory()  # removed at the end
FORK = multiprocessing.get_context("fork")
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
GOAL = "--board 2x3x3 --opponents minimax-slip=0.6 --judge-every 64 --steps 50000 --seed 5"
RIVAL = "--games 32 --judge-every 500 --steps 1500 --opponents rival --snapshot-every 300"
Training = namedtuple("Training", "agent options again", defaults=((),))


def small(agent):
    """The training of an agent, with three evaluations."""
    options = options_of_run(agent)
    if options[-1] == str(2 * JUDGE_EVERY):
        options[-1] = str(3 * JUDGE_EVERY)
    return Training(agent, tuple(options))


TRAININGS = (
    *map(small, sorted(agents.TRAINABLE)),
    Training("tabular_q", (*small("tabular_q").options, *GOAL.split()), ("--until", "unbeatable")),
    Training("tabular_q", (*RIVAL.split(), "--rival", "tabular_q")),
)
"""One of each learner, one that ends at its goal, and one of two learners."""


class Watched(io.FileIO):
    """A file of which each write is two changes."""

    def write(self, data):
        part = bytes(data)
        half = len(part) // 2
        self.meet("write")
        done = super().write(part[:half])
        self.meet("write")
        return done + super().write(part[half:]) if done == half else done  # a disk may be full


def watch(folder, meet):
    """Call meet(kind) before each change below a folder, from here on to the end of the process."""
    folder = os.path.realpath(folder)
    really_open = open
    really_fsync = os.fsync

    def is_below(path):
        # A name alone belongs to an open folder: shutil.rmtree removes files in this way.
        text = os.fsdecode(path) if not isinstance(path, int) and path is not None else "/"
        return os.path.abspath(text).startswith(folder) or os.sep not in text

    def see(event, arguments):
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & WRITING and is_below(path):
                meet("open")
        elif event in CHANGES and is_below(arguments[0]):
            meet(event)

    def opened(file, mode="r", buffering=-1, *more, **named):
        is_written = "b" in mode and set(mode) & set("wxa+") and not isinstance(file, int)
        if not (is_written and is_below(file)):
            return really_open(file, mode, buffering, *more, **named)
        raw = Watched(file, mode.replace("b", ""))
        raw.meet = meet
        return raw if buffering == 0 else io.BufferedWriter(raw)

    def fsync(file):
        meet("flush")
        really_fsync(file)

    sys.addaudithook(see)
    builtins.open = io.open = opened
    os.fsync = fsync


def in_child(action, *arguments):
    """The exit code of a forked child, minus the signal that has ended it, and what it printed.

    A killed one has printed nothing. It prints into no file, since its disk may be full.
    """
    receiver, sender = FORK.Pipe(duplex=False)

    def act():
        with redirect_stdout(io.StringIO()) as printed, redirect_stderr(printed):
            try:
                sys.exit(action(*arguments))
            finally:
                sender.send(printed.getvalue())

    child = FORK.Process(target=act)
    said = ""
    child.start()
    sender.close()
    with suppress(EOFError):
        said = receiver.recv()
    child.join()
    return child.exitcode, said


def trained(arguments, folder, meet):
    """Train as train.py does; meet(number, kind) is called before each change below the folder."""
    run.CHECKPOINT_SECONDS = -1
    learner.PIECE_SECONDS = float("inf")  # no pauses by the clock: they write checkpoints too
    count = 0

    def counted(kind):
        nonlocal count
        count += 1
        meet(count, kind)

    watch(folder, counted)
    code = train.main([*map(str, arguments)])
    print(f"\nchanges: {count}")
    return code


def begin(training, folder, meet=lambda number, kind: None):
    """Begin a training below a folder, in a child."""
    options = (*training.options, *training.again, "--out", folder / "run")
    return in_child(trained, (training.agent, *options), folder, meet)


def resume(training, folder, meet=lambda number, kind: None):
    """Continue a training in a child."""
    return in_child(trained, ("--resume", folder / "run", *training.again), folder, meet)


@cache
def whole(training):
    """The folder of an undisturbed training, and how many changes it made to its files."""
    os.environ["OMP_NUM_THREADS"] = "1"  # threads of the parent are missing in its children
    for agent in agents.TRAINABLE:  # a run states the versions of what its process has imported
        agents.module(agent)
    folder = Path(mkdtemp(dir=PLACE.name))
    code, printed = begin(training, folder)
    assert code == 0, printed
    return folder, int(printed.rpartition("changes: ")[2])


def has_checkpoint(folder):
    """Whether there is anything to continue from."""
    return any((folder / "run" / name).exists() for name in ("checkpoint", ".checkpoint.old"))


def check_end(training, folder):
    """Check that a training has ended with the bytes of the undisturbed one."""
    for found in sorted(folder.glob("run*")):
        check_all(found)
        assert_same(found, whole(training)[0] / found.name)
