"""A run: the folder that a training writes.

runs/dqn-0/
    config.json         agent, configuration, versions
    metrics.csv         exact results over the steps, and the learner's notes
    events.out...       the same for TensorBoard, with the learner's losses
    model.safetensors   the best model so far; model.json holds its sha256
    certificate.json    what is proven of the best model
    values.npz          its own values of the moves in all positions, if it has any
    growth.png          learning curves: wins, draws and losses over the steps
    checkpoint/         all that is needed to continue, bit for bit
"""

from __future__ import annotations

import csv
import io
import shutil
import signal
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from rich.console import Console

from tictactoe_env.certificate import FILE, certify, versions, write
from tictactoe_env.evaluation import Evaluation, best_play_x
from tictactoe_env.files import write_file
from tictactoe_env.judge import judge
from tictactoe_env.match import Result
from tictactoe_env.own_values import FILE as VALUES
from tictactoe_env.own_values import write_values
from tictactoe_env.proof import TABLE_CELLS, Progress
from tictactoe_env.rules import SIDES, Rules
from training import checkpoint
from training.files import (
    DamagedFileError,
    read_json,
    read_rows,
    recover_folder,
    write_csv,
    write_folder,
    write_json,
)
from training.goals import check_goal, limit_of
from training.learner import BoardPlayer, GamesLearner, Learner, Page
from training.options import BoardConfig
from training.plots import chart, learning_curves
from training.progress import Display, tenth_of
from training.values import own_values_of

CHECKPOINT_SECONDS = 30  # seconds between two checkpoints: the most that a kill loses
PROVEN = ("unbeatable_x", "unbeatable_o", "optimal_x", "optimal_o")
RATES = tuple(f"{side}_{name}" for side in "xo" for name in ("win", "draw", "loss", "illegal"))
SAMPLED = tuple(f"sampled_{side}" for side in "xo")  # on boards of more than 12 cells only
COLUMNS = ("steps", "seconds", *RATES, *PROVEN)
LATER = ("always_wins_x", *SAMPLED)  # columns that runs of older versions lack


