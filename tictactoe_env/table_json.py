"""A table of moves as JSON values, so that the spec of an environment can hold any opponent.

    {"board": {"rows": 3, "cols": 3, "k": 3}, "kind": "moves", "table": "eJzt3TGKFE..."}

`table` holds one row for each unfinished position, in the order of `Positions.unfinished`,
compressed by zlib, in base64. A row of the kind "moves" is the cell that is played, uint8; a row of
the kind "probs" the probabilities (cells,) float64, little-endian. Both are restored bit for bit.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.rules import Rules

KEYS = {"board", "kind", "table"}
NUMBERS: dict[str, np.dtype[Any]] = {"moves": np.dtype(np.uint8), "probs": np.dtype("<f8")}


def is_table(value: Any) -> bool:
    """Whether a JSON value looks like a table rather than like a pool."""
    return isinstance(value, Mapping) and "table" in value


@lru_cache(maxsize=16)  # environments with the same opponent do not pack it again
def table_to_json(policy: TabularPolicy) -> Mapping[str, Any]:
    """The JSON values of a table. On 3x3 moves take about 2 kB, probabilities up to 200 kB."""
    moves = policy.table.argmax(axis=1)
    is_deterministic = bool((policy.table[np.arange(len(moves)), moves] == 1).all())
    kind = "moves" if is_deterministic else "probs"
    rows: NDArray[Any] = moves if is_deterministic else policy.table
    packed = zlib.compress(rows.astype(NUMBERS[kind]).tobytes(), level=1)
    table = base64.b64encode(packed).decode()
    return {"board": _board(policy.rules), "kind": kind, "table": table}


def table_from_json(value: Mapping[str, Any], rules: Rules) -> TabularPolicy:
    """The policy of a table for the board `rules`.

    Raises ValueError if it is a table of another board, or damaged.
    """
    if set(value) != KEYS or not isinstance(value["table"], str) or value["kind"] not in NUMBERS:
        raise ValueError(
            "a table must be a mapping with the keys board, kind (moves or probs) and table (a "
            "text), as the spec of an environment holds it, got the keys "
            f"{', '.join(map(str, value))}"
        )
    if value["board"] != _board(rules):
        raise ValueError(f"this table plays on {value['board']}, not on {_board(rules)}")
    is_deterministic, number = value["kind"] == "moves", NUMBERS[value["kind"]]
    count = len(positions_of(rules).unfinished)
    size = count * number.itemsize * (1 if is_deterministic else rules.cells)
    try:
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(base64.b64decode(value["table"], validate=True), size + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"this table is damaged: {error}") from None
    if len(data) != size or not unpacking.eof:
        raise ValueError(f"this table is damaged: its numbers must take {size} bytes")
    rows = np.frombuffer(data, number)
    if not is_deterministic:
        return TabularPolicy(rules, rows.reshape(count, rules.cells))
    if rows.max() >= rules.cells:
        raise ValueError(f"this table is damaged: {rows.max()} is no cell of {rules}")
    return TabularPolicy(rules, one_hot(rows.astype(np.intp), rules.cells))


def _board(rules: Rules) -> dict[str, int]:
    return {"rows": rules.rows, "cols": rules.cols, "k": rules.k}
