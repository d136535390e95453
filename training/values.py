"""Players that choose the move with the highest value, and the file of a player's own values.

    write_values(OwnValues(values, reward_scale((1, 0, -1))), digest, path)
    policy = read_values(path, load_policy(run), digest)

The file names the sha256 of the certificate's moves that it belongs to. On 3x3 it has about 20 kB.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.files import write_file
from tictactoe_env.policy import Probs, one_hot
from tictactoe_env.rules import Boards, Rules

FILE = "values.npz"
FORMAT = 1


class Scale(NamedTuple):
    """The scale of a player's values.

    meaning: what the numbers are, in words, such as "expected reward: win 1, draw 0, loss -1".
    low, high: the values of a sure loss and of a sure win.
    """

    meaning: str
    low: float = -1.0
    high: float = 1.0


MEANING = "its own value of each move"  # of values that say no more
UNNAMED = Scale(MEANING)


class OwnValues(NamedTuple):
    """The values of the moves in all unfinished positions, with their scale.

    values: (U, cells), for the side to move; a move without a value has NaN or an infinity.
    known: (U,) bool, whether the position came up in training; None if the player did not note it.
    """

    values: NDArray[Any]
    scale: Scale
    known: NDArray[np.bool_] | None = None


class ValuedPolicy(TabularPolicy):
    """A policy as a table, with the player's own values of the moves.

    own: its values are kept as float32, with NaN where illegal. Raises ValueError for another
    shape.
    """

    def __init__(self, rules: Rules, table: Any, own: OwnValues):
        super().__init__(rules, table)
        self.own = checked(own, rules)
        self.meaning = own.scale.meaning
        self.scale = (own.scale.low, own.scale.high)

    def q_values(self, boards: Boards) -> NDArray[np.float32]:
        """The values of the moves (B, cells) on unfinished boards (B, cells), NaN without one."""
        return self.own.values[self._at(boards)]

    def is_new(self, boards: Boards) -> NDArray[np.bool_]:
        """True where a board (B,) never came up in training; False if that isn't known."""
        rows = self._at(boards)
        if self.own.known is None:
            return np.zeros(len(rows), dtype=bool)
        return ~self.own.known[rows]

    def _at(self, boards: Boards) -> NDArray[np.intp]:
        """The rows (B,) of unfinished boards in the values."""
        self.probs(boards)  # ValueError for finished and impossible boards
        positions = positions_of(self.rules)
        return np.searchsorted(positions.unfinished, positions.rows(boards))


class ValuedTable(ValuedPolicy):
    """The policy that makes the move with the highest value; among equal ones, the lowest cell.

    values: (U, cells) floats, the values of the moves in the unfinished positions, for the side to
    move. They are -inf for illegal moves, unless the player has to learn the rules. worth: their
    scale.
    """

    moves_by_values = True

    def __init__(self, rules: Rules, values: NDArray[np.floating[Any]], worth: Scale = UNNAMED):
        best = one_hot(values.argmax(axis=1), rules.cells)
        super().__init__(rules, best, OwnValues(values, worth))

    def softmax(self, temperature: float) -> TabularPolicy:
        """The policy that draws its moves by the softmax of their values over a temperature."""
        above = self.own.values - np.nanmax(self.own.values, axis=1, keepdims=True)
        weights = np.nan_to_num(np.exp(above / temperature, dtype=np.float64))
        return TabularPolicy(self.rules, weights / weights.sum(axis=1, keepdims=True))


def bests(scores: NDArray[np.float64]) -> Probs:
    """The moves of the best score in each row (B, cells), equally likely."""
    best = scores == scores.max(axis=1, keepdims=True)
    return best / best.sum(axis=1, keepdims=True)


def checked(own: OwnValues, rules: Rules) -> OwnValues:
    """Values as float32, NaN where illegal and for infinities. ValueError for other shapes."""
    positions = positions_of(rules)
    boards = positions.boards[positions.unfinished]
    values = np.asarray(own.values)
    has_known = own.known is None or len(own.known) == len(boards)
    if values.shape != boards.shape or not has_known:
        raise ValueError(f"values and known need {boards.shape[0]} rows, got {values.shape}")
    has_value = np.isfinite(values) & rules.legal_cells(boards)
    kept = np.where(has_value, values, np.nan).astype(np.float32)
    kept.setflags(write=False)
    return own._replace(values=kept)


def own_in(data: bytes, rules: Rules) -> tuple[OwnValues, dict[str, Any]]:
    """The values of a file as they stand in it, and the entries that describe them."""
    with np.load(io.BytesIO(data), allow_pickle=False) as content:
        values = content["values"]
        bits = content["known"]
        header = json.loads(content["about"].tobytes())
    known = None
    if len(bits):
        rows = len(positions_of(rules).unfinished)
        known = np.unpackbits(bits)[:rows].astype(bool)
    scale = Scale(header["meaning"], header["low"], header["high"])
    return OwnValues(values, scale, known), header


def reward_scale(rewards: Sequence[float], discount: float = 1.0) -> Scale:
    """The scale of values that are expected rewards."""
    win, draw, loss = rewards
    meaning = f"expected reward: win {win:g}, draw {draw:g}, loss {loss:g}"
    if discount != 1:
        meaning += f", times {discount:g} for each later move of its own"
    low = min(rewards)
    high = max(rewards)
    if high == low:
        high = low + 1  # a scale has a length
    return Scale(meaning, low, high)


def write_values(own: OwnValues, sha256_of_moves: str, path: str | os.PathLike[str]) -> None:
    """Write checked values. After a crash the file is the old one or the new one.

    sha256_of_moves: states to which certificate they belong. The same values give the same bytes.
    """
    header = {"format": FORMAT, **own.scale._asdict(), "sha256_of_moves": sha256_of_moves}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    known = np.zeros(0, dtype=bool) if own.known is None else own.known
    bits = np.packbits(known)
    write_file(
        Path(path),
        lambda file: np.savez_compressed(file, values=own.values, known=bits, about=text),
    )


def read_values(
    path: str | os.PathLike[str], table: TabularPolicy, sha256_of_moves: Any
) -> ValuedPolicy:
    """The policy of a certificate with its own values, from the file beside it.

    Raises FileNotFoundError, and ValueError for a damaged file and for the values of other moves.
    """
    data = Path(path).read_bytes()
    try:
        own, header = own_in(data, table.rules)
        policy = ValuedPolicy(table.rules, table.table, own)
        if (header["format"], header["sha256_of_moves"]) != (FORMAT, sha256_of_moves):
            raise ValueError("it belongs to other moves than its certificate")
    except Exception as error:  # an archive may be damaged in many ways
        raise ValueError(
            f"{path} cannot be used: {error!r:.200}; delete it to play without these values, or "
            "train the run again"
        ) from None
    return policy
