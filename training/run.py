"""A run: the folder that a training writes.

runs/dqn-0/
    config.json         agent, configuration, versions
    metrics.csv         exact results over the steps, and the learner's notes
    events.out...       the same for TensorBoard, with the learner's losses
    model.safetensors   the best model so far; model.json holds its sha256
    certificate.json    what is proven of the best model
    values.npz          its own values of the moves in all positions, if it has any
    growth.png          learning curves: wins, draws and losses over the steps
    checkpoint/         all that is needed to continue, bit for bit: model, state and metrics, the
                        best model so far, and a manifest of these files
    manifest.json       the sha256 of every file, written last: the run is complete
"""

from __future__ import annotations

import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from rich.console import Console

from tictactoe_env.certificates.certificate import FILE, certify, write
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.stated import package_versions
from tictactoe_env.exact.evaluation import Evaluation, evaluate_or_sample
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import Progress
from tictactoe_env.rules import SIDES
from tictactoe_env.trained.own_values import FILE as VALUES
from tictactoe_env.trained.own_values import write_values
from training import checkpoint, kernels
from training.events import Events
from training.files import (
    FORMAT,
    HEX,
    SEAL,
    checked,
    has_folder,
    read_json,
    read_sealed,
    recover_folder,
    remove_leftovers,
    write_csv,
    write_folder,
    write_json,
    write_sealed,
)
from training.goals import check_goal_of, limit_of
from training.learner import BoardPlayer, GamesLearner, Learner, Page
from training.locks import FILE as LOCK
from training.locks import locked
from training.manifest import (
    check_all,
    has_manifest,
    missing_of,
    read_manifest,
    remove_manifest,
    write_manifest,
)
from training.metrics import COLUMNS, LATER, read_metrics, results_of, row_of, write_metrics
from training.metrics import FILE as METRICS
from training.options import BoardConfig
from training.plots import chart, learning_curves
from training.progress import Display, tenth_of
from training.schema import Anything, Entries, Named, Number, Text, Whole
from training.values import own_values_of

CHECKPOINT_SECONDS = 30  # seconds between two checkpoints: the most that a kill loses
CONFIG, PROGRESS = "config.json", "progress.json"
PROGRESS_LAYOUT = Entries({"steps": Whole()}, {"seconds": Number(low=0)})
"""What progress.json looks like; the seconds are there between two evaluations only."""
STEPS, FILES, NOTHING = "steps", "files", "nothing"  # what is left of a resumed run


NAME = Text(255, r"(?!\.{1,2}$)[^/\\]+")  # of a folder beside that of the run
ABOUT = Entries(
    {
        "format": FORMAT,
        "agent": Text(100),
        "config": Anything(),
        "versions": Named(Text(100), 100),
        "kernels": Anything(),
        SEAL: HEX,
    },
    {"preset": Text(100), "rival": NAME, "rival_of": NAME},
)
"""What config.json looks like."""


def read_config_file(folder: Path) -> dict[str, Any]:
    """The content of a run's config.json, in which the configuration itself is not checked yet.

    Raises FileNotFoundError if there is none, DamagedFileError if it is not that of a run.
    """
    return read_sealed(folder / CONFIG, ABOUT)


