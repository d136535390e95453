"""The trained agents in this package: for each a table of its moves on 3x3, and its certificate.

    make_opponent("trie", Rules())      # plays by the table; needs NumPy only
    certificate_of("trie")              # its certificate, which `certificate.verify` checks again

A table is a file `tables/NAME.json.gz`: the certificate of a training run with its moves as a list,
in the order of `Positions.unfinished`, without the positions.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tictactoe_env.certificates.certificate import table_of
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.notation import board_text
from tictactoe_env.rules import Rules

FOLDER = Path(__file__).parent / "tables"
BOARD = Rules(3, 3, 3)
TABLE = ".json.gz"


@cache
def trained_names() -> tuple[str, ...]:
    """The names of the trained agents in this package, sorted."""
    return tuple(sorted(path.name.removesuffix(TABLE) for path in FOLDER.glob(f"*{TABLE}")))


@cache
def trained_policy(name: str) -> TabularPolicy:
    """The policy of a name in `trained_names()`; it plays on 3x3."""
    return table_of(certificate_of(name))


@cache
def facts_of(name: str) -> Certificate:
    """The certificate of a trained agent without the moves."""
    return Certificate.from_json({**_file(name), "moves": {}})


def certificate_of(name: str) -> Certificate:
    """The certificate of a trained agent."""
    return unpack(_file(name))


def unpack(packed: Mapping[str, Any]) -> Certificate:
    """The certificate whose moves are a list."""
    moves = dict(zip(table_boards(), packed["moves"], strict=True))
    return Certificate.from_json({**packed, "moves": moves})


def _file(name: str) -> dict[str, Any]:
    return dict(json.loads(gzip.decompress((FOLDER / f"{name}{TABLE}").read_bytes())))


@cache
def table_boards() -> list[str]:
    """The unfinished positions as text."""
    positions = positions_of(BOARD)
    return [board_text(board, BOARD) for board in positions.boards[positions.unfinished]]
