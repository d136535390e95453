"""The walk over a game, compared with one in plain Python that looks at every line every time."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from plain_game import plain_standing

from tictactoe_env.rules import Rules
from tictactoe_env.standing import standing


@st.composite
def rules_and_cells(draw):
    """A board of up to 64 bits, and cells of it, some of them taken or after the end."""
    rows = draw(st.integers(1, 8))
    cols = draw(st.integers(1, min(9, 64 // rows - 1)))
    rules = Rules(rows, cols, draw(st.integers(1, min(4, max(rows, cols)))))
    cells = draw(st.permutations(range(rules.cells)))[: draw(st.integers(0, rules.cells))]
    if draw(st.booleans()):
        again = draw(st.lists(st.integers(0, rules.cells - 1), max_size=3))
        place = draw(st.integers(0, len(cells)))
        cells[place:place] = again
    return rules, cells


def is_as_plain(cells, rules, early_draw):
    game = standing(cells, rules, early_draw)
    plain = plain_standing(cells, (rules.rows, rules.cols, rules.k), early_draw)
    x, o = (int(bits) for bits in rules.to_bits(np.array(plain["board"])))
    assert (game.rules, game.x, game.o) == (rules, x, o)
    assert game.board.dtype == np.int8
    found = {name: getattr(game, name) for name in plain}
    assert found | {"board": tuple(game.board.tolist())} == plain
    return True


@given(rules_and_cells(), st.booleans())
@example((Rules(), [0, 1, 3, 4, 6, 0]), False)  # a taken cell after the end
@example((Rules(), [0, 1, 3, 4, 2, 5, 7, 6, 8]), True)  # dead before the last move
@example((Rules(3, 3, 3), [0, 8, 4, 2, 1, 7, 6, 5, 3]), False)  # the ninth mark makes a line
@example((Rules(2, 3, 3), []), True)
@example((Rules(4, 3, 1), [5, 5]), False)
def test_a_game_stands_as_in_plain_python(case, early_draw):
    rules, cells = case
    assert is_as_plain(cells, rules, early_draw)


@pytest.mark.parametrize("rules", [Rules(1, 3, 2), Rules(2, 2, 2), Rules(2, 2, 1)], ids=str)
def test_every_sequence_of_cells_of_a_tiny_board_stands_as_in_plain_python(rules):
    for length in range(rules.cells + 2):
        for cells in itertools.product(range(rules.cells), repeat=length):
            assert is_as_plain(cells, rules, early_draw=False)
            assert is_as_plain(cells, rules, early_draw=True)


@pytest.mark.parametrize("cell", [-1, 9, 4.0, True, "b2", None])
def test_a_number_that_is_no_cell_is_refused_unless_the_game_stopped_before_it(cell):
    with pytest.raises(ValueError, match=r"^a cell must be a whole number from 0 to 8, got"):
        standing([0, cell], Rules())
    assert standing([0, 0, cell], Rules()).illegal == 1


def test_the_moves_are_python_ints_whatever_integers_were_given():
    game = standing(np.array([4, 0]), Rules())
    assert [type(cell) for cell in game.moves] == [int, int]
    assert (type(game.x), game.mover) == (int, "X")
