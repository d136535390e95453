"""The game tree of a player as text: its moves, the replies that it can meet, and their worth."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.games.analysis import analyse
from tictactoe_env.notation import cell_text
from tictactoe_env.policy import Policy
from tictactoe_env.rules import SIDES, Rules, Standing, standing

MAX_LINES = 2_000
LEAST = 0.0005  # smallest probability of a move that is shown: 0.1 %, rounded


def tree_text(policy: Policy, rules: Rules, depth: int, side: str = "both") -> str:
    """The tree up to a depth, one move per line, of a player as X, as O or as "both".

    A move of the player has its probability, and only moves that it makes are followed. Of the
    other side every legal move is followed. On boards of up to 12 cells each move has its exact
    worth. The text ends after MAX_LINES lines, with a sentence.
    """
    lines = list(islice(_lines(policy, standing([], rules), depth, side), MAX_LINES + 1))
    if len(lines) > MAX_LINES:
        lines[-1] = f"... the first {MAX_LINES:,} moves; a smaller depth shows all of it"
    return "\n".join(lines)


def _lines(policy: Policy, now: Standing, depth: int, side: str) -> Iterator[str]:
    rules, board, ply = now.rules, now.board, len(now.moves)
    if now.mover is None or ply == depth:
        return
    ours = side in ("both", now.mover)
    probs = policy.probs(board[None])[0] if ours else rules.legal_cells(board)
    worth = analyse(board, rules).moves if rules.cells <= TABULATED else [None] * rules.cells
    for cell in np.flatnonzero(probs >= LEAST).tolist():
        share, exact = f"{100 * probs[cell]:.1f} %" if ours else "", worth[cell]
        about = "is taken: it loses" if board[cell] else exact.text if exact else ""
        move = f"{'  ' * ply}{ply + 1}. {SIDES[ply % 2]} {cell_text(cell, rules)}"
        yield f"{move}{share:>9}   {about}".rstrip()
        yield from _lines(policy, standing([*now.moves, cell], rules), depth, side)
