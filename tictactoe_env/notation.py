"""Text for boards, cells and games: "X.O/.X./..O", "b2", "b2 a1 c3".

A board is its rows from the top, joined by "/", with X, O and "." for a free cell. A cell is a
column letter and a row number from the top, so the 3x3 board reads

    a1 b1 c1
    a2 b2 c2
    a3 b3 c3

A game is its moves in order, X first, separated by spaces. Where pieces fall, a column's letter
names its lowest free cell: "d d c" is read as "d6 d5 c6" on 6x7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tictactoe_env.errors import one_of
from tictactoe_env.rules import (
    SIDES as SIDES,
)
from tictactoe_env.rules import (
    WIN,
    Boards,
    IllegalMoveError,
    Rules,
    other_side,
    side_to_move,
    standing,
)

MARKS = {1: "X", -1: "O", 0: "."}


def rules_text(rules: Rules) -> str:
    """A board by its rows, columns and marks in a row: "3x4x3". `parse_size` reads it.

    Fields that make a variant follow as "-name=value".
    """
    return "-".join([f"{rules.rows}x{rules.cols}x{rules.k}", *variant_words(rules)])


def variant_words(rules: Rules) -> list[str]:
    """The fields that make a variant as name=value, values as in JSON; none of a plain board."""
    return [f"{name}={json.dumps(value)}" for name, value in rules.variant.items()]


def parse_variant(words: Iterable[str]) -> dict[str, Any]:
    """The fields that `variant_words` wrote. ValueError for an unknown name or a wrong value."""
    found = {}
    for word in words:
        name, _, value = word.partition("=")
        one_of("field of a board", name, Rules.further_fields())
        found[name] = json.loads(value)
    return found


def lengths(rows: int, cols: int) -> range:
    """The marks in a row that may win on a board: from 3 on, or as many as the longer side has."""
    longest = max(rows, cols)
    return range(min(3, longest), longest + 1)


def parse_size(text: str) -> Rules:
    """The board of "4x4x3": rows, columns, and marks in a row, which may be left out of "3x3".

    Raises ValueError for any other text, and where several of `lengths` are possible: "4x4".
    """
    size, *variant = text.lower().split("-")
    found = re.fullmatch("([0-9]{1,2})x([0-9]{1,2})(?:x([0-9]{1,2}))?", size)
    if not found:
        raise ValueError(f"a board is rows x columns x marks in a row: 3x4x3, got {text!r:.60}")
    rows, cols = int(found[1]), int(found[2])
    possible = [int(found[3])] if found[3] else lengths(rows, cols)
    board = Rules(rows, cols, possible[0], **parse_variant(variant))
    if len(possible) > 1:
        first, *_, last = (f"{rows}x{cols}x{k}" for k in possible)
        raise ValueError(f"{rows}x{cols} does not say how many win: write {first} to {last}")
    return board


def board_text(board: Boards, rules: Rules) -> str:
    """The text of one board (cells,), such as "X.O/.X./..O"."""
    letters = [MARKS[mark] for mark in np.asarray(board).tolist()]
    starts = range(0, rules.cells, rules.cols)
    return "/".join("".join(letters[start : start + rules.cols]) for start in starts)


def parse_board(text: str, rules: Rules) -> Boards:
    """The board (cells,) int8 that `text` describes.

    Raises ValueError for the wrong size, for letters other than X, O and ".", for numbers of X and
    O that do not fit X's first move, for a line of a side that did not move last, since the game
    ends at the first line, and with gravity for a mark above a free cell.
    """
    rows = text.split("/") if isinstance(text, str) else []
    if len(rows) != rules.rows or any(len(row) != rules.cols for row in rows):
        size = f"a board of {rules.rows}x{rules.cols}"
        raise ValueError(f'{size} must be its rows joined by "/", got {text!r}')
    strange = sorted(set(text) - set("XO./"))
    if strange:
        raise ValueError(f'a board must hold only "X", "O" and ".", got {strange} in {text!r}')
    xs, os = text.count("X"), text.count("O")
    if xs - os not in (0, 1):
        raise ValueError(f"a board has as many X as O or one more X, got {xs} and {os}: {text!r}")
    board = np.array(["O.X".index(letter) - 1 for letter in "".join(rows)], dtype=np.int8)
    x, o = map(int, rules.to_bits(board))
    if rules.has_line(o if xs > os else x):
        raise ValueError(f"after the first line nobody can have moved, got {text!r}")
    if rules.floating(x | o):
        raise ValueError(f"with gravity no mark is above a free cell, got {text!r}")
    return board


def cell_text(cell: int, rules: Rules) -> str:
    """The name of a cell, such as "b2" for cell 4 of 3x3."""
    row, col = divmod(cell, rules.cols)
    letters = ""
    col += 1
    while col:
        col, letter = divmod(col - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return f"{letters}{row + 1}"


def parse_cell(text: str, rules: Rules) -> int:
    """The number of the cell with this name; ValueError if it is no cell of the board."""
    known = cells_by_name(rules)
    name = text.strip().lower() if isinstance(text, str) else ""
    if name not in known:
        names = f'"a1" to "{cell_text(rules.cells - 1, rules)}"'
        raise ValueError(f"a cell of {rules.rows}x{rules.cols} is one of {names}, got {text!r}")
    return known[name]


def game_text(cells: Sequence[int], rules: Rules) -> str:
    """The text of a whole or unfinished game, such as "b2 a1 c3"."""
    return " ".join(cell_text(cell, rules) for cell in cells)


def parse_cells(text: str, rules: Rules) -> list[int]:
    """The cells of "b2 a1 c3". Legality is not checked; ValueError for a name that is no cell.

    Where pieces fall, "b a c" are the columns into which they do.
    """
    if not isinstance(text, str):
        raise ValueError(f'a game must be text such as "b2 a1 c3", got {text!r:.200}')
    known = cells_by_name(rules)
    columns = columns_by_name(rules) if rules.gravity else {}
    cells: list[int] = []
    for name in text.split():
        if name in columns:
            column = range(columns[name], rules.cells, rules.cols)
            free = [cell for cell in column if cell not in cells]
            cells.append(max(free, default=column[0]))
        else:
            cells.append(known[name] if name in known else parse_cell(name, rules))
    return cells


def columns_by_name(rules: Rules) -> dict[str, int]:
    """The columns of a board by their letters, in their order."""
    return {cell_text(col, rules)[:-1]: col for col in range(rules.cols)}


@lru_cache(maxsize=256)
def cells_by_name(rules: Rules) -> dict[str, int]:
    """The cells of a board by their names, in their order."""
    return {cell_text(cell, rules): cell for cell in range(rules.cells)}


def parse_game(text: str, rules: Rules) -> list[int]:
    """The cells of a whole or unfinished game, every move checked.

    Raises ValueError for a name that is no cell, IllegalMoveError for a taken cell or a move after
    the end.
    """
    cells = parse_cells(text, rules)
    replay(cells, rules)
    return cells


def replay(cells: Sequence[int], rules: Rules) -> Boards:
    """The boards of a game, (moves + 1, cells) int8, the empty one first.

    Raises ValueError for a number that is no cell, IllegalMoveError for the first illegal move.
    """
    game = standing(cells, rules)
    if game.illegal is not None:
        check_move(game.board, cells[game.illegal], rules)
    boards = np.zeros((len(cells) + 1, rules.cells), dtype=np.int8)
    for ply, cell in enumerate(game.moves):
        boards[ply + 1 :, cell] = 1 - 2 * (ply % 2)
    return boards


def check_move(board: Boards, cell: int, rules: Rules) -> None:
    """Raises IllegalMoveError if `cell` is no legal move or the game is over.

    The message names the board, the side to move and the legal cells.
    """
    x, o = (int(bits) for bits in rules.to_bits(board))
    lines = (rules.has_line(x), rules.has_line(o))
    legal = rules.legal_cells(board)
    text = board_text(board, rules)
    if any(lines) or not legal.any():
        made_it = "O" if lines[1] else "X"
        winner = made_it if rules.line_result == WIN else other_side(made_it)
        how = f"{winner} has won" if any(lines) else "a draw"
        raise IllegalMoveError(f'the game is over on "{text}" ({how}); start a new one')
    if legal[cell]:
        return
    what = "taken" if board[cell] else "not legal"
    side = side_to_move(board)
    refused = f'{cell_text(cell, rules)} is {what} in "{text}"'
    names = game_text(np.flatnonzero(legal).tolist(), rules)
    raise IllegalMoveError(f"{refused} ({side} to move, legal: {names})")


# --- answers in words -----------------------------------------------------------------------------

# All repetitions are bounded, so that no text takes long to read.
_SIGN = r"""[\s"'`*_~$\\{}()\[\]<>|]"""
_SIGNS = f"{_SIGN}{{0,20}}"
_CELL = "(?<![a-z0-9])([a-z]{1,2}[0-9]{1,2})(?![a-z0-9])"
_ONE_CELL = re.compile(_CELL)
_NOUN = "answer|move|action|choice|decision|response|cell|square|position|column"
_NOT_MINE = ("/", "'s ", "'s next ", "'s last ", "'s first ", "last ", "first ", "your ", "worst ")
_LABEL = (
    "".join(f"(?<!{word})" for word in _NOT_MINE)
    + rf"\b(?:{_NOUN}){_SIGNS}(?:[:=>]|-+>|\bis\b|\b(?:will|would) be\b)"
    + rf"(?:{_SIGN}|[:=>-]|\b(?:to|at|in|on|the|is|play|take|mark|cell|square|column)\b){{0,30}}"
)
_BOXED = r"\\boxed\W{0,20}(?:text\W{0,20})?"
_IS_MINE = rf"\W{{1,20}}is (?:my|our) (?:[a-z]{{1,20}} )?(?:{_NOUN})\b"
_WHO = (
    r"(?:^|[.!?:;,\n]|\blet(?:'s| me)\b|\b(?:so|thus|therefore|hence)\b|\b(?:i|we)(?:'ll|'d|'m)?\b)"
    r"(?:\s{1,5}(?:i|we|i'll|i'm|am|will|shall|would|should|must|have to|need to|want to)){0,3}"
)
_PLAYS = (
    r"\s{0,5}\b(?:play|choose|pick|take|mark|select|go|place|put|drop|move|occupy|block"
    r"|playing|choosing|picking|taking|marking|selecting|going|placing|putting|dropping)\b"
)
_WHERE = (
    rf"(?:{_SIGN}|:|\b(?:with|for|at|in|on|into|to|the|my|a|an|mark|piece|disc|token|[xo]|cell"
    r"|square|cent(?:er|re)|corner|column)\b){0,30}"
)
_SO = r"\b(?:so|thus|therefore|hence)\b[\s,:]{0,5}"
_DOES = (
    "blocks|stops|prevents|wins|completes|takes|threatens|creates|makes|gives|is best"
    "|is the (?:best|only|right|winning|strongest|cent(?:er|re))"
)
_IS_FIRST = rf"(?={_SIGNS}(?:$|\n|[.!;\u2013\u2014]|-\s|(?:{_DOES})\b))"
_ENDS = (  # a name of one letter or number
    r"(?=[^\w\n]{0,20}(?:$|\n)|\s{0,5}[.,;!)\]}\"'`*<_]"
    r"|\s{1,5}(?:to|as|for|because|since|which|blocks|wins)\b)"
)
_REST = r"[^.!?;\n]*?(?=,\s{1,5}(?:so|thus|therefore|hence|but)\b|[.!?;\n]|$)"
_MY_REST = _REST.replace("but)", "but|i|i'll)")
_ASIDES = re.compile(
    r"\([^()]*\)"
    r"|(?:^|(?<=[.!?;\n]))\s{0,5}(?:because|since|as|to)\b[^.!?;,\n]*,"
    rf"|\b(?:if|when|unless|otherwise){_REST}"
    rf"|\b(?:because|since|which|while|instead of|rather than|as (?:it|this|that|the|[xo])\b"
    r"|to (?:block|stop|prevent|win|make|complete|threaten|avoid)\b"
    rf"|(?:block|stopp|prevent|threaten|mak|complet|creat)ing\b){_MY_REST}"
    rf"|\bnot\s{{1,5}}(?:(?:at|in|on|to|play|take)\s{{1,5}})?{_CELL}"
)


def named_cell(text: str, rules: Rules, board: Boards | None = None) -> int | None:
    """The cell that an answer means, in capitals or not; None if it means none of the board.

    An answer may give reasons before or after its move. The cell is the first of these:

    1. the last one that is called the answer or the move: "Answer: b2", "my move is b2",
       {"move": "b2"}, a box of LaTeX;
    2. the last one that is alone on its line;
    3. the last one that is said to be played: "I play b2", "so b2";
    4. the one that begins the text, if a sentence or "blocks", "wins" follows: "b2. It ...";
    5. the last one that is named.

    What stands in parentheses, or after "if", "because" or "not", counts in 3 to 5 only if no cell
    is left without it. What stands before "</think>" doesn't count.

    Where pieces fall, a column may stand for its lowest free cell on `board` (cells,), by default
    the empty one, and for its top cell if it is full: "column d" and "column 4" anywhere, "d" and
    "4" in 1 to 3.
    """
    columns = columns_by_name(rules) if rules.gravity else {}
    columns |= {str(number): col for number, col in enumerate([*columns.values()], 1)}
    text = text.lower().rpartition("</think>")[2].replace("\u2019", "'")
    cells = cells_by_name(rules)
    names = {*_ONE_CELL.findall(text)}
    if not columns and len(names) < 2:  # by whichever way
        return cells.get("".join(names))
    brief = _ASIDES.sub(" ", text)
    label, alone, stated, first, anywhere = _ways(" ".join(columns))
    for way, part in (
        (label, text),
        (alone, text),
        (stated, brief),
        (first, brief),
        (anywhere, brief),
        (anywhere, text),
    ):
        found = [next(filter(None, one.groups())) for one in way.finditer(part)]
        if way is anywhere:
            found = [name for name in found if name in cells or name in columns]
        if found and found[-1] in columns:
            return _landing(columns[found[-1]], rules, board)
        if found:
            return cells.get(found[-1])
    return None


def _landing(column: int, rules: Rules, board: Boards | None) -> int:
    """The lowest free cell of a column, or its top cell if there is none."""
    cells = range(column, rules.cells, rules.cols)
    free = cells if board is None else [cell for cell in cells if not board[cell]]
    return max(free, default=column)


@lru_cache(maxsize=256)
def _ways(columns: str) -> list[re.Pattern[str]]:
    """The ways to name a cell, as in `named_cell`; columns: all names of them, if pieces fall."""
    some = _CELL
    any_column = "(?!)"
    if columns:
        bare = columns.replace(" ", "|")
        any_column = rf"\bcol(?:umn)?(?:{_SIGN}|[:#.]){{1,20}}({bare})(?![a-z0-9])"
        some = rf"(?:{_CELL}|{any_column}|(?<![a-z0-9])({bare})(?![a-z0-9]){_ENDS})"
    edge = r"(?:[^\w\n]|_){0,20}"
    ways = (
        rf"(?:{_LABEL}|{_BOXED}){some}|{some}{_IS_MINE}",
        rf"^(?![ \t]*[-*+] ){edge}(?:cell |square )?{some}{edge}$",
        rf"(?:{_WHO}{_PLAYS}{_WHERE}|{_SO}){some}",
        rf"\A{_SIGNS}{some}{_IS_FIRST}",
        rf"{_CELL}|{any_column}",
    )
    return [re.compile(way, re.MULTILINE) for way in ways]
