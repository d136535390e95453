"""The board at a terminal: coordinates, marks, numbers of free cells, and values of moves."""

from __future__ import annotations

from rich.box import Box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from apps.players.seat import Thoughts
from tictactoe_env.games.analysis import Analysis
from tictactoe_env.notation import MARKS, cell_text
from tictactoe_env.rules import Boards, Rules

STYLES = {"X": "bold color(39)", "O": "bold color(208)"}
WORTH = {1: ("win", "green"), 0: ("draw", "yellow"), -1: ("lose", "red")}
# The numbers of the rows stand left of the lines.
BOX = Box("    \n    \n ─┬┐\n  ││\n ─┼┤\n ─┼┤\n  ││\n ─┴┘\n")


def picture(
    board: Boards,
    rules: Rules,
    console: Console,
    last: int | None = None,
    taken: str = "",
    thoughts: Thoughts | None = None,
    exact: Analysis | None = None,
    name: str = "",
) -> Group:
    """The board: the last move in brackets, a winning line with stars, free cells numbered.

          a     b     c
      ──┬─────┬─────┬─────┐
      1 │  1  │  O  │ [X] │

    taken: the mark of the last move if its cell was taken; it stands beside the other: "X[O]".
    thoughts: of the player `name`; exact: the worth of the moves. Both stand on the free cells, and
    what they mean below the board. The cells are narrower on a narrow terminal.
    """
    won = rules.winning_cells(board)
    cells = []
    for cell, mark in enumerate(board.tolist()):
        text = MARKS[mark] + "*" * (cell in won)
        if cell == last:
            text = f"{text}[{taken}]" if taken else f"[{text}]"
        style = STYLES.get(taken if cell == last and taken else MARKS[mark], "")
        found = Text(text, style + " reverse" * (cell in won))
        cells.append(found if mark else _free_cell(cell, thoughts, exact))
    lines = (len(line) for cell in cells for line in cell.plain.split("\n"))
    longest = max(lines)
    width = max(5, longest + 1 + longest % 2) if 4 + 6 * rules.cols <= console.width else 3
    table = Table(box=BOX, show_lines=True, padding=0, border_style="dim", header_style="dim")
    table.add_column(style="dim", vertical="middle", justify="center", min_width=3)
    for col in range(rules.cols):
        heading = cell_text(col, rules)[:-1]
        table.add_column(heading, justify="center", vertical="middle", min_width=width)
    for row in range(rules.rows):
        table.add_row(str(row + 1), *cells[row * rules.cols : (row + 1) * rules.cols])
    legend = [f"numbers: {name}: {thoughts.meaning}"] if thoughts is not None else []
    if exact is not None:
        legend.append("words: the exact result; win 2 is a win with the winner's second move")
    return Group(table, *(Text(line, "dim") for line in legend))


def _free_cell(cell: int, thoughts: Thoughts | None, exact: Analysis | None) -> Text:
    """The number of a free cell, the player's value of it or its probability, and its worth."""
    found = Text(str(cell + 1), "dim")
    if thoughts is not None and thoughts.values is None:
        found.append(f"\n{100 * (thoughts.probs[cell] or 0):.0f} %", "not dim")
    elif thoughts is not None:
        value = (thoughts.values or [])[cell]
        found.append("\n?" if value is None else f"\n{number(value)}", "not dim")
    if exact is not None and (worth := exact.moves[cell]) is not None:
        word, style = WORTH[worth.value]
        text = f"\n{word} {worth.winner_moves}" if worth.value else f"\n{word}"
        found.append(text, f"not dim {style}")
    return found


def number(value: float) -> str:
    """A value with its sign, such as "+0.93"; three significant digits from 100 on."""
    return f"{value + 0.0:+.2f}" if abs(value) < 100 else f"{value:+.3g}"
