"""The certificate of an agent: its moves, and the exact results of these moves.

On boards of up to 12 cells it holds the move in every position (format 1), on larger ones the moves
in the positions that the agent can meet (format 2): see docs/CERTIFICATE.md. Anyone can recompute
the results from the moves, without the model; `verify` does. The agent's name, seed, configuration
and times cannot be verified.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import reprlib
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from tictactoe_env.certificates.lines import (
    SUM_TOLERANCE,
    LinesError,
    LinesPolicy,
    compressed,
    decompressed,
    moves_text,
    reaches_of,
)
from tictactoe_env.certificates.stated import StatedError, check_stated, printable_texts
from tictactoe_env.errors import one_of, printable
from tictactoe_env.exact import match
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.positions import TABULATED, positions_of
from tictactoe_env.exact.proof import BoardReach, Limit, Progress, TableReach, provable
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.steady import steady_table
from tictactoe_env.exact.tables import TabularPolicy
from tictactoe_env.files import json_value, read_file, without_repeats, write_file
from tictactoe_env.notation import board_text, cell_text, game_text, parse_board
from tictactoe_env.policy import Model, Policy
from tictactoe_env.rules import SIDES, Rules

FILE = "certificate.json"
TABLE, LINES = 1, 2  # the formats: the moves in all positions, or in those that can be met
MAX_BYTES = 32 << 20  # of a certificate that is read; 3x4 with probabilities needs up to 24 MB


class CertificateError(ValueError):
    """A certificate that cannot be read, or whose results are not those of its moves."""


def check_board(rules: Rules) -> None:
    """Raises ValueError for a board of more than 12 cells, whose positions are not tabulated."""
    if rules.cells > TABULATED:
        raise ValueError(
            f"a board of {rules.rows}x{rules.cols} has too many positions for a table of all of "
            f"them: at most {TABULATED} cells (3x4) are tabulated, this one has {rules.cells}"
        )


def exact_results(policy: Policy | Model, rules: Rules | None = None) -> dict[str, Any]:
    """The exact results of a policy on a board of at most 12 cells, as JSON values.

    unbeatable: whether it never loses, on either side, whatever the opponent does.
    optimal: whether it is unbeatable and no unbeatable policy wins more often against random play.
    as_x, as_o: the same for each side. `vs_random` and `vs_minimax` are the results against
    uniformly random play and against minimax, which picks at random among equally good moves.
    `worst_case_value` and `worst_case_loss` are the value and the loss against a best response.
    `losing_line` is the shortest game that it loses, or null. `limit_vs_random` is the best
    achievable result against random play of a policy that never loses, or null.
    optimal_moves: the share of its probability on optimal moves, see `match.OptimalShare`.
    """
    rules = match.board_of(rules, policy)
    check_board(rules)
    table = steady_table(policy, rules)
    found, best = evaluate(table), match.best_achievable(rules)
    minimax, share = MinimaxPolicy(rules), match.optimal_share(table)
    sides: dict[str, Any] = {}
    for side in ("x", "o"):
        response, achievable = found.best_responses[side.upper()], best[side.upper()]
        line = response.losing_line
        sides[f"as_{side}"] = {
            "unbeatable": getattr(found, f"unbeatable_{side}"),
            "optimal": getattr(found, f"optimal_{side}"),
            "losing_line": None if line is None else game_text(line, rules).split(),
            "worst_case_value": response.value,
            "worst_case_loss": response.loss,
            "vs_random": _rates(getattr(found, side)),
            "vs_minimax": _rates(match.exact_result_as(side.upper(), table, minimax)),
            "limit_vs_random": None if achievable is None else _rates(achievable),
        }
    return {
        "unbeatable": found.unbeatable,
        "optimal": found.optimal,
        **sides,
        "optimal_moves": {"everywhere": share.everywhere, "reachable": share.reachable},
    }


def _rates(result: match.Result) -> dict[str, float]:
    return {name: getattr(result, name) for name in ("win", "draw", "loss", "illegal")}


def line_results(reaches: Mapping[str, BoardReach]) -> dict[str, Any]:
    """The exact results of a policy by the positions that it can meet as X, as O, or as both.

    sides: those of the results. canonical: whether symmetric positions count once.
    unbeatable: whether it never loses, on either side; null if it does not lose on one side and the
    other is not there.
    as_x, as_o: of each side. `always_wins` says whether it wins every game; `positions` is the
    number of unfinished positions that it can meet, `decisions` of those in which it moves; the
    other values are those of `exact_results`.
    """
    sides: dict[str, Any] = {}
    for side, reach in reaches.items():
        response = match.best_response(reach)
        line = response.losing_line
        sides[f"as_{side.lower()}"] = {
            "unbeatable": not response.can_lose,
            "always_wins": match.always_wins(reach),
            "losing_line": None if line is None else game_text(line, reach.rules).split(),
            "worst_case_value": response.value,
            "worst_case_loss": response.loss,
            "vs_random": _rates(match.reach_vs_random(reach)),
            "positions": len(reach),
            "decisions": reach.decisions,
        }
    is_unbeatable = all(found["unbeatable"] for found in sides.values())
    return {
        "sides": list(reaches),
        "canonical": all(reach.is_symmetric for reach in reaches.values()),
        "unbeatable": None if is_unbeatable and len(sides) < len(SIDES) else is_unbeatable,
        **sides,
    }


def certify(
    policy: Policy | Model,
    agent: str,
    rules: Rules | None = None,
    *,
    sides: Sequence[str] | None = None,
    lines_only: bool = False,
    limit: Limit | None = None,
    progress: Progress | None = None,
    **about: Any,
) -> dict[str, Any]:
    r"""The certificate of a policy as JSON values.

    On boards of more than 12 cells, and with `lines_only` on any board, it holds the moves in the
    positions that the policy can meet, which must be within `limit`: see `proof`. `progress` is
    called as there.

    sides: as which it is certified: ("X",), ("O",) or both. By default that is the `side` of the
    configuration, if there is one; a certificate of all positions is always of both.
    about: further entries, such as seed, config and training; what is not printable in their texts
    is written as \x1b and the like, so that a certificate can be read again whatever a folder is
    called.
    Raises ValueError for an entry that is computed from the moves, for one that is not of the form
    that `stated.check_stated` asks for, and for a policy that is no function of the board;
    ProofLimitError beyond `limit`.
    """
    rules = match.board_of(rules, policy)
    if lines_only or rules.cells > TABULATED:
        chosen = sides_of({"config": about.get("config")}) if sides is None else sides
        return certify_lines(lines_of(policy, rules, chosen, limit, progress), agent, **about)
    if sides is not None and _checked(sides) != SIDES:
        raise ValueError(
            "a certificate of all positions is of both sides: leave sides out, or give "
            "lines_only=True too"
        )
    table = steady_table(policy, rules)
    moves = moves_of(table)
    content = _content(TABLE, agent, rules, exact_results(table), moves, _digest(moves), about)
    _check_wins(content, table)
    return content


def lines_of(
    policy: Policy | Model,
    rules: Rules,
    sides: Sequence[str] = SIDES,
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> dict[str, BoardReach]:
    """The positions that a policy can meet as each of some sides, on a board of any size.

    Raises ProofLimitError beyond `limit`, and ValueError for a policy that is no function of the
    board: see `steady`.
    """
    player = provable(policy, rules)
    return {
        side: BoardReach({side: player}, side, rules, limit, progress) for side in _checked(sides)
    }


def certify_lines(reaches: Mapping[str, BoardReach], agent: str, **about: Any) -> dict[str, Any]:
    """The certificate of a policy by the positions of `lines_of`: see `certify`."""
    rules, text = next(iter(reaches.values())).rules, moves_text(reaches)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return _content(LINES, agent, rules, line_results(reaches), compressed(text), digest, about)


def _content(
    number: int,
    agent: str,
    rules: Rules,
    results: Mapping[str, Any],
    moves: Any,
    digest: str,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """The content of a certificate. Raises ValueError for an entry that it computes."""
    content: dict[str, Any] = {
        "format": number,
        "agent": agent,
        "board": {"rows": rules.rows, "cols": rules.cols, "k": rules.k},
        **results,
        "seed": None,
        "config": {},
        "versions": versions(),
        "moves": moves,
    }
    computed = set(about) & (set(content) - {"seed", "config", "versions"})
    if computed:
        names = ", ".join(sorted(computed))
        raise ValueError(f"{names} cannot be given: a certificate computes them from the moves")
    stated = {name: printable_texts(part) for name, part in about.items()}
    content = {**content, **stated, "sha256_of_moves": digest}
    check_stated(content)
    return content


def _checked(sides: Any) -> tuple[str, ...]:
    """Sides in the order X, O. Raises ValueError for anything but one or both."""
    given = [one_of("side", side, SIDES) for side in sides]
    if not given or len(set(given)) < len(given):
        raise ValueError(f'sides must be ("X",), ("O",) or ("X", "O"), got {sides!r}')
    return tuple(side for side in SIDES if side in given)


def moves_of(table: TabularPolicy) -> dict[str, Any]:
    """The move on each unfinished board, by the board's text; {move: probability} if stochastic."""
    positions = positions_of(table.rules)
    names = [cell_text(cell, table.rules) for cell in range(table.rules.cells)]
    moves: dict[str, Any] = {}
    for board, row in zip(positions.boards[positions.unfinished], table.table, strict=True):
        cells = np.flatnonzero(row)
        is_sure = len(cells) == 1 and row[cells[0]] == 1
        moves[board_text(board, table.rules)] = (
            names[cells[0]] if is_sure else {names[cell]: float(row[cell]) for cell in cells}
        )
    return moves


