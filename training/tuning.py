"""The search for good options of an agent, with Optuna: `train.py AGENT --optimize N`.

A trial trains the agent with some options, once for each of a few seeds. Its score is the mean of
the scores of these trainings, and the lowest is the best:

    0 to 1          the goal was proven: its steps, as a share of the steps that were allowed
    above 1         it was not: 1 plus the `shortfall` of the best model

The figures are exact, unless a proof is beyond its limit (see `evaluate_or_sample`). The trainings
of a trial advance together, from one evaluation to the next, so that a bad trial is pruned before
any of its seeds has used all steps. Optuna holds the trials in FOLDER/study.db.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError

from tictactoe_env.exact.evaluation import Evaluation, evaluate_or_sample
from training.goals import limit_of
from training.learner import AgentModule, evaluations
from training.options import BoardConfig, options_of, typed
from training.search_space import Range, SearchSpace, holds, text_of

COUNTED = (TrialState.COMPLETE, TrialState.PRUNED)
WAIT_SECONDS = 120  # for the file, which another process writes
FIRST_TRIALS = 5  # trials that are never pruned
FAILURES = (ValueError, ArithmeticError)  # of options that cannot be trained, such as NaN weights


def shortfall(results: Evaluation, side: str = "both") -> float:
    """Regret of a policy: it falls as `Evaluation.rank` grows.

    It is two less the policy's number of unbeatable sides, plus a fraction from 0 to 1 that falls
    with its wins minus losses against random play. A side that wins against everybody counts as
    two, since the other is not unbeatable then.
    """
    unbeatable, value = results.rank(side)
    sides = 2 if side == "both" else 1
    missing_value = (sides - value) / (2 * sides)
    return 2 - unbeatable + missing_value


def trained(module: AgentModule, config: BoardConfig, until: str) -> Iterator[float]:
    """Train a seed of a trial without files: after each evaluation its score if it ended now."""
    learner = module.begin(config)
    side = config.learned_side
    best: Evaluation | None = None
    for _ in evaluations(learner, config):
        policy = learner.policy()
        results = evaluate_or_sample(policy, policy.rules, side, limit_of(config))
        if results.reached(until, side):
            yield min(1.0, learner.steps / config.steps)
            return
        best = max(best or results, results, key=lambda one: one.rank(side))
        yield 1 + shortfall(best, side)


@dataclass(frozen=True)
class Search:
    """The objective of a search over the options of an agent that aren't fixed; Optuna calls it.

    config: the configuration of all trials, apart from the options that are searched. seeds: how
    many a trial trains; the first is the seed of the configuration. fixed: the options that were
    given.
    """

    module: AgentModule
    config: BoardConfig
    until: str
    seeds: int
    fixed: tuple[str, ...] = ()

    @property
    def space(self) -> SearchSpace:
        """The ranges of the options that are searched. Raises ValueError if there are none.

        An option whose value is outside its range keeps it, such as one that the board requires.
        """
        known: SearchSpace = getattr(self.module, "SEARCH", {})
        if not known:
            raise ValueError(f"{self.module.AGENT} cannot be searched: its module has no SEARCH")
        found = {
            name: place
            for name, place in known.items()
            if name not in self.fixed and holds(place, getattr(self.config, name))
        }
        if not found:
            raise ValueError(f"nothing is left to search: leave out one of {', '.join(known)}")
        return found

    @property
    def name(self) -> str:
        """The name of Optuna's study: another one for each search with other options."""
        own = (self.module.AGENT, self.until, self.seeds, self.space, self.fixed)
        config = {name: value for name, value in self.config if name not in self.space}
        digest = sha256(repr((own, config)).encode()).hexdigest()
        return f"{self.module.AGENT}-{digest[:8]}"

    @property
    def rounds(self) -> int:
        """The evaluations of a training that does not reach its goal."""
        return math.ceil(self.config.steps / self.config.judge_every)

    def study(self, path: Path) -> optuna.Study:
        """The study in a file of SQLite. Its first trial has the options of the configuration.

        Raises ValueError for a damaged file.
        """
        storage = f"sqlite:///{path}?timeout={WAIT_SECONDS}"
        pruner = optuna.pruners.MedianPruner(FIRST_TRIALS, self.rounds // 3)
        first: dict[str, Any] = {}
        for name, place in self.space.items():
            value = getattr(self.config, name)
            first[name] = text_of(value) if isinstance(place, tuple) else value
        try:
            study = optuna.create_study(
                storage=storage, pruner=pruner, study_name=self.name, load_if_exists=True
            )
            if not study.get_trials(states=COUNTED):
                study.enqueue_trial(first)
        except (SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            reason = str(error.__cause__ or error).splitlines()[0]
            raise ValueError(f"{path} cannot be used: {reason}; give another --out") from None
        return study

    def __call__(self, trial: optuna.Trial) -> float:
        """Train with options that Optuna suggests, once for each seed; the score.

        A seed that has ended keeps its score in the rounds that are left, so that other trials are
        compared with it. Options that cannot be trained end the trial as a pruned one.
        """
        # By its number, so that no two processes suggest the same.
        (seed,) = np.random.SeedSequence([self.config.seed, trial.number]).generate_state(1)
        trial.study.sampler = optuna.samplers.TPESampler(seed=int(seed))
        texts = {name: suggested(trial, name, place) for name, place in self.space.items()}
        trial.set_user_attr("options", texts)
        scores = [np.inf] * self.seeds
        try:
            trainings = [
                trained(self.module, config, self.until) for config in self.configs_of(texts)
            ]
            for number in range(self.rounds):
                scores = [
                    next(training, last) for training, last in zip(trainings, scores, strict=True)
                ]
                trial.report(fmean(scores), number)
                if trial.should_prune():
                    raise optuna.TrialPruned
        except FAILURES as error:
            raise optuna.TrialPruned(f"{type(error).__name__}: {error}") from error
        trial.set_user_attr("scores", scores)
        return fmean(scores)

    def configs_of(self, texts: Mapping[str, str]) -> list[BoardConfig]:
        """The configurations of the seeds of a trial, with options as they are typed, by name."""
        known = options_of(self.module.Config)
        options = {
            name: typed(known[name].rebuild_annotation(), text) for name, text in texts.items()
        }
        first = self.config.replace(**options)
        return [first.replace(seed=first.seed + number) for number in range(self.seeds)]


def suggested(trial: optuna.Trial, name: str, place: Range | tuple[str, ...]) -> str:
    """The value of an option that Optuna suggests, as it is typed."""
    if isinstance(place, tuple):
        return str(trial.suggest_categorical(name, place))
    if isinstance(place.low, int):
        return str(trial.suggest_int(name, place.low, int(place.high), log=place.log))
    # A few digits, so that the command of the best trial is readable.
    return f"{trial.suggest_float(name, place.low, place.high, log=place.log):.3g}"
