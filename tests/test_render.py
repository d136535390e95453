import inspect
from collections import Counter
from textwrap import indent
from xml.etree import ElementTree

import gymnasium as gym
import numpy as np
import pytest
from text_cases import refuses

from tictactoe_env import render
from tictactoe_env.notation import parse_board
from tictactoe_env.rules import Rules

RULES = Rules()
NAN = float("nan")
BOARDS = [
    ("X.O/.X./..O", Rules()),
    ("X.OX.", Rules(1, 5, 3)),
    ("..../X..O/XO.X", Rules(3, 4, 3, gravity=True)),
    ("...X./..OOX/OXXO.", Rules(3, 5, 5)),
]
CELL = 96
MARGIN = 36


def rgb(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def cell_of(picture, cell, rules):
    top, left = (MARGIN + index * CELL for index in divmod(cell, rules.cols))
    return picture[top : top + CELL, left : left + CELL]


def changed_cells(one, other, rules):
    outside = (one != other).any(axis=-1)
    outside[MARGIN:-MARGIN, MARGIN:-MARGIN] = False
    assert not outside.any(), "the margin changed too"
    changed = (one != other).any(axis=-1)[..., None]
    tiles = (cell_of(changed, cell, rules)[4:-4, 4:-4] for cell in range(rules.cells))
    return [cell for cell, tile in enumerate(tiles) if tile.any()]


def picture_of(text, rules=RULES, **options):
    return render.rgb_array(parse_board(text, rules), rules, **options)


def elements(text, rules=RULES, **options):
    """The elements of a drawing by their class or, without one, by their name."""
    found = {}
    for element in ElementTree.fromstring(
        render.svg(parse_board(text, rules), rules, **options)
    ).iter():
        kind = element.attrib.get("class", element.tag.split("}")[1])
        found.setdefault(kind, []).append(element)
    return found


TEXTS = """
.../.../... -
    a   b   c
1   .   .   .
2   .   .   .
3   .   .   .

X..O/.XO./..X. 0
    a   b   c   d
1  [X*] .   .   O
2   .   X*  O   .
3   .   .   X*  .

X.OX. 3
    a   b   c   d   e
1   X   .   O  [X]  .
"""


@pytest.mark.parametrize("case", TEXTS.strip().split("\n\n"))
def test_the_text_shows_the_board_with_the_last_move_in_brackets_and_a_star_on_the_line(case):
    first, text = case.split("\n", 1)
    board, last = first.split()
    rules = Rules(board.count("/") + 1, len(board.split("/")[0]), 3)
    cell = None if last == "-" else int(last)
    assert render.ansi(parse_board(board, rules), rules, last=cell) == text


def test_the_board_of_connect_four_in_the_documents_is_drawn_by_the_environment():
    env = gym.make("tictactoe_env/ConnectFour-v0", opponent=None, render_mode="ansi")
    env.reset()
    for column in (3, 3, 2, 2, 4, 4, 5):
        env.step(column)
    assert indent(env.render(), " " * 4) in inspect.getdoc(render.ansi)


VALUED = """
    a     b     c
1   X     0.50 -1.00
2   0.12 [O]    0.00
3   1.00  .    -0.25"""


def test_numbers_stand_on_the_free_cells_and_columns_and_row_numbers_stay_aligned():
    values = [9, 0.5, -1, 0.123, 9, -0.001, 1, NAN, -0.25]
    board = parse_board("X../.O./...", RULES)
    assert render.ansi(board, RULES, last=4, values=values) == VALUED.removeprefix("\n")
    lines = render.ansi(np.zeros(12, dtype=np.int8), Rules(12, 1, 3)).splitlines()
    assert [lines[row] for row in (0, 9, 12)] == ["     a", " 9   .", "12   ."]


@pytest.mark.parametrize(("board", "rules"), BOARDS)
def test_colour_adds_escapes_only(board, rules):
    board = parse_board(board, rules)
    coloured = render.ansi(board, rules, last=0, colour=True)
    for escape in (*render.ANSI_COLOURS.values(), render.ANSI_RESET):
        assert escape in coloured
        coloured = coloured.replace(escape, "")
    assert coloured == render.ansi(board, rules, last=0)


@pytest.mark.parametrize(("board", "rules"), BOARDS)
def test_the_picture_shows_each_mark_on_its_cell_and_the_last_move_by_a_tint(board, rules):
    picture = picture_of(board, rules)
    for pixels, one in ((CELL, picture), (16, picture_of(board, rules, cell_pixels=16))):
        margin = 2 * (pixels * 3 // 8)
        assert one.shape == (margin + rules.rows * pixels, margin + rules.cols * pixels, 3)
        assert (one.dtype, one.flags.c_contiguous) == (np.uint8, True)
    for cell, mark in enumerate(parse_board(board, rules)):
        tile = cell_of(picture, cell, rules)
        middle = render.COLOURS["X"] if mark == 1 else render.TILE
        left = render.COLOURS["O"] if mark == -1 else render.TILE
        if rules.gravity and mark:  # a round piece
            middle = left = render.COLOURS[render.MARKS[mark]]
        assert tile[CELL // 2, [CELL // 2, CELL // 4]].tolist() == [rgb(middle), rgb(left)]
        if mark:
            marked = picture_of(board, rules, last=cell)
            assert changed_cells(picture, marked, rules) == [cell]
            assert cell_of(marked, cell, rules)[CELL // 2, 8].tolist() == rgb(render.LAST)


LINES = [
    ("OO../XXX./....", Rules(3, 4, 3), [4, 5, 6]),
    ("X.OO/.X../..X.", Rules(3, 4, 3), [0, 5, 10]),
    ("XXXXXOO.OO", Rules(1, 10, 4), [0, 1, 2, 3, 4]),
    ("XXXOO/XOO../X....", Rules(3, 5, 3), [0, 1, 2, 5, 10]),
]


@pytest.mark.parametrize(("board", "rules", "cells"), LINES)
def test_complete_lines_are_struck_through_their_cells_and_no_others(board, rules, cells):
    # On this board the same marks are no line if it takes a whole row.
    long = Rules(rules.rows, rules.cols, rules.cols)
    board = parse_board(board, rules)
    struck = render.rgb_array(board, rules)
    assert changed_cells(struck, render.rgb_array(board, long), rules) == cells
    for cell in cells:
        assert cell_of(struck, cell, rules)[CELL // 2, CELL // 2].tolist() == rgb(render.INK)


def test_values_are_written_and_shaded_on_the_free_cells_that_have_one():
    values = [0.5, 0.5, 0.5, -0.5, 0.5, NAN, 0.0, 1.0, -1.0]
    plain = picture_of("X.O/.../...", last=0)
    valued = picture_of("X.O/.../...", last=0, values=values)
    assert changed_cells(plain, valued, RULES) == [1, 3, 4, 6, 7, 8]
    shade = {cell: cell_of(valued, cell, RULES)[10, CELL // 2].astype(int) for cell in range(9)}
    for strong, weak, colour in ((7, 1, render.POSITIVE), (8, 3, render.NEGATIVE)):
        far = [int(np.abs(shade[cell] - rgb(colour)).sum()) for cell in (strong, weak, 6)]
        assert far == sorted(set(far))
    for value in (-1.23456e-9, -99.999, 1e300, 123456789.0):
        long = picture_of("X.O/.../...", last=0, values=np.where(np.arange(9) == 4, value, NAN))
        assert changed_cells(plain, long, RULES) == [4], "it stays on its cell"


@pytest.mark.parametrize(("board", "rules"), BOARDS + [case[:2] for case in LINES])
def test_the_svg_has_a_tile_per_cell_an_element_per_mark_and_a_stroke_per_line(board, rules):
    found = elements(board, rules, last=0)
    assert found["title"][0].text == f"{board}, last move a1"
    marks = parse_board(board, rules)
    full = [line for line in rules.lines if abs(marks[list(line)].sum()) == rules.k]
    counts = [len(found.get(kind, [])) for kind in ("rect", "X", "O", "line")]
    assert counts == [rules.cells + 1, board.count("X"), board.count("O"), len(full)]
    fills = [element.attrib["fill"] for element in found["rect"]]
    assert fills[1:] == [render.LAST] + [render.TILE] * (rules.cells - 1)


def test_the_svg_has_numbers_on_the_free_cells_that_have_one():
    values = [0.5, NAN, 0.5, -0.001, 0.333, -1, 100, 12345, 1]
    texts = " ".join(element.text for element in elements("X.O/.../...", values=values)["text"])
    assert texts == "a b c 1 2 3 0.00 0.33 -1.00 100 1.23e+04 1.00"


EMPTY = np.zeros(9, dtype=np.int8)
WRONG = [
    (EMPTY[:8], {}, ["3x3", "9"]),
    (EMPTY.reshape(3, 3), {}, ["[[0, 0, 0],"]),
    (EMPTY + 2, {}, ["[2, 2"]),
    *((EMPTY, {"last": last}, ["last", last]) for last in (9, True)),
    (EMPTY, {"values": np.zeros(8)}, ["9", "[0.0"]),
    (EMPTY, {"values": [np.inf] * 9}, ["9", "[inf"]),
    *((EMPTY, {"cell_pixels": pixels}, ["cell_pixels", pixels]) for pixels in (15, 96.0)),
]


@pytest.mark.parametrize("draw", [render.ansi, render.rgb_array, render.svg])
@pytest.mark.parametrize(("board", "options", "mentions"), WRONG)
def test_what_does_not_fit_the_board_or_cannot_be_drawn_is_refused(draw, board, options, mentions):
    if draw is not render.ansi or "cell_pixels" not in options:  # text has no pixels
        with refuses(*mentions):
            draw(board, RULES, **options)


@pytest.mark.parametrize(
    ("cells", "rules", "rows", "last"),
    [
        ([4, 0, 1, 8, 7], Rules(), [5], "5. X b3 wins"),
        ([0, 1, 2, 4, 3, 5, 7, 6, 8], Rules(), [5, 4], "9. X c3: a draw"),
        ([0, 1, 2, 3, 4, 5, 0], Rules(2, 4, 4), [4, 3], "7. X a1 is illegal"),
        ([5], Rules(2, 3, 3), [1], "1. X c2"),
    ],
)
def test_the_picture_of_a_game_holds_the_board_after_each_move_in_even_rows(
    cells, rules, rows, last
):
    root = ElementTree.fromstring(render.svg_games({"a game": cells}, rules))
    places = [(int(board.get("y")), int(board.get("x"))) for board in root.findall("{*}svg")]
    assert places == sorted(set(places))
    assert list(Counter(y for y, _ in places).values()) == rows
    for ply, board in enumerate(root.findall("{*}svg"), 1):
        marks = [element for element in board.iter() if element.get("class") in ("X", "O")]
        assert len(marks) == min(ply, len(set(cells[:ply])))
    assert root.findall("{*}text")[-1].text == last


@pytest.mark.parametrize("cells", [[], [0, 0, 1], [0, 3, 1, 4, 2, 5], [9]])
def test_a_picture_of_no_game_is_refused(cells):
    with refuses("cell" if cells == [9] else "move"):
        render.svg_games({"a game": cells}, Rules())