def certified_sides(content: Mapping[str, Any]) -> tuple[str, ...]:
    """The sides whose results a certificate holds: both, unless it is one of lines."""
    stated = content.get("sides", SIDES)
    return tuple(side for side in SIDES if isinstance(stated, (list, tuple)) and side in stated)


def sides_of(content: Mapping[str, Any]) -> tuple[str, ...]:
    """The sides that a run was trained to play, by its configuration; without one all certified."""
    config, certified = content.get("config"), certified_sides(content)
    side = config.get("side") if isinstance(config, Mapping) else None
    return (str(side),) if side in certified else certified


def wins_all(content: Mapping[str, Any], side: str) -> bool:
    """Whether a certificate states that the agent wins every game as `side`."""
    results = content.get(f"as_{side.lower()}")
    if not isinstance(results, Mapping):
        return False
    if "always_wins" in results:
        return results["always_wins"] is True
    # Against random play every reply can come, so what never happens then never happens at all.
    rates = results.get("vs_random")
    never = isinstance(rates, Mapping) and rates.get("draw") == rates.get("loss") == 0
    return never and results.get("unbeatable") is True


def rules_of(content: Mapping[str, Any]) -> Rules:
    """The board of a certificate. Raises CertificateError if it names none."""
    board = content.get("board")
    if not isinstance(board, Mapping) or set(board) != {"rows", "cols", "k"}:
        raise CertificateError(
            "this is not a certificate: it must name a board, such as "
            f'{{"rows": 4, "cols": 4, "k": 4}}, got {board!r:.80}'
        )
    try:
        return Rules(**board)
    except ValueError as error:
        raise CertificateError(f"this is not a certificate: {error}") from None


