from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from plain_game import Player, is_exactly, plain_game
from text_cases import refuses

from tictactoe_env.evaluation import exploitability
from tictactoe_env.match import (
    ROUNDING,
    Result,
    action_values,
    best_achievable,
    best_responses,
    board_of,
    exact_result,
    exact_result_as,
    optimal_share,
    result_vs_random,
    sampled_result,
    wilson_interval,
)
from tictactoe_env.notation import parse_game, replay
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules

BOARDS = [Rules(3, 3, 3), Rules(2, 3, 2), Rules(2, 4, 3)]
MARKS = {"X": 1, "O": -1}


def plain(rules):
    return plain_game(rules.rows, rules.cols, rules.k)


@lru_cache
def choice_of(seed, rules, kind):
    """An arbitrary player as chances in eighths, so that floats hold them exactly.

    "legal" and "any" spread them over free or all cells, "sure" and "rash" choose one such cell.
    """
    rng, chances, size = np.random.default_rng(seed), {}, 1 if kind in ("sure", "rash") else 8
    for board in plain(rules).unfinished:
        is_legal = kind in ("legal", "sure") or rng.random() < 0.7
        cells = plain(rules).free(board) if is_legal else range(rules.cells)
        picked = rng.choice(list(cells), size=size).tolist()
        chances[board] = {cell: Fraction(picked.count(cell), size) for cell in sorted(set(picked))}
    return chances.__getitem__


def moves_of(moves, rules):
    """The player that makes these moves, {board: cell}, and uniformly random ones elsewhere."""
    return lambda board: (
        {moves[board]: Fraction(1)} if board in moves else plain(rules).uniform(board)
    )


def rates(result):
    return (result.win, result.draw, result.loss, result.illegal, result.illegal_other)


def is_result(result, *fractions):
    """Whether a result is (win, draw, loss) for X, and the illegal parts where five are given."""
    return all(map(is_exactly, rates(result), fractions))


# --- exact results -------------------------------------------------------------------------------


def test_random_play_and_minimax_have_the_known_results():
    result, minimax = exact_result(RandomPolicy(), RandomPolicy()), MinimaxPolicy(Rules())
    assert is_result(result, Fraction(737, 1260), Fraction(8, 63), Fraction(121, 420), 0, 0)
    as_x, as_o = (result_vs_random(side, minimax) for side in "XO")
    assert [f"{100 * found.win:.4f}" for found in (as_x, as_o)] == ["96.7811", "77.7484"]
    assert is_result(as_x, Fraction(75257, 77760), Fraction(2503, 77760), 0)
    assert is_result(as_o, Fraction(2645, 3402), Fraction(757, 3402), 0)
    assert as_x.loss == as_o.loss == 0
    assert is_result(exact_result(minimax, MinimaxPolicy(Rules(), "first")), 0, 1, 0)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kinds", ["legal legal", "any any", "sure any", "rash legal", "any rash"])
def test_a_result_is_that_of_plain_enumeration_to_the_last_bit_illegal_moves_included(kinds, rules):
    x, o = (choice_of(seed, rules, kind) for seed, kind in enumerate(kinds.split()))
    found = tuple(map(Fraction, rates(exact_result(Player(x), Player(o), rules))))
    assert found == plain(rules).match(x, o)
    assert sum(found[:3]) == 1


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_a_side_names_who_sits_where_and_the_other_side_sees_the_same_match(rules):
    result = Result(0.5, 0.25, 0.25, 0.125, 0.0625)
    assert result.other_side == Result(0.25, 0.25, 0.5, 0.0625, 0.125)
    assert result.other_side.other_side == result
    assert (result.value, result.other_side.value) == (0.25, -0.25)
    own, other = Player(choice_of(1, rules, "any")), Player(choice_of(2, rules, "any"))
    assert exact_result_as("X", own, other, rules) == exact_result(own, other, rules)
    assert exact_result_as("O", own, other, rules) == exact_result(other, own, rules).other_side
    against_random = exact_result(RandomPolicy(), own, rules).other_side
    assert result_vs_random("O", own, rules) == against_random


