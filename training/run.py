"""A training with its folder: it trains a learner, judges it exactly, and stops where it should.

    run = Run(Path("runs/dqn-0"), module, config, until="unbeatable")
    with run.files.held():
        run.start()
        run.train(observer)
        certificate = run.finish()

`training.run_files` says what is in the folder.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tictactoe_env.certificates.content import Certificate
from tictactoe_env.exact.evaluation import Evaluation, evaluate_or_sample
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import Progress
from tictactoe_env.exact.tables import tabulate
from training import files, metrics
from training.certified import certificate_of
from training.checkpoint import Model
from training.goals import check_goal, limit_of
from training.history import arrays_of
from training.interrupt import Interrupt
from training.learned import GamesLearner
from training.learner import AgentModule, BoardPlayer, Learner, State, evaluations
from training.metrics import Row
from training.options import BoardConfig
from training.record import Best, Record
from training.run_files import RunFiles

CHECKPOINT_SECONDS = 30  # seconds between two checkpoints: the most that a kill loses
Numbers = Mapping[str, float]


class Observer(Protocol):
    """Who is told how a training goes, such as `apps.terminal.progress.Display`."""

    def say(self, text: str) -> None:
        """Say something in a line."""

    def advance(self, steps: int) -> None:
        """Say how many steps are made, between two evaluations."""

    def show(self, row: Row, results: Evaluation, policy: BoardPlayer, scalars: Numbers) -> None:
        """Say what an evaluation has found: its row of metrics.csv, and the learner's scalars."""

    def prove(self, side: str, plies: int, positions: int) -> None:
        """Say how far a proof has come; called after each ply of it."""


