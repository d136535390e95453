"""The protocol of an agent's module, and the one training loop.

A module of `agents/` has these names:

    AGENT                  its name, which is also the name of the module
    TITLE, STORY, UNIT     optional: what people call it, how it learns, in a few sentences, and the
                           plural of a step ("moves" if nothing is said)
    GOAL                   optional: what a default training is proven to reach, "unbeatable" or
                           "optimal"; benchmarks/results.py trains until then
    SMALL                  the options of a training of a second, for the contract tests
    Config                 its options: a class derived from `BoardConfig`
    begin(config)          a `Learner` that has made no step; raises ValueError if an option names
                           something unknown. What it learns, its schedules included, depends on the
                           steps made and never on `config.steps`, so that a longer training goes
                           through the same states: `train.py --resume RUN --steps N` continues one
    player(config, model)  the player of a saved model, made without the learner: a `TabularPolicy`,
                           on boards of more than 12 cells a `training.network_policy.LivePolicy`
    export_sb3(config, model, path)
                           optional: writes the model as Stable-Baselines3's own zip
    SEARCH                 optional: the ranges in which `train.py AGENT --optimize` searches its
                           options, see `training.search_space`

`training.run` does everything else, for all agents alike: it trains the learner with the loop
below, evaluates it, shows its progress, and saves and resumes it (`training.checkpoint`).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

from tictactoe_env.policy import Policy, Probs
from tictactoe_env.rules import Boards, Rules
from training.options import BoardConfig

PIECE_SECONDS = 1.0  # between two pauses of a training
MOST_GROWTH = 4.0  # of the steps from one piece to the next
Arrays = dict[str, NDArray[Any]]
State = dict[str, Any]
"""Nested dicts and lists of arrays, numbers, text, None and NumPy generators."""


class BoardPlayer(Protocol):
    """A policy that names its board: a `TabularPolicy`, or one that asks a network."""

    rules: Rules

    def probs(self, boards: Boards, /) -> Probs:
        """Probabilities (B, cells) on unfinished boards (B, cells)."""
        ...


class Learner(ABC):
    """A learner. `steps` counts its work so far, in the unit `UNIT` of its module."""

    steps: int = 0
    MODEL: ClassVar[tuple[str, ...]] = ()
    """The attributes, arrays, that are the model: what `model` saves and `restore` brings back."""
    STATE: ClassVar[tuple[str, ...]] = ()
    """The attributes that a training needs, besides the model, to continue bit for bit."""
    CHARTS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Columns of metrics.csv that are drawn over the first of them at the end, by file name."""

    def read_files(self) -> None:  # noqa: B027 (most options name no file)
        """Read the files that options name, before the first step; their errors are raised here."""

    @abstractmethod
    def advance(self, most: int) -> None:
        """Play and learn for at least `most` further steps (0 or more), to the end of a round.

        Several calls lead to the same learner as one call for all of their steps.
        """

    @abstractmethod
    def policy(self) -> BoardPlayer:
        """The policy as it is now, without exploration."""

    def model(self) -> Arrays:
        """The arrays from which the module's `player` makes the same policy as `policy()`.

        They are the attributes `MODEL`, unless a module makes others.
        """
        return {name: getattr(self, name) for name in self.MODEL}

    def state(self) -> State:
        """The state to continue from, besides the model: the attributes `STATE`.

        An attribute with methods `state` and `restore` of its own is asked for its state.
        """
        state: State = {}
        for name in self.STATE:
            attribute = getattr(self, name)
            state[name] = attribute.state() if hasattr(attribute, "restore") else attribute
        return state

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from the model and state of a learner with the same configuration.

        `steps` is already set. A learner whose model is no attribute adds what it does with it.
        Afterwards `model()` must be this model. An exception is reported as a damaged file.
        """
        for name in self.MODEL:
            setattr(self, name, model[name])
        for name in self.STATE:
            attribute = getattr(self, name)
            if hasattr(attribute, "restore"):
                attribute.restore(state[name])
            else:
                setattr(self, name, state[name])

    def snapshot(self) -> BoardPlayer:
        """The policy as an opponent, of the learner itself or of a rival."""
        return self.policy()

    def add_rival(self, snapshot: BoardPlayer) -> None:
        """Add a snapshot of another learner to the opponents, as `rival`: see `training.rivals`."""
        raise NotImplementedError(f"{type(self).__name__} has no pool that a rival could join")

    def snapshot_from(self, weights: Arrays) -> Policy:
        """The snapshot of this learner with these weights, on boards without a table."""
        raise NotImplementedError(f"{type(self).__name__} has snapshots as tables only")

    def set_rival(self, rival: Learner) -> None:  # noqa: B027 (most learners have no rival)
        """Say who the rival is, which makes its snapshots from weights. Called before `restore`."""

    def notes(self) -> dict[str, float]:
        """Further numbers to show and to write into metrics.csv, under the same names each time."""
        return {}

    def log_lines(self, since: int) -> list[str]:
        """What has happened after these steps, in lines for the log of the training."""
        return []

    def scalars(self) -> dict[str, float]:
        """Further numbers for TensorBoard only, such as losses since the last evaluation."""
        return {}

    def training_entries(self) -> dict[str, Any]:
        """Further entries for `training` in the certificate of the model as it is now."""
        return {}

    def tables(self) -> dict[str, Table]:
        """Tables to write into the run's folder at each evaluation, by file name (`league.csv`)."""
        return {}


