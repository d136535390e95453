"""What an environment can be told, checked once and shared by the single and the vector environment."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env import row_engine
from tictactoe_env.bit_engine import BitGame, BitGames
from tictactoe_env.errors import unknown_name
from tictactoe_env.notation import SIDES, board_text, parse_board, parse_game, replay
from tictactoe_env.observation import OBSERVATIONS
from tictactoe_env.opponents import Pool
from tictactoe_env.positions import MAX_CELLS, can_enumerate, positions_of
from tictactoe_env.row_engine import RowGame, RowGames
from tictactoe_env.rules import ILLEGAL, OUTCOMES, Boards, Rules, to_move

SIDE_CHOICES = (*SIDES, "random", "alternate")
ILLEGAL_CHOICES = ("lose", "raise")
STARTS = ("empty", "random")
RENDER_MODES = ("ansi", "rgb_array")
REWARDS = {"win": 1, "draw": 0, "loss": -1, "illegal": -1}
RESET_OPTIONS = ("side", "opponent", "board")


def one_of(what: str, value: Any, choices: tuple[str, ...]) -> str:
    """`value` if it is one of the choices; ValueError with the nearest one otherwise."""
    if not isinstance(value, str) or value not in choices:
        raise unknown_name(what, value, choices)
    return value


def seat_of(side: str) -> int:
    """The mark of a side: +1 for "X", -1 for "O"."""
    return 1 if side == "X" else -1


def checked_seed(seed: Any) -> int | None:
    """`seed` as an int of at least 0, or None; ValueError otherwise."""
    if seed is None or (
        isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0
    ):
        return None if seed is None else int(seed)
    raise ValueError(f"seed must be a whole number of at least 0 or None, got {seed!r}")


@dataclass(frozen=True)
class Config:
    """The checked arguments of an environment, all but the opponent. The environment's docstring says what they mean."""

    side: str
    rows: int
    cols: int
    k: int
    illegal: str
    rewards: Mapping[str, float] | None
    observation: str
    opening: str
    start: str
    early_draw: bool
    render_mode: str | None

    def __post_init__(self) -> None:
        one_of("side", self.side, SIDE_CHOICES)
        one_of("treatment of illegal moves", self.illegal, ILLEGAL_CHOICES)
        one_of("observation", self.observation, OBSERVATIONS)
        one_of("start", self.start, STARTS)
        if not isinstance(self.early_draw, bool):
            raise ValueError(f"early_draw must be True or False, got {self.early_draw!r}")
        if self.render_mode == "human":
            raise ValueError(
                'render_mode "human" opens a window through gym.make(..., render_mode="human"), which needs the extra "render" (pygame-ce)'
            )
        if self.render_mode is not None:
            one_of("render mode", self.render_mode, RENDER_MODES)
        if self.opening and self.start == "random":
            raise ValueError('opening and start="random" exclude each other: give one of them')
        if self.start == "random" and not can_enumerate(self.rules):
            raise ValueError(
                f'start="random" is for boards of at most {MAX_CELLS} cells, whose positions can be listed; this one has {self.rules.cells}'
            )
        _ = self.rules, self.reward_table, self.start_board

    @cached_property
    def rules(self) -> Rules:
        """The board."""
        return Rules(self.rows, self.cols, self.k)

    @cached_property
    def reward_table(self) -> NDArray[np.float64]:
        """Reward of each standing, ONGOING to OPPONENT_ILLEGAL: (6,)."""
        given = {} if self.rewards is None else self.rewards
        if not isinstance(given, Mapping):
            raise ValueError(f"rewards must be a mapping such as {REWARDS}, got {given!r}")
        for name, value in given.items():
            one_of("reward", name, tuple(REWARDS))
            if (
                isinstance(value, (bool, np.bool_))
                or not isinstance(value, Real)
                or not abs(value) <= sys.float_info.max
            ):
                raise ValueError(f"the reward for {name!r} must be a finite number, got {value!r}")
        rewards = {**REWARDS, **given}
        names = [
            "illegal" if standing == ILLEGAL else outcome
            for standing, outcome in enumerate(OUTCOMES)
        ]
        return np.array([0.0, *(float(rewards[name]) for name in names[1:])])

    @cached_property
    def start_board(self) -> Boards:
        """The board (cells,) after the forced opening; ValueError if the opening ends the game."""
        board = replay(parse_game(self.opening, self.rules), self.rules)[-1]
        self._check_going(board, f"the opening {self.opening!r}")
        return board

    def given_board(self, text: Any) -> Boards:
        """The board (cells,) of the reset option `board`; ValueError unless a game can go on from it."""
        board = parse_board(text, self.rules)
        self._check_going(board, f"the board {text!r}")
        return board

    def _check_going(self, board: Boards, what: str) -> None:
        x, o = (int(bits) for bits in self.rules.to_bits(board))
        if (
            self.rules.has_line(x)
            or self.rules.has_line(o)
            or self.rules.is_full(x, o)
            or (self.early_draw and self.rules.is_dead(x, o))
        ):
            raise ValueError(
                f'{what} leaves a finished game, "{board_text(board, self.rules)}": give one with a move to make'
            )

    def check_first_move(self, pool: Pool, given: Mapping[str, Any]) -> None:
        """ValueError if an opponent of the pool may end the game before the learner's first move; `given`: checked reset options."""
        board = given.get("board", self.start_board if self.start == "empty" else None)
        side = given.get("side", self.side)
        if board is None or (side in SIDES and seat_of(side) == to_move(board)):
            return
        cells, mover = np.arange(self.rules.cells), to_move(board)
        after = np.repeat(board[None], self.rules.cells, axis=0)
        after[cells, cells] = mover
        x, o = self.rules.to_bits(after)
        ends = self.rules.has_line(x if mover > 0 else o) | self.rules.is_full(x, o) | (board != 0)
        if self.early_draw:
            ends |= self.rules.is_dead(x, o)
        players = [
            policy for policy, weight in zip(pool.policies, pool.weights, strict=True) if weight > 0
        ]
        if ends.any() and any((policy.probs(board[None])[0, ends] > 0).any() for policy in players):
            raise ValueError(
                f'on "{board_text(board, self.rules)}" ({self.rules}) the opponent may end the game before the learner\'s first move: '
                f'give side="{"X" if mover > 0 else "O"}", or another board, opening or opponent'
            )

    def draw_starts(
        self, seats: NDArray[np.int8], drawn: NDArray[np.bool_], rng: np.random.Generator
    ) -> tuple[Boards, NDArray[np.int8]]:
        """Boards (B, cells) to start from and the learner's marks (B,).

        With start="random" the board is uniform among those where the learner is to move; where the side was itself
        `drawn` (B,) at random it is uniform among all, and the learner gets the side to move.
        """
        if self.start == "empty":
            return np.repeat(self.start_board[None], len(seats), axis=0), seats
        boards, x_count = random_starts(self.rules, self.early_draw)
        first = np.where(~drawn & (seats < 0), x_count, 0)
        last = np.where(~drawn & (seats > 0), x_count, len(boards))
        if (first == last).any():
            raise ValueError(
                f'start="random" finds no unfinished position with O to move ({self.rules}): give the learner side="X"'
            )
        chosen = boards[rng.integers(first, last)]
        return chosen, to_move(chosen)

    def options(self, options: Any, known: tuple[str, ...] = RESET_OPTIONS) -> dict[str, Any]:
        """The reset options as a dict with the board parsed; ValueError for unknown names or bad values."""
        given = {} if options is None else options
        if not isinstance(given, Mapping):
            raise ValueError(
                f"options must be a mapping with the keys {', '.join(known)}, got {options!r}"
            )
        for name in given:
            one_of("reset option", name, known)
        checked = dict(given)
        if "side" in checked:
            one_of("side", checked["side"], SIDES)
        if "board" in checked:
            checked["board"] = self.given_board(checked["board"])
        return checked

    def game(self) -> RowGame | BitGame:
        """What walks one game: by row number on small boards, on bitboards otherwise."""
        walked_by_rows = self.rules.cells <= row_engine.MAX_CELLS
        return (RowGame if walked_by_rows else BitGame)(
            self.rules, self.early_draw, self.observation
        )

    def games(self) -> RowGames | BitGames:
        """What walks many games."""
        walked_by_rows = self.rules.cells <= row_engine.MAX_CELLS
        return (RowGames if walked_by_rows else BitGames)(
            self.rules, self.early_draw, self.observation
        )


@lru_cache(maxsize=8)
def random_starts(rules: Rules, early_draw: bool) -> tuple[Boards, int]:
    """Every unfinished board (B, cells), X's turn first, and how many are X's; shared by all environments."""
    positions = positions_of(rules)
    going = ~positions.is_over & ~(
        positions.is_dead if early_draw else np.zeros(len(positions), dtype=bool)
    )
    boards, x_moves = positions.boards[going], positions.x_to_move[going]
    return boards[np.argsort(~x_moves, kind="stable")], int(x_moves.sum())


def last_move(before: Boards, after: Boards, seat: int) -> int | None:
    """The cell marked last between two boards (cells,): the opponent's reply if there is one, else the learner's."""
    new = np.flatnonzero(before != after)
    replies = new[after[new] == -seat]
    chosen = replies if len(replies) else new
    return int(chosen[-1]) if len(chosen) else None
