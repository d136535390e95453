"""Games on bitboards, for boards of any size; `engine` documents the methods.

A state holds the learner's marks, the opponent's marks and the free cells as sets (see `bitboards`)
and a status: how the game stands for the learner, which side the learner plays, and whose turn it
is. On boards of up to 12 cells opponents are tabulated first. On larger ones `probs` is called once
a step for all games of an opponent, and once for a start board, whose answer is kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from numpy.typing import NDArray

from tictactoe_env.engines.bitboards import bitboards_of, single_bitboards_of
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.observation import observation_space
from tictactoe_env.policy import Policy, RandomPolicy, Uniforms, checked_ends, draw
from tictactoe_env.rules import (
    DRAW,
    ILLEGAL,
    LOSS,
    ONGOING,
    OPPONENT_ILLEGAL,
    WIN,
    Boards,
    Rules,
    to_move,
)

States = NDArray[np.int64]  # (4, B): the learner's marks, the opponent's, free cells, the status
Sets = NDArray[np.int64]

# A status is the result, plus 8 if the learner plays O, plus 16 if it is the opponent's turn.
PLAYS_O, OPPONENTS_TURN = 8, 16
STATUSES = np.arange(32)
RESULT = (STATUSES % 8).astype(np.int8)
SEAT = np.where(STATUSES & PLAYS_O, -1, 1).astype(np.int8)
OPPONENT_MOVES = (RESULT == ONGOING) & (STATUSES >= OPPONENTS_TURN)


class Start(NamedTuple):
    """A board on which the opponent begins, and the states (4, cells) after its moves."""

    board: Boards  # (1, cells)
    free: NDArray[np.intp]
    answers: States


class BitGames:
    """Many games at a time: states are int64 (4, B)."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self._board = rules, bitboards_of(rules)
        self._arguments = (rules, early_draw, observation)
        self._early_draw, self._observation = early_draw, observation
        self._start_key = b""
        self._start: Start | None = None

    def __reduce__(self) -> Any:
        return (type(self), self._arguments)  # copies share the tables

    def start(self, boards: Boards, seats: NDArray[np.int8], results: Any = ONGOING) -> States:
        """States (4, B) of boards (B, cells), the learner having the marks `seats` (B,)."""
        seen = boards * seats[:, None]
        states = np.empty((4, len(boards)), dtype=np.int64)
        for row, members in zip(states, (seen > 0, seen < 0, seen == 0), strict=False):
            row[:] = self._board.sets(members)
        waits = to_move(boards) != seats
        states[3] = results + PLAYS_O * (seats < 0) + OPPONENTS_TURN * waits
        return states

    def advance(
        self,
        states: States,
        cells: NDArray[np.intp],
        replies: list[BitReply],
        which: NDArray[np.intp],
        rng: np.random.Generator,
        waiting: NDArray[np.intp] | None = None,
    ) -> tuple[States, NDArray[np.int8]]:
        """States (4, B) and results (B,) after the learner's moves and the opponents' replies."""
        after = states.copy()
        own, other, free, status = after
        bits = self._board.bits.take(cells)
        illegal = _refused(free, bits)
        own |= bits
        free ^= bits
        won = self._board.has_line(own)
        over = self._drawn(own, other, free) | won
        if illegal is not None:
            over |= illegal
        if waiting is not None:
            over[waiting] = True
        is_random = len(replies) == 1 and replies[0].is_random
        bits = self._drawn_bits(after, ~over, replies, which, rng, is_random)
        result = self._replied(after, bits, won, is_random)
        if illegal is not None:
            result[illegal] = ILLEGAL
        status += result
        return after, result

    def prepare(self, policies: list[Policy]) -> list[BitReply]:
        """The opponents, tabulated on boards of up to 12 cells."""
        return [BitReply(policy, self.rules) for policy in policies]

    def reply(
        self,
        states: States,
        replies: list[BitReply],
        which: NDArray[np.intp],
        rng: np.random.Generator,
        same_board: bool = False,
    ) -> States:
        """States (4, B) after the opponents' moves, where it is an opponent's turn."""
        games = OPPONENT_MOVES.take(states[3]).nonzero()[0]
        if len(games) == 0:
            return states
        theirs = which.take(games) if len(replies) > 1 else which
        after = states.copy()
        if same_board:
            start = self._start_of(states[:, games[:1]])
            cells = self._drawn_cells(states, len(games), replies, theirs, rng, start)
            after[:, games] = start.answers.take(cells, axis=1)
        else:
            moving = states.take(games, axis=1)
            cells = self._drawn_cells(moving, len(games), replies, theirs, rng)
            after[:, games] = self._answered(moving, self._board.bits.take(cells))
        return after

    def _start_of(self, states: States) -> Start:
        """What the opponent can do in one game (4, 1); kept, since most games start alike."""
        if self._start is None or self._start_key != states.tobytes():
            self._start_key, free = states.tobytes(), self._board.members(states[2])[0].nonzero()[0]
            repeated = states.repeat(self.rules.cells, axis=1)
            answers = self._answered(repeated, self._board.bits.copy())
            self._start = Start(self.boards(states), free, answers)
        return self._start

    def _answered(self, states: States, bits: Sets) -> States:
        """`states` (4, B) after the opponents' moves, given as sets of one cell; in place."""
        result = self._replied(states, bits, np.zeros(len(bits), dtype=bool))
        states[3] += result - OPPONENTS_TURN
        return states

    def _replied(
        self, states: States, bits: Sets, won: NDArray[np.bool_], is_legal: bool = False
    ) -> NDArray[np.int8]:
        """Results (B,) after the opponents' moves, sets of at most one cell; changes the sets.

        won: whether the learner has a line. is_legal: whether the moves are known to be legal.
        """
        own, other, free, _ = states
        refused = None if is_legal else _refused(free, bits)
        other |= bits
        free ^= bits
        lost = self._board.has_line(other)
        result: NDArray[np.int8] = WIN * won.view(np.int8)
        result += LOSS * lost.view(np.int8)
        result += DRAW * (self._drawn(own, other, free) > (won | lost)).view(np.int8)
        if refused is not None:
            result[refused] = OPPONENT_ILLEGAL
        return result

    def _drawn(self, own: Sets, other: Sets, free: Sets) -> NDArray[np.bool_]:
        """Whether a game without a line is drawn: (B,), fresh."""
        drawn: NDArray[np.bool_] = free == 0
        if self._early_draw:
            drawn |= self._board.is_dead(own, other)
        return drawn

    def _drawn_bits(
        self,
        states: States,
        moving: NDArray[np.bool_],
        replies: list[BitReply],
        which: NDArray[np.intp],
        rng: np.random.Generator,
        is_random: bool,
    ) -> Sets:
        """The opponents' moves as sets of one cell (B,), empty where no opponent is moving."""
        if is_random:
            uniforms = np.zeros(len(moving))
            uniforms[moving] = rng.random(np.count_nonzero(moving))
            return np.left_shift(moving, self._board.draw(states[2], uniforms))
        bits, games = np.zeros(len(moving), dtype=np.int64), moving.nonzero()[0]
        if len(games) == 0:
            return bits
        theirs = which.take(games) if len(replies) > 1 else which
        asked = states.take(games, axis=1)
        cells = self._drawn_cells(asked, len(games), replies, theirs, rng)
        bits[games] = self._board.bits.take(cells)
        return bits

    def _drawn_cells(
        self,
        states: States,
        games: int,
        replies: list[BitReply],
        which: NDArray[np.intp],
        rng: np.random.Generator,
        start: Start | None = None,
    ) -> NDArray[np.intp]:
        """The opponents' moves (games,), drawn for one opponent after the other.

        start: the board, if all games have the same one; the states are not needed then.
        """
        if len(replies) == 1:
            return self._cells_of(replies[0], states, rng.random(games), start)
        cells = np.empty(games, dtype=np.intp)
        for number, reply in enumerate(replies):
            theirs = (which == number).nonzero()[0]
            if len(theirs):
                asked = states.take(theirs, axis=1) if start is None else states
                cells[theirs] = self._cells_of(reply, asked, rng.random(len(theirs)), start)
        return cells

    def _cells_of(
        self, reply: BitReply, states: States, uniforms: NDArray[np.float64], start: Start | None
    ) -> NDArray[np.intp]:
        if not reply.is_random:
            return reply.cells(self.boards(states) if start is None else start.board, uniforms)
        if start is None:
            return self._board.draw(states[2], uniforms)
        return start.free.take((uniforms * len(start.free)).astype(np.intp))

    def result(self, states: States) -> NDArray[np.int8]:
        """Results (B,) int8."""
        return RESULT.take(states[3])

    def opponent_moves(self, states: States) -> NDArray[np.bool_]:
        """Whether a game is unfinished and it is the opponent's turn: (B,) bool."""
        return OPPONENT_MOVES.take(states[3])

    def observe(self, states: States) -> NDArray[Any]:
        """Observations from the learner's seats."""
        rules = self.rules
        if self._observation == "grid":
            own, other = (self._board.members(marks) for marks in states[:2])
            return (own - other).reshape(-1, rules.rows, rules.cols)
        pairs = np.empty((states.shape[1], 2), dtype=np.int64)
        pairs[:, 0], pairs[:, 1] = states[0], states[1]
        planes = self._board.members(pairs)
        if self._observation == "flat":
            return planes.reshape(-1, 2 * rules.cells).astype(np.float32)
        return planes.reshape(-1, 2, rules.rows, rules.cols)

    def legal(self, states: States) -> NDArray[np.int8]:
        """Masks (B, cells) int8, 1 on free cells."""
        return self._board.members(states[2])

    def boards(self, states: States) -> Boards:
        """Boards (B, cells) int8."""
        own, other = (self._board.members(marks) for marks in states[:2])
        return (own - other) * self.seats(states)[:, None]

    def seats(self, states: States) -> NDArray[np.int8]:
        """The learner's marks (B,) int8."""
        return SEAT.take(states[3])


