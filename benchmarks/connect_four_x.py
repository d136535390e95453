"""A strategy of Connect Four on 6x7 with which X wins against everybody, in few positions.

    python -m benchmarks.connect_four_x build/connect_four_x
    python -m training.strategy build/connect_four_x/strategy.npz

The first command needs the extra `connect-four`. It writes the strategy with the fewest positions
that it has found: `keys`, the positions in which X does not win at once, and `columns`, its moves
there. The second makes the certificate.

A pass chooses X's moves ply by ply from the empty board on. Of the moves that win, at most a stone
or two later than the fastest, X takes the one whose replies cost the least that is new. A position
costs what X needs to win from it, where it has been scored: the best of its moves, computed from
the last ply back, where a position that others lead to as well counts in parts. A position that has
no score costs what others have cost on average, by the ply and by the score of the move before.

The scores are kept in the folder, so that a program that was stopped goes on. Those before ply 18
take nearly all of the time, so only the first passes ask for new ones.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import count, islice
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PASSES = 12
EVERYWHERE = 3  # passes that ask for scores of all plies
NOWHERE = 42
CHEAP_FROM = 18  # the ply from which on scores take little time
GROUPS = 8  # of positions that choose at the same time
ROUNDS = 3  # in which they choose
AT_ONCE = 200  # positions that a process scores
SAMPLE = 5  # positions that make a mean
PLIES = range(0, 42, 2)  # those of X
SCORES = 22  # of a won position: below it
NO_MEANS = np.zeros(1), np.full(1, 4.0)  # what a position is thought to cost before it is known
FORBIDDEN = 1e9  # what a position costs that must not be chosen

# --- positions in which X is to move --------------------------------------------------------------

# A column has nine bits, the lowest row first, as in bitbully. The key of a position is the sum of
# the bits of all stones and of those of X.
Bits = NDArray[np.uint64]
Numbers = NDArray[np.float64]
Slack = Callable[[int], int]  # by the ply
_U = np.uint64
BOTTOMS = _U(1) << np.arange(0, 63, 9, dtype=_U)
COLUMNS = BOTTOMS * _U(0b111111)
CELLS = COLUMNS.sum()
# By a shift: the bits that it can reach in their own column.
_REACHED = {step: BOTTOMS.sum() * _U(0x1FF >> step) for step in (1, 2, 4)}
NO_KEY = _U(0)  # that of the empty board, which no reply leads to
EMPTY = np.array([NO_KEY])
NOTHING: tuple[Bits, Numbers] = (np.zeros(0, dtype=_U), np.zeros(0))


def key_of(stones: Bits, own: Bits) -> Bits:
    """The keys of positions with these stones, some of them X's; of mirror images the smaller."""
    key = own + stones
    mirrored = np.zeros_like(key)
    for col in range(7):
        column = key >> _U(9 * col) & _U(0x1FF)
        mirrored |= column << _U(54 - 9 * col)
    return np.minimum(key, mirrored)


def stones_of(keys: Bits) -> tuple[Bits, Bits]:
    """All stones of positions, and those of X."""
    marked = keys + BOTTOMS.sum()  # X's stones, and the lowest free bit of each column
    below = marked
    for step, reached in _REACHED.items():  # all bits below the highest one of each column
        below = below | (below >> _U(step)) & reached
    stones = (below >> _U(1)) & CELLS
    return stones, marked & stones


def has_four(marks: Bits) -> NDArray[np.bool_]:
    """True where four are in a row."""
    found = np.zeros(marks.shape, dtype=bool)
    for step in (1, 8, 9, 10):
        pairs = marks & marks >> _U(step)
        found |= (pairs & pairs >> _U(2 * step)) != 0
    return found


def landing(stones: Bits, col: Any) -> Bits:
    """The bit on which a stone lands in a column, 0 if it is full."""
    return (stones + BOTTOMS[col]) & COLUMNS[col] & ~stones


def wins_at_once(keys: Bits) -> NDArray[np.bool_]:
    """True where X can win with its next stone."""
    stones, own = stones_of(keys)
    bits = landing(stones[:, None], np.arange(7))
    return ((bits != 0) & has_four(own[:, None] | bits)).any(axis=1)


