"""The trained agents in this package: for each a table of its moves on 3x3, and its certificate.

    make_opponent("trie", Rules())      # plays by the table; needs NumPy only
    certificate_of("trie")              # its certificate, which `certificate.verify` checks again
    valued_policy("trie")               # the policy with the player's own values of the moves

A table is a file `tables/NAME.json.gz`: the certificate of a training run with its moves as a list,
in the order of `Positions.unfinished`, without the positions.

The own values of a player are in `tables/NAME.npz`, rounded to 1/1,024 of their scale. If they are
the same up to symmetry, only those of the 627 canonical positions are there.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.certificates.certificate import table_of
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.notation import board_text
from tictactoe_env.rules import Rules
from tictactoe_env.trained.own_values import OwnValues, ValuedPolicy, own_in

FOLDER = Path(__file__).parent / "tables"
BOARD = Rules(3, 3, 3)
TABLE, VALUES = ".json.gz", ".npz"
STEPS = 1024  # of the scale, to which own values are rounded
NO_VALUE = np.iinfo(np.int16).min


@cache
def trained_names() -> tuple[str, ...]:
    """The names of the trained agents in this package, sorted."""
    return tuple(sorted(path.name.removesuffix(TABLE) for path in FOLDER.glob(f"*{TABLE}")))


@cache
def trained_policy(name: str) -> TabularPolicy:
    """The policy of a name in `trained_names()`; it plays on 3x3."""
    return table_of(certificate_of(name))


@cache
def valued_policy(name: str) -> TabularPolicy:
    """The policy with the player's own values; without them if it has none."""
    policy, path = trained_policy(name), FOLDER / f"{name}{VALUES}"
    if not path.exists():
        return policy
    return ValuedPolicy(BOARD, policy.table, unpack_values(path.read_bytes()))


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


def unpack_values(data: bytes) -> OwnValues:
    """The values of a file: see above."""
    own, _ = own_in(data, BOARD)
    rows, cells, canonical = canonical_rows()
    numbers = own.values
    if len(numbers) == len(rows):
        numbers = np.empty(cells.shape, dtype=np.int16)
        np.put_along_axis(numbers, cells, own.values[canonical], axis=1)
    unit = (own.high - own.low) / STEPS
    return own._replace(values=np.where(numbers == NO_VALUE, np.nan, numbers * unit))


def canonical_rows() -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """The unfinished positions and their canonical forms.

    Of the unfinished positions those that are canonical: (627,); the permutation of each to its
    canonical form: (4520, cells); and the index of that form in the first array: (4520,).
    """
    positions = positions_of(BOARD)
    unfinished = positions.unfinished
    forms, index = np.unique(positions.canonical[unfinished], return_inverse=True)
    permutations = positions.symmetries[positions.to_canonical[unfinished]]
    return np.searchsorted(unfinished, forms), permutations, index


def _file(name: str) -> dict[str, Any]:
    return dict(json.loads(gzip.decompress((FOLDER / f"{name}{TABLE}").read_bytes())))


@cache
def table_boards() -> list[str]:
    """The unfinished positions as text."""
    positions = positions_of(BOARD)
    return [board_text(board, BOARD) for board in positions.boards[positions.unfinished]]
