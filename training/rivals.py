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
run count the whole training, the turns of the other learner included.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from training.files import write_folder
from training.learner import evaluations
from training.run import Observer, Run
from training.selfplay import RIVAL


class RivalRun(Run):
    """The run of one of the two learners."""

    @property
    def name(self) -> str:
        """The name of the agent and its preset; "(rival)" marks the second learner."""
        if "rival_of" in self.files.related:
            return f"{super().name} ({RIVAL})"
        return super().name


class Rivals:
    """The training of two learners against each other, and their runs.

    The checkpoint of the first one has the checkpoint of the second one in it.
    """

    def __init__(self, first: RivalRun, second: RivalRun):
        self.first = first
        self.second = second
        self.runs = (first, second)
        # At least the larger one of the two, so that no snapshot is handed over twice.
        configs: list[Any] = [run.config for run in self.runs]
        self.turn_steps: int = max(config.snapshot_every for config in configs)

    def other(self, run: RivalRun) -> RivalRun:
        """The run of the other learner."""
        return self.second if run is self.first else self.first

    def resume(self, learn_from: str = "") -> Counter[str]:
        """Continue from the checkpoint of both, as `Run.resume` does; none learns from games."""
        for run in self.runs:
            run.learner.set_rival(self.other(run).learner)
            run.read()
        if not self.is_complete:
            for run in self.runs:
                run.return_to_checkpoint()
        return Counter()

    @property
    def is_complete(self) -> bool:
        """True if both are at their end, and lack none of their files."""
        return self.is_at_its_end and all(run.is_complete for run in self.runs)

    @property
    def are_judged(self) -> bool:
        """True if each learner was evaluated, so that it has a best model to save."""
        return all(run.record.rows for run in self.runs)

    @property
    def is_at_its_end(self) -> bool:
        """True if both have made their steps, or both have reached the goal."""
        if not self.are_judged:  # each learner has at least one turn
            return False
        if not self.unfinished:
            return True
        return all(run.until in run.record.first_reached for run in self.runs)

    @property
    def unfinished(self) -> list[RivalRun]:
        """The runs whose learners have steps left."""
        return [run for run in self.runs if run.learner.steps < run.config.steps]

    def train(self, *observers: Observer) -> None:
        """Train until both have made their steps or reached the goal, or until Ctrl-C."""
        of_first, of_second = observers
        with self.first.observed(of_first), self.second.observed(of_second):
            is_over = self.is_at_its_end
            while not is_over:
                self.turn()
                is_stopped = self.are_judged and any(run.is_interrupted for run in self.runs)
                is_over = is_stopped or self.is_at_its_end
                if is_over or (self.are_judged and self.first.is_checkpoint_due):
                    self.save()

    def turn(self) -> None:
        """Train the learner that has had fewer turns against the newest snapshot of the other."""
        run = min(self.unfinished, key=self.turns_of)
        run.learner.add_rival(self.other(run).learner.snapshot())
        end_of_turn = (self.turns_of(run) + 1) * self.turn_steps
        config = run.config.replace(steps=min(end_of_turn, run.config.steps))
        for _ in evaluations(run.learner, config):
            run.judge()

    def turns_of(self, run: RivalRun) -> int:
        """The number of turns that a learner has had."""
        return run.learner.steps // self.turn_steps

    def save(self) -> None:
        """Write the checkpoint of both; the manifest of the first lists the files of the other."""

        def write(folder: Path) -> None:
            self.second.write_checkpoint(folder / "rival")
            self.first.write_checkpoint(folder)

        write_folder(self.first.files.checkpoint, write)
        for run in self.runs:
            run.publish()
