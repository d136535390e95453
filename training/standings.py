"""Who beats whom: a matrix of exact payoffs, and what follows from it, among checkpoints or agents.

All results are over both seats: the mean of a player's exact results as X and as O.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

ROUNDS = 1_000  # of the fit of ratings
EVEN = 1e-9  # results that differ by less are equal


class Standings:
    """The standings of P players that have all played each other.

    x: (P, P), the mean result of each as X (rows) against each as O (columns), from -1 to 1.
    result: (P, P), the mean result of each against each over both seats.
    """

    def __init__(self, x: NDArray[np.float64]):
        self.result = (x - x.T) / 2
        self.beats = self.result > EVEN

    @property
    def scores(self) -> NDArray[np.float64]:
        """The mean result (P,) of each against all others."""
        others = max(1, len(self.result) - 1)
        return self.result.sum(axis=1) / others

    def forgotten(self, runs: Sequence[int]) -> tuple[int, int]:
        """How many later policies of a run lose to an earlier one, and of how many such pairs.

        runs: (P,), the run of each player; those of one run stand in the order of their steps.
        """
        of_run = np.asarray(runs)
        pairs = np.triu(of_run[:, None] == of_run, k=1)  # an earlier and a later one
        return int(self.beats[pairs].sum()), int(pairs.sum())

    def circle(self) -> tuple[int, int, int] | None:
        """Three players of which each beats the next, and the last the first; None without any."""
        in_two = self.beats.astype(np.int64) @ self.beats  # ways to beat one who beats the other
        closed = np.argwhere((in_two > 0) & self.beats.T)
        if not len(closed):
            return None
        first, third = map(int, closed[0])
        second = int(np.argmax(self.beats[first] & self.beats[:, third]))
        return first, second, third

    @cached_property
    def ratings(self) -> NDArray[np.float64]:
        """The Elo ratings (P,) that fit these results best, with mean 0.

        They are the strengths of the model of Bradley and Terry (1952), fitted as by Hunter (2004,
        MM algorithms). One more draw of each pair keeps those apart who win or lose everything.
        """
        players = len(self.result)
        if players == 1:
            return np.zeros(1)
        points = (1 + self.result) / 2 + 0.5
        np.fill_diagonal(points, 0)
        games = 2 * (1 - np.eye(players))
        strength = np.ones(players)
        for _ in range(ROUNDS):
            shares = (games / (strength[:, None] + strength)).sum(axis=1)
            strength = points.sum(axis=1) / np.maximum(shares, 1e-300)
            strength /= np.exp(np.log(np.maximum(strength, 1e-300)).mean())
        found: NDArray[np.float64] = 400 * np.log10(np.maximum(strength, 1e-300))
        return found

    def misjudged(self) -> tuple[int, int]:
        """How many pairs the ratings order against their own result, and how many have a winner."""
        ratings = self.ratings
        is_below = ratings[:, None] < ratings - EVEN
        return int((self.beats & is_below).sum()), int(self.beats.sum())
