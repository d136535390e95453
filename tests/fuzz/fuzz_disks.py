"""Trainings and stores whose disk is full, broken or read-only: it is told, and nothing is lost."""

import errno
import os
import resource
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz_kills import check_store, once, write
from hypothesis import given, settings
from hypothesis import strategies as st
from trainings import TRAININGS, begin, check_end, has_checkpoint, in_child, resume, whole

from tictactoe_env.games.store import GameStore, StoreError

GROWING = ("open", "write", "flush", "os.rename", "os.mkdir", "os.link", "os.symlink")
"""What a full disk refuses; it still lets files be removed."""


def fail(code, first, is_lasting):
    """An error of the disk at the changes from this one on that it concerns, or at one of them."""
    kinds = GROWING if code == errno.ENOSPC else None
    failed = []

    def meet(number, kind):
        concerns = number >= first and (kinds is None or kind in kinds)
        if concerns and (is_lasting or not failed):
            failed.append(number)
            raise OSError(code, os.strerror(code))

    return meet


def limit(size):
    """Let no file of this process grow beyond a size in bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@once
@given(
    st.sampled_from(TRAININGS),
    st.sampled_from((errno.ENOSPC, errno.EIO, errno.EROFS, errno.EFBIG)),
    st.floats(0, 1, exclude_max=True),
    st.booleans(),
)
def test_a_training_whose_disk_fails_says_so_and_goes_on_to_the_same_bytes(
    training, code, part, is_lasting
):
    """part: of the changes after which the disk fails; for EFBIG, of the size of large files."""
    meet = fail(code, 1 + int(part * whole(training)[1]), is_lasting)
    if code == errno.EFBIG:
        meet = lambda number, kind: limit(int(part * 60_000))  # noqa: E731
    with TemporaryDirectory() as place:
        folder = Path(place)
        ended, printed = begin(training, folder, meet)
        check_told(ended, printed, code, folder)
        if has_checkpoint(folder):
            ended, printed = resume(training, folder)
            assert ended == 0, printed
            check_end(training, folder)


def check_told(ended, printed, code, folder):
    """Check that a training has told in one line that its disk has failed, and how to go on."""
    assert ended in (0, 2), printed
    if ended == 0:  # what has failed was not needed, such as the file of TensorBoard
        return
    (said,) = (line for line in printed.splitlines() if line.startswith("train.py: "))
    assert os.strerror(code) in said
    if has_checkpoint(folder):
        assert shlex.join(("--resume", str(folder / "run"))) in said


@settings(max_examples=15)
@given(st.sampled_from((1, 50)), st.integers(0, 60_000), st.lists(st.sampled_from((1, 7, 40))))
def test_a_store_that_may_not_grow_says_so_and_loses_nothing(before, room, batches):
    with TemporaryDirectory() as place:
        path = Path(place, "games.db")
        told = Path(place, "told")
        in_child(write, path, told, 10**9, [before], 0)

        def fill():
            limit(path.stat().st_size + room)
            try:
                write(path, told, 0, batches, 0)
            except StoreError as error:
                return int(str(path) not in str(error))

        ended, printed = in_child(fill)
        assert ended == 0, printed
        with GameStore(path) as store:  # the disk has room again
            store.add_many([])
        in_child(write, path, told, 2 * 10**9, [1], 0)
        check_store(path, told)
