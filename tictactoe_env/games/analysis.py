"""The exact value of positions and moves, a player's own values, and a verdict on each move.

    truth(board, rules).moves                   # Worth(value=1, plies=3) where a cell wins in 2
    thoughts(policy, board, rules).values       # its own values of the moves, if it has any
    thoughts(policy, board, rules, "expected")  # its exact results against random moves
    verdicts(game)[4].text                      # "gives away the draw and loses in 2"
    losing_move(game), turning_point(game)      # the move that decided the game, and a sentence

Exact values exist for boards of at most 16 cells (4x4, 3x5); larger ones raise ValueError. A board
is solved on first use, which takes a second on 4x4. `thoughts` works on any board.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import unknown_name
from tictactoe_env.exact.match import action_values
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.solver import LOST, NO_SCORE, solve
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.games.game import Game
from tictactoe_env.notation import SIDES, cell_text
from tictactoe_env.policy import Policy, RandomPolicy
from tictactoe_env.rules import Boards, Rules, to_move

OWN, EXPECTED = "own", "expected"
KINDS = (OWN, EXPECTED)
MEANINGS = {
    OWN: "its own value of each move",
    EXPECTED: "expected result, wins minus losses, if it plays on like this against random moves; "
    "exact, not its own belief",
    "": "it gives no values, only probabilities",
}


# --- exact values ---------------------------------------------------------------------------------


class Worth(NamedTuple):
    """The result if both sides play perfectly, and the number of plies until the end.

    value: +1, 0 or -1 for the side to move. plies: the moves of both sides until the end; 0 if the
    game is over. The winner takes the shortest way, the loser the longest, and a draw fills the
    board. The worth of a move counts that move too: one that wins at once is Worth(1, 1). So the
    worth of a position is the worth of its best move.
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
            return "lost" if self.value else "drawn"
        if self.value == 0:
            return "draws"
        if self.winner_moves == 1:
            return "wins at once" if self.value > 0 else "loses to the next move"
        return f"{'wins' if self.value > 0 else 'loses'} in {self.winner_moves}"


class Truth(NamedTuple):
    """The worth of a position and of the move on each cell, None where a move is illegal."""

    position: Worth
    moves: list[Worth | None]


def truth(board: Boards, rules: Rules) -> Truth:
    """The exact worth of a board (cells,) and of its moves.

    Raises ValueError above 16 cells and for a board that play cannot reach.
    """
    boards, solution = np.asarray(board)[None], solve(rules)
    return Truth(
        _worth(int(solution.board_scores(boards)[0]), rules, board),
        [
            None if score == NO_SCORE else _worth(score, rules, board)
            for score in solution.move_scores(boards)[0].tolist()
        ],
    )


def _worth(score: int, rules: Rules, board: Boards) -> Worth:
    free = int((np.asarray(board) == 0).sum())
    return Worth(0, free) if score == 0 else Worth(1 if score > 0 else -1, -LOST - abs(score))


# --- what a player thinks -------------------------------------------------------------------------


@dataclass(frozen=True)
class Thoughts:
    """A player's probabilities and values of the moves on one board, None on taken cells.

    probs: probabilities. illegal: the probability on taken cells.
    values: those of the side to move, or None if the player has no values; a free cell has None if
    the player does not know its value. kind: "own", "expected" or "". meaning: what the values are,
    in words. scale: the values of a sure loss and of a sure win. kinds: all that the player has.
    """

    probs: list[float | None]
    values: list[float | None] | None
    kind: str
    illegal: float = 0.0
    meaning: str = ""
    scale: tuple[float, float] = (-1.0, 1.0)
    kinds: tuple[str, ...] = ()


def thoughts(policy: Policy, board: Boards, rules: Rules, kind: str = OWN) -> Thoughts:
    """A player's probabilities and values on an unfinished board (cells,).

    kind: which values, if the player has both. "own": those of its method
    `q_values(boards) -> (B, cells)`; its attributes `meaning` and `scale`, if it has them, say what
    they are. "expected": the exact expected results against random moves, if the player is a
    TabularPolicy, such as that of a certificate, on a board of at most 12 cells. Raises ValueError
    for another kind.
    """
    if kind not in KINDS:
        raise unknown_name("kind of values", kind, KINDS)
    board = np.asarray(board)
    free, kinds = board == 0, kinds_of(policy, rules)
    kind = kind if kind in kinds else kinds[0] if kinds else ""
    probs, values = policy.probs(board[None])[0], None
    meaning, scale = MEANINGS[kind], (-1.0, 1.0)
    if kind == OWN:
        player: Any = policy
        values = player.q_values(board[None])[0]
        meaning = getattr(player, "meaning", meaning)
        scale = getattr(player, "scale", scale)
    elif kind == EXPECTED:
        side = SIDES[int(to_move(board) < 0)]
        values = action_values(side, policy, RandomPolicy(), rules, board)
    return Thoughts(
        _on(free, probs),
        None if values is None else _on(free, values),
        kind,
        float(probs[~free].sum()),
        meaning,
        scale,
        kinds,
    )


