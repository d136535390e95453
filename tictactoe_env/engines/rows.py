"""Games by row number, for boards with few enough positions for a table of their successors.

A state is one integer: the position's row in one of six copies of the table of all P positions.
The copy tells which side the learner plays and whether a side has made an illegal move:

    state = copy * P + row        copy 0, 1: no illegal move so far; the learner is X, O
                                  copy 2, 3: the learner has moved illegally
                                  copy 4, 5: the opponent has moved illegally

Each method is therefore a table look-up: in flat Python arrays for one game, in NumPy arrays for
many. `bits` has the same methods for boards of any size.
"""

from __future__ import annotations

from array import array
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.observation import observe
from tictactoe_env.policy import Numbers, Policy, Uniforms
from tictactoe_env.rules import ILLEGAL, ONGOING, OPPONENT_ILLEGAL, SIDES, Boards, Rules

_OTHER_SEAT = (1, -1, 3, 1)  # copies to the same game seen from the other side, for copy 0 to 3
_INT8 = np.dtype(np.int8)
_EVEN = 1e-12  # a column of the alias method that is this close to full counts as full
States = Numbers


@lru_cache(maxsize=8)
def row_tables(
    rules: Rules, early_draw: bool, observation: str, symmetric: bool = False
) -> _RowTables:
    """The tables of a board, built on first use and shared by all environments."""
    return _RowTables(rules, early_draw, observation, symmetric)


class _RowTables:
    """The tables of both engines of this file: arrays over the 6 P states described above.

    The learner moves by `moves` and sees `observations` and `masks`; symmetric: these are of one
    image of each board. The opponent moves by `children` and `legal`, on the board as it is.
    """

    def __init__(self, rules: Rules, early_draw: bool, observation: str, symmetric: bool):
        positions = positions_of(rules)
        size = len(positions)
        self.rules = rules
        self.size = size
        self.playing = 2 * size  # number of states without an illegal move
        results = [positions.results(side, early_draw) for side in SIDES]
        self.result = np.concatenate(
            [*results, np.full(2 * size, ILLEGAL), np.full(2 * size, OPPONENT_ILLEGAL)]
        ).astype(np.int8)
        self.boards = np.tile(positions.boards, (6, 1))
        self.seats = np.tile(np.repeat(np.array([1, -1], dtype=np.int8), size), 3)
        self.legal = rules.legal_cells(self.boards).astype(np.int8)
        # An illegal cell leads to the copy for illegal moves of the learner, two copies further.
        rows = np.tile(np.arange(size), 2)
        seats = np.repeat([0, 1], size)
        children = positions.children[rows]
        illegal = np.arange(2 * size, 4 * size)
        self.children = np.where(
            children >= 0, children + (seats * size)[:, None], illegal[:, None]
        )
        self.moves = self.children
        self.masks = self.legal
        seen = self.boards
        if symmetric:
            from tictactoe_env.symmetry import images  # imported here because few need it

            seen, cells = images(self.boards, rules)
            self.moves = np.take_along_axis(self.children, cells[: 2 * size], axis=1)
            self.masks = np.take_along_axis(self.legal, cells, axis=1)
        self.masks = np.where(self.result[:, None] == ONGOING, self.masks, np.int8(1))
        self.observations = observe(seen, rules, observation, self.seats)
        self.opponent_moves = (self.result[: 2 * size] == ONGOING) & (
            positions.x_to_move[rows] != (seats == 0)
        )

    @cached_property
    def row_of(self) -> dict[bytes, int]:
        """The row of each board, by its bytes."""
        return {board.tobytes(): row for row, board in enumerate(self.boards[: self.size])}

    @cached_property
    def lists(self) -> tuple[Any, ...]:
        """Moves, results and views, in the types with the fastest single look-up.

        A view is the observation and the mask of a state, one after the other.
        """
        seen = self.observations.reshape(len(self.result), -1).view(np.int8)
        moves = array("i", self.moves.astype(np.intc).tobytes())
        views = bytearray(np.concatenate([seen, self.masks], axis=1))
        return moves, self.result.tobytes(), views


