"""tictactoe_env/search.py: it agrees with the solver wherever there is one, and plays sensibly where there is none."""

import time

import numpy as np
import pytest

from tictactoe_env import match
from tictactoe_env.notation import parse_board, parse_cell
from tictactoe_env.policy import RandomPolicy, tabulate
from tictactoe_env.positions import positions_of, symmetries_of
from tictactoe_env.rules import Rules
from tictactoe_env.search import WIN, Search, SearchPolicy
from tictactoe_env.solver import solve

LARGE = Rules(5, 5, 4)


def moves_of(player, text):
    """The cells with some probability on the board that is drawn."""
    return set(np.flatnonzero(player.probs(parse_board(text, player.rules)[None])[0]).tolist())


def cells(names, rules=LARGE):
    return {parse_cell(name, rules) for name in names.split()}


# --- proven values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules(2, 3, 2),
        Rules(1, 5, 3),
        Rules(2, 5, 3),
        Rules(5, 2, 2),
        Rules(3, 3, 1),
        pytest.param(Rules(3, 4, 3), marks=pytest.mark.slow),
        pytest.param(Rules(3, 4, 4), marks=pytest.mark.slow),
        pytest.param(Rules(4, 3, 3), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_it_agrees_with_the_solver_in_every_position(rules):
    positions, player = positions_of(rules), SearchPolicy(rules)
    boards, solution = positions.boards[positions.unfinished], solve(rules)
    assert ((player.probs(boards) > 0) == solution.optimal(positions.unfinished)).all()
    assert [player.value(board) for board in boards] == solution.value[
        positions.unfinished
    ].tolist()


def test_the_order_in_which_positions_are_asked_changes_nothing():
    positions = positions_of(Rules())
    boards = positions.boards[positions.unfinished]
    shuffled = np.random.default_rng(0).permutation(len(boards))
    assert (
        SearchPolicy(Rules()).probs(boards)[shuffled]
        == SearchPolicy(Rules()).probs(boards[shuffled])
    ).all()


@pytest.mark.parametrize(
    ("rules", "value"),
    [
        (Rules(3, 4, 3), 1),
        (Rules(4, 3, 3), 1),
        (Rules(3, 5, 3), 1),
        (Rules(3, 4, 4), 0),
        (Rules(4, 4, 4), 0),
    ],
    ids=str,
)
def test_it_proves_what_an_empty_board_is_worth(rules, value):
    assert SearchPolicy(rules).value(np.zeros(rules.cells, dtype=np.int8)) == value


def test_it_answers_the_empty_board_in_five_milliseconds_with_nothing_prepared():
    def seconds():
        symmetries_of.cache_clear()
        began = time.perf_counter()
        SearchPolicy(Rules()).probs(np.zeros((1, 9), dtype=np.int8))
        return time.perf_counter() - began

    assert min(seconds() for _ in range(5)) < 0.005


def test_it_searches_few_positions():
    """Of the 765 positions of 3x3 that differ by more than symmetry, and the 9,722,011 of 4x4."""
    small, large = SearchPolicy(Rules()), SearchPolicy(Rules(4, 4, 4))
    small.value(np.zeros(9, dtype=np.int8))
    large.value(np.zeros(16, dtype=np.int8))
    assert small.search.nodes < 200
    assert large.search.nodes < 100_000


def test_boards_that_are_images_of_each_other_have_the_same_key():
    for rules in (Rules(), Rules(2, 4, 3), LARGE):
        search, rng = Search(rules), np.random.default_rng(0)
        for _ in range(50):
            board = rng.integers(-1, 2, rules.cells)
            assert (
                len({search.key(*search.sides(image)) for image in board[symmetries_of(rules)]})
                == 1
            )


def test_positions_that_differ_by_more_than_symmetry_have_different_keys():
    positions, search = positions_of(Rules()), Search(Rules())
    assert len({search.key(*search.sides(board)) for board in positions.boards}) == 765


# --- ties --------------------------------------------------------------------------------------------------------


def test_ties_are_drawn_or_go_to_the_lowest_cell():
    boards = positions_of(Rules()).boards[positions_of(Rules()).unfinished]
    drawn, first = SearchPolicy(Rules()).probs(boards), SearchPolicy(Rules(), "first").probs(boards)
    assert np.allclose(drawn, (drawn > 0) / (drawn > 0).sum(axis=1, keepdims=True))
    assert (first.argmax(axis=1) == (drawn > 0).argmax(axis=1)).all()
    assert (first.max(axis=1) == 1).all()


# --- limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "unbeatable"), [(1, False), (9, True)])
def test_how_far_it_must_look_to_be_unbeatable_on_3x3(depth, unbeatable):
    worst = match.best_responses(tabulate(SearchPolicy(Rules(), depth=depth), Rules()))
    assert (not any(side.can_lose for side in worst.values())) == unbeatable


def test_looking_to_the_end_it_plays_optimal_moves_in_every_position():
    positions, player = positions_of(Rules()), SearchPolicy(Rules(), depth=9)
    assert (
        (player.probs(positions.boards[positions.unfinished]) > 0)
        <= solve(Rules()).optimal(positions.unfinished)
    ).all()


@pytest.mark.parametrize("rules", [Rules(3, 4, 3), Rules(2, 5, 3), Rules(3, 4, 4)], ids=str)
def test_a_win_or_a_loss_that_is_seen_within_a_limit_is_one(rules):
    positions, search, claims = positions_of(rules), Search(rules), 0
    for row in np.random.default_rng(0).choice(positions.unfinished, 300, replace=False):
        own, other = search.sides(positions.boards[row])
        for depth in range(1, 6):
            search.table = {}
            best = max(
                search.root(
                    own,
                    other,
                    [move for move in search.moves if not (own | other) & move.bit],
                    depth,
                ).values()
            )
            if abs(best) == WIN:
                assert best // WIN == solve(rules).value[row]
                claims += 1
    assert claims > 100


@pytest.mark.parametrize("depth", [1, 2, 9])
def test_within_limits_it_wins_at_once_where_it_can_and_else_does_not_let_the_other_side(depth):
    positions, player = positions_of(Rules()), SearchPolicy(Rules(), depth=depth)
    boards = positions.boards[positions.unfinished]
    mover = 1 - 2 * boards.sum(axis=1)
    chosen, wins, blocks = (
        player.probs(boards) > 0,
        np.zeros(boards.shape, dtype=bool),
        np.zeros(boards.shape, dtype=bool),
    )
    for line in Rules().lines:
        for cell in line:
            others = boards[:, [other for other in line if other != cell]].sum(axis=1) * mover
            wins[:, cell] |= (others == 2) & (boards[:, cell] == 0)
            blocks[:, cell] |= (others == -2) & (boards[:, cell] == 0)
    can_win, must_block = wins.any(axis=1), ~wins.any(axis=1) & blocks.any(axis=1)
    assert (chosen == wins)[can_win].all()
    assert (chosen <= blocks)[must_block].all()
    assert can_win.sum() > 1000
    assert must_block.sum() > 500


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("XXX../...../OOO../...../.....", "d1"),  # win rather than block
        ("XXX../..O../O..../...../.....", "d1"),  # block
        (".XXX./..O../O..../...../.....", "a1 e1"),  # lost, yet block
        ("...../.XX../...../.O.O./.....", "d2"),  # three with two open ends cannot be stopped
        ("...../.XX../...../.O.../.....", "a2 d2"),  # ... unless one end is closed in time
    ],
)
@pytest.mark.parametrize("limits", [{"depth": 4}, {"depth": 6}, {"seconds": 0.1}], ids=str)
def test_it_wins_blocks_and_makes_double_threats_on_a_large_board(text, moves, limits):
    found = moves_of(SearchPolicy(LARGE, **limits), text)
    assert found
    assert found <= cells(moves)


