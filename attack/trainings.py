"""Small trainings that campaigns disturb, and the comparison of what they leave with the whole run.

A checkpoint is written at each evaluation here, not every 30 seconds, so most of what a training
does to its files lies between one and the next.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from attack.campaign import Case
from attack.children import Ended, child
from attack.operations import Fault, Operations, nothing
from tests.small_runs import JUDGE_EVERY, OPTIONS
from tictactoe_env.certificate import read, verify
from training.manifest import check_all

GOAL = "--rows 2 --opponents minimax-slip=0.6 --judge-every 64 --steps 50000 --seed 5"
RIVAL = "--games 32 --judge-every 500 --steps 1500 --opponents rival --snapshot-every 300"
MOST_RESUMES = 8  # of one killed training


@dataclass(frozen=True)
class Training:
    """A small training. until: its goal, which has to be given again when it is resumed."""

    name: str
    agent: str
    options: tuple[str, ...]
    until: str = "steps"

    @property
    def goal(self) -> list[str]:
        """The goal as options."""
        return [] if self.until == "steps" else ["--until", self.until]

    def begin(self, folder: Path) -> list[str]:
        """The arguments of train.py that begin it."""
        return [self.agent, *self.options, *self.goal, "--out", str(folder)]

    def resume(self, folder: Path) -> list[str]:
        """The arguments of train.py that continue it."""
        return ["--resume", str(folder), *self.goal]


def _small(agent: str, *more: str) -> tuple[str, ...]:
    steps = [] if "--steps" in OPTIONS[agent] else ["--steps", str(3 * JUDGE_EVERY)]
    return (*OPTIONS[agent], *steps, *more)


LEARNERS = tuple(
    Training(agent, agent, _small(agent))
    for agent in (
        *("tabular_q", "trie", "mcts", "tictacnet", "neuroevolution"),
        *("maskable_ppo", "dqn", "value_net"),
    )
)
"""One of each learner, quick ones first."""

TRAININGS = (
    *LEARNERS[:3],
    Training("goal", "tabular_q", (*_small("tabular_q"), *GOAL.split()), "unbeatable"),
    Training("rival", "tabular_q", (*RIVAL.split(), "--rival", f"tabular_q {RIVAL}")),
    *LEARNERS[3:],
)
"""One of each learner, one that ends at its goal, and one of two learners."""


def drawn_training(
    case: Case, trainings: Sequence[Training] = TRAININGS, each: int = 3
) -> Training:
    """One of the first trainings, of one more after every `each` cases.

    A whole run of each is made for comparison, which takes seconds: a short attack needs a few.
    """
    return case.draw.choice(trainings[: 1 + case.number // each])


def preload() -> None:
    """Import what trainings need, so that a forked child need not."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import matplotlib.pyplot  # noqa: F401

    import agents
    import train  # noqa: F401

    for agent in OPTIONS:
        agents.page(agent)


def train(
    arguments: Sequence[str], folder: Path, fault: Fault = nothing, limit: int | None = None
) -> Ended:
    """Train in a child, whose changes below a folder meet a fault.

    folder: also takes what the child prints. limit: bytes that a file may have at most.
    """

    def action() -> int:
        import resource

        import train as script
        from training import learner, run

        run.CHECKPOINT_SECONDS = -1
        learner.PIECE_SECONDS = float("inf")  # no pauses by the clock: they write checkpoints too
        operations = Operations(folder, fault)
        operations.watch()
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        code = script.main(list(arguments))
        (folder.parent / f"changes-of-{folder.name}").write_text(str(operations.count))
        return code

    return child(action, folder.parent / f"printed-by-{folder.name}")


@dataclass(frozen=True)
class Whole:
    """An undisturbed training: its folder, and how many changes it made to its files."""

    folder: Path
    changes: int


