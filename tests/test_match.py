from functools import lru_cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.plain_game import Player, is_exactly, plain
from sample_players import best_player
from text_cases import refuses

from tictactoe_env.exact import match
from tictactoe_env.exact.evaluation import exploitability
from tictactoe_env.exact.match import Result, action_values, best_achievable, best_responses
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.proof import Limit, ProofLimitError, TableReach
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules

BOARDS = [Rules(3, 3, 3), Rules(2, 3, 2), Rules(2, 4, 3)]
MARKS = {"X": 1, "O": -1}
RATES = ("win", "draw", "loss", "illegal", "illegal_other")


@lru_cache
def choice_of(seed, rules, kind):
    """An arbitrary player as chances in eighths, so that floats hold them and products exactly.

    "legal" and "any" spread them over free or all cells, "sure" and "rash" choose one such cell.
    """
    rng, chances, size = np.random.default_rng(seed), {}, 1 if kind in ("sure", "rash") else 8
    for board in plain(rules).unfinished:
        is_legal = kind in ("legal", "sure") or rng.random() < 0.7
        cells = plain(rules).free(board) if is_legal else range(rules.cells)
        picked = rng.choice(list(cells), size=size).tolist()
        chances[board] = {cell: picked.count(cell) / size for cell in sorted(set(picked))}
    return chances.__getitem__


def moves_of(moves, rules):
    """The player that makes these moves, {board: cell}, and uniformly random ones elsewhere."""
    return lambda board: {moves[board]: 1} if board in moves else plain(rules).uniform(board)


def rates(result):
    return tuple(getattr(result, name) for name in RATES)


def is_result(result, *fractions):
    """Whether a result is (win, draw, loss) for X, and the illegal parts where five are given."""
    return all(map(is_exactly, rates(result), fractions))


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kinds", ["legal legal", "any any", "sure any", "rash legal", "any rash"])
def test_a_result_is_that_of_plain_enumeration_to_the_last_bit_illegal_moves_included(kinds, rules):
    x, o = (choice_of(seed, rules, kind) for seed, kind in enumerate(kinds.split()))
    assert rates(match.exact_result(Player(x), Player(o), rules)) == plain(rules).match(x, o)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_a_side_names_who_sits_where_and_the_other_side_sees_the_same_match(rules):
    result = Result(0.5, 0.25, 0.25, 0.125, 0.0625)
    assert result.other_side == Result(0.25, 0.25, 0.5, 0.0625, 0.125)
    assert result.other_side.other_side == result
    assert (result.value, result.other_side.value) == (0.25, -0.25)
    own, other = Player(choice_of(1, rules, "any")), Player(choice_of(2, rules, "any"))
    as_x, as_o = (match.exact_result(own, other, rules, side=side) for side in "XO")
    assert as_x == match.exact_result(own, other, rules)
    assert as_o == match.exact_result(other, own, rules).other_side
    against_random = match.exact_result(RandomPolicy(), own, rules).other_side
    assert match.exact_result(own, RandomPolicy(), rules, side="O") == against_random


FINISHED = np.array([1, 1, 1, -1, -1, 0, 0, 0, 0])
RANDOM, HALVES = 2 * [RandomPolicy()], 2 * [Player(lambda board: {0: 0.5})]


@pytest.mark.parametrize(
    ("ask", "arguments", "mentions"),
    [
        *((action_values, (side, *RANDOM), f"side {side!r}") for side in ("x", "", 1, None)),
        (lambda side: match.exact_result(*RANDOM, side=side), ("Y",), "side 'Y' X O"),
        (action_values, ("X", *RANDOM, Rules(), FINISHED), "board"),
        (match.sampled_result, (*RANDOM, Rules(), 0), "games 0"),
        (match.sampled_result, (*HALVES, Rules(), 2), "row 0.5"),
    ],
)
def test_what_has_no_result_is_refused(ask, arguments, mentions):
    with refuses(*mentions.split()):
        ask(*arguments)


def test_the_board_is_the_policies_own_or_the_given_one_or_three_by_three():
    table, minimax = tabulate(RandomPolicy(), Rules(2, 3, 2)), MinimaxPolicy(Rules(2, 3, 2))
    assert match.board_of(None, RandomPolicy()) == Rules()
    assert match.board_of(None, RandomPolicy(), table) == Rules(2, 3, 2)
    assert match.board_of(Rules(4, 3, 3), RandomPolicy()) == Rules(4, 3, 3)
    assert match.board_of(Rules(2, 3, 2), table, minimax) == Rules(2, 3, 2)
    with refuses("2x3, 2 in a row", "3x3, 3 in a row"):
        match.exact_result(table, MinimaxPolicy(Rules()))
    with refuses("2x3, 2 in a row", "3x2, 2 in a row"):
        best_responses(table, Rules(3, 2, 2))


