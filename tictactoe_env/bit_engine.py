"""Games on bitboards, for boards of any size; `engine` documents the methods.

A state holds X's and O's bitboards and the learner's mark (+1 X, -1 O); for many games also the
side to move and the result. On boards of up to 12 cells opponents are tabulated first. On larger
ones `probs` is called at every step, once for all games of an opponent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.observation import observe
from tictactoe_env.policy import (
    Policy,
    RandomPolicy,
    TabularPolicy,
    Uniforms,
    checked_probs,
    sample,
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
    Bits,
    Boards,
    Rules,
    to_move,
)
from tictactoe_env.snapshots import MAX_TABLE_CELLS
from tictactoe_env.starts import draw_starts

# Results for the learner at the index from `moved`: 8 for its moves, 8 for the opponent's.
RESULTS = bytes(
    (ONGOING, DRAW, WIN, WIN, *[ILLEGAL] * 4, ONGOING, DRAW, LOSS, LOSS, *[OPPONENT_ILLEGAL] * 4)
)
RESULT_TABLE = np.frombuffer(RESULTS, dtype=np.int8)
STATE = np.dtype(
    [("x", np.uint64), ("o", np.uint64), ("seat", np.int8), ("mover", np.int8), ("result", np.int8)]
)
States = NDArray[Any]


def moved(
    rules: Rules, early_draw: bool, own: Bits, other: Bits, bit: Bits, by_opponent: Any
) -> tuple[Bits, Any]:
    """The mover's marks after a move onto `bit`, and the index of the result in RESULTS.

    The rule of a move, for ints (one game) and for uint64 arrays (B,). A move onto a taken cell is
    illegal and adds no mark. A line wins, also on a full board.
    """
    taken = own | other
    marks = own | (bit & ~taken)
    drawn = rules.is_full(marks, other)
    if early_draw:
        drawn = drawn | rules.is_dead(marks, other)
    illegal = (taken & bit) != 0
    return marks, drawn + 2 * rules.has_line(marks) + 4 * illegal + 8 * by_opponent


class BitGames:
    """Many games at a time: states (B,) are records of the dtype STATE."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self.early_draw, self.observation = rules, early_draw, observation
        self._bits = np.array(rules.cell_bits, dtype=np.uint64)

    def start(self, boards: Boards, seats: NDArray[np.int8], results: Any = ONGOING) -> States:
        """States (B,) of boards (B, cells), the learner having the marks `seats` (B,)."""
        return self._states(*self.rules.to_bits(boards), seats, to_move(boards), results)

    def draw_starts(self, seats: NDArray[np.int8], rng: np.random.Generator) -> States:
        """States (B,) of random unfinished positions with the learner to move."""
        rows, movers = draw_starts(self.rules, self.early_draw, seats, rng)
        return self._states(*positions_of(self.rules).bits(rows), movers, movers, ONGOING)

    def _states(self, x: Bits, o: Bits, seats: Any, movers: Any, results: Any) -> States:
        states = np.empty(len(x), dtype=STATE)
        states["x"], states["o"] = x, o
        states["seat"], states["mover"], states["result"] = seats, movers, results
        return states

    def play(self, states: States, cells: NDArray[np.intp]) -> States:
        """States (B,) after moves of the sides to move; finished games do not change."""
        x, o, mover = states["x"], states["o"], states["mover"]
        x_moves = mover > 0
        own = np.where(x_moves, x, o)
        other = x ^ o ^ own
        by_opponent = mover != states["seat"]
        marks, index = moved(
            self.rules, self.early_draw, own, other, self._bits[cells], by_opponent
        )
        after = self._states(
            np.where(x_moves, marks, other),
            np.where(x_moves, other, marks),
            states["seat"],
            -mover,
            RESULT_TABLE.take(index),
        )
        finished = states["result"] != ONGOING
        if finished.any():
            after[finished] = states[finished]
        return after

    def prepare(self, policies: list[Policy]) -> list[Policy]:
        """The opponents, tabulated on boards of up to 12 cells."""
        return [_prepared(policy, self.rules) for policy in policies]

    def reply(
        self,
        states: States,
        replies: list[Policy],
        which: NDArray[np.intp],
        rng: np.random.Generator,
    ) -> States:
        """States (B,) after the opponents' moves, where it is an opponent's turn."""
        states, moving = states.copy(), self.opponent_moves(states)
        for number, policy in enumerate(replies):
            games = np.flatnonzero(moving & (which == number))
            if len(games):
                probs = policy.probs(self.boards(states[games]))
                if not (type(policy) is RandomPolicy or isinstance(policy, TabularPolicy)):
                    probs = checked_probs(probs, (len(games), self.rules.cells))
                cells = sample(probs, rng)
                states[games] = self.play(states[games], cells)
        return states

    def result(self, states: States) -> NDArray[np.int8]:
        """Results (B,) int8."""
        return states["result"].copy()

    def opponent_moves(self, states: States) -> NDArray[np.bool_]:
        """Whether a game is unfinished and it is the opponent's turn: (B,) bool."""
        return (states["result"] == ONGOING) & (states["mover"] != states["seat"])

    def observe(self, states: States) -> NDArray[Any]:
        """Observations from the learner's seats."""
        return observe(self.boards(states), self.rules, self.observation, states["seat"])

    def legal(self, states: States) -> NDArray[np.int8]:
        """Masks (B, cells) int8, 1 on free cells."""
        return 1 - self.rules.to_cells(states["x"] | states["o"])

    def boards(self, states: States) -> Boards:
        """Boards (B, cells) int8."""
        return self.rules.to_boards(states["x"], states["o"])

    def seats(self, states: States) -> NDArray[np.int8]:
        """The learner's marks (B,) int8."""
        return states["seat"].copy()


