"""Exact results of policies on boards that can be enumerated, and sampled ones with an interval on larger boards.

On such a board two policies define a probability for every position, so the result of a match is computed, not played.
A result counts from X's side unless it says otherwise. Probability that a policy puts on a taken cell is a loss by
illegal move, and is shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import unknown_name, whole_number
from tictactoe_env.notation import SIDES
from tictactoe_env.policy import Policy, RandomPolicy, checked_probs, sample, tabulate
from tictactoe_env.positions import Positions, positions_of
from tictactoe_env.rules import Boards, Rules
from tictactoe_env.solver import solve

ROUNDING = 1e-12  # two probabilities closer than this are the same: rounding of sums of some thousand float64 terms


@dataclass(frozen=True)
class Result:
    """Probabilities of a match for one side; win + draw + loss = 1.

    illegal: the part of `loss` that is this side's own illegal moves. illegal_other: the part of `win` that is the other's.
    """

    win: float
    draw: float
    loss: float
    illegal: float = 0.0
    illegal_other: float = 0.0

    @property
    def other_side(self) -> Result:
        """The same match seen by the other side."""
        return Result(self.loss, self.draw, self.win, self.illegal_other, self.illegal)

    @property
    def value(self) -> float:
        """win - loss."""
        return self.win - self.loss


def exact_result(policy_x: Policy, policy_o: Policy, rules: Rules | None = None) -> Result:
    """The exact result for X of two policies, stochastic ones included.

    The board is that of a TabularPolicy among the two, or `rules`, or 3x3.
    """
    rules = board_of(rules, policy_x, policy_o)
    positions = positions_of(rules)
    tables = [tabulate(policy, rules).by_row() for policy in (policy_x, policy_o)]
    reach = np.zeros(len(positions))
    reach[0] = 1
    illegal = [0.0, 0.0]
    for ply in range(rules.cells):
        rows = _going(positions, ply)
        flow = reach[rows, None] * tables[ply % 2][rows]
        children = positions.children[rows]
        legal = children >= 0
        illegal[ply % 2] += float(flow[~legal].sum())
        first, last = positions.ply_starts[ply + 1], positions.ply_starts[ply + 2]
        reach[first:last] = np.bincount(
            children[legal] - first, weights=flow[legal], minlength=last - first
        )
    x_lines, o_lines = (float(reach[positions.outcome_x == mark].sum()) for mark in (1, -1))
    drawn = float(reach[positions.is_over & (positions.outcome_x == 0)].sum())
    return Result(x_lines + illegal[1], drawn, o_lines + illegal[0], illegal[0], illegal[1])


def exact_result_as(
    side: str, policy: Policy, opponent: Policy, rules: Rules | None = None
) -> Result:
    """The exact result for `policy`, playing `side`, against `opponent`."""
    return (
        exact_result(policy, opponent, rules)
        if _seat(side) > 0
        else exact_result(opponent, policy, rules).other_side
    )


@dataclass(frozen=True)
class BestResponse:
    """What the best possible opponent, one that knows the policy, makes of it when it plays `side`.

    value: the policy's expected result (win - loss) against the opponent that makes it smallest.
    loss: the largest probability of losing that any opponent can force.
    can_lose: whether any line at all, of positive probability, ends in a loss. losing_line: the shortest such game
    (cells, an illegal move of the policy included), or None.
    """

    side: str
    value: float
    loss: float
    can_lose: bool
    losing_line: tuple[int, ...] | None


def best_responses(policy: Policy, rules: Rules | None = None) -> dict[str, BestResponse]:
    """The worst case of a policy as X and as O, over all opponents there can be: {"X": ..., "O": ...}."""
    rules = board_of(rules, policy)
    table = tabulate(policy, rules).by_row()
    return {side: _best_response_to(side, table, positions_of(rules)) for side in ("X", "O")}


def _best_response_to(side: str, table: NDArray[np.float64], positions: Positions) -> BestResponse:
    seat = 1 if side == "X" else -1
    value = (positions.outcome_x * seat).astype(np.float64)
    loss = (value < 0).astype(np.float64)
    plies_to_loss = np.where(loss > 0, 0.0, np.inf)
    for ply in range(positions.rules.cells - 1, -1, -1):
        rows = _going(positions, ply)
        children = positions.children[rows]
        legal = children >= 0
        if (ply % 2 == 0) == (side == "X"):
            probs = table[rows]
            value[rows] = (probs * np.where(legal, value[children], -1.0)).sum(axis=1)
            loss[rows] = (probs * np.where(legal, loss[children], 1.0)).sum(axis=1)
            nearest = np.where(probs > 0, np.where(legal, plies_to_loss[children], 0.0), np.inf)
        else:
            value[rows] = np.where(legal, value[children], np.inf).min(axis=1)
            loss[rows] = np.where(legal, loss[children], -np.inf).max(axis=1)
            nearest = np.where(legal, plies_to_loss[children], np.inf)
        plies_to_loss[rows] = 1 + nearest.min(axis=1)
    can_lose = bool(np.isfinite(plies_to_loss[0]))
    line = _shortest_line(side, table, positions, plies_to_loss) if can_lose else None
    return BestResponse(side, float(value[0]), float(loss[0]), can_lose, line)


def _shortest_line(
    side: str, table: NDArray[np.float64], positions: Positions, plies_to_loss: NDArray[np.float64]
) -> tuple[int, ...]:
    """Follow the shortest way to a loss from the empty board; the lowest cell among equals."""
    line, row = [], 0
    while plies_to_loss[row] > 0:
        children = positions.children[row]
        own = bool(positions.x_to_move[row]) == (side == "X")
        for cell in range(positions.rules.cells):
            child = int(children[cell])
            if (own and table[row, cell] == 0) or (not own and child < 0):
                continue
            if (plies_to_loss[child] if child >= 0 else 0) == plies_to_loss[row] - 1:
                line.append(cell)
                row = child
                break
        if row < 0:
            break  # the policy's own illegal move ends the game
    return tuple(line)


@dataclass(frozen=True)
class OptimalShare:
    """Share of a policy's probability that is on optimal moves, mean over positions: 1.0 is perfect play.

    everywhere: over all unfinished positions. reachable: over those it can meet as X or as O, whatever the opponent does.
    """

    everywhere: float
    reachable: float


def optimal_share(policy: Policy, rules: Rules | None = None) -> OptimalShare:
    """How far a policy agrees with perfect play, over all positions and over those that it can reach."""
    rules = board_of(rules, policy)
    positions = positions_of(rules)
    table = tabulate(policy, rules).by_row()
    good = (table * _optimal(rules)).sum(axis=1)
    met = np.zeros(len(positions), dtype=bool)
    for side in ("X", "O"):
        met |= _reachable(side, table, positions)
    return OptimalShare(float(good[positions.unfinished].mean()), float(good[met].mean()))


def _reachable(side: str, table: NDArray[np.float64], positions: Positions) -> NDArray[np.bool_]:
    """Positions (N,) where the policy, playing `side`, may have to move."""
    reached = np.zeros(len(positions), dtype=bool)
    reached[0] = True
    own = np.zeros(len(positions), dtype=bool)
    for ply in range(positions.rules.cells):
        rows = _going(positions, ply)
        rows = rows[reached[rows]]
        children = positions.children[rows]
        moves = children >= 0
        if (ply % 2 == 0) == (side == "X"):
            own[rows] = True
            moves &= table[rows] > 0
        reached[children[moves]] = True
    return own


@lru_cache(maxsize=8)
def _optimal(rules: Rules) -> NDArray[np.bool_]:
    return solve(rules).optimal(np.arange(len(positions_of(rules))))


@lru_cache(maxsize=8)
def best_achievable(rules: Rules) -> dict[str, Result | None]:
    """The most wins against uniformly random play that a policy which never loses can have: {"X": ..., "O": ...}.

    None for a side that cannot avoid losing against perfect play. On 3x3: X wins 191/192, O wins 866/945, the rest draws.
    """
    return {side: _limit(side, rules) for side in ("X", "O")}


def _limit(side: str, rules: Rules) -> Result | None:
    positions, solution = positions_of(rules), solve(rules)
    seat = 1 if side == "X" else -1
    safe = solution.value_x * seat >= 0
    if not safe[0]:
        return None
    win = (positions.outcome_x == seat).astype(np.float64)
    for ply in range(rules.cells - 1, -1, -1):
        rows = _going(positions, ply)
        children = positions.children[rows]
        legal = children >= 0
        if (ply % 2 == 0) == (side == "X"):
            win[rows] = np.where(legal & safe[children], win[children], 0.0).max(axis=1)
        else:
            win[rows] = np.where(legal, win[children], 0.0).sum(axis=1) / legal.sum(axis=1)
    return Result(float(win[0]), float(1 - win[0]), 0.0)


def action_values(
    side: str,
    policy: Policy,
    opponent: Policy,
    rules: Rules | None = None,
    board: Boards | None = None,
) -> NDArray[np.float64]:
    """Exact expected result (win - loss) of `side` after each move on `board`, the two policies playing on: (cells,), NaN on taken cells.

    board: (cells,), unfinished, the empty one by default; the moves are those of whoever has the turn. With side "X"
    these are the Q values of the empty board.
    """
    rules = board_of(rules, policy, opponent)
    positions = positions_of(rules)
    own, other = (tabulate(player, rules).by_row() for player in (policy, opponent))
    value = (positions.outcome_x * _seat(side)).astype(np.float64)
    start = 0 if board is None else int(positions.rows(np.asarray(board)[None])[0])
    if positions.is_over[start]:
        raise ValueError("a finished board has no moves: give an unfinished one")
    for ply in range(rules.cells - 1, int(positions.ply[start]) - 1, -1):
        rows = _going(positions, ply)
        children = positions.children[rows]
        own_turn = (ply % 2 == 0) == (side == "X")
        after = np.where(children >= 0, value[children], -1.0 if own_turn else 1.0)
        value[rows] = ((own if own_turn else other)[rows] * after).sum(axis=1)
    return np.where(positions.children[start] >= 0, value[positions.children[start]], np.nan)


@dataclass(frozen=True)
class SampledResult:
    """A result counted from games, with the 95 % Wilson score interval of each rate (Wilson 1927)."""

    result: Result
    games: int
    intervals: dict[str, tuple[float, float]]


def sampled_result(
    policy_x: Policy, policy_o: Policy, rules: Rules, games: int = 1000, seed: int = 0
) -> SampledResult:
    """Play `games` games and count, for X, on a board of any size; the same seed gives the same games."""
    games = whole_number(games, "games", 1)
    rng = np.random.default_rng(seed)
    boards = np.zeros((games, rules.cells), dtype=np.int8)
    outcome = np.zeros(games, dtype=np.int8)
    going = np.arange(games)
    illegal = [0, 0]
    for ply in range(rules.cells):
        policy, mark = ((policy_x, 1), (policy_o, -1))[ply % 2]
        cells = sample(checked_probs(policy.probs(boards[going]), (len(going), rules.cells)), rng)
        wrong = boards[going, cells] != 0
        illegal[ply % 2] += int(wrong.sum())
        outcome[going[wrong]] = -mark
        going, cells = going[~wrong], cells[~wrong]
        boards[going, cells] = mark
        won = rules.has_line(rules.to_bits(boards[going])[ply % 2])
        outcome[going[won]] = mark
        going = going[~won]
        if len(going) == 0:
            break
    counts = {
        name: int((outcome == mark).sum()) for name, mark in (("win", 1), ("draw", 0), ("loss", -1))
    }
    rates = {name: count / games for name, count in counts.items()}
    result = Result(
        rates["win"], rates["draw"], rates["loss"], illegal[0] / games, illegal[1] / games
    )
    return SampledResult(
        result, games, {name: wilson_interval(count, games) for name, count in counts.items()}
    )


def wilson_interval(count: int, total: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The Wilson score interval of a rate count / total, 95 % by default."""
    rate, spread = count / total, z * z / total
    centre = (rate + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(rate * (1 - rate) / total + spread / (4 * total))
    return max(0.0, centre - half), min(1.0, centre + half)


def result_vs_random(side: str, policy: Policy, rules: Rules | None = None) -> Result:
    """The exact result of `policy` as `side` against uniformly random play."""
    return exact_result_as(side, policy, RandomPolicy(), rules)


def board_of(rules: Rules | None, *policies: Any) -> Rules:
    """The board that the policies say they play on, or `rules`, or 3x3; ValueError if these differ."""
    known = {
        policy.rules for policy in policies if isinstance(getattr(policy, "rules", None), Rules)
    } | ({rules} if rules else set())
    if len(known) > 1:
        raise ValueError(
            f"these policies play on different boards: {', '.join(sorted(map(str, known)))}"
        )
    return known.pop() if known else Rules()


def _seat(side: str) -> int:
    """+1 for "X", -1 for "O"; ValueError for anything else."""
    if side not in SIDES:
        raise unknown_name("side", side, SIDES)
    return 1 if side == "X" else -1


def _going(positions: Positions, ply: int) -> NDArray[np.intp]:
    """Rows of the unfinished positions with `ply` marks."""
    rows = np.arange(positions.ply_starts[ply], positions.ply_starts[ply + 1])
    return rows[~positions.is_over[rows]]
