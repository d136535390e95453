"""The exact value of positions and moves, and a verdict on each move of a game.

    analyse(board, rules).moves     # GameValue(value=1, plies=3) where a cell wins in 2
    verdicts(game)[4].text          # "gives away the draw and loses in 2"
    turning_point(game)             # a sentence on the move that decided the game

Exact values exist for boards of at most 16 cells (4x4, 3x5), and for Connect Four on 6x7 where
bitbully is installed; others raise ValueError. A board is solved on first use, which takes a second
on 4x4. On 6x7 each position is: see `exact.solver`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tictactoe_env.exact.solver import LOST, NO_SCORE, solve
from tictactoe_env.games.game import Game
from tictactoe_env.notation import cell_text
from tictactoe_env.rules import SIDES, Boards, Rules, other_side

# --- exact values ---------------------------------------------------------------------------------


# By the value for the side to move.
_VERBS = {1: "wins", 0: "draws", -1: "loses"}
_ENDED = {1: "won", 0: "drawn", -1: "lost"}
_RESULTS = {1: "win", 0: "draw", -1: "loss"}


class GameValue(NamedTuple):
    """The result if both sides play perfectly, and the number of plies until the end.

    value: +1, 0 or -1 for the side to move. plies: the moves of both sides until the end; 0 if the
    game is over. The winner takes the shortest way, the loser the longest, and a draw fills the
    board. The value of a move counts that move too: one that wins at once is GameValue(1, 1). So
    the value of a position is that of its best move.
    """

    value: int
    plies: int

    @property
    def winner_moves(self) -> int:
        """The moves of the winner until the end, as chess counts them: half of the plies."""
        return (self.plies + 1) // 2

    @property
    def text(self) -> str:
        """In words, such as "wins in 2", counted in moves of the winner."""
        if self.plies == 0:
            return _ENDED[self.value]
        if self.value == 0:
            return _VERBS[self.value]
        if self.plies == 1:
            return f"{_VERBS[self.value]} at once"
        if self.plies == 2 and self.value < 0:
            return "loses to the next move"
        return f"{_VERBS[self.value]} in {self.winner_moves}"

    @property
    def held(self) -> str:
        """The result in a word: "win", "draw" or "loss"."""
        return _RESULTS[self.value]


_ILLEGAL = GameValue(-1, 0)  # of a move on a taken cell; any other move takes a ply


class Analysis(NamedTuple):
    """The value of a position and of the move on each cell, None where a move is illegal."""

    position: GameValue
    moves: list[GameValue | None]


def analyse(board: Boards, rules: Rules) -> Analysis:
    """The exact value of a board (cells,) and of its moves.

    Raises ValueError where these are not known, and for a board that play cannot reach.
    """
    boards = np.asarray(board)[None]
    solution = solve(rules)
    free = int((boards == 0).sum())

    def game_value(score: int) -> GameValue:
        if score == 0:
            return GameValue(0, free)
        return GameValue(int(np.sign(score)), -LOST - abs(score))

    scores = solution.move_scores(boards)[0].tolist()
    moves = [None if score == NO_SCORE else game_value(score) for score in scores]
    return Analysis(game_value(int(solution.board_scores(boards)[0])), moves)


# --- the verdicts on the moves of a game ----------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """The verdict on one move, for the side that made it.

    before: the value of the position. after: the value of the move. threw_away: whether it decided
    the game: it is the last move that lowered the value, so that no later one changed the result.
    """

    ply: int
    cell: int
    side: str
    before: GameValue
    after: GameValue
    threw_away: bool

    @property
    def optimal(self) -> bool:
        """True if the move kept the value."""
        return self.before.value == self.after.value

    @property
    def text(self) -> str:
        """The verdict in words, such as "gives away the draw and loses in 2"."""
        before = self.before
        after = self.after
        sooner = f"in {after.winner_moves} instead of {before.winner_moves}"
        if after == _ILLEGAL:
            return "is an illegal move, which loses"
        if not self.optimal and after.value == 0:
            return f"gives away the {before.held} and only draws"
        if not self.optimal:
            return f"gives away the {before.held} and {after.text}"
        if after.value == 0:
            return "keeps the draw"
        if after.value > 0 and after.plies != before.plies:
            return f"keeps the win, {sooner}"
        if after.value > 0:
            return after.text
        if after.plies < before.plies:
            return f"is lost anyway, and loses {sooner}"
        return "is lost anyway"


def verdicts(game: Game) -> list[Verdict]:
    """The verdict on every move of a game. ValueError on boards whose values are not known.

    No move decided a game in which a side resigned a position that was not lost.
    """
    found = []
    # There is one more board than legal moves.
    for ply, (board, cell) in enumerate(zip(game.boards, game.moves, strict=False)):
        before, moves = analyse(board, game.rules)
        found.append(Verdict(ply, cell, SIDES[ply % 2], before, moves[cell] or _ILLEGAL, False))
    mistakes = [verdict for verdict in found if not verdict.optimal]
    if mistakes and _resigned(game) is None:
        found[mistakes[-1].ply] = replace(mistakes[-1], threw_away=True)
    return found


def turning_point(game: Game) -> str:
    """A sentence that says what decided the game.

    Of a move that lost, it says how soon the other side could win with best play.
    """
    if resigned := _resigned(game):
        side, held = resigned
        return f"{side} resigned a position that was {'won' if held.value else 'a draw'}"
    decisive = next((verdict for verdict in verdicts(game) if verdict.threw_away), None)
    if decisive is None:
        result = {"X": "won for X", "O": "won for O", "draw": "a draw"}[game.result]
        return f"nobody made a mistake: the game was {result} throughout"
    before = decisive.before
    after = decisive.after
    side = decisive.side
    move = f"{side}'s {cell_text(decisive.cell, game.rules)} (move {decisive.ply + 1})"
    if after == _ILLEGAL:
        return f"{move} was an illegal move, which loses"
    if after.value == 0:
        return f"{move} turned a win into a draw"
    soon = "at once" if after.winner_moves == 1 else f"in {after.winner_moves}"
    return f"{move} turned a {before.held} into a loss: {other_side(side)} could win {soon}"


def _resigned(game: Game) -> tuple[str, GameValue] | None:
    """The side that resigned a position which it had not lost, and its value to it; or None."""
    if game.ended != "resigned":
        return None
    held = analyse(game.boards[-1], game.rules).position
    side = other_side(game.result)
    if side != SIDES[len(game.moves) % 2]:
        held = held._replace(value=-held.value)
    return None if held.value == -1 else (side, held)
