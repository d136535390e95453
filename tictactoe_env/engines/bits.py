"""Games on bitboards, for boards of any size.

Many games are an array with the learner's marks, the opponent's marks and the legal moves as sets
(see `bitboards`) and a status: how the game stands for the learner, which side the learner plays,
and whether it is the opponent's turn at the start. On boards of up to 12 cells opponents are
tabulated first. On larger ones `probs` is called once a step for all games of an opponent, and once
for a board that all of them have, whose answer is kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from numpy.random import Generator
from numpy.typing import NDArray

from tictactoe_env.engines.bitboards import BYTE, bitboards_of, cell_bytes, line_table, nth_cells
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.observation import observation_space
from tictactoe_env.policy import Numbers, Policy, RandomPolicy, Uniforms, checked_ends, draw, keeps
from tictactoe_env.rules import (
    DRAW,
    ILLEGAL,
    ONGOING,
    OPPONENT_ILLEGAL,
    Boards,
    Outcome,
    Rules,
    to_move,
)

# (4, B): the learner's marks, the opponent's, the legal moves (all cells after the end), the status
States = NDArray[np.int64]
_Sets = NDArray[np.int64]

# A status is the result, plus 8 if the learner plays O, plus 16 if the opponent begins.
PLAYS_O = 8
OPPONENT_BEGINS = 16
_STATUSES = np.arange(32)
_RESULT = (_STATUSES % 8).astype(np.int8)
_SEAT = np.where(_STATUSES & PLAYS_O, -1, 1).astype(np.int8)


class _Start(NamedTuple):
    """A first state (4,) by its bytes, its legal moves, and the states (4, cells) after each."""

    key: bytes
    board: Boards  # (1, cells)
    legal: Numbers
    first_moves: States


class _BitEngine:
    """A board, and what its games look like. Copies share the tables of the board."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules = rules
        self._early_draw = early_draw
        self._observation = observation
        # The outcomes for the learner where it completes a line, and where its opponent does.
        self._own_line = rules.line_result
        self._their_line = int(Outcome(rules.line_result).of_other_side)
        self._all_free_are_legal = rules.all_free_are_legal
        self._opens_above = rules.opens_above

    def __reduce__(self) -> Any:
        return type(self), (self.rules, self._early_draw, self._observation)


