import re
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from plain_game import Player, is_exactly, plain_game

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
from tictactoe_env.opponents import MinimaxPolicy
from tictactoe_env.policy import RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules

BOARDS = [Rules(3, 3, 3), Rules(2, 3, 2), Rules(2, 4, 3)]
MARKS = {"X": 1, "O": -1}


def plain(rules):
    return plain_game(rules.rows, rules.cols, rules.k)


@lru_cache
def choice_of(seed, rules, kind):
    """An arbitrary player as chances in eighths, so that floats hold them exactly.

    "legal" and "any" spread them over the free cells or over all cells, "sure" and "rash" put them on one such cell.
    """
    rng = np.random.default_rng(seed)
    chances = {}
    for board in plain(rules).unfinished:
        cells = (
            plain(rules).free(board)
            if kind in ("legal", "sure") or rng.random() < 0.7
            else range(rules.cells)
        )
        picked = rng.choice(list(cells), size=1 if kind in ("sure", "rash") else 8).tolist()
        chances[board] = {
            cell: Fraction(picked.count(cell), len(picked)) for cell in sorted(set(picked))
        }
    return chances.__getitem__


def moves_of(moves, rules):
    """The player that makes these moves, {board: cell}, and uniformly random ones elsewhere."""
    return lambda board: (
        {moves[board]: Fraction(1)} if board in moves else plain(rules).uniform(board)
    )


def held_against(result, fractions):
    """Whether a result is (win, draw, loss) for X, and the illegal parts where five are given."""
    figures = (result.win, result.draw, result.loss, result.illegal, result.illegal_other)
    return all(
        is_exactly(figure, fraction) for figure, fraction in zip(figures, fractions, strict=False)
    )


# --- exact -------------------------------------------------------------------------------------------------------


def test_random_play_against_itself_has_the_known_fractions():
    result = exact_result(RandomPolicy(), RandomPolicy())
    assert held_against(
        result, (Fraction(737, 1260), Fraction(8, 63), Fraction(121, 420), Fraction(0), Fraction(0))
    )


def test_minimax_against_random_has_the_known_rates():
    minimax = MinimaxPolicy(Rules())
    as_x, as_o = (result_vs_random(side, minimax) for side in "XO")
    assert [f"{100 * rate:.4f}" for rate in (as_x.win, as_x.draw, as_x.loss)] == [
        "96.7811",
        "3.2189",
        "0.0000",
    ]
    assert [f"{100 * rate:.4f}" for rate in (as_o.win, as_o.draw, as_o.loss)] == [
        "77.7484",
        "22.2516",
        "0.0000",
    ]
    assert as_x.loss == as_o.loss == 0
    assert held_against(as_x, (Fraction(75257, 77760), Fraction(2503, 77760), Fraction(0)))
    assert held_against(as_o, (Fraction(2645, 3402), Fraction(757, 3402), Fraction(0)))


def test_minimax_draws_against_itself():
    assert held_against(
        exact_result(MinimaxPolicy(Rules()), MinimaxPolicy(Rules(), "first")),
        (Fraction(0), Fraction(1), Fraction(0)),
    )


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_random_and_perfect_play_have_the_fractions_of_plain_enumeration(rules):
    game = plain(rules)
    players = ((RandomPolicy(), game.uniform), (MinimaxPolicy(rules), game.perfect))
    for x, plain_x in players:
        for o, plain_o in players:
            assert held_against(exact_result(x, o, rules), game.match(plain_x, plain_o))


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize(
    "kinds",
    [("legal", "legal"), ("any", "any"), ("sure", "any"), ("rash", "legal"), ("any", "rash")],
)
def test_exact_is_plain_enumeration_to_the_last_bit_illegal_moves_included(kinds, rules):
    x, o = (choice_of(seed, rules, kind) for seed, kind in enumerate(kinds))
    result = exact_result(Player(x), Player(o), rules)
    found = tuple(
        map(Fraction, (result.win, result.draw, result.loss, result.illegal, result.illegal_other))
    )
    assert found == plain(rules).match(x, o)
    assert sum(found[:3]) == 1


def test_the_other_side_sees_the_same_match():
    result = Result(0.5, 0.25, 0.25, 0.125, 0.0625)
    assert result.other_side == Result(0.25, 0.25, 0.5, 0.0625, 0.125)
    assert result.other_side.other_side == result
    assert (result.value, result.other_side.value) == (0.25, -0.25)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_a_side_names_who_sits_where(rules):
    policy, other = Player(choice_of(1, rules, "any")), Player(choice_of(2, rules, "any"))
    assert exact_result_as("X", policy, other, rules) == exact_result(policy, other, rules)
    assert (
        exact_result_as("O", policy, other, rules) == exact_result(other, policy, rules).other_side
    )
    assert (
        result_vs_random("O", policy, rules)
        == exact_result(RandomPolicy(), policy, rules).other_side
    )


