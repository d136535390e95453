"""The package's objects as JSON values: the fields of the models in `web.answers`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from players.gallery import Entry
from tictactoe_env.analysis import Thoughts, Truth, Verdict, Worth
from tictactoe_env.games import Game
from tictactoe_env.notation import board_text
from tictactoe_env.rules import Rules
from tictactoe_env.standing import Standing


def board_json(rules: Rules) -> dict[str, int]:
    """A board, as requests write it."""
    return asdict(rules)


def standing_json(game: Standing) -> dict[str, Any]:
    """How a game stands."""
    return {
        "board": board_text(game.board, game.rules),
        "turn": game.mover,
        "ended": game.ended,
        "result": game.winner or ("draw" if game.ended else None),
        "line": list(game.line),
    }


def worth_json(worth: Worth | None) -> dict[str, Any] | None:
    """What a move or a position is worth to the side to move."""
    return worth and {"value": worth.value, "plies": worth.plies, "text": worth.text}


def truth_json(found: Truth) -> dict[str, Any]:
    """What is true of a position and of its moves."""
    moves = [worth_json(worth) for worth in found.moves]
    return {"position": worth_json(found.position), "moves": moves, "reason": ""}


def thoughts_json(found: Thoughts, new: bool) -> dict[str, Any]:
    """What a player thinks of each cell; new: whether it says that it has never met the board."""
    return {**asdict(found), "meaning": found.meaning, "new": new}


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """What a move of a finished game was worth."""
    names = ("ply", "cell", "side", "optimal", "threw_away", "text")
    facts = {name: getattr(verdict, name) for name in names}
    return {**facts, "before": worth_json(verdict.before), "after": worth_json(verdict.after)}


def entry_json(entry: Entry) -> dict[str, Any]:
    """An agent, without its certificate."""
    names = ("id", "name", "kind", "agent", "about", "unbeatable", "broken", "boards", "max_cells")
    board = None if entry.rules is None else board_json(entry.rules)
    return {**{name: getattr(entry, name) for name in names}, "board": board}


def game_json(game: Game) -> dict[str, Any]:
    """A game: as the store exports it, and its moves as `cells`."""
    line = game.rules.winning_cells(game.boards[-1]) if game.ended == "line" else ()
    return {**game.as_json(), "cells": list(game.moves), "line": list(line)}