class BitGames(_BitEngine):
    """A `BatchEngine`, whose states are int64 (4, B)."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        super().__init__(rules, early_draw, observation)
        self._board = bitboards_of(rules)
        self._moves = self._board.bits  # the cells of each move, at most one of them legal
        self._all_moves = self._board.full  # one cell of each move, legal after the end
        self._start: _Start | None = None

    def start(self, boards: Boards, seats: NDArray[np.int8], results: Any = ONGOING) -> States:
        """States (4, B) of boards (B, cells), the learner having the marks `seats` (B,)."""
        seen = boards * seats[:, None]
        states = np.empty((4, len(boards)), dtype=np.int64)
        legal = self.rules.legal_cells(boards)
        for row, members in zip(states, (seen > 0, seen < 0, legal), strict=False):
            row[:] = self._board.sets(members)
        waits = to_move(boards) != seats
        states[2, np.not_equal(results, ONGOING)] = self._all_moves
        states[3] = results + PLAYS_O * (seats < 0) + OPPONENT_BEGINS * waits
        return states

    def advance(
        self,
        states: States,
        cells: Numbers,
        replies: list[_BitReply],
        which: Numbers,
        rng: Generator,
        waiting: Numbers | None = None,
    ) -> tuple[States, NDArray[np.int8]]:
        """States (4, B) and results (B,) after the learner's moves and the opponents' replies."""
        after = states.copy()
        own, other, legal, _ = after
        bits = legal & self._moves.take(cells)  # no cell for an illegal move
        illegal = None
        if np.count_nonzero(bits) < len(bits):  # rarely
            illegal = bits == 0
        has_line = self._marked(own, other, legal, bits)
        moving = ~(has_line | self._drawn(own, other, legal))
        for ended in (illegal, waiting):
            if ended is not None:
                moving[ended] = False
        is_random = len(replies) == 1 and replies[0].is_random
        if is_random:
            uniforms = np.zeros(len(moving))
            uniforms[moving] = rng.random(np.count_nonzero(moving))
            bits = self._board.draw_moves(legal, uniforms, moving)
        else:
            bits = np.zeros(len(moving), dtype=np.int64)
            games = moving.nonzero()[0]
            drawn = self._replies(after, games, replies, which, rng)
            bits[games] = self._board.bits.take(drawn)
        result = self._answered(after, bits, has_line, is_random)
        if illegal is not None:
            result[illegal] = ILLEGAL
            after[3] += ILLEGAL * illegal
            legal[illegal] = self._all_moves
        return after, result

    def begin(
        self,
        states: States,
        replies: list[_BitReply],
        which: Numbers,
        rng: Generator,
        same_board: bool = False,
    ) -> tuple[States, NDArray[np.int8]]:
        """States (4, B) and results (B,) after the first moves of the opponents that begin."""
        games = (states[3] >= OPPONENT_BEGINS).nonzero()[0]
        after = states.copy()
        if len(games) and same_board:
            start = self._start_of(after[:, games[0]])
            cells = self._replies(after, games, replies, which, rng, start)
            after[:, games] = start.first_moves.take(cells, axis=1)
        elif len(games):
            cells = self._replies(after, games, replies, which, rng)
            after[:, games] = self._first_moves(after.take(games, axis=1), cells)
        return after, self.result(after)

    def _first_moves(self, states: States, cells: Numbers) -> States:
        """`states` (4, B) after the opponents' moves onto these cells (B,); in place."""
        states[3] -= OPPONENT_BEGINS
        nobody = np.zeros(len(cells), dtype=bool)
        self._answered(states, self._board.bits.take(cells), nobody)
        return states

    def _start_of(self, state: States) -> _Start:
        """The possible replies in one game (4,); kept, since most games start alike."""
        if self._start is None or self._start.key != state.tobytes():
            count = self.rules.cells
            states = state[:, None].repeat(count, axis=1)
            board = self.boards(states[:, :1])
            legal = np.flatnonzero(self._board.members(state[2:3]))
            moves = self._first_moves(states, np.arange(count))
            self._start = _Start(state.tobytes(), board, legal, moves)
        return self._start

    def _marked(self, marks: _Sets, others: _Sets, legal: _Sets, bits: _Sets) -> NDArray[np.bool_]:
        """True where a move makes a line: (B,).

        marks, others, legal (B,): the marks of the side that moves, those of the other side, and
        the legal moves, rows of the states. bits (B,): the moves as sets of at most one legal cell,
        added to the marks in place.
        """
        marks |= bits
        legal ^= bits
        if self._opens_above:
            legal |= bits >> self.rules.cols
        elif not self._all_free_are_legal:
            legal[:] = self._board.legal(marks | others)
        return self._board.has_line(marks)

    def _answered(
        self, states: States, bits: _Sets, has_line: NDArray[np.bool_], is_legal: bool = False
    ) -> NDArray[np.int8]:
        """Results (B,) after the opponents' moves, sets of at most one cell; changes the states.

        has_line (B,): whether the learner has one.
        """
        own, other, legal, status = states
        refused = None
        if not is_legal:
            possible = legal & bits
            if np.count_nonzero(possible) < np.count_nonzero(bits):  # rarely
                refused = possible != bits
                bits = possible
        answered = self._marked(other, own, legal, bits)
        result = np.zeros(len(bits), dtype=np.int8)  # ONGOING
        result[self._drawn(own, other, legal)] = DRAW
        result[has_line] = self._own_line
        result[answered] = self._their_line
        if refused is not None:
            result[refused] = OPPONENT_ILLEGAL
        status += result
        np.putmask(legal, result != ONGOING, self._all_moves)
        return result

    def _drawn(self, own: _Sets, other: _Sets, legal: _Sets) -> NDArray[np.bool_]:
        """True where a game without a line is drawn: (B,), fresh."""
        drawn: NDArray[np.bool_] = legal == 0
        if self._early_draw:
            drawn |= self._board.is_dead(own, other)
        return drawn

    def _replies(
        self,
        states: States,
        games: Numbers,
        replies: list[_BitReply],
        which: Numbers,
        rng: Generator,
        start: _Start | None = None,
    ) -> Numbers:
        """The opponents' moves in these games: cells (games,). start: that of all of them."""
        cells = np.empty(len(games), dtype=np.intp)
        theirs = slice(None)
        for number, reply in enumerate(replies):
            if len(replies) > 1:
                theirs = (which.take(games) == number).nonzero()[0]
            asked = games[theirs]
            uniforms = rng.random(len(asked))
            if start and reply.is_random:
                cells[theirs] = start.legal.take((uniforms * len(start.legal)).astype(np.intp))
            elif reply.is_random:
                cells[theirs] = self._board.draw(states[2].take(asked), uniforms)
            elif len(asked):
                boards = start.board if start else self.boards(states.take(asked, axis=1))
                cells[theirs] = reply.cells(boards, uniforms)
        return cells

    def prepare(self, policies: list[Policy]) -> list[_BitReply]:
        """The opponents, tabulated on boards of up to 12 cells."""
        return [_BitReply(policy, self.rules) for policy in policies]

    def result(self, states: States) -> NDArray[np.int8]:
        """Results (B,) int8."""
        return _RESULT.take(states[3])

    def observe(self, states: States) -> NDArray[Any]:
        """Observations from the learner's seats."""
        rules = self.rules
        if self._observation == "grid":
            own, other = (self._board.members(marks) for marks in states[:2])
            return (own - other).reshape(-1, rules.rows, rules.cols)
        both = self._board.both_members(states[0], states[1])
        if self._observation == "flat":
            return both.astype(np.float32)
        return np.ascontiguousarray(both).reshape(-1, 2, rules.rows, rules.cols)

    def legal(self, states: States) -> NDArray[np.int8]:
        """Masks (B, cells) int8, 1 on legal cells, and on all cells after the end of a game."""
        return self._board.members(states[2])

    def boards(self, states: States) -> Boards:
        """Boards (B, cells) int8."""
        own, other = (self._board.members(marks) for marks in states[:2])
        return (own - other) * self.seats(states)[:, None]

    def seats(self, states: States) -> NDArray[np.int8]:
        """The learner's marks (B,) int8."""
        return _SEAT.take(states[3])


