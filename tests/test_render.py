from xml.etree import ElementTree

import numpy as np
import pytest

from tictactoe_env import render
from tictactoe_env.notation import parse_board
from tictactoe_env.rules import Rules

RULES = Rules()
WON = "O.X/.XO/X.."
NAN = float("nan")
BOARDS = [
    ("X.O/.X./..O", Rules()),
    ("X..O/.XO./....", Rules(3, 4, 3)),
    ("X.OX.", Rules(1, 5, 3)),
    ("......../...X..../..OOX.../.XXOX.../.OXXO.../..OOX.../........", Rules(7, 8, 5)),
]
CELL, MARGIN = 96, 36


def rgb(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def cell_of(picture, cell, rules):
    row, col = divmod(cell, rules.cols)
    return picture[
        MARGIN + row * CELL : MARGIN + (row + 1) * CELL,
        MARGIN + col * CELL : MARGIN + (col + 1) * CELL,
    ]


def changed_cells(one, other, rules):
    changed = [
        cell
        for cell in range(rules.cells)
        if (cell_of(one, cell, rules) != cell_of(other, cell, rules))[4:-4, 4:-4].any()
    ]
    outside = (one != other).any(axis=-1)
    outside[MARGIN:-MARGIN, MARGIN:-MARGIN] = False
    assert not outside.any(), "the margin changed too"
    return changed


def picture_of(text, rules=RULES, **options):
    return render.rgb_array(parse_board(text, rules), rules, **options)


def elements(text, rules=RULES, **options):
    root = ElementTree.fromstring(render.svg(parse_board(text, rules), rules, **options))
    return root, [
        (element.tag.split("}")[1], element.attrib.get("class"), element) for element in root.iter()
    ]


# --- text ------------------------------------------------------------------------------------------------------

TEXTS = [
    (
        ".../.../...",
        Rules(),
        None,
        """
    a   b   c
1   .   .   .
2   .   .   .
3   .   .   .""",
    ),
    (
        "X.O/.X./..O",
        Rules(),
        8,
        """
    a   b   c
1   X   .   O
2   .   X   .
3   .   .  [O]""",
    ),
    (
        WON,
        Rules(),
        6,
        """
    a   b   c
1   O   .   X*
2   .   X*  O
3  [X*] .   .""",
    ),
    (
        "X..O/.XO./..X.",
        Rules(3, 4, 3),
        0,
        """
    a   b   c   d
1  [X*] .   .   O
2   .   X*  O   .
3   .   .   X*  .""",
    ),
    (
        "X.OX.",
        Rules(1, 5, 3),
        3,
        """
    a   b   c   d   e
1   X   .   O  [X]  .""",
    ),
    (
        "......../...X..../..OOX.../.XXOX.../.OXXO.../..OOX.../........",
        Rules(7, 8, 5),
        11,
        """
    a   b   c   d   e   f   g   h
1   .   .   .   .   .   .   .   .
2   .   .   .  [X]  .   .   .   .
3   .   .   O   O   X   .   .   .
4   .   X   X   O   X   .   .   .
5   .   O   X   X   O   .   .   .
6   .   .   O   O   X   .   .   .
7   .   .   .   .   .   .   .   .""",
    ),
]


@pytest.mark.parametrize(("board", "rules", "last", "text"), TEXTS)
def test_the_text_shows_the_board_with_the_last_move_in_brackets_and_a_star_on_the_line(
    board, rules, last, text
):
    assert render.ansi(parse_board(board, rules), rules, last=last) == text.removeprefix("\n")


def test_numbers_stand_on_the_free_cells_of_the_text_that_have_one():
    values = [9, 0.5, -1, 0.123, 9, -0.001, 1, NAN, -0.25]
    text = """
    a     b     c
1   X     0.50 -1.00
2   0.12 [O]    0.00
3   1.00  .    -0.25"""
    assert render.ansi(
        parse_board("X../.O./...", RULES), RULES, last=4, values=values
    ) == text.removeprefix("\n")


def test_a_wide_board_keeps_its_columns_under_their_letters():
    rules = Rules(1, 31, 3)
    board = parse_board("X" + "." * 29 + "O", rules)
    for values in (None, np.linspace(-2000, 2000, 31)):
        letters, cells = render.ansi(board, rules, last=0, values=values).splitlines()
        assert len(cells.split()) == 1 + len(letters.split()) == 32
        assert letters.index("ae") == cells.index("O")


def test_a_tall_board_keeps_its_row_numbers_right_aligned():
    rules = Rules(12, 1, 3)
    lines = render.ansi(np.zeros(12, dtype=np.int8), rules).splitlines()
    assert lines[0] == "     a"
    assert lines[9] == " 9   ."
    assert lines[12] == "12   ."


@pytest.mark.parametrize(("board", "rules"), BOARDS)
def test_the_text_has_no_trailing_blanks(board, rules):
    for values in (None, np.full(rules.cells, 0.5)):
        for line in render.ansi(parse_board(board, rules), rules, values=values).split("\n"):
            assert line
            assert line == line.rstrip()


@pytest.mark.parametrize(("board", "rules"), BOARDS)
def test_colour_adds_escapes_and_nothing_else(board, rules):
    board = parse_board(board, rules)
    coloured = render.ansi(board, rules, last=0, colour=True)
    for escape in (*render.ANSI_COLOURS.values(), render.ANSI_RESET):
        assert escape in coloured
        coloured = coloured.replace(escape, "")
    assert coloured == render.ansi(board, rules, last=0)


# --- pixels ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("board", "rules"), BOARDS)
@pytest.mark.parametrize("cell_pixels", [16, 33, 96])
def test_the_picture_is_uint8_of_the_boards_shape(board, rules, cell_pixels):
    picture = picture_of(board, rules, cell_pixels=cell_pixels)
    margin = 2 * (cell_pixels * 3 // 8)
    assert picture.shape == (
        margin + rules.rows * cell_pixels,
        margin + rules.cols * cell_pixels,
        3,
    )
    assert picture.dtype == np.uint8
    assert picture.flags.c_contiguous


@pytest.mark.parametrize(("board", "rules"), BOARDS)
def test_every_cell_has_its_mark_in_its_colour(board, rules):
    picture = picture_of(board, rules)
    for cell, mark in enumerate(parse_board(board, rules)):
        tile = cell_of(picture, cell, rules)
        assert tile[0, 0].tolist() == rgb(render.BACKGROUND)
        assert tile[CELL // 2, CELL // 2].tolist() == rgb(
            render.COLOURS["X"] if mark == 1 else render.TILE
        )
        assert tile[CELL // 2, CELL // 4].tolist() == rgb(
            render.COLOURS["O"] if mark == -1 else render.TILE
        )


def test_the_caller_may_write_on_the_picture_without_changing_the_next():
    first = picture_of(WON, last=6)
    before = first.copy()
    first[:] = 0
    assert (picture_of(WON, last=6) == before).all()


def test_the_picture_leaves_board_and_values_as_they_were():
    board, values = parse_board(WON, RULES), np.linspace(-1, 1, 9)
    for draw in (render.ansi, render.rgb_array, render.svg):
        draw(board, RULES, values=values)
    assert (board == parse_board(WON, RULES)).all()
    assert (values == np.linspace(-1, 1, 9)).all()


@pytest.mark.parametrize(("board", "rules"), BOARDS)
def test_the_last_move_tints_its_own_cell_and_no_other(board, rules):
    plain = picture_of(board, rules)
    for cell in np.flatnonzero(parse_board(board, rules)):
        marked = picture_of(board, rules, last=int(cell))
        assert changed_cells(plain, marked, rules) == [cell]
        assert cell_of(marked, cell, rules)[CELL // 2, 8].tolist() == rgb(render.LAST)


LINES = [
    ("OO../XXX./....", Rules(3, 4, 3), [4, 5, 6]),
    ("OX../OX../.X..", Rules(3, 4, 3), [1, 5, 9]),
    ("X.OO/.X../..X.", Rules(3, 4, 3), [0, 5, 10]),
    ("XX.O/..O./.O.X", Rules(3, 4, 3), [3, 6, 9]),
    ("XXXXXOO.OO", Rules(1, 10, 4), [0, 1, 2, 3, 4]),
    ("XXXOO/XOO../X....", Rules(3, 5, 3), [0, 1, 2, 5, 10]),
]


@pytest.mark.parametrize(("board", "rules", "cells"), LINES)
def test_complete_lines_are_struck_through_their_cells_and_no_others(board, rules, cells):
    long = Rules(
        rules.rows, rules.cols, rules.cols
    )  # on this board the same marks are no line if it takes a whole row
    board = parse_board(board, rules)
    struck = render.rgb_array(board, rules)
    assert changed_cells(struck, render.rgb_array(board, long), rules) == cells
    for cell in cells:
        assert cell_of(struck, cell, rules)[CELL // 2, CELL // 2].tolist() == rgb(render.INK)


def test_values_are_written_and_shaded_on_the_free_cells_that_have_one():
    values = [0.5, 0.5, 0.5, -0.5, 0.5, NAN, 0.0, 1.0, -1.0]
    plain, valued = (
        picture_of("X.O/.../...", last=0),
        picture_of("X.O/.../...", last=0, values=values),
    )
    assert changed_cells(plain, valued, RULES) == [1, 3, 4, 6, 7, 8]
    shade = {cell: cell_of(valued, cell, RULES)[10, CELL // 2].astype(int) for cell in range(9)}
    assert shade[6].tolist() == rgb(render.TILE)
    assert (shade[1] == shade[4]).all()
    for strong, weak, colour in ((7, 1, render.POSITIVE), (8, 3, render.NEGATIVE)):
        assert (
            np.abs(shade[strong] - rgb(colour)).sum()
            < np.abs(shade[weak] - rgb(colour)).sum()
            < np.abs(shade[6] - rgb(colour)).sum()
        )
    for cell in (1, 3, 4, 6, 7, 8):
        dark = (cell_of(valued, cell, RULES).astype(int) - rgb(render.INK)).max(axis=-1) < 60
        assert dark.any(axis=0).sum() > 20, f"no number on cell {cell}"


def test_a_long_number_stays_on_its_cell():
    values = np.full(9, NAN)
    for value in (-1.23456e-9, -99.999, 1e300, -1e-300, 123456789.0):
        values[4] = value
        assert changed_cells(
            picture_of(".../.../..."), picture_of(".../.../...", values=values), RULES
        ) == [4]


def test_every_character_of_coordinates_and_numbers_has_a_glyph_of_its_own():
    assert set(render.GLYPHS) == set("0123456789abcdefghijklmnopqrstuvwxyz.-+")
    assert len(set(render.GLYPHS.values())) == len(render.GLYPHS)


# --- SVG -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("board", "rules"), BOARDS)
def test_the_svg_has_one_element_per_mark_in_its_cell_and_one_tile_per_cell(board, rules):
    root, found = elements(board, rules)
    height, width, _ = picture_of(board, rules).shape
    assert root.attrib["viewBox"] == f"0 0 {width} {height}"
    assert root.attrib["role"] == "img"
    assert sum(name == "rect" for name, _, _ in found) == rules.cells + 1
    for mark in "XO":
        assert [kind for _, kind, _ in found].count(mark) == board.count(mark)
    centres = [
        (float(e.attrib["cx"]) - MARGIN, float(e.attrib["cy"]) - MARGIN)
        for _, kind, e in found
        if kind == "O"
    ]
    assert [int(y // CELL) * rules.cols + int(x // CELL) for x, y in centres] == np.flatnonzero(
        parse_board(board, rules) == -1
    ).tolist()


def test_the_svg_is_titled_with_the_board_and_the_last_move():
    root, _ = elements(WON, last=6)
    assert root.findtext("{http://www.w3.org/2000/svg}title") == f"{WON}, last move a3"


@pytest.mark.parametrize(
    ("board", "rules", "lines"),
    [(WON, RULES, 1), ("X.O/.X./..O", RULES, 0), ("XXXXXOO.OO", Rules(1, 10, 4), 2)],
)
def test_the_svg_has_one_stroke_per_complete_line(board, rules, lines):
    _, found = elements(board, rules)
    assert [kind for _, kind, _ in found].count("line") == lines


def test_the_svg_tints_the_last_move_and_writes_coordinates_and_numbers():
    _, found = elements(
        "X.O/.../...", last=2, values=[0.5, NAN, 0.5, -0.001, 0.333, -1, 100, 12345, 1]
    )
    assert [e.attrib["fill"] for name, _, e in found if name == "rect"][1:4] == [
        render.TILE,
        render.TILE,
        render.LAST,
    ]
    texts = [e.text for name, _, e in found if name == "text"]
    assert texts == [
        "a",
        "b",
        "c",
        "1",
        "2",
        "3",
        "0.00",
        "0.33",
        "-1.00",
        "100",
        "1.23e+04",
        "1.00",
    ]


# --- errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [render.ansi, render.rgb_array, render.svg])
@pytest.mark.parametrize(
    ("board", "options", "message"),
    [
        (np.zeros(8, dtype=np.int8), {}, r"3x3, 3 in a row must be 9 numbers.*got .*shape \(8,\)"),
        (np.zeros((3, 3), dtype=np.int8), {}, r"shape \(3, 3\)"),
        (np.full(9, 2, dtype=np.int8), {}, r"1 \(X\), -1 \(O\) or 0 \(free\), got \[2, 2"),
        (
            np.zeros(9, dtype=np.int8),
            {"last": 9},
            "last move must be a whole number from 0 to 8, got 9",
        ),
        (
            np.zeros(9, dtype=np.int8),
            {"last": -1},
            "last move must be a whole number from 0 to 8, got -1",
        ),
        (np.zeros(9, dtype=np.int8), {"last": True}, "got the bool True"),
        (
            np.zeros(9, dtype=np.int8),
            {"values": np.zeros(8)},
            r"must be 9 finite numbers .*shape \(8,\)",
        ),
        (
            np.zeros(9, dtype=np.int8),
            {"values": [np.inf] * 9},
            r"must be 9 finite numbers .*got \[inf",
        ),
    ],
)
def test_what_does_not_fit_the_board_is_refused(draw, board, options, message):
    with pytest.raises(ValueError, match=message):
        draw(board, RULES, **options)


@pytest.mark.parametrize("draw", [render.rgb_array, render.svg])
@pytest.mark.parametrize("cell_pixels", [15, 0, -96, 96.0])
def test_cells_too_small_to_draw_are_refused(draw, cell_pixels):
    with pytest.raises(ValueError, match="cell_pixels must be a whole number of at least 16, got"):
        draw(np.zeros(9, dtype=np.int8), RULES, cell_pixels=cell_pixels)
