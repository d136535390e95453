import numpy as np
import pytest
from plain_game import plain
from text_cases import refuses

from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.solver import solve

SMALL = [Rules(3, 3, 3), Rules(2, 3, 2), Rules(3, 4, 2), Rules(1, 5, 2), Rules(1, 1, 1)]
SLOW = [
    pytest.param(sizes, value, marks=pytest.mark.slow)
    for sizes, value in (((3, 5, 3), 1), ((4, 4, 4), 0))
]
VALUES = {(3, 3, 3): 0, (2, 3, 2): 1, (3, 4, 3): 1, (4, 3, 3): 1, (3, 4, 4): 0, (2, 5, 3): 0}


@pytest.mark.parametrize(("sizes", "value"), [*VALUES.items(), *SLOW])
def test_the_first_player_wins_or_draws_with_perfect_play(sizes, value):
    assert solve(Rules(*sizes)).value[0] == value


@pytest.mark.parametrize("rules", SMALL, ids=str)
def test_every_value_and_every_move_is_that_of_plain_recursion(rules):
    game = plain(rules)
    positions, solution = positions_of(rules), solve(rules)
    boards = list(map(tuple, positions.boards.tolist()))
    assert solution.value_x.tolist() == [game.value_x[board] for board in boards]
    signs = np.where(positions.x_to_move, 1, -1)
    assert (solution.value == solution.value_x * signs).all()
    assert solution.value.dtype == solution.value_x.dtype == np.int8
    values = np.full((len(boards), rules.cells), -2)
    for row, board in enumerate(boards):
        for cell in game.moves(board):
            values[row, cell] = game.value_x[game.after(board, cell)] * game.mover(board)
    every = np.arange(len(boards))
    assert np.array_equal(solution.move_values(every), values)
    best = (values == values.max(axis=1, keepdims=True)) & (values > -2)
    assert np.array_equal(solution.optimal(every), best)


def test_a_board_is_solved_once_and_large_ones_are_refused():
    assert solve(Rules(2, 3, 2)) is solve(Rules(2, 3, 2))
    with refuses("too many to enumerate"):
        solve(Rules(5, 5, 4))
