"""The moves of players beside the exact results: in one position, or in a whole game tree.

`examine` prints the moves of players in one position (`evaluate.py --position`). `tree_text`
follows the moves of one player from the empty board on, or the games that it has learned from
(`evaluate.py --tree`, and the menu of `play.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from apps.players.seat import KINDS, OWN, Seat, Thoughts
from apps.terminal.report import print_table, say
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.solver import can_solve, reason_unknown
from tictactoe_env.games.analysis import Analysis, GameValue, analyse
from tictactoe_env.notation import (
    SIDES,
    board_text,
    cell_text,
    check_move,
    parse_board,
    parse_moves,
    replay,
)
from tictactoe_env.policy import Policy
from tictactoe_env.render import ansi
from tictactoe_env.rules import Boards, GameState, Rules, game_state, other_side, side_to_move

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("own value", "against random")  # of KINDS
NONE = "-"  # in a column of a player that does not know this value, or of a board too large for it
MAX_LINES = 2_000  # of a tree
SCREEN = 20  # lines of a tree that fits a screen of 24, with its heading and a prompt
BOTH = "both"  # the trees of a player as X and as O
MET = "met"  # the tree of all games that a player has learned from, instead of a side
HEADING = "learned games through the position after a move: won/drawn/lost by its mover"
LEAST = 0.0005  # smallest probability of a move that is shown: 0.1 %, rounded


# --- one position ---------------------------------------------------------------------------------


def examine(seats: Mapping[str, Seat], text: str, rules: Rules, console: Console) -> None:
    """Print a board, and for each player a table of its moves there with their exact worth.

    Where the worth is not known, it says why. Raises ValueError for a wrong text and for a finished
    board.
    """
    board = board_after(text, rules)
    check_move(board, int(np.argmax(rules.legal_cells(board))), rules)
    exact = analyse(board, rules) if can_solve(rules) else None
    side = side_to_move(board)
    heading = f'"{board_text(board, rules)}" on {rules}: {side} to move'
    if exact is not None:
        heading += f", who {exact.position.text} with best play"
    say(heading, console, "bold")
    if exact is None:
        say(f"no exact results: {reason_unknown(rules)}", console)
    say(ansi(board, rules), console)
    for name, seat in seats.items():
        _print_moves(name, seat, board, exact, console)


def board_after(text: str, rules: Rules) -> Boards:
    """The board that a text draws, or the one after its moves, such as "dddc" or "b2 a1".

    Raises ValueError for any other text.
    """
    if "/" in text or set(text) <= set("XO. "):
        return parse_board(text, rules)
    return replay(parse_moves(text, rules, numbers_from=1), rules)[-1]


def _print_moves(
    name: str, seat: Seat, board: Boards, exact: Analysis | None, console: Console
) -> None:
    """Print the moves of a player on a board, and what its numbers mean."""
    rules = seat.rules
    thoughts = seat.thoughts(board)
    shown = {kind: seat.thoughts(board, kind) for kind in seat.kinds}
    rows = []
    for cell in np.flatnonzero(rules.legal_cells(board)).tolist():
        prob = f"{100 * (thoughts.probs[cell] or 0):.1f} %"
        values = [_value_text(shown.get(kind), cell) for kind in KINDS]
        rows.append([cell_text(cell, rules), prob, *values, _worth_text(exact, cell)])
    say(f"\n{printable(name)}", console, "bold")
    print_table(("move", "plays it", *COLUMNS, "truth"), rows, console)
    for kind, column in zip(KINDS, COLUMNS, strict=True):
        if kind in shown:
            say(f"{column}: {printable(shown[kind].meaning)}", console)
    if OWN not in shown:
        say("own value: it has none, only probabilities", console)
    if thoughts.illegal:
        say(f"it makes an illegal move with probability {thoughts.illegal:.4f}", console)
    if thoughts.off_lines:
        say("its own moves never lead here, so it moves at random", console)
    if thoughts.new:
        say("it has never met this position in training", console)


def _value_text(thoughts: Thoughts | None, cell: int) -> str:
    """A player's value of a move, with four decimals."""
    if thoughts is None or thoughts.values is None:
        return NONE
    value = thoughts.values[cell]
    return NONE if value is None else f"{value + 0.0:+.4f}"


