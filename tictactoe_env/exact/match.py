"""Exact results of policies, and sampled results where a board is too large.

On a board that can be enumerated, two policies define the probability of every position. So the
result of a match is computed, not played. Each function says whose view it takes. Probability on a
taken cell counts as a loss by illegal move, and is also reported separately.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.actions import checked_probs
from tictactoe_env.errors import whole_number
from tictactoe_env.exact.positions import NO_CELL, EndRow, Ply, backward, positions_of
from tictactoe_env.exact.proof import Limit, Progress, Reach, TableReach, reach_of
from tictactoe_env.exact.provable import to_be_met
from tictactoe_env.exact.solver import solve
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.model_env import boards_of
from tictactoe_env.policy import Model, Policy, sample
from tictactoe_env.rules import (
    ONGOING,
    OUTCOME_NUMBERS,
    SIDES,
    Boards,
    Rules,
    checked_rules,
    mark_of,
    other_side,
)
from tictactoe_env.symmetry import canonical_forms

_Values = NDArray[np.float64]

_UNSAFE = -np.inf  # in place of a number of wins, where a side cannot avoid losing to perfect play
ROUNDING = 1e-12  # error of a result, a sum of some thousand float64 terms; never of what is proven


@dataclass(frozen=True)
class Result:
    """Probabilities of a match for one side; win + draw + loss = 1.

    illegal: the part of `loss` that comes from this side's illegal moves.
    illegal_other: the part of `win` that comes from the other side's illegal moves.
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


def exact_result(
    policy: Policy | Model,
    opponent: Policy | Model,
    rules: Rules | None = None,
    limit: Limit | None = None,
    progress: Progress | None = None,
    *,
    side: str = "X",
    symmetric: bool | None = None,
) -> Result:
    """The exact result for `policy`, playing `side`, against `opponent`.

    Both may be deterministic or stochastic. The board is that of a policy with `rules`, such as a
    TabularPolicy, or that of a model's environment, or `rules`, or 3x3. On boards of more
    than 12 cells the positions that both can reach must be within `limit`: see `proof`.
    symmetric: of `policy`, see `evaluation.evaluate`.
    Raises ProofLimitError beyond the limit, and ValueError for a policy that is no function of the
    board: see `provable`.
    """
    rules = board_of(rules, policy, opponent)
    with to_be_met(policy, rules, symmetric) as one, to_be_met(opponent, rules) as other:
        reach = reach_of({side: one, other_side(side): other}, side, rules, limit, progress)
    return result_of(reach)


def result_of(reach: Reach) -> Result:
    """The exact result for the side of a reach; a side without a policy plays at random.

    The probability of each position is passed on to the positions after its moves, ply by ply.
    """
    share = np.zeros(len(reach.outcome_x))  # of the games that lead to each position
    share[0] = 1
    illegal = {"X": 0.0, "O": 0.0}
    for ply in reach.plies:
        legal = ply.legal
        probs = ply.probs
        if probs is None:
            probs = legal / legal.sum(axis=1, keepdims=True)
        passed = share[ply.rows, None] * probs  # of the games that make each move
        illegal[ply.side] += float(passed[~legal].sum())
        children = ply.children[legal]
        passed = passed[legal]
        is_end = children < 0  # of the last rows, counted from the end; none on small boards
        if is_end.any():
            ends = children[is_end] + len(EndRow)
            share[-len(EndRow) :] += np.bincount(ends, passed[is_end], minlength=len(EndRow))
            children = children[~is_end]
            passed = passed[~is_end]
        if len(children):  # all in the next ply, whose rows lie together
            first = int(children.min())
            last = int(children.max())
            share[first : last + 1] += np.bincount(children - first, passed)
    x_wins, o_wins = (float(share[reach.outcome_x == mark].sum()) for mark in (1, -1))
    drawn = float(share[reach.is_over & (reach.outcome_x == 0)].sum())
    of_x = Result(
        win=x_wins + illegal["O"],
        draw=drawn,
        loss=o_wins + illegal["X"],
        illegal=illegal["X"],
        illegal_other=illegal["O"],
    )
    return of_x if reach.side == "X" else of_x.other_side


