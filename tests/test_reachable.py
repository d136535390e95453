"""The boards that play can reach, beside the table of all positions."""

from itertools import product

import numpy as np
import pytest
from text_cases import cases, refuses

from tictactoe_env.exact import positions_of
from tictactoe_env.notation import parse_board
from tictactoe_env.reachable import unreachable
from tictactoe_env.rules import Rules

BOARDS = [(3, 3, 3, True), (2, 4, 3, True), (4, 2, 2, True), (3, 3, 2), (2, 3, 2)]


@pytest.mark.parametrize("sizes", BOARDS, ids=str)
def test_a_board_is_accepted_if_it_is_a_position_of_the_game(sizes):
    rules = Rules(*sizes)
    boards = np.array(list(product((0, 1, -1), repeat=rules.cells)), dtype=np.int8)
    boards = boards[np.isin(boards.sum(axis=1), (0, 1))]
    known = {board.tobytes() for board in positions_of(rules).boards}
    if rules.gravity:
        boards = boards[rules.floating(sum(rules.to_bits(boards))) == 0]
    for board in boards:
        assert (unreachable(board[None], rules) is None) == (board.tobytes() in known)
    positions = positions_of(Rules(4, 3, 3, gravity=True))
    assert unreachable(positions.boards, positions.rules) is None


REFUSED = cases("""
    ......./......./......./......./X....../O......
    ......./......./......./......./XX...../OO.....
    X.....O/X.....O/X.....O/X.....O/O.....X/O.....X
    XO.X.OX/XO.X.OX/XO.O.OX/XO.O.OX/OX.X.XO/OX.O.XO
    XXXXXXX/OOOOOOO/XXXXXXX/OOOOOOO/OOOOOOO/XXXXXXX
""")


@pytest.mark.parametrize("text", [text for (text,) in REFUSED])
def test_on_a_large_board_pieces_that_cannot_have_fallen_so_are_refused(text):
    with refuses(text):
        parse_board(text, Rules(6, 7, 4, gravity=True))


def test_whatever_play_makes_is_accepted_however_the_pieces_lie():
    """Also where the highest piece is not the last: then all orders are tried."""
    rules = Rules(5, 5, 5, gravity=True)
    rng = np.random.default_rng(0)
    order = rng.random((2_000, 25)).argsort(axis=1)
    boards = rules.marked(order, rng.integers(26, size=(2_000, 1)))
    assert unreachable(boards[~rules.is_over(*rules.to_bits(boards))], rules) is None
