"""Games walked by row number, for boards small enough that every position's successors fit in a table.

A state is one integer: the position's row, in one of six copies of the table, which say who the learner is and
whether somebody has forfeited the game by an illegal move:

    state = copy * P + row        copy 0, 1: the game goes on, the learner is X, O   (P positions)
                                  copy 2, 3: the learner has forfeited
                                  copy 4, 5: the opponent has forfeited

So every question about a state, and every move, is one look-up, for one game in a list and for many in an array.
`bit_engine` has the same verbs for boards of any size.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.observation import observe
from tictactoe_env.policy import Policy, Uniforms, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import DRAW, ILLEGAL, LOSS, ONGOING, OPPONENT_ILLEGAL, WIN, Boards, Rules

MAX_CELLS = 10  # of a board that is walked by rows: 2x5 has 15,983 positions; 3x4 with 111,973 would fill 100 MB of lists
EVEN = 1e-12  # a column of the alias method this close to full is full
States = NDArray[np.intp]


@lru_cache(maxsize=8)
def row_tables(rules: Rules, early_draw: bool, observation: str) -> RowTables:
    """The tables of a board, built on first use and shared by all environments."""
    return RowTables(rules, early_draw, observation)


class RowTables:
    """What the two engines of this file look up; arrays over the 6 P states described above."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        positions = positions_of(rules)
        size = len(positions)
        self.rules, self.size, self.playing = rules, size, 2 * size
        over = positions.is_over | (positions.is_dead if early_draw else False)
        standing = [
            np.where(over, np.choose(seat * positions.outcome_x + 1, [LOSS, DRAW, WIN]), ONGOING)
            for seat in (1, -1)
        ]
        self.result = np.concatenate(
            [*standing, np.full(2 * size, ILLEGAL), np.full(2 * size, OPPONENT_ILLEGAL)]
        ).astype(np.int8)
        self.boards = np.tile(positions.boards, (6, 1))
        self.seats = np.tile(np.repeat(np.array([1, -1], dtype=np.int8), size), 3)
        self.observations = observe(self.boards, rules, observation, self.seats)
        self.legal = (self.boards == 0).astype(np.int8)
        # A taken cell leads to the copy in which the learner has forfeited, two copies on.
        rows, seats = np.tile(np.arange(size), 2), np.repeat([0, 1], size)
        children = positions.children[rows]
        states = np.arange(2 * size)
        self.children = np.where(
            children >= 0, children + (seats * size)[:, None], (states + 2 * size)[:, None]
        )
        self.opponent_moves = (self.result[: 2 * size] == ONGOING) & (
            positions.x_to_move[rows] != (seats == 0)
        )

    def replies(self, policy: Policy) -> tuple[NDArray[np.float64], States]:
        """Probability of each reply, and the state it leads to: (2 P, cells) each; rows where nobody replies are zero."""
        probs = np.tile(tabulate(policy, self.rules).by_row(), (2, 1))
        probs[~self.opponent_moves] = 0
        states = np.arange(2 * self.size)[:, None]
        return probs, np.where(
            self.legal[: 2 * self.size] > 0, self.children, states + 4 * self.size
        )


