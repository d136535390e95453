"""A table of moves as JSON values, so that the spec of an environment can hold any opponent.

{"board": {"rows": 3, "cols": 3, "k": 3}, "table": "eJzt3TGKFE..."}

`table` is the table (U, cells) of a `TabularPolicy`: float64, little-endian, row by row, compressed
by zlib, in base64. It is restored bit for bit.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from tictactoe_env.policy import TabularPolicy
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules

KEYS = {"board", "table"}
NUMBER = np.dtype("<f8")


def is_table(value: Any) -> bool:
    """Whether a JSON value looks like a table rather than like a pool."""
    return isinstance(value, Mapping) and "table" in value


def table_to_json(policy: TabularPolicy) -> dict[str, Any]:
    """The JSON values of a table. A deterministic one of 3x3 takes about 5 kB."""
    rules, data = policy.rules, policy.table.astype(NUMBER).tobytes()
    board = {"rows": rules.rows, "cols": rules.cols, "k": rules.k}
    return {"board": board, "table": base64.b64encode(zlib.compress(data)).decode()}


def table_from_json(value: Mapping[str, Any], rules: Rules) -> TabularPolicy:
    """The policy of a table for the board `rules`.

    Raises ValueError if it is a table of another board, or damaged.
    """
    if set(value) != KEYS or not isinstance(value["table"], str):
        raise ValueError(
            "a table must be a mapping with the keys board and table (a text), as the spec of an "
            f"environment holds it, got the keys {', '.join(map(str, value))}"
        )
    board = {"rows": rules.rows, "cols": rules.cols, "k": rules.k}
    if value["board"] != board:
        raise ValueError(f"this table plays on {value['board']}, not on {board}")
    shape = (len(positions_of(rules).unfinished), rules.cells)
    size = shape[0] * shape[1] * NUMBER.itemsize
    try:
        packed = zlib.decompressobj()
        data = packed.decompress(base64.b64decode(value["table"], validate=True), size + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"this table is damaged: {error}") from None
    if len(data) != size or not packed.eof:
        raise ValueError(f"this table is damaged: its numbers must take {size} bytes")
    return TabularPolicy(rules, np.frombuffer(data, NUMBER).reshape(shape))