# --- scores ---------------------------------------------------------------------------------------


class Scores:
    """bitbully's scores of X's columns, asked by all cores and kept in a folder."""

    def __init__(self, folder: Path, pool: Any):
        self._folder = folder
        self._pool = pool
        self._known = {ply: self._read(ply) for ply in PLIES}

    def __call__(self, ply: int, keys: Bits) -> NDArray[np.int8]:
        """The scores (B, 7) of sorted positions (B,), below 0 for a loss and for a full column."""
        known, scores = self._known[ply]
        new = np.setdiff1d(keys, known, assume_unique=True)
        if len(new):
            parts = np.array_split(new, -(-len(new) // AT_ONCE))
            known = np.concatenate([known, new])
            scores = np.concatenate([scores, *self._pool.imap(_asked, parts)])
            order = np.argsort(known)
            self._known[ply] = known, scores = known[order], scores[order]
            np.savez(self._folder / "new.npz", keys=known, scores=scores)
            os.replace(self._folder / "new.npz", self._file(ply))
        return scores[np.searchsorted(known, keys)]

    def known(self, ply: int) -> tuple[Bits, NDArray[np.int8]]:
        """The sorted positions of a ply that have scores, and these."""
        return self._known[ply]

    def _read(self, ply: int) -> tuple[Bits, NDArray[np.int8]]:
        if not self._file(ply).exists():
            return np.zeros(0, dtype=_U), np.zeros((0, 7), dtype=np.int8)
        with np.load(self._file(ply), allow_pickle=False) as kept:
            return kept["keys"], kept["scores"]

    def _file(self, ply: int) -> Path:
        return self._folder / f"scores_{ply}.npz"


def _asked(keys: Bits) -> NDArray[np.int8]:
    """The scores of positions, asked in this process."""
    from bitbully import Board

    board, found = Board(), np.full((len(keys), 7), -100, dtype=np.int8)
    for row, (stones, own) in enumerate(zip(*stones_of(keys), strict=True)):
        board.native.setRawState(stones, own, 42 - int(stones).bit_count())
        for col, score in _solver().score_all_moves(board).items():
            found[row, col] = score
    return found


@cache
def _solver() -> Any:
    from bitbully import BitBully

    return BitBully()


# --- a pass ---------------------------------------------------------------------------------------


class Moves(NamedTuple):
    """M winning moves in B positions.

    position: (M,), the number of the position, in order. column: (M,). score: (M,), as of bitbully.
    after: (M, 7), the positions after O's replies, of equal ones the first, NO_KEY elsewhere.
    """

    position: NDArray[np.intp]
    column: NDArray[np.intp]
    score: NDArray[np.int8]
    after: Bits

    def some(self, numbers: NDArray[np.intp]) -> Moves:
        """Some of the moves."""
        return Moves(*(part[numbers] for part in self))

    def cheapest(self, costs: Numbers, among: Any = slice(None)) -> NDArray[np.intp]:
        """In each position the move of the least cost (M,), of equal ones the fastest: (B,).

        among: the numbers of the moves that are compared, whose costs are given.
        """
        numbers = np.arange(len(self.position))[among]
        position = self.position[numbers]
        order = np.lexsort((-self.score[numbers], costs, position))
        is_first = np.diff(position[order], prepend=-1) > 0
        return numbers[order[is_first]]


def winning_moves(keys: Bits, scores: NDArray[np.int8], slack: int) -> Moves:
    """The moves in positions (B,) that win at most `slack` stones later than the fastest."""
    fastest = scores.max(axis=1, keepdims=True)
    return moves_on(keys, scores, (scores > 0) & (scores >= fastest - slack))


def moves_on(keys: Bits, scores: NDArray[np.int8], which: NDArray[np.bool_]) -> Moves:
    """The moves in positions (B,) on some columns (B, 7)."""
    position, column = np.nonzero(which)
    stones, own = (bits[position] for bits in stones_of(keys))
    bit = landing(stones, column)
    stones, own = stones | bit, own | bit
    after = np.empty((len(position), 7), dtype=_U)
    for col in range(7):
        reply = landing(stones, col)
        after[:, col] = np.where(reply != 0, key_of(stones | reply, own), NO_KEY)
    after.sort(axis=1)
    after[:, 1:][after[:, 1:] == after[:, :-1]] = NO_KEY
    return Moves(position, column, scores[position, column], after)


# --- what positions cost --------------------------------------------------------------------------


class Step(NamedTuple):
    """A ply of a strategy: its positions, those without a win at once, and X's moves there."""

    ply: int
    keys: Bits
    undecided: Bits
    moves: Moves


class Costs:
    """What X needs to win from positions.

    strategy: the last one, whose positions are shared. new_from: the first ply in which positions
    without a score may be chosen.
    """

    def __init__(self, scores: Scores, strategy: Sequence[Step], slack: Slack, new_from: int):
        self._new_from = new_from
        self._parents: dict[int, tuple[Bits, Numbers]] = {}
        self._means: dict[int, tuple[Numbers, Numbers]] = {}
        self._look_at(strategy)
        self._known = dict.fromkeys([*PLIES, 42], NOTHING)
        for ply in reversed(PLIES if strategy else []):
            keys, found = scores.known(ply)
            moves = winning_moves(keys, found, slack(ply))
            costs = self.shares(ply, moves).sum(axis=1)
            self._known[ply] = keys, 1 + costs[moves.cheapest(costs)]

    def alone(self, ply: int, moves: Moves) -> Numbers:
        """The costs (M, 7) after O's replies, if no other move leads there."""
        costs = _found(self._known[ply + 2], moves.after)
        costs[moves.after == NO_KEY] = 0
        row, reply = np.nonzero(np.isnan(costs))
        is_won = wins_at_once(moves.after[row, reply])
        costs[row, reply] = np.where(is_won, 1, self._expected(ply + 2, moves.score[row]))
        return costs

    def shares(self, ply: int, moves: Moves) -> Numbers:
        """The costs (M, 7) after O's replies, divided among the moves that lead there."""
        parents = _found(self._parents.get(ply + 2, NOTHING), moves.after)
        return self.alone(ply, moves) / np.where(np.isnan(parents), 1, parents + 0.5)

    def _expected(self, ply: int, scores: NDArray[np.int8]) -> Numbers:
        """The costs (N,) of positions without a score, after moves of these scores."""
        if ply < self._new_from:
            return np.full(len(scores), FORBIDDEN)
        known, means = self._means.get(ply, NO_MEANS)
        return np.exp(np.interp(scores, known, np.log(means)))

    def _look_at(self, strategy: Sequence[Step]) -> None:
        """Count the moves that lead to each position, and take the means of what these cost.

        A mean is that of the costs over the square roots of these numbers: it is between what the
        positions cost and the shares of the moves.
        """
        below = np.ones(0)
        for step in reversed(strategy):
            is_reply = step.moves.after != NO_KEY
            row, _ = np.nonzero(is_reply)
            keys, number = np.unique(step.moves.after[is_reply], return_inverse=True)
            parents = np.bincount(number)
            cost = below[number]
            self._parents[step.ply + 2] = keys, parents.astype(float)
            self._means[step.ply + 2] = _means(
                step.moves.score[row], cost / np.sqrt(parents[number]), cost > 1
            )
            shares = np.bincount(row, cost / parents[number], minlength=len(step.undecided))
            below = np.ones(len(step.keys))
            below[np.searchsorted(step.keys, step.undecided)] += shares


def _means(scores: NDArray[np.int8], costs: Numbers, which: NDArray[np.bool_]) -> Any:
    """The scores of enough costs among some, and their means."""
    counts, sums = (
        np.bincount(scores[which], weights, minlength=SCORES) for weights in (None, costs[which])
    )
    enough = np.flatnonzero(counts >= SAMPLE)
    return (enough, sums[enough] / counts[enough]) if len(enough) else NO_MEANS


def _found(table: tuple[Bits, Numbers], keys: Bits) -> Numbers:
    """The numbers of keys (...,) in a sorted table, NaN for others."""
    known, numbers = table
    at = np.searchsorted(known, keys).clip(max=max(len(known) - 1, 0))
    found = np.full(keys.shape, np.nan)
    if len(known):
        is_known = known[at] == keys
        found[is_known] = numbers[at[is_known]]
    return found


# --- a pass ---------------------------------------------------------------------------------------


def chosen(scores: Scores, costs: Costs, slack: Slack, first: Bits = EMPTY) -> list[Step]:
    """A strategy, chosen ply by ply from a position on."""
    keys = first
    steps = []
    for ply in PLIES[int(stones_of(first)[0][0]).bit_count() // 2 :]:
        undecided = keys[~wins_at_once(keys)]
        moves = winning_moves(undecided, scores(ply, undecided), slack(ply))
        moves = moves.some(_choice(moves, costs.alone(ply, moves), costs.shares(ply, moves)))
        steps.append(Step(ply, keys, undecided, moves))
        keys = np.setdiff1d(moves.after, [NO_KEY])
    return steps


def _choice(moves: Moves, alone: Numbers, shares: Numbers) -> NDArray[np.intp]:
    """The move of each position (B,) whose replies cost the least that no other chosen one pays."""
    after, number = np.unique(moves.after, return_inverse=True)
    number = number.reshape(moves.after.shape)
    chosen = moves.cheapest(shares.sum(axis=1))
    parents = np.bincount(number[chosen].ravel(), minlength=len(after))
    group = np.random.default_rng(0).integers(GROUPS, size=len(chosen))
    for which in [*range(GROUPS)] * ROUNDS:
        parents -= np.bincount(number[chosen[group == which]].ravel(), minlength=len(after))
        among = np.flatnonzero(group[moves.position] == which)
        new = np.where(parents[number[among]] > 0, 0, alone[among]).sum(axis=1)
        chosen[group == which] = moves.cheapest(new, among)
        parents += np.bincount(number[chosen[group == which]].ravel(), minlength=len(after))
    return chosen


def passes(
    scores: Scores, first: Bits = EMPTY, strategy: Sequence[Step] = ()
) -> Iterator[list[Step]]:
    """The strategies of the passes, without end.

    strategy: one that was found before, to go on from.
    """
    for number in count(EVERYWHERE if strategy else 0):
        slack = partial(_slack, is_first=number == 0)
        new_from = 0 if number < EVERYWHERE else (NOWHERE, CHEAP_FROM)[number % 2]
        strategy = chosen(scores, Costs(scores, strategy, slack, new_from), slack, first)
        yield strategy


def _slack(ply: int, is_first: bool) -> int:
    """How many stones later than the fastest win a move may win."""
    if is_first:
        return 0
    return 2 if ply < 14 else 1


def decisions(strategy: list[Step]) -> int:
    """The number of positions in which X has to move, mirror images counted once."""
    return sum(len(step.keys) for step in strategy)


def main(folder: Path) -> None:
    """Make passes, and write the best strategy."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "strategy.npz"
    begun = time.perf_counter()
    with Pool() as pool:
        scores = Scores(folder, pool)
        best = read(file, scores) if file.exists() else []
        for strategy in islice(passes(scores, strategy=best), PASSES):
            found = decisions(strategy)
            print(f"{found:,} positions after {time.perf_counter() - begun:,.0f} s", flush=True)
            if not best or found < decisions(best):
                best = strategy
                write(best, file)


def write(strategy: list[Step], file: Path) -> None:
    """Write the moves where X does not win at once, sorted by their keys."""
    keys = np.concatenate([step.undecided for step in strategy])
    columns = np.concatenate([step.moves.column for step in strategy])
    order = np.argsort(keys)
    np.savez(file, keys=keys[order], columns=columns[order].astype(np.uint8))


def read(file: Path, scores: Scores) -> list[Step]:
    """The strategy in a file."""
    with np.load(file, allow_pickle=False) as kept:
        known, columns = kept["keys"], kept["columns"]
    keys = EMPTY
    steps = []
    for ply in PLIES:
        undecided = keys[~wins_at_once(keys)]
        which = columns[np.searchsorted(known, undecided)][:, None] == np.arange(7)
        steps.append(Step(ply, keys, undecided, moves_on(undecided, scores(ply, undecided), which)))
        keys = np.setdiff1d(steps[-1].moves.after, [NO_KEY])
    return steps


if __name__ == "__main__":
    main(Path(sys.argv[1]))