@pytest.mark.parametrize("side", ["x", "Y", "", 1, None])
def test_a_side_that_is_neither_x_nor_o_is_refused(side):
    policy = RandomPolicy()
    for ask in (
        lambda: exact_result_as(side, policy, policy),
        lambda: result_vs_random(side, policy),
        lambda: action_values(side, policy, policy),
    ):
        with pytest.raises(ValueError, match=f"^unknown side {re.escape(repr(side))}.*known: O, X"):
            ask()


def test_the_board_is_the_policies_own_or_the_given_one_or_three_by_three():
    table = tabulate(RandomPolicy(), Rules(2, 3, 2))
    assert board_of(None, RandomPolicy()) == Rules()
    assert board_of(None, RandomPolicy(), table) == Rules(2, 3, 2)
    assert board_of(Rules(4, 3, 3), RandomPolicy()) == Rules(4, 3, 3)
    assert board_of(Rules(2, 3, 2), table, MinimaxPolicy(Rules(2, 3, 2))) == Rules(2, 3, 2)


def test_policies_of_different_boards_do_not_meet():
    table = tabulate(RandomPolicy(), Rules(2, 3, 2))
    with pytest.raises(
        ValueError,
        match=r"^these policies play on different boards: 2x3, 2 in a row, 3x3, 3 in a row$",
    ):
        exact_result(table, MinimaxPolicy(Rules()))
    with pytest.raises(ValueError, match="different boards"):
        best_responses(table, Rules(3, 2, 2))


# --- the best there is against random play -----------------------------------------------------------------------


def most_wins(result):
    return result[0], -result[2]


def test_the_best_x_against_random_play_never_loses():
    rules = Rules()
    for never_loses in (True, False):
        best = Player(moves_of(plain(rules).best_against_uniform(1, most_wins, never_loses), rules))
        assert held_against(
            result_vs_random("X", best), (Fraction(191, 192), Fraction(1, 192), Fraction(0))
        )
        assert not best_responses(best)["X"].can_lose


def test_the_best_o_that_never_loses_wins_866_of_945_against_random_play():
    best = Player(moves_of(plain(Rules()).best_against_uniform(-1, most_wins, True), Rules()))
    assert held_against(
        result_vs_random("O", best), (Fraction(866, 945), Fraction(79, 945), Fraction(0))
    )
    assert not best_responses(best)["O"].can_lose


def test_the_o_that_wins_most_often_against_random_play_can_be_beaten():
    best = Player(moves_of(plain(Rules()).best_against_uniform(-1, most_wins, False), Rules()))
    assert held_against(
        result_vs_random("O", best), (Fraction(887, 945), Fraction(43, 945), Fraction(1, 63))
    )
    assert best_responses(best)["O"].can_lose
    assert best_responses(best)["O"].value == -1


def test_every_o_with_the_best_wins_minus_losses_against_random_play_can_be_beaten():
    # Several reach 874/945, this one with 881 wins; no O that never loses does, since the best of those wins 866.
    best = Player(
        moves_of(
            plain(Rules()).best_against_uniform(-1, lambda result: result[0] - result[2], False),
            Rules(),
        )
    )
    result = result_vs_random("O", best)
    assert held_against(result, (Fraction(881, 945), Fraction(57, 945), Fraction(1, 135)))
    assert is_exactly(result.value, Fraction(874, 945))
    assert best_responses(best)["O"].can_lose
    assert best_achievable(Rules())["O"].value < result.value


@pytest.mark.parametrize(
    ("cell", "wins"),
    [(0, Fraction(191, 192)), (4, Fraction(95, 96)), (5, Fraction(379, 384))],
    ids=["corner", "centre", "edge"],
)
def test_the_best_x_that_never_loses_wins_by_its_first_move(cell, wins):
    rules = Rules()
    moves = plain(rules).best_against_uniform(1, most_wins, True) | {plain(rules).empty: cell}
    best = Player(moves_of(moves, rules))
    assert held_against(result_vs_random("X", best), (wins, 1 - wins, Fraction(0)))
    assert not best_responses(best)["X"].can_lose


def test_the_limits_are_the_known_fractions():
    found = best_achievable(Rules())
    assert held_against(found["X"], (Fraction(191, 192), Fraction(1, 192), Fraction(0)))
    assert held_against(found["O"], (Fraction(866, 945), Fraction(79, 945), Fraction(0)))


