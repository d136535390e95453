"""The players' view of one position, beside the exact results: `evaluate.py --position`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from apps.players.seat import KINDS, OWN, Seat
from apps.terminal.report import print_table, say
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import can_enumerate
from tictactoe_env.games.analysis import analyse
from tictactoe_env.notation import SIDES, board_text, cell_text, check_move, parse_board
from tictactoe_env.render import ansi
from tictactoe_env.rules import Rules, to_move

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("own value", "against random")  # of KINDS
NONE = "-"  # in a column of a player that does not know this value, or of a board too large for it


def examine(seats: Mapping[str, Seat], text: str, rules: Rules, console: Console) -> None:
    """Print a board, and for each player a table of its moves there with their exact worth.

    The worth is left open on boards of more than 16 cells. Raises ValueError for a wrong text and
    for a finished board.
    """
    board = parse_board(text, rules)
    legal = rules.legal_cells(board)
    check_move(board, int(np.argmax(legal)), rules)
    exact = analyse(board, rules) if can_enumerate(rules) else None
    worth = f", who {exact.position.text} with best play" if exact else ""
    side = SIDES[int(to_move(board) < 0)]
    say(f'"{board_text(board, rules)}" on {rules}: {side} to move{worth}', console, "bold")
    say(ansi(board, rules), console)
    for name, seat in seats.items():
        shown = {kind: seat.thoughts(board, kind) for kind in seat.kinds}
        thoughts, rows = seat.thoughts(board), []
        for cell in np.flatnonzero(legal).tolist():
            values = (shown[kind].values if kind in shown else None for kind in KINDS)
            numbers = (one[cell] if one else None for one in values)
            texts = (NONE if number is None else f"{number + 0.0:+.4f}" for number in numbers)
            result = exact.moves[cell] if exact else None
            prob = f"{100 * (thoughts.probs[cell] or 0):.1f} %"
            rows.append([cell_text(cell, rules), prob, *texts, result.text if result else NONE])
        say(f"\n{printable(name)}", console, "bold")
        print_table(("move", "plays it", *COLUMNS, "truth"), rows, console)
        for kind, column in zip(KINDS, COLUMNS, strict=True):
            if kind in shown:
                say(f"{column}: {printable(shown[kind].meaning)}", console)
        if OWN not in shown:
            say("own value: it has none, only probabilities", console)
        if thoughts.illegal:
            say(f"it makes an illegal move with probability {thoughts.illegal:.4f}", console)
        if thoughts.new:
            say("it has never met this position in training", console)