class Run:
    """The folder of a training: evaluates its learner, keeps the best model, saves and shows it.

    Call `start` or `resume`, train within `with run:` (`drive(learner, config, run.evaluate)`), and
    call `finish`. page: the module of the agent. until: "steps", "unbeatable" or "optimal".
    preset: the name of the preset, if one was used. If the configuration has a `side`, only that
    side counts. Ctrl-C stops the training at the next evaluation and saves its state; a second
    Ctrl-C ends it at once.
    """

    STOPS_AT = "the next evaluation"  # what Ctrl-C says

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
        check_goal(until, self.side, config.rules)
        self.console = console or Console()
        self.rows: list[dict[str, Any]] = []
        self.best: tuple[Evaluation, int, BoardPlayer] | None = None
        self.is_interrupted = False
        self.first_reached: dict[str, tuple[int, float]] = {}
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
        self._is_new, self._made_parent = True, not self.folder.parent.exists()
        self._write_config()

    def check_folder(self) -> None:
        """Raise ValueError if the path is a file or a folder with content."""
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ValueError(
                f"{self.folder} is not an empty folder: give another --out, or continue it with "
                f"--resume {self.folder}"
            )

    def resume(self, learner: Learner, learn_from: str = "") -> Counter[str]:
        """Continue from the checkpoint: restore the learner, the metrics and the best model.

        A GamesLearner takes in the games that were played with the run since its training, and
        those of the file `learn_from`. Returns its counts of these games, see `take_in`.

        Raises FileNotFoundError without a checkpoint, DamagedFileError for damaged files, and
        ValueError if no steps are left and there is no new game.
        """
        steps = self.steps_made()
        if self.config.steps <= steps and not isinstance(learner, GamesLearner):
            raise self._nothing_left(steps)
        self.restore(learner)
        counts = Counter[str]()
        if isinstance(learner, GamesLearner):
            counts = self._take_in(learner, learn_from)
            if self.config.steps <= steps and not counts["learned"]:
                raise self._nothing_left(steps, counts)
        return counts

    def carry_on(self, learner: Learner) -> bool:
        """Continue from the checkpoint as `resume` does, even if the training is over.

        Returns whether steps are left to train. Raises FileNotFoundError without a checkpoint,
        DamagedFileError for damaged files.
        """
        self.steps_made()
        self.restore(learner)
        if isinstance(learner, GamesLearner):
            self._take_in(learner, "")
        return not self.is_at_its_end

    @property
    def is_at_its_end(self) -> bool:
        """Whether the training has made its steps, or reached the goal `until`."""
        steps = self.rows[-1]["steps"] if self.rows else 0
        return steps >= self.config.steps or self.until in self.first_reached

    def steps_made(self) -> int:
        """The steps of the checkpoint, after a crash that of before. Raises as `resume` does."""
        recover_folder(self.checkpoint)
        if not self.checkpoint.exists():
            raise FileNotFoundError(
                f"{self.folder} has no checkpoint to continue from: train anew with another --out"
            )
        return self._read_metrics()

    def restore(self, learner: Learner) -> None:
        """Restore the learner and the best model, after `steps_made` has read the metrics."""
        checkpoint.restore(self.checkpoint, self.page.AGENT, self.config, learner)
        policy = checkpoint.load(self.page, self.folder)
        best_at = int(read_json(self.folder / "model.json")["steps"])
        self.best = (self._judged(policy), best_at, policy)
        self._write_config()

    def _nothing_left(self, steps: int, counts: Counter[str] | None = None) -> ValueError:
        reasons = "".join(f", {count:,} {reason}" for reason, count in (counts or {}).items())
        none = f" and there is no new game to learn from{reasons}" if counts is not None else ""
        return ValueError(
            f"{self.folder} has trained {steps:,} steps already{none}: give --steps more than that"
        )

    def _take_in(self, learner: GamesLearner, learn_from: str) -> Counter[str]:
        """Let the learner and the best model take in games, so that no later model lacks them."""
        _, best_at, _ = self._best()
        best, (_, model) = (
            self.page.begin(self.config),
            checkpoint.load_model(self.page, self.folder),
        )
        assert isinstance(best, GamesLearner)
        best.steps = best_at
        best.restore(model, learner.state())
        counts = learner.take_in(self.folder, learn_from)
        if best.take_in(self.folder, learn_from)["learned"]:
            policy = best.policy()
            self.best = (self._judged(policy), best_at, policy)
            checkpoint.save_model(self.folder, self.page.AGENT, self.config, best)
        self._about = best.about()
        if counts["learned"]:
            self._write_certificate()
        return counts

    def _read_metrics(self) -> int:
        """Read the rows of metrics.csv up to the checkpoint; the steps of the checkpoint."""
        try:
            steps = int(read_json(self.checkpoint / "progress.json")["steps"])
            rows = [_parsed(row) for row in read_rows(self.folder / "metrics.csv")]
            self.rows = [row for row in rows if row["steps"] <= steps]
            for row in self.rows:
                self._note_first(_results(row, self.config.rules), row["steps"], row["seconds"])
            at_checkpoint = [row for row in self.rows if row["steps"] == steps]
            self._earlier_seconds = at_checkpoint[-1]["seconds"]
        except DamagedFileError:
            raise
        except (*checkpoint.DAMAGE, csv.Error) as error:
            raise DamagedFileError(
                f"progress.json or metrics.csv of {self.folder} is damaged: {error!r}"
            ) from None
        return steps

    def _write_config(self) -> None:
        preset = {"preset": self.preset} if self.preset else {}
        content = {"agent": self.page.AGENT, **preset, "config": asdict(self.config)}
        write_json(
            self.folder / "config.json", {**content, **self.relation, "versions": versions()}
        )

    def write_untrained(self, learner: Learner) -> None:
        """Write a run that has made no step: it can play, and `--resume` trains it."""
        self.start()
        policy = learner.policy()
        results = self._judged(policy)
        self.rows.append({**_row(0, 0.0, results, policy.rules), **learner.notes()})
        self._keep_if_best(results, learner, policy)
        self.save(learner, is_last=True)
        self._write_certificate()

    # --- the context manager ---------------------------------------------------------------------

    def __enter__(self) -> Run:
        with suppress(ValueError):  # signals can be caught in the main thread only
            self._old_handler = signal.signal(signal.SIGINT, self._interrupt)
        try:
            from torch.utils.tensorboard import SummaryWriter

            self._began = self._last_checkpoint = time.monotonic()
            self._board = SummaryWriter(str(self.folder))
            done = self.rows[-1]["steps"] if self.rows else 0
            self._display = self.display(done)
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
        """Handle Ctrl-C as before; where nothing was evaluated, free the name for the next run."""
        if hasattr(self, "_old_handler"):
            signal.signal(signal.SIGINT, self._old_handler)
        if failed and self._is_new and not self.rows:
            shutil.rmtree(self.folder)
            if self._made_parent:
                with suppress(OSError):  # another run may be in it by now
                    self.folder.parent.rmdir()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.is_interrupted:
            raise KeyboardInterrupt
        self.is_interrupted = True
        self.console.print(
            f"stopping at {self.STOPS_AT}, where the state is saved (Ctrl-C again ends at once)"
        )

    # --- an evaluation ---------------------------------------------------------------------------

    def evaluate(self, learner: Learner) -> bool:
        """Evaluate exactly, save and show the results; True if training should stop now.

        It should stop at the goal `until`, and after Ctrl-C.
        """
        policy, steps, notes = learner.policy(), learner.steps, learner.notes()
        results = self._judged(policy, self._display.prove)
        seconds = self._earlier_seconds + time.monotonic() - self._began
        as_read_back = {name: float(value) for name, value in notes.items()}
        self.rows.append({**_row(steps, seconds, results, policy.rules), **as_read_back})
        self._note_first(results, steps, seconds)
        self._keep_if_best(results, learner, policy)
        stop = self.is_over(results)
        is_last = stop or steps >= self.config.steps
        self._write_logs(learner, is_last)
        self.save(learner, is_last)
        self._display.show(steps, seconds, results, policy, notes, is_last)
        return stop

    def _judged(self, policy: BoardPlayer, progress: Progress | None = None) -> Evaluation:
        """The evaluation of a policy: see `judge`."""
        return judge(policy, policy.rules, self.side, limit_of(self.config), progress)

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
        """Note that a checkpoint was written."""
        self._last_checkpoint = time.monotonic()

    def _keep_if_best(self, results: Evaluation, learner: Learner, policy: BoardPlayer) -> None:
        if self.best is not None and results.rank(self.side) <= self.best[0].rank(self.side):
            return
        self.best, self._about = (results, learner.steps, policy), learner.about()
        checkpoint.save_model(self.folder, self.page.AGENT, self.config, learner)
        if (self.folder / FILE).exists():  # in a resumed run: it must match the new model
            self._write_certificate()

    def _note_first(self, results: Evaluation, steps: int, seconds: float) -> None:
        for goal in ("unbeatable", "optimal"):
            if results.reached(goal, self.side):
                self.first_reached.setdefault(goal, (steps, seconds))

    def _write_logs(self, learner: Learner, is_last: bool) -> None:
        """Write TensorBoard's numbers, the learner's tables, and when they are due its charts."""
        steps = learner.steps
        for name, value in self.rows[-1].items():
            if name != "steps":
                group = "exact" if name in (*COLUMNS, *LATER) else "noted"
                self._board.add_scalar(f"{group}/{name}", float(value), steps)
        for name, value in learner.scalars().items():
            self._board.add_scalar(name, value, steps)
        for name, table in learner.tables().items():
            write_csv(self.folder / name, table.names, table.rows)
        before, total = self.rows[-2]["steps"] if len(self.rows) > 1 else 0, self.config.steps
        if is_last or tenth_of(steps, total) > tenth_of(before, total):
            self.draw(learner)

    def draw(self, learner: Learner) -> None:
        """Draw the learner's charts."""
        for name, content in learner.charts(self.rows).items():
            chart(content, self.folder / name)

    def write_checkpoint(self, folder: Path, learner: Learner) -> None:
        """Write the checkpoint into an empty folder.

        Call `write_metrics` first: `resume` drops rows beyond the checkpoint, but needs all others.
        """
        checkpoint.save(folder, self.page.AGENT, self.config, learner)
        write_json(folder / "progress.json", {"steps": learner.steps})

    def write_metrics(self) -> None:
        """Write metrics.csv."""
        text = io.StringIO()
        # A run that was begun by an older version may lack a note, or have one that is gone.
        columns = dict.fromkeys(name for row in self.rows for name in row) or COLUMNS
        writer = csv.DictWriter(text, list(columns))
        writer.writeheader()
        writer.writerows(self.rows)
        write_file(self.folder / "metrics.csv", lambda file: file.write(text.getvalue().encode()))

    # --- the end ---------------------------------------------------------------------------------

    def finish(self) -> dict[str, Any] | None:
        """Write the metrics, the learning curves, and certificate and values of the best model.

        Returns the certificate; None if there is none, since nothing is proven of the best model.
        """
        policy = self.best_player
        self.write_metrics()
        title = f"{self.name} on {policy.rules}, seed {self.config.seed}"
        learning_curves(self.rows, policy.rules, self.folder / "growth.png", title)
        return self._write_certificate()

    def _write_certificate(self) -> dict[str, Any] | None:
        """Write the certificate of the best model, and its own values of the moves.

        After a kill in between there is no file of values, never one that belongs to another model.
        Without a proof of any side there is no certificate. On boards of more than 12 cells there
        is no file of values: the player of the model computes them.
        """
        content, values = self._certificate(), self.folder / VALUES
        values.unlink(missing_ok=True)
        if content is None:
            (self.folder / FILE).unlink(missing_ok=True)
            return None
        write(content, self.folder / FILE)
        if self.config.rules.cells > TABLE_CELLS:
            return content
        own = own_values_of(self.page, *checkpoint.load_model(self.page, self.folder))
        if own is not None:
            write_values(own, content["sha256_of_moves"], values)
        return content

    def _certificate(self) -> dict[str, Any] | None:
        """The certificate of the best model, for the sides that were proven; None if none was."""
        results, steps, policy = self._best()
        proven = tuple(side for side in SIDES if side not in results.sampled)
        if not proven:
            return None
        last = self.rows[-1]
        best = next((row for row in self.rows if row["steps"] == steps), last)
        training: Mapping[str, Any] = {
            **({"preset": self.preset} if self.preset else {}),
            # The best model may come from a resumed training that was killed after its checkpoint.
            "steps": max(last["steps"], steps),
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
        sides = None if policy.rules.cells <= TABLE_CELLS else proven
        limit = limit_of(self.config)
        return certify(policy, self.page.AGENT, sides=sides, limit=limit, **about)


def _point(steps: int, seconds: float) -> dict[str, Any]:
    return {"steps": steps, "seconds": round(seconds, 3)}


def _row(steps: int, seconds: float, results: Evaluation, rules: Rules) -> dict[str, Any]:
    """A row of metrics.csv."""
    sides = {"x": results.x, "o": results.o}
    rates = {name: getattr(sides[name[0]], name[2:]) for name in RATES}
    proven = {name: int(getattr(results, name)) for name in PROVEN}
    later = {"always_wins_x": int(results.always_wins_x)} if results.is_won_by_x else {}
    if rules.cells > TABLE_CELLS:
        later |= {"always_wins_x": int(results.always_wins_x)}
        later |= {f"sampled_{side.lower()}": int(side in results.sampled) for side in SIDES}
    return {"steps": steps, "seconds": round(seconds, 3), **rates, **proven, **later}


def _parsed(row: dict[str, str]) -> dict[str, Any]:
    """A row of metrics.csv. A note that was not taken then is empty, and left out."""
    whole, notes = ("steps", *PROVEN, *LATER), set(row) - set(COLUMNS)
    return {
        name: int(value) if name in whole else float(value)
        for name, value in row.items()
        if value != "" or name not in notes
    }


def _results(row: dict[str, Any], rules: Rules) -> Evaluation:
    names = ("win", "draw", "loss", "illegal")
    x, o = (Result(*(row[f"{side}_{name}"] for name in names)) for side in "xo")
    unbeatable_x, unbeatable_o, optimal_x, optimal_o = (bool(row[name]) for name in PROVEN)
    return Evaluation(
        x,
        o,
        unbeatable_x,
        unbeatable_o,
        optimal_x,
        optimal_o,
        always_wins_x=bool(row.get("always_wins_x", 0)),
        best_play_x=None if row["unbeatable_o"] else best_play_x(rules),
        sampled=tuple(side for side in SIDES if row.get(f"sampled_{side.lower()}")),
    )
