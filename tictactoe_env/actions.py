"""Actions of a player, cells or columns, and the probabilities of moves that they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import one_of
from tictactoe_env.rules import Boards, Rules

SUM_TOLERANCE = 1e-5  # largest error of a row's sum that is accepted: float32 softmaxes have less
_SUM_ROUNDING = 1e-14  # largest error of a row's sum that is not corrected: float64 rounding


def checked_actions(actions: str, rules: Rules) -> str:
    """The given word. Raises ValueError for an unknown one, and for columns without gravity."""
    if one_of("actions", actions, ("cells", "columns")) == "columns" and not rules.gravity:
        raise ValueError('actions="columns" needs pieces that fall: give gravity=True')
    return actions


def legal_actions(boards: Boards, rules: Rules, actions: str = "cells") -> NDArray[np.bool_]:
    """The legal actions (B, n) on boards (B, cells): cells, or columns."""
    legal = rules.legal_cells(boards)
    return rules.open_columns(legal) if actions == "columns" else legal


def on_cells(
    found: NDArray[Any], boards: Boards, rules: Rules, actions: str = "cells"
) -> NDArray[np.float64]:
    """The probabilities (B, cells) of a player's answers on boards (B, cells), cells or columns.

    found: the chosen actions (B,) or their probabilities (B, n). Raises ValueError for others.
    """
    count = rules.cols if actions == "columns" else rules.cells
    if found.shape == (len(boards),):
        wrong = found[~np.isin(found, np.arange(count))]
        if len(wrong):
            raise ValueError(f"the model must predict {actions}, 0 to {count - 1}, got {wrong[0]}")
        probs = np.zeros((len(found), count))
        np.put_along_axis(probs, found[:, None].astype(np.intp), 1, axis=1)
    else:
        probs = checked_probs(found, (len(boards), count))
    if actions == "cells":
        return probs
    placed = np.zeros(boards.shape)
    np.put_along_axis(placed, rules.landing(rules.legal_cells(boards)), probs, axis=1)
    return placed


def checked_probs(
    probs: Any, shape: tuple[int, int], may_be_none: bool = False
) -> NDArray[np.float64]:
    """A copy of `probs` as float64, rows scaled to sum to 1; ValueError if they are far from it.

    may_be_none: accept rows of zeros, which are no move.
    """
    try:
        array = np.array(probs, dtype=np.float64)
    except TypeError:
        kind = type(probs).__name__
        raise ValueError(f"probabilities must have the shape {shape}, got a {kind}") from None
    if array.shape != shape:
        raise ValueError(f"probabilities must have the shape {shape}, got {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError("probabilities must be finite and not negative")
    sums = array.sum(axis=1, keepdims=True)
    off = np.abs(sums - 1)
    if may_be_none:
        off[sums == 0] = 0
    if (off > SUM_TOLERANCE).any():
        worst = int(off.argmax())
        raise ValueError(f"probabilities must sum to 1, row {worst} sums to {sums[worst, 0]}")
    np.divide(array, sums, out=array, where=off > _SUM_ROUNDING)
    return array
