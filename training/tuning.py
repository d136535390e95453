"""The search for good options of an agent, with Optuna: `train.py AGENT --optimize N`.

A trial trains the agent with some options, once for each of a few seeds. Its score is the mean of
the scores of these trainings, and the lowest is the best:

    0 to 1          the goal was proven: its steps, as a share of the steps that were allowed
    above 1         it was not: 1, and what the best model lacks, see `shortfall`

The figures are those of `evaluate_or_sample`: exact, unless a proof is beyond its limit. The
trainings of a trial advance together, from one evaluation to the next, so that a bad trial is
pruned before any of its seeds has used all steps.

    runs/dqn-optimize-0/
        study.db        Optuna's study, in SQLite; `optuna-dashboard` and Optuna itself read it
        trials.csv      the finished trials, the best one first
        history.png     their scores, and the best one so far
        importance.png  which options matter, by PED-ANOVA

Several processes may work on one study. A trial is claimed under a lock. What a killed process had
claimed is made anew by the next one, with the same options: the options of a trial follow from the
seed, its number and the trials that were finished before it.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from tictactoe_env.exact.evaluation import Evaluation, evaluate_or_sample
from tictactoe_env.files import check_file
from tictactoe_env.rules import SIDES
from training.goals import limit_of
from training.learner import Page, evaluations
from training.options import BoardConfig, Option, options_of
from training.search_space import DIGITS, Choice, Range, SearchSpace, holds, is_whole, text_of

STUDY, NAME = "study.db", "search"  # the file, and the name of the study in it
LOCK = ".claims.lock"  # held while a process claims a trial
LOCK_SECONDS = 120  # seconds that a process waits for the lock or for the database
FIRST_TRIALS = 5  # trials that are never pruned
RANDOM_TRIALS = 10  # trials with random options; later ones follow from the finished ones
FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
FAILURES = (ValueError, ArithmeticError)  # of options that cannot be trained, such as NaN weights
DAMAGE = (sqlite3.Error, SQLAlchemyError, optuna.exceptions.StorageInternalError)


class StudyError(ValueError):
    """The file of a study is damaged, or it is that of another search."""


# --- the score ------------------------------------------------------------------------------------


def shortfall(results: Evaluation, side: str = "both") -> float:
    """What a policy lacks: it falls as `Evaluation.rank` grows, and is at least 0.

    The best number of sides in a rank (an X that wins against everybody counts as two, but then no
    O is unbeatable) less the policy's, plus a fraction from 0 to 1 that falls with the wins minus
    losses against random play.
    """
    unbeatable, value = results.rank(side)
    sides = sides_of(side)
    return (1 if side == "O" else 2) - unbeatable + (sides - value) / (2 * sides)


def sides_of(side: str) -> int:
    """The number of sides that are learned."""
    return 2 if side == "both" else 1


class Training:
    """The training of one seed of a trial. It keeps the best results and writes no files."""

    def __init__(self, page: Page, config: BoardConfig, until: str):
        self.config, self.until = config, until
        self.side: str = getattr(config, "side", "both")
        self.learner = page.begin(config)
        self.best: Evaluation | None = None
        self.reached: int | None = None  # the steps after which the goal was proven
        self.is_over = False
        self._rounds = evaluations(self.learner, config)

    def go_on(self) -> None:
        """Train up to the next evaluation, and evaluate."""
        next(self._rounds)
        policy, steps = self.learner.policy(), self.learner.steps
        results = evaluate_or_sample(policy, policy.rules, self.side, limit_of(self.config))
        if self.best is None or results.rank(self.side) > self.best.rank(self.side):
            self.best = results
        if results.reached(self.until, self.side):
            self.reached = steps
        self.is_over = self.reached is not None or steps >= self.config.steps

    @property
    def score(self) -> float:
        """The score if the training ended now."""
        if self.reached is not None:
            return min(1.0, self.reached / self.config.steps)
        assert self.best is not None
        return 1 + shortfall(self.best, self.side)

    def about(self) -> dict[str, Any]:
        """The figures of the training, as JSON: see `terminal.tuner`."""
        assert self.best is not None
        proven = {"X": self.best.unbeatable_x, "O": self.best.unbeatable_o}
        sides = [proven[one] for one in SIDES if self.side in ("both", one)]
        made = {"seed": self.config.seed, "steps": self.learner.steps, "reached": self.reached}
        value = self.best.rank(self.side)[1] / len(sides)
        return {**made, "sides": len(sides), "unbeatable_sides": sum(sides), "value": value}


class ExactMedianPruner(optuna.pruners.BasePruner):  # type: ignore[misc]
    """Prunes a trial whose score is above the median of the completed trials, as far as it is.

    A completed trial that had ended by then counts with its final score. So a trial is also pruned
    if half of the others had reached the goal with fewer steps. The first trials are not pruned,
    nor is any trial in the first third of the evaluations that the median trial needed.
    """

    def prune(self, study: optuna.Study, trial: FrozenTrial) -> bool:
        """Whether the trial should end now."""
        at = trial.last_step
        others = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if at is None or len(others) < FIRST_TRIALS:
            return False
        lengths = [len(other.intermediate_values) for other in others]
        if at + 1 <= median(lengths) / 3:
            return False
        scores = [
            other.intermediate_values[min(at, length - 1)]
            for other, length in zip(others, lengths, strict=True)
        ]
        return trial.intermediate_values[at] > median(scores)


# --- the search space -----------------------------------------------------------------------------


def distribution(known: Option, place: Range | Choice) -> BaseDistribution:
    """Optuna's form of a range."""
    if isinstance(place, Choice):
        return CategoricalDistribution(place.texts)
    if is_whole(known):
        return IntDistribution(int(place.low), int(place.high), log=place.log)
    return FloatDistribution(place.low, place.high, log=place.log)


