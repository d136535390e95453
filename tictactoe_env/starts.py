"""Start positions: random ones, and those from which the learner can still be beaten."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import probability
from tictactoe_env.exact.positions import TABULATED, positions_of
from tictactoe_env.rules import Boards, Rules, to_move

_NEWEST_SHARE = 0.6  # of the starts from counterexamples that come from the newest proof


class ExploringStarts:
    """Start positions for `TicTacToeVectorEnv(start=...)`: a share of the games start elsewhere.

    share: the share of the games that start from a random board, with the learner to move. The
    number of marks is drawn first, uniformly, and then a board with that many marks: uniformly from
    all of them on boards of up to 12 cells, and by uniformly random moves on larger ones. (With
    start="random" all boards are equally likely: most of them have five to seven marks, and
    openings are rare.)
    counterexamples: the share of the games that start from a board from which the learner can still
    be beaten, as the proofs of the last snapshots have found them. Both shares together are at most
    1; the other games start from the empty board, and so do those for which there is no
    counterexample.
    """

    def __init__(
        self, share: float, rules: Rules, early_draw: bool = False, counterexamples: float = 0.0
    ):
        self.share = probability(share, "the share of exploring starts")
        self.counterexamples = probability(counterexamples, "the share of counterexamples")
        if self.share + self.counterexamples > 1:
            shares = f"{share} of exploring starts and {counterexamples} of counterexamples"
            raise ValueError(f"the shares must be at most 1 together, got {shares}")
        self.rules = rules
        self.early_draw = early_draw
        if rules.cells > TABULATED:
            return
        positions = positions_of(rules)
        self._rows = positions.going(early_draw)
        first = np.unique(positions.ply[self._rows], return_index=True)[1]
        self._first = np.append(first, len(self._rows))  # the first row with 0 marks, 1, ...

    def __call__(
        self, seats: NDArray[np.int8], rng: np.random.Generator, found: Sequence[Boards] = ()
    ) -> tuple[Boards, NDArray[np.int8]]:
        """Boards (B, cells) and the learner's marks (B,): those of `seats` on empty boards.

        found: the counterexamples (N, cells) of the last proofs, the newest last. Six in ten of the
        games that start from one take the newest proof, the others those before, of which each has
        the same share.
        """
        number = rng.random(len(seats))
        drawn = number < self.share
        if self.rules.cells <= TABULATED:
            ply = np.where(drawn, rng.integers(len(self._first) - 1, size=len(seats)), 0)
            rows = self._rows[rng.integers(self._first[ply], self._first[ply + 1])]
            boards = positions_of(self.rules).boards[rows]
        else:
            boards = np.zeros((len(seats), self.rules.cells), dtype=np.int8)
            boards[drawn] = _played_at_random(int(drawn.sum()), self.rules, self.early_draw, rng)
        if self.counterexamples:
            again = ~drawn & (number < self.share + self.counterexamples)
            boards[again] = self._counterexamples(found, int(again.sum()), rng)
            drawn = drawn | (again & boards.any(axis=1))
        return boards, np.where(drawn, to_move(boards), seats).astype(np.int8)

    def _counterexamples(
        self, found: Sequence[Boards], count: int, rng: np.random.Generator
    ) -> Boards:
        """Boards (count, cells) of the last proofs; empty boards where a proof has none."""
        boards = np.zeros((count, self.rules.cells), dtype=np.int8)
        if not found:
            return boards
        last = len(found) - 1
        which = np.full(count, last)
        if last:
            older = rng.random(count) >= _NEWEST_SHARE
            which[older] = rng.integers(last, size=int(older.sum()))
        for number, known in enumerate(found):
            at = np.flatnonzero(which == number)
            if len(known) and len(at):
                boards[at] = known[rng.integers(len(known), size=len(at))]
        return boards


def _played_at_random(
    count: int, rules: Rules, early_draw: bool, rng: np.random.Generator
) -> Boards:
    """Unfinished boards (count, cells) after random moves; each number of marks is as likely.

    A game that ends before is played again, with another number of marks.
    """
    boards = np.zeros((count, rules.cells), dtype=np.int8)
    open_games = np.arange(count)
    while len(open_games):
        order = rng.random((len(open_games), rules.cells)).argsort(axis=1).argsort(axis=1)
        marks = rng.integers(rules.cells, size=(len(open_games), 1))
        drawn = rules.marked(order, marks)
        ended = rules.is_over(*rules.to_bits(drawn), early_draw)
        boards[open_games[~ended]] = drawn[~ended]
        open_games = open_games[ended]
    return boards