def _worth_text(exact: Analysis | None, cell: int) -> str:
    """The exact worth of a move, in words."""
    worth = None if exact is None else exact.moves[cell]
    return NONE if worth is None else worth.text


# --- the game tree --------------------------------------------------------------------------------


def remembers(policy: Policy | None) -> bool:
    """True if a player knows which games it has learned from, as a trie does."""
    return hasattr(policy, "memory")


def tree_text(policy: Policy, rules: Rules, depth: int | None, side: str = BOTH) -> str:
    """The game tree up to a depth, one move per line, of a player as X, as O or as both in turn.

    A move of the player has its probability, and only moves that it makes are followed. Of the
    other side every legal move is followed. On boards of up to 12 cells each move has its exact
    worth. A tree ends after MAX_LINES lines, with a sentence. depth: None for the largest one that
    fits a screen, or has a line for each first move of the other side and one for the reply; but
    the first move of the player is always shown.

    side: MET, of a player that `remembers`, for the moves of its games and no others. A move has
    their number and results, and whether it is proven by them, besides its exact worth.
    """
    sides = SIDES if side == BOTH else [side]
    return "\n\n".join(_tree(policy, rules, depth, one) for one in sides)


def _tree(policy: Policy, rules: Rules, depth: int | None, side: str) -> str:
    """The tree as one side, or of the games that were met, below a line that says whose it is."""
    start = game_state([], rules)
    if depth is None:
        depth = _depth_that_fits(policy, start, side)
    lines = list(islice(_lines(policy, start, depth, side), MAX_LINES + 1))
    if len(lines) > MAX_LINES:
        lines[-1] = f"... the first {MAX_LINES:,} moves; a smaller depth shows all of it"
    if side in SIDES:
        heading = f"as {side}, against every move of {other_side(side)}:"
    else:
        heading = HEADING if lines else "it has learned from no game yet"
    return "\n".join([heading, *lines])


def _depth_that_fits(policy: Policy, start: GameState, side: str) -> int:
    """The depth of a tree by default, see `tree_text`."""
    depth = 2 if side == "O" else 1
    most = max(SCREEN, 2 * int(start.rules.legal_cells(start.board).sum()))
    while depth < start.rules.cells:
        deeper = islice(_lines(policy, start, depth + 1, side), most + 1)
        if len(list(deeper)) > most:
            break
        depth += 1
    return depth


def _lines(policy: Policy, now: GameState, depth: int, side: str) -> Iterator[str]:
    """The lines of the moves from a position on."""
    rules = now.rules
    board = now.board
    ply = len(now.moves)
    if now.mover is None or ply == depth:
        return
    is_own = side in (MET, now.mover)
    legal = rules.legal_cells(board)
    probs = policy.probs(board[None])[0] if is_own else legal
    shown = probs >= LEAST
    memory: Any = None
    if side == MET:
        memory = cast(Any, policy).memory(board)
        shown = memory.results.any(axis=1)
    worths: Sequence[GameValue | None] = [None] * rules.cells
    if rules.cells <= TABULATED:
        worths = analyse(board, rules).moves
    for cell in np.flatnonzero(shown).tolist():
        share = f"{100 * probs[cell]:.1f} %" if is_own else ""
        worth = worths[cell]
        text = ""
        if not legal[cell]:
            text = "is illegal: it loses"
        elif worth is not None:
            text = worth.text
        if memory is not None:
            text = f"{text:<24}{_games_text(memory.results[cell], memory.proven[cell])}"
        move = f"{'  ' * ply}{ply + 1}. {now.mover} {cell_text(cell, rules)}"
        yield f"{move}{share:>9}   {text}".rstrip()
        yield from _lines(policy, game_state([*now.moves, cell], rules), depth, side)


def _games_text(results: Sequence[int], proven: int) -> str:
    """The games through a move, for the side that makes it, and what they prove."""
    text = "/".join(map(str, results))
    if proven:
        outcome = "win" if proven > 0 else "loss"
        text += f"; proven {outcome}"
    return text
