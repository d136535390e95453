"""A player's own values of the moves, as a table that is stored beside its certificate.

    write_values(OwnValues(values, "expected reward: win 1, draw 0, loss -1"), digest, path)
    policy = read_values(path, load_policy(run), digest)
    policy.q_values(boards), policy.meaning, policy.scale

What a network or a tree thinks of each move can be shown without loading it: a table with a row for
each unfinished position is enough. The file is a NumPy archive (`allow_pickle=False`). It names the
sha256 of the certificate's moves that it belongs to. On 3x3 it has about 20 kB.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.files import read_file, write_file
from tictactoe_env.rules import Boards, Rules

FILE = "values.npz"
FORMAT = 1
MAX_TEXT = 300  # characters of a meaning
MAX_BYTES = 64 << 20  # of a file
HELP = "delete the file to play without these values, or train the run again"


class OwnValues(NamedTuple):
    """The values of the moves in all unfinished positions, and what they are.

    values: (U, cells), for the side to move; a move without a value has NaN or an infinity.
    meaning: what the numbers are, in words, such as "expected reward: win 1, draw 0, loss -1".
    low, high: the values of a sure loss and of a sure win.
    known: (U,) bool, whether the position came up in training; None if the player does not know.
    """

    values: NDArray[Any]
    meaning: str
    low: float = -1.0
    high: float = 1.0
    known: NDArray[np.bool_] | None = None


class ValuesFileError(ValueError):
    """A file of values that is damaged, or does not belong to the certificate beside it."""


class ValuedPolicy(TabularPolicy):
    """A policy as a table, with the player's own values of the moves.

    own: its values are kept as float32, with NaN on taken cells. Raises ValueError for another
    shape, a scale without extent, or a meaning that is not a line of text.
    """

    def __init__(self, rules: Rules, table: Any, own: OwnValues):
        super().__init__(rules, table)
        self.own = checked(own, rules)
        self.meaning, self.scale = self.own.meaning, (self.own.low, self.own.high)

    @property
    def values(self) -> NDArray[np.float32]:
        """The values of the moves in the unfinished positions: (U, cells), NaN without one."""
        return self.own.values

    def q_values(self, boards: Boards) -> NDArray[np.float32]:
        """The values of the moves (B, cells) on unfinished boards (B, cells), NaN without one."""
        return self.values[self._at(boards)]

    def is_new(self, boards: Boards) -> NDArray[np.bool_]:
        """Whether each board (B,) never came up in training; False if that is not known."""
        at, known = self._at(boards), self.own.known
        return np.zeros(len(at), dtype=bool) if known is None else ~known[at]

    def _at(self, boards: Boards) -> NDArray[np.intp]:
        self.probs(boards)  # ValueError for finished and impossible boards
        positions = positions_of(self.rules)
        return np.searchsorted(positions.unfinished, positions.rows(boards))


def checked(own: OwnValues, rules: Rules) -> OwnValues:
    """Values as float32 with NaN on taken cells and for infinities. ValueError if they are none."""
    positions = positions_of(rules)
    boards, values = positions.boards[positions.unfinished], np.asarray(own.values)
    if values.shape != boards.shape:
        raise ValueError(f"values must have the shape {boards.shape}, got {values.shape}")
    if own.known is not None and own.known.shape != values.shape[:1]:
        raise ValueError(f"known must have the shape {values.shape[:1]}, got {own.known.shape}")
    if not (np.isfinite([own.low, own.high]).all() and own.low < own.high):
        raise ValueError(f"the scale must be two finite numbers, got {own.low} to {own.high}")
    if not (0 < len(own.meaning) <= MAX_TEXT and own.meaning.isprintable()):
        raise ValueError(f"the meaning must be a line of at most {MAX_TEXT} characters")
    kept = np.where(np.isfinite(values) & (boards == 0), values, np.nan).astype(np.float32)
    kept.setflags(write=False)
    return own._replace(values=kept)


def write_values(own: OwnValues, sha256_of_moves: str, path: str | os.PathLike[str]) -> None:
    """Write checked values. After a crash the file is the old one or the new one.

    sha256_of_moves: that of the certificate to which they belong. The same values give the same
    bytes.
    """
    about = {
        **{"format": FORMAT, "meaning": own.meaning, "low": own.low, "high": own.high},
        "sha256_of_moves": sha256_of_moves,
    }
    known = np.zeros(0, dtype=bool) if own.known is None else own.known
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    bits = np.packbits(known)
    write_file(
        Path(path),
        lambda file: np.savez_compressed(file, values=own.values, known=bits, about=text),
    )


def read_values(
    path: str | os.PathLike[str], table: TabularPolicy, sha256_of_moves: Any
) -> ValuedPolicy:
    """The policy of a certificate with its own values, from the file beside it.

    Raises FileNotFoundError, and ValuesFileError for a damaged file and for the values of other
    moves.
    """
    data = read_file(path, MAX_BYTES, ValuesFileError)
    try:
        own, about = own_in(data, table.rules)
        policy = ValuedPolicy(table.rules, table.table, own)
        is_of_table = (about["format"], about["sha256_of_moves"]) == (FORMAT, sha256_of_moves)
    except Exception as error:  # an archive may be damaged in many ways
        raise ValuesFileError(f"{path} is damaged: {printable(repr(error)):.200}; {HELP}") from None
    if not is_of_table:
        raise ValuesFileError(f"{path} belongs to other moves than its certificate; {HELP}")
    return policy


def own_in(data: bytes, rules: Rules) -> tuple[OwnValues, dict[str, Any]]:
    """The values of a file as they stand in it, and all that it says of them."""
    with np.load(io.BytesIO(data), allow_pickle=False) as content:
        values, bits, text = (content[name] for name in ("values", "known", "about"))
    about = json.loads(text.tobytes())
    rows = len(positions_of(rules).unfinished)
    known = np.unpackbits(bits)[:rows].astype(bool) if len(bits) else None
    return OwnValues(values, about["meaning"], about["low"], about["high"], known), about
