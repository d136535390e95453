"""The arguments of the environments, checked once for the single and the vector environment."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Real
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tictactoe_env.actions import checked_actions, legal_actions
from tictactoe_env.errors import check_arguments, one_of
from tictactoe_env.exact.positions import ENUMERABLE, can_enumerate, draw_starts
from tictactoe_env.notation import SIDES, board_text, check_move, parse_board, parse_game, replay
from tictactoe_env.observation import OBSERVATIONS
from tictactoe_env.rules import SIZES, Boards, Rules, to_move
from tictactoe_env.starts import ExploringStarts
from tictactoe_env.symmetry import images

RENDER_MODES = ("human", "ansi", "rgb_array")
_REWARDS = {"win": 1, "draw": 0, "loss": -1, "illegal": -1}
_REWARD_OF = ("win", "draw", "loss", "illegal", "win")  # of each `Outcome` but ONGOING
RESET_OPTIONS = ("side", "opponent", "board")
BOARD_OPTIONS = ("board",)  # where the caller moves for both sides

_Seats = NDArray[np.int8]
Start = Callable[[_Seats, np.random.Generator], tuple[Boards, _Seats]]


@dataclass(frozen=True, kw_only=True)
class Config:
    """All arguments of an environment except the opponent; `TicTacToeEnv` documents them.

    Raises ValueError for arguments that are wrong or exclude each other.
    """

    rules: Rules
    side: str = "random"
    illegal: str = "lose"
    rewards: Mapping[str, float] | None = None
    observation: str = "flat"
    actions: str = "cells"
    opening: str = ""
    start: str | Start = "empty"
    early_draw: bool = False
    symmetric: bool = False
    render_mode: str | None = None

    @classmethod
    def of(cls, **arguments: Any) -> Config:
        """The configuration of an environment's arguments; those of its board are of `Rules`."""
        board = {*SIZES, *Rules.further_fields()}
        others = {name: value for name, value in arguments.items() if name not in board}
        return cls(rules=Rules.among(arguments), **others)

    def __post_init__(self) -> None:
        one_of("side", self.side, (*SIDES, "random", "alternate"))
        one_of("treatment of illegal moves", self.illegal, ("lose", "raise"))
        one_of("observation", self.observation, OBSERVATIONS)
        checked_actions(self.actions, self.rules)
        if not callable(self.start):
            one_of("start", self.start, ("empty", "random"))
        for name in ("early_draw", "symmetric"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise ValueError(f"{name} must be True or False, got {value!r}")
        if self.render_mode is not None:
            one_of("render mode", self.render_mode, RENDER_MODES)
        if self.opening and self.start != "empty":
            raise ValueError('opening and a start other than "empty" exclude each other')
        if self.start == "random" and not can_enumerate(self.rules):
            raise ValueError(f'start="random" needs at most {ENUMERABLE} cells, got {self.rules}')
        _ = self.reward_table, self.start_board

    @cached_property
    def reward_table(self) -> NDArray[np.float64]:
        """Reward of each `Outcome`, 0 while the game goes on: (6,)."""
        given = {} if self.rewards is None else self.rewards
        if not isinstance(given, Mapping):
            raise ValueError(f"rewards must be a mapping such as {_REWARDS}, got {given!r}")
        for name, value in given.items():
            one_of("reward", name, tuple(_REWARDS))
            number = np.asarray(value).tolist()  # of Python: small floats of NumPy overflow
            is_number = isinstance(number, Real) and not isinstance(number, bool)
            if not is_number or not abs(number) <= sys.float_info.max:
                raise ValueError(f"the reward for {name!r} must be a finite number, got {value!r}")
        rewards = {**_REWARDS, **given}
        return np.array([0.0, *(float(rewards[name]) for name in _REWARD_OF)])

    # --- what the learner sees and does -----------------------------------------------------------

    def seen(self, board: Boards) -> Boards:
        """The board (cells,) that a learner sees: with `symmetric` the image of `board`."""
        return board[self._cells(board)]

    @property
    def by_column(self) -> bool:
        """True if an action is a column, in which a piece falls."""
        return self.actions == "columns"

    def action_space(self) -> gym.spaces.Discrete:
        """A new space of the actions in one game."""
        return gym.spaces.Discrete(self.rules.cols if self.by_column else self.rules.cells)

    def start_mask(self) -> NDArray[np.bool_]:
        """The legal first actions on `start_board`: (n,) for n actions."""
        return legal_actions(self.seen(self.start_board), self.rules, self.actions)

    def check_action(self, board: Boards, action: int) -> None:
        """Raises IllegalMoveError if an action is not legal on a board (cells,)."""
        cells = self._cells(board)
        if self.by_column:
            action = int(self.rules.landing(self.rules.legal_cells(board[cells]))[action])
        check_move(board, int(cells[action]), self.rules, self.by_column)

    def _cells(self, board: Boards) -> NDArray[np.intp]:
        """The cells of a board (cells,) in the order in which a learner sees them."""
        if not self.symmetric:
            return np.arange(self.rules.cells)
        return images(board[None], self.rules)[1][0]

    # --- boards to start from ---------------------------------------------------------------------

    @cached_property
    def start_board(self) -> Boards:
        """The board (cells,) after the opening; ValueError if the opening ends the game."""
        board = replay(parse_game(self.opening, self.rules), self.rules)[-1]
        return self._unfinished(board, f"the opening {self.opening!r}")

    def drawn_boards(
        self,
        seats: _Seats,
        rng: np.random.Generator,
        counterexamples: Sequence[Boards] = (),
        any_seat: bool = False,
    ) -> tuple[Boards, _Seats]:
        """Boards (B, cells) and the learner's marks (B,) from a start that is not "empty".

        counterexamples: those of the last proofs, if `start` takes any. any_seat: whether a random
        position gives the learner the side to move. What a function returns is checked.
        """
        start = self.start
        if not callable(start):
            if any_seat:
                seats = np.zeros_like(seats)
            return draw_starts(self.rules, self.early_draw, seats, rng)
        if isinstance(start, ExploringStarts):
            drawn = start(seats.copy(), rng, counterexamples)
        else:
            drawn = start(seats.copy(), rng)
        if not isinstance(drawn, (tuple, list)) or len(drawn) != 2:
            raise ValueError(f"the function start must return boards and seats, got {drawn!r:.200}")
        boards = self._marks("boards", drawn[0], (len(seats), self.rules.cells), 0)
        seats = self._marks("seats", drawn[1], (len(seats),), 1)
        # Those of `ExploringStarts` come from play, or are checked when they are added.
        if not isinstance(start, ExploringStarts):
            self.check_reachable(boards, "start")
        ended = self.ended(boards)
        if ended.any():
            self._unfinished(boards[int(ended.argmax())], "the function start")
        return boards, seats

    def check_reachable(self, boards: Boards, what: str) -> None:
        """Raises ValueError for a board of these (B, cells) that play cannot reach."""
        from tictactoe_env.reachable import unreachable  # imported here because few need it

        if wrong := unreachable(boards, self.rules):
            raise ValueError(f"{what}: {wrong.why}, got {boards[wrong.number].tolist()}")

    def drawn_board(
        self, seat: int, rng: np.random.Generator, counterexamples: Sequence[Boards], any_seat: bool
    ) -> tuple[Boards, int]:
        """`drawn_boards` for one game, given and as a board (cells,) and a mark."""
        if not callable(self.start):
            return draw_starts(self.rules, self.early_draw, 0 if any_seat else seat, rng)
        seats = np.array([seat], np.int8)
        boards, seats = self.drawn_boards(seats, rng, counterexamples, any_seat)
        return boards[0], int(seats[0])

    def _marks(self, name: str, value: Any, shape: tuple[int, ...], least: int) -> Any:
        """The result of `start` as a fresh int8 array: +1, -1 and, if `least` is 0, also 0."""
        array = np.asarray(value)
        is_right = array.shape == shape and array.dtype.kind in "iu"
        if not is_right or (np.abs(array) > 1).any() or (np.abs(array) < least).any():
            numbers = "+1 and -1, or 0," if least == 0 else "+1 and -1"
            raise ValueError(
                f"start: {name} must be of {numbers} in the shape "
                f"{shape}, got {array.dtype} {array.shape}: {array.tolist()!r:.100}"
            )
        return array.astype(np.int8)

    def ended(self, boards: Boards) -> NDArray[np.bool_]:
        """True where the game on a board (B, cells) is finished: (B,) bool."""
        ended: NDArray[np.bool_] = self.rules.is_over(*self.rules.to_bits(boards), self.early_draw)
        return ended

    def _unfinished(self, board: Boards, what: str) -> Boards:
        if self.ended(board[None])[0]:
            raise ValueError(f'{what} leaves a finished game, "{board_text(board, self.rules)}"')
        return board

    def ending_cells(self, board: Boards) -> NDArray[np.bool_]:
        """True for each cell of a board (cells,) on which a mark ends the game, if illegally."""
        cells = np.arange(self.rules.cells)
        after = np.repeat(board[None], self.rules.cells, axis=0)
        after[cells, cells] = to_move(board)
        return self.ended(after) | ~self.rules.legal_cells(board)

    def options(self, options: Any, known: tuple[str, ...] = RESET_OPTIONS) -> dict[str, Any]:
        """The reset options, with the board parsed; ValueError for unknown names or bad values."""
        given = {} if options is None else options
        if not isinstance(given, Mapping):
            raise ValueError(f"options must be a mapping of {', '.join(known)}, got {options!r}")
        for name in given:
            one_of("reset option", name, known)
        checked = dict(given)
        if "side" in checked:
            one_of("side", checked["side"], SIDES)
        if "board" in checked:
            board = parse_board(checked["board"], self.rules)
            checked["board"] = self._unfinished(board, f"the board {checked['board']!r}")
        return checked


def check_environment(arguments: Mapping[str, Any], *environments: type) -> None:
    """Raise TypeError for the first argument that an environment does not have.

    arguments: those that its own signature does not name. environments: it, and the one to which it
    hands them.
    """
    known = {*SIZES, *Rules.further_fields(), *(one.name for one in fields(Config))} - {"rules"}
    if arguments.keys() <= known:
        return
    for environment in environments:
        named = inspect.signature(environment).parameters.values()
        known |= {one.name for one in named if one.kind is not one.VAR_KEYWORD}
    check_arguments(environments[0].__name__, arguments, known)


def picture_of(mode: str | None) -> Callable[..., Any] | None:
    """The function that draws a board in a render mode; None, with a warning, without a mode."""
    if mode is None:
        gym.logger.warn('render() draws nothing without a render mode, such as render_mode="ansi"')
        return None
    from tictactoe_env import render  # imported here because most users never draw

    return render.ansi if mode == "ansi" else render.rgb_array
