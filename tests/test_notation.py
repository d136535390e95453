import numpy as np
import pytest
from any_games import any_rules
from hypothesis import given
from hypothesis import strategies as st
from text_cases import cases, refuses

from tictactoe_env.notation import (
    board_text,
    cell_text,
    check_move,
    game_text,
    parse_board,
    parse_cell,
    parse_game,
    replay,
)
from tictactoe_env.rules import IllegalMoveError, Rules

SQUARE, RECTANGLE = Rules(), Rules(2, 3, 2)


@st.composite
def games(draw):
    """A board of any size and a game on it, up to some move or to the end."""
    rules = draw(any_rules())
    order = draw(st.permutations(range(rules.cells)))
    cells, marks = [], ([], [])
    for cell in order[: draw(st.integers(0, rules.cells))]:
        cells.append(cell)
        mine = marks[len(cells) % 2]
        mine.append(cell)
        if any(set(line) <= set(mine) for line in rules.lines):
            break
    return rules, cells


@pytest.mark.parametrize(
    ("rules", "text", "board"),
    [
        (SQUARE, ".../.../...", [0] * 9),
        (SQUARE, "X.O/.X./...", [1, 0, -1, 0, 1, 0, 0, 0, 0]),
        (SQUARE, "XXX/OO./...", [1, 1, 1, -1, -1, 0, 0, 0, 0]),
        (RECTANGLE, "X.O/...", [1, 0, -1, 0, 0, 0]),
        (Rules(3, 2, 2), "X./.O/..", [1, 0, 0, -1, 0, 0]),
    ],
)
def test_a_board_is_its_rows_from_the_top(rules, text, board):
    assert parse_board(text, rules).tolist() == board
    assert parse_board(text, rules).dtype == np.int8
    assert board_text(np.array(board, dtype=np.int8), rules) == text


SIZE, LATE = (
    'must be {0} rows of {1} cells joined by "/", got',
    "nobody can have moved after it; got",
)
REFUSED = {
    SQUARE: cases(f"""
        X.O/.X.      | a board of 3x3 {SIZE.format(3, 3)} 'X.O/.X.'
        X.O/.X./.... | a board of 3x3 {SIZE.format(3, 3)} 'X.O/.X./....'
        x.O/.?./...  | must hold only "X", "O" and ".", got ['?', 'x'] in 'x.O/.?./...'
        X../X../...  | so a board has as many X as O or one more; got 2 X and 0 O in 'X../X../...'
        O../.../...  | X moves first, so a board has as many X as O or one more; got 0 X and 1 O in
        XXX/OOO/...  | both sides have 3 in a row in 'XXX/OOO/...'; the game ends at the first line
        XXX/OO./O..  | the game ends at the first line, so {LATE} 'XXX/OO./O..'
        OOO/XX./XX.  | the game ends at the first line, so {LATE} 'OOO/XX./XX.'
    """),
    RECTANGLE: [
        ("", f"a board of 2x3 {SIZE.format(2, 3)} ''"),
        ("X./O./..", f"a board of 2x3 {SIZE.format(2, 3)} 'X./O./..'"),
        ("X.X/...", "got 2 X and 0 O in 'X.X/...'"),
        ("XX./OO.", "both sides have 2 in a row in 'XX./OO.'; the game ends at the first line"),
        (7, 'a board must be text such as "X.O/.X./...", got 7 of type int'),
        (None, 'a board must be text such as "X.O/.X./...", got None of type NoneType'),
    ],
}


@pytest.mark.parametrize(
    ("rules", "text", "message"), [(rules, *case) for rules in REFUSED for case in REFUSED[rules]]
)
def test_a_text_that_is_no_board_is_refused_with_the_reason(rules, text, message):
    with refuses(message):
        parse_board(text, rules)


@pytest.mark.parametrize(
    ("rules", "cells", "names"),
    [
        (SQUARE, range(9), "a1 b1 c1 a2 b2 c2 a3 b3 c3"),
        (Rules(2, 4, 2), range(8), "a1 b1 c1 d1 a2 b2 c2 d2"),
        (Rules(1, 63, 3), (25, 26, 51, 52, 62), "z1 aa1 az1 ba1 bk1"),
        (Rules(20, 1, 3), (8, 9, 19), "a9 a10 a20"),
    ],
)
def test_a_cell_is_column_letters_and_a_row_number_from_the_top(rules, cells, names):
    assert [cell_text(cell, rules) for cell in cells] == names.split()


