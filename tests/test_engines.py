"""Engines by rows and on bitboards: which one a board has, and how sets of cells are drawn from.

`test_contract` and `test_law` play games on both, and `test_vector_env` has the laws of chance.
"""

import numpy as np
import pytest

from tictactoe_env.engines import batch_engine, game_engine
from tictactoe_env.engines.bitboards import bitboards_of
from tictactoe_env.engines.bits import BitGame, BitGames
from tictactoe_env.engines.rows import RowGame, RowGames
from tictactoe_env.rules import Rules


def test_boards_of_up_to_10_cells_go_by_row_and_larger_ones_on_bitboards():
    for cols, one, many in ((5, RowGame, RowGames), (6, BitGame, BitGames)):
        rules = Rules(2, cols, 3)
        assert type(game_engine(rules, False, "grid")) is one
        assert type(batch_engine(rules, False, "grid")) is many


@pytest.mark.parametrize("rules", [Rules(3, 4, 3), Rules(4, 4, 4), Rules(7, 8, 5)], ids=str)
def test_sets_of_cells_are_alike_for_one_game_and_for_many(rules):
    rng = np.random.default_rng(0)
    many = bitboards_of(rules)
    members = rng.random((600, rules.cells)) < rng.random((600, 1))
    members[:, 0] = True  # not empty
    sets = many.sets(members)
    uniforms = rng.random(600)
    uniforms[:3] = 0, 2**-53, 1 - 2**-53
    assert np.array_equal(many.members(sets), members)
    lines = members[:, rules.lines].all(axis=2).any(axis=1)
    assert np.array_equal(many.has_line(sets), lines)
    drawn = [
        np.flatnonzero(row)[int(u * row.sum())] for row, u in zip(members, uniforms, strict=True)
    ]
    assert many.draw(sets, uniforms).tolist() == drawn
    one = BitGame(rules, False, "flat")
    for found, row, line in zip(sets.tolist(), members, lines, strict=True):
        for own, other in ((found, 0), (0, found)):
            seen, mask = one.view((own, other, 1))
            assert np.array_equal(seen, [*(row & bool(own)), *(row & bool(other))])
            assert np.array_equal(mask, ~row)
        assert rules.compact.has_line(found) == line


@pytest.mark.parametrize("rules", [Rules(6, 7, 4, gravity=True), Rules(3, 20, 4, gravity=True)])
def test_with_gravity_random_play_draws_every_legal_move_alike(rules):
    """On the empty board, and on a board with one open column."""
    board = bitboards_of(rules)
    taken = np.array([0, board.full ^ 2])  # all but cell 1, the top of the second column
    for legal in board.legal(taken):
        count = int(legal).bit_count()
        uniforms = (np.arange(10 * count) + 0.5) / (10 * count)
        every = np.ones(len(uniforms), dtype=bool)
        moves, times = np.unique(
            board.draw_moves(np.full(len(uniforms), legal), uniforms, every), return_counts=True
        )
        assert moves.sum() == legal
        assert times.tolist() == [10] * count
        assert not board.draw_moves(np.full(len(uniforms), legal), uniforms, ~every).any()
