import numpy as np
import pytest
from any_games import any_games, any_rules
from hypothesis import given, settings
from text_cases import cases, refuses

from tictactoe_env import notation
from tictactoe_env.notation import (
    board_text,
    game_text,
    parse_board,
    parse_cell,
    parse_game,
    parse_size,
    replay,
)
from tictactoe_env.rules import IllegalMoveError, Rules

SQUARE = Rules()


def test_a_board_is_its_rows_from_the_top():
    for rules, text, board in (
        (SQUARE, "XXX/OO./...", [1, 1, 1, -1, -1, 0, 0, 0, 0]),
        (Rules(3, 2, 2), "X./.O/..", [1, 0, 0, -1, 0, 0]),
    ):
        assert parse_board(text, rules).tolist() == board
        assert parse_board(text, rules).dtype == np.int8
        assert board_text(np.array(board, dtype=np.int8), rules) == text


def test_a_size_other_than_three_by_three_names_the_marks_in_a_row():
    for text, *sizes in (("7X8x5", 7, 8, 5), ("3x3", 3, 3, 3), ("2x1x2", 2, 1, 2)):
        assert parse_size(text) == Rules(*sizes)
    for text, *mentions in (("4x4", "4x4x3", "4x4x4"), ("2x1", "2x1x2"), ("3", "'3'")):
        with refuses(*mentions):
            parse_size(text)


REFUSED = cases("""
    3 | X.O/.X.      | 3x3 'X.O/.X.'
    3 | x.O/.?./...  | '?' 'x' 'x.O/.?./...'
    3 | O../.../...  | 'O../.../...'
    3 | XXX/OOO/...  | 'XXX/OOO/...'
    3 | XX /   /   X | 'XX
    2 | XO./..       | 2x3 'XO./..'
""")


@pytest.mark.parametrize(("rows", "text", "mentions"), REFUSED)
def test_a_text_that_is_no_board_is_refused_with_the_reason(rows, text, mentions):
    with refuses(*mentions.split()):
        parse_board(text, Rules(int(rows), 3, int(rows)))


def test_a_cell_is_column_letters_and_a_row_number_from_the_top():
    for rules, cells, names in (
        (Rules(2, 4, 2), range(8), "a1 b1 c1 d1 a2 b2 c2 d2"),
        (Rules(1, 63, 3), (25, 26, 51, 52, 62), "z1 aa1 az1 ba1 bk1"),
    ):
        assert [notation.cell_text(cell, rules) for cell in cells] == names.split()


@settings(max_examples=30)
@given(any_rules())
def test_every_cell_is_found_by_its_name(rules):
    names = [notation.cell_text(cell, rules) for cell in range(rules.cells)]
    assert [parse_cell(name, rules) for name in names] == list(range(rules.cells))


@pytest.mark.parametrize("text", ["", None, "b", "2", "2b", "d1", "a4", "a0", "a01", "b 2"])
def test_a_name_that_is_no_cell_is_refused_and_capitals_and_blanks_are_forgiven(text):
    assert parse_cell(" B2 ", SQUARE) == 4
    with refuses("3x3", "a1", "c3", repr(text)):
        parse_cell(text, SQUARE)


@settings(max_examples=30)
@given(any_games())
def test_the_boards_of_a_game_have_one_more_mark_at_each_move_and_come_back_from_text(game):
    rules = game.rules
    cells = list(game.moves[: len(game.moves) - (game.ended == "illegal")])
    boards = replay(cells, rules)
    assert (boards.shape, boards.dtype) == ((len(cells) + 1, rules.cells), np.int8)
    assert not boards[0].any()
    marks = np.eye(rules.cells)[cells] * np.resize([1, -1], (len(cells), 1))
    assert np.array_equal(np.diff(boards, axis=0), marks)
    for board in boards:
        for free in ". ":
            text = board_text(board, rules).replace(".", free)
            assert (parse_board(text, rules) == board).all()


LISTS_OF_ROWS = {  # whether X and O have a line; None where play cannot lead there
    ("XOO", "X  ", "X  "): [True, False],
    ("OOO", "XX ", "X  "): [False, True],
    ("XOX", "XXO", "OXO"): [False, False],
    ("   ", " X ", "   "): [False, False],
    ("XX ", "   ", "   "): None,
    ("XXX", "OOO", "   "): None,
}


@pytest.mark.parametrize(("rows", "lines"), LISTS_OF_ROWS.items())
def test_boards_that_others_write_as_lists_of_rows_are_read(rows, lines):
    text = "/".join(rows)
    if lines is None:
        with refuses("X", text):
            parse_board(text, SQUARE)
    else:
        marks = SQUARE.to_bits(parse_board(text, SQUARE)[None])
        assert [bool(SQUARE.has_line(side)[0]) for side in marks] == lines


ILLEGAL = cases("""
    3 | b2 b2                         | b2 ".../.X./..." a1 b1 c1 a2 c2
    3 | a1 a2 b1 b2 c1 c2             | "XXX/OO./..."
    3 | a1 b1 c1 b2 a2 c2 b3 a3 c3 c3 | "XOX/XOO/OXX" draw
""")


@pytest.mark.parametrize(("rows", "game", "mentions"), ILLEGAL)
def test_a_game_stops_at_its_first_illegal_move(rows, game, mentions):
    with refuses(*mentions.split(), error=IllegalMoveError):
        parse_game(game, Rules(int(rows), 3, int(rows)))


@pytest.mark.parametrize("cell", [-1, 9, 4.0, True])
def test_what_is_no_text_or_no_cell_is_refused(cell):
    with refuses("cell", cell):
        replay([0, cell], SQUARE)
    with refuses("game", [4, 0]):
        parse_game([4, 0], SQUARE)


def test_where_pieces_fall_a_column_names_its_lowest_free_cell_and_no_mark_floats():
    rules = Rules(6, 7, 4, gravity=True)
    assert game_text(parse_game("d D c", rules), rules) == "d6 d5 c6"
    for move, named in (("a", "column a"), ("A", "column a"), ("a1", "a1")):
        with refuses(named, error=IllegalMoveError):
            parse_game(f"a a a a a a {move}", rules)
    with refuses("d5", error=IllegalMoveError):
        parse_game("d5", rules)
    for text in ("column d", "8", "h"):
        with refuses('"a" to "g"', text.split()[0]):
            parse_game(text, rules)
    with refuses("gravity"):
        parse_board("X../...", Rules(2, 3, 3, gravity=True))
