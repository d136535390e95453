"""Games walked on bitboards, for boards of any size; the same verbs as `row_engine`.

A state holds X's and O's bitboards, the learner's mark (+1 X, -1 O) and how the game stands: a tuple for one game, a
record of an array for many.
Opponents are asked for their probabilities at every move, one batch a step; on boards of up to 12 cells they are tabulated first.
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

MAX_TABLE_CELLS = 12  # of a board on which an opponent is tabulated once: 3x4 has 79,563 rows; above, it is asked at every move
STATE = np.dtype(
    [("x", np.uint64), ("o", np.uint64), ("seat", np.int8), ("mover", np.int8), ("result", np.int8)]
)
States = NDArray[Any]


class BitGames:
    """Many games at a time: states (B,) records of the dtype STATE."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self.early_draw, self.observation = rules, early_draw, observation
        self._bits = np.array(rules.cell_bits, dtype=np.uint64)

    def start(self, boards: Boards, seats: NDArray[np.int8]) -> States:
        """States (B,) of unfinished boards (B, cells), the learner having the marks `seats` (B,)."""
        states = np.zeros(len(boards), dtype=STATE)
        states["x"], states["o"] = self.rules.to_bits(boards)
        states["seat"], states["mover"] = seats, to_move(boards)
        if self.early_draw:
            states["result"] = np.where(self.rules.is_dead(states["x"], states["o"]), DRAW, ONGOING)
        return states

    def play(self, states: States, cells: NDArray[np.intp]) -> States:
        """States after the moves of the sides to move; a taken cell forfeits, and a finished game stays as it is."""
        x, o, mover = states["x"], states["o"], states["mover"]
        bits = self._bits[cells]
        legal = ((x | o) & bits) == 0
        x_moves = mover > 0
        marks = np.where(x_moves, x, o) | bits
        x, o = np.where(legal & x_moves, marks, x), np.where(legal & ~x_moves, marks, o)
        by_learner = mover == states["seat"]
        drawn = self.rules.is_full(x, o)
        if self.early_draw:
            drawn |= self.rules.is_dead(x, o)
        result = np.where(
            self.rules.has_line(marks),
            np.where(by_learner, WIN, LOSS),
            np.where(drawn, DRAW, ONGOING),
        )
        result = np.where(legal, result, np.where(by_learner, ILLEGAL, OPPONENT_ILLEGAL))
        going = states["result"] == ONGOING
        after = states.copy()
        for name, values in (("x", x), ("o", o), ("mover", -mover), ("result", result)):
            after[name] = np.where(going, values, states[name])
        return after

    def prepare(self, policies: list[Policy]) -> list[Policy]:
        """The opponents in the form that `reply` takes."""
        return [_prepared(policy, self.rules) for policy in policies]

    def reply(
        self,
        states: States,
        replies: list[Policy],
        which: NDArray[np.intp],
        rng: np.random.Generator,
    ) -> States:
        """States after the opponents' moves, opponent `which` (B,) in each game, where it is an opponent's turn."""
        states, moving = states.copy(), self.opponent_moves(states)
        for number, policy in enumerate(replies):
            games = np.flatnonzero(moving & (which == number))
            if len(games):
                probs = policy.probs(self.boards(states[games]))
                if not isinstance(policy, (RandomPolicy, TabularPolicy)):
                    probs = checked_probs(probs, (len(games), self.rules.cells))
                cells = sample(probs, rng)
                states[games] = self.play(states[games], cells)
        return states

    def result(self, states: States) -> NDArray[np.int8]:
        """How each game stands for the learner, ONGOING to OPPONENT_ILLEGAL of `rules`: (B,) int8."""
        return states["result"].copy()

    def opponent_moves(self, states: States) -> NDArray[np.bool_]:
        """(B,) bool: the game goes on and it is the opponent's turn."""
        return (states["result"] == ONGOING) & (states["mover"] != states["seat"])

    def observe(self, states: States) -> NDArray[np.int8]:
        """Fresh observations from the learner's seat, int8."""
        return observe(self.boards(states), self.rules, self.observation, states["seat"])

    def legal(self, states: States) -> NDArray[np.int8]:
        """Fresh masks (B, cells) int8, 1 on free cells."""
        return 1 - self.rules.to_cells(states["x"] | states["o"])

    def boards(self, states: States) -> Boards:
        """(B, cells) int8."""
        return self.rules.to_boards(states["x"], states["o"])

    def seats(self, states: States) -> NDArray[np.int8]:
        """The learner's marks (B,) int8, +1 X, -1 O."""
        return states["seat"].copy()


