"""Sampled results, for what cannot be computed: games are played and counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.actions import checked_probs
from tictactoe_env.errors import whole_number
from tictactoe_env.exact.match import Result
from tictactoe_env.policy import Policy, sample
from tictactoe_env.rules import ONGOING, OUTCOME_NUMBERS, SIDES, Rules, mark_of, other_side


@dataclass(frozen=True)
class SampledResult:
    """A result counted from games, with a 95 % Wilson interval for each rate (Wilson 1927)."""

    result: Result
    games: int
    intervals: dict[str, tuple[float, float]]


def sampled_result(
    policy: Policy,
    opponent: Policy,
    rules: Rules,
    games: int = 1000,
    seed: int = 0,
    *,
    side: str = "X",
) -> SampledResult:
    """The result of `policy`, playing `side`, in `games` played games, on any board.

    The same seed gives the same games. A model has to be made a policy first: see `as_policy`.
    """
    games = whole_number(games, "games", 1)
    other = other_side(side)
    players = {side: policy, other: opponent}
    outcome_x, illegal = _play(players, rules, games, np.random.default_rng(seed))
    outcome = outcome_x * mark_of(side)
    counts = {
        "win": int((outcome > 0).sum()),
        "draw": int((outcome == 0).sum()),
        "loss": int((outcome < 0).sum()),
    }
    result = Result(
        **{name: count / games for name, count in counts.items()},
        illegal=illegal[side] / games,
        illegal_other=illegal[other] / games,
    )
    intervals = {name: wilson_interval(count, games) for name, count in counts.items()}
    return SampledResult(result, games, intervals)


def _play(
    players: Mapping[str, Policy], rules: Rules, games: int, rng: np.random.Generator
) -> tuple[NDArray[np.int8], dict[str, int]]:
    """Play games between two players, given by side, all at the same time.

    Returns the outcomes for X (games,), and how many games each side ended by an illegal move.
    """
    boards = np.zeros((games, rules.cells), dtype=np.int8)
    outcome_x = np.zeros(games, dtype=np.int8)
    illegal = {"X": 0, "O": 0}
    going = np.arange(games)  # the games that are not over
    for ply in range(rules.cells):
        mover = SIDES[ply % 2]
        mark = mark_of(mover)
        probs = players[mover].probs(boards[going])
        probs = checked_probs(probs, (len(going), rules.cells), may_be_none=True)
        cells = sample(probs, rng)
        # Where a policy makes no move, `sample` returns the cell after the last: never a legal one.
        no_move = np.zeros((len(going), 1), dtype=bool)
        legal = np.concatenate([rules.legal_cells(boards[going]), no_move], axis=1)
        is_legal = legal[np.arange(len(going)), cells]
        illegal[mover] += int((~is_legal).sum())
        outcome_x[going[~is_legal]] = -mark
        going = going[is_legal]
        boards[going, cells[is_legal]] = mark
        results = rules.results(boards[going])
        outcome_x[going] = mark * OUTCOME_NUMBERS[results]  # 0 while a game goes on
        going = going[results == ONGOING]
        if not len(going):
            break
    return outcome_x, illegal


def wilson_interval(
    count: float, total: float, z: float = 1.959963984540054
) -> tuple[float, float]:
    """The Wilson score interval of the rate count / total, 95 % by default; the rate is in it."""
    rate = count / total
    spread = z * z / total
    centre = (rate + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(rate * (1 - rate) / total + spread / (4 * total))
    # Without rounding errors the rate would be inside anyway.
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))


def clustered_interval(
    sums: NDArray[np.floating[Any]], counts: NDArray[np.integer[Any]]
) -> tuple[float, float]:
    """The 95 % interval of a mean share of moves, by games: the moves of a game depend on another.

    It is the Wilson interval for as many independent moves as would make the mean as uncertain as
    it is between games (their effective number: Kish 1965), but for no more than there are; where
    the games do not differ, for as many as there are games. sums, counts: (games,), of the shares
    and of the moves in each game.
    """
    games = len(sums)
    rate = float(sums.sum() / counts.sum())
    size = float(games)
    differences = sums - rate * counts
    of_sum = games / max(1, games - 1) * float((differences**2).sum())
    variance = of_sum / float(counts.sum()) ** 2
    if variance > 1e-12:
        size = min(rate * (1 - rate) / variance, float(counts.sum()))
    return wilson_interval(rate * size, size)
