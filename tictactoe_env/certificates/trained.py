"""The trained agents in this package: for each its moves on a board, and its certificate.

    make_opponent("trie", Rules())      # plays by these moves; needs NumPy only
    certificate_of("trie")              # its certificate, which `certificate.verify` checks again

For 3x3 the file is `NAME.json.gz` in `trained/tables`: the certificate of a training run with its
moves as a list, in the order of `Positions.unfinished`, without the positions. For a larger board
it is the certificate itself, such as `NAME-4x4x4.json`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tictactoe_env.certificates.certificate import policy_in, read, rows_by_text
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.reach import ReachPolicy
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.notation import rules_text
from tictactoe_env.rules import Rules

FOLDER = Path(__file__).parents[1] / "trained" / "tables"
BOARD = Rules(3, 3, 3)
TABLE = ".json.gz"


@cache
def trained_names(rules: Rules = BOARD) -> tuple[str, ...]:
    """The names of the trained agents in this package that play on a board, sorted."""
    end = ending(rules)
    return tuple(sorted(path.name.removesuffix(end) for path in FOLDER.glob(f"*{end}")))


def boards_of(name: str) -> str:
    """The boards on which a trained agent plays, in words: "3x3 and 4x4x4"."""
    larger = sorted(path.stem.removeprefix(f"{name}-") for path in FOLDER.glob(f"{name}-*.json"))
    return " and ".join(["3x3", *larger])


@cache
def trained_policy(name: str, rules: Rules = BOARD) -> TabularPolicy | ReachPolicy:
    """The policy of a name in `trained_names(rules)`."""
    return policy_in(certificate_of(name, rules))


@cache
def facts_of(name: str, rules: Rules = BOARD) -> Certificate:
    """The certificate of a trained agent, on 3x3 without the moves."""
    if rules != BOARD:
        return certificate_of(name, rules)
    return Certificate.from_json({**_file(name), "moves": {}})


def certificate_of(name: str, rules: Rules = BOARD) -> Certificate:
    """The certificate of a trained agent on a board."""
    if rules == BOARD:
        return unpack(_file(name))
    return read(FOLDER / f"{name}{ending(rules)}")


def ending(rules: Rules) -> str:
    """The end of the names of a board's files."""
    return TABLE if rules == BOARD else f"-{rules_text(rules)}.json"


def unpack(packed: Mapping[str, Any]) -> Certificate:
    """The certificate whose moves are a list."""
    moves = dict(zip(table_boards(), packed["moves"], strict=True))
    return Certificate.from_json({**packed, "moves": moves})


def _file(name: str) -> dict[str, Any]:
    return dict(json.loads(gzip.decompress((FOLDER / f"{name}{TABLE}").read_bytes())))


def table_boards() -> list[str]:
    """The unfinished positions as text."""
    return [*rows_by_text(BOARD)]