def _prepared(policy: Policy, rules: Rules) -> Policy:
    """`policy` as a table where the board has few enough positions for one."""
    return (
        policy
        if isinstance(policy, RandomPolicy) or rules.cells > MAX_TABLE_CELLS
        else tabulate(policy, rules)
    )


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

    def advance(
        self, state: State, cell: int, replies: Policy, uniforms: Uniforms
    ) -> tuple[State, int]:
        """The state after the learner's move and the opponent's reply, and how the game stands; a taken cell forfeits."""
        state, result = self._placed(state, cell, state.seat)
        return (state, result) if result != ONGOING else self.reply(state, replies, uniforms)

    def _placed(self, state: State, cell: int, mark: int) -> tuple[State, int]:
        x, o, seat = state
        bit, rules = self._bits[cell], self.rules
        if (x | o) & bit:
            return state, ILLEGAL if mark == seat else OPPONENT_ILLEGAL
        marks = (x if mark > 0 else o) | bit
        x, o = (marks, o) if mark > 0 else (x, marks)
        if rules.has_line(marks):
            return State(x, o, seat), WIN if mark == seat else LOSS
        drawn = rules.is_full(x, o) or (self.early_draw and rules.is_dead(x, o))
        return State(x, o, seat), DRAW if drawn else ONGOING

    def prepare(self, policy: Policy) -> Policy:
        """The opponent in the form that `reply` takes."""
        return _prepared(policy, self.rules)

    def reply(self, state: State, replies: Policy, uniforms: Uniforms) -> tuple[State, int]:
        """The state after the opponent's move, drawn by a number in [0, 1), and how the game stands."""
        uniform = uniforms.draw()
        if isinstance(replies, RandomPolicy):  # ten times as fast as asking it
            taken = state.x | state.o
            free = [cell for cell, bit in enumerate(self._bits) if not taken & bit]
            return self._placed(state, free[int(uniform * len(free))], -state.seat)
        ends = checked_probs(replies.probs(self.board(state)[None]), (1, self.rules.cells))[
            0
        ].cumsum()
        return self._placed(
            state, int(np.searchsorted(ends, uniform * ends[-1], side="right")), -state.seat
        )

    def opponent_moves(self, state: State) -> bool:
        """Whether the game goes on, from an unfinished board, and it is the opponent's turn."""
        x_moves = bin(state.x | state.o).count("1") % 2 == 0
        return x_moves != (state.seat > 0) and not (
            self.early_draw and self.rules.is_dead(state.x, state.o)
        )

    def view(self, state: State) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """A fresh observation from the learner's seat, and a fresh mask (cells,), 1 on free cells; int8."""
        x, o, seat = state
        own, other, bits = *((x, o) if seat > 0 else (o, x)), self._bits
        if self.observation == "planes":
            marks = [own & bit != 0 for bit in bits] + [other & bit != 0 for bit in bits]
            observation = np.array(marks, dtype=np.int8).reshape(
                2, self.rules.rows, self.rules.cols
            )
        else:
            observation = (self.board(state) * np.int8(seat)).reshape(
                self.rules.rows, self.rules.cols
            )
        taken = x | o
        return observation, np.array([not taken & bit for bit in bits], dtype=np.int8)

    def board(self, state: State) -> Boards:
        """(cells,) int8."""
        return np.array(
            [1 if state.x & bit else -1 if state.o & bit else 0 for bit in self._bits],
            dtype=np.int8,
        )
