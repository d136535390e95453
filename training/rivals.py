"""Two learners, each with a network or table of its own, trained against each other in turns.

At the beginning of its turn a learner gets the newest snapshot of the other one as an opponent, and
keeps earlier ones: `rival` in the option `opponents` stands for them (`training.selfplay`). A turn
takes as many steps as there are between two snapshots. The learner that has had fewer turns is
next, or the first one, so the order follows from the steps made, and a resumed training continues
in it. Each learner has a run of its own:

runs/dqn-0/             the run of the first learner
    checkpoint/         all that is needed to continue both
        rival/          the part of the second learner
runs/dqn-0-rival/       the run of the second learner

The checkpoints of both are written in one step, so they always belong together. The seconds of a
run are those of the whole training, the turns of the other learner included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tictactoe_env.exact.evaluation import Evaluation
from training.files import write_folder
from training.learner import Learner, drive
from training.progress import Display
from training.run import FILES, NOTHING, STEPS, Run


class RivalRun(Run):
    """The run of one of the two learners; `Rivals` decides when training ends and is saved.

    label: its name in the progress. other: the folder of the other run. is_first: whether it is the
    run that is resumed, and holds the checkpoint of both.
    """

    def __init__(self, *arguments: Any, label: str, other: Path, is_first: bool):
        super().__init__(*arguments)
        self.label, self.other, self.is_first = label, other, is_first

    @property
    def checkpoint(self) -> Path:
        """The folder of the checkpoint, for the second learner inside that of the first."""
        return super().checkpoint if self.is_first else self.other / "checkpoint" / "rival"

    @property
    def relation(self) -> dict[str, Any]:
        """The folder beside this one that holds the other run."""
        return {"rival" if self.is_first else "rival_of": self.other.name}

    def display(self, done: int) -> Display:
        """Lines that begin with the label."""
        return Display(self.label, self.config.steps, done, self.console, is_live=False)

    def stop_text(self) -> str:
        """The end of a turn."""
        return "the end of this turn, where the state is saved"

    def is_over(self, results: Evaluation) -> bool:
        """False: a turn is not cut short."""
        return False

    def save(self, learner: Learner, is_last: bool) -> None:
        """Nothing: checkpoints are written at the end of a turn."""


class Rivals:
    """The training of two learners against each other, and their runs."""

    def __init__(self, runs: tuple[RivalRun, RivalRun], learners: tuple[Learner, Learner]):
        self.runs, self.learners = runs, learners
        # At least the larger one of the two, so that no snapshot is handed over twice.
        configs: list[Any] = [run.config for run in runs]
        self.turn_steps: int = max(config.snapshot_every for config in configs)

    @property
    def pairs(self) -> Iterator[tuple[RivalRun, Learner]]:
        """Each run with its learner."""
        return zip(self.runs, self.learners, strict=True)

    def start(self) -> None:
        """Create both folders. Raises ValueError, creating none, if one of them has content."""
        self.check_folders()
        for run in self.runs:
            run.start()

    def check_folders(self) -> None:
        """Raise ValueError if one of the two paths is a file or a folder with content."""
        for run in self.runs:
            run.check_folder()

    def resume(self) -> None:
        """Continue from the checkpoint of both. Raises as `Run.resume` does.

        `left` of both runs then says what is left: of a run at its end that of the other one.
        """
        for run in self.runs:
            run.steps_made()
        left = STEPS
        if self.is_at_its_end:
            is_complete = all(run.left_at_end() == NOTHING for run in self.runs)
            left = NOTHING if is_complete else FILES
        for (run, learner), rival in zip(self.pairs, self.learners[::-1], strict=True):
            run.left = left
            learner.know(rival)
            if left != NOTHING:
                run.read_checkpoint(learner)
        if left != NOTHING:
            for run in self.runs:
                run.begin_again()

    @property
    def left(self) -> str:
        """What is left of both runs: see `Run`."""
        return self.runs[0].left

    @property
    def is_at_its_end(self) -> bool:
        """Whether both have made their steps, or both have reached the goal."""
        have_made = all(run.rows[-1]["steps"] >= run.config.steps for run in self.runs)
        return have_made or all(run.until in run.first_reached for run in self.runs)

    def complete(self) -> None:
        """Write the tables and charts of both, if they are at their end; then finish both."""
        for run, learner in self.pairs:
            run.complete(learner)

    def train(self) -> None:
        """Train until both have made their steps or reached the goal, or until Ctrl-C."""
        with self.runs[0], self.runs[1]:
            while not self.is_over():
                self.turn()
                are_judged = all(run.rows for run in self.runs)  # each has a best model to save
                if self.is_over() or (are_judged and self.runs[0].is_checkpoint_due()):
                    self.save()
            for run, learner in self.pairs:
                run.draw(learner)

    def is_over(self) -> bool:
        """Whether training ends before the next turn. Each learner has at least one turn."""
        if not all(run.rows for run in self.runs):
            return False
        is_interrupted = any(run.is_interrupted for run in self.runs)
        is_reached = all(run.until in run.first_reached for run in self.runs)
        return is_interrupted or is_reached or not self.unfinished()

    def unfinished(self) -> list[int]:
        """The learners, 0 and 1, that have steps left."""
        return [
            number
            for number, (run, learner) in enumerate(self.pairs)
            if learner.steps < run.config.steps
        ]

    def turn(self) -> None:
        """Train the learner that has had fewer turns against the newest snapshot of the other."""
        own = min(self.unfinished(), key=self.turns_of)
        run, learner, other = self.runs[own], self.learners[own], self.learners[1 - own]
        learner.meet(other.snapshot())
        end = (self.turns_of(own) + 1) * self.turn_steps
        drive(learner, replace(run.config, steps=min(end, run.config.steps)), run.evaluate)

    def turns_of(self, number: int) -> int:
        """How many turns a learner has had."""
        return self.learners[number].steps // self.turn_steps

    def save(self) -> None:
        """Write the metrics, and the checkpoint of both."""

        def write(folder: Path) -> None:
            (folder / "rival").mkdir()
            parts = list(zip(self.pairs, (folder, folder / "rival"), strict=True))
            for (run, learner), part in parts[::-1]:  # the manifest of the first lists the other
                run.write_checkpoint(part, learner)

        for run in self.runs:
            run.write_metrics()
        write_folder(self.runs[0].checkpoint, write)
        for run in self.runs:
            run.note_checkpoint()