def moves_in(content: Mapping[str, Any]) -> int:
    """The number of positions whose move a certificate holds, as it states it."""
    if not is_of_lines(content):
        return len(content["moves"])
    return sum(int(content[f"as_{side.lower()}"]["decisions"]) for side in certified_sides(content))


def is_of_lines(content: Mapping[str, Any]) -> bool:
    """Whether a certificate holds the moves on the agent's lines only."""
    return content.get("format") == LINES


def table_of(content: Mapping[str, Any]) -> TabularPolicy:
    """The policy of a certificate of all positions.

    Raises CertificateError if a position is missing or unknown or has no valid move, and for a
    certificate of lines: see `policy_in`.
    """
    if is_of_lines(content):
        raise CertificateError(
            "this certificate has the moves in the positions that the agent can meet, which are no "
            "table: take policy_in(content)"
        )
    try:
        board = dict(content["board"])
        rules = Rules(board.pop("rows"), board.pop("cols"), board.pop("k"), **board)
        check_board(rules)
        positions, moves = positions_of(rules), content["moves"]
        if len(moves) != len(positions.unfinished):
            raise CertificateError(
                f"a certificate for {rules} needs the moves of {len(positions.unfinished)} "
                f"positions, this one has {len(moves)}"
            )
        table = np.zeros((len(moves), rules.cells))
        rows, cells = _rows_by_text(rules), _cells_by_text(rules)
        for text, move in moves.items():
            if text not in rows:
                positions.rows(parse_board(text, rules)[None])  # ValueError if it is no position
                raise CertificateError(f'the game is over on "{text}", so it has no move')
            if isinstance(move, str) and move in cells:
                table[rows[text], cells[move]] = 1.0
                continue
            for cell, share in _shares(move, text, cells, rules).items():
                table[rows[text], cell] = share
        return TabularPolicy(rules, table)
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CertificateError(
            f"this is not a certificate: {type(error).__name__}: {error}"
        ) from error


