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
from tictactoe_env.engines.starts import draw_starts
from tictactoe_env.exact.positions import TABULATED, positions_of
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.observation import observation_space
from tictactoe_env.policy import Policy, RandomPolicy, Uniforms, checked_probs, drawn_cells
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


class StartBoard(NamedTuple):
    """A board on which the opponent begins.

    board: (1, cells). free: the free cells. answers: (4, cells), the states after its moves.
    """

    board: Boards
    free: NDArray[np.intp]
    answers: States


class BitGames:
    """Many games at a time: states are int64 (4, B)."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self._board = rules, bitboards_of(rules)
        self._arguments = (rules, early_draw, observation)
        self._early_draw, self._observation = early_draw, observation
        self._start_key = b""
        self._start: StartBoard | None = None

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

    def draw_starts(self, seats: NDArray[np.int8], rng: np.random.Generator) -> States:
        """States (4, B) of random unfinished positions with the learner to move."""
        rows, movers = draw_starts(self.rules, self._early_draw, seats, rng)
        boards = self.rules.to_boards(*positions_of(self.rules).bits(rows))
        return self.start(boards, movers)

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
        board, after = self._board, states.copy()
        own, other, free, status = after
        bits = board.bits.take(cells)
        illegal = _refused(free, bits)
        own |= bits
        free ^= bits
        won = board.has_line(own)
        over = self._drawn(own, other, free) | won
        if illegal is not None:
            over |= illegal
        if waiting is not None:
            over[waiting] = True
        bits, refused = self._drawn_bits(after, ~over, replies, which, rng)
        other |= bits
        free ^= bits
        result = self._results(own, other, free, won)
        if illegal is not None:
            result[illegal] = ILLEGAL
        if refused is not None:
            result[refused] = OPPONENT_ILLEGAL
        status += result
        return after, result

    def _drawn(self, own: Sets, other: Sets, free: Sets) -> NDArray[np.bool_]:
        """Whether a game without a line is drawn: (B,), fresh."""
        drawn: NDArray[np.bool_] = free == 0
        if self._early_draw:
            drawn |= self._board.is_dead(own, other)
        return drawn

    def _results(
        self, own: Sets, other: Sets, free: Sets, won: NDArray[np.bool_]
    ) -> NDArray[np.int8]:
        """Results (B,) by the marks; `won` is whether the learner has a line."""
        lost = self._board.has_line(other)
        drawn = self._drawn(own, other, free) > (won | lost)
        results: NDArray[np.int8] = WIN * won.view(np.int8)
        results += LOSS * lost.view(np.int8)
        results += DRAW * drawn.view(np.int8)
        return results

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
            after[:, games] = self._replied(moving, self._board.bits.take(cells))
        return after

    def _replied(self, states: States, bits: Sets) -> States:
        """`states` (4, B) after the opponents' moves, given as sets of one cell; in place."""
        own, other, free, status = states
        refused = _refused(free, bits)
        other |= bits
        free ^= bits
        result = self._results(own, other, free, np.zeros(len(own), dtype=bool))
        if refused is not None:
            result[refused] = OPPONENT_ILLEGAL
        status += result
        status -= OPPONENTS_TURN
        return states

    def _start_of(self, states: States) -> StartBoard:
        """What the opponent can do in one game (4, 1); kept, since most games start alike."""
        key = states.tobytes()
        if self._start is None or key != self._start_key:
            repeated = states.repeat(self.rules.cells, axis=1)
            answers = self._replied(repeated, self._board.bits.copy())
            free = self._board.members(states[2])[0].nonzero()[0]
            self._start_key, self._start = key, StartBoard(self.boards(states), free, answers)
        return self._start

    def _drawn_bits(
        self,
        states: States,
        moving: NDArray[np.bool_],
        replies: list[BitReply],
        which: NDArray[np.intp],
        rng: np.random.Generator,
    ) -> tuple[Sets, NDArray[np.intp] | None]:
        """The opponents' moves as sets of one cell (B,), and the games with an illegal one, if any.

        A set is empty where no opponent is moving, and where the move is illegal.
        """
        if len(replies) == 1 and replies[0].is_random:
            uniforms = np.zeros(len(moving))
            uniforms[moving] = rng.random(np.count_nonzero(moving))
            return np.left_shift(moving, self._board.draw(states[2], uniforms)), None
        bits, games = np.zeros(len(moving), dtype=np.int64), moving.nonzero()[0]
        if len(games) == 0:
            return bits, None
        theirs = which.take(games) if len(replies) > 1 else which
        asked = states.take(games, axis=1)
        cells = self._drawn_cells(asked, len(games), replies, theirs, rng)
        drawn = self._board.bits.take(cells)
        illegal = _refused(asked[2], drawn)
        bits[games] = drawn
        return bits, None if illegal is None else games[illegal]

    def _drawn_cells(
        self,
        states: States,
        games: int,
        replies: list[BitReply],
        which: NDArray[np.intp],
        rng: np.random.Generator,
        start: StartBoard | None = None,
    ) -> NDArray[np.intp]:
        """The opponents' moves (games,), drawn for one opponent after the other.

        start: the board, if all games have the same one; the states are not needed then.
        """
        if len(replies) == 1:
            return self._cells_of(replies[0], states, games, rng, start)
        cells = np.empty(games, dtype=np.intp)
        for number, reply in enumerate(replies):
            theirs = (which == number).nonzero()[0]
            if len(theirs):
                asked = states.take(theirs, axis=1) if start is None else states
                cells[theirs] = self._cells_of(reply, asked, len(theirs), rng, start)
        return cells

    def _cells_of(
        self,
        reply: BitReply,
        states: States,
        games: int,
        rng: np.random.Generator,
        start: StartBoard | None,
    ) -> NDArray[np.intp]:
        """The moves (games,) of one opponent."""
        if not reply.is_random:
            board = self.boards(states) if start is None else start.board
            return reply.cells(board, games, rng)
        uniforms = rng.random(games)
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
    if np.count_nonzero(kept) == len(bits):  # nearly always
        return None
    bits &= kept
    return kept == 0


