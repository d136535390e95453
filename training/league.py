"""Games between many deterministic players, looked up by the moves of each in all positions.

A player may make an illegal move, which loses. Positions are those that its network sees.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import NO_CHILD, positions_of
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.policy import Policy, draw, one_hot, possible_cells
from tictactoe_env.rules import Rules
from training.perceptron import Weights
from training.symmetry import Representatives

X_WON, DRAWN, O_WON, X_ILLEGAL, O_ILLEGAL, NOT_PLAYED = range(6)  # how a game ends
ENDS = 5
SAMPLED_GAMES = 8  # of a player, of which the worst counts
EQUAL = 1e-9  # values that differ by less are equal: the order of summation makes no difference

Floats = NDArray[np.float64]
Moves = NDArray[np.uint8]
Rows = NDArray[np.intp]


class GameGraph:
    """The S positions that networks see, ordered by ply, and the result of each move.

    The numbers S + X_WON, ..., S + O_ILLEGAL stand for the ends of games.
    after: (S, cells) the position or end after each move. legal: (S, cells) bool.
    random: (S, cells) the probabilities of random play.
    inputs: (S, inputs) the inputs of a network, planes of own and other marks, or with the encoding
    "grid" 1 for own marks and -1 for others; the last one is 1, for the biases.
    """

    def __init__(self, rules: Rules, symmetry: bool, encoding: str):
        self.rules, positions = rules, positions_of(rules)
        seen = Representatives(positions, symmetry)
        rows, size = seen.rows, len(seen.rows)
        self.rows, self.size = rows, size
        ends = size + DRAWN - positions.outcome_x.astype(np.intp)
        numbers = np.where(positions.is_over, ends, seen.index)
        children, x_moves = positions.children[rows], positions.x_to_move[rows]
        illegal = size + np.where(x_moves, X_ILLEGAL, O_ILLEGAL)
        self.after: Rows = np.where(children >= 0, numbers[children], illegal[:, None])
        ply_starts = np.searchsorted(positions.ply[rows], np.arange(self.rules.cells + 1))
        self.plies = [slice(*pair) for pair in pairwise(ply_starts)]
        own = positions.boards[rows] * np.where(x_moves, 1, -1)[:, None]
        self.legal = children != NO_CHILD
        self.random: Floats = self.legal / self.legal.sum(axis=1, keepdims=True)
        # moves[ply]: the legal cells of the positions of this ply first, (positions, most moves)
        self.moves = [possible_cells(self.legal[rows]) for rows in self.plies]
        planes = [own > 0, own < 0] if encoding == "planes" else [own]
        with_ones = np.concatenate([*planes, np.ones((size, 1))], axis=1)
        self.inputs: Weights = with_ones.astype(np.float32)
        self._index = seen.index[positions.unfinished]
        self._cells = seen.cells[positions.unfinished]

    def successors(self, moves: Moves) -> Rows:
        """The positions or ends after the moves (B, S) of networks; ends stay: (S + ENDS, B)."""
        leads = self.after[np.arange(self.size)[:, None], moves.T]
        ends = np.arange(self.size, self.size + ENDS)[:, None]
        return np.concatenate([leads, np.repeat(ends, len(moves), axis=1)])

    def policy(self, moves: Moves) -> TabularPolicy:
        """The player with these moves (S,)."""
        cells = self._cells[np.arange(len(self._cells)), moves[self._index]]
        return TabularPolicy(self.rules, one_hot(cells, self.rules.cells))

    def probs(self, opponent: Policy) -> Floats:
        """The probabilities (S, cells) of an opponent's moves."""
        return tabulate(opponent, self.rules).by_row()[self.rows]

    def best_response(
        self, successors: Rows, end_values: Floats, slip: float, rng: np.random.Generator
    ) -> Moves:
        """The moves (S,) of a best response to one network, on both sides.

        successors: (S + ENDS,) of this network, which makes a random legal move with probability
        `slip`. The response plays the legal move after which the network's expected result is the
        lowest, one of equals at random. It depends on the rules and the moves of the network only.
        """
        moves = np.zeros(self.size, dtype=np.uint8)
        for side in range(2):
            values = np.concatenate([np.zeros(self.size), end_values[side]])
            for ply in range(self.rules.cells - 1, -1, -1):
                rows = self.plies[ply]
                after = values[self.after[rows]]
                if ply % 2 == side:
                    slipped = (self.random[rows] * after).sum(axis=1)
                    values[rows] = (1 - slip) * values[successors[rows]] + slip * slipped
                else:
                    after[~self.legal[rows]] = np.inf
                    values[rows] = lowest = after.min(axis=1)
                    is_best = after <= lowest[:, None] + EQUAL
                    moves[rows] = (is_best * (1 - rng.random(after.shape))).argmax(axis=1)
        return moves

    def results(
        self, successors: Rows, opponent: Floats, end_values: Floats, slip: float = 0.0
    ) -> Floats:
        """The expected results of networks against an opponent, the mean of both sides: (B,).

        opponent: (S, cells) its probabilities. end_values: (2, ENDS) of networks as X and as O.
        slip: probability that a network makes a random legal move.
        """
        count, every = successors.shape[1], np.arange(successors.shape[1])
        total = np.zeros(count)
        for side in range(2):
            values = np.empty((self.size + ENDS, count))
            values[self.size :] = end_values[side, :, None]
            for ply in range(self.rules.cells - 1, -1, -1):
                rows, is_own = self.plies[ply], ply % 2 == side
                if is_own:
                    found, probs = values[successors[rows], every], self.random[rows]
                    values[rows] = (1 - slip) * found
                else:
                    fouls = (opponent[rows] * ~self.legal[rows]).sum(axis=1, keepdims=True)
                    values[rows] = fouls * end_values[side, O_ILLEGAL - side]
                    probs = opponent[rows] * self.legal[rows]
                if slip or not is_own:
                    weight = slip if is_own else 1.0
                    moves, each = self.moves[ply], np.arange(len(probs))
                    after = self.after[rows]
                    for cell in moves.T:
                        share = weight * probs[each, cell, None]
                        values[rows] += share * values[after[each, cell]]
            total += values[0] / 2
        return total

    def worst_positions(
        self,
        successors: Rows,
        opponent: Floats,
        end_values: Floats,
        slip: float,
        rng: np.random.Generator,
    ) -> Rows:
        """A position of each network from the worst of SAMPLED_GAMES games: (B,).

        It is drawn from the positions of that game in which the network was to move; without any,
        it is the empty board.
        """
        shape = (successors.shape[1], SAMPLED_GAMES)
        networks, sides = np.arange(shape[0])[:, None], rng.integers(2, size=shape)
        state = np.zeros(shape, dtype=np.intp)
        path = np.full((self.rules.cells, *shape), -1)
        sums = np.stack([opponent, self.random]).cumsum(axis=2).transpose(2, 0, 1)
        for ply in range(self.rules.cells):
            goes_on = state < self.size
            at, is_own = np.where(goes_on, state, 0), sides == ply % 2
            path[ply] = np.where(goes_on & is_own, state, -1)
            cells = draw(sums[:, is_own.astype(np.intp), at], rng.random(shape))
            is_greedy = is_own & (rng.random(shape) >= slip)
            following = np.where(is_greedy, successors[at, networks], self.after[at, cells])
            state = np.where(goes_on, following, state)
        results = end_values[sides, state - self.size]
        worst = (results + rng.random(shape) / 10).argmin(axis=1)  # ties at random
        path = path[:, networks[:, 0], worst]
        chosen = np.where(path >= 0, rng.random(path.shape), -1.0).argmax(axis=0)
        return np.maximum(path[chosen, networks[:, 0]], 0)

    def league(self, successors: Rows) -> tuple[Rows, list[int]]:
        """The ends of all games of the league, X on the first axis, O on the second: (N, N).

        Games of a network against itself are NOT_PLAYED. Also the number of games by the marks on
        the board at the end, 1 to cells, and then of those that an illegal move ended.
        """
        count, leads = successors.shape[1], successors.ravel()
        movers = (np.arange(count)[:, None], np.arange(count)[None])
        state = np.zeros((count, count), dtype=np.intp)
        length = np.zeros_like(state)
        for ply in range(self.rules.cells):
            length += state < self.size
            state = leads[state * count + movers[ply % 2]]
        ends = state - self.size
        np.fill_diagonal(ends, NOT_PLAYED)
        np.fill_diagonal(length, 0)
        is_illegal = (ends == X_ILLEGAL) | (ends == O_ILLEGAL)
        length -= is_illegal  # an illegal move leaves no mark
        by_length = np.bincount(length.ravel(), minlength=self.rules.cells + 1)[1:]
        return ends, [*by_length.tolist(), int(is_illegal.sum())]


def values_of_ends(win: float, draw: float, loss: float, illegal: float) -> Floats:
    """The value of each end, for X and for O: (2, ENDS). illegal: that of one's own such move."""
    return np.array([(win, draw, loss, illegal, win), (loss, draw, win, win, illegal)])


def mean_points(ends: Rows, end_values: Floats) -> Floats:
    """The mean value of each network's games in a league with these ends (N, N): (N,)."""
    as_x, as_o = np.append(end_values, np.zeros((2, 1)), axis=1)[:, ends]  # 0 for NOT_PLAYED
    return (as_x.sum(axis=1) + as_o.sum(axis=0)) / (2 * (len(ends) - 1))
