"""The own values of the trained agents that come with the package.

    valued_policy("trie").q_values(boards)

They are in `tables/NAME.npz`, rounded to 1/1,024 of their scale. If they are the same up to
symmetry, only those of the 627 canonical positions are there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.certificates.certificate import table_of
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.trained.packed import BOARD, certificate_of
from training.values import OwnValues, ValuedPolicy, own_in

FOLDER = Path(__file__).parent / "tables"
VALUES = ".npz"
STEPS = 1024  # of the scale, to which own values are rounded
NO_VALUE = np.iinfo(np.int16).min


@cache
def valued_policy(name: str) -> TabularPolicy:
    """The policy with the player's own values; without them if it has none."""
    policy, path = table_of(certificate_of(name)), FOLDER / f"{name}{VALUES}"
    if not path.exists():
        return policy
    return ValuedPolicy(BOARD, policy.table, unpack_values(path.read_bytes()))


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
