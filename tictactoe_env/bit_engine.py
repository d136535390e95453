"""Games on bitboards, for boards of any size; `engine` documents the methods.

A state holds the learner's marks and the opponent's as sets of cells (see `bitboards`), and a
status: how the game stands for the learner, which side the learner plays, and whose turn it is. On
boards of up to 12 cells opponents are tabulated first. On larger ones `probs` is called once a
step for all games of an opponent, and once for a start board, whose answer is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.bitboards import Bitboards, bitboards_of, single_bitboards_of
from tictactoe_env.policy import (
    Policy,
    RandomPolicy,
    Uniforms,
    checked_probs,
    drawn_cells,
    tabulate,
)
from tictactoe_env.positions import positions_of
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
from tictactoe_env.snapshots import MAX_TABLE_CELLS
from tictactoe_env.starts import draw_starts

States = NDArray[np.int64]  # (3, B): the learner's marks, the opponent's, the status
Sets = NDArray[np.int64]

# A status is the result, plus 8 if the learner plays O, plus 16 if it is the opponent's turn.
PLAYS_O, OPPONENTS_TURN = 8, 16
STATUSES = np.arange(32)
RESULT = (STATUSES % 8).astype(np.int8)
SEAT = np.where(STATUSES & PLAYS_O, -1, 1).astype(np.int8)
LEARNER_MOVES = (RESULT == ONGOING) & (STATUSES < OPPONENTS_TURN)
OPPONENT_MOVES = (RESULT == ONGOING) & (STATUSES >= OPPONENTS_TURN)

# What a move leads to: the code of `moved`. A line wins, also on a full board.
ILLEGAL_MOVE = 4
OF_LEARNER = (ONGOING, DRAW, WIN, WIN, *[ILLEGAL] * 4)
OF_OPPONENT = (ONGOING, DRAW, LOSS, LOSS, *[OPPONENT_ILLEGAL] * 4)


def _statuses_after(results: tuple[int, ...], moves: NDArray[np.bool_]) -> Sets:
    """The status after a move, at 8 * status + code; it stays where it is another side's turn."""
    after = (STATUSES[:, None] ^ OPPONENTS_TURN) + np.array(results)
    return np.where(moves[:, None], after, STATUSES[:, None]).ravel()


AFTER_LEARNER = _statuses_after(OF_LEARNER, LEARNER_MOVES)
AFTER_OPPONENT = _statuses_after(OF_OPPONENT, OPPONENT_MOVES)


def moved(
    board: Bitboards, early_draw: bool, own: Sets, other: Sets, bit: Sets
) -> tuple[Sets, NDArray[np.uint8]]:
    """The mover's marks (B,) after a move onto `bit`, and what it leads to: (B,) uint8.

    That is 0 if the game goes on, 1 if it is drawn, 2 or 3 if it is won, and 4 or more if the move
    was illegal: a move onto a taken cell adds no mark. `moved_one` is the same for ints.
    """
    taken = own | other
    illegal = (taken & bit) != 0
    marks = own | (bit & ~taken)
    code = (marks | other) == board.full
    if early_draw:
        code |= board.is_dead(marks, other)
    code = code.view(np.uint8)
    code += board.has_line(marks).view(np.uint8) << 1
    code += illegal.view(np.uint8) << 2
    return marks, code


