"""Players that choose the move with the highest value, and the file of a player's own values.

    write_values(OwnValues(values, "expected reward: win 1, draw 0, loss -1"), digest, path)
    policy = read_values(path, load_policy(run), digest)

The file names the sha256 of the certificate's moves that it belongs to. On 3x3 it has about 20 kB.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.files import read_file, write_file
from tictactoe_env.policy import one_hot
from tictactoe_env.rules import Boards, Rules
from tictactoe_env.trained.own_values import OwnValues, ValuedPolicy, checked, own_in

FILE = "values.npz"
MEANING = "its own value of each move"  # of values that say no more
FORMAT = 1
MAX_BYTES = 64 << 20  # of a file


class ValuedTable(TabularPolicy):
    """The policy that makes the move with the highest value; among equal ones, the lowest cell.

    values: (U, cells) floats, the values of the moves in the unfinished positions, for the side to
    move. They are -inf for illegal moves, unless the player does not know the rules.
    worth: what they are, in words, and the values of a sure loss and of a sure win.
    """

    moves_by_values = True

    def __init__(
        self,
        rules: Rules,
        values: NDArray[np.floating[Any]],
        worth: tuple[str, float, float] = (MEANING, -1.0, 1.0),
    ):
        super().__init__(rules, one_hot(values.argmax(axis=1), rules.cells))
        self.values, self.worth = values, worth

    @property
    def own(self) -> OwnValues:
        """Its own values, as they are stored beside a certificate."""
        return OwnValues(self.values, *self.worth)

    def q_values(self, boards: Boards) -> NDArray[np.floating[Any]]:
        """The values of the moves (B, cells) on unfinished boards (B, cells).

        Raises ValueError for finished or impossible boards.
        """
        self.probs(boards)
        positions = positions_of(self.rules)
        return self.values[np.searchsorted(positions.unfinished, positions.rows(boards))]


def own_values_of(player: Any) -> OwnValues | None:
    """The values that the player of a model gives the moves of all unfinished positions, or None.

    They are its `own`: those of a `ValuedTable` or of a `ValuedPolicy`.
    """
    own = getattr(player, "own", None)
    return None if own is None else checked(own, player.rules)


def reward_scale(rewards: Sequence[float], discount: float = 1.0) -> tuple[str, float, float]:
    """What such values are, in words, and those of a sure loss and of a sure win."""
    names = zip(("win", "draw", "loss"), rewards, strict=True)
    meaning = f"expected reward: {', '.join(f'{name} {reward:g}' for name, reward in names)}"
    if discount != 1:
        meaning += f", times {discount:g} for each later move of its own"
    low, high = min(rewards), max(rewards)
    return meaning, low, high if high > low else low + 1


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

    Raises FileNotFoundError, and ValueError for a damaged file and for the values of other
    moves.
    """
    data = read_file(path, MAX_BYTES)
    try:
        own, about = own_in(data, table.rules)
        policy = ValuedPolicy(table.rules, table.table, own)
        if (about["format"], about["sha256_of_moves"]) != (FORMAT, sha256_of_moves):
            raise ValueError("it belongs to other moves than its certificate")
    except Exception as error:  # an archive may be damaged in many ways
        raise ValueError(
            f"{path} cannot be used: {error!r:.200}; delete it to play without these values, or "
            "train the run again"
        ) from None
    return policy