class Run:
    """The folder of a training: evaluates its learner, keeps the best model, saves and shows it.

    Call `start` or `resume`, train within `with run:`
    (`drive(learner, config, run.evaluate, run.pause)`), and call `finish`. After `resume`, `left`
    says what is left: STEPS to train, FILES alone, which `complete` and `finish` write, or NOTHING.
    page: the module of the agent. until: "steps", "unbeatable" or "optimal". preset: the name of
    the preset, if one was used. If the configuration has a `side`, only that side counts.

    A checkpoint is written every CHECKPOINT_SECONDS, also between two evaluations. Ctrl-C stops the
    training at the next evaluation and saves its state; a second Ctrl-C ends it at once, and the
    last checkpoint stays. done: the steps made so far. saved_at: the steps of the checkpoint, None
    without one.
    """

    def __init__(
        self,
        folder: Path,
        page: Page,
        config: BoardConfig,
        until: str = "steps",
        console: Console | None = None,
        preset: str | None = None,
    ):
        self.folder, self.page, self.config = folder, page, config
        self.until, self.preset = until, preset
        self.side: str = getattr(config, "side", "both")
        check_goal_of(config, until)
        self.console = console or Console()
        self.rows: list[dict[str, Any]] = []
        self.best: tuple[Evaluation, int, BoardPlayer] | None = None
        self.is_interrupted = False
        self.first_reached: dict[str, tuple[int, float]] = {}
        self.left = STEPS
        self.done = 0
        self.saved_at: int | None = None
        self._earlier_seconds = 0.0
        self._about: dict[str, Any] = {}  # what the learner of the best model says of it
        self._is_new = self._made_parent = False

    @property
    def name(self) -> str:
        """The name of the agent, followed by that of the preset if there is one."""
        return f"{self.page.AGENT}-{self.preset}" if self.preset else self.page.AGENT

    @property
    def checkpoint(self) -> Path:
        """The folder of the checkpoint."""
        return self.folder / "checkpoint"

    @property
    def is_saved(self) -> bool:
        """Whether there is a checkpoint to continue from; asked also where the disk has failed."""
        return has_folder(self.checkpoint)

    @property
    def relation(self) -> dict[str, Any]:
        """Further entries of config.json: how the run is related to another one."""
        return {}

    def display(self, done: int) -> Display:
        """What shows the progress. done: the steps made before, in a resumed training."""
        return Display(self.page.AGENT, self.config.steps, done, self.console)

    @property
    def best_player(self) -> BoardPlayer:
        """The best policy that was evaluated. Raises ValueError before the first evaluation."""
        return self._best()[2]

    def _best(self) -> tuple[Evaluation, int, BoardPlayer]:
        if self.best is None:
            raise ValueError("nothing was evaluated yet: train up to the first evaluation")
        return self.best

    # --- begin or continue -----------------------------------------------------------------------

    def start(self) -> None:
        """Create the folder. Raises ValueError if the path is a file or a folder with content."""
        self.check_folder()
        self._is_new = True
        self._made_parent = self._made_parent or not self.folder.parent.exists()
        self._write_config()

    def check_folder(self) -> None:
        """Raise ValueError if the path is a file or a folder with content."""
        if self.folder.exists() and (not self.folder.is_dir() or any(self._content())):
            raise ValueError(
                f"{self.folder} is not an empty folder: give another --out, or continue it with "
                f"--resume {self.folder}"
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder for this process. Raises ValueError if another one trains the run.

        If nothing was begun in a new folder, it is removed again.
        """
        is_new, self._made_parent = not self.folder.exists(), not self.folder.parent.exists()
        with locked(self.folder, "the run in"):
            try:
                yield
            finally:
                if is_new and not any(self._content()):
                    self._remove_folder()

    def resume(self, learner: Learner, learn_from: str = "") -> Counter[str]:
        """Continue from the checkpoint: restore the learner, the metrics and the best model.

        A GamesLearner takes in the games that were played with the run since its training, and
        those of the file `learn_from`. Returns its counts of these games, see `take_in`. `left`
        then says what is left of the run. Of a run of which NOTHING is left only files that a kill
        or a broken disk has left half written are removed.

        Raises FileNotFoundError without a checkpoint, DamagedFileError for damaged files.
        """
        self.steps_made()
        counts = Counter[str]()
        self.left = self.left_at_end() if self.is_at_its_end else STEPS
        if self.left == NOTHING:
            with suppress(OSError):  # the disk may be read-only
                remove_leftovers(self.folder)
        if self.left == NOTHING and not isinstance(learner, GamesLearner):
            return counts
        self.read_checkpoint(learner)
        if not isinstance(learner, GamesLearner):
            self.begin_again()
            return counts
        before = learner.state()
        counts = learner.take_in(self.folder, learn_from)
        self.left = STEPS if counts["learned"] else self.left
        if self.left != NOTHING:
            self.begin_again()
            if self.best is not None:
                self._take_in(before, learn_from, counts)
        return counts

    def left_at_end(self) -> str:
        """What is left of a run that is at its end: FILES, or NOTHING if its manifest is right."""
        if not has_manifest(self.folder) or missing_of(self.folder):
            return FILES
        made = read_manifest(self.folder)["steps"]
        return NOTHING if made == self.rows[-1]["steps"] else FILES

    @property
    def is_at_its_end(self) -> bool:
        """Whether the training has made its steps, or reached the goal `until`."""
        steps = self.rows[-1]["steps"] if self.rows else 0
        return steps >= self.config.steps or self.until in self.first_reached

    @property
    def complete_text(self) -> str:
        """What to say of a run of which nothing is left."""
        steps = self.rows[-1]["steps"]
        reached = self.until in self.first_reached
        goal = f" and has reached its goal, {self.until}" if reached else ""
        return (
            f"complete: {self.folder} has trained {steps:,} steps{goal}, and nothing of it is "
            "missing; give --steps more than that to train on"
        )

    def steps_made(self) -> int:
        """The steps of the checkpoint, after a crash that of before. Raises as `resume` does."""
        recover_folder(self.checkpoint)
        if not self.checkpoint.exists():
            raise FileNotFoundError(
                f"{self.folder} has no checkpoint to continue from: train anew with another --out"
            )
        if has_manifest(self.folder):
            missing_of(self.folder)  # raises for a file that was changed
        return self._read_rows()

    def read_checkpoint(self, learner: Learner) -> None:
        """Restore the learner and the best model, after `steps_made` has read the metrics.

        It changes no file.
        """
        checkpoint.restore(self.checkpoint, self.page.AGENT, self.config, learner)
        if self.rows:  # else it was written before the first evaluation
            policy, best_at = checkpoint.load_best(self.page, self.checkpoint)
            self.best = (self._judged(policy), best_at, policy)

    def begin_again(self) -> None:
        """Bring the files of the run to the state of the checkpoint that was read.

        After a kill some may be ahead of it, and others half written.
        """
        remove_manifest(self.folder)
        remove_leftovers(self.folder)
        self._write_config()
        self.write_metrics()
        best, model = self.checkpoint / checkpoint.BEST, self.folder / checkpoint.MODEL
        if self.best is None:  # what is there was written after the checkpoint
            for path in (model, model.with_suffix(".json"), self.folder / FILE):
                path.unlink(missing_ok=True)
        elif not checkpoint.is_same_model(best, model):
            self._replace_model(lambda: checkpoint.copy_model(best, model))

    def _replace_model(self, write: Callable[[], Any]) -> None:
        """Write the best model, and its certificate if there is one of the model before.

        After a kill in between there is none, never one that states the moves of another model.
        """
        had = (self.folder / FILE).exists()
        if had:
            for name in (FILE, VALUES):
                (self.folder / name).unlink(missing_ok=True)
        write()
        if had:
            self._write_certificate()

    def _take_in(self, before: dict[str, Any], learn_from: str, counts: Counter[str]) -> None:
        """Let the best model take in the games that its learner took in, so none lacks them.

        before: the state of the learner without them.
        """
        _, best_at, _ = self._best()
        best = self.page.begin(self.config)
        assert isinstance(best, GamesLearner)
        best.steps = best_at
        best.restore(checkpoint.load_model(self.page, self.folder)[1], before)
        has_learned = best.take_in(self.folder, learn_from)["learned"] > 0
        self._about = best.about()
        if has_learned:
            policy = best.policy()
            self.best = (self._judged(policy), best_at, policy)
            model = (self.folder, self.page.AGENT, self.config, best)
            self._replace_model(lambda: checkpoint.save_model(*model))
        if counts["learned"]:
            self._write_certificate()

    def _read_rows(self) -> int:
        """Read the rows of the checkpoint's metrics; the steps of the checkpoint."""
        check_all(self.checkpoint)
        progress = read_json(self.checkpoint / PROGRESS)
        checked(progress, PROGRESS_LAYOUT, self.checkpoint / PROGRESS)
        self.rows = read_metrics(self.checkpoint / METRICS)
        steps = int(progress["steps"])
        self.first_reached = {}
        for row in self.rows:
            self._note_first(results_of(row, self.config.rules), row["steps"], row["seconds"])
        self._earlier_seconds = progress.get("seconds") or self.rows[-1]["seconds"]
        self.done = self.saved_at = steps
        return steps

    def _write_config(self) -> None:
        preset = {"preset": self.preset} if self.preset else {}
        content = {"agent": self.page.AGENT, **preset, "config": asdict(self.config)}
        made_with = {"versions": package_versions(), "kernels": kernels.chosen()}
        write_sealed(self.folder / CONFIG, {**content, **self.relation, **made_with})

    def write_untrained(self, learner: Learner) -> None:
        """Write a run that has made no step: it can play, and `--resume` trains it."""
        self.start()
        policy = learner.policy()
        results = self._judged(policy)
        self.rows.append({**row_of(0, 0.0, results, policy.rules), **learner.notes()})
        self._keep_if_best(results, learner, policy)
        self.save(learner, is_last=True)
        self._write_certificate()
        remove_leftovers(self.folder)
        write_manifest(self.folder, 0)

    def _content(self) -> Iterator[Path]:
        """What is in the folder besides its lock."""
        if self.folder.is_dir():
            yield from (path for path in self.folder.iterdir() if path.name != LOCK)

    # --- the context manager ---------------------------------------------------------------------

    def __enter__(self) -> Run:
        with suppress(ValueError):  # signals can be caught in the main thread only
            self._old_handler = signal.signal(signal.SIGINT, self._interrupt)
        try:
            self._began = self._last_checkpoint = time.monotonic()
            self._board = Events(self.folder)
            self._display = self.display(self.done)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._display.stop()
        self._board.close()
        self._leave(failed=kind is not None)

    def _leave(self, failed: bool = True) -> None:
        """Handle Ctrl-C as before; where nothing was saved, free the name for the next run."""
        if hasattr(self, "_old_handler"):
            signal.signal(signal.SIGINT, self._old_handler)
        if failed and self._is_new and not self.is_saved:
            self._remove_folder()

    def _remove_folder(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._made_parent:
            with suppress(OSError):  # another run may be in it by now
                self.folder.parent.rmdir()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.is_interrupted:
            raise KeyboardInterrupt
        self.is_interrupted = True
        say = f"stopping at {self.stop_text()}. Ctrl-C again ends at once, {self._kept()}"
        self.console.print(say, soft_wrap=not self.console.is_terminal)

    def stop_text(self) -> str:
        """Where the training stops after Ctrl-C: the steps of the next evaluation."""
        total = self.config.steps
        at = min((self.done // self.config.judge_every + 1) * self.config.judge_every, total)
        when = f"at {at:,} steps; {self.done:,} are made"
        return f"the next evaluation, where the state is saved ({when})"

    def _kept(self) -> str:
        """What there is to continue from."""
        if self.saved_at is None:
            return "and nothing is kept: there is no checkpoint yet"
        return f"and keeps the checkpoint of {self.saved_at:,} steps"

    # --- an evaluation ---------------------------------------------------------------------------

    def evaluate(self, learner: Learner) -> bool:
        """Evaluate exactly, save and show the results; True if training should stop now.

        It should stop at the goal `until`, and after Ctrl-C.
        """
        policy, steps, notes = learner.policy(), learner.steps, learner.notes()
        self.done = steps
        results = self._judged(policy, self._display.prove)
        seconds = self._seconds()
        as_read_back = {name: float(value) for name, value in notes.items()}
        self.rows.append({**row_of(steps, seconds, results, policy.rules), **as_read_back})
        self._note_first(results, steps, seconds)
        self._keep_if_best(results, learner, policy)
        stop = self.is_over(results)
        is_last = stop or steps >= self.config.steps
        self._write_logs(learner, is_last)
        self.save(learner, is_last)
        self._display.show(steps, seconds, results, policy, notes, is_last)
        return stop

    def pause(self, learner: Learner) -> None:
        """Between two evaluations: show the steps made, and write a checkpoint if one is due."""
        self.done = learner.steps
        self._display.advance(learner.steps)
        if self.is_checkpoint_due():
            self._write_tables(learner)
            self.save(learner, is_last=False)

    def _seconds(self) -> float:
        """The seconds of the training so far, those before it was resumed included."""
        return self._earlier_seconds + time.monotonic() - self._began

    def _judged(self, policy: BoardPlayer, progress: Progress | None = None) -> Evaluation:
        """The evaluation of a policy: see `evaluate_or_sample`."""
        return evaluate_or_sample(policy, policy.rules, self.side, limit_of(self.config), progress)

    def is_over(self, results: Evaluation) -> bool:
        """Whether training should stop after an evaluation with these results."""
        return results.reached(self.until, self.side) or self.is_interrupted

    def save(self, learner: Learner, is_last: bool) -> None:
        """Write a checkpoint at the last evaluation, and when one is due."""
        if is_last or self.is_checkpoint_due():
            self.write_metrics()
            write_folder(self.checkpoint, lambda folder: self.write_checkpoint(folder, learner))
            self.note_checkpoint()

    def is_checkpoint_due(self) -> bool:
        """Whether the last checkpoint is CHECKPOINT_SECONDS old."""
        return time.monotonic() - self._last_checkpoint > CHECKPOINT_SECONDS

    def note_checkpoint(self) -> None:
        """Note that a checkpoint was written of the steps made so far."""
        self._last_checkpoint, self.saved_at = time.monotonic(), self.done

    def _keep_if_best(self, results: Evaluation, learner: Learner, policy: BoardPlayer) -> None:
        if self.best is not None and results.rank(self.side) <= self.best[0].rank(self.side):
            return
        self.best, self._about = (results, learner.steps, policy), learner.about()
        model = (self.folder, self.page.AGENT, self.config, learner)
        self._replace_model(lambda: checkpoint.save_model(*model))

    def _note_first(self, results: Evaluation, steps: int, seconds: float) -> None:
        for goal in ("unbeatable", "optimal"):
            if results.reached(goal, self.side):
                self.first_reached.setdefault(goal, (steps, seconds))

    def _write_logs(self, learner: Learner, is_last: bool) -> None:
        """Write TensorBoard's numbers, the learner's tables, and when they are due its charts."""
        steps = learner.steps
        groups = dict.fromkeys((*COLUMNS, *LATER), "exact")
        exact = {
            f"{groups.get(name, 'noted')}/{name}": float(value)
            for name, value in self.rows[-1].items()
            if name != "steps"
        }
        self._board.add({**exact, **learner.scalars()}, steps)
        self._write_tables(learner)
        before, total = self.rows[-2]["steps"] if len(self.rows) > 1 else 0, self.config.steps
        if is_last or tenth_of(steps, total) > tenth_of(before, total):
            self.draw(learner)

    def _write_tables(self, learner: Learner) -> None:
        for name, table in learner.tables().items():
            write_csv(self.folder / name, table.names, table.rows)

    def draw(self, learner: Learner) -> None:
        """Draw the learner's charts."""
        for name, content in learner.charts(self.rows).items():
            chart(content, self.folder / name)

    def write_checkpoint(self, folder: Path, learner: Learner) -> None:
        """Write the checkpoint into an empty folder, its manifest last."""
        checkpoint.save(folder, self.page.AGENT, self.config, learner)
        is_evaluated = bool(self.rows) and self.rows[-1]["steps"] == learner.steps
        if self.rows:
            checkpoint.copy_model(self.folder / checkpoint.MODEL, folder / checkpoint.BEST)
        write_metrics(folder / METRICS, self.rows)
        seconds = {} if is_evaluated else {"seconds": round(self._seconds(), 3)}
        write_json(folder / PROGRESS, {"steps": learner.steps, **seconds})
        write_manifest(folder, learner.steps)

    def write_metrics(self) -> None:
        """Write metrics.csv."""
        write_metrics(self.folder / METRICS, self.rows)

    # --- the end ---------------------------------------------------------------------------------

    def complete(self, learner: Learner) -> None:
        """Write the tables and charts of a resumed run that is at its end; then call `finish`."""
        self._write_tables(learner)
        self.draw(learner)

    def finish(self) -> Certificate | None:
        """Write the metrics, the learning curves, and certificate and values of the best model.

        The manifest of the run is written last. Returns the certificate; None if there is none,
        since nothing is proven of the best model.
        """
        policy = self.best_player
        self.write_metrics()
        title = f"{self.name} on {policy.rules}, seed {self.config.seed}"
        learning_curves(self.rows, policy.rules, self.folder / "growth.png", title)
        certificate = self._write_certificate()
        remove_leftovers(self.folder)  # if the disk has failed when a checkpoint was replaced
        write_manifest(self.folder, self.rows[-1]["steps"])
        return certificate

    def _write_certificate(self) -> Certificate | None:
        """Write the certificate of the best model, and its own values of the moves.

        After a kill in between there is no file of values, never one that belongs to another model.
        Without a proof of any side there is no certificate. On boards of more than 12 cells there
        is no file of values: the player of the model computes them.
        """
        certificate, values = self._certificate(), self.folder / VALUES
        values.unlink(missing_ok=True)
        if certificate is None:
            (self.folder / FILE).unlink(missing_ok=True)
            return None
        write(certificate, self.folder / FILE)
        if self.config.rules.cells > TABULATED:
            return certificate
        own = own_values_of(self.page, *checkpoint.load_model(self.page, self.folder))
        if own is not None:
            write_values(own, certificate.sha256_of_moves, values)
        return certificate

    def _certificate(self) -> Certificate | None:
        """The certificate of the best model, for the sides that were proven; None if none was."""
        results, steps, policy = self._best()
        proven = tuple(side for side in SIDES if side not in results.sampled)
        if not proven:
            return None
        last = self.rows[-1]
        best = next((row for row in self.rows if row["steps"] == steps), last)
        training: Mapping[str, Any] = {
            **({"preset": self.preset} if self.preset else {}),
            "steps": last["steps"],
            **({"games": int(last["games"])} if "games" in last else {}),
            **({"entries": int(best["entries"])} if "entries" in best else {}),
            "seconds": round(last["seconds"], 3),
            "best_at": _point(steps, best["seconds"]),
            **{f"first_{goal}": _point(*at) for goal, at in self.first_reached.items()},
            **self._about,
        }
        about: dict[str, Any] = {
            "seed": self.config.seed,
            "config": asdict(self.config),
            "training": training,
        }
        sides = None if policy.rules.cells <= TABULATED else proven
        limit = limit_of(self.config)
        return certify(policy, self.page.AGENT, sides=sides, limit=limit, **about)


def _point(steps: int, seconds: float) -> dict[str, Any]:
    return {"steps": steps, "seconds": round(seconds, 3)}