class _RowEngine:
    """A board, and what its games look like. Copies share the tables of the board."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str, symmetric: bool = False):
        self.rules = rules
        self._arguments = (rules, early_draw, observation, symmetric)
        self.tables = row_tables(*self._arguments)

    def __reduce__(self) -> Any:
        return type(self), self._arguments


class RowGames(_RowEngine):
    """A `BatchEngine`, whose states are intp (B,)."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str, symmetric: bool = False):
        super().__init__(rules, early_draw, observation, symmetric)
        self._moves = self.tables.moves.ravel()

    def start(self, boards: Boards, seats: NDArray[np.int8], results: Any = ONGOING) -> States:
        """States (B,) of boards (B, cells) int8; `seats` (B,) int8 are the learner's marks."""
        results = np.asarray(results)
        copies = (seats < 0) + 2 * (results == ILLEGAL) + 4 * (results == OPPONENT_ILLEGAL)
        return positions_of(self.rules).rows(boards) + copies * self.tables.size

    def advance(
        self,
        states: States,
        cells: Numbers,
        replies: _RowReplies,
        which: Numbers,
        rng: Generator,
        waiting: Numbers | None = None,
    ) -> tuple[States, NDArray[np.int8]]:
        """States (B,) and results (B,) after the learner's moves and the opponents' replies."""
        # States after an illegal move are not in this table: "clip" gives them any successor.
        states = self._moves.take(states * self.rules.cells + cells, mode="clip")
        return self.begin(states, replies, which, rng)

    def begin(
        self,
        states: States,
        replies: _RowReplies,
        which: Numbers,
        rng: Generator,
        same_board: bool = False,
    ) -> tuple[States, NDArray[np.int8]]:
        """States (B,) and results (B,) after the opponents' moves, where it is their turn."""
        after = replies.draw(states, which, rng.random(len(states)))
        return after, self.tables.result.take(after)

    def prepare(self, policies: list[Policy]) -> _RowReplies:
        """The opponents in the form that `advance` takes, here as alias tables."""
        return _RowReplies(self.tables, policies)

    def result(self, states: States) -> NDArray[np.int8]:
        """Fresh results (B,) int8, the numbers ONGOING to OPPONENT_ILLEGAL."""
        return self.tables.result.take(states)

    def observe(self, states: States) -> NDArray[Any]:
        """Fresh observations from the learner's seats: see `observation.observe`."""
        return self.tables.observations.take(states, axis=0)

    def legal(self, states: States) -> NDArray[np.int8]:
        """Masks (B, cells) int8, 1 on legal cells, and on all cells after the end of a game."""
        return self.tables.masks.take(states, axis=0)

    def boards(self, states: States) -> Boards:
        """Boards (B, cells) int8."""
        return self.tables.boards.take(states, axis=0)

    def seats(self, states: States) -> NDArray[np.int8]:
        """The learner's marks (B,) int8."""
        return self.tables.seats.take(states)


class _RowReplies:
    """Draws the replies of several opponents in constant time.

    The method is the alias method (Walker 1977; Vose 1991) on the cells of positive probability.
    The alias step is skipped if these are equally likely in every position, for every opponent.
    """

    def __init__(self, tables: _RowTables, policies: list[Any]):
        self._cells = tables.rules.cells
        self._states = 6 * tables.size
        self._several = len(policies) > 1
        # There is no reply after an illegal move: such a state leads to itself.
        ended = np.repeat(np.arange(tables.playing, self._states)[:, None], self._cells, axis=1)
        always = np.ones(ended.shape)
        after_the_end = (always[:, 0], ended, always, ended)
        every = [part for one in policies for part in (_alias_table(tables, one), after_the_end)]
        self._width, self._target, accept, alias = (
            np.concatenate(part).ravel() for part in zip(*every, strict=True)
        )
        self._uniform = bool((accept >= 1).all())
        if not self._uniform:
            self._accept = accept
            self._alias = alias

    def draw(self, states: States, which: Numbers, uniform: NDArray[np.float64]) -> States:
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


