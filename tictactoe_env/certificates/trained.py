"""The players in this package that play by a certificate: for each its moves on a board.

    make_opponent("trie", Rules())      # plays by these moves; needs NumPy only
    certificate_of("trie")              # its certificate, which `certificate.verify` checks again

For 3x3 the file is `NAME.json.gz` in `trained/tables`: the certificate of a training run with its
moves as a list, in the order of `Positions.unfinished`, without the positions. For a larger board
it is the certificate itself, such as `NAME-4x4x4.json`. All are of trained agents, except for
`connect-four-x`, whose moves were computed: see `training.strategy`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tictactoe_env.called import CALLED, agent_called
from tictactoe_env.certificates.certificate import policy_in, read, rows_by_text
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.reach import ReachPolicy
from tictactoe_env.errors import unknown_name
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.notation import parse_size, rules_text
from tictactoe_env.rules import Rules

FOLDER = Path(__file__).parents[1] / "trained" / "tables"
BOARD = Rules(3, 3, 3)
TABLE = ".json.gz"


@cache
def trained_names(rules: Rules | None = BOARD) -> tuple[str, ...]:
    """The names of the trained agents in this package that play on a board, or on any, sorted."""
    return tuple(name for name, boards in _boards().items() if rules is None or rules in boards)


def boards_of(name: str) -> str:
    """The boards on which a trained agent plays, in words: "3x3 and 4x4, 4 in a row"."""
    return " and ".join(map(str, _boards_of(name)))


def home_of(name: str) -> Rules:
    """The board of a trained agent: 3x3 if it plays there."""
    return _boards_of(name)[0]


def check_board(name: str, rules: Rules) -> None:
    """Raise ValueError for an unknown agent, and for a board on which it does not play."""
    if rules not in _boards_of(name):
        boards = boards_of(name)
        raise ValueError(f"{name} plays on {boards}, not on {rules}: name another player")


def _boards_of(name: str) -> tuple[Rules, ...]:
    boards = _boards().get(agent_called(name))
    if boards is None:
        raise unknown_name("trained agent", name, {*_boards(), *CALLED})
    return boards


@cache
def _boards() -> dict[str, tuple[Rules, ...]]:
    """The boards of each trained agent, 3x3 first."""
    found: dict[str, tuple[Rules, ...]] = {}
    for path in sorted(FOLDER.iterdir(), key=lambda path: (not path.name.endswith(TABLE), path)):
        name = path.name.removesuffix(TABLE)
        rules = BOARD
        if larger := re.fullmatch(r"(.+?)-([0-9]+x.+)\.json", path.name):
            name = larger[1]
            rules = parse_size(larger[2])
        found[name] = (*found.get(name, ()), rules)
    return dict(sorted(found.items()))


@cache
def trained_policy(name: str, rules: Rules | None = None) -> TabularPolicy | ReachPolicy:
    """The policy of a trained agent; the arguments and the errors are those of `certificate_of`."""
    return policy_in(certificate_of(name, rules))


@cache
def facts_of(name: str, rules: Rules | None = None) -> Certificate:
    """The certificate of a trained agent, on 3x3 without the moves; rules: see `certificate_of`."""
    if (rules or home_of(name)) != BOARD:
        return certificate_of(name, rules)
    return Certificate.from_json({**_file(name), "moves": {}})


def certificate_of(name: str, rules: Rules | None = None) -> Certificate:
    """The certificate of a trained agent on a board, by default on its `home_of`.

    name: one of `trained_names(rules)`, or one that people call it, such as "gambler". Raises
    ValueError for an unknown name, and for a board on which the agent does not play.
    """
    rules = rules or home_of(name)
    check_board(name, rules)
    if rules == BOARD:
        return unpack(_file(name))
    return read(file_of(name, rules))


def file_of(name: str, rules: Rules) -> Path:
    """The file of a trained agent on a board."""
    return FOLDER / f"{agent_called(name)}{ending(rules)}"


def ending(rules: Rules) -> str:
    """The end of the names of a board's files."""
    return TABLE if rules == BOARD else f"-{rules_text(rules)}.json"


def unpack(packed: Mapping[str, Any]) -> Certificate:
    """The certificate whose moves are a list."""
    moves = dict(zip(table_boards(), packed["moves"], strict=True))
    return Certificate.from_json({**packed, "moves": moves})


def _file(name: str) -> dict[str, Any]:
    return dict(json.loads(gzip.decompress(file_of(name, BOARD).read_bytes())))


def table_boards() -> list[str]:
    """The unfinished positions as text."""
    return [*rows_by_text(BOARD)]
