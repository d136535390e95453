"""The move that decided a game: what would have been better, and what punishes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tictactoe_env.games.analysis import Verdict, truth
from tictactoe_env.games.game import Game


def decisive(game: Game, verdicts: Sequence[Verdict]) -> dict[str, Any] | None:
    """The values of `apps.web.answers.Decisive`; None if no move decided the game."""
    found = next((verdict for verdict in verdicts if verdict.threw_away), None)
    if found is None:
        return None
    boards, rules = game.boards, game.rules
    kept = truth(boards[found.ply], rules).moves
    better = [cell for cell, one in enumerate(kept) if one and one.value == found.before.value]
    replies: list[int] = []
    if game.ended != "illegal" or found.ply < len(game.moves) - 1:
        position, moves = truth(boards[found.ply + 1], rules)
        replies = [cell for cell, one in enumerate(moves) if one == position]
    return {"ply": found.ply, "better": better, "replies": replies}
