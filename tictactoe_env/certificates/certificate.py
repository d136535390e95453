"""The certificate of an agent: made, written, read and verified.

On boards of up to 12 cells it holds the move in every position (format 1), on larger ones the moves
in the positions that the agent can meet (formats 2 and 3): see FORMAT.md. Anyone can recompute the
results from the moves, without the model; `verify` does. What the agent is called, its seed,
configuration and times cannot be verified.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tictactoe_env.certificates.content import (
    BYTES,
    LINES,
    TABLE,
    Certificate,
    SideResults,
    seems_to_win,
    sides_of,
)
from tictactoe_env.certificates.reach import (
    ReachPolicy,
    bytes_in,
    bytes_text,
    compressed,
    decompressed,
    moves_bytes,
    moves_text,
    reaches_of,
    reaches_of_bytes,
    shares_of,
)
from tictactoe_env.certificates.stated import CertificateError, Stated
from tictactoe_env.errors import check_arguments
from tictactoe_env.exact.best_response import best_response
from tictactoe_env.exact.match import common_rules, exact_result, result_of
from tictactoe_env.exact.optimality import best_achievable, optimal_share, wins_most
from tictactoe_env.exact.positions import TABULATED, can_enumerate, positions_of
from tictactoe_env.exact.proof import (
    BoardReach,
    Limit,
    Progress,
    ProofLimitError,
    Reach,
    TableReach,
)
from tictactoe_env.exact.provable import provable, to_be_met
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.exact.values import ROUNDING
from tictactoe_env.files import (
    DamagedFileError,
    check_files,
    json_value,
    read_file,
    without_repeats,
    write_file,
)
from tictactoe_env.notation import board_text, cells_by_name, game_text, parse_cells, replay
from tictactoe_env.policy import Model, Policy, as_policy, plays_symmetrically
from tictactoe_env.rules import SIDES, Boards, Rules, game_state

FILE = "certificate.json"
OF_PLAYER = (FILE, "config.json", "values.npz")  # the files of a run that say who plays
MAX_BYTES = 32 << 20  # of a certificate that is read; 3x4 with probabilities needs up to 24 MB
VERIFIED = Limit(positions=6_000_000)
"""The limit of a proof that is computed again, above the positions of connect-four-x."""
MOST_IN_TEXT = 1_000_000  # decisions that are stated in format 2, if a byte can say each of them


def exact_results(table: TabularPolicy) -> dict[str, SideResults]:
    """The exact results of a policy on a board of at most 12 cells, by side.

    Raises CertificateError (a ValueError) if a chance of not winning is too small for a number.
    """
    best = best_achievable(table.rules)
    minimax = MinimaxPolicy(table.rules)
    sides = {}
    for side in SIDES:
        reach = TableReach({side: table}, side, table.rules)
        sides[side] = replace(
            _results(reach),
            optimal=wins_most(reach),
            vs_minimax=exact_result(table, minimax, side=side),
            limit_vs_random=best[side],
        )
        if seems_to_win(sides[side]) != sides[side].always_wins:
            raise CertificateError(
                f"as {side} the chance of not winning is above 0, but too small for a number: give "
                "no move a probability as small as 1e-150"
            )
    return sides


def _results_of(reaches: Mapping[str, BoardReach]) -> dict[str, SideResults]:
    """The exact results of a policy by the positions that it can meet, by side."""
    return {
        side: replace(_results(reach), positions=len(reach), decisions=reach.decisions)
        for side, reach in reaches.items()
    }


def _results(reach: Reach) -> SideResults:
    """The results of one side, as both formats state them."""
    response = best_response(reach)
    losing_line = None
    if response.losing_line is not None:
        losing_line = tuple(game_text(response.losing_line, reach.rules).split())
    return SideResults(
        unbeatable=not response.can_lose,
        losing_line=losing_line,
        worst_case_value=response.value,
        worst_case_loss=response.loss,
        vs_random=result_of(reach),
        always_wins=response.always_wins,
    )


def certify(
    policy: Policy | Model,
    agent: str,
    rules: Rules | None = None,
    *,
    sides: Sequence[str] | None = None,
    reach_only: bool = False,
    limit: Limit | None = None,
    progress: Progress | None = None,
    symmetric: bool | None = None,
    **entries: Any,
) -> Certificate:
    r"""The certificate of a policy.

    On boards of more than 12 cells, and with `reach_only` on any board, it holds the moves in the
    positions that the policy can meet, which must be within `limit`: see `proof`. `progress` is
    called as there.

    sides: as which it is certified: ("X",), ("O",) or both. By default that is the `side` of the
    configuration, if there is one; a certificate of all positions is always of both.
    symmetric: see `tictactoe_env.evaluate`.
    entries: what else is stated: seed, config, training and versions, see `Stated.of`.
    Raises CertificateError (a ValueError) for a name that is none, ValueError for a policy that is
    no function of the board, and ProofLimitError beyond `limit`.
    """
    known = {*inspect.signature(certify).parameters, "seed", "config", "training", "versions"}
    check_arguments("certify", entries, known - {"entries"})
    rules = common_rules(rules, policy)
    policy = as_policy(policy, rules, symmetric=symmetric)
    stated = Stated.of(agent, **entries)
    if reach_only or rules.cells > TABULATED:
        if sides is None:
            sides = sides_of(stated.config)
        return certify_reach(met_positions(policy, rules, sides, limit, progress), stated)
    if sides is not None and {*sides} != {*SIDES}:
        raise ValueError(f"sides={sides!r} needs reach_only=True: all positions are of both sides")
    table = tabulate(provable(policy, rules), rules)
    moves = moves_of(table)
    shares = optimal_share(table)
    digest = hashlib.sha256(_json_of(moves)).hexdigest()
    return Certificate(rules, moves, digest, exact_results(table), stated, shares)


def met_positions(
    policy: Policy | Model,
    rules: Rules,
    sides: Sequence[str] = SIDES,
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> dict[str, BoardReach]:
    """The positions that a policy can meet as each of some sides, on a board of any size.

    Raises ProofLimitError beyond `limit`, and ValueError for a policy that is no function of the
    board: see `provable`.
    """
    if sorted(sides) not in (["X"], ["O"], ["O", "X"]):
        raise ValueError(f'sides must be ("X",), ("O",) or ("X", "O"), got {sides!r}')
    if rules.cells <= TABULATED:
        policy = provable(policy, rules)
    with to_be_met(policy, rules) as player:
        return {
            side: BoardReach({side: player}, side, rules, limit, progress)
            for side in SIDES
            if side in sides
        }


def with_minimax(certificate: Certificate) -> Certificate:
    """A certificate that has `vs_minimax` on every board that can be solved.

    One of a reach does not state this result, so it is computed here, by its moves: in a second on
    4x4. It stays None where these, or the positions of the match, are beyond the limits.
    """
    rules = certificate.rules
    if not certificate.is_of_reach or not can_enumerate(rules):
        return certificate
    minimax = MinimaxPolicy(rules)
    try:
        policy = policy_in(certificate)
        results = {
            side: replace(one, vs_minimax=exact_result(policy, minimax, rules, side=side))
            for side, one in certificate.results.items()
        }
    except (CertificateError, ProofLimitError):
        return certificate
    return replace(certificate, results=results)


def certify_reach(reaches: Mapping[str, BoardReach], stated: Stated) -> Certificate:
    """The certificate of a policy by the positions of `met_positions`: see `certify`."""
    one = next(iter(reaches.values()))
    number = LINES
    data = None
    if sum(reach.decisions for reach in reaches.values()) > MOST_IN_TEXT:
        data = moves_bytes(reaches)
    if data is not None:
        number = BYTES
        moves = bytes_text(data)
    else:
        data = moves_text(reaches).encode()
        moves = compressed(data)
    return Certificate(
        one.rules,
        moves,
        hashlib.sha256(data).hexdigest(),
        _results_of(reaches),
        stated,
        canonical=one.is_symmetric,
        format=number,
    )


def moves_of(table: TabularPolicy) -> dict[str, Any]:
    """The move on each unfinished board, by the board's text; {move: probability} if stochastic."""
    names = [*cells_by_name(table.rules)]
    moves: dict[str, Any] = {}
    for text, row in zip(rows_by_text(table.rules), table.table, strict=True):
        cells = np.flatnonzero(row)
        if len(cells) == 1 and row[cells[0]] == 1:
            moves[text] = names[cells[0]]
        else:
            moves[text] = {names[cell]: float(row[cell]) for cell in cells}
    return moves


