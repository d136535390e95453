"""The certificate of a run: what is proven of its best model, and how that was trained."""

from __future__ import annotations

from typing import Any

from tictactoe_env.certificates.certificate import certify
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.rules import SIDES
from training.goals import limit_of
from training.learner import BoardPlayer
from training.options import BoardConfig
from training.record import Best, Record, time_of


def certificate_of(
    player: BoardPlayer,
    agent: str,
    config: BoardConfig,
    preset: str | None,
    record: Record,
) -> Certificate | None:
    """The certificate of the best model, for the sides that were proven; None if none was.

    player: plays the best model of `record`.
    """
    best = record.best
    assert best is not None
    proven = tuple(side for side in SIDES if side not in best.results.sampled)
    if not proven:
        return None
    has_table = player.rules.cells <= TABULATED
    return certify(
        player,
        agent,
        sides=None if has_table else proven,
        limit=limit_of(config),
        seed=config.seed,
        config=config.saved(),
        training=training_of(best, preset, record),
    )


def training_of(best: Best, preset: str | None, record: Record) -> dict[str, Any]:
    """The entries of a certificate that say how its player was trained."""
    last = record.last
    judged = record.row_at(best.model.steps)
    entries: dict[str, Any] = {}
    if preset is not None:
        entries["preset"] = preset
    entries["steps"] = last["steps"]
    if "games" in last:
        entries["games"] = int(last["games"])
    if "entries" in judged:
        entries["entries"] = int(judged["entries"])
    entries["seconds"] = last["seconds"]
    entries["best_at"] = time_of(judged)
    for goal, reached in record.first_reached.items():
        entries[f"first_{goal}"] = reached
    return {**entries, **best.entries}