@pytest.mark.parametrize("ask", [match.exact_result, action_values])
def test_either_player_names_the_board(ask):
    rules, one = Rules(2, 3, 2), RandomPolicy()
    table = tabulate(one, rules)
    assert match.optimal_share(one, rules) == match.optimal_share(table)
    for side in "XO":
        asked = ask if ask is match.exact_result else partial(ask, side)
        for players in ((table, one), (one, table)):
            assert repr(asked(*players)) == repr(asked(*players, rules))


def most_wins(result):
    return result[0], -result[2]


@pytest.mark.parametrize("rules", [*BOARDS, Rules(1, 5, 2)], ids=str)
def test_the_best_achievable_is_that_of_plain_search_and_none_where_a_side_must_lose(rules):
    game = plain(rules)
    for side, mark in MARKS.items():
        moves = moves_of(game.best_against_uniform(mark, most_wins, True), rules)
        players = (moves, game.uniform) if side == "X" else (game.uniform, moves)
        expected, found = game.match(*players)[:3][::mark], best_achievable(rules)[side]
        must_lose = game.value_x[game.empty] * mark < 0
        assert found is None if must_lose else is_result(found, *expected)


def best_response(rules, side, choice):
    """(smallest value, largest chance of loss, first of the shortest losses), by recursion."""
    game, mark = plain(rules), MARKS[side]

    @lru_cache(None)
    def from_here(board):
        outcome = game.positions[board]
        if outcome is not None:
            lost = outcome == -mark
            return outcome * mark, lost, () if lost else None
        own = game.mover(board) == mark
        chances = choice(board) if own else dict.fromkeys(game.free(board), 1)
        after = {cell: (-1, 1, ()) for cell in chances if board[cell]}
        after |= {cell: from_here(game.after(board, cell)) for cell in chances if not board[cell]}
        value, loss = ([chances[cell] * found[i] for cell, found in after.items()] for i in (0, 1))
        lines = [(cell, *line) for cell, (_, _, line) in after.items() if line is not None]
        line = min(lines, key=lambda line: (len(line), line), default=None)
        return (sum(value), sum(loss), line) if own else (min(value), max(loss), line)

    return from_here(game.empty)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["sure", "rash", "legal", "any"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_best_response_is_that_of_plain_recursion(seed, kind, rules):
    choice = choice_of(seed, rules, kind)
    found = best_responses(Player(choice), rules)
    expected = {side: best_response(rules, side, choice) for side in "XO"}
    assert found == {
        side: match.BestResponse(side, value, loss, line, value == 1)
        for side, (value, loss, line) in expected.items()
    }
    for side, (_, _, line) in expected.items():
        assert found[side].can_lose == (line is not None)
    gain = -sum(value for value, _, _ in expected.values()) / 2
    table = tabulate(Player(choice), rules)
    assert exploitability(Player(choice), rules) == exploitability(table) == gain


def worst_outcome(rules, side, choice):
    """The worst outcome in each position that a policy can meet, by recursion."""
    game, mark, found = plain(rules), MARKS[side], {}

    def from_here(board):
        if board not in found:
            found[board] = game.positions[board] and game.positions[board] * mark
            if found[board] is None:
                own = game.mover(board) == mark
                cells = [cell for cell, chance in choice(board).items() if chance > 0]
                after = [
                    -1 if board[cell] else from_here(game.after(board, cell))
                    for cell in (cells if own else game.free(board))
                ]
                found[board] = min(after)
        return found[board]

    from_here(game.empty)
    return found


@pytest.mark.parametrize("side", ["X", "O"])
@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["rash", "legal", "any", "best"])
def test_the_worst_outcome_is_that_of_the_games_that_can_happen(kind, rules, side):
    best = lambda board: {plain(rules).best(board)[0]: 1}  # noqa: E731
    choice = best if kind == "best" else choice_of(4, rules, kind)
    expected = worst_outcome(rules, side, choice)
    table, positions = tabulate(Player(choice), rules), positions_of(rules)
    found = match.worst_outcomes(TableReach({side: table}, side, rules))
    rows = positions.rows(np.array(list(expected), dtype=np.int8).reshape(-1, rules.cells))
    assert found[rows].tolist() == list(expected.values())


