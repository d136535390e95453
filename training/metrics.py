"""metrics.csv of a run: a row for each exact evaluation, written and read back."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tictactoe_env.exact.evaluation import Evaluation
from tictactoe_env.exact.match import Result
from tictactoe_env.exact.positions import TABULATED, can_enumerate
from tictactoe_env.files import DamagedFileError
from tictactoe_env.rules import SIDES, Rules
from training.files import csv_lines, write_bytes

FILE = "metrics.csv"
PROVEN = ("unbeatable_x", "unbeatable_o", "optimal_x", "optimal_o")
RESULTS_OF_GAMES = ("win", "draw", "loss", "illegal")
RATES = tuple(f"{side}_{name}" for side in "xo" for name in RESULTS_OF_GAMES)
SAMPLED = tuple(f"sampled_{side}" for side in "xo")  # on boards of more than 12 cells only
EXPLOITED = tuple(f"exploited_{side}" for side in "xo")  # a best response's win - loss
COLUMNS = ("steps", "seconds", *RATES, *PROVEN)
ALWAYS_WINS = {"X": "always_wins_x", "O": "always_wins_o"}  # where that side wins with best play
LATER = (*ALWAYS_WINS.values(), *SAMPLED)  # columns that some boards lack
RESULTS = (*COLUMNS, *LATER, *EXPLOITED)  # any further columns are notes of the learner
GROWTH = ("steps", "x_loss", "o_loss", "unbeatable_x", "unbeatable_o")  # what a chart needs
WHOLE = ("steps", *PROVEN, *LATER)
Row = dict[str, Any]


def row_of(steps: int, seconds: float, results: Evaluation, rules: Rules) -> Row:
    """The row of an evaluation, without the notes of the learner.

    A side that was sampled has no `exploited_x` or `exploited_o`.
    """
    row: Row = {"steps": steps, "seconds": round(seconds, 3)}
    for side, rates in (("x", results.x), ("o", results.o)):
        for name in RESULTS_OF_GAMES:
            row[f"{side}_{name}"] = getattr(rates, name)
    for name in PROVEN:
        row[name] = int(getattr(results, name))
    if results.winner:
        name = ALWAYS_WINS[results.winner]
        row[name] = int(getattr(results, name))
    if rules.cells > TABULATED:
        for side in SIDES:
            row[f"sampled_{side.lower()}"] = int(side in results.sampled)
    for side, value in results.exploited.items():
        row[f"exploited_{side.lower()}"] = value
    return row


def results_of(row: Row, rules: Rules) -> Evaluation:
    """The evaluation of a row."""
    rates = {
        side: Result(**{name: row[f"{side}_{name}"] for name in RESULTS_OF_GAMES}) for side in "xo"
    }
    proven: dict[str, Any] = {name: bool(row[name]) for name in PROVEN}
    proven |= {name: bool(row.get(name, 0)) for name in ALWAYS_WINS.values()}
    # Boards of up to 16 cells are solved: a row without a winner's column is of a draw.
    is_draw = can_enumerate(rules) or (row["unbeatable_x"] and row["unbeatable_o"])
    best_play_x = 0 if is_draw else None
    if ALWAYS_WINS["X"] in row:
        best_play_x = 1
    elif ALWAYS_WINS["O"] in row:
        best_play_x = -1
    return Evaluation(
        rates["x"],
        rates["o"],
        **proven,
        best_play_x=best_play_x,
        sampled=tuple(side for side in SIDES if row.get(f"sampled_{side.lower()}")),
        rules=rules,
    )


def write_metrics(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as CSV. A note that was not taken then is empty."""
    text = io.StringIO()
    columns = dict.fromkeys(name for row in rows for name in row) or COLUMNS
    writer = csv.DictWriter(text, list(columns))
    writer.writeheader()
    writer.writerows(rows)
    write_bytes(path, text.getvalue().encode())


def read_metrics(path: Path, columns: Sequence[str] = COLUMNS) -> list[Row]:
    """The rows of metrics.csv, or of a file with these columns; empty entries are left out.

    Raises FileNotFoundError, and DamagedFileError for anything that no run writes.
    """
    names, *lines = csv_lines(path) or [[]]
    if not set(columns) <= set(names):
        found = ", ".join(names)[:200]
        raise DamagedFileError(f"{path} is damaged: expected {', '.join(columns)}, got {found!r}")
    try:
        return [
            {
                name: int(text) if name in WHOLE else float(text)
                for name, text in zip(names, line, strict=True)
                if text
            }
            for line in lines
        ]
    except ValueError as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from None
