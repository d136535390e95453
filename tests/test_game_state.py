"""The state of a game, compared with plain Python that looks at every line every time."""

import numpy as np
import pytest
from any_games import any_rules
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.plain_game import plain_standing
from text_cases import refuses

from tictactoe_env.rules import Rules, game_state


@st.composite
def rules_and_cells(draw):
    """A board of up to 64 bits, and cells of it, some of them taken or after the end."""
    rules = draw(any_rules(longest=4))
    cells = draw(st.permutations(range(rules.cells)))[: draw(st.integers(0, rules.cells))]
    again = draw(st.lists(st.integers(0, rules.cells - 1), max_size=3))
    place = draw(st.integers(0, len(cells)))
    cells[place:place] = again
    return rules, cells


@settings(max_examples=40)
@given(rules_and_cells(), st.booleans())
@example((Rules(), [0, 1, 3, 4, 6, 0]), False)  # a taken cell after the end
@example((Rules(), [0, 1, 3, 4, 2, 5, 7, 6, 8]), True)  # dead before the last move
@example((Rules(3, 3, 3), [0, 8, 4, 2, 1, 7, 6, 5, 3]), False)  # the ninth mark makes a line
@example((Rules(), [0, 1, 2, 4, 3, 5, 7, 6, 8]), False)  # full, and drawn only then
@example((Rules(), [1, 0, 3, 2, 4, 5, 6, 7, 8]), True)  # full, and dead only then
@example((Rules(1, 3, 3), [0, 1, 2]), False)  # full, with fewer cells than marks of a line
@example((Rules(2, 3, 3), [0, 1, 3, 4]), True)  # dead before any side can have a line
@example((Rules(), [0, 3, 1, 4, 2]), True)  # a line, although dead boards end too
def test_a_game_stands_as_in_plain_python(case, early_draw):
    rules, cells = case
    game = game_state(cells, rules, early_draw)
    assert early_draw or game == game_state(cells, rules)
    plain = plain_standing(cells, (rules.rows, rules.cols, rules.k), early_draw)
    x, o = (int(bits) for bits in rules.to_bits(np.array(plain["board"])))
    assert (game.rules, game.x, game.o) == (rules, x, o)
    assert rules.is_over(x, o, early_draw) == (game.ended in ("line", "full", "early"))
    assert game.board.dtype == np.int8
    found = {name: getattr(game, name) for name in plain}
    assert found | {"board": tuple(game.board.tolist())} == plain


@pytest.mark.parametrize("cell", [-1, 9, 4.0, True])
def test_a_number_that_is_no_cell_is_refused_unless_the_game_stopped_before_it(cell):
    with refuses("cell", repr(cell)):
        game_state([0, cell], Rules())
    assert game_state([0, 0, cell], Rules()).illegal == 1