@pytest.mark.parametrize("rules", [Rules(1, 3, 2), Rules(1, 4, 2), Rules(2, 4, 3)], ids=str)
def test_no_player_wins_most_of_those_that_never_lose_where_it_can_be_made_to_lose(rules):
    player = best_player(rules)
    found = {side: match.wins_most(TableReach({side: player}, side, rules)) for side in "XO"}
    assert found == {"X": True, "O": plain(rules).value_x[plain(rules).empty] < 1}


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("kind", ["legal", "any"])
def test_the_value_of_an_action_is_that_of_playing_on_after_it_and_a_taken_cell_has_none(
    kind, rules
):
    game, own, other = plain(rules), choice_of(4, rules, kind), choice_of(5, rules, kind)
    for board in (game.empty, *game.unfinished[:: len(game.unfinished) // 3]):
        mark, expected = game.mover(board), np.full(rules.cells, np.nan)
        players = (own, other)[::mark]
        for cell in game.free(board):
            x_wins, _, o_wins, _, _ = game.match(*players, game.after(board, cell))
            expected[cell] = (x_wins - o_wins) * mark
        asked = ("X" if mark == 1 else "O", Player(own), Player(other), rules)
        found = action_values(*asked, np.array(board) if any(board) else None)
        assert found.dtype == np.float64
        assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize(("kind", "side"), [("legal", "X"), ("any", "O")])
def test_a_sample_agrees_with_the_exact_result_within_its_interval(kind, side, rules):
    x, o = (tabulate(Player(choice_of(seed, rules, kind)), rules) for seed in (6, 7))
    found = match.sampled_result(x, o, rules, 4000, 1, side=side)
    truth = match.exact_result(x, o, rules, side=side)
    assert (found.games, list(found.intervals)) == (4000, list(RATES[:3]))
    for name in RATES:
        rate = getattr(found.result, name)
        low, high = found.intervals.get(name, match.wilson_interval(round(rate * 4000), 4000, 3))
        assert low <= min(rate, getattr(truth, name)) <= max(rate, getattr(truth, name)) <= high


@pytest.mark.parametrize(
    "ask",
    [
        lambda rules, limit: match.exact_result(*RANDOM, rules, limit),
        lambda rules, limit: match.exact_result(*RANDOM, rules, limit, side="O"),
        lambda rules, limit: match.best_responses(RandomPolicy(), rules, limit)["X"],
    ],
)
def test_the_limit_of_a_proof_is_that_of_boards_of_more_than_12_cells(ask):
    ask(Rules(1, 12, 2), Limit(positions=1))
    with refuses("1x13", "1 positions", error=ProofLimitError):
        ask(Rules(1, 13, 2), Limit(positions=1))


def test_a_sample_has_1000_games_of_seed_0_and_one_game_is_played_to_its_end():
    for rules in (Rules(), Rules(7, 8, 5)):
        found = match.sampled_result(*RANDOM, rules)
        assert found == match.sampled_result(*RANDOM, rules, 1000, 0)
        assert found != match.sampled_result(*RANDOM, rules, 1000, 1)
    assert match.sampled_result(*RANDOM, Rules(2, 2, 2), 1).result == Result(1.0, 0.0, 0.0)


Z = 1.959963984540054


@given(st.integers(1, 10**6), st.data())
def test_the_ends_of_a_wilson_interval_solve_its_equation_and_have_the_published_values(
    total, data
):
    # Wilson 1927: the p with (count / total - p)^2 = z^2 p (1 - p) / total.
    count = data.draw(st.integers(0, total))
    rate = count / total
    low, high = match.wilson_interval(count, total)
    assert 0 <= low <= rate <= high <= 1
    for end in (low, high):
        assert abs((rate - end) ** 2 - Z * Z * end * (1 - end) / total) < 1e-12
    assert [round(end, 4) for end in match.wilson_interval(5, 10)] == [0.2366, 0.7634]
    assert [round(end, 4) for end in match.wilson_interval(0, 10)] == [0, 0.2775]


def test_a_game_that_is_lost_by_a_line_is_shown_before_a_longer_one_with_an_illegal_move():
    def late(board):  # any free cell; from the third own move on a cell that X has taken
        free = [cell for cell, mark in enumerate(board) if not mark]
        return {cell: 1 / len(free) for cell in free} if len(free) > 4 else {board.index(1): 1.0}

    assert len(best_responses(Player(late))["O"].losing_line) == 5