@dataclass(frozen=True)
class BestResponse:
    """The results of a policy that plays `side` against a best response, an opponent that knows it.

    value: the policy's smallest expected result (win - loss) against any opponent.
    loss: the policy's largest probability of losing against any opponent.
    losing_line: the cells of the shortest game of a positive probability that it loses, an illegal
    move of the policy included; it ends where the policy makes no move. None if there is no such
    game.
    always_wins: True if the policy wins every game that has a positive probability.
    """

    side: str
    value: float
    loss: float
    losing_line: tuple[int, ...] | None
    always_wins: bool = False

    @property
    def can_lose(self) -> bool:
        """True if the policy loses any game that has a positive probability."""
        return self.losing_line is not None


def best_responses(
    policy: Policy | Model,
    rules: Rules | None = None,
    limit: Limit | None = None,
    progress: Progress | None = None,
    symmetric: bool | None = None,
) -> dict[str, BestResponse]:
    """The exact best responses to a policy as X and as O: {"X": ..., "O": ...}.

    symmetric: see `evaluation.evaluate`.

    On boards of more than 12 cells the positions that it can meet must be within `limit`: see
    `proof`. Raises ProofLimitError beyond it, and ValueError for a policy that is no function of
    the board: see `provable`.
    """
    rules = board_of(rules, policy)
    with to_be_met(policy, rules, symmetric) as player:
        return {
            side: best_response(reach_of({side: player}, side, rules, limit, progress))
            for side in SIDES
        }


def best_response(reach: Reach) -> BestResponse:
    """The exact best response to a policy on the side whose positions these are."""
    value = float(values_of(reach)[0])
    line = _shortest_line(reach)
    loss = 0.0
    if line is not None:
        # The opponent brings about the least value, so a loss is -1 and all else 0.
        minus_lost = np.where(_own_outcomes(reach) < 0, -1.0, 0.0)
        loss = abs(float(_least_values(reach, minus_lost, -1.0)[0]))
    # A value of about 1 may be rounded, so the worst outcome decides; else it need not be asked.
    wins = value >= 1 - ROUNDING and bool(worst_outcomes(reach)[0] > 0)
    return BestResponse(reach.side, value, loss, line, wins)


def _least_values(
    reach: Reach,
    ends: NDArray[Any],
    illegal: float,
    at_worst: bool = False,
    of_each_ply: float = 0.0,
) -> _Values:
    """The least value that a side without a policy can bring about: (N,) float64, by row.

    Backward induction: the value before a move of a side without a policy is the least after its
    legal moves, the value before a policy's move is the mean after its moves. at_worst: it is the
    least there too, of the moves that have a positive probability.

    ends: (N,), the values of finished positions. illegal: the value after an illegal move of the
    reach's own side; after one of the other side it is the negative. of_each_ply: what each ply
    adds to the value.
    """

    def least(ply: Ply, after: _Values) -> _Values:
        if ply.probs is None:
            return np.where(ply.legal, after, np.inf).min(axis=1) + of_each_ply
        after_illegal = illegal if ply.side == reach.side else -illegal
        after = np.where(ply.legal, after, after_illegal)
        if at_worst:
            return np.where(ply.probs > 0, after, np.inf).min(axis=1) + of_each_ply
        return (ply.probs * after).sum(axis=1) + of_each_ply

    return backward(reach.plies, ends.astype(np.float64), least)


def _own_outcomes(reach: Reach) -> NDArray[np.int8]:
    """The outcome of each position for the side of a reach: (N,) int8, -1 lost, +1 won, else 0."""
    return reach.outcome_x if reach.side == "X" else -reach.outcome_x


def values_of(reach: Reach) -> _Values:
    """The smallest expected result (win - loss) of a side from each position on: (N,) float64."""
    return _least_values(reach, _own_outcomes(reach), -1.0)


def worst_outcomes(reach: Reach) -> _Values:
    """The policy's worst outcome from each position on: (N,) float64, -1 a loss, 0, 1 a win.

    It is that of the games that have a positive probability, however small it is; a mean such as
    `values_of` would not show a loss that is rare enough. An illegal move is a loss.
    """
    return _least_values(reach, _own_outcomes(reach), -1.0, at_worst=True)