def games(player_x, player_o, count, seed=0):
    return match.sampled_result(player_x, player_o, LARGE, games=count, seed=seed).result


def test_on_a_large_board_it_beats_random_play_and_a_shorter_search():
    near, far = SearchPolicy(LARGE, depth=1), SearchPolicy(LARGE, depth=4)
    assert games(far, RandomPolicy(), 10).win == 1
    assert games(RandomPolicy(), far, 10).loss == 1
    assert games(far, near, 5).loss == 0
    assert games(near, far, 5).win == 0


@pytest.mark.slow
def test_a_second_a_move_is_kept_on_a_large_board_and_nobody_is_beaten_with_perfect_play():
    """5x5 with four in a row is a draw with best play; whoever looks twelve moves ahead does not lose it."""
    player, board, longest = SearchPolicy(LARGE, seconds=1.0), np.zeros(25, dtype=np.int8), 0.0
    for ply in range(25):
        began = time.perf_counter()
        board[player.probs(board[None])[0].argmax()] = 1 - 2 * (ply % 2)
        longest = max(longest, time.perf_counter() - began)
    assert longest < 1.1
    assert not LARGE.winning_cells(board)


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ties": "frist"}, "did you mean 'first'"),
        ({"depth": -1}, "depth must be a whole number of at least 0, got -1"),
        ({"depth": 1.5}, "depth must be"),
        ({"seconds": -0.1}, "seconds must be a finite number of at least 0"),
        ({"seconds": float("nan")}, "seconds must be"),
        ({"seconds": float("inf")}, "seconds must be"),
        ({"seconds": True}, "seconds must be"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        SearchPolicy(Rules(), **options)


def test_a_large_board_needs_a_limit():
    with pytest.raises(
        ValueError, match=r"5x5, 4 in a row is too large to search to the end .* search-seconds=1"
    ):
        SearchPolicy(LARGE)


@pytest.mark.parametrize("board", [[1, 1, 1, -1, -1, 0, 0, 0, 0], [1, -1, 1, 1, -1, -1, -1, 1, 1]])
def test_a_finished_board_is_refused(board):
    with pytest.raises(ValueError, match="finished board"):
        SearchPolicy(Rules()).probs(np.array([board], dtype=np.int8))
