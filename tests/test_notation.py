import numpy as np
import pytest
from any_games import any_games, any_rules
from hypothesis import given
from text_cases import cases, refuses

from tictactoe_env import notation
from tictactoe_env.notation import board_text, parse_board, parse_cell, parse_game, replay
from tictactoe_env.rules import IllegalMoveError, Rules

SQUARE, RECTANGLE = Rules(), Rules(2, 3, 2)


def test_a_board_is_its_rows_from_the_top():
    for rules, text, board in (
        (SQUARE, ".../.../...", [0] * 9),
        (SQUARE, "XXX/OO./...", [1, 1, 1, -1, -1, 0, 0, 0, 0]),
        (RECTANGLE, "X.O/...", [1, 0, -1, 0, 0, 0]),
        (Rules(3, 2, 2), "X./.O/..", [1, 0, 0, -1, 0, 0]),
    ):
        assert parse_board(text, rules).tolist() == board
        assert parse_board(text, rules).dtype == np.int8
        assert board_text(np.array(board, dtype=np.int8), rules) == text


ROWS = 'joined by "/", got'
LATE = "the game ends at the first line, so nobody can have moved after it; got"
REFUSED = cases(f"""
    3 | X.O/.X.      | a board of 3x3 must be 3 rows of 3 cells {ROWS} 'X.O/.X.'
    3 | X.O/.X./.... | a board of 3x3 must be 3 rows of 3 cells {ROWS} 'X.O/.X./....'
    3 | x.O/.?./...  | must hold only "X", "O" and ".", got ['?', 'x'] in 'x.O/.?./...'
    3 | X../X../...  | so a board has as many X as O or one more; got 2 X and 0 O in 'X../X../...'
    3 | O../.../...  | X moves first, so a board has as many X as O or one more; got 0 X and 1 O in
    3 | XXX/OOO/...  | both sides have 3 in a row in 'XXX/OOO/...'; the game ends at the first line
    3 | XXX/OO./O..  | {LATE} 'XXX/OO./O..'
    3 | OOO/XX./XX.  | {LATE} 'OOO/XX./XX.'
    2 | -            | a board of 2x3 must be 2 rows of 3 cells {ROWS} ''
    2 | X./O./..     | a board of 2x3 must be 2 rows of 3 cells {ROWS} 'X./O./..'
    2 | X.X/...      | got 2 X and 0 O in 'X.X/...'
    2 | XX./OO.      | both sides have 2 in a row in 'XX./OO.'; the game ends at the first line
""")


@pytest.mark.parametrize(("rows", "text", "message"), REFUSED)
def test_a_text_that_is_no_board_is_refused_with_the_reason(rows, text, message):
    with refuses(message):
        parse_board(text.strip("-"), Rules(int(rows), 3, int(rows)))
    with refuses('a board must be text such as "X.O/.X./...", got None of type NoneType'):
        parse_board(None, SQUARE)


def test_a_cell_is_column_letters_and_a_row_number_from_the_top():
    for rules, cells, names in (
        (SQUARE, range(9), "a1 b1 c1 a2 b2 c2 a3 b3 c3"),
        (Rules(2, 4, 2), range(8), "a1 b1 c1 d1 a2 b2 c2 d2"),
        (Rules(1, 63, 3), (25, 26, 51, 52, 62), "z1 aa1 az1 ba1 bk1"),
        (Rules(20, 1, 3), (8, 9, 19), "a9 a10 a20"),
    ):
        assert [notation.cell_text(cell, rules) for cell in cells] == names.split()


@given(any_rules())
def test_every_cell_is_found_by_its_name(rules):
    names = [notation.cell_text(cell, rules) for cell in range(rules.cells)]
    assert [parse_cell(name, rules) for name in names] == list(range(rules.cells))


NO_CELLS = ["b", "2", "2b", "d1", "a4", "a0", "a01", "b 2", "b-2", "ba1", "aaa1", "b2c"]
CELL = "is a column letter and a row number,"


@pytest.mark.parametrize("text", ["", 4, None, *NO_CELLS])
def test_a_name_that_is_no_cell_is_refused_and_capitals_and_blanks_are_forgiven(text):
    assert parse_cell(" B2 ", SQUARE) == 4
    with refuses(f'a cell of 3x3 {CELL} "a1" to "c3", got {text!r}'):
        parse_cell(text, SQUARE)
    with refuses(f'a cell of 2x3 {CELL} "a1" to "c2", got \'a3\''):
        parse_cell("a3", RECTANGLE)


@given(any_games())
def test_the_boards_of_a_game_have_one_more_mark_at_each_move_and_come_back_from_text(game):
    rules, cells = game.rules, list(game.moves[: len(game.moves) - (game.ended == "illegal")])
    boards = replay(cells, rules)
    assert (boards.shape, boards.dtype) == ((len(cells) + 1, rules.cells), np.int8)
    assert not boards[0].any()
    marks = np.eye(rules.cells)[cells] * np.resize([1, -1], (len(cells), 1))
    assert np.array_equal(np.diff(boards, axis=0), marks)
    for board in boards:
        assert (parse_board(board_text(board, rules), rules) == board).all()


def test_a_game_reads_as_its_moves():
    assert parse_game("  b2   a1 ", SQUARE) == [4, 0]
    assert notation.game_text([4, 0, 8], SQUARE) == "b2 a1 c3"
    assert board_text(replay([4, 0, 8], SQUARE)[-1], SQUARE) == "O../.X./..X"
    assert board_text(replay([5, 0], RECTANGLE)[-1], RECTANGLE) == "O../..X"
    assert notation.check_move(np.zeros(6, dtype=np.int8), 5, RECTANGLE) is None


ILLEGAL = cases("""
    3 | b2 b2                         | cell 4 is taken in ".../.X./..." (O to move, legal: 0 1 2 3
    3 | a1 b2 a1                      | cell 0 is taken in "X../.O./..." (X to move, legal: 1 2 3 5
    3 | a1 a2 b1 b2 c1 c2             | the game is over on "XXX/OO./..." (X has won); start a new
    3 | a1 a2 b1 b2 c3 c2 c1          | the game is over on "XX./OOO/..X" (O has won); start a new
    3 | a1 b1 c1 b2 a2 c2 b3 a3 c3 a1 | the game is over on "XOX/XOO/OXX" (a draw); start a new one
    2 | c2 a1 c2                      | cell 5 is taken in "O../..X" (X to move, legal: 1 2 3 4)
    2 | a1 c1 a2 a1                   | the game is over on "X.O/X.." (X has won)
""")


@pytest.mark.parametrize(("rows", "game", "message"), ILLEGAL)
def test_a_game_stops_at_its_first_illegal_move(rows, game, message):
    with refuses(message, error=IllegalMoveError):
        parse_game(game, Rules(int(rows), 3, int(rows)))


@pytest.mark.parametrize("cell", [-1, 9, 4.0, True])
def test_what_is_no_text_or_no_cell_is_refused(cell):
    with refuses("must be a whole number from 0 to 8, got"):
        replay([0, cell], SQUARE)
    with refuses('a game must be text such as "b2 a1 c3", got [4, 0] of type list'):
        parse_game([4, 0], SQUARE)
