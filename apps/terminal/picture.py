"""The board at a terminal: coordinates, marks, numbers of free cells, and values of moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.text import Text

from apps.players.seat import EXPECTED, Thoughts
from tictactoe_env.games.analysis import Truth
from tictactoe_env.notation import MARKS, cell_text
from tictactoe_env.rules import Boards, Rules

STYLES = {"X": "bold color(39)", "O": "bold color(208)"}
WORTH_STYLES = {1: "green", 0: "yellow", -1: "red"}
MEANINGS = {
    EXPECTED: "wins minus losses against random moves, exact",
    "": "the probability of each move",
}
"""What the numbers are, in words; own values say it themselves."""
WORTH_WORDS = {1: "win", -1: "lose"}
EDGES = {
    False: (tuple("┌┬┐"), tuple("├┼┤"), tuple("└┴┘"), "─", "│"),
    True: (tuple("+++"), tuple("+++"), tuple("+++"), "-", "|"),
}


class Line(NamedTuple):
    """A line of text in a cell, with its style."""

    text: str
    style: str = ""


def picture(
    board: Boards,
    rules: Rules,
    console: Console,
    last: int | None = None,
    about: Sequence[Sequence[Line]] | None = None,
    taken: str = "",
) -> Text:
    """The board as text: the last move in brackets, a winning line with stars, free cells numbered.

              a     b     c
           ┌─────┬─────┬─────┐
         1 │  1  │  O  │ [X] │

    about: for each cell, the lines below the number of a free one. The cells are narrower on a
    narrow terminal, and on a still narrower one these lines are left out, which is said.
    taken: the mark of the last move if its cell was taken; it stands beside the other: "X[O]".
    """
    longest = max([3, *(len(line.text) for lines in about or () for line in lines)])
    margin, note = len(str(rules.rows)) + 1, ""
    needed = margin + 2 + (longest + 1) * rules.cols
    if about is not None and console.is_terminal and needed > console.width:
        note = f"\nThe values need a terminal of {needed} columns, this one has {console.width}."
        about, longest = None, 3
    won = set(rules.winning_cells(board))
    cells = [_cell(cell, int(board[cell]), last, won, about) for cell in range(rules.cells)]
    if taken and last is not None:
        cells[last] = [Line(f"{MARKS[int(board[last])]}[{taken}]", STYLES[taken])]
    height = max(map(len, cells))
    width = longest + 2 if margin + 2 + (longest + 3) * rules.cols <= console.width else longest
    width = max(width, 3 + len(taken))
    top, middle, bottom, across, down = EDGES[console.options.ascii_only]
    column_names = "".join(f" {cell_text(col, rules)[:-1]:^{width}}" for col in range(rules.cols))
    found = Text().append(f"{' ' * margin} {column_names}".rstrip() + "\n", "dim")
    for row in range(rules.rows):
        found.append(_edge(middle if row else top, across, width, margin, rules.cols), "dim")
        for part in range(height):
            is_middle = part == height // 2
            found.append(f"{row + 1 if is_middle else '':>{margin}} ", "dim").append(down, "dim")
            for cell in cells[row * rules.cols : (row + 1) * rules.cols]:
                line = _part(cell, part, height)
                text = line.text if len(line.text) <= width else line.text[1:-1]  # [X*]
                found.append(f"{text:^{width}}", line.style).append(down, "dim")
            found.append("\n")
    found.append(_edge(bottom, across, width, margin, rules.cols).rstrip("\n"), "dim")
    return found.append(note, "dim")


def _cell(
    cell: int, mark: int, last: int | None, won: set[int], about: Sequence[Sequence[Line]] | None
) -> list[Line]:
    """The lines of a cell, from the top."""
    if not mark:
        return [Line(str(cell + 1), "dim"), *(about[cell] if about is not None else ())]
    text = MARKS[mark]
    star = "*" * (cell in won)
    shown = f"[{text}{star}]" if cell == last else f" {text}{star}" if star else text
    return [Line(shown, STYLES[text] + (" reverse" if cell in won else ""))]


def _part(cell: Sequence[Line], part: int, height: int) -> Line:
    """The line of a cell at `part` of `height`; a single line stands in the middle."""
    at = part - (height - len(cell) + 1) // 2 if len(cell) == 1 else part
    return cell[at] if 0 <= at < len(cell) else Line("")


def _edge(corners: tuple[str, ...], across: str, width: int, margin: int, cols: int) -> str:
    left, cross, right = corners
    return " " * (margin + 1) + left + cross.join([across * width] * cols) + right + "\n"


def values_on_cells(
    rules: Rules, thoughts: Thoughts | None, truth: Truth | None
) -> list[list[Line]]:
    """The lines of each free cell when values are shown: the player's value and the exact result.

    thoughts: of the player, None to leave its values out; "?" is a value that it does not know.
    truth: None for boards too large to solve.
    """
    found: list[list[Line]] = [[] for _ in range(rules.cells)]
    for cell in range(rules.cells):
        prob = None if thoughts is None else thoughts.probs[cell]
        if thoughts is not None and prob is not None:
            value = thoughts.values[cell] if thoughts.values is not None else prob
            share = f"{100 * prob:.0f} %"
            known = "?" if value is None else number(value)
            found[cell].append(Line(share if thoughts.values is None else known))
        worth = truth.moves[cell] if truth is not None else None
        if worth is not None:
            found[cell].append(
                Line(
                    "draw"
                    if worth.value == 0
                    else f"{WORTH_WORDS[worth.value]} {worth.winner_moves}",
                    WORTH_STYLES[worth.value],
                )
            )
    return found


def number(value: float) -> str:
    """A value with its sign, such as "+0.93"; three significant digits from 100 on."""
    return f"{value + 0.0:+.2f}" if abs(value) < 100 else f"{value:+.3g}"


def legend(name: str, thoughts: Thoughts | None, truth: Truth | None, rules: Rules) -> str:
    """What the numbers and words in the cells mean."""
    lines = []
    if thoughts is not None:
        meaning = MEANINGS.get(thoughts.kind, thoughts.meaning)
        if thoughts.values is not None and None in _free(thoughts):
            meaning += " (? is unknown)"
        lines.append(f"numbers: {meaning}; {name} would play {_choices(thoughts, rules)}")
    if truth is not None:
        lines.append("words: the exact result; win 2 is a win with the winner's second move")
    return "\n".join(lines)


def _free(thoughts: Thoughts) -> list[float | None]:
    """The values of the free cells."""
    values = zip(thoughts.values or (), thoughts.probs, strict=False)
    return [value for value, prob in values if prob is not None]


def _choices(thoughts: Thoughts, rules: Rules) -> str:
    """The most probable moves of a player with their probabilities, at most four."""
    probs = np.array([0.0 if prob is None else prob for prob in thoughts.probs])
    order = [int(cell) for cell in np.argsort(-probs, kind="stable") if probs[cell] > 0]
    if len(order) == 1 and not thoughts.illegal:
        return cell_text(order[0], rules)
    if len(order) > 4 and np.ptp(probs[order]) < 1e-9:
        return f"one of {len(order)} moves" + (
            f", or a taken cell {100 * thoughts.illegal:.0f} %" if thoughts.illegal else ""
        )
    parts = [f"{cell_text(cell, rules)} {100 * probs[cell]:.0f} %" for cell in order[:4]]
    parts += ["..."] * (len(order) > 4) + [f"a taken cell {100 * thoughts.illegal:.0f} %"] * (
        thoughts.illegal > 0
    )
    return ", ".join(parts)