@pytest.mark.parametrize("rules", [*BOARDS, Rules(2, 5, 3), Rules(1, 5, 2)], ids=str)
def test_the_limits_are_those_of_plain_search_and_none_where_losing_cannot_be_avoided(rules):
    game = plain(rules)
    for side, mark in MARKS.items():
        moves = moves_of(game.best_against_uniform(mark, most_wins, True), rules)
        x_wins, drawn, o_wins = (
            game.match(moves, game.uniform) if side == "X" else game.match(game.uniform, moves)
        )[:3]
        if game.value_x[game.empty] * mark < 0:
            assert best_achievable(rules)[side] is None
        else:
            assert held_against(
                best_achievable(rules)[side],
                (x_wins, drawn, o_wins) if side == "X" else (o_wins, drawn, x_wins),
            )


# --- the worst case ----------------------------------------------------------------------------------------------


def best_response(rules, side, choice):
    """(smallest value, largest chance of a loss, moves in the shortest game lost or None) over all opponents, by recursion."""
    game, mark = plain(rules), MARKS[side]

    @lru_cache(None)
    def from_here(board):
        outcome = game.positions[board]
        if outcome is not None:
            return (
                Fraction(outcome * mark),
                Fraction(outcome == -mark),
                0 if outcome == -mark else None,
            )
        if game.mover(board) == mark:
            after = {
                cell: (Fraction(-1), Fraction(1), 0)
                if board[cell]
                else from_here(game.after(board, cell))
                for cell in choice(board)
            }
            value, loss = (
                sum(chance * after[cell][i] for cell, chance in choice(board).items())
                for i in (0, 1)
            )
        else:
            after = {cell: from_here(game.after(board, cell)) for cell in game.free(board)}
            value, loss = (
                min(result[0] for result in after.values()),
                max(result[1] for result in after.values()),
            )
        lengths = [result[2] for result in after.values() if result[2] is not None]
        return value, loss, 1 + min(lengths) if lengths else None

    return from_here(game.empty)


def every_game(rules, side, choice):
    """All games that opponents of any kind can play against a player with one move a board: [(cells, result)]."""
    game, mark = plain(rules), MARKS[side]
    games, going = [], [((), game.empty)]
    while going:
        cells, board = going.pop()
        if game.positions[board] is not None:
            games.append((cells, game.positions[board] * mark))
        elif game.mover(board) != mark:
            going += [((*cells, cell), game.after(board, cell)) for cell in game.free(board)]
        else:
            (cell,) = choice(board)
            if board[cell]:
                games.append(((*cells, cell), -1))
            else:
                going.append(((*cells, cell), game.after(board, cell)))
    return games


def assert_is_lost(line, rules, side, choice):
    """The line is a game of this player that it loses, at the last move and not before."""
    game, board = plain(rules), plain(rules).empty
    for ply, cell in enumerate(line):
        assert game.positions[board] is None
        if game.mover(board) == MARKS[side]:
            assert choice(board).get(cell, 0) > 0
            if board[cell]:
                assert ply == len(line) - 1
                return
        assert board[cell] == 0
        board = game.after(board, cell)
    assert game.positions[board] == -MARKS[side]


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["sure", "rash", "legal", "any"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_worst_case_is_the_best_response_of_plain_recursion(seed, kind, rules):
    choice = choice_of(seed, rules, kind)
    found = best_responses(Player(choice), rules)
    assert list(found) == ["X", "O"]
    for side, worst in found.items():
        value, loss, length = best_response(rules, side, choice)
        assert worst.side == side
        assert (Fraction(worst.value), Fraction(worst.loss)) == (value, loss)
        assert worst.can_lose == (length is not None)
        if length is None:
            assert worst.losing_line is None
        else:
            assert len(worst.losing_line) == length
            assert_is_lost(worst.losing_line, rules, side, choice)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["sure", "rash"])
@pytest.mark.parametrize("seed", range(5))
def test_the_worst_case_of_a_player_without_chance_is_the_worst_of_all_its_games(seed, kind, rules):
    choice = choice_of(seed, rules, kind)
    for side, worst in best_responses(Player(choice), rules).items():
        games = every_game(rules, side, choice)
        assert worst.value == min(result for _, result in games)
        assert worst.loss == any(result == -1 for _, result in games)
        lost = sorted((len(cells), cells) for cells, result in games if result == -1)
        assert worst.losing_line == (lost[0][1] if lost else None)  # the first of the shortest