def kinds_of(policy: Policy, rules: Rules) -> tuple[str, ...]:
    """The kinds of values that a player has on a board: see `thoughts`."""
    is_table = isinstance(policy, TabularPolicy) and rules.cells <= TABULATED
    has = {OWN: callable(getattr(policy, "q_values", None)), EXPECTED: is_table}
    return tuple(kind for kind in KINDS if has[kind])


def _on(free: NDArray[np.bool_], numbers: NDArray[np.floating[Any]]) -> list[float | None]:
    """The finite numbers on free cells, None elsewhere."""
    shown = free & np.isfinite(numbers)
    return [
        float(number) if is_shown else None for number, is_shown in zip(numbers, shown, strict=True)
    ]


# --- what the moves of a game were worth ----------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """The verdict on one move, for the side that made it.

    before: the worth of the position. after: the worth of the move; an illegal move loses in 1 ply.
    optimal: whether it kept the value. threw_away: whether it decided the game, see `losing_move`.
    """

    ply: int
    cell: int
    side: str
    before: Worth
    after: Worth
    optimal: bool
    threw_away: bool
    text: str


def verdicts(game: Game) -> list[Verdict]:
    """The verdict on every move of a game. ValueError on boards of more than 16 cells."""
    worths = _worths(game)
    decided = _decided(worths, game)
    return [
        Verdict(
            ply,
            cell,
            SIDES[ply % 2],
            before,
            after,
            before.value == after.value,
            ply == decided,
            _text(before, after, game, ply),
        )
        for ply, (cell, (before, after)) in enumerate(zip(game.moves, worths, strict=True))
    ]


def losing_move(game: Game) -> int | None:
    """The ply, from 0, of the move that decided the game: the last one that lowered the value.

    No later move changed the result. None if no move lowered the value, or if a side resigned a
    position that was not lost.
    """
    return _decided(_worths(game), game)


def turning_point(game: Game) -> str:
    """A sentence that says what decided the game.

    Of a move that lost, it says how soon the other side could win with best play.
    """
    if (resigned := _resigned(game)) is not None:
        side, worth = resigned
        return f"{side} resigned a position that {'was a draw' if worth.value == 0 else 'was won'}"
    worths = _worths(game)
    ply = _decided(worths, game)
    if ply is None:
        result = "a draw" if game.result == "draw" else f"won for {game.result}"
        return f"nobody made a mistake: the game was {result} throughout"
    before, after = worths[ply]
    side, other = SIDES[ply % 2], SIDES[1 - ply % 2]
    move = f"{side}'s {cell_text(game.moves[ply], game.rules)} (move {ply + 1})"
    if _is_illegal(game, ply):
        return f"{move} was on a taken cell: an illegal move loses"
    if after.value == 0:
        return f"{move} turned a win into a draw"
    had = "win" if before.value > 0 else "draw"
    soon = "at once" if after.winner_moves == 1 else f"in {after.winner_moves}"
    return f"{move} turned a {had} into a loss: {other} could win {soon}"


def _worths(game: Game) -> list[tuple[Worth, Worth]]:
    """The worth of the position before each move, and of the move."""
    found = []
    # There is one more board than legal moves.
    for board, cell in zip(game.boards, game.moves, strict=False):
        position, moves = truth(board, game.rules)
        worth = moves[cell]
        found.append((position, Worth(-1, 1) if worth is None else worth))
    return found


def _decided(worths: list[tuple[Worth, Worth]], game: Game) -> int | None:
    if _resigned(game) is not None:
        return None
    return max(
        (ply for ply, (before, after) in enumerate(worths) if after.value < before.value),
        default=None,
    )


def _resigned(game: Game) -> tuple[str, Worth] | None:
    """The side that resigned a position it had not lost, and its worth to that side; or None."""
    if game.ended != "resigned":
        return None
    value = truth(game.boards[-1], game.rules).position
    side = SIDES[game.result == "X"]
    worth = value if side == SIDES[len(game.moves) % 2] else Worth(-value.value, value.plies)
    return (side, worth) if worth.value > -1 else None


def _is_illegal(game: Game, ply: int) -> bool:
    return game.ended == "illegal" and ply == len(game.moves) - 1


def _text(before: Worth, after: Worth, game: Game, ply: int) -> str:
    if _is_illegal(game, ply):
        return "is taken already: an illegal move loses"
    if after.value < before.value:
        had = "win" if before.value > 0 else "draw"
        return f"gives away the {had} and {'only draws' if after.value == 0 else after.text}"
    if after.value == 0:
        return "keeps the draw"
    if after.value > 0:
        return (
            after.text
            if after.plies == before.plies
            else f"keeps the win, in {after.winner_moves} instead of {before.winner_moves}"
        )
    return "is lost anyway" + (
        f", and loses in {after.winner_moves} instead of {before.winner_moves}"
        if after.plies < before.plies
        else ""
    )
