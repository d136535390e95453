"""What players think of one position, beside the exact results: `evaluate.py --position`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.players.seat import EXPECTED, OWN, Seat, Thoughts
from apps.terminal.report import print_table, say
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import can_enumerate
from tictactoe_env.games.analysis import Truth, Worth, truth
from tictactoe_env.notation import SIDES, board_text, cell_text, parse_board
from tictactoe_env.render import ansi
from tictactoe_env.rules import Boards, Rules, to_move

if TYPE_CHECKING:
    from rich.console import Console

NONE = "-"  # in a column of a player that does not know this value, or of a board too large for it


def unfinished(text: str, rules: Rules) -> Boards:
    """The board (cells,) of a text. Raises ValueError for a wrong text and for a finished board."""
    board = parse_board(text, rules)
    # As integers: NumPy 1 has no `&` of a uint64 and an int.
    x, o = (int(bits) for bits in rules.to_bits(board))
    winner = "X" if rules.has_line(x) else "O" if rules.has_line(o) else None
    if winner or board.all():
        how = f"{winner} has won" if winner else "a draw"
        raise ValueError(f"the game is over on {text!r} ({how}): give a board with a move to make")
    return board


def examined(seats: Mapping[str, Seat], board: Boards, rules: Rules) -> dict[str, Any]:
    """What players think of an unfinished board (cells,), and the exact results, as JSON values.

    Cells are named, and only free ones are listed. `values` of a player holds each kind that it has
    ("own", "expected"); null is a value that it does not know. `truth` is null on boards of more
    than 16 cells.
    """
    found = truth(board, rules) if can_enumerate(rules) else None
    return {
        "board": board_text(board, rules),
        "k": rules.k,
        "to_move": SIDES[int(to_move(board) < 0)],
        "truth": None if found is None else _truth_json(found, rules),
        "agents": {name: _thoughts_json(seat, board, rules) for name, seat in seats.items()},
    }


def _truth_json(found: Truth, rules: Rules) -> dict[str, Any]:
    def worth(one: Worth) -> dict[str, Any]:
        return {**one._asdict(), "text": one.text}

    moves = {
        cell_text(cell, rules): worth(one)
        for cell, one in enumerate(found.moves)
        if one is not None
    }
    return {"position": worth(found.position), "moves": moves}


def _thoughts_json(seat: Seat, board: Boards, rules: Rules) -> dict[str, Any]:
    kinds = {kind: seat.thoughts(board, kind) for kind in seat.kinds}
    first = next(iter(kinds.values()), None) or seat.thoughts(board)

    def named(numbers: list[float | None] | None) -> dict[str, float | None]:
        assert numbers is not None
        free = np.flatnonzero(board == 0).tolist()
        return {cell_text(cell, rules): numbers[cell] for cell in free}

    values = {
        kind: {"meaning": one.meaning, "scale": list(one.scale), "values": named(one.values)}
        for kind, one in kinds.items()
    }
    about = {"illegal": first.illegal, "new": first.new}
    return {"probs": named(first.probs), **about, "values": values}


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
    rows = []
    for move, prob in found["probs"].items():
        values = (found["values"].get(kind, {"values": {}})["values"] for kind in (OWN, EXPECTED))
        shown = (value.get(move) for value in values)
        numbers = (NONE if value is None else f"{value + 0.0:+.4f}" for value in shown)
        text = NONE if exact is None else exact["moves"][move]["text"]
        rows.append([move, f"{100 * prob:.1f} %", *numbers, text])
    say(f"\n{printable(name)}", console, "bold")
    print_table(("move", "plays it", "own value", "against random", "truth"), rows, console)
    for kind, column in ((OWN, "own value"), (EXPECTED, "against random")):
        if kind in found["values"]:
            say(f"{column}: {printable(found['values'][kind]['meaning'])}", console)
    if OWN not in found["values"]:
        say("own value: it has none, only probabilities", console)
    if found["illegal"]:
        say(f"it makes an illegal move with probability {found['illegal']:.4f}", console)
    if found["new"]:
        say("it has never met this position in training", console)


def print_first_moves(thoughts: Thoughts, rules: Rules, console: Console) -> None:
    """Print a player's values of the first moves, drawn on the empty board, and what they are."""
    what = {
        OWN: f"own values of the first moves ({printable(thoughts.meaning)})",
        EXPECTED: "results of the first moves against random play (wins minus losses if it plays "
        "on like this, exact)",
    }
    if thoughts.values is None:
        return
    values = [np.nan if value is None else value for value in thoughts.values]
    say(f"\n{what[thoughts.kind]}", console)
    board = np.zeros(rules.cells, dtype=np.int8)
    console.print(ansi(board, rules, values=np.array(values)), highlight=False, markup=False)