class BitReply:
    """An opponent, and its answer to the last board that all games of a call had.

    is_random: whether it plays uniformly at random, so that it need not be asked.
    """

    def __init__(self, policy: Policy, rules: Rules):
        self.is_random = type(policy) is RandomPolicy
        if rules.cells <= TABULATED and not self.is_random:
            policy = tabulate(policy, rules)
        self._policy = policy
        self._board, self._ends = b"", np.zeros(0)

    def cells(self, boards: Boards, games: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """One cell for each game (games,), drawn by the probabilities of one call of `probs`.

        boards: (games, cells), or (1, cells) if it is the same board in all games. Then `probs` is
        called only if it was another board the last time.
        """
        if len(boards) == games:
            return drawn_cells(self._policy.probs(boards), rng, games, boards.shape[1])
        if boards.tobytes() != self._board:
            self._ends = checked_probs(self._policy.probs(boards), boards.shape)[0].cumsum()
            self._board = boards.tobytes()
        return np.searchsorted(self._ends, rng.random(games) * self._ends[-1], side="right")

    def cell(self, board: Boards, uniform: float) -> int:
        """One cell of a board (1, cells), drawn with a number in [0, 1)."""
        probs = checked_probs(self._policy.probs(board), board.shape)[0]
        ends = probs.cumsum()
        return int(np.searchsorted(ends, uniform * ends[-1], side="right"))


# --- one game -------------------------------------------------------------------------------------

# The results of what a move leads to: see `SingleBitboards.moved`.
OF_LEARNER = (ONGOING, DRAW, WIN, ILLEGAL)
OF_OPPONENT = (ONGOING, DRAW, LOSS, OPPONENT_ILLEGAL)
INT8 = np.dtype(np.int8)
State = tuple[int, int, int]  # the learner's marks, the opponent's, the learner's mark +1 or -1


class BitGame:
    """One game at a time, on Python integers."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self._board = rules, single_bitboards_of(rules, early_draw)
        self._arguments = (rules, early_draw, observation)
        self._early_draw, self._observation = early_draw, observation
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

    def draw_start(self, seat: int, rng: np.random.Generator) -> tuple[State, int]:
        """The state of a random unfinished position with the learner to move, and its mark."""
        rows, seats = draw_starts(self.rules, self._early_draw, np.array([seat], np.int8), rng)
        board = self.rules.to_boards(*positions_of(self.rules).bits(rows))[0]
        mark = int(seats[0])
        return self.start(board, mark), mark

    def advance(
        self, state: State, cell: int | None, reply: BitReply, uniforms: Uniforms
    ) -> tuple[State, int, NDArray[Any], NDArray[np.int8]]:
        """State, result, observation and mask after the learner's move and the reply."""
        if cell is not None and reply.is_random and self._lines is not None:
            state, result = self._after_random_reply(state, cell, uniforms)
        else:
            state, result = (state, ONGOING) if cell is None else self._marked(state, cell)
            if result == ONGOING and self._opponent_moves(state):
                state, result = self._replied(state, reply, uniforms)
        observation, mask = self.view(state)
        return state, result, observation, mask

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
        (own, other, seat), result = self._marked(state, cell)
        return (other, own, -seat), result

    def _marked(self, state: State, cell: int) -> tuple[State, int]:
        """The state and result after a move of the learner, without a reply."""
        own, other, seat = state
        own, code = self._board.moved(own, other, cell)
        return (own, other, seat), OF_LEARNER[code]

    def prepare(self, policy: Policy) -> BitReply:
        """The opponent, tabulated on boards of up to 12 cells."""
        return BitReply(policy, self.rules)

    def _replied(self, state: State, reply: BitReply, uniforms: Uniforms) -> tuple[State, int]:
        """The state and result after the opponent's move, drawn with one number in [0, 1)."""
        own, other, seat = state
        board, uniform = self._board, uniforms.pop() if uniforms else uniforms.draw()
        if reply.is_random:
            cell = board.draw(board.full ^ (own | other), uniform)
        else:
            cell = reply.cell(self.board(state)[None], uniform)
        other, code = board.moved(other, own, cell)
        return (own, other, seat), OF_OPPONENT[code]

    def _opponent_moves(self, state: State) -> bool:
        """Whether it is the opponent's turn, in an unfinished game."""
        own, other, seat = state
        return ((own | other).bit_count() % 2 == 0) != (seat > 0)

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