class BitGames:
    """Many games at a time: states are int64 (3, B)."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self._board = rules, bitboards_of(rules)
        self._arguments = (rules, early_draw, observation)
        self._early_draw, self._observation = early_draw, observation

    def __reduce__(self) -> Any:
        return (type(self), self._arguments)  # copies share the tables

    def start(self, boards: Boards, seats: NDArray[np.int8], results: Any = ONGOING) -> States:
        """States (3, B) of boards (B, cells), the learner having the marks `seats` (B,)."""
        seen = boards * seats[:, None]
        states = np.empty((3, len(boards)), dtype=np.int64)
        states[0], states[1] = self._board.sets(seen > 0), self._board.sets(seen < 0)
        waits = to_move(boards) != seats
        states[2] = results + PLAYS_O * (seats < 0) + OPPONENTS_TURN * waits
        return states

    def draw_starts(self, seats: NDArray[np.int8], rng: np.random.Generator) -> States:
        """States (3, B) of random unfinished positions with the learner to move."""
        rows, movers = draw_starts(self.rules, self._early_draw, seats, rng)
        boards = self.rules.to_boards(*positions_of(self.rules).bits(rows))
        return self.start(boards, movers)

    def play(self, states: States, cells: NDArray[np.intp]) -> States:
        """States (3, B) after the learner's moves; the result is undefined for finished games."""
        own, other, status = states
        after = np.empty_like(states)
        after[0], code = moved(self._board, self._early_draw, own, other, np.left_shift(1, cells))
        after[1] = other
        AFTER_LEARNER.take(8 * status + code, out=after[2], mode="clip")
        return after

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
        """States (3, B) after the opponents' moves, where it is an opponent's turn."""
        own, other, status = states
        moving = OPPONENT_MOVES.take(status)
        count = int(np.count_nonzero(moving))
        if count == 0:
            return states
        if len(replies) == 1 and replies[0].is_random:
            uniforms = np.zeros(len(moving))
            uniforms[moving] = rng.random(count)
            cells = self._board.draw(self._board.full ^ (own | other), uniforms)
            bits = np.left_shift(moving.astype(np.int64), cells)
        else:
            bits = np.zeros(len(moving), dtype=np.int64)
            for number, reply in enumerate(replies):
                games = np.flatnonzero(moving & (which == number))
                if len(games):
                    cells = self._cells(reply, states.take(games, axis=1), rng, same_board)
                    bits[games] = np.left_shift(1, cells)
        after = np.empty_like(states)
        after[0] = own
        after[1], code = moved(self._board, self._early_draw, other, own, bits)
        AFTER_OPPONENT.take(8 * status + code, out=after[2], mode="clip")
        return after

    def _cells(
        self, reply: BitReply, states: States, rng: np.random.Generator, same_board: bool
    ) -> NDArray[np.intp]:
        """The cells (B,) that one opponent draws in these games."""
        own, other, _ = states
        if reply.is_random:
            return self._board.draw(self._board.full ^ (own | other), rng.random(len(own)))
        if same_board:
            return reply.first_cells(self.boards(states[:, :1]), len(own), rng)
        return reply.cells(self.boards(states), rng)

    def result(self, states: States) -> NDArray[np.int8]:
        """Results (B,) int8."""
        return RESULT.take(states[2])

    def opponent_moves(self, states: States) -> NDArray[np.bool_]:
        """Whether a game is unfinished and it is the opponent's turn: (B,) bool."""
        return OPPONENT_MOVES.take(states[2])

    def observe(self, states: States) -> NDArray[Any]:
        """Observations from the learner's seats."""
        rules = self.rules
        if self._observation == "grid":
            own, other = (self._board.members(marks) for marks in states[:2])
            return (own - other).reshape(-1, rules.rows, rules.cols)
        planes = self._board.members(np.stack([states[0], states[1]], axis=1))
        if self._observation == "flat":
            return planes.reshape(-1, 2 * rules.cells).astype(np.float32)
        return planes.reshape(-1, 2, rules.rows, rules.cols)

    def legal(self, states: States) -> NDArray[np.int8]:
        """Masks (B, cells) int8, 1 on free cells."""
        return self._board.members(self._board.full ^ (states[0] | states[1]))

    def boards(self, states: States) -> Boards:
        """Boards (B, cells) int8."""
        own, other = (self._board.members(marks) for marks in states[:2])
        return (own - other) * self.seats(states)[:, None]

    def seats(self, states: States) -> NDArray[np.int8]:
        """The learner's marks (B,) int8."""
        return SEAT.take(states[2])