def searched_options(page: Page, config: BoardConfig, fixed: Sequence[str]) -> dict[str, Option]:
    """The options of the page's SEARCH, by name, without those that are fixed.

    An option whose value is outside its range keeps it, such as one that the board requires. Raises
    ValueError if there are none.
    """
    space: SearchSpace = getattr(page, "SEARCH", {})
    known = {option.name: option for option in options_of(page.Config)}
    found = {
        name: known[name]
        for name, place in space.items()
        if name not in fixed and holds(place, known[name], getattr(config, name))
    }
    if not found:
        raise ValueError(
            "nothing is left to search: leave out one of "
            f"{', '.join(known[name].name for name in space)}"
        )
    return found


# --- the study ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """What is searched: the options of an agent that are not fixed.

    config: the configuration of all trials but for the options that are searched. until: the goal.
    seeds: the number of seeds in a trial; the first is that of the configuration. fixed: the names
    of the options that were given.
    """

    page: Page
    config: BoardConfig
    until: str = "steps"
    seeds: int = 1
    fixed: tuple[str, ...] = ()

    @property
    def searched(self) -> dict[str, Option]:
        """The options that are searched, by name. Raises ValueError if there are none."""
        return searched_options(self.page, self.config, self.fixed)

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Optuna's form of the search space."""
        space: SearchSpace = getattr(self.page, "SEARCH", {})
        return {name: distribution(known, space[name]) for name, known in self.searched.items()}

    @property
    def defaults(self) -> dict[str, Any]:
        """The options of the first trial, as Optuna holds them: those of the configuration."""
        own = {name: getattr(self.config, name) for name in self.searched}
        return {
            name: text_of(self.searched[name], own[name])
            if isinstance(kind, CategoricalDistribution)
            else own[name]
            for name, kind in self.distributions.items()
        }

    def texts(self, place: int, params: Mapping[str, Any]) -> dict[str, str]:
        """The options of a trial as they are typed, by name. The numbers of the first are exact."""
        return {
            name: text_of(known, params[name], digits=None if place == 0 else DIGITS)
            for name, known in self.searched.items()
        }

    def configs(self, texts: Mapping[str, str]) -> list[BoardConfig]:
        """The configuration of each seed of a trial. Raises ValueError for contradictions."""
        options = {name: self.searched[name].parsed(text) for name, text in texts.items()}
        first = self.config.seed
        return [
            replace(self.config, **options, seed=seed) for seed in range(first, first + self.seeds)
        ]

    @property
    def about(self) -> dict[str, Any]:
        """What all trials of a study have in common, as JSON."""
        config = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self.config).items()
            if name not in self.searched
        }
        ranges = {f"the range of {name}": repr(kind) for name, kind in self.distributions.items()}
        own = {"agent": self.page.AGENT, "until": self.until, "seeds_per_trial": self.seeds}
        return {**own, **config, **ranges}


def open_storage(path: Path) -> optuna.storages.RDBStorage:
    """The storage of a study. A kill loses nothing of it, a power failure the last scores.

    A write-ahead log makes a score seven times faster to write than SQLite's default does.
    """
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{path}", engine_kwargs={"connect_args": {"timeout": LOCK_SECONDS}}
    )

    def prepare(connection: Any, _: object) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")

    event.listen(storage.engine, "connect", prepare)
    storage.engine.dispose()  # so that the connection that was open already is made anew
    return storage


