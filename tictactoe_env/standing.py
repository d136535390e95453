"""The state of a game after given moves: the side to move or the winner, and any illegal move.

    game = standing([4, 0, 1, 8, 7], Rules())
    game.ended, game.winner, game.line       # "line", "X", (1, 4, 7)

This is the only place that goes through the moves of one game. A game of 3x3 takes about 5 us.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tictactoe_env.errors import whole_number
from tictactoe_env.rules import SIDES, Boards, Rules


class Standing(NamedTuple):
    """The state of a game.

    moves: the legal moves, as cells. x, o: the bitboards of both sides.
    ended: "" while the game goes on, "line", "full" (a draw), "early" (a draw, because no line can
    be completed), or "illegal" (a move onto a taken cell, which loses).
    winner: "X", "O", or None for a draw and for an unfinished game.
    illegal: the index of the first illegal move among the given cells, or None. A move after the
    end is illegal too, but does not change `ended` and `winner`.
    """

    rules: Rules
    moves: tuple[int, ...]
    x: int
    o: int
    ended: str
    winner: str | None
    illegal: int | None

    @property
    def mover(self) -> str | None:
        """The side to move, "X" or "O"; None once the game has ended."""
        return None if self.ended else SIDES[len(self.moves) % 2]

    @property
    def board(self) -> Boards:
        """The board (cells,) int8: +1 X, -1 O, 0 free."""
        board = np.zeros(self.rules.cells, dtype=np.int8)
        board[list(self.moves[::2])] = 1
        board[list(self.moves[1::2])] = -1
        return board

    @property
    def line(self) -> tuple[int, ...]:
        """The cells of the winner's lines, in order; () if there is none."""
        return self.rules.winning_cells(self.board) if self.ended == "line" else ()


def standing(cells: Sequence[int], rules: Rules, early_draw: bool = False) -> Standing:
    """The state of a game after moves on these cells, X first. It stops at the first illegal move.

    early_draw: the game is drawn as soon as every line holds marks of both sides.
    Raises ValueError for a number that is no cell of the board.
    """
    bits, shortest = rules.cell_bits, 2 * rules.k - 1  # plies before which there can be no line
    own, other = 0, 0  # marks of the side to move, and of the side that moved last
    moves: list[int] = []
    ended, illegal = "", None
    for ply, cell in enumerate(cells):
        if type(cell) is not int or not 0 <= cell < len(bits):
            cell = whole_number(cell, "a cell", 0, len(bits) - 1)
        if ended or (own | other) & bits[cell]:
            ended, illegal = ended or "illegal", ply
            break
        own, other = other, own | bits[cell]
        moves.append(cell)
        if ply + 1 >= shortest and rules.has_line(other):
            ended = "line"
        elif ply + 1 == len(bits):
            ended = "full"
        elif early_draw and rules.is_dead(own, other):
            ended = "early"
    # After a line and after an illegal move, the side that made the last legal move has won.
    winner = SIDES[(len(moves) - 1) % 2] if ended in ("line", "illegal") else None
    x, o = (other, own) if len(moves) % 2 else (own, other)
    return Standing(rules, tuple(moves), x, o, ended, winner, illegal)