@lru_cache(maxsize=64)  # so that a further snapshot does not cost those that are there already
def _alias_table(
    tables: _RowTables, policy: Any
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Width (2 P,), and target, acceptance and alias (2 P, cells) of one opponent.

    A state without a reply leads to itself.
    """
    cells = tables.rules.cells
    moving = np.flatnonzero(tables.opponent_moves)
    probs = tabulate(policy, tables.rules).by_row()[moving % tables.size]
    illegal = (moving + 4 * tables.size)[:, None]
    next_states = np.where(tables.legal[moving] > 0, tables.children[moving], illegal)
    order = np.argsort(probs <= 0, axis=1, kind="stable")  # cells of positive probability first
    probs = np.take_along_axis(probs, order, axis=1)
    next_states = np.take_along_axis(next_states, order, axis=1)
    width = np.ones(tables.playing)
    target = np.repeat(np.arange(tables.playing)[:, None], cells, axis=1)
    width[moving] = (probs > 0).sum(axis=1)
    target[moving] = next_states
    accept = np.ones(target.shape)
    alias = target.copy()
    scaled = probs * width[moving, None]
    pending = (probs > 0) & (np.abs(scaled - 1) > _EVEN)
    while True:  # each round fills the smallest column of each row from the largest
        small = np.where(pending, scaled, np.inf).argmin(axis=1)
        large = np.where(pending, scaled, -np.inf).argmax(axis=1)
        rows = np.flatnonzero(pending.any(axis=1) & (small != large))
        if len(rows) == 0:
            return width, target, accept, alias
        s = small[rows]
        g = large[rows]
        accept[moving[rows], s] = scaled[rows, s]
        alias[moving[rows], s] = next_states[rows, g]
        scaled[rows, g] -= 1 - scaled[rows, s]
        pending[rows, s] = False
        pending[rows, g] = np.abs(scaled[rows, g] - 1) > _EVEN


class RowGame(_RowEngine):
    """A `GameEngine`, whose state is an int."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str, symmetric: bool = False):
        super().__init__(rules, early_draw, observation, symmetric)
        tables = self.tables
        self._cells = rules.cells
        self._moves, self._result, self._views = tables.lists
        self._size = tables.size
        seen = tables.observations
        self._shape = seen.shape[1:]
        self._dtype = seen.dtype
        self._mask_at = seen[0].nbytes
        self._view_size = self._mask_at + rules.cells

    def start(self, board: Boards, seat: int) -> int:
        """The state of an unfinished board (cells,), the learner having the mark `seat`."""
        row = self.tables.row_of.get(board.tobytes())
        if row is None:  # this says why
            row = int(positions_of(self.rules).rows(board[None])[0])
        return row + (seat < 0) * self._size

    def advance(
        self, state: int, cell: int | None, reply: _RowReply | None, uniforms: Uniforms
    ) -> tuple[int, int, NDArray[Any], NDArray[np.int8]]:
        """State, result, observation and mask after the learner's move and the opponent's reply.

        The lines of `view` are repeated here: the call would take 3 % of a step.
        """
        if cell is not None:
            state = self._moves[state * self._cells + cell]
        if reply is None:
            return self._turned(state)
        if width := reply.width[state]:
            scaled = (uniforms.pop() if uniforms else uniforms.draw()) * width
            column = int(scaled)
            index = state * self._cells + column
            if reply.uniform or scaled - column < reply.accept[index]:
                state = reply.target[index]
            else:
                state = reply.alias[index]
        start = state * self._view_size
        seen = self._views[start : start + self._view_size]
        return (
            state,
            self._result[state],
            ndarray(self._shape, self._dtype, seen),
            ndarray(self._cells, _INT8, seen, self._mask_at),
        )

    def _turned(self, state: int) -> tuple[int, int, NDArray[Any], NDArray[np.int8]]:
        """The same state for the other side, with the result of the side that has moved."""
        other = state + _OTHER_SEAT[state // self._size] * self._size
        return other, self._result[state], *self.view(other)

    def prepare(self, policy: Any) -> _RowReply:
        """The opponent as an alias table."""
        return _row_reply(self.tables, policy)

    def view(self, state: int) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The observation from the learner's seat and the mask (cells,) int8; both are fresh."""
        start = state * self._view_size
        seen = self._views[start : start + self._view_size]
        return (
            ndarray(self._shape, self._dtype, seen),
            ndarray(self._cells, _INT8, seen, self._mask_at),
        )

    def board(self, state: int) -> Boards:
        """The board (cells,) int8."""
        return self.tables.boards[state].copy()


class _RowReply:
    """The alias table of one opponent as flat arrays of Python numbers.

    It takes half a megabyte on 3x3 if all replies to a position are equally likely.
    """

    def __init__(self, tables: _RowTables, policy: Any):
        width, target, accept, alias = _alias_table(tables, policy)
        # 0 in every state in which no reply follows, those after an illegal move included
        moving = np.where(tables.opponent_moves, width, 0).astype(np.int8)
        self.width = moving.tobytes() + bytes(len(tables.result) - len(moving))
        self.target = array("i", target.astype(np.intc).tobytes())
        self.uniform = bool((accept >= 1).all())
        if not self.uniform:
            self.accept = array("d", accept.tobytes())
            self.alias = array("i", alias.astype(np.intc).tobytes())


_row_reply = lru_cache(maxsize=64)(_RowReply)  # another environment's opponent costs nothing