def _shortest_line(reach: Reach) -> tuple[int, ...] | None:
    """The shortest game that ends in a loss, the lowest cell among equals; None if there is none.

    From the start on, each move is one after which the loss is a ply nearer. An illegal move of the
    policy is a loss in one ply; where it makes no move, the line ends before it. In a reach in
    canonical form the moves are turned back to the board as it is.
    """
    lost = np.where(_own_outcomes(reach) < 0, 0.0, np.inf)
    plies_to_loss = _least_values(reach, lost, 0.0, at_worst=True, of_each_ply=1.0)
    if not np.isfinite(plies_to_loss[0]):
        return None
    line: list[int] = []
    board = np.zeros((1, reach.rules.cells), dtype=np.int8)
    row = 0
    for ply in reach.plies:
        rows = np.r_[ply.rows]  # as an array, also where they are a slice
        places = np.flatnonzero(rows == row)  # of the position in this ply: one or none
        if not len(places):
            continue
        at = places[0]
        children = ply.children[at]
        legal = ply.legal[at]
        after = np.where(legal, plies_to_loss[children], 0.0)  # an illegal move ends the game
        possible = legal if ply.probs is None else ply.probs[at] > 0
        is_nearer = after == plies_to_loss[row] - 1
        move = int(np.argmax(possible & is_nearer))  # the first of them
        cell = move if ply.cells is None else int(ply.cells[at, move])
        if cell == NO_CELL:
            break
        if reach.is_symmetric:
            _, _, cells = canonical_forms(reach.rules).to_form(board)
            cell = int(cells[0, cell])
        line.append(cell)
        board[0, cell] = mark_of(ply.side)
        row = int(children[move])  # in no ply if the game is over
    return tuple(line)


@dataclass(frozen=True)
class OptimalShare:
    """Share of a policy's probability on optimal moves, mean over positions: 1.0 is perfect play.

    everywhere: over all unfinished positions.
    reachable: over those where the policy may have to move, as X or as O, against any opponent.
    """

    everywhere: float
    reachable: float


def optimal_share(policy: Policy | Model, rules: Rules | None = None) -> OptimalShare:
    """The share of a policy's probability that is on optimal moves."""
    rules = board_of(rules, policy)
    positions = positions_of(rules)
    table = tabulate(policy, rules)
    is_best = solve(rules).optimal(positions.boards)
    optimal = (table.by_row() * is_best).sum(axis=1)
    reachable = np.zeros(len(positions), dtype=bool)
    for side in SIDES:
        for ply in TableReach({side: table}, side, rules).plies:
            if ply.side == side:
                reachable[ply.rows] = True
    return OptimalShare(
        float(optimal[positions.unfinished].mean()), float(optimal[reachable].mean())
    )


@lru_cache(maxsize=8)
def best_achievable(rules: Rules) -> dict[str, Result | None]:
    """The best achievable results against random play of policies that never lose, by side.

    Such a policy wins as often as possible and draws the rest: on 3x3 X wins 191/192 and O 866/945.
    None for a side that cannot avoid losing to perfect play. For boards of up to 12 cells.
    """
    results: dict[str, Result | None] = {}
    for side in SIDES:
        win = float(_most_wins(side, rules)[0] / np.prod(_shares(side, rules)))
        results[side] = None if win == _UNSAFE else Result(win, 1 - win, 0.0)
    return results


def wins_most(reach: Reach) -> bool:
    """True if a policy never loses and no such policy wins more often against random play.

    reach: of a board of at most 12 cells. Whole numbers are compared: the policy wins most if each
    move of positive probability is one after which most can be won. So no tolerance is needed.
    """
    most = _most_wins(reach.side, reach.rules)
    for ply in reach.plies:
        if ply.probs is not None:
            after = np.where(ply.legal, most[ply.children], _UNSAFE)
            gives_away = after < most[ply.rows][:, None]
            if ((ply.probs > 0) & gives_away).any():
                return False
    return bool(most[0] != _UNSAFE)


