"""Games walked on bitboards, for boards of any size; the same verbs as `row_engine`.

A state holds X's and O's bitboards, the learner's mark (+1 X, -1 O) and who has forfeited by an illegal move
(+1 the learner, -1 the opponent, else 0): a tuple for one game, a record of an array for many.
Opponents are asked for their probabilities at every move, one batch a step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.observation import observe
from tictactoe_env.policy import Policy, checked_probs, sample
from tictactoe_env.rules import DRAW, ILLEGAL, LOSS, ONGOING, OPPONENT_ILLEGAL, WIN, Boards, Rules

STATE = np.dtype([("x", np.uint64), ("o", np.uint64), ("seat", np.int8), ("forfeited", np.int8)])
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
        states["seat"] = seats
        return states

    def play(self, states: States, cells: NDArray[np.intp]) -> States:
        """States after the learner's moves; a taken cell forfeits."""
        return self._placed(states, cells, by_learner=True)

    def _placed(self, states: States, cells: NDArray[np.intp], by_learner: bool) -> States:
        states, bits = states.copy(), self._bits[cells]
        taken = ((states["x"] | states["o"]) & bits) != 0
        bits = np.where(taken, np.uint64(0), bits)
        x_moves = states["seat"] > 0 if by_learner else states["seat"] < 0
        states["x"] |= np.where(x_moves, bits, np.uint64(0))
        states["o"] |= np.where(x_moves, np.uint64(0), bits)
        states["forfeited"] = np.where(taken, 1 if by_learner else -1, states["forfeited"])
        return states

    def prepare(self, policies: list[Policy]) -> list[Policy]:
        """The opponents in the form that `reply` takes."""
        return list(policies)

    def reply(self, states: States, replies: list[Policy], which: NDArray[np.intp], rng: np.random.Generator) -> States:
        """States after the opponents' moves, opponent `which` (B,) in each game, where it is an opponent's turn."""
        states, moving = states.copy(), self.opponent_moves(states)
        for number, policy in enumerate(replies):
            games = np.flatnonzero(moving & (which == number))
            if len(games):
                cells = sample(checked_probs(policy.probs(self.boards(states[games])), (len(games), self.rules.cells)), rng)
                states[games] = self._placed(states[games], cells, by_learner=False)
        return states

    def result(self, states: States) -> NDArray[np.int8]:
        """How each game stands for the learner, ONGOING to OPPONENT_ILLEGAL of `rules`: (B,) int8."""
        x, o, seat = states["x"], states["o"], states["seat"]
        x_won, o_won = self.rules.has_line(x), self.rules.has_line(o)
        drawn = self.rules.is_full(x, o) | (self.rules.is_dead(x, o) if self.early_draw else False)
        won, lost = np.where(seat > 0, x_won, o_won), np.where(seat > 0, o_won, x_won)
        cases = [states["forfeited"] > 0, states["forfeited"] < 0, won, lost, drawn]
        return np.select(cases, [ILLEGAL, OPPONENT_ILLEGAL, WIN, LOSS, DRAW], ONGOING).astype(np.int8)

    def opponent_moves(self, states: States) -> NDArray[np.bool_]:
        """(B,) bool: the game goes on and it is the opponent's turn."""
        marks = (self.boards(states) != 0).sum(axis=1)
        return (self.result(states) == ONGOING) & ((marks % 2 == 0) != (states["seat"] > 0))

    def observe(self, states: States) -> NDArray[np.int8]:
        """Fresh observations from the learner's seat, int8."""
        return observe(self.boards(states), self.rules, self.observation, states["seat"])

    def legal(self, states: States) -> NDArray[np.int8]:
        """Fresh masks (B, cells) int8, 1 on free cells."""
        return (self.boards(states) == 0).astype(np.int8)

    def boards(self, states: States) -> Boards:
        """(B, cells) int8."""
        return self.rules.to_boards(states["x"], states["o"])

    def seats(self, states: States) -> NDArray[np.int8]:
        """The learner's marks (B,) int8, +1 X, -1 O."""
        return states["seat"].copy()


class State(NamedTuple):
    """One game: two bitboards, the learner's mark, and who has forfeited."""

    x: int
    o: int
    seat: int
    forfeited: int = 0


class BitGame:
    """One game at a time, on Python integers."""

    def __init__(self, rules: Rules, early_draw: bool, observation: str):
        self.rules, self.early_draw, self.observation = rules, early_draw, observation
        self._bits = rules.cell_bits

    def start(self, board: Boards, seat: int) -> State:
        """The state of an unfinished board (cells,), the learner having the mark `seat`."""
        x, o = self.rules.to_bits(board)
        return State(int(x), int(o), seat)

    def advance(self, state: State, cell: int, replies: Policy, uniforms: Uniforms) -> tuple[State, int]:
        """The state after the learner's move and the opponent's reply, and how the game stands; a taken cell forfeits."""
        state = self._placed(state, cell, state.seat, 1)
        result = self._result(state)
        return (state, result) if result != ONGOING else self.reply(state, replies, uniforms)

    def _placed(self, state: State, cell: int, mark: int, forfeit: int) -> State:
        bit = self._bits[cell]
        if (state.x | state.o) & bit:
            return state._replace(forfeited=forfeit)
        return State(state.x | bit, state.o, state.seat) if mark > 0 else State(state.x, state.o | bit, state.seat)

    def prepare(self, policy: Policy) -> Policy:
        """The opponent in the form that `reply` takes."""
        return policy

    def reply(self, state: State, replies: Policy, uniforms: Uniforms) -> tuple[State, int]:
        """The state after the opponent's move, drawn by a number in [0, 1), and how the game stands."""
        ends = checked_probs(replies.probs(self.board(state)[None]), (1, self.rules.cells))[0].cumsum()
        state = self._placed(state, int(np.searchsorted(ends, uniforms.draw() * ends[-1], side="right")), -state.seat, -1)
        return state, self._result(state)

    def _result(self, state: State) -> int:
        """How the game stands for the learner, ONGOING to OPPONENT_ILLEGAL of `rules`."""
        if state.forfeited:
            return ILLEGAL if state.forfeited > 0 else OPPONENT_ILLEGAL
        x, o, rules = state.x, state.o, self.rules
        if rules.has_line(x) or rules.has_line(o):
            return WIN if rules.has_line(x) == (state.seat > 0) else LOSS
        return DRAW if rules.is_full(x, o) or (self.early_draw and rules.is_dead(x, o)) else ONGOING

    def opponent_moves(self, state: State) -> bool:
        """Whether the game goes on and it is the opponent's turn."""
        x_moves = bin(state.x | state.o).count("1") % 2 == 0
        return self._result(state) == ONGOING and x_moves != (state.seat > 0)

    def view(self, state: State) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """A fresh observation from the learner's seat, and a fresh mask (cells,), 1 on free cells; int8."""
        board = self.board(state)
        return observe(board[None], self.rules, self.observation, state.seat)[0], (board == 0).astype(np.int8)

    def board(self, state: State) -> Boards:
        """(cells,) int8."""
        taken_x, taken_o = state.x, state.o
        return np.array([1 if taken_x & bit else -1 if taken_o & bit else 0 for bit in self._bits], dtype=np.int8)