@lru_cache(maxsize=4)
def _rows_by_text(rules: Rules) -> dict[str, int]:
    """The row of each unfinished position by its text: 12 MB on 3x4."""
    positions = positions_of(rules)
    boards = rules.to_boards(*positions.bits(positions.unfinished))
    return {board_text(board, rules): row for row, board in enumerate(boards)}


@lru_cache(maxsize=64)
def _cells_by_text(rules: Rules) -> dict[str, int]:
    return {cell_text(cell, rules): cell for cell in range(rules.cells)}


def _shares(move: Any, board: str, cells: Mapping[str, int], rules: Rules) -> dict[int, float]:
    """The probability of each cell of an entry of the moves; `cells` are those by their names.

    Raises CertificateError for other names, shares that are not above 0, and sums that are not 1.
    """
    shares = move if isinstance(move, dict) else {move: 1.0}
    for name, share in shares.items():
        if not isinstance(name, str) or name not in cells:
            raise CertificateError(
                f"a cell of {rules.rows}x{rules.cols} is written as in {' '.join(cells):.50}; "
                f'got {reprlib.repr(name)} on "{board}"'
            )
        is_number = isinstance(share, (int, float)) and not isinstance(share, bool)
        if not is_number or not 0 < share <= 1:
            raise CertificateError(
                f"the probability of {name} must be a number above 0 and at most 1, such as 0.5, "
                f'got {reprlib.repr(share)} on "{board}"'
            )
    total = sum(shares.values())
    if abs(total - 1) > SUM_TOLERANCE:
        raise CertificateError(f'the probabilities on "{board}" must sum to 1, not to {total}')
    return {cells[name]: float(share) for name, share in shares.items()}


def policy_in(
    content: Mapping[str, Any], limit: Limit | None = None, progress: Progress | None = None
) -> TabularPolicy | LinesPolicy:
    """The policy of a certificate of either format.

    limit, progress: of a certificate of lines, see `proof`. Raises CertificateError for moves that
    are missing, surplus, impossible or changed, and ProofLimitError beyond `limit`.
    """
    if is_of_lines(content):
        return LinesPolicy(_reaches_in(content, limit, progress), rules_of(content))
    table = table_of(content)
    check_digest(content)
    return table


def _reaches_in(
    content: Mapping[str, Any], limit: Limit | None = None, progress: Progress | None = None
) -> dict[str, BoardReach]:
    """The positions that follow from the moves of a certificate of lines, by side."""
    rules, sides = rules_of(content), certified_sides(content)
    stated, is_symmetric = content.get("sides", MISSING), content.get("canonical", MISSING)
    if not sides or stated != list(sides) or not isinstance(is_symmetric, bool):
        raise CertificateError(
            'a certificate of lines needs "sides", such as ["X", "O"], and "canonical", true or '
            f"false; got {stated!r:.50} and {is_symmetric!r:.50}"
        )
    text = _moves_text(content)
    _check_text(content, text)
    try:
        return reaches_of(text, sides, rules, is_symmetric, limit, progress)
    except LinesError as error:
        raise CertificateError(str(error)) from None