@pytest.mark.parametrize("ties", ["random", "first"])
def test_minimax_cannot_be_beaten_on_three_by_three(ties):
    for worst in best_responses(MinimaxPolicy(Rules(), ties)).values():
        assert not worst.can_lose
        assert worst.losing_line is None
        assert (worst.value, worst.loss) == (0, 0)


def test_any_slip_at_all_can_be_beaten():
    for worst in best_responses(MinimaxPolicy(Rules(), slip=0.01)).values():
        assert worst.can_lose
        assert 0 < worst.loss < 0.05


def test_minimax_as_o_loses_where_the_first_player_wins():
    worst = best_responses(MinimaxPolicy(Rules(2, 3, 2)))
    assert not worst["X"].can_lose
    assert abs(worst["X"].value - 1) < ROUNDING
    assert (worst["O"].value, worst["O"].loss, len(worst["O"].losing_line)) == (-1, 1, 3)


def test_random_play_loses_the_shortest_games():
    worst = best_responses(RandomPolicy())
    assert worst["X"].losing_line == (0, 1, 2, 4, 3, 7)
    assert worst["O"].losing_line == (0, 1, 3, 2, 6)
    assert [replay(case.losing_line, Rules()).shape for case in worst.values()] == [(7, 9), (6, 9)]


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_always_the_same_cell_loses_by_an_illegal_move(rules):
    stubborn = Player(lambda board: {0: Fraction(1)})
    worst = best_responses(stubborn, rules)
    assert worst["X"].losing_line == (0, 1, 0)
    assert worst["O"].losing_line == (0, 0)
    assert [(case.value, case.loss) for case in worst.values()] == [(-1, 1)] * 2


# --- agreement with perfect play ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["sure", "legal", "any"])
def test_agreement_is_the_mean_share_of_optimal_moves(kind, rules):
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
    assert is_within_rounding(found.everywhere, sum(shares.values()) / len(shares))
    assert is_within_rounding(found.reachable, sum(shares[board] for board in met) / len(met))


def is_within_rounding(value, fraction):
    return abs(Fraction(value) - fraction) < Fraction(1, 10**12)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_minimax_agrees_with_perfect_play_everywhere(rules):
    for ties in ("random", "first"):
        found = optimal_share(MinimaxPolicy(rules, ties))
        assert abs(found.everywhere - 1) < ROUNDING
        assert abs(found.reachable - 1) < ROUNDING


def test_a_bad_move_counts_only_where_it_can_be_met():
    positions = positions_of(Rules())
    table = tabulate(MinimaxPolicy(Rules(), "first"), Rules()).table.copy()
    # After b1 a1 b2 c1 X is to move: X opens in a1 here, so that it never comes there.
    row = np.searchsorted(
        positions.unfinished,
        positions.rows(replay(parse_game("b1 a1 b2 c1", Rules()), Rules())[-1:])[0],
    )
    table[row] = np.eye(9)[8]
    found = optimal_share(TabularPolicy(Rules(), table))
    assert is_exactly(found.everywhere, Fraction(4519, 4520))
    assert found.reachable == 1


# --- values of the first moves -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["legal", "any"])
def test_the_value_of_a_first_move_is_that_of_playing_on_after_it(kind, rules):
    game, own, other = plain(rules), choice_of(4, rules, kind), choice_of(5, rules, kind)
    expected = []
    for cell in range(rules.cells):
        x_wins, _, o_wins, _, _ = game.match(own, other, game.after(game.empty, cell))
        expected.append(x_wins - o_wins)
    assert [
        Fraction(value) for value in action_values("X", Player(own), Player(other), rules)
    ] == expected
    assert [
        -Fraction(value) for value in action_values("O", Player(other), Player(own), rules)
    ] == expected


def test_the_first_moves_of_random_play_have_the_values_of_its_mean():
    values = action_values("X", RandomPolicy(), RandomPolicy())
    assert is_exactly(values.mean(), Fraction(737, 1260) - Fraction(121, 420))
    assert values[4] > values[0] > values[1]
    assert np.abs(values[[0, 2, 6, 8]] - values[0]).max() < ROUNDING


# --- sampled -----------------------------------------------------------------------------------------------------


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
    first, again, other = (
        sampled_result(RandomPolicy(), RandomPolicy(), Rules(), 500, seed) for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


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
    with pytest.raises(ValueError, match=r"^games must be a whole number of at least 1, got 0$"):
        sampled_result(RandomPolicy(), RandomPolicy(), Rules(), games=0)
    with pytest.raises(
        ValueError, match=r"^probabilities must sum to 1 in each row, row 0 sums to 0.5$"
    ):
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
