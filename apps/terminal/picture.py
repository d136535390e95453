"""The board at a terminal: coordinates, marks, numbers of free cells, and values of moves."""

from __future__ import annotations

from rich.box import Box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from apps.players.seat import Thoughts
from tictactoe_env.exact.solver import reason_unknown
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
    """The board: the last move in brackets, a winning line with stars, legal cells numbered.

          a     b     c
      ──┬─────┬─────┬─────┐
      1 │  1  │  O  │ [X] │

    taken: the mark of the last move if its cell was taken; it stands beside the other: "X[O]".
    thoughts: of the player `name`; exact: the worth of the moves. Both stand on the free cells, and
    what they mean below the board. The cells are narrower on a narrow terminal.
    """
    won = rules.winning_cells(board)
    legal = rules.legal_cells(board)
    cells = []
    for cell, mark in enumerate(board.tolist()):
        if mark == 0:
            cells.append(_free_cell(cell, rules, thoughts, exact) if legal[cell] else Text(""))
        else:
            cells.append(_marked_cell(MARKS[mark], cell in won, cell == last, taken))
    longest = max(len(line) for cell in cells for line in cell.plain.split("\n"))
    next_odd = longest + 1 + longest % 2  # a mark stands in the middle
    is_wide = 4 + 6 * rules.cols <= console.width
    width = max(5, next_odd) if is_wide else 3
    legend = []
    if thoughts is not None:
        legend.append(f"numbers: {name}: {thoughts.meaning}")
    if exact is not None:
        legend.append("words: the exact result; win 2 is a win with the winner's second move")
    elif thoughts is not None and (unknown := reason_unknown(rules)):
        legend.append(f"no exact results: {unknown}")
    return Group(_table(cells, rules, width), *(Text(line, "dim") for line in legend))


def _table(cells: list[Text], rules: Rules, width: int) -> Table:
    """The cells in their rows and columns, with the letters and numbers of these."""
    table = Table(box=BOX, show_lines=True, padding=0, border_style="dim", header_style="dim")
    table.add_column(style="dim", vertical="middle", justify="center", min_width=3)
    for col in range(rules.cols):
        heading = cell_text(col, rules)[:-1]
        table.add_column(heading, justify="center", vertical="middle", min_width=width)
    for row in range(rules.rows):
        first = row * rules.cols
        table.add_row(str(row + 1), *cells[first : first + rules.cols])
    return table


def _marked_cell(mark: str, is_won: bool, is_last: bool, taken: str) -> Text:
    """The mark of a cell: with a star in a line that has won, in brackets after the last move.

    taken: the mark of the last move if its cell was taken.
    """
    text = mark
    style = STYLES[mark]
    if is_won:
        text += "*"
    if is_last and taken:
        text += f"[{taken}]"
        style = STYLES[taken]
    elif is_last:
        text = f"[{text}]"
    if is_won:
        style += " reverse"
    return Text(text, style)


def _free_cell(cell: int, rules: Rules, thoughts: Thoughts | None, exact: Analysis | None) -> Text:
    """The number of a legal cell, the player's value of it or its probability, and its worth.

    Where pieces fall it is the number of the column.
    """
    number = cell % rules.cols if rules.gravity else cell
    found = Text(str(number + 1), "dim")
    if thoughts is not None:
        found.append(f"\n{_thought(thoughts, cell)}", "not dim")
    if exact is not None and (worth := exact.moves[cell]) is not None:
        word, style = WORTH[worth.value]
        if worth.value != 0:
            word += f" {worth.winner_moves}"
        found.append(f"\n{word}", f"not dim {style}")
    return found


def _thought(thoughts: Thoughts, cell: int) -> str:
    """The value of a move, or its probability for a player without values."""
    if thoughts.values is None:
        return f"{100 * (thoughts.probs[cell] or 0):.0f} %"
    value = thoughts.values[cell]
    return "?" if value is None else number(value)


def number(value: float) -> str:
    """A value with its sign, such as "+0.93"; three significant digits from 100 on."""
    if abs(value) < 100:
        return f"{value + 0.0:+.2f}"  # + 0.0 makes 0 of -0
    return f"{value:+.3g}"
