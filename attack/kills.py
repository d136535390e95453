"""Trainings that are killed at a change of a file, also while resuming: nothing may be lost.

Every learner is trained, killed (SIGKILL) at a drawn change of its files, with half of the bytes
written if the change is a write, loaded, and resumed, which may be killed again. It must end with
the bytes of a training that was not disturbed, seconds aside. Between two changes nothing on the
disk differs, so these are all moments that a kill can tell apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attack.campaign import Case, Report, repeat
from attack.operations import kill_at
from attack.trainings import (
    MOST_RESUMES,
    TRAININGS,
    Training,
    drawn_training,
    has_checkpoint,
    loads,
    train,
    whole,
    wrong_at_the_end,
)

LAST = 40  # changes at the end of a training: plots, certificate, values, manifest


def run(seconds: float, seed: int, folder: Path) -> Report:
    """Attack until the time is over."""
    return repeat("kills", attack, seconds, seed, folder)


def attack(case: Case) -> Iterator[str]:
    """Kill one training, once or several times, and complete it."""
    training = drawn_training(case, TRAININGS)
    reference = whole(case, training)
    number = drawn_change(case, reference.changes)
    place = case.folder / "place"
    place.mkdir()
    folder, told = place / "run", f"{training.name} killed at change {number}"
    ended = train(training.begin(folder), place, kill_at(number))
    case.counts["kills"] += ended.code < 0
    if ended.code >= 0 or ended.crashed:
        yield f"{told}: ended with {ended.code}, not by the kill\n{ended.last}"
        return
    loaded = loads(folder, case.folder / "loaded")
    case.counts["loads of what was left"] += 1
    if loaded.code != 0 or loaded.crashed or "nothing is said" in loaded.text:
        yield f"{told}: loading what is left ended with {loaded.code}\n{loaded.last}"
    yield from completed(case, training, folder, told)


def drawn_change(case: Case, changes: int) -> int:
    """The number of a change; one of the last ones in every third case."""
    first = max(1, changes - LAST) if case.draw.random() < 1 / 3 else 1
    return case.draw.randint(first, changes)


def completed(case: Case, training: Training, folder: Path, told: str) -> Iterator[str]:
    """Resume a killed training to its end, with further kills on the way."""
    reference = whole(case, training)
    for resumed in range(MOST_RESUMES):
        if not has_checkpoint(folder):
            case.counts["killed before the first checkpoint"] += 1
            ended = train(training.resume(folder), folder.parent)
            if ended.code != 2 or ended.crashed:
                yield f"{told}: --resume without a checkpoint: {ended.code}\n{ended.last}"
            return
        is_killed = resumed < MOST_RESUMES - 1 and case.draw.random() < 0.4
        number = case.draw.randint(1, reference.changes // (1 + resumed)) if is_killed else 0
        told += f", resumed and killed at {number}" if is_killed else ", resumed"
        ended = train(training.resume(folder), folder.parent, kill_at(number))
        case.counts["kills"] += ended.code < 0
        case.counts["kills while resuming"] += ended.code < 0
        if ended.code < 0 and not ended.is_late:
            continue
        yield from wrong_at_the_end(case, ended, folder, reference.folder, told)
        return