def _moves_text(content: Mapping[str, Any]) -> bytes:
    """The uncompressed moves of a certificate of lines."""
    try:
        return decompressed(content["moves"])
    except KeyError:
        raise CertificateError("this certificate has no moves") from None
    except LinesError as error:
        raise CertificateError(str(error)) from None


def verify(
    content: Mapping[str, Any], limit: Limit | None = None, progress: Progress | None = None
) -> TabularPolicy | LinesPolicy:
    """Recompute every result from the moves. Returns the policy that makes these moves.

    limit, progress: of a certificate of lines, see `proof`. Raises CertificateError for the first
    result that differs and for an unknown entry, and ProofLimitError beyond `limit`.
    """
    check_format(content, "this")
    try:
        check_stated(content)
    except StatedError as error:
        raise CertificateError(str(error)) from None
    missing = [name for name in STATED if name not in (*content, *MAY_BE_ABSENT)]
    if missing:
        raise CertificateError(f"this is not a certificate: its entry {missing[0]!r} is missing")
    policy: TabularPolicy | LinesPolicy
    if is_of_lines(content):
        reaches = _reaches_in(content, limit, progress)
        results, policy = line_results(reaches), LinesPolicy(reaches, rules_of(content))
    else:
        policy = table_of(content)
        check_digest(content)
        results = exact_results(policy)
    for key, value in results.items():
        _compare(key, value, content.get(key, MISSING))
    if isinstance(policy, TabularPolicy):
        _check_wins(content, policy)
    unknown = set(content) - {*results, *STATED}
    if unknown:
        names = printable(", ".join(sorted(map(str, unknown))))
        raise CertificateError(f"unknown entries in the certificate, not verifiable: {names:.300}")
    return policy


def check_verdict(content: Mapping[str, Any]) -> None:
    """Raises CertificateError unless what the agent is said to be follows from its moves.

    Of a certificate of all positions this is whether it is unbeatable and optimal, and whether it
    always wins: on 3x3 it takes some milliseconds, a fifth of `verify`. All results of a
    certificate of lines are verified.
    """
    if is_of_lines(content):
        verify(content)
        return
    policy = table_of(content)
    check_digest(content)
    found = evaluate(policy)
    for name in ("unbeatable", "optimal"):
        _compare(name, getattr(found, name), content.get(name, MISSING))
        for side in SIDES:
            key = f"as_{side.lower()}"
            stated = content.get(key)
            one = stated.get(name, MISSING) if isinstance(stated, Mapping) else MISSING
            _compare(f"{key}.{name}", getattr(found, f"{name}_{side.lower()}"), one)
    _check_wins(content, policy)


def _check_wins(content: Mapping[str, Any], policy: TabularPolicy) -> None:
    """Raises CertificateError where a chance of not winning is too small for a number."""
    for side in SIDES:
        reach = TableReach(side, policy.by_row(), policy.rules)
        if wins_all(content, side) and not match.always_wins(reach):
            raise CertificateError(
                f"as {side} the chance of not winning is above 0, but too small for a number: give "
                "no move a probability as small as 1e-150"
            )


# The entries of a certificate beside its results.
STATED = (
    *("format", "agent", "board", "seed", "config", "training", "versions"),
    *("moves", "sha256_of_moves"),
)
MAY_BE_ABSENT = ("training", "moves", "board")  # the errors for the last two say more


class _Missing:
    """In place of an entry that is not there; no value of a certificate is equal to it."""

    def __repr__(self) -> str:
        return "'nothing'"


MISSING = _Missing()


def check_digest(content: Mapping[str, Any]) -> None:
    """Raises CertificateError unless the sha256 of the moves is the one in the certificate.

    Legality of the moves is not checked.
    """
    if is_of_lines(content):
        _check_text(content, _moves_text(content))
    elif content.get("sha256_of_moves") != _digest(content.get("moves")):
        raise _changed()


def _check_text(content: Mapping[str, Any], text: bytes) -> None:
    if content.get("sha256_of_moves") != hashlib.sha256(text).hexdigest():
        raise _changed()