class _BitReply:
    """An opponent, and its answer to the boards that it was asked for last.

    is_random: whether it plays uniformly at random, so that it need not be asked.
    """

    def __init__(self, policy: Policy, rules: Rules):
        self.is_random = keeps(policy, RandomPolicy)
        if rules.cells <= TABULATED and not self.is_random:
            policy = tabulate(policy, rules)
        self._policy = policy
        self._boards = b""

    def cells(self, boards: Boards, uniforms: NDArray[np.float64]) -> Numbers:
        """One cell for each of the numbers (B,) in [0, 1), on boards (B, cells) or on one board.

        `probs` is called once, and only if these are other boards than the last time.
        """
        asked = boards.tobytes()
        if asked != self._boards:
            self._ends = checked_ends(self._policy.probs(boards), boards.shape)
            self._boards = asked
        return draw(self._ends, uniforms)


# --- one game -------------------------------------------------------------------------------------

_INT8 = np.dtype(np.int8)
State = tuple[int, int, int]  # the learner's marks, the opponent's, the learner's mark +1 or -1


class BitGame(_BitEngine):
    """A `GameEngine` on Python integers."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        super().__init__(rules, early_draw, observation)
        law = rules.compact
        self._law = law
        self._full = law.full
        self._nth = nth_cells()
        self._lines = line_table(rules)
        self._lines_of = law.lines_through
        # None where the legal moves are the free cells, which takes no call.
        self._open_cells = None if law.all_free_are_legal else law.open_cells
        self._is_grid = observation == "grid"
        space = observation_space(rules, observation)
        self._shape = space.shape
        self._dtype = space.dtype
        self._cells = rules.cells
        self._seen = cell_bytes(rules.cells, space.dtype.type)
        self._mask = cell_bytes(rules.cells, np.int8)
        self._is_two_bytes = len(self._mask) == 2
        self._join = bytearray().join
        self._mask_at = 2 * rules.cells * space.dtype.itemsize

    def start(self, board: Boards, seat: int) -> State:
        """The state of an unfinished board (cells,), the learner having the mark `seat`."""
        sets = bitboards_of(self.rules).sets(np.stack([board == seat, board == -seat]))
        own, other = sets.tolist()
        return own, other, seat

    def advance(
        self, state: State, cell: int | None, reply: _BitReply | None, uniforms: Uniforms
    ) -> tuple[State, int, NDArray[Any], NDArray[np.int8]]:
        """State, result, observation and mask after the learner's move and the reply.

        The move is written twice, since with a function for it a step on 4x4 takes 10 % more time.
        """
        own, other, seat = state
        free = self._full ^ (own | other)
        open_cells = self._open_cells
        legal = free & open_cells(own | other) if open_cells else free
        lines = self._lines
        result = ONGOING
        if cell is not None:
            bit = 1 << cell
            if not legal & bit:
                result = ILLEGAL
            else:
                own |= bit
                free ^= bit
                legal = free & open_cells(own | other) if open_cells else free
                if lines[own] if lines else self._completes(own, bit):
                    result = self._own_line
                elif not legal or (self._early_draw and self._law.is_dead(own, other)):
                    result = DRAW
        if reply is None:
            own, other, seat = other, own, -seat
        elif result == ONGOING and (cell is not None or self._waits(state)):
            uniform = uniforms.pop() if uniforms else uniforms.draw()
            if reply.is_random:
                wanted = int(uniform * legal.bit_count())
                part = legal & 255
                start = 0
                while (size := part.bit_count()) <= wanted:
                    wanted -= size
                    start += BYTE
                    part = legal >> start & 255
                bit = 1 << self._nth[part << 3 | wanted] + start
            else:
                board = self.board((own, other, seat))[None]
                bit = 1 << int(reply.cells(board, np.array([uniform]))[0])
            if not legal & bit:
                result = OPPONENT_ILLEGAL
            else:
                other |= bit
                free ^= bit
                legal = free & open_cells(own | other) if open_cells else free
                if lines[other] if lines else self._completes(other, bit):
                    result = self._their_line
                elif not legal or (self._early_draw and self._law.is_dead(own, other)):
                    result = DRAW
        if result != ONGOING:
            legal = self._full  # after the end any move is allowed
        state = own, other, seat
        observation, mask = self._view(state, legal)
        return state, result, observation, mask

    def _waits(self, state: State) -> bool:
        """True if it's the opponent's turn."""
        own, other, seat = state
        return ((own | other).bit_count() % 2 == 0) == (seat < 0)

    def _completes(self, marks: int, bit: int) -> bool:
        """True if one of these marks, the last, is in a line of them."""
        for line in self._lines_of[bit]:  # noqa: SIM110 (`any` takes twice the time)
            if marks & line == line:
                return True
        return False

    def prepare(self, policy: Policy) -> _BitReply:
        """The opponent, tabulated on boards of up to 12 cells."""
        return _BitReply(policy, self.rules)

    def view(self, state: State) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The observation from the learner's seat and the mask (cells,) int8; both are fresh."""
        return self._view(state, self._law.legal(state[0] | state[1]))

    def _view(self, state: State, legal: int) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The view of a state, with these legal moves."""
        own, other, _ = state
        seen = self._seen
        if self._is_two_bytes:  # 9 to 16 cells: the loop below takes five times as long
            low, high = seen
            low_mask, high_mask = self._mask
            parts = [
                low[own & 255],
                high[own >> 8],
                low[other & 255],
                high[other >> 8],
                low_mask[legal & 255],
                high_mask[legal >> 8],
            ]
        else:
            parts = []
            for marks, tables in ((own, seen), (other, seen), (legal, self._mask)):
                for table in tables:
                    parts.append(table[marks & 255])
                    marks >>= BYTE
        found = self._join(parts)
        mask = ndarray(self._cells, _INT8, found, self._mask_at)
        if self._is_grid:
            return (self.board(state) * np.int8(state[2])).reshape(self._shape), mask
        return ndarray(self._shape, self._dtype, found), mask

    def board(self, state: State) -> Boards:
        """The board (cells,) int8."""
        own, other = bitboards_of(self.rules).members(np.array(state[:2]))
        return (own - other) * np.int8(state[2])
