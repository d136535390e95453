"""A run: the folder that a training writes.

runs/dqn-0/
    config.json         agent, configuration, versions
    checkpoint/         all that is needed to continue, bit for bit: model, state and metrics, the
                        best model so far, and a manifest of these files
    metrics.csv         exact results over the steps, and the learner's notes
    model.safetensors   the best model so far; model.json holds its sha256
    events.out...       the results for TensorBoard, with the learner's losses
    certificate.json    what is proven of the best model
    values.npz          its own values of the moves in all positions, if it has any
    growth.png          learning curves: wins, draws and losses over the steps
    manifest.json       the sha256 of every file, written last: the run is complete

The state of a run is its last complete checkpoint, which replaces the one before by renaming. All
other files follow from it: after a kill they are brought back to it, and at the end written anew.
"""

from __future__ import annotations

import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import Field

from tictactoe_env.certificates.certificate import FILE as CERTIFICATE
from tictactoe_env.certificates.certificate import certify, write
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.stated import package_versions
from tictactoe_env.exact.evaluation import UNTIL, Evaluation, evaluate_or_sample
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import Progress
from tictactoe_env.rules import SIDES
from training import checkpoint, files, kernels, metrics
from training.checkpoint import BEST, MODEL, Model
from training.files import LOCK, MANIFEST, Saved, write_json
from training.goals import check_goal, limit_of
from training.learned import GamesLearner
from training.learner import BoardPlayer, Learner, Page, evaluations
from training.metrics import Row
from training.options import BoardConfig
from training.values import FILE as VALUES
from training.values import write_values

CHECKPOINT_SECONDS = 30  # seconds between two checkpoints: the most that a kill loses
CONFIG, PROGRESS = "config.json", "progress.json"
Numbers = Mapping[str, float]
Name = Annotated[str, Field(pattern=r"^[^/\\[:cntrl:]]+$")]


class Configuration(Saved):
    """The contents of config.json. rival, rival_of: the folder of a second learner beside this."""

    agent: str
    config: dict[str, Any]
    versions: dict[str, str]
    preset: Name | None = None
    rival: Name | None = None
    rival_of: Name | None = None


def read_config_file(folder: Path) -> dict[str, Any]:
    """The content of a run's config.json, in which the configuration itself is not checked yet.

    Raises FileNotFoundError if there is none, DamagedFileError if it is not that of a run.
    """
    if (folder / MANIFEST).exists():
        files.missing_of(folder, [CONFIG])
    return Configuration.read(folder / CONFIG).model_dump(exclude_none=True)


class Made(Saved):
    """The part of progress.json that is read: the seconds of a training up to its checkpoint."""

    seconds: float


