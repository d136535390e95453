"""What an agent's page defines, and the one training loop.

A page is a module of `agents/` with these names:

    AGENT                       its name, that of the module
    Config                      its options: a frozen dataclass derived from `training.options.BoardConfig`
    PRESETS                     options that belong together, by name: {name: Preset}
    begin(config) -> Learner    a learner that has made no step; ValueError if the options name something unknown
    player(config, model) -> TabularPolicy      the player of a saved model, without the learner
    export_sb3(config, model, path)             optional: the model as Stable-Baselines3's own zip

The house does everything else: it drives the learner, evaluates it, saves, resumes and loads it, and shows its progress.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from tictactoe_env.policy import TabularPolicy
from training.options import BoardConfig, Preset

Arrays = dict[str, NDArray[Any]]
State = dict[str, Any]
"""Nested dicts and lists of arrays, numbers, text, None, and NumPy generators (`training.checkpoint` writes them)."""


class Learner(ABC):
    """What learns. `steps` counts what it has done so far, in the unit `Config.STEP`."""

    steps: int = 0

    @abstractmethod
    def advance(self, most: int) -> None:
        """Play and learn for about `most` further steps (0 or more): at least that many, up to the end of a whole round."""

    @abstractmethod
    def policy(self) -> TabularPolicy:
        """What it plays now, without exploration."""

    @abstractmethod
    def model(self) -> Arrays:
        """The arrays of what plays now, from which `player` makes the same policy."""

    @abstractmethod
    def state(self) -> State:
        """All else that is needed to continue bit for bit, generators included."""

    @abstractmethod
    def restore(self, model: Arrays, state: State) -> None:
        """Continue from `model` and `state` of a learner with the same configuration; `steps` is already set.

        KeyError, IndexError, TypeError, ValueError or RuntimeError mean that they are damaged.
        """

    def notes(self) -> dict[str, float]:
        """Further numbers to show and to write into metrics.csv: the same names each time."""
        return {}

    def scalars(self) -> dict[str, float]:
        """Further numbers for TensorBoard alone, such as losses since the last evaluation."""
        return {}

    def tables(self) -> dict[str, Table]:
        """Tables to write into the run's folder at each evaluation, by file name (`league.csv`)."""
        return {}

    def charts(self, rows: Sequence[Mapping[str, float]]) -> dict[str, Chart]:
        """Charts to draw into the run's folder at each tenth of a training and at its end, by file name (`league.png`).

        rows: the rows of metrics.csv so far.
        """
        return {}


class Page(Protocol):
    """A module of `agents/`."""

    AGENT: str
    Config: type[BoardConfig]
    PRESETS: Mapping[str, Preset]

    def begin(self, config: Any) -> Learner:
        """A learner that has made no step."""
        ...

    def player(self, config: Any, model: Arrays) -> TabularPolicy:
        """The player of a saved model."""
        ...


@dataclass(frozen=True)
class Table:
    """A table for a CSV file: the names of its columns, and its rows."""

    names: Sequence[str]
    rows: Iterable[Sequence[Any]]


@dataclass(frozen=True)
class Chart:
    """Curves over the same numbers `xs`: (name, matplotlib's format such as "C0-", numbers).

    percent: whether the y axis goes from 0 to 100 on a scale that is linear below 0.1 and logarithmic above.
    """

    title: str
    x_label: str
    y_label: str
    xs: Sequence[float]
    curves: Sequence[tuple[str, str, Sequence[float]]]
    percent: bool = False


def crossed(before: int, after: int, every: int) -> bool:
    """Whether a multiple of `every` lies in (before, after]: what is due every so many steps is due then."""
    return after // every > before // every


def drive(learner: Learner, config: BoardConfig, evaluate: Callable[[Learner], bool]) -> None:
    """Train until `config.steps` are made or `evaluate` returns True; the only training loop there is.

    `evaluate` is called at every multiple of `config.judge_every`, at the end of the round that reaches it, and at the end.
    """
    while True:
        before = learner.steps
        to_go = config.judge_every - before % config.judge_every
        asked = max(0, min(to_go, config.steps - before))
        learner.advance(asked)
        learner.steps = int(learner.steps)  # a sum of NumPy's is no number in JSON
        if learner.steps < before + asked:
            raise RuntimeError(
                f"advance must add what it did to `steps`: expected at least {before + asked}, "
                f"got {learner.steps}"
            )
        is_over = learner.steps >= config.steps
        is_due = is_over or crossed(before, learner.steps, config.judge_every)
        if is_due and (evaluate(learner) or is_over):
            return