@pytest.mark.parametrize("side", ["x", "Y", "", 1, None])
def test_a_side_that_is_neither_x_nor_o_is_refused(side):
    for ask in (exact_result_as, action_values, lambda side, own, _: result_vs_random(side, own)):
        with pytest.raises(ValueError, match=rf"^unknown side {side!r}.*\(known: O, X\)$"):
            ask(side, RandomPolicy(), RandomPolicy())


def test_the_board_is_the_policies_own_or_the_given_one_or_three_by_three():
    table = tabulate(RandomPolicy(), Rules(2, 3, 2))
    assert board_of(None, RandomPolicy()) == Rules()
    assert board_of(None, RandomPolicy(), table) == Rules(2, 3, 2)
    assert board_of(Rules(4, 3, 3), RandomPolicy()) == Rules(4, 3, 3)
    assert board_of(Rules(2, 3, 2), table, MinimaxPolicy(Rules(2, 3, 2))) == Rules(2, 3, 2)
    with refuses("these policies play on different boards: 2x3, 2 in a row, 3x3, 3 in a row"):
        exact_result(table, MinimaxPolicy(Rules()))
    with refuses("different boards"):
        best_responses(table, Rules(3, 2, 2))


# --- the best results against random play --------------------------------------------------------


def most_wins(result):
    return result[0], -result[2]


@pytest.mark.parametrize(
    ("side", "score", "never_loses", "wins", "losses", "denominator"),
    [
        ("X", most_wins, True, 191, 0, 192),
        ("X", most_wins, False, 191, 0, 192),
        ("O", most_wins, True, 866, 0, 945),
        # The O that wins most often can be beaten.
        ("O", most_wins, False, 887, 15, 945),
        # So can every O with the best wins minus losses: several reach 874/945, this one wins 881.
        ("O", lambda result: result[0] - result[2], False, 881, 7, 945),
    ],
)
def test_the_best_players_against_random_play_have_the_known_results(
    side, score, never_loses, wins, losses, denominator
):
    moves = plain(Rules()).best_against_uniform(MARKS[side], score, never_loses)
    best = Player(moves_of(moves, Rules()))
    win, loss = Fraction(wins, denominator), Fraction(losses, denominator)
    assert is_result(result_vs_random(side, best), win, 1 - win - loss, loss)
    response = best_responses(best)[side]
    assert response.can_lose == (losses > 0)
    assert response.value == (-1 if losses else 0)
    achievable = best_achievable(Rules())[side]
    if not losses:
        assert is_result(achievable, win, 1 - win, 0)
    else:
        assert achievable.value < win - loss


@pytest.mark.parametrize("rules", [*BOARDS, Rules(2, 5, 3), Rules(1, 5, 2)], ids=str)
def test_the_best_achievable_is_that_of_plain_search_and_none_where_a_side_must_lose(rules):
    game = plain(rules)
    for side, mark in MARKS.items():
        moves = moves_of(game.best_against_uniform(mark, most_wins, True), rules)
        players = (moves, game.uniform) if side == "X" else (game.uniform, moves)
        expected = game.match(*players)[:3][::mark]
        if game.value_x[game.empty] * mark < 0:
            assert best_achievable(rules)[side] is None
        else:
            assert is_result(best_achievable(rules)[side], *expected)


# --- best responses ------------------------------------------------------------------------------


