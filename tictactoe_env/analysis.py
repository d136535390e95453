"""What is true of a position, what a player thinks of it, and what each move of a game was worth: exact, in words for people.

    truth(board, rules).moves                   # Worth(value=1, plies=3) on a cell that wins with its third move from now, None on taken cells
    thoughts(policy, board, rules).values       # what the player itself believes, or, where it says nothing, what it would get
    verdicts(game)[4].text                      # "gives away the draw and loses in 4"
    losing_move(game), turning_point(game)      # the move that decided the game, and a sentence about it

For boards of at most 16 cells (4x4, 3x5), whose positions are listed on first use: at once on 3x3, some seconds on 4x4.
Larger ones raise ValueError; what a player thinks can be asked on any board.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.games import Game
from tictactoe_env.match import action_values
from tictactoe_env.notation import SIDES, cell_text
from tictactoe_env.policy import Policy, RandomPolicy, TabularPolicy
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Boards, Rules, to_move

LOST = (
    -100
)  # the score of a lost board; a loss in n plies is LOST + n, a win in n plies -LOST - n, a draw 0
EXPECTED_CELLS = 12  # of the largest board on which expected results are computed: milliseconds on 3x3, a tenth of a second on 3x4

OWN, EXPECTED = "own", "expected"
MEANINGS = {
    OWN: "what the player itself believes each move to be worth",
    EXPECTED: "expected result, wins minus losses, if it plays on like this against random moves; exact, not its own belief",
    "": "it gives no values, only probabilities",
}


# --- the truth -------------------------------------------------------------------------------------------------------


class Worth(NamedTuple):
    """With best play by both: value, +1, 0 or -1 for the side to move, and plies, the moves of both sides until the end.

    Who wins hurries, who loses delays, and a draw fills the board. The worth of a move counts from before it, itself
    included (a winning move is Worth(1, 1)), so that of a position is that of its best moves; 0 plies: the game is over.
    """

    value: int
    plies: int

    @property
    def text(self) -> str:
        """In words, such as "wins in 3"."""
        if self.plies == 0:
            return "lost" if self.value else "drawn"
        if self.value == 0:
            return "draws"
        return f"{'wins' if self.value > 0 else 'loses'} {'at once' if self.plies == 1 else f'in {self.plies}'}"


class Truth(NamedTuple):
    """What is true of a position: its own worth, and that of the move on each cell, None where there is no move."""

    position: Worth
    moves: list[Worth | None]


def truth(board: Boards, rules: Rules) -> Truth:
    """What is true of a board (cells,). ValueError for a board of more than 16 cells and for one that play cannot reach."""
    positions, scores = positions_of(rules), _scores(rules)
    rows = positions.rows(np.asarray(board)[None])
    children = [int(positions.child(rows, cell)[0]) for cell in range(rules.cells)]
    return Truth(
        _worth(int(scores[rows[0]]), rules, board),
        [None if child < 0 else _worth_of_move(child, rules, board) for child in children],
    )


@lru_cache(maxsize=8)
def _scores(rules: Rules) -> NDArray[np.int8]:
    """Value and length of every position in one number (N,), see LOST: the larger, the better for the side to move."""
    positions = positions_of(rules)
    scores = np.where(positions.outcome_x == 0, 0, LOST).astype(np.int8)
    for ply in range(rules.cells - 1, -1, -1):
        rows = np.arange(positions.ply_starts[ply], positions.ply_starts[ply + 1])
        rows = rows[~positions.is_over[rows]]
        best = np.full(len(rows), LOST, dtype=np.int8)
        for cell in range(rules.cells):
            child = positions.child(rows, cell)
            np.maximum(best, np.where(child >= 0, _before(scores[child]), np.int8(LOST)), out=best)
        scores[rows] = best
    return scores


def _before(after: NDArray[np.int8]) -> NDArray[np.int8]:
    """The scores of moves, from the scores that they leave to the other side."""
    return -after + np.sign(after)


def _worth_of_move(child: int, rules: Rules, board: Boards) -> Worth:
    return _worth(int(_before(_scores(rules)[child])), rules, board)


def _worth(score: int, rules: Rules, board: Boards) -> Worth:
    free = int((np.asarray(board) == 0).sum())
    return Worth(0, free) if score == 0 else Worth(1 if score > 0 else -1, -LOST - abs(score))


# --- what a player thinks --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thoughts:
    """What a player thinks of each cell, None where it is taken.

    probs: its probabilities; `illegal` is what it puts on taken cells. values: for the side to move, or None if there are
    none. kind: what these are: "own", "expected" or ""; `meaning` says it in words.
    """

    probs: list[float | None]
    values: list[float | None] | None
    kind: str
    illegal: float = 0.0

    @property
    def meaning(self) -> str:
        """What the values are, in words."""
        return MEANINGS[self.kind]


def thoughts(policy: Policy, board: Boards, rules: Rules) -> Thoughts:
    """What a player thinks of an unfinished board (cells,).

    Its own values if it has the method `q_values(boards) -> (B, cells)`. A table without them, such as the moves of a
    certificate, is given its exact expected results against random moves on boards of at most 12 cells; `tabulate` makes
    a table of another policy. Else there are no values.
    """
    board = np.asarray(board)
    free = board == 0
    probs = policy.probs(board[None])[0]
    values, kind = _values(policy, board, rules)
    return Thoughts(
        _on(free, probs),
        None if values is None else _on(free, values),
        kind,
        float(probs[~free].sum()),
    )


def _values(policy: Policy, board: Boards, rules: Rules) -> tuple[NDArray[np.float64] | None, str]:
    own = getattr(policy, "q_values", None)
    if callable(own):
        return own(board[None])[0], OWN
    if isinstance(policy, TabularPolicy) and rules.cells <= EXPECTED_CELLS:
        return action_values(
            SIDES[int(to_move(board) < 0)], policy, RandomPolicy(), rules, board
        ), EXPECTED
    return None, ""


def _on(free: NDArray[np.bool_], numbers: NDArray[np.float64]) -> list[float | None]:
    return [
        float(number) if is_free else None for number, is_free in zip(numbers, free, strict=True)
    ]


# --- what the moves of a game were worth ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What a move was worth to the side that made it.

    before: the position, by its best move. after: the move itself, an illegal one is lost with 1 ply.
    optimal: it kept the value. threw_away: it decided the game, see `losing_move`.
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
    """The ply, from 0, of the move that decided the game: the last one that made things worse for its side.

    Before it that side had more than it got in the end, after it no move of either side changed the result any more.
    None if no move did that: both kept what they had, or a position was resigned that was not lost.
    """
    return _decided(_worths(game), game)


def turning_point(game: Game) -> str:
    """What decided the game, in a sentence."""
    if (resigned := _resigned(game)) is not None:
        side, worth = resigned
        return f"{side} resigned a position that {'was a draw' if worth.value == 0 else 'was won'}"
    worths = _worths(game)
    ply = _decided(worths, game)
    if ply is None:
        return f"no move threw it away: from the first on it was {'a draw' if game.result == 'draw' else f'won by {game.result}'}"
    return f"{SIDES[ply % 2]} threw it away with move {ply + 1}, {cell_text(game.moves[ply], game.rules)}: it {_text(*worths[ply], game, ply)}"


def _worths(game: Game) -> list[tuple[Worth, Worth]]:
    """The worth before and of each move."""
    found = []
    for board, cell in zip(
        game.boards, game.moves, strict=False
    ):  # one more board than legal moves
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
    """Who resigned a position that was not lost, and what it was worth to that side; else None."""
    if game.ended != "resigned":
        return None
    value = truth(game.boards[-1], game.rules).position
    side = SIDES[game.result == "X"]
    worth = value if side == SIDES[len(game.moves) % 2] else Worth(-value.value, value.plies)
    return (side, worth) if worth.value > -1 else None


def _text(before: Worth, after: Worth, game: Game, ply: int) -> str:
    if game.ended == "illegal" and ply == len(game.moves) - 1:
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
            else f"keeps the win, in {after.plies} instead of {before.plies}"
        )
    return "is lost anyway" + (
        f", and loses in {after.plies} instead of {before.plies}"
        if after.plies < before.plies
        else ""
    )
