"""The game tree of a player as text: its moves, the replies that it can meet, and their worth."""

from __future__ import annotations

from typing import Any

from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.games.analysis import truth
from tictactoe_env.notation import cell_text
from tictactoe_env.policy import Policy
from tictactoe_env.rules import SIDES, Rules, Standing, standing

MAX_LINES = 2_000
LEAST = 0.0005  # smallest probability of a move that is shown: 0.1 %, rounded


def trie_text(trie: Any, depth: int) -> str:
    """The games in a trie up to a depth, one node per line: its move, and their results."""
    reached = sum(visits > 0 for visits in trie.visits)
    lines = [
        f"{trie.visits[0]:,} games, {len(trie.edges):,} sequences of moves, "
        f"{reached:,} positions of {len(trie.visits):,}"
    ]
    waiting = [(0, 0, "")]
    while waiting:
        node, ply, move = waiting.pop()
        if node:
            x, drawn, o = trie.results[node]
            ended = f"X won {x:,}, drawn {drawn:,}, O won {o:,}"
            lines.append(f"{'  ' * (ply - 1)}{ply}. {SIDES[(ply - 1) % 2]} {move}   {ended}")
        for cell in reversed(range(trie.cells)) if ply < depth else ():
            if (child := trie.after_move(node, cell)) >= 0:
                waiting.append((child, ply + 1, cell_text(cell, trie.config.rules)))
    return "\n".join(lines)


def tree_text(policy: Policy, rules: Rules, depth: int, side: str = "both") -> str:
    """The tree up to a depth, one move per line, of a player as X, as O or as "both".

    A move of the player has its probability, and only moves that it makes are followed. Of the
    other side every legal move is followed. On boards of up to 12 cells each move has its exact
    worth. The text ends after MAX_LINES lines, with a sentence.
    """
    lines: list[str] = []
    waiting: list[tuple[list[int], str]] = [([], "")]
    while waiting:
        moves, line = waiting.pop()
        if line:
            lines.append(line)
        if len(lines) == MAX_LINES:
            lines.append(f"... the first {MAX_LINES:,} moves; a smaller depth shows all of it")
            break
        now = standing(moves, rules)
        if now.mover is not None and len(moves) < depth:
            ours = side in ("both", now.mover)
            waiting += _moves(policy if ours else None, now)[::-1]
    return "\n".join(lines)


def _moves(policy: Policy | None, now: Standing) -> list[tuple[list[int], str]]:
    """The games that are one move longer, in the order of the cells, each with its line.

    policy: who moves; None for the other side, which may make any legal move.
    """
    rules, board, before = now.rules, now.board, list(now.moves)
    probs = None if policy is None else policy.probs(board[None])[0]
    worth = truth(board, rules).moves if rules.cells <= TABULATED else [None] * rules.cells
    found = []
    for cell in range(rules.cells):
        is_legal, exact = board[cell] == 0, worth[cell]
        if not is_legal if probs is None else probs[cell] < LEAST:
            continue
        share = "" if probs is None else f"{100 * probs[cell]:.1f} %"
        about = "is taken: it loses" if not is_legal else exact.text if exact else ""
        ply, place = len(before) + 1, cell_text(cell, rules)
        line = f"{'  ' * (ply - 1)}{ply}. {now.mover} {place}{share:>9}   {about}"
        found.append(([*before, cell], line.rstrip()))
    return found