class AgentModule(Protocol):
    """A module of `agents/`."""

    AGENT: str
    Config: type[BoardConfig]

    def begin(self, config: Any) -> Learner:
        """A learner that has made no step."""
        ...

    def player(self, config: Any, model: Arrays) -> BoardPlayer:
        """The player of a saved model."""
        ...


@dataclass(frozen=True)
class Table:
    """A table for a CSV file. One with panels is also drawn at the end of a training.

    Each panel shows columns as curves over the first column: their names, by the panel's title.
    shown: what the terminal says before it prints the first rows at the end of a training; "" for
    a table that it does not print. bars: whether bars are drawn instead of curves, one of each
    column beside the others; the first column has names.
    """

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]
    panels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shown: str = ""
    bars: bool = False


def crossed(before: int, after: int, every: int) -> bool:
    """True if a multiple of `every` is in (before, after], so that it's due."""
    return after // every > before // every


def evaluations(
    learner: Learner,
    config: BoardConfig,
    pause: Callable[[Learner], None] | None = None,
    piece_seconds: float | None = None,
) -> Iterator[None]:
    """The one training loop: trains up to `config.steps`, and yields when an evaluation is due.

        for _ in evaluations(learner, config):
            print(evaluate(learner.policy()))

    That is after the round that reaches a multiple of `config.judge_every`, and at the end.
    With `pause` the learner advances in pieces of about so many seconds, by default PIECE_SECONDS,
    and `pause` is called between them. The pieces do not change what it learns.
    """
    asked_seconds = PIECE_SECONDS if piece_seconds is None else piece_seconds
    is_over = False
    piece = 1  # steps up to the next pause
    while not is_over:
        before = learner.steps
        began = time.monotonic()
        until_evaluation = config.judge_every - before % config.judge_every
        until_end = config.steps - before
        asked = max(0, min(until_evaluation, until_end))
        if pause is not None:
            asked = min(asked, piece)
        learner.advance(asked)
        learner.steps = int(learner.steps)  # JSON has no NumPy integers
        if learner.steps < before + asked:
            raise RuntimeError(
                "advance must count its steps in `steps`: expected at least "
                f"{before + asked}, got {learner.steps}"
            )
        made = learner.steps - before
        seconds = max(time.monotonic() - began, 1e-6)
        piece = max(1, int(made * min(MOST_GROWTH, asked_seconds / seconds)))
        is_over = learner.steps >= config.steps
        if is_over or crossed(before, learner.steps, config.judge_every):
            yield
        elif pause is not None:
            pause(learner)