def best_response(rules, side, choice):
    """(smallest value, largest chance of loss, first of the shortest losses), by recursion."""
    game, mark = plain(rules), MARKS[side]

    @lru_cache(None)
    def from_here(board):
        outcome = game.positions[board]
        if outcome is not None:
            lost = outcome == -mark
            return Fraction(outcome * mark), Fraction(lost), () if lost else None
        own = game.mover(board) == mark
        chances = choice(board) if own else dict.fromkeys(game.free(board), 1)
        forfeit = (Fraction(-1), Fraction(1), ())
        after = {
            cell: forfeit if board[cell] else from_here(game.after(board, cell)) for cell in chances
        }
        value, loss = ([chances[cell] * found[i] for cell, found in after.items()] for i in (0, 1))
        lines = [(cell, *line) for cell, (_, _, line) in after.items() if line is not None]
        line = min(lines, key=lambda line: (len(line), line), default=None)
        return (sum(value), sum(loss), line) if own else (min(value), max(loss), line)

    return from_here(game.empty)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["sure", "rash", "legal", "any"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_best_response_is_that_of_plain_recursion(seed, kind, rules):
    choice = choice_of(seed, rules, kind)
    found = best_responses(Player(choice), rules)
    assert list(found) == ["X", "O"]
    expected = {side: best_response(rules, side, choice) for side in found}
    for side, response in found.items():
        exact = (Fraction(response.value), Fraction(response.loss), response.losing_line)
        assert exact == expected[side]
        assert response.side == side
        assert response.can_lose == (response.losing_line is not None)
    gain = -sum(value for value, _, _ in expected.values()) / 2
    assert Fraction(exploitability(Player(choice), rules)) == gain


def test_perfect_play_cannot_be_beaten_unless_it_slips_or_its_side_must_lose():
    for ties in ("random", "first"):
        for response in best_responses(MinimaxPolicy(Rules(), ties)).values():
            assert (response.value, response.loss, response.can_lose) == (0, 0, False)
    for response in best_responses(MinimaxPolicy(Rules(), slip=0.01)).values():
        assert response.can_lose
        assert 0 < response.loss < 0.05
    found = best_responses(MinimaxPolicy(Rules(2, 3, 2)))
    assert not found["X"].can_lose
    assert abs(found["X"].value - 1) < ROUNDING
    assert (found["O"].value, found["O"].loss, len(found["O"].losing_line)) == (-1, 1, 3)


def test_random_play_and_always_the_same_cell_lose_the_shortest_games():
    found = best_responses(RandomPolicy())
    lines = [response.losing_line for response in found.values()]
    assert lines == [(0, 1, 2, 4, 3, 7), (0, 1, 3, 2, 6)]
    for rules in BOARDS:
        found = best_responses(Player(lambda board: {0: Fraction(1)}), rules)
        assert [response.losing_line for response in found.values()] == [(0, 1, 0), (0, 0)]
        assert [(response.value, response.loss) for response in found.values()] == [(-1, 1)] * 2


# --- optimal moves and action values -------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["sure", "legal", "any"])
def test_the_share_of_optimal_moves_is_its_mean_over_positions(kind, rules):
    game, choice = plain(rules), choice_of(3, rules, kind)
    shares = {
        board: sum(chance for cell, chance in choice(board).items() if cell in game.best(board))
        for board in game.unfinished
    }
    met = set()
    for mark in (1, -1):
        seen, going = {game.empty}, [game.empty]
        while going:
            board = going.pop()
            own = game.mover(board) == mark
            if own:
                met.add(board)
            for cell in choice(board) if own else game.free(board):
                child = None if board[cell] else game.after(board, cell)
                if child and child not in seen:
                    seen.add(child)
                    if game.positions[child] is None:
                        going.append(child)
    found = optimal_share(Player(choice), rules)
    everywhere, reachable = (
        sum(shares[board] for board in boards) / len(boards) for boards in (shares, met)
    )
    assert abs(Fraction(found.everywhere) - everywhere) < ROUNDING
    assert abs(Fraction(found.reachable) - reachable) < ROUNDING
    for ties in ("random", "first"):
        found = optimal_share(MinimaxPolicy(rules, ties))
        assert abs(found.everywhere - 1) < ROUNDING
        assert abs(found.reachable - 1) < ROUNDING


def test_a_bad_move_counts_only_where_it_can_be_met():
    positions = positions_of(Rules())
    table = tabulate(MinimaxPolicy(Rules(), "first"), Rules()).table.copy()
    # After b1 a1 b2 c1 X is to move: X opens in a1 here, so that it never comes there.
    boards = replay(parse_game("b1 a1 b2 c1", Rules()), Rules())
    table[np.searchsorted(positions.unfinished, positions.rows(boards[-1:])[0])] = np.eye(9)[8]
    found = optimal_share(TabularPolicy(Rules(), table))
    assert is_exactly(found.everywhere, Fraction(4519, 4520))
    assert found.reachable == 1


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["legal", "any"])
def test_the_value_of_an_action_is_that_of_playing_on_after_it(kind, rules):
    game, own, other = plain(rules), choice_of(4, rules, kind), choice_of(5, rules, kind)
    results = [game.match(own, other, game.after(game.empty, cell)) for cell in range(rules.cells)]
    expected = [x_wins - o_wins for x_wins, _, o_wins, _, _ in results]
    as_x = action_values("X", Player(own), Player(other), rules)
    as_o = action_values("O", Player(other), Player(own), rules)
    assert [Fraction(value) for value in as_x] == expected
    assert [-Fraction(value) for value in as_o] == expected


