"""A policy as its moves on the lines that it can play, and these moves as text.

The lines of a policy as X are the games that it can play as X, against every reply. The positions
on them follow from the rules and from its moves, so the moves alone are enough. FORMAT.md
has their order and the text.
"""

from __future__ import annotations

import base64
import copy
import json
import reprlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.certificates.stated import CertificateError, is_number
from tictactoe_env.exact.position_index import NONE, PositionIndex
from tictactoe_env.exact.positions import NO_CELL, Ply
from tictactoe_env.exact.proof import BoardReach, Limit, Progress, RecordedMoves
from tictactoe_env.files import json_value, without_repeats
from tictactoe_env.notation import board_text
from tictactoe_env.policy import CanonicalPolicy, Probs, RandomPolicy
from tictactoe_env.rules import SIDES, Boards, Rules
from tictactoe_env.symmetry import canonical_forms

MAX_TEXT = 128 << 20  # bytes of the moves; 7 million decisions of 5x5 need 20 MB as text
_XZ_MEMORY = 100 << 20  # bytes that reading xz data may take; what `xz -9` writes needs 65 MB
_SUM_TOLERANCE = 1e-12  # largest error of the sum of a decision's probabilities


class ReachPolicy:
    """A policy that is known on its lines only; elsewhere every legal move is equally likely.

    `knows` tells on which boards it is known. sides: the sides on which it is known. Its moves
    never change, so a deep copy shares them.

    reaches: the positions that it can meet, by side.
    """

    varies = ""  # see `exact.provable`

    def __init__(self, reaches: Mapping[str, BoardReach], rules: Rules):
        self.rules = rules
        self.sides = tuple(reaches)
        # Whether it plays alike on symmetric boards: then proofs of it take canonical positions.
        self.plays_symmetrically = all(reach.is_symmetric for reach in reaches.values())
        self._forms = canonical_forms(rules, self.plays_symmetrically)
        decided = [one for reach in reaches.values() for one in _decided(reach)]
        # NONE has no positions, but lets a policy that never moves be concatenated.
        x = np.concatenate([NONE, *(ply.x for ply, _, _ in decided)])
        o = np.concatenate([NONE, *(ply.o for ply, _, _ in decided)])
        order = np.lexsort((o, x))
        self._index = PositionIndex(x[order], o[order], rules)
        # One row for each position. A row with fewer moves than others ends in cell 0 with share 0.
        most_moves = max((cells.shape[1] for _, cells, _ in decided), default=1)
        self._cells = np.zeros((len(x), most_moves), dtype=np.int8)
        self._shares = np.zeros((len(x), most_moves))
        rows = np.empty_like(order)  # of the positions as they come in `decided`
        rows[order] = np.arange(len(order))
        for _, cells, shares in decided:
            own, rows = np.split(rows, [len(cells)])
            moves = cells.shape[1]
            self._cells[own, :moves] = cells
            self._shares[own, :moves] = shares

    def __deepcopy__(self, memo: dict[int, Any]) -> ReachPolicy:
        memo |= {id(one): one for one in (self._index, self._cells, self._shares)}
        copied = copy.copy(self)
        vars(copied).update(copy.deepcopy(vars(self), memo))
        return copied

    def knows(self, boards: Boards) -> NDArray[np.bool_]:
        """True where its moves are known: (B,) bool of boards (B, cells).

        False for a board that it does not meet, such as one after a move that it does not make, and
        for finished boards.
        """
        rows, _ = self._find(np.asarray(boards, dtype=np.int8))
        return rows >= 0

    def probs(self, boards: Boards) -> Probs:
        """Its probabilities (B, cells) on boards that it knows, elsewhere those of random play."""
        boards = np.asarray(boards, dtype=np.int8)
        rows, own_cells = self._find(boards)
        probs = np.zeros(boards.shape)
        known = np.flatnonzero(rows >= 0)
        moves = self._cells[rows[known]]  # as cells of the stored positions
        cells = own_cells[known[:, None], moves]  # as cells of the boards as they are
        # Shares are added because cell 0 also fills up the rows with fewer moves.
        np.add.at(probs, (known[:, None], cells), self._shares[rows[known]])
        unknown = rows < 0
        if unknown.any():
            probs[unknown] = RandomPolicy(self.rules).probs(boards[unknown])
        return probs

    def _find(self, boards: Boards) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows (B,) of boards (B, cells), -1 for unknown ones, and the cells (B, cells).

        Positions may be stored in canonical form. Cell c of a stored position is cell `cells[b, c]`
        of board b.
        """
        x, o, cells = self._forms.to_form(boards)
        return self._index.find(x, o), cells


def _decided(reach: BoardReach) -> Iterator[tuple[Ply, NDArray[np.int8], Probs]]:
    """The plies in which the policy moves, its moves (B, M) as cells, and their probabilities."""
    for ply in reach.plies:
        if ply.cells is not None and ply.probs is not None:
            yield ply, ply.cells, ply.probs


# --- as text or bytes -----------------------------------------------------------------------------


def moves_text(reaches: Mapping[str, BoardReach]) -> str:
    """The decisions of a policy as JSON: {side: [decisions of each ply, in the order of a reach]}.

    A decision is the number of a cell, or {cell: probability} unless one cell has probability 1.
    Raises ValueError for a policy that makes no move in a position.
    """
    found = {}
    for side, reach in reaches.items():
        plies: dict[int, list[Any]] = {}
        for ply, cells, probs in _decided(reach):  # a large ply comes in parts
            lacks_a_move = (cells == NO_CELL).any(axis=1)
            if lacks_a_move.any():
                first = lacks_a_move.argmax()
                board = reach.rules.to_boards(ply.x, ply.o)[first]
                raise ValueError(
                    f'a certificate needs a move in each position, got none on "'
                    f'{board_text(board, reach.rules)}": take evaluate(), which counts it as a loss'
                )
            plies.setdefault(ply.number, []).extend(_decisions(cells, probs))
        found[side] = list(plies.values())
    return json.dumps(found, separators=(",", ":"))


def _decisions(cells: NDArray[np.int8], probs: Probs) -> list[Any]:
    """A decision for each position, from the cells (B, M) of its moves and their probabilities."""
    rows = np.arange(len(cells))
    likeliest = probs.argmax(axis=1)
    decisions: list[Any] = cells[rows, likeliest].tolist()
    # A share of 1e-300 beside one that is 1.0 is a move too.
    has_one_move = (probs > 0).sum(axis=1) == 1
    is_sure = has_one_move & (probs[rows, likeliest] == 1)
    for row in np.flatnonzero(~is_sure).tolist():
        pairs = zip(cells[row].tolist(), probs[row].tolist(), strict=True)
        decisions[row] = {str(cell): share for cell, share in sorted(pairs) if share > 0}
    return decisions


def moves_bytes(reaches: Mapping[str, BoardReach]) -> bytes | None:
    """The decisions of a policy as a byte each, side after side, in the order of a reach.

    A byte is a cell, or with gravity the column of one on which a piece lands, or of the top cell
    if the column is full. None if a decision is none of these, or more than one move.
    """
    found = []
    for reach in reaches.values():
        for ply, cells, probs in _decided(reach):
            moves = cells[:, 0]
            if cells.shape[1] > 1 or (probs != 1).any() or (moves == NO_CELL).any():
                return None
            if reach.rules.gravity:
                columns = moves % reach.rules.cols
                if not np.array_equal(_landing(columns, ply.x | ply.o, reach.rules), moves):
                    return None
                moves = columns
            found.append(moves.astype(np.uint8).tobytes())
    return b"".join(found)


def _landing(columns: NDArray[Any], taken: NDArray[np.uint64], rules: Rules) -> NDArray[np.intp]:
    """The cells (B,) on which pieces land in these columns (B,), where these bits are taken."""
    return rules.landing(rules.to_cells(rules.legal(taken)))[np.arange(len(taken)), columns]


def bytes_text(data: bytes) -> str:
    """Bytes as xz data in base85."""
    import lzma  # not every Python has it, and few certificates need it

    return base64.b85encode(lzma.compress(data, preset=6 | lzma.PRESET_EXTREME)).decode()


def bytes_in(text: str, count: int) -> bytes:
    """So many bytes, from the text that `bytes_text` made of them.

    Raises CertificateError if it is damaged, or if they are more, fewer, or above 128 MB.
    """
    import lzma

    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    try:
        data = reader.decompress(base64.b85decode(text), min(count, MAX_TEXT) + 1)
    except (ValueError, EOFError, lzma.LZMAError) as error:
        raise CertificateError(f"the moves are not xz data in base85: {error}") from None
    if len(data) != count or not reader.eof or reader.unused_data:
        got = f"{len(data):,} bytes or more, or data that are cut"
        raise CertificateError(
            f"the moves must be one piece of xz data with a byte for each of the {count:,} "
            f"decisions that are stated, got {got}"
        )
    return data


def compressed(text: bytes) -> str:
    """A text as zlib data in base64."""
    return base64.b64encode(zlib.compress(text, 9)).decode()


def decompressed(data: str) -> bytes:
    """The text of `compressed`, as UTF-8.

    Raises CertificateError if it is damaged or above 128 MB.
    """
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(base64.b64decode(data, validate=True), MAX_TEXT)
    except (ValueError, zlib.error) as error:
        raise CertificateError(f"the moves are not zlib data in base64: {error}") from None
    if not reader.eof or reader.unused_data:
        most = f"{MAX_TEXT >> 20} MB when decompressed"
        raise CertificateError(f"the moves are not one complete piece of zlib data, at most {most}")
    return text


def reaches_of(
    text: bytes,
    sides: Sequence[str],
    rules: Rules,
    is_symmetric: bool,
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> dict[str, BoardReach]:
    """The positions that follow from the text of `moves_text`, by side.

    Raises CertificateError for missing, surplus and impossible decisions, and ProofLimitError
    beyond `limit`.
    """
    try:
        moves = json_value(text, without_repeats)
    except ValueError as error:
        raise CertificateError(f"the moves are damaged: {error}") from None
    if not isinstance(moves, dict) or list(moves) != list(sides):
        raise CertificateError(f"the moves must be an object with the sides {', '.join(sides)}")
    found = {}
    for side in sides:
        recorded = _RecordedPolicy(moves.pop(side), side, rules)
        # The moves of a symmetric policy are those on the canonical boards, each of them once.
        policy = CanonicalPolicy(recorded, rules) if is_symmetric else recorded
        found[side] = BoardReach({side: policy}, side, rules, limit, progress)
        recorded.check_all_used()
    return found


def reaches_of_bytes(
    data: bytes,
    decisions: Mapping[str, int],
    rules: Rules,
    is_symmetric: bool,
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> dict[str, BoardReach]:
    """The positions that follow from the bytes of `moves_bytes`, by side.

    decisions: how many of the bytes are of each side. Raises as `reaches_of` does.
    """
    found = {}
    for side, count in decisions.items():
        recorded = _RecordedBytes(data[:count], side, rules, is_symmetric)
        data = data[count:]
        found[side] = BoardReach({side: recorded}, side, rules, limit, progress)
        recorded.check_all_used()
    return found


class _RecordedPolicy:
    """A policy that reads out decisions in the order in which a BoardReach asks for them.

    Of the boards it looks only at their number and their ply, so it can be asked only once. plies:
    the decisions of each ply of `side`, as in `moves_text`. Raises CertificateError for other
    values.
    """

    def __init__(self, plies: Any, side: str, rules: Rules):
        self.side = side
        self.rules = rules
        if not isinstance(plies, list) or not all(isinstance(ply, list) and ply for ply in plies):
            raise CertificateError(f"the moves of {side} must be a list of one list for each ply")
        self._plies = [iter(ply) for ply in plies]  # the decisions of each ply that are left
        self._cells = {str(cell): cell for cell in range(rules.cells)}

    def probs(self, boards: Boards) -> Probs:
        """The next decisions (B, cells), which are those of these boards.

        Raises CertificateError if there are too few, or for one that cannot be.
        """
        marks = int(np.count_nonzero(boards[0]))  # on each of the boards
        where = f"of {self.side} with {marks} marks"
        own_ply = marks // 2  # the other side moves in every second ply
        left = self._plies[own_ply] if own_ply < len(self._plies) else ()
        decisions = list(islice(left, len(boards)))
        missing = len(boards) - len(decisions)
        if missing:
            raise CertificateError(f"{missing:,} decisions {where} are missing")
        probs = np.zeros(boards.shape)
        # By `type`, since True is an `int` too.
        are_cells = [type(one) is int and 0 <= one < self.rules.cells for one in decisions]
        is_cell = np.array(are_cells)
        for row in np.flatnonzero(~is_cell):
            for cell, share in shares_of(decisions[row], self._cells, where).items():
                probs[row, cell] = share
        sure_rows = np.flatnonzero(is_cell)
        sure_cells = list(compress(decisions, are_cells))
        probs[sure_rows, sure_cells] = 1
        return probs

    def check_all_used(self) -> None:
        """Raises CertificateError if there are more decisions than positions."""
        for own_ply, left in enumerate(self._plies):
            surplus = list(left)
            if surplus:
                marks = 2 * own_ply + SIDES.index(self.side)
                where = f"of {self.side} with {marks} marks"
                raise CertificateError(f"there are more decisions {where} than such positions")


class _RecordedBytes(RecordedMoves):
    """The bytes of `moves_bytes` of one side, as moves."""

    def __init__(self, data: bytes, side: str, rules: Rules, is_symmetric: bool):
        self.side = side
        self.rules = rules
        self.plays_symmetrically = is_symmetric
        self._left = np.frombuffer(data, dtype=np.uint8)

    def cells_at(self, x: NDArray[np.uint64], o: NDArray[np.uint64]) -> NDArray[np.integer[Any]]:
        """The next cells (B,). Raises CertificateError if they are too few, or for a wrong byte."""
        rules = self.rules
        moves, self._left = np.split(self._left, [len(x)])
        if len(moves) < len(x):
            raise CertificateError(f"there are fewer decisions of {self.side} than positions")
        most = rules.cols if rules.gravity else rules.cells
        if moves.max() >= most:
            raise CertificateError(
                f"a decision of {self.side} must be a byte from 0 to {most - 1}, got {moves.max()}"
            )
        return _landing(moves, x | o, rules) if rules.gravity else moves

    def check_all_used(self) -> None:
        """Raises CertificateError if there are more decisions than positions."""
        if len(self._left):
            raise CertificateError(f"{len(self._left):,} decisions of {self.side} are left over")


def shares_of(decision: Any, cells: Mapping[str, int], where: str) -> dict[int, float]:
    """The probability of each cell of a decision that is an object {cell: probability}.

    cells: the number of each cell by its name, which is that number as text. where: the place of
    the decision, for the message of an error. Raises CertificateError for anything but an object,
    for other names, for shares that are not above 0, and for sums that are not 1.
    """
    if not isinstance(decision, dict) or not decision.keys() <= cells.keys():
        names = list(cells)
        raise CertificateError(
            f"a decision {where} must be a cell from {names[0]} to {names[-1]}, or an object of "
            f"cells, got {reprlib.repr(decision)}"
        )
    for name, share in decision.items():
        if not is_number(share) or not 0 < share <= 1:
            got = f"above 0 and at most 1, got {reprlib.repr(share)}"
            raise CertificateError(f"the probability of {name} {where} must be {got}")
    total = sum(decision.values())
    if abs(total - 1) > _SUM_TOLERANCE:
        raise CertificateError(f"the probabilities {where} must sum to 1, not to {total}")
    return {cells[name]: float(share) for name, share in decision.items()}
