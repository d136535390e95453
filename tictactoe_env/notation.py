"""Text for boards, cells and games: "X.O/.X./..O", "b2", "b2 a1 c3".

A board is its rows from the top, joined by "/", with X, O and "." for a free cell. A cell is a
column letter and a row number from the top, so the 3x3 board reads

    a1 b1 c1
    a2 b2 c2
    a3 b3 c3

A game is its moves in order, X first, separated by spaces. Where pieces fall, a column's letter
names its lowest free cell: "d d c" is read as "d6 d5 c6" on 6x7. `parse_moves` reads what other
programs write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tictactoe_env.errors import one_of, whole_number
from tictactoe_env.rules import SIDES as SIDES
from tictactoe_env.rules import (
    SIZES,
    WIN,
    Boards,
    IllegalMoveError,
    Rules,
    game_state,
    other_side,
    side_to_move,
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


def parse_size(text: str) -> Rules:
    """The board of "4x4x3": rows, columns, and marks in a row, which may be left out of "3x3".

    Raises ValueError for any other text.
    """
    size, *variant = text.lower().split("-")
    if not re.fullmatch("[0-9]{1,2}x[0-9]{1,2}(x[0-9]{1,2})?", size):
        raise ValueError(f"a board is rows x columns x marks in a row: 3x4x3, got {text!r:.60}")
    numbers = map(int, size.split("x"))
    sizes: dict[str, Any] = dict(zip(SIZES, numbers, strict=False))  # k may be left out
    return Rules(**sizes, **parse_variant(variant))


def board_text(board: Boards, rules: Rules) -> str:
    """The text of one board (cells,), such as "X.O/.X./..O"."""
    letters = [MARKS[mark] for mark in np.asarray(board).tolist()]
    starts = range(0, rules.cells, rules.cols)
    return "/".join("".join(letters[start : start + rules.cols]) for start in starts)


def parse_board(text: str, rules: Rules) -> Boards:
    """The board (cells,) int8 that `text` describes. A space is a free cell too: "XOO/X  /X  ".

    Raises ValueError for the wrong size, for other letters than these, and for a board that play
    cannot reach: with numbers of X and O that do not fit X's first move, with a line before
    the last move, or with gravity with pieces that cannot have fallen so.
    """
    rows = str(text).split("/")
    has_rows = [len(row) for row in rows] == [rules.cols] * rules.rows
    if not (isinstance(text, str) and has_rows):
        size = f"a board of {rules.rows}x{rules.cols}"
        raise ValueError(f'{size} must be its rows joined by "/", got {text!r}')
    strange = sorted(set(text) - set("XO. /"))
    if strange:
        raise ValueError(f'a board must hold only "X", "O" and ".", got {strange} in {text!r}')
    letters = "".join(rows).replace(" ", ".")
    board = np.array(["O.X".index(letter) - 1 for letter in letters], dtype=np.int8)
    from tictactoe_env.reachable import unreachable  # imported here because few need it

    if found := unreachable(board[None], rules):
        raise ValueError(f"{found.why}, got {text!r}")
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
    name = str(text).strip().lower()
    if name not in known:
        names = f'"a1" to "{cell_text(rules.cells - 1, rules)}"'
        raise ValueError(f"a cell of {rules.rows}x{rules.cols} is one of {names}, got {text!r:.60}")
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
    columns = columns_by_name(rules)
    cells: list[int] = []
    for name in text.split():
        if name in known:
            cells.append(known[name])
        elif rules.gravity and name.lower() in columns:
            column = range(columns[name.lower()], rules.cells, rules.cols)
            free = [cell for cell in column if cell not in cells]
            cells.append(max(free, default=column[0]))
        elif rules.gravity and name.lower() not in known:
            letters = f'"a" to "{[*columns][-1]}"'
            expected = f"a column, {letters}, or a cell such as a1"
            raise ValueError(f"a move is {expected}, got {name!r:.60}")
        else:
            cells.append(parse_cell(name, rules))
    return cells


def parse_moves(moves: Any, rules: Rules, numbers_from: int | None = None) -> list[int]:
    """The cells of moves as other programs write them, in a text or a list.

    The moves are cells, columns where pieces fall, or numbers of one or the other. numbers_from: 0
    or 1, the first number; cells count row by row. A text may have commas, semicolons and numbers
    of turns ("1. b2 a1 2. c1"), or nothing between its moves: "b2a1c1", "ddc", and "4433556" where
    all numbers have one digit.

    Legality is not checked. Raises ValueError for what is no cell or column of the board, and for
    numbers without `numbers_from`.
    """
    if isinstance(moves, str):
        words = _words(moves.lower(), rules)
    elif isinstance(moves, list) and all(isinstance(move, (int, str)) for move in moves):
        words = [str(move).strip().lower() for move in moves]
    else:
        expected = 'a text such as "b2 a1", or a list of cells or numbers'
        raise ValueError(f"moves must be {expected}, got {moves!r:.200}")
    if words and all(map(str.isdecimal, words)):
        words = _names(words, rules, numbers_from)
    return parse_cells(" ".join(words), rules)


def _words(text: str, rules: Rules) -> list[str]:
    """The moves of a text, each as one word."""
    words = text.split()
    if cells_by_name(rules).keys() >= set(words):  # most texts
        return words
    without_turns = re.sub(r"(?<!\S)[0-9]+\.+(?![0-9.])", " ", text)
    words = re.findall(r"[^\s,;]+", without_turns)
    has_short_numbers = (rules.cols if rules.gravity else rules.cells) < 10
    if has_short_numbers and len(words) == 1 and words[0].isdecimal():
        return [*words[0]]
    if rules.cols > 26:  # where "aa" is a column, too
        return words
    move = "[a-z][0-9]{1,2}|[a-z]" if rules.gravity else "[a-z][0-9]{1,2}"
    split: list[str] = []
    for word in words:
        parts = re.findall(move, word)
        split += parts if "".join(parts) == word else [word]
    return split


def _names(numbers: list[str], rules: Rules, numbers_from: int | None) -> list[str]:
    """The names of columns or cells by their numbers, which count from 0 or from 1."""
    if numbers_from not in (0, 1):
        got = " ".join(numbers)
        do = "import them with --numbers-from 0 or --numbers-from 1"
        raise ValueError(f"numbers of moves count from 0 or from 1: {do}, got {got!r:.200}")
    # Where pieces fall, a first move that is a cell is in the lowest row, after all columns.
    is_column = rules.gravity and int(numbers[0]) < rules.cols + numbers_from
    names = [*(columns_by_name(rules) if is_column else cells_by_name(rules))]
    what = "the number of a column" if is_column else "the number of a cell"
    last = numbers_from + len(names) - 1
    counted = [whole_number(int(number), what, numbers_from, last) for number in numbers]
    return [names[number - numbers_from] for number in counted]


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
    game = game_state(cells, rules)
    if game.illegal is not None:
        is_column = text.lower().split()[game.illegal] in columns_by_name(rules)
        check_move(game.board, cells[game.illegal], rules, is_column)
    return cells


def replay(cells: Sequence[int], rules: Rules) -> Boards:
    """The boards of a game, (moves + 1, cells) int8, the empty one first.

    Raises ValueError for a number that is no cell, IllegalMoveError for the first illegal move.
    """
    game = game_state(cells, rules)
    if game.illegal is not None:
        check_move(game.board, cells[game.illegal], rules)
    boards = np.zeros((len(cells) + 1, rules.cells), dtype=np.int8)
    for ply, cell in enumerate(game.moves):
        boards[ply + 1 :, cell] = 1 - 2 * (ply % 2)
    return boards


def check_move(board: Boards, cell: int, rules: Rules, is_column: bool = False) -> None:
    """Raises IllegalMoveError if `cell` is no legal move or the game is over.

    The message names the board, the side to move and the legal cells, or the columns if the move
    was given as one.
    """
    text = board_text(board, rules)
    legal = rules.legal_cells(board)
    if ended := _how_ended(board, rules):
        raise IllegalMoveError(f'the game is over on "{text}" ({ended}); start a new one')
    if legal[cell]:
        return
    if is_column:
        letters = [*columns_by_name(rules)]
        refused = f"column {letters[cell % rules.cols]} is full"
        names = " ".join(letters[column] for column in np.flatnonzero(rules.open_columns(legal)))
    else:
        what = "taken" if board[cell] else "not legal"
        refused = f"{cell_text(cell, rules)} is {what}"
        names = game_text(np.flatnonzero(legal).tolist(), rules)
    side = side_to_move(board)
    raise IllegalMoveError(f'{refused} in "{text}" ({side} to move, legal: {names})')


def _how_ended(board: Boards, rules: Rules) -> str:
    """How a game has ended on a board (cells,), such as "X has won"; "" while it goes on."""
    for side, marks in zip(SIDES, rules.to_bits(board), strict=True):
        if rules.has_line(int(marks)):
            return f"{side if rules.line_result == WIN else other_side(side)} has won"
    return "" if rules.legal_cells(board).any() else "a draw"


def named_cell(text: str, rules: Rules, board: Boards | None = None) -> int | None:
    """The cell that an answer in words means; None if it means none of the board.

    `answers.named_move` says which name counts. Where pieces fall, a column may stand for its
    lowest free cell on `board` (cells,), by default the empty one, and for its top cell if it is
    full: "column d", "d" and "4".
    """
    from tictactoe_env.answers import named_move  # imported here because few players speak

    shown = np.zeros(rules.cells, dtype=np.int8) if board is None else board
    columns = landings(shown, rules)
    moves = cells_by_name(rules) | columns
    if board is None:
        name = named_move(text, moves, columns)
    else:
        legal = rules.legal_cells(board)
        legal_names = [name for name, cell in moves.items() if legal[cell]]
        name = named_move(text, legal_names, columns, side_to_move(board).lower())
    return moves.get(name or "")


def landings(board: Boards, rules: Rules) -> dict[str, int]:
    """Where a piece lands on a board (cells,), by the letter and the number of each column.

    A full column stands for its top cell. Empty where pieces do not fall.
    """
    if not rules.gravity:
        return {}
    cells = rules.landing(rules.legal_cells(board)).tolist()
    names = [*columns_by_name(rules), *map(str, range(1, rules.cols + 1))]
    return dict(zip(names, cells + cells, strict=True))