class RowGames:
    """Many games at a time: states (B,) intp, every verb a few array look-ups."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.tables = tables = row_tables(rules, early_draw, observation)
        self.rules, self.cells, self._arguments = (
            rules,
            rules.cells,
            (rules, early_draw, observation),
        )
        self._children = tables.children.ravel()

    def __reduce__(self) -> Any:
        return (type(self), self._arguments)  # copies share the tables

    def start(self, boards: Boards, seats: NDArray[np.int8]) -> States:
        """States (B,) of unfinished boards (B, cells), the learner having the marks `seats` (B,)."""
        return positions_of(self.rules).rows(boards) + np.where(seats > 0, 0, self.tables.size)

    def play(self, states: States, cells: NDArray[np.intp]) -> States:
        """States after the learner's moves; a taken cell forfeits. A game that is over leads to a state of no meaning."""
        return self._children.take(
            states * self.cells + cells, mode="clip"
        )  # forfeited states are beyond the end

    def prepare(self, policies: list[Policy]) -> RowReplies:
        """The opponents in the form that `reply` takes."""
        return RowReplies(self.tables, policies)

    def reply(
        self, states: States, replies: RowReplies, which: NDArray[np.intp], rng: np.random.Generator
    ) -> States:
        """States after the opponents' moves, opponent `which` (B,) in each game, where it is an opponent's turn."""
        return replies.draw(states, which, rng.random(len(states)))

    def result(self, states: States) -> NDArray[np.int8]:
        """How each game stands for the learner, ONGOING to OPPONENT_ILLEGAL of `rules`: (B,) int8."""
        return self.tables.result.take(states)

    def opponent_moves(self, states: States) -> NDArray[np.bool_]:
        """(B,) bool: the game goes on and it is the opponent's turn."""
        return (states < self.tables.playing) & self.tables.opponent_moves.take(
            states % self.tables.playing
        )

    def observe(self, states: States) -> NDArray[np.int8]:
        """Fresh observations from the learner's seat, int8."""
        return self.tables.observations.take(states, axis=0)

    def legal(self, states: States) -> NDArray[np.int8]:
        """Fresh masks (B, cells) int8, 1 on free cells."""
        return self.tables.legal.take(states, axis=0)

    def boards(self, states: States) -> Boards:
        """(B, cells) int8."""
        return self.tables.boards.take(states, axis=0)

    def seats(self, states: States) -> NDArray[np.int8]:
        """The learner's marks (B,) int8, +1 X, -1 O."""
        return self.tables.seats.take(states)


class RowReplies:
    """Draws the replies of several opponents in constant time, by the alias method (Walker 1977; Vose 1991).

    Only cells of positive probability are kept, so where an opponent's moves are equally likely the alias step falls away.
    """

    def __init__(self, tables: RowTables, policies: list[Policy]):
        self._cells, self._states, self._several = (
            tables.rules.cells,
            6 * tables.size,
            len(policies) > 1,
        )
        parts = [_alias_table(tables, policy) for policy in policies]
        # Nobody replies to a forfeited game either: such a state leads to itself.
        forfeited = np.repeat(np.arange(tables.playing, self._states)[:, None], self._cells, axis=1)
        self._width = np.concatenate(
            [width for part in parts for width in (part[0], np.ones(len(forfeited)))]
        )
        self._target = np.concatenate(
            [target for part in parts for target in (part[1], forfeited)]
        ).ravel()
        self._uniform = all(bool((part[2] >= 1).all()) for part in parts)
        if not self._uniform:
            self._accept = np.concatenate(
                [accept for part in parts for accept in (part[2], np.ones(forfeited.shape))]
            ).ravel()
            self._alias = np.concatenate(
                [alias for part in parts for alias in (part[3], forfeited)]
            ).ravel()

    def draw(self, states: States, which: NDArray[np.intp], uniform: NDArray[np.float64]) -> States:
        """The states after the replies, from one number in [0, 1) each."""
        if self._several:
            states = states + which * self._states
        scaled = uniform * self._width.take(states)
        column = scaled.astype(np.intp)
        index = states * self._cells + column
        drawn = self._target.take(index)
        if self._uniform:
            return drawn
        return np.where(scaled - column < self._accept.take(index), drawn, self._alias.take(index))


