"""What a campaign of `python -m attack` is: cases that are drawn from a seed, and a report.

A campaign is a module of this folder with

    def attack(case: Case) -> Iterator[str]                          # what was found in one case
    def run(seconds: float, seed: int, folder: Path) -> Report       # return repeat("NAME", ...)

Everything in a case is drawn from `case.draw`, which depends on the campaign, the seed and the
number of the case alone. So `python -m attack NAME --seed S --case N` repeats one of them.
"""

from __future__ import annotations

import random
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

CAMPAIGNS = ("kills", "disk", "files", "stores", "rules", "law", "page")
MOST_FINDINGS = 50  # a campaign ends after so many: something is plainly broken


@dataclass(frozen=True)
class Report:
    """What a campaign has done: its cases, what it found, and figures for the table's foot."""

    cases: int
    findings: list[str]
    notes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One case of a campaign.

    draw: the source of everything random in it. folder: its own, empty and removed afterwards.
    shared: a folder that the cases of
    all campaigns share, for what takes long to make. counts: what was done, added up.
    """

    number: int
    draw: random.Random
    folder: Path
    shared: Path
    counts: Counter[str]


Attack = Callable[[Case], Iterable[str]]


def repeat(name: str, attack: Attack, seconds: float, seed: int, folder: Path) -> Report:
    """Attack with the cases 0, 1, 2, ... of a seed until the time is over."""
    findings: list[str] = []
    counts: Counter[str] = Counter()
    end, number = time.monotonic() + seconds, 0
    while number == 0 or (time.monotonic() < end and len(findings) < MOST_FINDINGS):
        findings += found_in(name, attack, seed, number, folder, counts)
        number += 1
    return Report(number, findings, {what: f"{count:,}" for what, count in counts.items()})


def found_in(
    name: str, attack: Attack, seed: int, number: int, folder: Path, counts: Counter[str]
) -> list[str]:
    """What is found in one case, each with the command that repeats it alone."""
    own, shared = folder / f"case-{number}", folder.parent / "shared"
    own.mkdir(parents=True)
    shared.mkdir(exist_ok=True)
    draw = random.Random(f"{name} {seed} {number}")
    found = []
    try:
        found += attack(Case(number, draw, own, shared, counts))
    except Exception:  # whatever an attack does not expect is a finding too
        found.append(f"the attack itself has ended with\n{traceback.format_exc()}")
    finally:
        shutil.rmtree(own)
    command = f"python -m attack {name} --seed {seed} --case {number}"
    return [f"{name}, case {number}: {what}\n    repeat it with: {command}" for what in found]