class Best(NamedTuple):
    """The best model of a run, its results, and further entries of its certificate."""

    model: Model
    results: Evaluation
    about: Mapping[str, Any]


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
    """A training with its folder: evaluates the learner, keeps the best model and saves both.

    Call `start` or `resume`, `train` unless `is_at_its_end`, and `finish` unless `is_complete`, all
    within `with run.held():`.
    page: the module of the agent. until: "steps", "unbeatable" or "optimal". preset: the name of
    the preset, if one was used. If the configuration has a `side`, only that side counts.
    related: further entries of config.json. checkpoint: its folder, if it is not in the run's.

    A checkpoint is written every CHECKPOINT_SECONDS, also between two evaluations. Ctrl-C stops the
    training at the next evaluation and saves its state; a second Ctrl-C ends it at once, and the
    last checkpoint stays. is_complete: whether a resumed run is at its end and lacks none of its
    files.
    """

    def __init__(
        self,
        folder: Path,
        page: Page,
        config: BoardConfig,
        until: str = "steps",
        preset: str | None = None,
        *,
        related: Mapping[str, str] | None = None,
        checkpoint: Path | None = None,
    ):
        self.folder, self.page, self.config = folder, page, config
        self.until, self.preset, self.related = until, preset, related or {}
        self.checkpoint = checkpoint or folder / "checkpoint"
        self.side: str = getattr(config, "side", "both")
        check_goal(config, until)
        self.learner = page.begin(config)
        self.rows: list[Row] = []
        self.best: Best | None = None
        self.is_interrupted = self.is_complete = False
        self._earlier_seconds, self._began = 0.0, time.monotonic()
        self._last_checkpoint = self._began

    @property
    def name(self) -> str:
        """The name of the agent, followed by that of the preset if there is one."""
        return f"{self.page.AGENT}-{self.preset}" if self.preset else self.page.AGENT

    @property
    def runs(self) -> tuple[Run, ...]:
        """The run itself; two rivals have two."""
        return (self,)

    @property
    def is_saved(self) -> bool:
        """True if there is a checkpoint to continue from; asked also where the disk has failed."""
        return files.has_folder(self.checkpoint)

    @property
    def best_player(self) -> BoardPlayer:
        """The best policy that was evaluated. Raises ValueError before the first evaluation."""
        if self.best is None:
            raise ValueError("nothing was evaluated yet: train up to the first evaluation")
        model = self.best.model
        return self.page.player(model.config, model.arrays)

    @property
    def first_reached(self) -> dict[str, dict[str, Any]]:
        """The goals that were reached, with the steps and seconds at which they first were."""
        found: dict[str, dict[str, Any]] = {}
        for row in reversed(self.rows):
            results = metrics.results_of(row, self.config.rules)
            reached = (goal for goal in UNTIL if results.reached(goal, self.side))
            found |= dict.fromkeys(reached, _point(row))
        return found

    @property
    def is_at_its_end(self) -> bool:
        """True if the training has made its steps, or reached the goal `until`."""
        has_made = bool(self.rows) and self.rows[-1]["steps"] >= self.config.steps
        return has_made or self.until in self.first_reached

    # --- begin or continue -----------------------------------------------------------------------

    def check_folder(self) -> None:
        """Raise ValueError if the path is a file or a folder with content."""
        if self.folder.exists() and (not self.folder.is_dir() or self._has_content()):
            raise ValueError(
                f"{self.folder} is not an empty folder: give another --out, or continue it with "
                f"--resume {self.folder}"
            )

    def _has_content(self) -> bool:
        """True if anything is in the folder besides its lock."""
        return self.folder.is_dir() and any(one.name != LOCK for one in self.folder.iterdir())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder for this process. Raises ValueError if another one trains the run.

        If nothing was saved in a new folder, it is removed again.
        """
        is_new = not self._has_content()
        with files.locked(self.folder):
            try:
                yield
            finally:
                if is_new and not self.is_saved:
                    shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Create the folder. Raises ValueError if the path is a file or a folder with content."""
        self.check_folder()
        self._write_config()

    def _write_config(self) -> None:
        preset = {"preset": self.preset} if self.preset else {}
        about = {"agent": self.page.AGENT, **preset, "config": self.config.saved(), **self.related}
        made_with = {"versions": package_versions(), "kernels": kernels.chosen()}
        write_json(self.folder / CONFIG, {**about, **made_with})

    def resume(self, learn_from: str = "") -> Counter[str]:
        """Continue from the checkpoint: restore the learner, the metrics and the best model.

        A GamesLearner takes in the games that were played with the run since its training, and
        those of the file `learn_from`. Returns its counts of these games, see `take_in`.

        Raises FileNotFoundError without a checkpoint, DamagedFileError for damaged files.
        """
        self.read()
        counts, before, learner = Counter[str](), {}, self.learner
        if isinstance(learner, GamesLearner):
            before = learner.state()
            counts = learner.take_in(self.folder, learn_from)
        self.is_complete &= not counts["learned"]
        if not self.is_complete:
            self.begin_again()
            if isinstance(learner, GamesLearner) and self.best is not None:
                self._take_in(self.best, before, learn_from)
                self.save()
        return counts

    def read(self) -> None:
        """Restore the learner, the metrics and the best model. Changes no file that is whole."""
        files.recover_folder(self.checkpoint)
        if not self.checkpoint.exists():
            raise FileNotFoundError(
                f"{self.folder} has no checkpoint to continue from: train anew with another --out"
            )
        is_sealed = (self.folder / MANIFEST).exists() and not files.missing_of(self.folder)
        files.check_all(self.checkpoint)
        self._earlier_seconds = Made.read(self.checkpoint / PROGRESS).seconds
        self.rows = metrics.read_metrics(self.checkpoint / metrics.FILE)
        checkpoint.restore(self.checkpoint, self.page.AGENT, self.config, self.learner)
        if self.rows:  # else it was written before the first evaluation
            agent, kind = self.page.AGENT, type(self.config)
            model = checkpoint.read_model(self.checkpoint / BEST, agent, kind)
            row = next(row for row in self.rows if row["steps"] == model.steps)
            self.best = Best(model, metrics.results_of(row, self.config.rules), {})
        self.is_complete = is_sealed and self.is_at_its_end

    def begin_again(self) -> None:
        """Bring the files of the run to the checkpoint that was read, as far as they are ahead."""
        (self.folder / MANIFEST).unlink(missing_ok=True)
        files.remove_leftovers(self.folder)
        self._write_config()
        self.publish()

    def _take_in(self, best: Best, before: dict[str, Any], learn_from: str) -> None:
        """Let the best model take in the games that its learner took in, so none lacks them.

        before: the state of the learner without them.
        """
        learner = self.page.begin(self.config)
        assert isinstance(learner, GamesLearner)
        learner.steps = best.model.steps
        learner.restore(best.model.arrays, before)
        learner.take_in(self.folder, learn_from)
        self.best = self._best_of(learner, self._judged(learner.policy()))

    # --- training --------------------------------------------------------------------------------

    def train(self, observer: Observer) -> None:
        """Train until the steps are made, the goal is reached, or Ctrl-C stops it."""
        with self.observed(observer):
            for _ in evaluations(self.learner, self.config, self.pause):
                if self.evaluate():
                    return

    @contextmanager
    def observed(self, observer: Observer) -> Iterator[None]:
        """Tell of the progress, and let Ctrl-C stop the training."""
        self._began = self._last_checkpoint = time.monotonic()
        self._observer = observer
        handler: Any = None
        with suppress(ValueError):  # signals can be caught in the main thread only
            handler = signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            if handler is not None:
                signal.signal(signal.SIGINT, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.is_interrupted:
            raise KeyboardInterrupt
        self.is_interrupted = True
        self._observer.say(
            "stopping and saving after the next evaluation; Ctrl-C again ends at once, and keeps "
            "the last checkpoint"
        )

    def evaluate(self) -> bool:
        """Evaluate exactly, save and show the results; True if training should stop now.

        It should stop at the goal `until`, and after Ctrl-C.
        """
        results = self.note()
        is_over = results.reached(self.until, self.side) or self.is_interrupted
        if is_over or self.learner.steps >= self.config.steps or self.is_checkpoint_due:
            self.save()
        return is_over

    def note(self) -> Evaluation:
        """Evaluate exactly, keep the best model, and show the results."""
        policy, results = self.add(self._observer.prove)
        self._write_tables()
        self._observer.show(self.rows[-1], results, policy, self.learner.scalars())
        return results

    def add(self, progress: Progress | None = None) -> tuple[BoardPlayer, Evaluation]:
        """Add the learner's exact results to the metrics, and keep its model if it is the best."""
        learner, policy = self.learner, self.learner.policy()
        results = self._judged(policy, progress)
        row = metrics.row_of(learner.steps, self._seconds(), results, policy.rules)
        notes = {name: float(value) for name, value in learner.notes().items()}
        self.rows.append({**row, **notes})
        if self.best is None or results.rank(self.side) > self.best.results.rank(self.side):
            self.best = self._best_of(learner, results)
        return policy, results

    def _best_of(self, learner: Learner, results: Evaluation) -> Best:
        arrays = {name: array.copy() for name, array in learner.model().items()}
        return Best(Model(self.config, arrays, learner.steps), results, learner.about())

    def _judged(self, policy: BoardPlayer, progress: Progress | None = None) -> Evaluation:
        limit = limit_of(self.config)
        return evaluate_or_sample(policy, policy.rules, self.side, limit, progress)

    def _seconds(self) -> float:
        """The seconds of the training so far, those before it was resumed included."""
        return round(self._earlier_seconds + time.monotonic() - self._began, 3)

    def pause(self, learner: Learner) -> None:
        """Between two evaluations: show the steps made, and write a checkpoint if one is due."""
        self._observer.advance(learner.steps)
        if self.is_checkpoint_due:
            self.save()

    # --- the files -------------------------------------------------------------------------------

    @property
    def is_checkpoint_due(self) -> bool:
        """True if the last checkpoint is CHECKPOINT_SECONDS old."""
        return time.monotonic() - self._last_checkpoint > CHECKPOINT_SECONDS

    def save(self) -> None:
        """Replace the checkpoint, and bring metrics and best model of the run to it."""
        files.write_folder(self.checkpoint, self.write_checkpoint)
        self.publish()

    def write_checkpoint(self, folder: Path) -> None:
        """Write the checkpoint into an empty folder, its manifest last."""
        checkpoint.save(folder, self.page.AGENT, self.config, self.learner)
        if self.best is not None:
            checkpoint.write_model(folder / BEST, self.page.AGENT, self.best.model)
        metrics.write_metrics(folder / metrics.FILE, self.rows)
        write_json(folder / PROGRESS, {"steps": self.learner.steps, "seconds": self._seconds()})
        files.write_manifest(folder)

    def publish(self) -> None:
        """Bring metrics and best model of the run to those of the checkpoint.

        A certificate of another model is removed; the new one is written at the end.
        """
        self._last_checkpoint = time.monotonic()
        metrics.write_metrics(self.folder / metrics.FILE, self.rows)
        best, model = self.checkpoint / BEST, self.folder / MODEL
        for suffix in (".safetensors", ".json") if self.best is not None else ():
            data, target = best.with_suffix(suffix).read_bytes(), model.with_suffix(suffix)
            if not target.exists() or target.read_bytes() != data:
                for name in (CERTIFICATE, VALUES):
                    (self.folder / name).unlink(missing_ok=True)
                files.write_bytes(target, data)

    def _write_tables(self) -> None:
        for name, table in self.learner.tables().items():
            files.write_csv(self.folder / name, table.names, table.rows)

    def finish(self) -> Certificate | None:
        """Write tables, and certificate and values of the best model.

        The manifest of the run is written last. Returns the certificate; None if there is none,
        since nothing is proven of the best model.
        """
        self._write_tables()
        certificate = self._certificate()
        if certificate is not None:
            write(certificate, self.folder / CERTIFICATE)
            own = getattr(self.best_player, "own", None)
            if own is not None:  # on larger boards its player computes them
                write_values(own, certificate.sha256_of_moves, self.folder / VALUES)
        files.remove_leftovers(self.folder)  # if the disk has failed when a checkpoint was replaced
        files.write_manifest(self.folder)
        return certificate

    def write_untrained(self) -> None:
        """Write a run that has made no step: it can play, and `--resume` trains it."""
        self.start()
        self.add()
        self.save()
        self.finish()

    def _certificate(self) -> Certificate | None:
        """The certificate of the best model, for the sides that were proven; None if none was."""
        policy, best = self.best_player, self.best
        assert best is not None
        proven = tuple(side for side in SIDES if side not in best.results.sampled)
        if not proven:
            return None
        last, at = self.rows[-1], next(r for r in self.rows if r["steps"] == best.model.steps)
        training = {
            "preset": self.preset,
            "steps": last["steps"],
            "games": int(last["games"]) if "games" in last else None,
            "entries": int(at["entries"]) if "entries" in at else None,
            "seconds": last["seconds"],
            "best_at": _point(at),
            **{f"first_{goal}": point for goal, point in self.first_reached.items()},
            **best.about,
        }
        return certify(
            policy,
            self.page.AGENT,
            sides=None if policy.rules.cells <= TABULATED else proven,
            limit=limit_of(self.config),
            seed=self.config.seed,
            config=self.config.saved(),
            training={name: value for name, value in training.items() if value is not None},
        )


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"steps": row["steps"], "seconds": row["seconds"]}