class Search:
    """A study in a folder, and the trials that this process makes for it.

    Raises StudyError if the folder holds another search, something else or a damaged file.
    """

    def __init__(self, folder: Path, task: Task):
        self.folder, self.task = folder, task
        self.path = folder / STUDY
        self._token = uuid.uuid4().hex
        self._check_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with self._reading(), held(folder / LOCK, LOCK_SECONDS):
            self._check_file()
            self._storage = open_storage(self.path)
            self.study = optuna.create_study(
                storage=self._storage,
                study_name=NAME,
                pruner=ExactMedianPruner(),
                load_if_exists=True,
            )
            self._check_task()

    def _check_folder(self) -> None:
        """Raise StudyError for a folder with something else."""
        files = list(self.folder.iterdir()) if self.folder.is_dir() else []
        others = [path for path in files if not path.name.startswith((STUDY, "."))]
        is_folder = self.folder.is_dir() or not self.folder.exists()
        if not is_folder or (others and not self.path.exists()):
            raise StudyError(f"{self.folder} is not an empty folder: give another --out")

    def _check_file(self) -> None:
        """Raise StudyError for a damaged file, or one that is no study of Optuna."""
        if not self.path.exists():
            return
        check_file(self.path, StudyError)
        with closing(sqlite3.connect(self.path, timeout=LOCK_SECONDS)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            known = "SELECT study_name FROM studies" if "studies" in tables else "SELECT NULL"
            others = [name for (name,) in connection.execute(known) if name != NAME]
        if tables and others:
            raise StudyError(f"{self.path} is not a search of train.py: give another --out")

    def _damaged(self, reason: object) -> StudyError:
        text = str(reason).strip().splitlines()[0]
        return StudyError(
            f"{self.path} is damaged: {text}; restore it, or begin anew with another --out"
        )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise StudyError where the file cannot be read or written."""
        try:
            yield
        except DAMAGE as error:
            raise self._damaged(error.__cause__ or error) from None

    def _check_task(self) -> None:
        """Raise StudyError if the study is that of another search."""
        saved, asked = self.study.user_attrs.get("task"), self.task.about
        if saved is None:
            self.study.set_user_attr("task", asked)
            return
        for name in [*asked, *saved]:
            if saved.get(name) != asked.get(name):
                self._refuse(name, saved.get(name), asked.get(name))

    def _refuse(self, name: str, saved: object, asked: object) -> None:
        raise StudyError(
            f"{self.folder} is another search: {name} is {saved} there, not {asked}; continue it "
            "with the options of before, or give another --out"
        )

    # --- the trials ------------------------------------------------------------------------------

    def __enter__(self) -> Search:
        """Show other processes that this one is alive, until it ends, however it ends."""
        self._alive = ExitStack()
        self._alive.callback(self._worker(self._token).unlink, missing_ok=True)
        self._alive.enter_context(held(self._worker(self._token), LOCK_SECONDS))
        return self

    def __exit__(self, *_: object) -> None:
        self._alive.close()
        self._storage.remove_session()
        self._storage.engine.dispose()

    def claim(self, total: int) -> optuna.Trial | None:
        """The next trial of `total` with its options; None if all are finished or claimed.

        The trials of killed processes are claimed anew.
        """
        with self._reading(), held(self.folder / LOCK, LOCK_SECONDS):
            for trial in self.running():
                if not self._is_at_work(trial.user_attrs.get("worker")):
                    # It may have been finished since the list was read.
                    self.study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)
            counted = (*FINISHED, TrialState.RUNNING)  # in one list: a trial may end meanwhile
            taken = {place_of(trial) for trial in self.study.get_trials(False, counted)}
            place = next((number for number in range(total) if number not in taken), None)
            return None if place is None else self._begin(place)

    def _begin(self, place: int) -> optuna.Trial:
        """A new trial. Its options follow from the seed, its place, and the finished trials."""
        seeds = np.random.SeedSequence([self.task.config.seed, place])
        self.study.sampler = optuna.samplers.TPESampler(
            n_startup_trials=RANDOM_TRIALS, seed=int(seeds.generate_state(1)[0])
        )
        waiting = self.study.get_trials(deepcopy=False, states=(TrialState.WAITING,))
        if place == 0 and not waiting:
            self.study.enqueue_trial(self.task.defaults)
        trial = self.study.ask(self.task.distributions)
        trial.set_user_attr("place", place)
        trial.set_user_attr("options", self.task.texts(place, trial.params))
        trial.set_user_attr("worker", self._token)
        return trial

    def _worker(self, token: str) -> Path:
        return self.folder / f".worker-{token}.lock"

    def _is_at_work(self, token: str | None) -> bool:
        """Whether the process that claimed a trial is alive and has not given it up."""
        if token in (None, self._token) or not self._worker(str(token)).exists():
            return False
        try:
            with held(self._worker(str(token)), 0):
                pass
        except sqlite3.OperationalError:
            return True
        self._worker(str(token)).unlink(missing_ok=True)
        return False

    def train(
        self, trial: optuna.Trial, show: Callable[[Sequence[Training]], None] = lambda _: None
    ) -> FrozenTrial:
        """Train the seeds of a claimed trial; the finished trial.

        show: called after each evaluation. Options that cannot be trained end a trial as a pruned
        one, with the reason; those of the first trial raise their ValueError or ArithmeticError.
        """
        trainings: list[Training] = []
        with self._reading():
            try:
                is_pruned = self._advance(trial, trainings, show)
            except FAILURES as error:
                if place_of(trial) == 0:
                    self.study.tell(trial, state=TrialState.FAIL)
                    raise
                trial.set_user_attr("failed", f"{type(error).__name__}: {error}")
                is_pruned = True
            except BaseException:
                with suppress(*DAMAGE):
                    self.study.tell(trial, state=TrialState.FAIL)
                raise
            made = [training.about() for training in trainings if training.best is not None]
            trial.set_user_attr("trainings", made)
            if is_pruned:
                return self.study.tell(trial, state=TrialState.PRUNED)
            return self.study.tell(trial, score_of(trainings))

    def _advance(
        self,
        trial: optuna.Trial,
        trainings: list[Training],
        show: Callable[[Sequence[Training]], None],
    ) -> bool:
        """Train until all seeds are done; whether the trial was pruned."""
        configs = self.task.configs(trial.user_attrs["options"])
        trainings += [Training(self.task.page, config, self.task.until) for config in configs]
        number = 0
        while True:
            for training in trainings:
                if not training.is_over:
                    training.go_on()
            show(trainings)
            trial.report(score_of(trainings), number)
            is_over = all(training.is_over for training in trainings)
            if is_over or trial.should_prune():
                return not is_over
            number += 1

    # --- the results -----------------------------------------------------------------------------

    @property
    def finished(self) -> list[FrozenTrial]:
        """The finished trials, in Optuna's order."""
        return self.study.get_trials(deepcopy=False, states=FINISHED)

    def running(self) -> list[FrozenTrial]:
        """The trials that some process has claimed."""
        return self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))

    def ranked(self) -> list[FrozenTrial]:
        """The finished trials, the best first; pruned ones come last, those that got far first."""

        def key(trial: FrozenTrial) -> tuple[bool, int, float, int]:
            is_pruned = trial.state == TrialState.PRUNED
            at = -1 if trial.last_step is None else trial.last_step
            score = trial.intermediate_values.get(at, np.inf)
            return is_pruned, -at if is_pruned else 0, score, place_of(trial)

        return sorted(self.finished, key=key)

    def importances(self) -> dict[str, float]:
        """How much each option matters to be among the best completed trials; they sum to 1.

        Empty for fewer than ten completed trials. By PED-ANOVA (Watanabe et al. 2023,
        https://arxiv.org/abs/2304.10255).
        """
        if sum(trial.state == TrialState.COMPLETE for trial in self.finished) < RANDOM_TRIALS:
            return {}
        return get_param_importances(self.study, evaluator=PedAnovaImportanceEvaluator())


def place_of(trial: FrozenTrial | optuna.Trial) -> int:
    """The number of a trial among those that count, from 0; -1 before it has one."""
    return int(trial.user_attrs.get("place", -1))


def score_of(trainings: Sequence[Training]) -> float:
    """The score of a trial: the mean over its seeds."""
    return fmean(training.score for training in trainings)


@contextmanager
def held(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of a file, which the system frees when the process ends, however it ends.

    The lock is that of SQLite, which works on every system. Raises sqlite3.OperationalError if
    another process still holds it after some seconds, StudyError if it is no file.
    """
    with suppress(FileNotFoundError):
        check_file(path, StudyError)
    with closing(sqlite3.connect(path, timeout=seconds, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            raise StudyError(f"{path} is no lock of a search: remove it ({error})") from None
        yield
