"""The record of a training: what each evaluation has found, and the best model so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tictactoe_env.exact.evaluation import UNTIL, Evaluation
from tictactoe_env.rules import Rules
from training import metrics
from training.checkpoint import Model
from training.history import History
from training.metrics import Row


class Best(NamedTuple):
    """The best model of a run, its results, and further entries of its certificate."""

    model: Model
    results: Evaluation
    entries: Mapping[str, Any]


@dataclass
class Record:
    """The rows of metrics.csv, one for each evaluation, their policies, and the best model.

    side: the side that is learned, "X", "O" or "both"; only its results count. best: None before
    the first evaluation.
    """

    rules: Rules
    side: str
    rows: list[Row] = field(default_factory=list)
    history: History = field(default_factory=History)
    best: Best | None = None

    @property
    def last(self) -> Row:
        """The row of the last evaluation."""
        return self.rows[-1]

    def row_at(self, steps: int) -> Row:
        """The row of the evaluation after this number of steps."""
        return next(row for row in self.rows if row["steps"] == steps)

    def would_improve(self, results: Evaluation) -> bool:
        """True if a model with these results is better than the best one."""
        best = self.best
        return best is None or results.rank(self.side) > best.results.rank(self.side)

    @property
    def first_reached(self) -> dict[str, dict[str, Any]]:
        """The goals that were reached, with the steps and seconds at which they first were."""
        found: dict[str, dict[str, Any]] = {}
        for goal in UNTIL:
            row = next((row for row in self.rows if self._has_reached(row, goal)), None)
            if row is not None:
                found[goal] = time_of(row)
        return found

    def _has_reached(self, row: Row, goal: str) -> bool:
        return metrics.results_of(row, self.rules).reached(goal, self.side)


def time_of(row: Row) -> dict[str, Any]:
    """The steps and the seconds of an evaluation."""
    return {"steps": row["steps"], "seconds": row["seconds"]}
