"""Engines by rows and on bitboards: alike, and by the rules, on every position."""

import pickle
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sample_players import CellPlayer, random_table

from tictactoe_env.engines import batch_engine, game_engine
from tictactoe_env.engines.bitboards import bitboards_of
from tictactoe_env.engines.bits import BitGame, BitGames
from tictactoe_env.engines.images import ImageGame, ImageGames
from tictactoe_env.engines.rows import RowGame, RowGames
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.policy import Uniforms
from tictactoe_env.rules import DRAW, ILLEGAL, LOSS, ONGOING, OPPONENT_ILLEGAL, WIN, Rules

BOARDS = [Rules(*size) for size in ((3, 3, 3), (3, 3, 2), (2, 3, 2), (1, 5, 3), (5, 1, 2))]
LARGE = pytest.param(Rules(2, 5, 3), marks=pytest.mark.slow)  # 40,000 starts of each side
SEED = 0


def plain_results(boards, seats, rules, early_draw):
    """How games (B,) without illegal moves stand, by looking at every line."""
    lines = boards[:, rules.lines]
    won = {mark: (lines == mark).all(axis=2).any(axis=1) for mark in (1, -1)}
    dead = ((lines == 1).any(axis=2) & (lines == -1).any(axis=2)).all(axis=1)
    drawn = (boards != 0).all(axis=1) | (dead & early_draw)
    own, other = (np.where(seats == mark, won[1], won[-1]) for mark in (1, -1))
    return np.select([own, other, drawn], [WIN, LOSS, DRAW], ONGOING)


def every_start(rules, early_draw=False):
    """Boards and seats of every unfinished position with either learner."""
    positions = positions_of(rules)
    boards = positions.boards[~(positions.is_over | (positions.is_dead & early_draw))]
    seats = np.repeat(np.array([1, -1], dtype=np.int8), len(boards))
    return np.concatenate([boards, boards]), seats


def learner_to_move(boards, seats):
    return (boards != 0).sum(axis=1) % 2 == (seats < 0)


def nobody(states):
    """The first opponent in every game."""
    return np.zeros(states.shape[-1], dtype=np.intp)


def assert_same_view(rows, row_states, bits, bit_states):
    for verb in ("result", "observe", "legal", "boards", "seats"):
        seen_rows = getattr(rows, verb)(row_states)
        seen_bits = getattr(bits, verb)(bit_states)
        assert np.array_equal(seen_rows, seen_bits), verb
        assert seen_rows.dtype == seen_bits.dtype, verb


def games_after(boards, seats, results, cells, replies, rules, early_draw):
    """Boards and results of games (B,) after a move and a reply, by looking at every line."""
    boards = boards.copy()
    results = results.copy()
    for mark, chosen, wrong in ((seats, cells, ILLEGAL), (-seats, replies, OPPONENT_ILLEGAL)):
        going = np.flatnonzero(results == ONGOING)
        free = boards[going, chosen[going]] == 0
        results[going[~free]] = wrong
        moved = going[free]
        boards[moved, chosen[moved]] = mark[moved]
        results[moved] = plain_results(boards[moved], seats[moved], rules, early_draw)
    return boards, results


@pytest.mark.parametrize("rules", [*BOARDS, LARGE], ids=str)
@pytest.mark.parametrize(("early_draw", "observation"), [(False, "flat"), (True, "grid")])
def test_rows_bitboards_and_lines_agree_on_every_move_and_reply(rules, early_draw, observation):
    rows = RowGames(rules, early_draw, observation)
    bits = BitGames(rules, early_draw, observation)
    boards, seats = every_start(rules, early_draw)
    row_states = rows.start(boards, seats)
    bit_states = bits.start(boards, seats)
    assert_same_view(rows, row_states, bits, bit_states)
    ours = learner_to_move(boards, seats)
    seen = set()
    before = boards[ours]
    mine = seats[ours]
    ongoing = np.zeros(len(mine), dtype=np.int8)
    for cell, step in product(range(rules.cells), range(3)):
        answer = (cell + step) % rules.cells  # step 0 is onto the taken cell
        cells = np.full(len(mine), cell)
        answers = np.full(len(mine), answer)
        after, results = games_after(before, mine, ongoing, cells, answers, rules, early_draw)
        found = []
        for games, states in ((rows, row_states), (bits, bit_states)):
            replies = games.prepare([CellPlayer(answer)])
            rng = np.random.default_rng(SEED)
            states, result = games.advance(states[..., ours], cells, replies, nobody(ongoing), rng)
            assert np.array_equal(result, results)
            assert np.array_equal(result, games.result(states))
            assert np.array_equal(games.boards(states), after)
            again = games.start(games.boards(states), games.seats(states), games.result(states))
            assert_same_view(games, again, games, states)  # as saved and loaded again
            found.append(states)
        assert_same_view(rows, found[0], bits, found[1])
        seen |= set(results.tolist())
        player = [CellPlayer(answer)]
        rng = np.random.default_rng(SEED)
        row_replies, _ = rows.begin(row_states, rows.prepare(player), nobody(row_states), rng)
        bit_replies, _ = bits.begin(bit_states, bits.prepare(player), nobody(bit_states), rng)
        assert_same_view(rows, row_replies, bits, bit_replies)
        assert np.array_equal(rows.boards(row_replies[ours]), before), "a reply out of turn"
    assert rules != Rules() or seen == set(range(6))


def test_boards_of_up_to_10_cells_go_by_row_and_larger_ones_on_bitboards():
    for cols, one, many in ((5, RowGame, RowGames), (6, BitGame, BitGames)):
        rules = Rules(2, cols, 3)
        assert type(game_engine(rules, False, "grid")) is one
        assert type(batch_engine(rules, False, "grid")) is many


@pytest.mark.parametrize("kind", [RowGame, RowGames, BitGame, BitGames, ImageGame, ImageGames])
def test_a_copy_of_an_engine_plays_the_same_games(kind):
    arguments = (Rules(2, 5, 3), True, "planes", *[True] * (kind in (RowGame, RowGames)))
    assert pickle.loads(pickle.dumps(kind(*arguments))).__reduce__() == (kind, arguments)


@pytest.mark.parametrize("rules", [Rules(), Rules(2, 3, 2)], ids=str)
def test_one_game_has_the_replies_of_many_with_the_same_numbers(rules):
    """`test_vector_env` has the probabilities of these replies."""
    rng = np.random.default_rng(SEED)
    one = RowGame(rules, False, "grid")
    many = RowGames(rules, False, "grid")
    player = random_table(rules)
    boards, seats = every_start(rules)
    waits = ~learner_to_move(boards, seats)
    states = many.start(boards[waits], seats[waits])
    numbers = rng.random(len(states))
    replies = many.prepare([player])
    drawn, _ = many.begin(
        states, replies, nobody(states), SimpleNamespace(random=lambda _: numbers)
    )
    reply = one.prepare(player)
    uniforms = Uniforms(rng)
    for state, number, after in zip(states.tolist(), numbers, drawn, strict=True):
        uniforms.append(float(number))
        assert one.advance(state, None, reply, uniforms)[0] == after


@pytest.mark.parametrize("rules", [Rules(3, 4, 3), Rules(4, 4, 4), Rules(7, 8, 5)], ids=str)
def test_sets_of_cells_are_alike_for_one_game_and_for_many(rules):
    rng = np.random.default_rng(SEED)
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
