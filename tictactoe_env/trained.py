"""The trained agents in this package: for each a table of its moves on 3x3, and its certificate.

    make_opponent("trie", Rules())      # plays by the table; needs NumPy only
    certificate_of("trie")              # its certificate, which `certificate.verify` checks again

A table is a file `tables/NAME.json`: the certificate of a training run in which the moves are
packed into a text, one letter for each unfinished position, in the order of `Positions.unfinished`:
"a" for cell 0, "b" for cell 1, and "?" where the player has several moves. These stand in `mixed`:
equally likely ones as a number with bit i set for cell i, others as {move: probability}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tictactoe_env.notation import board_text, cell_text, parse_cell
from tictactoe_env.policy import TabularPolicy
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules

FOLDER = Path(__file__).parent / "tables"
BOARD = Rules(3, 3, 3)
SEVERAL = "?"
FIRST = ord("a")  # the letter of cell 0


@cache
def trained_names() -> tuple[str, ...]:
    """The names of the trained agents in this package, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


@cache
def trained_policy(name: str) -> TabularPolicy:
    """The policy of a name in `trained_names()`; it plays on 3x3."""
    packed = _file(name)
    letters = np.frombuffer(packed["moves"].encode(), dtype=np.uint8).astype(np.intp)
    table = np.zeros((len(letters), BOARD.cells))
    sure = np.flatnonzero(letters != ord(SEVERAL))
    table[sure, letters[sure] - FIRST] = 1
    for row, moves in zip(np.flatnonzero(letters == ord(SEVERAL)), packed["mixed"], strict=True):
        for move, share in _shares(moves).items():
            table[row, parse_cell(move, BOARD)] = share
    return TabularPolicy(BOARD, table)


@cache
def _facts(name: str) -> dict[str, Any]:
    return {key: value for key, value in _file(name).items() if key not in ("moves", "mixed")}


def facts_of(name: str) -> Mapping[str, Any]:
    """What the certificate of a trained agent states, without the moves."""
    return _facts(name)


def certificate_of(name: str) -> dict[str, Any]:
    """The certificate of a trained agent, as `certificate.read` gives that of a run."""
    return unpack(_file(name))


def pack(content: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate with its moves packed. Raises ValueError for one of another board than 3x3."""
    if dict(content["board"]) != {"rows": 3, "cols": 3, "k": 3}:
        raise ValueError(f"a table is packed for 3x3, 3 in a row, got {content['board']}")
    letters, mixed = [], []
    for text in _boards():
        move = content["moves"][text]
        if isinstance(move, Mapping):
            letters.append(SEVERAL)
            mixed.append(_packed(move))
        else:
            letters.append(chr(FIRST + parse_cell(move, BOARD)))
    return {**content, "moves": "".join(letters), "mixed": mixed}


def unpack(packed: Mapping[str, Any]) -> dict[str, Any]:
    """The certificate that `pack` packed."""
    mixed = iter(packed["mixed"])
    names = {chr(FIRST + cell): cell_text(cell, BOARD) for cell in range(BOARD.cells)}
    moves = {
        text: _shares(next(mixed)) if letter == SEVERAL else names[letter]
        for text, letter in zip(_boards(), packed["moves"], strict=True)
    }
    return {**{key: value for key, value in packed.items() if key != "mixed"}, "moves": moves}


def _packed(moves: Mapping[str, float]) -> int | Mapping[str, float]:
    """Probabilities of moves as they stand in `mixed`."""
    are_equal = set(moves.values()) == {1 / len(moves)}
    return sum(1 << parse_cell(move, BOARD) for move in moves) if are_equal else moves


def _shares(packed: int | Mapping[str, float]) -> Mapping[str, float]:
    """The probabilities that `_packed` packed."""
    if not isinstance(packed, int):
        return packed
    cells = [cell for cell in range(BOARD.cells) if packed >> cell & 1]
    return {cell_text(cell, BOARD): 1 / len(cells) for cell in cells}


def _file(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


@cache
def _boards() -> list[str]:
    """The unfinished positions as text."""
    positions = positions_of(BOARD)
    return [board_text(board, BOARD) for board in positions.boards[positions.unfinished]]