class Run:
    """A learner that is trained up to its steps or its goal, with the record of its evaluations.

    Call `start` or `resume`, `train` unless `is_at_its_end`, and `finish` unless `is_complete`, all
    within `with run.files.held():`.
    module: the module of the agent. until: "steps", "unbeatable" or "optimal". preset: the name of
    the preset, if one was used. If the configuration has a `side`, only that side counts.
    related, checkpoint: see `RunFiles`.

    A checkpoint is written every CHECKPOINT_SECONDS, also between two evaluations. Ctrl-C stops the
    training at the next evaluation and saves its state; a second Ctrl-C ends it at once, and the
    last checkpoint stays. is_complete: whether a resumed run is at its end and lacks none of its
    files. piece_seconds: see `evaluations`.
    """

    piece_seconds: float | None = None

    def __init__(
        self,
        folder: Path,
        module: AgentModule,
        config: BoardConfig,
        until: str = "steps",
        preset: str | None = None,
        *,
        related: Mapping[str, str] | None = None,
        checkpoint: Path | None = None,
    ):
        check_goal(config, until)
        self.folder = folder
        self.module = module
        self.config = config
        self.until = until
        self.preset = preset
        self.side = config.learned_side
        self.files = RunFiles(
            folder, module, config, preset, related=related, checkpoint=checkpoint
        )
        self.learner = module.begin(config)
        self.record = Record(config.rules, self.side)
        self.is_complete = False
        self._interrupt: Interrupt | None = None
        self._earlier_seconds = 0.0
        self._began = time.monotonic()
        self._last_checkpoint = self._began

    @property
    def name(self) -> str:
        """The name of the agent, followed by the name of the preset if there is one."""
        return f"{self.module.AGENT}-{self.preset}" if self.preset else self.module.AGENT

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs of this training: this one alone, where `rivals.Rivals` has two."""
        return (self,)

    @property
    def best_player(self) -> BoardPlayer:
        """The best policy that was evaluated. Raises ValueError before the first evaluation."""
        if self.record.best is None:
            raise ValueError("nothing was evaluated yet: train up to the first evaluation")
        model = self.record.best.model
        return self.module.player(model.config, model.arrays)

    @property
    def is_at_its_end(self) -> bool:
        """True if the training has made its steps, or reached the goal `until`."""
        record = self.record
        if record.rows and record.last["steps"] >= self.config.steps:
            return True
        return self.until in record.first_reached  # never true of "steps"

    @property
    def is_interrupted(self) -> bool:
        """True if Ctrl-C has asked the training to stop."""
        return self._interrupt is not None and self._interrupt.is_asked

    @property
    def seconds(self) -> float:
        """The seconds of the training so far, those before it was resumed included."""
        return round(self._earlier_seconds + time.monotonic() - self._began, 3)

    # --- begin or continue -----------------------------------------------------------------------

    def start(self) -> None:
        """Create the folder. Raises ValueError if the path is a file or a folder with content.

        The errors of files that options name are raised too.
        """
        self.files.check_folder()
        self.learner.read_files()
        self.files.write_config()

    def resume(self, learn_from: str = "") -> Counter[str]:
        """Continue from the checkpoint: restore the learner, the metrics and the best model.

        A GamesLearner learns from the games that were played with the run since its training, and
        from those of the file `learn_from`. Returns its counts of these games, see `learn_games`.

        Raises FileNotFoundError without a checkpoint, DamagedFileError for damaged files.
        """
        self.read()
        if isinstance(self.learner, GamesLearner):
            return self._resume_with_games(self.learner, learn_from)
        if not self.is_complete:
            self.return_to_checkpoint()
        return Counter()

    def read(self) -> None:
        """Restore the learner and the record of the checkpoint. Changes no file that is whole."""
        self.files.recover_checkpoint()
        is_sealed = self.files.is_sealed  # first, as it raises for a damaged file of the run
        self._earlier_seconds = self.files.read_checkpoint(self.learner, self.record)
        self.is_complete = is_sealed and self.is_at_its_end

    def return_to_checkpoint(self) -> None:
        """Bring the files of the run to the checkpoint that was read, as far as they are ahead."""
        self.files.return_to_checkpoint(self.record)
        self._last_checkpoint = time.monotonic()

    def _resume_with_games(self, learner: GamesLearner, learn_from: str) -> Counter[str]:
        """Learn the games that are new since the checkpoint that was read, and go on from there.

        The best model learns them too, is evaluated again, and is saved with the checkpoint.
        """
        before = learner.state()
        counts = learner.learn_games(self.folder, learn_from)
        if counts["learned"]:
            self.is_complete = False
        if not self.is_complete:
            self.return_to_checkpoint()
            if self.record.best is not None:
                self.record.best = self._with_games(self.record.best, before, learn_from)
                self.save()
        return counts

    def _with_games(self, best: Best, before: State, learn_from: str) -> Best:
        """The best model after it has learned the new games too, with its new results.

        before: the state of the run's learner before it learned these games.
        """
        learner = self.module.begin(self.config)
        assert isinstance(learner, GamesLearner)
        learner.steps = best.model.steps
        learner.restore(best.model.arrays, before)
        learner.learn_games(self.folder, learn_from)
        return self._candidate(learner, self._judged(learner.policy()))

    # --- train and judge -------------------------------------------------------------------------

    def train(self, observer: Observer) -> None:
        """Train until the steps are made, the goal is reached, or Ctrl-C stops it."""
        with self.observed(observer):
            for _ in evaluations(self.learner, self.config, self.pause, self.piece_seconds):
                if self.evaluate():
                    return

    @contextmanager
    def observed(self, observer: Observer) -> Iterator[None]:
        """Within this context the observer is told of the progress, and Ctrl-C stops the training.

        It starts the clock of `seconds` and of the checkpoints anew.
        """
        self._began = time.monotonic()
        self._last_checkpoint = self._began
        self._observer = observer
        with Interrupt(observer.say) as self._interrupt:
            yield

    def evaluate(self) -> bool:
        """Evaluate exactly and show the results; True if training should stop now.

        It should stop at the goal `until`, and after Ctrl-C. The checkpoint is written then, after
        the last step, and when it is due.
        """
        is_over = self.judge().reached(self.until, self.side) or self.is_interrupted
        has_made_its_steps = self.learner.steps >= self.config.steps
        if is_over or has_made_its_steps or self.is_checkpoint_due:
            self.save()
        return is_over

    def judge(self) -> Evaluation:
        """Evaluate exactly, keep the best model, write the learner's tables, and show the results.

        The lines of the learner for the log come first. Call it within `observed`.
        """
        since = self.record.last["steps"] if self.record.rows else 0
        for line in self.learner.log_lines(since):
            self._observer.say(line)
        policy, results = self.add_to_record(self._observer.prove)
        self.files.write_tables(self.learner)
        self._observer.show(self.record.last, results, policy, self.learner.scalars())
        return results

    def add_to_record(self, progress: Progress | None = None) -> tuple[BoardPlayer, Evaluation]:
        """Add the learner's exact results to the record, and its model if it is the best.

        Returns its policy and the results. progress: see `evaluate_or_sample`.
        """
        learner = self.learner
        policy = learner.policy()
        rules = policy.rules
        judged = tabulate(policy, rules) if rules.cells <= TABULATED else policy
        results = self._judged(judged, progress)
        arrays = arrays_of(judged, learner)
        self.record.history.add(len(self.record.rows), learner.steps, arrays)
        row = metrics.row_of(learner.steps, self.seconds, results, rules)
        row |= {name: float(value) for name, value in learner.notes().items()}
        self.record.rows.append(row)
        if self.record.would_improve(results):
            self.record.best = self._candidate(learner, results)
        return policy, results

    def _judged(self, policy: BoardPlayer, progress: Progress | None = None) -> Evaluation:
        """The results of a policy on the side that counts: exact, or sampled beyond the limit."""
        limit = limit_of(self.config)
        return evaluate_or_sample(policy, policy.rules, self.side, limit, progress)

    def _candidate(self, learner: Learner, results: Evaluation) -> Best:
        """The learner as it is now, in copies, to keep as the best model."""
        arrays = {name: array.copy() for name, array in learner.model().items()}
        return Best(Model(self.config, arrays, learner.steps), results, learner.training_entries())

    def pause(self, learner: Learner) -> None:
        """Between two evaluations: show the steps made, and write a checkpoint if one is due."""
        self._observer.advance(learner.steps)
        if self.is_checkpoint_due:
            self.save()

    # --- save and finish -------------------------------------------------------------------------

    @property
    def is_checkpoint_due(self) -> bool:
        """True if the last checkpoint is CHECKPOINT_SECONDS old."""
        return time.monotonic() - self._last_checkpoint > CHECKPOINT_SECONDS

    def save(self) -> None:
        """Replace the checkpoint, and bring metrics and best model of the run to it."""
        files.write_folder(self.files.checkpoint, self.write_checkpoint)
        self.publish()

    def write_checkpoint(self, folder: Path) -> None:
        """Write the checkpoint into an empty folder."""
        self.files.write_checkpoint(folder, self.learner, self.record, self.seconds)

    def publish(self) -> None:
        """Bring metrics and best model of the run to the checkpoint that was just written."""
        self._last_checkpoint = time.monotonic()
        self.files.publish(self.record)

    def finish(self) -> Certificate | None:
        """Write the learner's tables, and the certificate of the best model with its values.

        The manifest of the run is written last. Returns the certificate; None if nothing is proven
        of the best model, which then has none.
        """
        self.files.write_tables(self.learner)
        player = self.best_player
        certificate = certificate_of(
            player, self.module.AGENT, self.config, self.preset, self.record
        )
        if certificate is not None:
            # A `ValuedTable` has its values in `own`. Other players have none that could be
            # written; on larger boards they are computed when the player is asked.
            values = getattr(player, "own", None)
            self.files.write_certificate(certificate, values)
        self.files.seal()
        return certificate

    def write_untrained(self) -> None:
        """Write a run that has made no step: it can play, and `--resume` trains it."""
        self.start()
        self.add_to_record()  # not `judge`: nobody observes
        self.save()
        self.finish()
