"""search/alphabeta.py: it agrees with the solver, and plays sensibly where there is none."""

import itertools
import math

import numpy as np
import pytest
from test_law import EVERY
from text_cases import cases, refuses

from tictactoe_env.exact.best_response import best_responses
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.solver import LOST, solve
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.notation import cell_text, parse_board
from tictactoe_env.rules import Rules
from tictactoe_env.search.alphabeta import CLOCK_NODES, WIN_SCORE, SearchPolicy

LARGE = Rules(5, 5, 4)
SMALL = [Rules(), Rules(2, 3, 2), Rules(1, 9, 3), Rules(5, 2, 2), Rules(3, 3, 1)]
SMALL += [Rules(3, 3, 3, gravity=True)]
FALLS = [Rules(3, 4, 3, gravity=True), Rules(4, 4, 4, gravity=True)]
BOARDS = positions_of(Rules()).boards[positions_of(Rules()).unfinished]
# The values of boards with gravity, four in a row, by a solver outside this repository.
FALLING = {(4, 4): 0, (4, 5): 0, (5, 4): 0, (6, 4): 0, (5, 5): 0, (4, 6): -1, (7, 4): 0}
FALLING_BY_SPEED = [
    pytest.param(size, value, marks=[pytest.mark.slow] * (size not in [(4, 4), (4, 5), (5, 4)]))
    for size, value in FALLING.items()
]


def value_of(player, board):
    return max(player.search.scores(board).values()) // WIN_SCORE


@pytest.mark.parametrize("rules", [*SMALL, *EVERY], ids=str)
def test_it_agrees_with_the_solver_in_every_position_in_whatever_order(rules):
    positions, player, solution = positions_of(rules), SearchPolicy(rules), solve(rules)
    for rows in (np.random.default_rng(0).permutation(positions.unfinished), positions.unfinished):
        boards = positions.boards[rows]
        optimal = solution.optimal(boards)
        assert np.allclose(player.probs(boards), optimal / optimal.sum(axis=1, keepdims=True))
    assert [value_of(player, board) for board in boards] == solution.value[rows].tolist()
    first = SearchPolicy(rules, ties="first").probs(boards)
    assert (first.argmax(axis=1) == optimal.argmax(axis=1)).all()
    assert (first.max(axis=1) == 1).all()


def test_it_proves_that_4x4_is_a_draw_with_41885_of_its_9722011_positions():
    player = SearchPolicy(Rules(4, 4, 4))
    assert value_of(player, np.zeros(16, dtype=np.int8)) == 0
    assert player.search.nodes <= 41_885


@pytest.mark.parametrize(("size", "value"), FALLING_BY_SPEED)
def test_on_boards_with_gravity_it_finds_the_value_of_another_solver(size, value):
    rules = Rules(*size, 4, gravity=True)
    player = SearchPolicy(rules, depth=1)  # a depth, because larger boards need one
    assert value_of(player, np.zeros(rules.cells, dtype=np.int8)) == value


@pytest.mark.parametrize(("depth", "beatable", "optimal"), [(1, "O", 0), (2, "", 0)])
def test_within_limits_it_is_beaten_where_it_looks_too_short(depth, beatable, optimal):
    table = tabulate(SearchPolicy(Rules(), depth=depth), Rules())
    responses = best_responses(table)
    assert "".join(side for side in responses if responses[side].can_lose) == beatable
    assert ((table.table > 0) <= solve(Rules()).optimal(BOARDS)).all() == optimal


def test_scores_are_shares_of_a_full_line():
    open_lines = SearchPolicy(Rules(1, 4, 3), depth=1).q_values(np.zeros((1, 4), dtype=np.int8))
    assert open_lines[0].tolist() == [1 / 17, 2 / 18, 2 / 18, 1 / 17]


@pytest.mark.parametrize("depth", [1, 2, 3, 9])
@pytest.mark.parametrize("rules", [*SMALL, *FALLS], ids=str)
def test_a_depth_finds_the_shortest_wins_and_longest_defences_two_plies_further(rules, depth):
    positions, player = positions_of(rules), SearchPolicy(rules, depth=depth)
    solution = solve(rules)
    rows = np.random.default_rng(0).permutation(positions.unfinished)[:300]
    boards = positions.boards[rows]
    scores, moves = solution.board_scores(boards), solution.move_scores(boards)
    is_seen = -LOST - np.abs(scores) <= depth + 2
    own = np.nanmax(player.q_values(boards), axis=1)
    assert np.array_equal(own == 1, is_seen & (scores > 0))
    assert np.array_equal(own == -1, is_seen & (scores < 0))
    is_fastest = moves == moves.max(axis=1, keepdims=True)
    assert is_fastest[is_seen][player.probs(boards)[is_seen] > 0].all()


THREATS = """
    XXX../...../OOO../...../..... | d1
    XXX../..O../O..../...../..... | d1
    ...../.XX../...../.O.O./..... | d2
    ...../.XX../...../.O.../..... | a2 d2
    ......./......./......./...X.../...X..O/.OOOX.X | a6
"""  # win rather than block; block; two open ends; one is closed in time; block where pieces fall


@pytest.mark.parametrize(("text", "moves"), cases(THREATS))
def test_it_wins_blocks_and_makes_double_threats_on_a_large_board(text, moves):
    rules = Rules(6, 7, 4, gravity=True) if text.count("/") == 5 else LARGE
    probs = SearchPolicy(rules, depth=4).probs(parse_board(text, rules)[None])[0]
    found = {cell_text(cell, rules) for cell in np.flatnonzero(probs)}
    assert found
    assert found <= set(moves.split())


@pytest.mark.parametrize("ticks", [3, 40])
def test_a_search_ends_at_the_first_look_at_the_clock_after_its_time(ticks):
    """The clock moves by a second at each look, the first of which begins the search."""
    player, board = SearchPolicy(LARGE, seconds=ticks - 1.5), np.zeros(25, dtype=np.int8)
    player.search.clock = itertools.count().__next__
    assert player.best_moves(board)
    assert player.search.nodes == (ticks - 1) * CLOCK_NODES
    assert player.search.table == {}, "what is not proven is not kept"
    assert SearchPolicy(LARGE, depth=2).best_moves(board), "time is no limit here"


def test_bad_options_and_finished_boards_are_refused():
    for options, mentions in (
        ({"ties": "frist"}, "frist 'first'"),
        ({"depth": -1}, "depth -1"),
        ({"seconds": math.inf}, "seconds inf"),
        ({"rules": LARGE}, "5x5 depth seconds"),
    ):
        with refuses(*mentions.split()):
            SearchPolicy(**{"rules": Rules(), **options})
    with refuses("board"):
        SearchPolicy(Rules()).probs(parse_board("XXX/OO./...", Rules())[None])