@lru_cache(maxsize=16)
def _most_wins(side: str, rules: Rules) -> _Values:
    """How often a player that never loses can win against random replies: (N,) float64, by row.

    It is not a probability but the number of ways in which the replies from a position on can be
    drawn so that the player wins. In all there are as many ways as the product of `_shares` from
    the ply on: 8 * 6 * 4 * 2 = 384 for X on 3x3, of which 382 win. So the numbers are whole, at
    most 46,080 on 3x4, and exact. A game that ends early counts for all replies that could have
    followed. _UNSAFE where perfect play beats `side`.
    """
    positions = positions_of(rules)
    shares = _shares(side, rules)
    ways = np.cumprod([1, *shares[::-1]])[::-1]  # in all: of each ply the product from there on
    outcome = positions.outcome_x * mark_of(side)
    ends = np.choose(outcome + 1, [_UNSAFE, 0.0, ways[positions.ply]])  # lost, drawn, won

    def ways_to_win(ply: Ply, after: _Values) -> _Values:
        if ply.side == side:
            return np.where(ply.legal, after, _UNSAFE).max(axis=1)
        shares_of_each = shares[ply.number] // ply.legal.sum(axis=1)  # of each reply: (B,)
        return np.where(ply.legal, after, 0.0).sum(axis=1) * shares_of_each

    most = backward(positions.plies, ends, ways_to_win)
    most.setflags(write=False)  # all callers get the array that the cache keeps
    return most


def _shares(side: str, rules: Rules) -> NDArray[np.int64]:
    """Into how many shares the random replies to `side` are divided in each ply: (cells,).

    It is the least common multiple of the numbers of replies in the positions of the ply, so each
    reply has a whole number of shares. On a plain board it is the number of free cells, in which
    the positions of a ply agree. 1 where `side` itself moves.
    """
    shares = np.ones(rules.cells, dtype=np.int64)
    for ply in positions_of(rules).plies:
        if ply.side != side:
            shares[ply.number] = np.lcm.reduce(np.unique(ply.legal.sum(axis=1)), initial=1)
    return shares


def action_values(
    side: str,
    policy: Policy | Model,
    opponent: Policy | Model,
    rules: Rules | None = None,
    board: Boards | None = None,
) -> _Values:
    """Exact expected results (win - loss) of `side` after each move on a board: (cells,) float64.

    The moves are those of the side to move, NaN where illegal. After the move `side` is played by
    `policy` and the other side by `opponent`. Where `side` is to move these are the action values
    (Q-values) of `policy`. board: (cells,), unfinished; the empty board by default.
    """
    rules = board_of(rules, policy, opponent)
    positions = positions_of(rules)
    start = 0
    if board is not None:
        one_board = np.asarray(board)[None]  # a batch of one
        start = int(positions.rows(one_board)[0])
    if positions.is_over[start]:
        raise ValueError("a finished board has no moves: give an unfinished one")
    players = {side: policy, other_side(side): opponent}
    values = values_of(TableReach(players, side, rules, everywhere=True))
    children = positions.children[start]
    return np.where(children >= 0, values[children], np.nan)


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

    The same seed gives the same games.
    """
    games = whole_number(games, "games", 1)
    rng = np.random.default_rng(seed)
    other = other_side(side)
    players = {side: policy, other: opponent}
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
        if len(going) == 0:
            break
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


def wilson_interval(count: int, total: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The Wilson score interval of the rate count / total, 95 % by default; the rate is in it."""
    rate = count / total
    spread = z * z / total
    centre = (rate + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(rate * (1 - rate) / total + spread / (4 * total))
    # Without rounding errors the rate would be inside anyway.
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))


def board_of(rules: Rules | None, *policies: Any) -> Rules:
    """The board of the policies, or `rules`, or 3x3; ValueError if they name different boards.

    A model of Stable-Baselines3 has the board of its environment, while it has one.
    """
    stated = [boards for policy in policies if (boards := boards_of(policy))]
    if rules is not None:
        stated.append({checked_rules(rules)})
    if not stated:
        return Rules()
    common = set.intersection(*stated)
    if len(common) != 1:
        names = ", ".join(sorted(map(str, set.union(*stated))))
        raise ValueError(f"these policies play on different boards: {names}")
    return common.pop()
