"""What every trainer shares: the exact figures of a policy while it learns, and what is done with them.

A trainer calls `report(steps, policy, save, notes)` at fixed numbers of steps. The policy is judged exactly (about 3 ms); the
report says whether to stop. The figures choose when to stop and which checkpoint is kept; they are never a learning signal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tictactoe_env import match
from tictactoe_env.policy import RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.rules import Rules

UNTIL = ("steps", "unbeatable", "optimal")


class Save(Protocol):
    """Writes the trainer into a folder."""

    def __call__(self, folder: Path, everything: bool = True) -> None:
        """The model alone, or everything that is needed to go on bit for bit."""
        ...


@dataclass(frozen=True)
class Figures:
    """Exact figures of a policy: results against random as X and as O, and what the best opponent makes of it."""

    x: match.Result
    o: match.Result
    unbeatable_x: bool
    unbeatable_o: bool
    optimal_x: bool
    optimal_o: bool

    @property
    def unbeatable(self) -> bool:
        """No line of play at all ends in its loss."""
        return self.unbeatable_x and self.unbeatable_o

    @property
    def optimal(self) -> bool:
        """At both limits: no player that never loses wins more often against random."""
        return self.optimal_x and self.optimal_o

    def reached(self, until: str, side: str = "both") -> bool:
        """Whether a goal of UNTIL is reached by a side, or by both; "steps" never is."""
        reached = {
            "steps": (False, False),
            "unbeatable": (self.unbeatable_x, self.unbeatable_o),
            "optimal": (self.optimal_x, self.optimal_o),
        }[until]
        return all(one for name, one in zip("XO", reached, strict=True) if side in ("both", name))

    def rank(self, side: str = "both") -> tuple[float, float]:
        """What the best checkpoint is chosen by: sides that cannot be beaten, then wins minus losses against random."""
        figures = {"X": (self.unbeatable_x, self.x.value), "O": (self.unbeatable_o, self.o.value)}
        safe, values = zip(*(figures[name] for name in "XO" if side in ("both", name)), strict=True)
        return float(sum(safe)), float(sum(values))


def judge(policy: TabularPolicy) -> Figures:
    """The exact figures of a policy."""
    rules = policy.rules
    uniform = _uniform(rules)
    x, o = (match.exact_result_as(side, policy, uniform) for side in ("X", "O"))
    worst, limits = match.best_responses(policy), match.best_achievable(rules)
    safe = {side: not worst[side].can_lose for side in ("X", "O")}
    optimal = (
        safe[side] and limit is not None and result.win >= limit.win - match.ROUNDING
        for side, result, limit in (("X", x, limits["X"]), ("O", o, limits["O"]))
    )
    return Figures(x, o, safe["X"], safe["O"], *optimal)


class Report(Protocol):
    """Called by a trainer; True means stop."""

    def __call__(
        self,
        steps: int,
        policy: TabularPolicy,
        save: Save,
        notes: Mapping[str, float] | None = None,
    ) -> bool:
        """Judge `policy` after `steps` environment steps; `save` writes the trainer's state when it is asked to.

        notes: further numbers to show and to write beside the exact figures, with the same names at every call of a training.
        """
        ...


def silent(until: str = "steps") -> Report:
    """A report that prints and writes nothing, and stops at a goal of UNTIL."""

    def report(
        steps: int, policy: TabularPolicy, save: Save, notes: Mapping[str, float] | None = None
    ) -> bool:
        return until != "steps" and judge(policy).reached(until)

    return report


_tables: dict[Rules, TabularPolicy] = {}


def _uniform(rules: Rules) -> TabularPolicy:
    if rules not in _tables:
        _tables[rules] = tabulate(RandomPolicy(), rules)
    return _tables[rules]