def table_of(certificate: Certificate) -> TabularPolicy:
    """The policy of a certificate of all positions.

    Raises CertificateError if a position is missing or unknown or has no valid move, if the moves
    were changed, and for a certificate of a reach: see `policy_in`.
    """
    moves = certificate.moves
    rules = certificate.rules
    if isinstance(moves, str):
        raise CertificateError(
            "this certificate has the moves in the positions that the agent can meet, which are no "
            "table: take policy_in(certificate)"
        )
    rows = rows_by_text(rules)
    cells = cells_by_name(rules)
    if len(moves) != len(rows):
        raise CertificateError(
            f"a certificate for {rules} needs the moves of {len(rows)} positions, this one has "
            f"{len(moves)}"
        )
    table = np.zeros((len(moves), rules.cells))
    for text, move in moves.items():
        if text not in rows:
            raise CertificateError(f"no move can be made on {reprlib.repr(text)}")
        if isinstance(move, str) and move in cells:
            table[rows[text], cells[move]] = 1.0
            continue
        for cell, share in shares_of(move, cells, f'on "{text}"').items():
            table[rows[text], cell] = share
    check_digest(certificate)
    return TabularPolicy(rules, table)


@lru_cache(maxsize=4)
def rows_by_text(rules: Rules) -> dict[str, int]:
    """The row of each unfinished position by its text, in the order of rows: 12 MB on 3x4."""
    positions = positions_of(rules)
    boards = positions.boards_at(positions.unfinished)
    return {board_text(board, rules): row for row, board in enumerate(boards)}