@given(any_rules())
def test_every_cell_has_its_own_name_and_is_found_by_it(rules):
    names = [cell_text(cell, rules) for cell in range(rules.cells)]
    assert len(set(names)) == rules.cells
    assert [parse_cell(name, rules) for name in names] == list(range(rules.cells))


@pytest.mark.parametrize(
    "text",
    ["", "b", "2", "2b", "d1", "a4", "a0", "a01", "b 2", "b-2", "ba1", "aaa1", "b2c", 4, None],
)
def test_a_name_that_is_no_cell_is_refused_and_capitals_and_blanks_are_forgiven(text):
    assert parse_cell(" B2 ", SQUARE) == 4
    with refuses(f'a cell of 3x3 is a column letter and a row number, "a1" to "c3", got {text!r}'):
        parse_cell(text, SQUARE)
    with refuses('a cell of 2x3 is a column letter and a row number, "a1" to "c2", got \'a3\''):
        parse_cell("a3", RECTANGLE)


@given(games())
def test_a_game_and_its_boards_become_text_and_come_back_with_one_more_mark_at_each_move(case):
    rules, cells = case
    assert parse_game(game_text(cells, rules), rules) == cells
    boards = replay(cells, rules)
    assert (boards.shape, boards.dtype) == ((len(cells) + 1, rules.cells), np.int8)
    assert not boards[0].any()
    marks = np.eye(rules.cells)[cells] * np.resize([1, -1], (len(cells), 1))
    assert np.array_equal(np.diff(boards, axis=0), marks)
    for board in boards:
        assert (parse_board(board_text(board, rules), rules) == board).all()


def test_a_game_reads_as_its_moves():
    assert parse_game("b2 a1 c3", SQUARE) == [4, 0, 8]
    assert parse_game("  b2   a1 ", SQUARE) == [4, 0]
    assert parse_game("", SQUARE) == []
    assert game_text([4, 0, 8], SQUARE) == "b2 a1 c3"
    assert board_text(replay([4, 0, 8], SQUARE)[-1], SQUARE) == "O../.X./..X"
    assert board_text(replay([5, 0], RECTANGLE)[-1], RECTANGLE) == "O../..X"


@pytest.mark.parametrize(
    ("game", "message"),
    cases("""
        b2 b2                   | cell 4 is taken in ".../.X./..." (O to move, legal: 0 1 2 3 5 6 7
        a1 b2 a1                | cell 0 is taken in "X../.O./..." (X to move, legal: 1 2 3 5 6 7 8)
        a1 a2 b1 b2 c1 c2       | the game is over on "XXX/OO./..." (X has won); start a new one
        a1 a2 b1 b2 c3 c2 c1    | the game is over on "XX./OOO/..X" (O has won); start a new one
        a1 b1 c1 b2 a2 c2 b3 a3 c3 a1 | the game is over on "XOX/XOO/OXX" (a draw); start a new one
    """),
)
def test_a_game_stops_at_its_first_illegal_move(game, message):
    with refuses(message, IllegalMoveError):
        parse_game(game, SQUARE)
    with refuses('cell 5 is taken in "O../..X" (X to move, legal: 1 2 3 4)', IllegalMoveError):
        parse_game("c2 a1 c2", RECTANGLE)
    with refuses('the game is over on "X.O/X.." (X has won)', IllegalMoveError):
        parse_game("a1 c1 a2 a1", RECTANGLE)


@pytest.mark.parametrize("cell", [-1, 9, 4.0, True])
def test_what_is_no_text_or_no_cell_is_refused(cell):
    with refuses("must be a whole number from 0 to 8, got"):
        replay([0, cell], SQUARE)
    with refuses('a game must be text such as "b2 a1 c3", got [4, 0] of type list'):
        parse_game([4, 0], SQUARE)
    with refuses('a cell of 3x3 is a column letter and a row number, "a1" to "c3", got \'e5\''):
        parse_game("b2 e5", SQUARE)


def test_a_legal_move_passes_the_check():
    assert check_move(np.zeros(9, dtype=np.int8), 0, SQUARE) is None
    assert check_move(np.zeros(6, dtype=np.int8), 5, RECTANGLE) is None