def _alias_table(
    tables: RowTables, policy: Policy
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Width (2 P,), and target, acceptance and alias (2 P, cells) of one opponent; a state with no reply leads to itself."""
    probs, next_states = tables.replies(policy)
    cells = tables.rules.cells
    moving = np.flatnonzero(tables.opponent_moves)
    probs, next_states = probs[moving], next_states[moving]
    order = np.argsort(probs <= 0, axis=1, kind="stable")  # cells of positive probability first
    probs, next_states = (
        np.take_along_axis(probs, order, axis=1),
        np.take_along_axis(next_states, order, axis=1),
    )
    width, target = (
        np.ones(tables.playing),
        np.repeat(np.arange(tables.playing)[:, None], cells, axis=1),
    )
    width[moving], target[moving] = (probs > 0).sum(axis=1), next_states
    accept, alias = np.ones(target.shape), target.copy()
    scaled = probs * width[moving, None]
    pending = (probs > 0) & (np.abs(scaled - 1) > EVEN)
    while True:  # each round settles the smallest column of each row with the largest
        small = np.where(pending, scaled, np.inf).argmin(axis=1)
        large = np.where(pending, scaled, -np.inf).argmax(axis=1)
        rows = np.flatnonzero(pending.any(axis=1) & (small != large))
        if len(rows) == 0:
            return width, target, accept, alias
        s, g = small[rows], large[rows]
        accept[moving[rows], s] = scaled[rows, s]
        alias[moving[rows], s] = next_states[rows, g]
        scaled[rows, g] -= 1 - scaled[rows, s]
        pending[rows, s] = False
        pending[rows, g] = np.abs(scaled[rows, g] - 1) > EVEN


class RowGame:
    """One game at a time: a state is an int, every verb a list look-up."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.tables = tables = row_tables(rules, early_draw, observation)
        self.rules, self._cells, self._arguments = (
            rules,
            rules.cells,
            (rules, early_draw, observation),
        )
        self._children, self._result, self._observations, self._legal = _lists(
            rules, early_draw, observation
        )
        self._playing, self._size = tables.playing, tables.size

    def __reduce__(self) -> Any:
        return (type(self), self._arguments)  # copies share the tables

    def start(self, board: Boards, seat: int) -> int:
        """The state of an unfinished board (cells,), the learner having the mark `seat`."""
        return int(positions_of(self.rules).rows(board[None])[0]) + (0 if seat > 0 else self._size)

    def advance(
        self, state: int, cell: int, replies: RowReply, uniforms: Uniforms
    ) -> tuple[int, int]:
        """The state after the learner's move and the opponent's reply, and how the game stands; a taken cell forfeits."""
        state = self._children[state * self._cells + cell]
        result = self._result[state]
        if result != ONGOING:
            return state, result
        return self.reply(state, replies, uniforms)

    def prepare(self, policy: Policy) -> RowReply:
        """The opponent in the form that `reply` takes."""
        return RowReply(self.tables, policy)

    def reply(self, state: int, replies: RowReply, uniforms: Uniforms) -> tuple[int, int]:
        """The state after the opponent's move, drawn by a number in [0, 1), and how the game stands."""
        try:
            scaled = uniforms.pop() * replies.width[state]
        except IndexError:
            scaled = uniforms.draw() * replies.width[state]
        column = int(scaled)
        index = state * self._cells + column
        state = (
            replies.target[index]
            if replies.uniform or scaled - column < replies.accept[index]
            else replies.alias[index]
        )
        return state, self._result[state]

    def opponent_moves(self, state: int) -> bool:
        """Whether the game goes on and it is the opponent's turn."""
        return state < self._playing and bool(self.tables.opponent_moves[state])

    def view(self, state: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """A fresh observation from the learner's seat, and a fresh mask (cells,), 1 on free cells; int8."""
        return self._observations[state].copy(), self._legal[state].copy()

    def board(self, state: int) -> Boards:
        """(cells,) int8."""
        return self.tables.boards[state].copy()


@lru_cache(maxsize=8)
def _lists(rules: Rules, early_draw: bool, observation: str) -> tuple[Any, ...]:
    """Children, results, observations and masks in the forms that answer one question fastest."""
    tables = row_tables(rules, early_draw, observation)
    return (
        array("i", tables.children.astype(np.intc).tobytes()),
        tables.result.tobytes(),
        tables.observations,
        tables.legal,
    )


class RowReply:
    """The alias table of one opponent, as flat arrays of Python numbers: half a megabyte on 3x3 if its ties are even."""

    def __init__(self, tables: RowTables, policy: Policy):
        width, target, accept, alias = _alias_table(tables, policy)
        self.width = width.astype(np.int8).tobytes()
        self.target = array("i", target.astype(np.intc).tobytes())
        self.uniform = bool((accept >= 1).all())
        if not self.uniform:
            self.accept, self.alias = (
                array("d", accept.tobytes()),
                array("i", alias.astype(np.intc).tobytes()),
            )