def _refused(free: Sets, bits: Sets) -> NDArray[np.bool_] | None:
    """Empty the sets `bits` (B,) whose cell is not free: which ones (B,), or None for none."""
    kept = free & bits
    if np.count_nonzero(kept) == np.count_nonzero(bits):  # nearly always
        return None
    wrong = kept != bits
    bits &= kept
    return wrong


class BitReply:
    """An opponent, and its answer to the last board that all games of a call had.

    is_random: whether it plays uniformly at random, so that it need not be asked.
    """

    def __init__(self, policy: Policy, rules: Rules):
        self.is_random = type(policy) is RandomPolicy
        if rules.cells <= TABULATED and not self.is_random:
            policy = tabulate(policy, rules)
        self._policy = policy
        self._board, self._ends = b"", np.zeros((0, 0))

    def cells(self, boards: Boards, uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
        """One cell for each of the numbers in [0, 1), drawn by the probabilities of one call.

        boards: one for each number, or the one (1, cells) of all games. In the latter case `probs`
        is called only if it was another board the last time.
        """
        if len(boards) == len(uniforms):
            return draw(checked_ends(self._policy.probs(boards), boards.shape), uniforms)
        if boards.tobytes() != self._board:
            self._ends = checked_ends(self._policy.probs(boards), boards.shape)
            self._board = boards.tobytes()
        return draw(self._ends, uniforms)


# --- one game -------------------------------------------------------------------------------------

OF_OPPONENT = (ONGOING, LOSS, DRAW, WIN, OPPONENT_ILLEGAL)  # the mover's results for the learner
INT8 = np.dtype(np.int8)
State = tuple[int, int, int]  # the learner's marks, the opponent's, the learner's mark +1 or -1


class BitGame:
    """One game at a time, on Python integers."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self._board = rules, single_bitboards_of(rules, early_draw)
        self._arguments = (rules, early_draw, observation)
        self._observation = observation
        space = observation_space(rules, observation)
        self._shape, self._dtype = space.shape, space.dtype
        self._full, self._nth = self._board.full, self._board.nth
        self._rows, is_flat = self._board.rows, observation == "flat"
        self._shown = self._board.float_rows if is_flat else self._rows
        self._cells, self._mask_at = rules.cells, 2 * rules.cells * (4 if is_flat else 1)
        self._two_bytes = len(self._rows) == 2
        self._lines = self._board.lines if self._two_bytes and not early_draw else None
        self._empty = bytearray()  # its `join` makes a fresh bytearray

    def __reduce__(self) -> Any:
        return (type(self), self._arguments)  # copies share the tables

    def start(self, board: Boards, seat: int) -> State:
        """The state of an unfinished board (cells,), the learner having the mark `seat`."""
        sets = bitboards_of(self.rules).sets(np.stack([board == seat, board == -seat]))
        own, other = sets.tolist()
        return own, other, seat

    def advance(
        self, state: State, cell: int | None, reply: BitReply, uniforms: Uniforms
    ) -> tuple[State, int, NDArray[Any], NDArray[np.int8]]:
        """State, result, observation and mask after the learner's move and the reply."""
        if cell is not None and reply.is_random and self._lines is not None:
            state, result = self._after_random_reply(state, cell, uniforms)
        else:
            state, result = self._after_reply(state, cell, reply, uniforms)
        observation, mask = self.view(state)
        return state, result, observation, mask

    def _after_reply(
        self, state: State, cell: int | None, reply: BitReply, uniforms: Uniforms
    ) -> tuple[State, int]:
        """State and result after the learner's move, if there is one, and the reply."""
        own, other, seat = state
        result = ONGOING
        if cell is not None:
            own, result = self._board.moved(own, other, cell)
        if result == ONGOING and ((own | other).bit_count() % 2 == 0) != (seat > 0):
            uniform = uniforms.pop() if uniforms else uniforms.draw()
            if reply.is_random:
                cell = self._board.draw(self._full ^ (own | other), uniform)
            else:
                board = self.board((own, other, seat))[None]
                cell = int(reply.cells(board, np.array([uniform]))[0])
            other, result = self._board.moved(other, own, cell)
            result = OF_OPPONENT[result]
        return (own, other, seat), result

    def _after_random_reply(self, state: State, cell: int, uniforms: Uniforms) -> tuple[State, int]:
        """State and result against random play on 9 to 16 cells; without calls in half the time."""
        own, other, seat = state
        bit, free, lines = 1 << cell, self._full ^ (own | other), self._lines or b""
        if not free & bit:
            return state, ILLEGAL
        own |= bit
        free ^= bit
        if lines[own]:
            return (own, other, seat), WIN
        if not free:
            return (own, other, seat), DRAW
        uniform = uniforms.pop() if uniforms else uniforms.draw()
        wanted, low = int(uniform * free.bit_count()), free & 255
        size = low.bit_count()
        if wanted < size:
            bit = 1 << self._nth[low << 3 | wanted]
        else:
            bit = 256 << self._nth[free >> 8 << 3 | wanted - size]
        other |= bit
        if lines[other]:
            return (own, other, seat), LOSS
        return (own, other, seat), ONGOING if free ^ bit else DRAW

    def move(self, state: State, cell: int) -> tuple[State, int]:
        """The state and result after a move of the learner, who plays the other side then."""
        own, other, seat = state
        own, result = self._board.moved(own, other, cell)
        return (other, own, -seat), result

    def prepare(self, policy: Policy) -> BitReply:
        """The opponent, tabulated on boards of up to 12 cells."""
        return BitReply(policy, self.rules)

    def view(self, state: State) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The observation from the learner's seat and the mask (cells,) int8; both are fresh."""
        own, other, seat = state
        if self._two_bytes:
            low, high = self._shown
            low_free, high_free = self._rows
            free = self._full ^ (own | other)
            seen = self._empty.join(
                (
                    low[own & 255],
                    high[own >> 8],
                    low[other & 255],
                    high[other >> 8],
                    low_free[free & 255],
                    high_free[free >> 8],
                )
            )
        else:
            seen = self._board.view(own, other, self._shown)
        mask = ndarray(self._cells, INT8, seen, self._mask_at)
        if self._observation == "grid":
            grid = self.board(state) * np.int8(seat)
            return grid.reshape(self._shape), mask
        return ndarray(self._shape, self._dtype, seen), mask

    def board(self, state: State) -> Boards:
        """The board (cells,) int8."""
        own, other, seat = state
        seen = np.frombuffer(self._board.view(own, other, self._rows), INT8).reshape(3, -1)
        return (seen[0] - seen[1]) * np.int8(seat)
