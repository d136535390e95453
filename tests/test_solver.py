import pickle
from functools import cache

import numpy as np
import pytest
from oracles.plain_game import Player, plain
from sample_players import random_boards
from test_law import EVERY
from text_cases import cases, refuses

from tictactoe_env import TicTacToeVectorEnv
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.solver import NO_SCORE, MinimaxPolicy, solve
from tictactoe_env.games.analysis import analyse
from tictactoe_env.notation import replay
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import CanonicalPolicy, RandomPolicy, plays_symmetrically
from tictactoe_env.rules import Rules, game_state
from tictactoe_env.search.alphabeta import SearchPolicy

SMALL = [Rules(3, 3, 3), Rules(2, 3, 2), Rules(3, 4, 2), Rules(1, 5, 2), Rules(1, 1, 1)]
VALUES = {(3, 3, 3): 0, (2, 3, 2): 1, (3, 4, 3): 1, (4, 3, 3): 1, (3, 4, 4): 0, (2, 5, 3): 0}
VALUES |= {(3, 5, 3): 1, (4, 4, 4): 0, (4, 4, 4, True): 0}
COUNTS = {(4, 4, 4, True): 161_029}
COUNTS |= {(3, 3, 3): 5_478, (3, 4, 3): 111_973, (3, 5, 3): 2_286_668, (4, 4, 4): 9_722_011}


@pytest.mark.parametrize(("sizes", "value"), VALUES.items())
def test_the_first_player_wins_or_draws_with_perfect_play(sizes, value):
    solution = solve(Rules(*sizes))
    empty = np.zeros((1, solution.rules.cells), dtype=np.int8)
    assert np.sign(solution.board_scores(empty)[0]) == value
    if sizes in COUNTS:
        assert np.count_nonzero(solution.scores != NO_SCORE) == COUNTS[sizes]


def test_connect_four_on_6x7_has_the_published_scores_and_those_of_plain_search():
    pytest.importorskip("bitbully")
    solution = solve(CONNECT_FOUR)
    first = solution.move_scores(np.zeros((1, 42), dtype=np.int8))
    assert first[0, 35:].tolist() == [-60, -58, 0, 59, 0, -58, -60]  # the centre wins in 41 plies
    assert set(first[0, :35]) == {NO_SCORE}
    game = plain(CONNECT_FOUR)

    @cache
    def score(board):
        outcome = game.outcome(board)
        if outcome is not None:
            return 100 * outcome * game.mover(board)
        return max(score_of_move(board, cell) for cell in game.legal(board))

    def score_of_move(board, cell):
        after = score(game.after(board, cell))
        return np.sign(after) - after

    late = [tuple(board) for board in random_boards(CONNECT_FOUR, 1000).tolist()]
    late = [board for board in late if board.count(0) <= 11]
    for board, scores in zip(late, solution.move_scores(late), strict=True):
        found = {cell: scores[cell] for cell in np.flatnonzero(scores != NO_SCORE)}
        assert found == {cell: score_of_move(board, cell) for cell in game.legal(board)}
        after = [game.after(board, cell) for cell in game.legal(board)]
        assert solution.board_scores([board, *after]).tolist() == [*map(score, [board, *after])]


PUBLISHED = """
32164625 | 11
6146 | 18
335662333565 | -2
32751571231557 | -3
13712 | 3
3246313 | -2
5554224333234511764415115 | 4
52753311433677442422121 | 8
274552224131661 | 0
5455174361263362 | -1
2252576253462244111563365343671351441 | -1
7422341735647741166133573473242566 | 1
"""


@pytest.mark.parametrize(("columns", "score"), cases(PUBLISHED))
def test_connect_four_on_6x7_has_the_scores_of_the_test_sets_of_pascal_pons(columns, score):
    pytest.importorskip("bitbully")
    board = np.zeros((6, 7), dtype=np.int8)
    for ply, column in enumerate(columns):
        cells = board[:, int(column) - 1]
        cells[np.flatnonzero(cells == 0)[-1]] = 1 - 2 * (ply % 2)
    for image in (board.reshape(-1), board[:, ::-1].reshape(-1)):
        value, plies = analyse(image, CONNECT_FOUR).position
        last_stone = (len(columns) + plies + 1) // 2  # of the side that makes the last move
        assert value * (22 - last_stone) == int(score)


@pytest.mark.parametrize("cells", [[0], [35, 36]], ids=["in the air", "two of X"])
def test_a_board_of_connect_four_that_play_cannot_reach_has_no_score(cells):
    pytest.importorskip("bitbully")
    board = np.zeros((1, 42), dtype=np.int8)
    board[0, cells] = 1
    for scores in (solve(CONNECT_FOUR).board_scores, solve(CONNECT_FOUR).move_scores):
        with refuses("reach"):
            scores(board)


def test_scores_that_all_callers_share_cannot_be_changed():
    with refuses():
        solve(Rules(2, 2, 2)).scores[0] = 1


