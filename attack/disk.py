"""Trainings whose disk fails: full, broken, read-only; the message says how to go on.

From a drawn change of a file on, or once, the disk is full (ENOSPC), broken (EIO) or read-only
(EROFS), or the kernel lets no file grow beyond a drawn size (EFBIG). The training ends with one
plain line and the exit code 2, and when the disk can be written again, `--resume` ends with the
bytes of a training that was not disturbed, seconds aside.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from attack.campaign import Case, Report, repeat
from attack.children import Ended
from attack.operations import fail, nothing
from attack.trainings import (
    TRAININGS,
    Training,
    drawn_training,
    has_checkpoint,
    train,
    whole,
    wrong_at_the_end,
)

CODES = (errno.ENOSPC, errno.EIO, errno.EROFS)
LARGEST = 60_000  # bytes, about the largest file of these runs


def run(seconds: float, seed: int, folder: Path) -> Report:
    """Attack until the time is over."""
    return repeat("disk", attack, seconds, seed, folder)


def attack(case: Case) -> Iterator[str]:
    """Let the disk of one training fail, and continue it."""
    training = drawn_training(case, TRAININGS)
    reference = whole(case, training)
    place = case.folder / "place"
    place.mkdir()
    folder = place / "run"
    if case.draw.random() < 0.2:
        code, limit, fault = errno.EFBIG, case.draw.randint(50, LARGEST), nothing
        told = f"{training.name} with files of at most {limit} bytes"
    else:
        code, limit = case.draw.choice(CODES), None
        first, lasts = case.draw.randint(1, reference.changes), case.draw.random() < 0.7
        fault = fail(code, first, lasts)
        told = (
            f"{training.name} with {os.strerror(code)} {'from' if lasts else 'at'} change {first}"
        )
    ended = train(training.begin(folder), place, fault, limit)
    case.counts[f"{errno.errorcode[code]}"] += 1
    yield from (f"{told}: {text}" for text in wrong_end(ended, code, training, folder))
    if not has_checkpoint(folder):
        case.counts["before the first checkpoint"] += 1
        return
    again = train(training.resume(folder), place)
    yield from wrong_at_the_end(case, again, folder, reference.folder, told)


def wrong_end(ended: Ended, code: int, training: Training, folder: Path) -> Iterator[str]:
    """What is wrong with the end of a training whose disk has failed."""
    if ended.code not in (0, 2) or ended.crashed:
        yield f"it ended with {ended.code}\n{ended.last}"
        return
    if ended.code == 0:  # what has failed was not needed, such as the file of TensorBoard
        return
    said = [line for line in ended.text.splitlines() if line.startswith("train.py: ")]
    if len(said) != 1 or os.strerror(code) not in said[0]:
        yield f"it does not say what is wrong with the disk\n{ended.last}"
    elif has_checkpoint(folder) and shlex.join(training.resume(folder)) not in said[0]:
        yield f"it does not say how to go on\n{ended.last}"