def _prepared(policy: Policy, rules: Rules) -> Policy:
    """`policy`, tabulated if the board has few enough positions."""
    if type(policy) is RandomPolicy or rules.cells > MAX_TABLE_CELLS:
        return policy
    return tabulate(policy, rules)


class State(NamedTuple):
    """One game: two bitboards and the learner's mark."""

    x: int
    o: int
    seat: int


class BitGame:
    """One game at a time, on Python integers."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self.early_draw, self.observation = rules, early_draw, observation
        self._bits = rules.cell_bits

    def start(self, board: Boards, seat: int) -> State:
        """The state of an unfinished board (cells,), the learner having the mark `seat`."""
        x, o = self.rules.to_bits(board)
        return State(int(x), int(o), seat)

    def draw_start(self, seat: int, rng: np.random.Generator) -> tuple[State, int]:
        """The state of a random unfinished position with the learner to move, and its mark."""
        rows, seats = draw_starts(self.rules, self.early_draw, np.array([seat], np.int8), rng)
        x, o = positions_of(self.rules).bits(rows)
        mark = int(seats[0])
        return State(int(x[0]), int(o[0]), mark), mark

    def advance(
        self, state: State, cell: int, reply: Policy, uniforms: Uniforms
    ) -> tuple[State, int]:
        """The state and result after the learner's move and the opponent's reply."""
        state, result = self._play(state, self._bits[cell], False)
        return (state, result) if result != ONGOING else self.reply(state, reply, uniforms)

    def move(self, state: State, cell: int) -> tuple[State, int]:
        """The state and result after a move of the learner, who plays the other side then."""
        (x, o, seat), result = self._play(state, self._bits[cell], False)
        return State(x, o, -seat), result

    def _play(self, state: State, bit: int, by_opponent: bool) -> tuple[State, int]:
        x, o, seat = state
        if (seat > 0) != by_opponent:
            x, index = moved(self.rules, self.early_draw, x, o, bit, by_opponent)
        else:
            o, index = moved(self.rules, self.early_draw, o, x, bit, by_opponent)
        return State(x, o, seat), RESULTS[index]

    def prepare(self, policy: Policy) -> Policy:
        """The opponent, tabulated on boards of up to 12 cells."""
        return _prepared(policy, self.rules)

    def reply(self, state: State, reply: Policy, uniforms: Uniforms) -> tuple[State, int]:
        """The state and result after the opponent's move, drawn with one number in [0, 1)."""
        uniform = uniforms.draw()
        if type(reply) is RandomPolicy:  # ten times as fast as calling its probs
            taken = state.x | state.o
            free = [bit for bit in self._bits if not taken & bit]
            return self._play(state, free[int(uniform * len(free))], True)
        probs = checked_probs(reply.probs(self.board(state)[None]), (1, self.rules.cells))[0]
        ends = probs.cumsum()
        cell = int(np.searchsorted(ends, uniform * ends[-1], side="right"))
        return self._play(state, self._bits[cell], True)

    def opponent_moves(self, state: State) -> bool:
        """Whether it is the opponent's turn, in an unfinished game."""
        x_moves = bin(state.x | state.o).count("1") % 2 == 0
        return x_moves != (state.seat > 0)

    def view(self, state: State) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """The observation from the learner's seat and the mask (cells,) int8; both are fresh."""
        rules, bits = self.rules, self._bits
        x, o, seat = state
        own, other = (x, o) if seat > 0 else (o, x)
        observation: NDArray[Any]
        if self.observation == "grid":
            observation = (self.board(state) * np.int8(seat)).reshape(rules.rows, rules.cols)
        else:
            planes = _array([1 if marks & bit else 0 for marks in (own, other) for bit in bits])
            is_flat = self.observation == "flat"
            observation = (
                planes.astype(np.float32) if is_flat else planes.reshape(2, rules.rows, rules.cols)
            )
        taken = x | o
        return observation, _array([0 if taken & bit else 1 for bit in bits])

    def board(self, state: State) -> Boards:
        """The board (cells,) int8."""
        x, o = state.x, state.o
        return _array([1 if x & bit else 255 if o & bit else 0 for bit in self._bits])


def _array(numbers: list[int]) -> NDArray[np.int8]:
    """A fresh int8 array of bytes, 255 for -1; twice as fast as `np.array` of a list."""
    return np.frombuffer(bytearray(numbers), dtype=np.int8)