@pytest.mark.parametrize("rules", [*SMALL, *EVERY], ids=str)
def test_every_score_counts_the_plies_to_a_win_or_a_loss_and_winners_hurry(rules):
    game, plies = plain(rules), {}
    for board in game.last_first:
        outcome = game.positions[board]
        found = [plies[game.after(board, cell)] for cell in game.moves(board)]
        lost, won = [n for value, n in found if value > 0], [n for value, n in found if value < 0]
        if outcome is not None:
            plies[board] = (outcome * game.mover(board), 0)
        elif won:
            plies[board] = (1, 1 + min(won))
        elif len(lost) == len(found):
            plies[board] = (-1, 1 + max(lost))
        else:
            plies[board] = (0, 0)
    scores = {board: value * (100 - n) for board, (value, n) in plies.items()}
    boards = np.array(list(plies), dtype=np.int8)
    solution = solve(rules)
    assert solution.board_scores(boards).tolist() == list(scores.values())
    assert np.count_nonzero(solution.scores != NO_SCORE) == len(scores)
    rows = positions_of(rules).rows(boards)
    assert solution.value_x[rows].tolist() == [game.value_x[board] for board in plies]
    assert solution.value[rows].tolist() == [value for value, _ in plies.values()]
    moves = np.full(boards.shape, NO_SCORE)
    for row, board in enumerate(plies):
        for cell in game.moves(board):
            value, n = plies[game.after(board, cell)]
            moves[row, cell] = -value * (99 - n)
    assert solution.move_scores(boards).tolist() == moves.tolist()
    values = np.where(moves == NO_SCORE, -2, np.sign(moves))
    assert np.array_equal(solution.move_values(boards), values)
    best = (values == values.max(axis=1, keepdims=True)) & (values > -2)
    assert np.array_equal(solution.optimal(boards), best)


def test_boards_that_play_cannot_reach_have_no_score():
    solution = solve(Rules(2, 3, 2))
    board = [1, 0, 0, 0, 0, 1]
    for ask in (solution.board_scores, solution.move_scores, solution.optimal):
        with refuses("2x3, 2 in a row", board):
            ask(np.array([[0] * 6, board], dtype=np.int8))
    with refuses("boards"):
        solution.move_values(np.full((1, 6), 2, dtype=np.int8))
    with refuses("5x5"):
        solve(Rules(5, 5, 4))


def test_all_players_of_a_board_share_one_solution_which_no_copy_holds():
    rules = Rules(4, 4, 4)
    assert solve(rules) is solve(Rules(4, 4, 4))
    assert solve(rules).scores.nbytes == 3**16
    env = TicTacToeVectorEnv(2, opponent="minimax-slip=0.1", rows=4, cols=4, k=4)
    env.reset(seed=0)
    assert len(pickle.dumps(env)) < 1 << 20


@pytest.mark.parametrize("sizes", [(4, 4, 3), (2, 8, 3)], ids=str)
def test_on_up_to_16_cells_minimax_plays_the_moves_that_an_alpha_beta_search_finds(sizes):
    rules, rng = Rules(*sizes), np.random.default_rng(0)
    games = [game_state(rng.permutation(16), rules).moves for _ in range(30)]
    boards = np.concatenate([replay(moves, rules)[8:-1] for moves in games])
    best = SearchPolicy(rules).probs(boards)
    assert np.allclose(make_opponent("minimax", rules).probs(boards), best, atol=1e-15)


@pytest.mark.parametrize("rules", SMALL[:2], ids=str)
def test_minimax_plays_the_optimal_moves_of_plain_recursion_and_slips_at_random(rules):
    game = plain(rules)
    boards = np.array(game.unfinished[::3], dtype=np.int8)
    perfect = Player(game.perfect).probs(boards)
    lowest = Player(lambda board: {min(game.best(board)): 1}).probs(boards)
    fastest = solve(rules).move_scores(boards).astype(int)
    fastest = fastest == fastest.max(axis=1, keepdims=True)
    fastest = fastest / fastest.sum(axis=1, keepdims=True)
    for slip in (0, 0.25, 1):
        for ties, moves in (("random", perfect), ("first", lowest), ("fastest", fastest)):
            mixed = (1 - slip) * moves + slip * RandomPolicy().probs(boards)
            policy = MinimaxPolicy(rules, ties, slip)
            assert np.array_equal(policy.probs(boards), mixed)
            if plays_symmetrically(policy):
                assert np.array_equal(CanonicalPolicy(policy, rules).probs(boards), mixed)
            assert plays_symmetrically(policy) == (ties != "first")


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5", None])
def test_what_is_no_probability_is_refused(wrong):
    with refuses("slip", repr(wrong)):
        MinimaxPolicy(Rules(), slip=wrong)


@pytest.mark.parametrize("rules", [Rules(), Rules(2, 4, 3)], ids=str)
@pytest.mark.parametrize("make", [SearchPolicy, MinimaxPolicy])
def test_a_search_to_the_end_and_minimax_give_every_move_its_exact_result(make, rules):
    positions = positions_of(rules)
    boards = positions.boards[positions.unfinished]
    expected = solve(rules).move_values(boards).astype(float)
    expected[expected == -2] = np.nan
    player = make(rules)
    values = player.q_values(boards)
    assert np.array_equal(values, expected, equal_nan=True)
    assert player.meaning.endswith("win 1, draw 0, loss -1")