class BitReply:
    """An opponent, and its answer to the last board that all new games of a call had.

    is_random: whether it plays uniformly at random, so that nobody has to be asked.
    """

    def __init__(self, policy: Policy, rules: Rules):
        self.is_random = type(policy) is RandomPolicy
        if rules.cells <= MAX_TABLE_CELLS and not self.is_random:
            policy = tabulate(policy, rules)
        self._policy = policy
        self._first_board, self._first_probs = b"", np.zeros((0, 0))

    def cells(self, boards: Boards, rng: np.random.Generator) -> NDArray[np.intp]:
        """One cell of each board, drawn by the probabilities of one call of `probs`: (B,)."""
        return drawn_cells(self._policy.probs(boards), rng, len(boards), boards.shape[1])

    def first_cells(self, board: Boards, games: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """One cell for each of some games with the same board (1, cells): (games,).

        `probs` is called only if the last call was for another board.
        """
        if board.tobytes() != self._first_board:
            self._first_probs = np.array(self._policy.probs(board))
            self._first_board = board.tobytes()
        probs = np.repeat(self._first_probs, games, axis=0)
        return drawn_cells(probs, rng, games, board.shape[1])

    def cell(self, board: Boards, uniform: float) -> int:
        """One cell of a board (1, cells), drawn with a number in [0, 1)."""
        probs = checked_probs(self._policy.probs(board), board.shape)[0]
        ends = probs.cumsum()
        return int(np.searchsorted(ends, uniform * ends[-1], side="right"))


# --- one game -------------------------------------------------------------------------------------

State = tuple[int, int, int]  # the learner's marks, the opponent's, the learner's mark +1 or -1


def moved_one(board: Any, early_draw: bool, own: int, other: int, bit: int) -> tuple[int, int]:
    """`moved` for one game, on ints: in a quarter of the time of the same operations on both."""
    if (own | other) & bit:
        return own, ILLEGAL_MOVE
    own |= bit
    if board.has_line(own):
        return own, 2
    return own, int((own | other) == board.full or (early_draw and board.is_dead(own, other)))


class BitGame:
    """One game at a time, on Python integers."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self._board = rules, single_bitboards_of(rules)
        self._arguments = (rules, early_draw, observation)
        self._early_draw, self._observation = early_draw, observation
        self._shape = (2, rules.rows, rules.cols) if observation == "planes" else 2 * rules.cells

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
        self, state: State, cell: int, reply: BitReply, uniforms: Uniforms
    ) -> tuple[State, int]:
        """The state and result after the learner's move and the opponent's reply."""
        own, other, seat = state
        own, code = moved_one(self._board, self._early_draw, own, other, 1 << cell)
        if code:
            return (own, other, seat), OF_LEARNER[code]
        return self.reply((own, other, seat), reply, uniforms)

    def move(self, state: State, cell: int) -> tuple[State, int]:
        """The state and result after a move of the learner, who plays the other side then."""
        own, other, seat = state
        own, code = moved_one(self._board, self._early_draw, own, other, 1 << cell)
        return (other, own, -seat), OF_LEARNER[code]

    def prepare(self, policy: Policy) -> BitReply:
        """The opponent, tabulated on boards of up to 12 cells."""
        return BitReply(policy, self.rules)

    def reply(self, state: State, reply: BitReply, uniforms: Uniforms) -> tuple[State, int]:
        """The state and result after the opponent's move, drawn with one number in [0, 1)."""
        own, other, seat = state
        uniform = uniforms.pop() if uniforms else uniforms.draw()
        if reply.is_random:
            cell = self._board.draw(self._board.full ^ (own | other), uniform)
        else:
            cell = reply.cell(self.board(state)[None], uniform)
        other, code = moved_one(self._board, self._early_draw, other, own, 1 << cell)
        return (own, other, seat), OF_OPPONENT[code]

    def opponent_moves(self, state: State) -> bool:
        """Whether it is the opponent's turn, in an unfinished game."""
        own, other, seat = state
        return ((own | other).bit_count() % 2 == 0) != (seat > 0)

    def view(self, state: State) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The observation from the learner's seat and the mask (cells,) int8; both are fresh."""
        own, other, seat = state
        board, members = self._board, self._board.members
        observation: NDArray[Any]
        if self._observation == "grid":
            grid = self.board(state) * np.int8(seat)
            observation = grid.reshape(self.rules.rows, self.rules.cols)
        else:
            planes = bytearray(members(own) + members(other))
            observation = np.ndarray(self._shape, np.int8, planes)
            if self._observation == "flat":
                observation = observation.astype(np.float32)
        mask = bytearray(members(board.full ^ (own | other)))
        return observation, np.ndarray((board.cells,), np.int8, mask)

    def board(self, state: State) -> Boards:
        """The board (cells,) int8."""
        own, other = (np.frombuffer(self._board.members(marks), np.int8) for marks in state[:2])
        return (own - other) * np.int8(state[2])