def policy_in(
    certificate: Certificate, limit: Limit | None = None, progress: Progress | None = None
) -> TabularPolicy | ReachPolicy:
    """The policy of a certificate.

    limit, progress: of a certificate of a reach, see `proof`; VERIFIED by default. Raises
    CertificateError for moves that are missing, surplus, impossible or changed, and where the
    player can meet more positions than are stated; ProofLimitError beyond `limit`.
    """
    if certificate.is_of_reach:
        return ReachPolicy(_reaches_in(certificate, limit, progress), certificate.rules)
    return table_of(certificate)


def _reaches_in(
    certificate: Certificate, limit: Limit | None, progress: Progress | None
) -> dict[str, BoardReach]:
    """The positions that follow from the moves of a certificate of a reach, by side."""
    limit = limit or VERIFIED
    stated = certificate.results
    for side, found in stated.items():
        if found.positions > limit.positions:
            raise ProofLimitError(
                f"the certificate states {found.positions:,} positions as {side} on "
                f"{certificate.rules}, more than the limit of {limit.positions:,} positions"
            )

    def watch(side: str, ply: int, positions: int) -> None:
        if positions > stated[side].positions:
            raise CertificateError(
                f"as_{side.lower()}.positions is {stated[side].positions:,} in the certificate, "
                f"but the moves lead to more: {positions:,} up to ply {ply}"
            )
        if progress is not None:
            progress(side, ply, positions)

    data = _checked_moves(certificate)
    about = (certificate.rules, bool(certificate.canonical), limit, watch)
    if certificate.format == BYTES:
        decisions = {side: found.decisions for side, found in stated.items()}
        return reaches_of_bytes(data, decisions, *about)
    if data.count(b",") > certificate.rules.cells * (certificate.decisions + 2):
        raise CertificateError("there are more moves than the decisions that are stated")
    return reaches_of(data, certificate.sides, *about)


def _json_of(moves: Mapping[str, Any]) -> bytes:
    """The moves in all positions as the text whose digest a certificate has."""
    return json.dumps(moves, sort_keys=True, separators=(",", ":")).encode()


def verify(
    certificate: Certificate, limit: Limit | None = None, progress: Progress | None = None
) -> TabularPolicy | ReachPolicy:
    """Recompute every result from the moves. Returns the policy that makes these moves.

    A losing line may be any of the shortest. limit, progress: of a certificate of a reach, see
    `policy_in`. Raises CertificateError for the first result that differs, and ProofLimitError
    beyond `limit`.
    """
    policy: TabularPolicy | ReachPolicy
    if certificate.is_of_reach:
        reaches = _reaches_in(certificate, limit, progress)
        policy = ReachPolicy(reaches, certificate.rules)
        shares = None
        results = _results_of(reaches)
    else:
        policy = table_of(certificate)
        results = exact_results(policy)
        shares = optimal_share(policy)
    for side, found in results.items():
        line = certificate.results[side].losing_line
        if line and len(line) == len(found.losing_line or ()) and _loses(policy, side, line):
            results[side] = replace(found, losing_line=line)
    computed = replace(certificate, results=results, optimal_moves=shares)
    _compare("", computed.to_json(), certificate.to_json())
    return policy


def _loses(policy: TabularPolicy | ReachPolicy, side: str, line: Sequence[str]) -> bool:
    """True if these moves are a whole game that the policy may play as this side and then loses."""
    try:
        cells = parse_cells(" ".join(line), policy.rules)
    except ValueError:  # a cell beside the board
        return False
    end = game_state(cells, policy.rules)
    if end.winner in (side, None) or len(end.moves) + (end.ended == "illegal") != len(cells):
        return False
    own = range(SIDES.index(side), len(cells), 2)  # the plies in which the policy moves
    boards = replay(end.moves, policy.rules)
    return all(_may_mark(policy, boards[ply], cells[ply]) for ply in own)