def test_the_first_moves_of_random_play_have_the_values_of_its_mean():
    values = action_values("X", RandomPolicy(), RandomPolicy())
    assert is_exactly(values.mean(), Fraction(737, 1260) - Fraction(121, 420))
    assert values[4] > values[0] > values[1]
    assert np.abs(values[[0, 2, 6, 8]] - values[0]).max() < ROUNDING
    with refuses("a finished board has no moves: give an unfinished one"):
        action_values(
            "X", RandomPolicy(), RandomPolicy(), board=np.array([1, 1, 1, -1, -1, 0, 0, 0, 0])
        )


# --- sampled results -----------------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kinds", [("legal", "legal"), ("any", "any")])
def test_a_sample_agrees_with_the_exact_result_within_its_interval(kinds, rules):
    x, o = (Player(choice_of(seed, rules, kind)) for seed, kind in enumerate(kinds, 6))
    found, truth = sampled_result(x, o, rules, games=4000, seed=1), exact_result(x, o, rules)
    assert found.games == 4000
    for name in ("win", "draw", "loss"):
        low, high = found.intervals[name]
        assert low <= getattr(truth, name) <= high
        assert low <= getattr(found.result, name) <= high
    assert wilson_interval(round(found.result.illegal * 4000), 4000)[0] <= truth.illegal
    assert truth.illegal_other <= wilson_interval(round(found.result.illegal_other * 4000), 4000)[1]


def test_the_same_seed_samples_the_same_games():
    players = RandomPolicy(), RandomPolicy()
    first, again, other = (sampled_result(*players, Rules(), 500, seed) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize("rules", [Rules(6, 7, 4), Rules(7, 8, 5), Rules(4, 5, 3)], ids=str)
def test_a_board_that_cannot_be_enumerated_is_sampled(rules):
    found = sampled_result(RandomPolicy(), RandomPolicy(), rules, games=300)
    counts = [rate * 300 for rate in (found.result.win, found.result.draw, found.result.loss)]
    assert sum(round(count) for count in counts) == 300
    assert found.result.win > 0
    assert found.result.loss > 0


def test_sampled_illegal_moves_lose_for_the_side_that_made_them():
    stubborn = Player(lambda board: {0: 1.0})
    legal = Player(lambda board: {len(board) - 1 - board[::-1].index(0): 1.0})  # the last free cell
    assert sampled_result(stubborn, legal, Rules(2, 3, 3), 10).result == Result(0, 0, 1, 1, 0)
    assert sampled_result(legal, stubborn, Rules(2, 3, 3), 10).result == Result(1, 0, 0, 0, 1)


def test_a_sample_of_no_games_or_of_no_probabilities_is_refused():
    with refuses("games must be a whole number of at least 1, got 0"):
        sampled_result(RandomPolicy(), RandomPolicy(), Rules(), games=0)
    with refuses("probabilities must sum to 1 in each row, row 0 sums to 0.5"):
        sampled_result(Player(lambda board: {0: 0.5}), RandomPolicy(), Rules(), games=2)


@pytest.mark.parametrize(("count", "total"), [(0, 10), (5, 10), (10, 10), (1, 1), (37, 1000)])
def test_the_ends_of_a_wilson_interval_solve_its_equation(count, total):
    # Wilson 1927: the p with (count / total - p)^2 = z^2 p (1 - p) / total.
    z = 1.959963984540054
    for end in wilson_interval(count, total):
        assert abs((count / total - end) ** 2 - z * z * end * (1 - end) / total) < 1e-12


def test_wilson_intervals_have_the_published_values():
    assert [round(end, 4) for end in wilson_interval(5, 10)] == [0.2366, 0.7634]
    assert [round(end, 4) for end in wilson_interval(0, 10)] == [0, 0.2775]
