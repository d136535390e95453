"""What players think of one position, beside the exact results: `evaluate.py --position`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.players.seat import KINDS, OWN, Seat
from apps.terminal.report import print_table, say
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import can_enumerate
from tictactoe_env.games.analysis import Worth, truth
from tictactoe_env.notation import SIDES, board_text, cell_text, check_move, parse_board
from tictactoe_env.render import ansi
from tictactoe_env.rules import Boards, Rules, to_move

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("own value", "against random")  # of KINDS
NONE = "-"  # in a column of a player that does not know this value, or of a board too large for it


def unfinished(text: str, rules: Rules) -> Boards:
    """The board (cells,) of a text. Raises ValueError for a wrong text and for a finished board."""
    board = parse_board(text, rules)
    check_move(board, int(np.argmin(board != 0)), rules)
    return board


def examined(seats: Mapping[str, Seat], board: Boards, rules: Rules) -> dict[str, Any]:
    """What players think of an unfinished board (cells,), and the exact results, as JSON values.

    Cells are named, and only free ones are listed. `values` of a player holds each kind that it has
    ("own", "expected"); null is a value that it does not know. `truth` is null on boards of more
    than 16 cells.
    """
    free = {cell_text(cell, rules): cell for cell in np.flatnonzero(board == 0).tolist()}

    def named(cells: Sequence[Any] | None) -> dict[str, Any]:
        return {name: cells[cell] for name, cell in free.items()} if cells else {}

    def worth(one: Worth | None) -> dict[str, Any]:
        return {**one._asdict(), "text": one.text} if one else {}

    agents, exact = dict[str, Any](), None
    for name, seat in seats.items():
        first, kinds = seat.thoughts(board), [seat.thoughts(board, kind) for kind in seat.kinds]
        agents[name] = {
            "probs": named(first.probs),
            "illegal": first.illegal,
            "new": first.new,
            "values": {
                one.kind: {"meaning": one.meaning, "scale": one.scale, "values": named(one.values)}
                for one in kinds
            },
        }
    if can_enumerate(rules):
        found = truth(board, rules)
        exact = {"position": worth(found.position), "moves": named([*map(worth, found.moves)])}
    return {
        "board": board_text(board, rules),
        "k": rules.k,
        "to_move": SIDES[int(to_move(board) < 0)],
        "truth": exact,
        "agents": agents,
    }


def print_examined(found: Mapping[str, Any], rules: Rules, console: Console) -> None:
    """Print the result of `examined`: the board, and a table for each player."""
    board, exact = parse_board(found["board"], rules), found["truth"]
    worth = f", who {exact['position']['text']}" if exact else ""
    best = " with best play" if exact else "; too large for exact results"
    say(f'"{found["board"]}" on {rules}: {found["to_move"]} to move{worth}{best}', console, "bold")
    console.print(ansi(board, rules), highlight=False, markup=False)
    for name, thoughts in found["agents"].items():
        _print_thoughts(name, thoughts, exact, console)


def _print_thoughts(
    name: str, found: Mapping[str, Any], exact: Mapping[str, Any] | None, console: Console
) -> None:
    rows, values = [], found["values"]
    for move, prob in found["probs"].items():
        shown = (values[kind]["values"][move] if kind in values else None for kind in KINDS)
        numbers = (NONE if value is None else f"{value + 0.0:+.4f}" for value in shown)
        text = NONE if exact is None else exact["moves"][move]["text"]
        rows.append([move, f"{100 * prob:.1f} %", *numbers, text])
    say(f"\n{printable(name)}", console, "bold")
    print_table(("move", "plays it", *COLUMNS, "truth"), rows, console)
    for kind, column in zip(KINDS, COLUMNS, strict=True):
        if kind in values:
            say(f"{column}: {printable(values[kind]['meaning'])}", console)
    if OWN not in values:
        say("own value: it has none, only probabilities", console)
    if found["illegal"]:
        say(f"it makes an illegal move with probability {found['illegal']:.4f}", console)
    if found["new"]:
        say("it has never met this position in training", console)