def _may_mark(policy: TabularPolicy | ReachPolicy, board: Boards, cell: int) -> bool:
    """True if a policy may make this move on a board (cells,).

    Of canonical positions, a move on a board that some symmetries leave as it is stands for its
    images under these.
    """
    cells = policy.rules.symmetries
    kept = plays_symmetrically(policy) & (board[cells] == board).all(axis=1)
    kept[0] = True
    return bool((policy.probs(board[None])[0, cells[kept, cell]] > 0).any())


def check_digest(certificate: Certificate) -> None:
    """Raises CertificateError unless the sha256 of the moves is the one in the certificate.

    Legality of the moves is not checked.
    """
    _checked_moves(certificate)


def _checked_moves(certificate: Certificate) -> bytes:
    """The bytes of the moves, whose sha256 is the one in the certificate: see `check_digest`."""
    moves: Any = certificate.moves
    if certificate.format == TABLE:
        data = _json_of(moves)
    elif certificate.format == LINES:
        data = decompressed(moves)
    else:
        data = bytes_in(moves, certificate.decisions)
    if certificate.sha256_of_moves != hashlib.sha256(data).hexdigest():
        raise CertificateError(
            "the moves were changed after the certificate was written: their sha256 differs"
        )
    return data


def _compare(key: str, computed: Any, stated: Any) -> None:
    """Raises CertificateError, which names the entry, where a stated value differs."""
    if isinstance(computed, dict) and isinstance(stated, dict):
        for name in computed:
            if computed[name] is not stated[name]:
                _compare(f"{key}.{name}".removeprefix("."), computed[name], stated[name])
        return
    if isinstance(computed, float):
        is_near = computed - ROUNDING <= stated <= computed + ROUNDING
        # Sums of probabilities are 0 for 0 only; others may be rounded to it.
        is_chance = "limit" not in key and "value" not in key
        is_same = is_near and not (is_chance and (stated == 0) != (computed == 0))
    else:
        is_same = computed == stated
    if not is_same:
        raise CertificateError(
            f"{key} is {computed!r} when computed from the moves, but {reprlib.repr(stated)} in "
            "the certificate"
        )


def write(certificate: Certificate, path: str | os.PathLike[str]) -> None:
    """Write a certificate as JSON. After a crash the file is the old one or the new one."""
    text = json.dumps(certificate.to_json(), indent=1)
    write_file(Path(path), lambda file: file.write(text.encode()))


def read(path: str | os.PathLike[str]) -> Certificate:
    """The certificate in a file; `path` is that file or the folder of a run.

    Nothing in it is verified, but a run that is sealed must be as it was then: see `OF_PLAYER`.
    Raises FileNotFoundError or CertificateError.
    """
    target = Path(path)
    if target.is_dir():
        target /= FILE
    data = read_bytes(target)
    try:
        if target.name == FILE:
            check_files(target.parent, OF_PLAYER)
        return Certificate.from_json(json_value(data, without_repeats, _finite))
    except DamagedFileError as error:
        raise CertificateError(str(error)) from None
    except ValueError as error:
        raise CertificateError(f"{target} is no certificate, or is damaged: {error}") from None


def read_bytes(file: Path) -> bytes:
    """The bytes of a certificate's file. Raises FileNotFoundError or CertificateError."""
    try:
        return read_file(file, MAX_BYTES, CertificateError)
    except FileNotFoundError:
        text = f"no certificate at {file}: expected a {FILE}, or the folder of a run that has one"
        if runs := sorted(file.parent.glob(f"*/{FILE}")):  # in the folder of a study
            text += f", such as {runs[0].parent}"
        raise FileNotFoundError(text) from None


def _finite(text: str) -> float:
    """The number of a JSON text; 1e999 is an infinity too."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"a number must be finite, got {text:.30}")
    return number


def load_policy(
    path: str | os.PathLike[str],
    rules: Rules | None = None,
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> TabularPolicy | ReachPolicy:
    """The policy of a saved run or certificate; ValueError if its board is not `rules`.

    On boards of more than 12 cells it knows the moves on the agent's lines, and makes uniformly
    random legal moves elsewhere: see `reach.ReachPolicy`. limit, progress: see `policy_in`.
    """
    certificate = read(path)
    if rules is not None and certificate.rules != rules:
        raise ValueError(f"{path} plays on {certificate.rules}, not on {rules}")
    return policy_in(certificate, limit, progress)
