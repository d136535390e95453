"""The certificate of an agent: its move in every position, and the exact results of these moves.

Anyone can recompute the results from the moves, without the model; `verify` does. The agent's name,
seed, configuration and times cannot be verified.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from tictactoe_env import match
from tictactoe_env.evaluation import evaluate
from tictactoe_env.files import write_file
from tictactoe_env.notation import board_text, cell_text, game_text, parse_board, parse_cell
from tictactoe_env.policy import MinimaxPolicy, Model, Policy, TabularPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import SIDES, Rules

FILE = "certificate.json"
FORMAT = 1
MAX_CELLS = 12  # of a board that is certified: 3x4 has 79,563 moves to write, 4x4 nine million
MAX_BYTES = 256 << 20  # of a certificate that is read; 3x4 needs about 4 MB


class CertificateError(ValueError):
    """A certificate that cannot be read, or whose results are not those of its moves."""


def check_board(rules: Rules) -> None:
    """Raises ValueError for a board of more than 12 cells."""
    if rules.cells > MAX_CELLS:
        raise ValueError(
            f"a board of {rules.rows}x{rules.cols} has too many positions for a certificate: "
            f"at most {MAX_CELLS} cells (3x4) can be proven, this one has {rules.cells}; "
            "results on larger boards are sampled"
        )


def exact_results(policy: Policy | Model, rules: Rules | None = None) -> dict[str, Any]:
    """The exact results of a policy, as JSON values.

    unbeatable: whether it never loses, on either side, whatever the opponent does.
    optimal: whether it is unbeatable and no unbeatable policy wins more often against random play.
    as_x, as_o: the same for each side. `vs_random` and `vs_minimax` are the results against
    uniformly random play and against minimax with random ties. `worst_case_value` and
    `worst_case_loss` are the value and the loss against a best response. `losing_line` is the
    shortest game that it loses, or null. `limit_vs_random` is the best achievable result against
    random play of a policy that never loses, or null.
    optimal_moves: the share of its probability on optimal moves, see `match.OptimalShare`.
    """
    rules = match.board_of(rules, policy)
    check_board(rules)
    table = tabulate(policy, rules)
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
            "vs_minimax": _rates(match.exact_result_as(side.upper(), table, minimax, rules)),
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


def certify(
    policy: Policy | Model, agent: str, rules: Rules | None = None, **about: Any
) -> dict[str, Any]:
    """The certificate of a policy as JSON values.

    about: further entries, such as seed, config and training. Raises ValueError for an entry that
    is computed from the moves.
    """
    rules = match.board_of(rules, policy)
    check_board(rules)
    table = tabulate(policy, rules)
    content: dict[str, Any] = {
        "format": FORMAT,
        "agent": agent,
        "board": {"rows": rules.rows, "cols": rules.cols, "k": rules.k},
        **exact_results(table),
        "seed": None,
        "config": {},
        "versions": versions(),
        "moves": moves_of(table),
    }
    computed = set(about) & (set(content) - {"seed", "config", "versions"})
    if computed:
        names = ", ".join(sorted(computed))
        raise ValueError(f"{names} cannot be given: a certificate computes them from the moves")
    content |= about
    content["sha256_of_moves"] = _digest(content["moves"])
    return content


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


def sides_of(content: Mapping[str, Any]) -> tuple[str, ...]:
    """The sides that a run was trained to play, by its configuration: ("X", "O") without one."""
    config = content.get("config")
    side = config.get("side") if isinstance(config, Mapping) else None
    return (str(side),) if side in SIDES else SIDES


def table_of(content: Mapping[str, Any]) -> TabularPolicy:
    """The policy of a certificate.

    Raises CertificateError if a position is missing or unknown or has no valid move.
    """
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
        boards = np.array([parse_board(text, rules) for text in moves])
        table = np.zeros((len(positions), rules.cells))
        for row, move in zip(positions.rows(boards), moves.values(), strict=True):
            for name, share in (move if isinstance(move, dict) else {move: 1.0}).items():
                if isinstance(share, bool) or not isinstance(share, (int, float)):
                    raise CertificateError(
                        f"the probability of {name} must be a number such as 0.5, got {share!r}"
                    )
                table[row, parse_cell(name, rules)] = share
        return TabularPolicy(rules, table[positions.unfinished])
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CertificateError(
            f"this is not a certificate: {type(error).__name__}: {error}"
        ) from error


def verify(content: Mapping[str, Any]) -> None:
    """Recompute every result from the moves.

    Raises CertificateError for the first result that differs, and for an unknown entry.
    """
    results = exact_results(_unchanged_table(content))
    for key, value in results.items():
        _compare(key, value, content.get(key, MISSING))
    unknown = set(content) - {*results, *STATED}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise CertificateError(f"unknown entries in the certificate, not verifiable: {names}")


# The entries of a certificate beside its results.
STATED = (
    *("format", "agent", "board", "seed", "config", "training", "versions"),
    *("moves", "sha256_of_moves"),
)
MISSING = "nothing"  # in place of a result that the certificate lacks


def check_digest(content: Mapping[str, Any]) -> None:
    """Raises CertificateError unless the sha256 of the moves is the one in the certificate.

    Legality of the moves is not checked.
    """
    if content.get("sha256_of_moves") != _digest(content.get("moves")):
        raise CertificateError(
            "the moves were changed after the certificate was written: their sha256 differs"
        )


def _unchanged_table(content: Mapping[str, Any]) -> TabularPolicy:
    table = table_of(content)
    check_digest(content)
    return table


def _compare(key: str, computed: Any, stated: Any) -> None:
    if isinstance(computed, dict) and isinstance(stated, Mapping):
        for name in [*computed, *(set(stated) - set(computed))]:
            _compare(f"{key}.{name}", computed.get(name, MISSING), stated.get(name, MISSING))
        return
    is_number = isinstance(stated, (int, float)) and not isinstance(stated, bool)
    if isinstance(computed, float) and is_number:
        is_same = computed - match.ROUNDING <= stated <= computed + match.ROUNDING  # NaN is not
    else:
        is_same = type(computed) is type(stated) and computed == stated
    if not is_same:
        raise CertificateError(
            f"{key} is {computed!r} when computed from the moves, but {stated!r} in the certificate"
        )


def write(content: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a certificate as JSON. After a crash the file is the old one or the new one."""
    text = json.dumps(content, indent=1)
    write_file(Path(path), lambda file: file.write(text.encode()))


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a certificate; `path` is its file or the folder of a run.

    Raises FileNotFoundError or CertificateError.
    """
    target = Path(path)
    target = target / FILE if target.is_dir() else target
    if not target.exists():
        raise FileNotFoundError(f"no certificate at {target}: expected a run's folder or a {FILE}")
    if target.stat().st_size > MAX_BYTES:
        raise CertificateError(
            f"{target} is larger than {MAX_BYTES >> 20} MB, the limit for a certificate"
        )
    try:
        content = json.loads(target.read_text(encoding="utf-8"), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{target} is damaged, it is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CertificateError(f"{target} is not a certificate of format {FORMAT}")
    return content


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(
            f"a name is repeated in the object of {', '.join(name for name, _ in pairs[:3])}, ..."
        )
    return found


def load_policy(path: str | os.PathLike[str], rules: Rules | None = None) -> TabularPolicy:
    """The policy of a saved run or certificate; ValueError if its board is not `rules`."""
    table = _unchanged_table(read(path))
    if rules is not None and table.rules != rules:
        raise ValueError(f"{path} plays on {table.rules}, not on {rules}")
    return table


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
