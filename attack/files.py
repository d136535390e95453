"""Damaged and hostile files through every loader: refused in plain words, or what they were.

One file of a run is damaged at random, or rewritten by somebody who knows its format and makes its
checksums anew. A loader reads it in a child with an audit hook. It may execute nothing, write
nowhere else, take no 10 seconds of its processor and no 500 MB, and raise ValueError or OSError
only, in words that print no control characters. Damage without new checksums leaves the meaning of
a file as it was, or is refused. A certificate that is accepted is judged by
tests/oracles/plain_proof.py, which shares no code with the package.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attack import rewriting
from attack.campaign import Case, Report, repeat
from attack.children import Ended, child
from attack.guard import guard
from attack.mutations import damaged_bytes
from attack.trainings import LEARNERS, Training, drawn_training, whole

CPU_SECONDS, SECONDS = 10, 60  # the latter of the clock, on a busy machine
MEMORY = 500 << 20  # bytes beside those of the process before
CERTIFICATES = (  # readers that verify, so what they accept has to be true
    *("certificate.verify", "evaluate.py --verify"),
)
SLOW_IF_CHANGED = ("train.py --resume",)  # with a new checksum it may well train for hours


def run(seconds: float, seed: int, folder: Path) -> Report:
    """Attack until the time is over."""
    return repeat("files", attack, seconds, seed, folder)


def attack(case: Case) -> Iterator[str]:
    """Damage one file of a run, and read it with one loader."""
    from attack.loaders import EXACT, READERS

    reader = case.draw.choice([*READERS, *CERTIFICATES * 5])
    training = drawn_training(case, LEARNERS, 30)
    name, call = READERS[reader]
    source = furnished(case, training)
    folder = Path(shutil.copytree(source, case.folder / "run"))
    path = folder / name
    how = damage(case, path, reader, folder)
    ended = read_in_child(call, path, case.folder)
    told = f"{reader} of {training.name}, {name} {how}"
    case.counts["refused" if "refused" in ended.text[-200:] else "accepted"] += 1
    yield from (f"{told}: {text}" for text in wrong_with(ended))
    verdict = ended.text.rsplit("\n", 2)[-2:]
    if how.startswith("damaged") and reader in EXACT and verdict[0].startswith("accepted"):
        right = accepted_before(case, reader, training, source)
        if verdict[0] != right:
            yield f"{told}: it is accepted with another meaning"
    if reader in CERTIFICATES and "accepted" in verdict[0]:
        case.counts["certificates judged"] += 1
        yield from (f"{told}: {text}" for text in judged(path, case.folder))


def furnished(case: Case, training: Training) -> Path:
    """A finished run with one of every kind of file."""
    folder = case.shared / f"{training.name}-furnished"
    if not folder.exists():
        run = whole(case, training).folder
        new = Path(shutil.copytree(run, folder.with_suffix(".new")))
        ended = child(lambda: rewriting.furnish(new), case.folder / "furnished")
        if ended.code != 0:
            raise RuntimeError(ended.text)
        new.rename(folder)
    return folder


def damage(case: Case, path: Path, reader: str, folder: Path) -> str:
    """Damage a file, and say how."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_bytes(b"")
    draw = case.draw
    kinds: list[Callable[[Any, Path], str]] = [rewriting.plant, rewriting.swell]
    if reader not in SLOW_IF_CHANGED:
        kinds += [rewriting.rewrite] * 4
    if draw.random() < 0.45 or (reader in SLOW_IF_CHANGED and draw.random() < 0.8):
        path.write_bytes(damaged_bytes(draw, path.read_bytes()))
        return "damaged"
    how = draw.choice(kinds)(draw, path)
    if draw.random() < 0.8 and path.stat().st_size <= 2 * rewriting.SWOLLEN:
        rewriting.make_manifests(folder)
        how += " with new manifests"
    return how


def read_in_child(call: Callable[[Path], Any], path: Path, folder: Path) -> Ended:
    """Read a file with a loader, in a child that is watched."""

    def action() -> int:
        found = guard(folder)
        try:
            value = call(path)
            verdict = f"accepted {hashlib.sha256(repr(value).encode()).hexdigest()}"
        except (ValueError, OSError) as error:
            print(error if str(error) else "THE REFUSAL SAYS NOTHING")
            verdict = f"refused {type(error).__name__}"
        for text in found:
            print(f"FORBIDDEN: {text}")
        print(f"\n{verdict}")
        return 0

    return child(action, folder / "printed", SECONDS)


def wrong_with(ended: Ended) -> Iterator[str]:
    """What a loader has done that it must not do."""
    if ended.is_late or ended.cpu_seconds > CPU_SECONDS:
        yield f"it took {ended.cpu_seconds:.0f} s of the processor, {ended.seconds:.0f} s in all"
    elif ended.code != 0 or ended.crashed:
        yield f"it ended with {ended.code}\n{ended.last}"
    if ended.memory > MEMORY:
        yield f"it needed {ended.memory >> 20} MB"
    for line in ended.text.splitlines():
        if line.startswith(("FORBIDDEN", "THE REFUSAL")):
            yield line
    unprintable = {
        letter for letter in ended.text if not (letter.isprintable() or letter in "\n\t")
    }
    if unprintable:
        yield f"it has printed {unprintable}"


def accepted_before(case: Case, reader: str, training: Training, source: Path) -> str:
    """What a reader says of the whole file."""
    from attack.loaders import READERS

    name, call = READERS[reader]
    kept = case.shared / f"{training.name}-{hashlib.sha256(reader.encode()).hexdigest()}.txt"
    if not kept.exists():
        folder = Path(shutil.copytree(source, case.folder / "whole"))
        ended = read_in_child(call, folder / name, case.folder)
        kept.write_text(ended.text.rsplit("\n", 2)[-2])
    return kept.read_text()


def judged(path: Path, folder: Path) -> Iterator[str]:
    """What the independent verifier says against a certificate that was accepted."""
    from tests.oracles.plain_proof import Refused, check, read

    def action() -> int:
        try:
            check(read(path))
        except Refused as refusal:
            print(f"REFUSED: {refusal}")
        return 0

    ended = child(action, folder / "judged", SECONDS)
    if "REFUSED" in ended.text or ended.code != 0:
        yield f"an independent verifier refuses what is accepted: {ended.last}"
