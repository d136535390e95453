"""Opponents and boards for tests: arbitrary but fixed, the same in every batch."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
from oracles.plain_game import Player, plain

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.policy import one_hot
from tictactoe_env.starts import ExploringStarts


class FixedPlayer:
    """Always the same legal move on a board of any size, chosen by an integer hash of it."""

    def __init__(self, seed: int):
        self.seed = seed

    def probs(self, boards):
        boards = np.asarray(boards).astype(np.int64)
        cells = boards.shape[1]
        weights = np.random.default_rng(self.seed).integers(1, 1 << 20, size=(cells, cells))
        scores = (boards + 2) @ weights % 1009
        return one_hot(np.where(boards == 0, scores, -1).argmax(axis=1), cells)


class LineCounter:
    """The cell on the most promising lines of four, the lowest among equals.

    No line of play beats it on 4x4, and none on 5x5 when it plays X. own, other: the weights of a
    line with 0 to 3 marks of one side and none of the other.
    """

    def __init__(self, rules, own=(1, 12, 150, 100_000), other=(0, 10, 140, 10_000)):
        self.own = np.array(own)
        self.other = np.array(other)
        self.on_line = np.array(
            [[cell in line for cell in range(rules.cells)] for line in rules.lines]
        )

    def probs(self, boards):
        boards = np.asarray(boards)
        mark = np.where(boards.sum(axis=1, keepdims=True) == 0, 1, -1)
        own, other = ((boards == side) @ self.on_line.T.astype(int) for side in (mark, -mark))
        weights = np.where(
            other == 0, self.own[own % 4], np.where(own == 0, self.other[other % 4], 0)
        )
        scores = np.where(boards == 0, weights @ self.on_line, -1)
        return one_hot(scores.argmax(axis=1), boards.shape[1])


class CellPlayer:
    """Always the same cell, free or not."""

    def __init__(self, cell: int):
        self.cell = cell

    def probs(self, boards):
        return one_hot(np.full(len(boards), self.cell), np.asarray(boards).shape[1])


class Stubborn:
    """Half its probability on cell 0, free or not, the rest on the free cells."""

    def probs(self, boards):
        free = np.asarray(boards) == 0
        probs = 0.5 * free / free.sum(axis=1, keepdims=True)
        probs[:, 0] += 0.5
        return probs


def fixed_table(rules, seed=0):
    """`FixedPlayer` as a table."""
    return tabulate(FixedPlayer(seed), rules)


def random_table(rules, seed=0):
    """A table of arbitrary probabilities, some of them 0, and some of them of illegal moves."""
    rng = np.random.default_rng(seed)
    boards = positions_of(rules).boards[positions_of(rules).unfinished]
    probs = rng.gamma(0.3, size=boards.shape) * (rng.random(boards.shape) < 0.6)
    first_free = (boards == 0).argmax(axis=1)
    empty = probs.sum(axis=1) == 0
    probs[empty] = one_hot(first_free[empty], rules.cells)
    return TabularPolicy(rules, probs / probs.sum(axis=1, keepdims=True))


def random_boards(rules, count):
    """The empty board, and at most as many unfinished ones of random games (B, cells)."""
    rng = np.random.default_rng(0)
    boards, _ = ExploringStarts(1.0, rules)(np.ones(count, np.int8), rng)
    return np.concatenate([np.zeros_like(boards[:1]), boards[boards.any(axis=1)]])


def best_player(rules):
    """A player that never loses where it can avoid it, and wins most often at random replies."""
    game = plain(rules)

    @cache
    def wins(board, mark):
        outcome = game.positions[board]
        if outcome is not None:
            return Fraction(outcome == mark)
        is_own = game.mover(board) == mark
        moves = safe(board) if is_own else game.legal(board)
        after = [wins(game.after(board, cell), mark) for cell in moves]
        return max(after) if is_own else sum(after) / len(after)

    def safe(board):
        moves = game.legal(board)
        values = [game.value_x[game.after(board, cell)] * game.mover(board) for cell in moves]
        return [cell for cell, value in zip(moves, values, strict=True) if value >= 0] or moves

    def choice(board):
        mark = game.mover(board)
        return {max(safe(board), key=lambda cell: wins(game.after(board, cell), mark)): 1.0}

    return tabulate(Player(choice), rules)