def whole(case: Case, training: Training) -> Whole:
    """The undisturbed run of a training, which the cases of a campaign share."""
    preload()
    place = case.shared / training.name
    counted = place / "changes-of-place"
    if not counted.exists():
        shutil.rmtree(place, ignore_errors=True)
        (place / "place").mkdir(parents=True)  # as in a case: to make it would be a change
        ended = train(training.begin(place / "place" / "run"), place / "place")
        if ended.code != 0:
            raise RuntimeError(f"{training.name} does not train: {ended.code}, {ended.text}")
        case.counts["whole trainings"] += 1
    return Whole(place / "place" / "run", int(counted.read_text()))


# --- what a training leaves -----------------------------------------------------------------------


def contents(folder: Path) -> dict[str, Any]:
    """All files of a run but events, locks and manifests, without seconds: {name: content}."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.name.startswith((".lock", "events.out", "manifest.json")):
            continue
        name = path.relative_to(folder).as_posix()
        found[name] = path.read_bytes()
        if path.name == "metrics.csv":
            rows = csv.DictReader(io.StringIO(path.read_text("utf-8")))
            found[name] = [{**row, "seconds": "0"} for row in rows]
        elif path.name == "certificate.json":
            content = json.loads(path.read_text("utf-8"))
            content["training"] = without_seconds(content["training"])
            found[name] = content
        elif path.name == "config.json":
            content = json.loads(path.read_text("utf-8"))
            # The names of the folders of two learners depend on where they are.
            found[name] = {**content, "seal": "", "rival": "", "rival_of": ""}
    return found


def without_seconds(value: Any) -> Any:
    """JSON values without the entries called "seconds"."""
    if isinstance(value, dict):
        return {key: without_seconds(one) for key, one in value.items() if key != "seconds"}
    return value


def differences(folder: Path, reference: Path) -> list[str]:
    """What differs between two runs, and what is wrong with the first one. Seconds may differ."""
    found = []
    try:
        check_all(folder)
        verify(read(folder))
    except (ValueError, OSError) as error:
        found.append(f"the run is not whole: {error}")
    one, two = contents(folder), contents(reference)
    found += [f"{name} is missing" for name in sorted(two.keys() - one.keys())]
    found += [f"{name} was left behind" for name in sorted(one.keys() - two.keys())]
    changed = sorted(name for name in one.keys() & two.keys() if one[name] != two[name])
    return found + [f"{name} has other bytes" for name in changed]


def differences_of_all(folder: Path, reference: Path) -> list[str]:
    """As `differences`, and likewise of the run of the second learner, if there is one."""
    rival = reference.with_name(f"{reference.name}-rival")
    found = differences(folder, reference)
    if rival.exists():
        other = folder.with_name(f"{folder.name}-rival")
        found += [f"the rival: {text}" for text in differences(other, rival)]
    return found


def wrong_at_the_end(
    case: Case, ended: Ended, folder: Path, reference: Path, told: str
) -> Iterator[str]:
    """What is wrong with a training that was resumed to its end: all its bytes must be the same."""
    if ended.code != 0 or ended.crashed:
        yield f"{told}: --resume ended with {ended.code}\n{ended.last}"
        return
    found = differences_of_all(folder, reference)
    case.counts["completed with the same bytes"] += not found
    if found:
        yield f"{told}: {'; '.join(found)}"


def has_checkpoint(folder: Path) -> bool:
    """Whether a training can be continued from what is in its folder."""
    return any((folder / name).exists() for name in ("checkpoint", ".checkpoint.old"))


def loads(folder: Path, output: Path) -> Ended:
    """Load everything from what a training has left: each file is whole or is refused."""
    return child(partial(_load_all, folder), output)


def _load_all(folder: Path) -> None:
    import agents

    calls: list[Callable[[], Any]] = [
        lambda: agents.load(folder),
        lambda: verify(read(folder)),
        lambda: check_all(folder),
    ]
    for call in calls:
        try:
            call()
        except (ValueError, OSError) as error:  # a refusal, which must say something
            print(error if str(error) else "nothing is said")