def _changed() -> CertificateError:
    return CertificateError(
        "the moves were changed after the certificate was written: their sha256 differs"
    )


def check_format(content: Mapping[str, Any], what: object) -> None:
    """Raises CertificateError unless a certificate has a format that is known here."""
    if not isinstance(content, Mapping):
        raise CertificateError(f"{what} is not a certificate: it is no JSON object")
    if "format" not in content:
        raise CertificateError(f"{what} is not a certificate: its entry 'format' is missing")
    stated = content["format"]
    if type(stated) is not int or stated not in (TABLE, LINES):
        newer = (
            "; a newer version of tictactoe-env may read it"
            if isinstance(stated, int) and stated > LINES
            else ""
        )
        raise CertificateError(
            f"{what} is not a certificate of format {TABLE} or {LINES}: its format is "
            f"{stated!r:.50}{newer}"
        )


def _compare(key: str, computed: Any, stated: Any) -> None:
    if isinstance(computed, dict) and isinstance(stated, Mapping):
        for name in [*computed, *sorted(map(str, set(stated) - set(computed)))]:
            part = computed.get(name, MISSING), stated.get(name, MISSING)
            _compare(f"{key}.{printable(name):.80}", *part)
        return
    is_number = isinstance(stated, (int, float)) and not isinstance(stated, bool)
    if isinstance(computed, float) and is_number:
        is_near = computed - match.ROUNDING <= stated <= computed + match.ROUNDING  # NaN is not
        # Sums of probabilities are 0 for 0 only; others may be rounded to it.
        is_chance = "limit" not in key and "value" not in key
        is_same = is_near and not (is_chance and (stated == 0) != (computed == 0))
    else:
        is_same = type(computed) is type(stated) and computed == stated
    if not is_same:
        raise CertificateError(
            f"{key} is {computed!r} when computed from the moves, but {reprlib.repr(stated)} in "
            "the certificate"
        )


def write(content: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a certificate as JSON. After a crash the file is the old one or the new one."""
    text = json.dumps(content, indent=1)
    write_file(Path(path), lambda file: file.write(text.encode()))


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a certificate; `path` is its file or the folder of a run.

    Raises FileNotFoundError or CertificateError.
    """
    folder = Path(path)
    is_folder = folder.is_dir()
    target = folder / FILE if is_folder else folder
    runs = sorted(folder.glob(f"*/{FILE}")) if is_folder else []  # of the folder of a study
    if runs and not target.exists():
        raise FileNotFoundError(
            f"no certificate at {target}: expected a run's folder or a {FILE}, such as "
            f"{runs[0].parent}"
        )
    data = read_bytes(target)
    try:
        content = json_value(data, without_repeats, _finite)
    except ValueError as error:
        raise CertificateError(f"{target} is damaged: {error}") from None
    check_format(content, target)
    try:
        check_stated(content)
    except StatedError as error:
        raise CertificateError(f"{target} is not a certificate: {error}") from None
    found: dict[str, Any] = content
    return found


def read_bytes(file: Path) -> bytes:
    """The bytes of a certificate's file. Raises FileNotFoundError or CertificateError."""
    try:
        return read_file(file, MAX_BYTES, CertificateError)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"no certificate at {file}: expected a run's folder or a {FILE}"
        ) from None


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
) -> TabularPolicy | LinesPolicy:
    """The policy of a saved run or certificate; ValueError if its board is not `rules`.

    On boards of more than 12 cells it knows the moves on the agent's lines, and makes uniformly
    random legal moves elsewhere: see `lines.LinesPolicy`. limit, progress: see `policy_in`.
    """
    content = read(path)
    board = rules_of(content)
    if rules is not None and board != rules:
        raise ValueError(f"{path} plays on {board}, not on {rules}")
    return policy_in(content, limit, progress)


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that this process has imported."""
    found = {"python": platform.python_version()}
    for package in (
        "tictactoe-env",
        "numpy",
        "gymnasium",
        "stable-baselines3",
        "sb3-contrib",
        "torch",
    ):
        try:
            if package.replace("-", "_") in sys.modules:
                found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _digest(moves: Any) -> str:
    return hashlib.sha256(
        json.dumps(moves, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()
